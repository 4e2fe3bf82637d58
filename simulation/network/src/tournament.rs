//! Who is next: a winner tree over actors, each with one instant.

use units::Nanos;

/// An actor of a simulation, by its number.
pub(crate) type Actor = usize;

/// One side of a match: who, and when.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Nanos,
    actor: u32,
}

/// The next instant of each of a fixed number of actors, and which comes first; of equal instants, that of
/// the actor with the lower number.
///
/// A heap of events would hold stale ones: an actor changes its mind often, and each change would leave an
/// entry behind. Here an actor has one leaf, and a change plays the matches from there to the root again, as
/// far as they end otherwise than before.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// Node 1 is the root, nodes 2n and 2n + 1 are the children of n, and the leaves come last.
    nodes: Vec<Entry>,
    leaves: usize,
}

impl Tournament {
    /// `actors` that never act.
    pub fn new(actors: usize) -> Self {
        let leaves = actors.next_power_of_two();
        let never = Entry { at: Nanos::NEVER, actor: 0 };
        let mut nodes = vec![never; 2 * leaves];
        for (actor, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.actor = actor as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, leaves }
    }

    /// Who is next, and when; at [`Nanos::NEVER`] where nobody is.
    #[inline]
    pub fn next(&self) -> (Nanos, Actor) {
        let Entry { at, actor } = self.nodes[1];
        (at, actor as usize)
    }

    /// `actor` acts next at `at`.
    #[inline]
    pub fn set(&mut self, actor: Actor, at: Nanos) {
        let mut node = self.leaves + actor;
        if self.nodes[node].at == at {
            return;
        }
        self.nodes[node].at = at;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            node /= 2;
            let winner = if right.at < left.at { right } else { left };
            let before = self.nodes[node];
            if before.actor == winner.actor && before.at == winner.at {
                return;
            }
            self.nodes[node] = winner;
        }
    }
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
