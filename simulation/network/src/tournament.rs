//! The event queue: a winner tree over actors, each with one instant.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// An actor of a simulation, by its number.
pub(crate) type Actor = usize;

/// An instant and its actor in one word, so that a match is one comparison. The low [`ACTOR_BITS`] bits are
/// the actor.
type Entry = u64;

/// Bits for a million actors.
const ACTOR_BITS: u32 = 20;
/// The number of players in a match.
const PLAYERS: usize = 4;
/// The first instant that counts as never: 2^44 - 1 ns, almost five hours.
const NEVER: u64 = u64::MAX >> ACTOR_BITS;

/// Holds the next instant of each of a fixed number of actors, and finds the first. Of equal instants, the
/// one of the actor with the lower number comes first.
///
/// A heap of events would hold stale ones: actors change their instants often, and each change would leave an
/// entry behind. Here an actor has one leaf, and a change replays the matches from there toward the root,
/// until a result stays the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tournament {
    /// Match 1 is the final, and the winners of matches 4n to 4n + 3 meet in match n. The matches between
    /// actors come last. Other numbers are unused.
    matches: Vec<[Entry; PLAYERS]>,
    /// The number of the first match between actors, a power of four.
    first_round: usize,
    /// The winner of the final.
    winner: Entry,
}

impl Tournament {
    /// The first instant that counts as never.
    pub const HORIZON: Nanos = Nanos(NEVER);

    /// A tournament of `actors` actors, none of them due.
    ///
    /// # Panics
    /// If there are more than 2^20 actors.
    pub fn new(actors: usize) -> Self {
        assert!(actors <= 1 << ACTOR_BITS, "a network has at most {} actors", 1 << ACTOR_BITS);
        let mut first_round = 1;
        while first_round * PLAYERS < actors {
            first_round *= PLAYERS;
        }
        let nobody = entry(Nanos::NEVER, 0);
        let mut it = Self { matches: vec![[nobody; PLAYERS]; 2 * first_round], first_round, winner: nobody };
        (0..actors).for_each(|actor| it.set(actor, Nanos::NEVER));
        it
    }

    /// The first instant and its actor; [`Nanos::NEVER`] if no actor is due.
    #[inline]
    pub fn next(&self) -> (Nanos, Actor) {
        let winner = self.winner;
        let at = winner >> ACTOR_BITS;
        let actor = (winner & ((1 << ACTOR_BITS) - 1)) as usize;
        (if at == NEVER { Nanos::NEVER } else { Nanos(at) }, actor)
    }

    /// Sets the next instant of `actor` to `at`, if that is earlier.
    #[inline]
    pub fn lower(&mut self, actor: Actor, at: Nanos) {
        let place = self.first_round * PLAYERS + actor;
        if entry(at, actor) < self.matches[place / PLAYERS][place % PLAYERS] {
            self.set(actor, at);
        }
    }

    /// Sets the next instant of `actor` to `at`.
    #[inline]
    pub fn set(&mut self, actor: Actor, at: Nanos) {
        let (mut place, mut winner) = (self.first_round * PLAYERS + actor, entry(at, actor));
        loop {
            let (players, player) = (&mut self.matches[place / PLAYERS], place % PLAYERS);
            if players[player] == winner {
                return;
            }
            players[player] = winner;
            let [a, b, c, d] = *players;
            winner = a.min(b).min(c.min(d));
            place /= PLAYERS;
            if place == 1 {
                self.winner = winner;
                return;
            }
        }
    }
}

#[inline]
fn entry(at: Nanos, actor: Actor) -> Entry {
    at.0.min(NEVER) << ACTOR_BITS | actor as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_equal_instants_the_lower_number_comes_first() {
        let mut tournament = Tournament::new(5);
        assert_eq!(tournament.next().0, Nanos::NEVER);
        for actor in [4, 2, 3] {
            tournament.set(actor, Nanos(7));
        }
        assert_eq!(tournament.next(), (Nanos(7), 2));
        tournament.set(2, Nanos(8));
        assert_eq!(tournament.next(), (Nanos(7), 3));
        tournament.set(0, Nanos(6));
        assert_eq!(tournament.next(), (Nanos(6), 0));
        tournament.set(0, Nanos::NEVER);
        assert_eq!(tournament.next(), (Nanos(7), 3));
    }

    #[test]
    fn what_lies_beyond_the_horizon_never_comes() {
        let mut tournament = Tournament::new(1);
        tournament.set(0, Tournament::HORIZON);
        assert_eq!(tournament.next(), (Nanos::NEVER, 0));
        tournament.set(0, Nanos(Tournament::HORIZON.0 - 1));
        assert_eq!(tournament.next(), (Nanos((1 << 44) - 2), 0));
    }

    proptest! {
        #[test]
        fn it_names_whom_a_search_would_find(
            actors in 1_usize..40,
            changes in proptest::collection::vec((0_usize..40, 0_u64..20), 1..200),
        ) {
            let mut tournament = Tournament::new(actors);
            let mut instants = vec![Nanos::NEVER; actors];
            for (actor, at) in changes {
                let (actor, at) = (actor % actors, if at == 19 { Nanos::NEVER } else { Nanos(at) });
                tournament.set(actor, at);
                instants[actor] = at;
                let first = instants.iter().min().copied().unwrap();
                prop_assert_eq!(tournament.next().0, first);
                if first < Nanos::NEVER {
                    prop_assert_eq!(Some(tournament.next().1), instants.iter().position(|it| *it == first));
                }
            }
        }
    }
}
