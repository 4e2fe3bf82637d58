//! The lanes of a switch, driven as one by a single thread, as replay and simulation do.
//!
//! On the wire each lane has a core, and nobody knows how their turns meet. Here the seed of the program draws it: the order in
//! which lanes take their turns, and after how many of them each shows the others what it has. A turn is a burst, a call of
//! `egress`, or one in which a lane only looks; of these last ones there are as many, half a microsecond apart, as lanes need to
//! come to rest. The same program and the same calls give the same frames.

use crate::descriptor::Descriptor;
use crate::event::Event;
use crate::frame::{Frame, Links, Transmitter};
use crate::lanes::{Board, LanesRefusal, PairHash};
use crate::ledger::Volume;
use crate::program::Program;
use crate::shard::{PortInspection, Shard};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::sync::Arc;
use units::{Interval, Nanos, PortId, PortSet};

/// The most turns that a lane ends without showing what it has. It always shows that before a second burst of a port, because
/// [`unseen`](crate::lanes::unseen) counts one.
const HIDDEN_MAX: u32 = 3;

/// The time between two turns of a lane that only looks.
const TURN: Interval = Interval(500);

/// The longest time until all lanes know of a pause that one of them has received.
pub const HEARD_WITHIN: Interval = Interval(TURN.0 * HIDDEN_MAX as u64);

/// How often each lane has to show what it has after the last burst or call of `egress`. Then the others have seen what came of
/// that, and what came of it at those who saw it first.
const ROUNDS: u32 = 3;

/// A switch of one lane or of several, driven as one.
pub struct Lanes<F> {
    /// That of the whole switch. A lane runs its part of it ([`Program::for_lanes`]).
    program: Arc<Program>,
    /// The lead is the first.
    lanes: Vec<Shard<F>>,
    hash: PairHash,
    rng: Pcg32,
    turns: Vec<Turn<F>>,
    /// The lanes in the order in which they take their turns.
    order: Vec<usize>,
    /// Rounds in which all lanes have yet to show what they have.
    rounds: u32,
    /// When they are to look again; never while they are at rest.
    due: Nanos,
}

/// Where a lane is between two turns.
struct Turn<F> {
    /// Its part of a burst.
    burst: Vec<F>,
    /// Turns that it will end without showing what it has.
    hidden_for: u32,
    /// Ports of which it has had a burst since it last showed what it has.
    unseen: PortSet,
    /// Whether it has shown what it has in this round.
    has_shown: bool,
}

impl<F: Frame> Lanes<F> {
    /// A switch of `lanes` lanes, or of one if that is zero. One is a [`Shard::single`] and nothing else.
    ///
    /// # Errors
    /// [`LanesRefusal`]: the first setting that works with one lane only, if there are several.
    pub fn new(program: Arc<Program>, lanes: usize) -> Result<Self, LanesRefusal> {
        let seed = program.settings().seed;
        let (lanes, hash) = match lanes {
            0 | 1 => (vec![Shard::single(program.clone())], PairHash::default()),
            _ => {
                let (part, hash) = (Arc::new(program.for_lanes(lanes)?), PairHash::drawn(seed));
                let board = Board::new(lanes, part.settings().ports.len()).spread_by(Some(hash));
                let board = Arc::new(board);
                let lane = |number| Shard::lane(number, part.clone(), board.clone());
                ((0..lanes).map(lane).collect(), hash)
            }
        };
        let turn = |_| Turn { burst: Vec::new(), hidden_for: 0, unseen: PortSet::EMPTY, has_shown: true };
        Ok(Self {
            hash,
            rng: Pcg32::seed_from_u64(seed),
            turns: (0..lanes.len()).map(turn).collect(),
            order: (0..lanes.len()).collect(),
            rounds: 0,
            due: Nanos::NEVER,
            program,
            lanes,
        })
    }

    /// The program of the whole switch.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Its lanes; the lead is the first.
    pub fn lanes(&self) -> &[Shard<F>] {
        &self.lanes
    }

    /// The sum of a volume over all lanes.
    pub fn total(&self, of: impl Fn(&Shard<F>) -> Volume) -> Volume {
        self.lanes.iter().map(of).sum()
    }

    /// Takes frames that arrived at `port` like [`Shard::ingress`], and gives them to lanes as devices do: by the addresses of
    /// their IP packets, and all others to lane 0.
    #[inline]
    pub fn ingress(&mut self, now: Nanos, port: PortId, burst: &mut Vec<F>, links: &mut impl Links<F>) {
        if let [only] = &mut self.lanes[..] {
            return only.ingress(now, port, burst, links);
        }
        let (hash, lanes) = (self.hash, self.lanes.len());
        self.ingress_by(now, port, burst, links, |frame| home(hash, frame, lanes));
    }

    /// Gives each frame to the lane that `lane_of` says, in order. Apart, so that one lane costs its caller no more than a shard.
    #[inline(never)]
    fn ingress_by(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        links: &mut impl Links<F>,
        mut lane_of: impl FnMut(&F) -> usize,
    ) {
        for frame in burst.drain(..) {
            self.turns[lane_of(&frame)].burst.push(frame);
        }
        self.shuffle();
        for place in 0..self.order.len() {
            let lane = self.order[place];
            if self.turns[lane].burst.is_empty() {
                continue;
            }
            if self.turns[lane].unseen.contains(port) {
                self.show(lane);
            }
            self.stir(now);
            let (shard, turn) = (&mut self.lanes[lane], &mut self.turns[lane]);
            shard.look(now);
            shard.ingress(now, port, &mut turn.burst, links);
            turn.unseen.insert(port);
            self.end_turn(lane);
        }
    }

    /// Sets whether the link of `port` carries frames, like [`Shard::set_carrier`] of each lane.
    pub fn set_carrier(&mut self, now: Nanos, port: PortId, up: bool) {
        self.lanes.iter_mut().for_each(|lane| lane.set_carrier(now, port, up));
    }

    /// Exchanges the routes for those of `program`, like [`Shard::exchange_routes`] of each lane.
    ///
    /// # Panics
    /// If the program differs from the one in force in more than its routes, so that lanes cannot run it.
    pub fn exchange_routes(&mut self, program: Arc<Program>) {
        let part = match self.lanes.len() {
            1 => program.clone(),
            lanes => Arc::new(program.for_lanes(lanes).expect("routes are no matter of lanes")),
        };
        self.lanes.iter_mut().for_each(|lane| lane.exchange_routes(&mut part.clone()));
        self.program = program;
    }

    /// Gives `out` the frames that may now leave through `port`, like [`Shard::egress`] of each lane.
    #[inline]
    pub fn egress(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if let [only] = &mut self.lanes[..] {
            return only.egress(now, port, out);
        }
        self.egress_of_each(now, port, out);
    }

    #[inline(never)]
    fn egress_of_each(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        self.shuffle();
        for place in 0..self.order.len() {
            let lane = self.order[place];
            if self.lanes[lane].port_deadline(port) <= now {
                self.stir(now);
                self.lanes[lane].egress_of_lane(now, port, out);
                self.end_turn(lane);
            }
        }
    }

    /// The time at which [`Lanes::egress`] of `port` is due, like [`Shard::port_deadline`].
    #[inline]
    pub fn port_deadline(&self, port: PortId) -> Nanos {
        if let [only] = &self.lanes[..] {
            return only.port_deadline(port);
        }
        self.lanes.iter().map(|lane| lane.port_deadline(port)).min().unwrap_or(Nanos::NEVER)
    }

    /// The time when the next data frame can leave through `port`, like [`Shard::departure`].
    pub fn departure(&self, port: PortId) -> Nanos {
        self.lanes.iter().map(|lane| lane.departure(port)).min().unwrap_or(Nanos::NEVER)
    }

    /// Whether some port may be due at another time than before, or lanes are to look ([`Shard::has_changed`]).
    #[inline]
    pub fn has_changed(&self) -> bool {
        match &self.lanes[..] {
            [only] => only.has_changed(),
            lanes => self.due != Nanos::NEVER || lanes.iter().any(Shard::has_changed),
        }
    }

    /// Takes the ports of which that holds, like [`Shard::take_changed`].
    #[inline]
    pub fn take_changed(&mut self) -> PortSet {
        if let [only] = &mut self.lanes[..] {
            return only.take_changed();
        }
        self.lanes.iter_mut().fold(PortSet::EMPTY, |ports, lane| ports.union(lane.take_changed()))
    }

    /// When [`Lanes::look`] is due. [`Nanos::NEVER`] while each lane knows what the others have, as one alone always does.
    #[inline]
    pub fn look_due(&self) -> Nanos {
        self.due
    }

    /// Lets each lane look at what the others show. This may make ports due.
    #[inline(never)]
    pub fn look(&mut self, now: Nanos) {
        self.shuffle();
        for place in 0..self.order.len() {
            let lane = self.order[place];
            self.lanes[lane].look(now);
            self.end_turn(lane);
        }
        if self.turns.iter().all(|turn| turn.has_shown) {
            self.rounds = self.rounds.saturating_sub(1);
            self.turns.iter_mut().for_each(|turn| turn.has_shown = false);
        }
        self.due = if self.rounds == 0 { Nanos::NEVER } else { now + TURN };
    }

    /// Draws the order of the next turns (Fisher and Yates).
    fn shuffle(&mut self) {
        for place in (1..self.order.len()).rev() {
            let other = self.rng.next_u32() as usize % (place + 1);
            self.order.swap(place, other);
        }
    }

    /// A lane acts: all of them have to learn what comes of it.
    fn stir(&mut self, now: Nanos) {
        self.rounds = ROUNDS;
        self.turns.iter_mut().for_each(|turn| turn.has_shown = false);
        self.due = self.due.min(now + TURN);
    }

    fn end_turn(&mut self, lane: usize) {
        match self.turns[lane].hidden_for.checked_sub(1) {
            Some(left) => self.turns[lane].hidden_for = left,
            None => self.show(lane),
        }
    }

    fn show(&mut self, lane: usize) {
        self.lanes[lane].publish();
        let turn = &mut self.turns[lane];
        turn.hidden_for = self.rng.next_u32() % (HIDDEN_MAX + 1);
        (turn.unseen, turn.has_shown) = (PortSet::EMPTY, true);
    }

    /// Takes the [`Shard::state`] of one lane alone.
    ///
    /// # Errors
    /// As [`Shard::restore`]; several lanes take none, because they also share what is in no state.
    pub fn restore<'de, D: Deserializer<'de>>(&mut self, state: D) -> Result<(), D::Error>
    where
        F: Deserialize<'de>,
    {
        let [only] = &mut self.lanes[..] else { return Err(D::Error::custom("lanes keep no state")) };
        only.restore(state)
    }

    /// Records events from now on, for [`Lanes::take_events`].
    pub fn record_events(&mut self) {
        self.lanes.iter_mut().for_each(Shard::record_events);
    }

    /// Whether to call [`Lanes::take_events`] at `now`.
    #[inline]
    pub fn has_events(&self, now: Nanos) -> bool {
        self.lanes.iter().any(|lane| lane.has_events(now))
    }

    /// Gives the events of all lanes to `sink`, in the order of their time. Of one lane, they are as [`Shard::take_events`] has
    /// them.
    pub fn take_events(&mut self, now: Nanos, sink: impl FnMut(Event)) {
        self.merge_events(sink, |lane, taken| lane.take_events(now, |events| taken.append(events)));
    }

    /// Takes events like [`Lanes::take_events`], for the last time.
    pub fn take_last_events(&mut self, now: Nanos, sink: impl FnMut(Event)) {
        self.merge_events(sink, |lane, taken| lane.take_last_events(now, |events| taken.append(events)));
    }

    fn merge_events(&mut self, sink: impl FnMut(Event), take: impl Fn(&mut Shard<F>, &mut Vec<Event>)) {
        let mut taken = Vec::new();
        self.lanes.iter_mut().for_each(|lane| take(lane, &mut taken));
        if self.lanes.len() > 1 {
            taken.sort_by_key(|event| event.at);
        }
        taken.into_iter().for_each(sink);
    }

    /// Lets all link agents announce at once that their ports stop, and nothing after that.
    pub fn shut_down_agents(&mut self) {
        self.lanes.iter_mut().for_each(Shard::shut_down_agents);
    }
}

/// Copies the whole state of `port` at `now` to `into`: that of the first of `lanes`, and what all have counted
/// ([`PortInspection::add_lane`]).
pub fn inspect<F: Frame>(lanes: &[Shard<F>], now: Nanos, port: PortId, into: &mut PortInspection) {
    let [lead, followers @ ..] = lanes else { return };
    lead.inspect(now, port, into);
    for lane in followers {
        let mut more = Box::default();
        lane.inspect(now, port, &mut more);
        into.add_lane(&more);
    }
}

/// The lane, of `lanes`, to which devices give `frame`: by the `hash` of its IP addresses, or lane 0 if it has none.
pub fn home<F: Frame>(hash: PairHash, frame: &F, lanes: usize) -> usize {
    let headers = frame.headers();
    let difference = Descriptor::parse(headers, frame.length()).and_then(|it| it.address_difference(headers));
    difference.map_or(0, |difference| hash.lane(difference, lanes))
}

#[cfg(test)]
mod tests;
