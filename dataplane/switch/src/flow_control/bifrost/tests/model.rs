//! A fluid model of a link, slot by slot, with a running account of what did not go as granted.

use super::super::{Bifrost, Look, VirtualIncoming};
use crate::ledger::{Ledger, Volume};
use crate::program::{self, VirtualIncoming as Kind};
use core::num::NonZeroU32;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{BitRate, Distance, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};

pub const HISTORY: Kind = Kind::History { jitter: Interval::ZERO };
pub const KINDS: [Kind; 2] = [Kind::Counter, HISTORY];

/// Bifrost at a port through which nothing has come.
pub fn at_rest(settings: program::Bifrost, rate: BitRate) -> Bifrost {
    let (ledger, received) = (Ledger::new(1, 1), [Volume::ZERO; Priority::COUNT]);
    let lossless = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
    let (none, holding) = (units::Bytes::ZERO, PrioritySet::EMPTY);
    let (port, shared_free, shared_held) = (PortId(0), none, none);
    let (received, ledger) = (&received, &ledger);
    let look = Look { port, lossless, received, accounts: ledger.into(), shared_free, shared_held, holding };
    Bifrost::new(settings, rate, look)
}

/// A link whose round trip is a whole number of slots.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: BitRate,
    pub slot: Interval,
    pub slots_per_round_trip: u64,
}

impl Link {
    /// The paper's deployment (section VI-A): 80 km at 100G with slots of 10 us.
    pub const DEPLOYED: Self =
        Self { rate: BitRate::gigabits(100), slot: Interval::from_micros(10), slots_per_round_trip: 80 };

    pub fn line(&self) -> u64 {
        self.rate.bytes_in(self.slot)
    }

    pub fn round_trip(&self) -> Interval {
        self.slot * self.slots_per_round_trip
    }

    pub fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.round_trip())
    }

    /// The least H.
    pub fn least_buffer(&self) -> u64 {
        self.bdp() + 2 * self.line()
    }

    pub fn settings(&self, kind: Kind) -> program::Bifrost {
        program::Bifrost {
            buffer: WireBytes(self.least_buffer()),
            slot: self.slot,
            round_trip: self.round_trip(),
            check_every: NonZeroU32::MIN,
            virtual_incoming: kind,
            holdover: Interval::ZERO,
            lateness: Interval::ZERO,
        }
    }
}

/// The events of one slot, in thousandths of what the line carries in it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// How much the downstream could drain.
    pub drain: u64,
    /// How much of its grant the upstream uses, or how much of that the link does not lose.
    pub used: u64,
    /// How much it sends beyond its grant.
    pub leaked: u64,
}

/// The outcome of one slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotEnd {
    /// The pause to be told to the upstream.
    pub pause: Option<Interval>,
    /// Bytes that arrived beyond the grant.
    pub leaked: u64,
}

/// The downstream end, and what theorem 1 says of it where the upstream does not keep to its grants.
pub struct Model {
    pub link: Link,
    pub bifrost: Bifrost,
    pub now: Nanos,
    /// Grants under way, oldest first.
    pub grants: VecDeque<u64>,
    pub queue: u64,
    pub received: u64,
    /// Bytes that the downstream could have drained and did not have.
    pub starved: u64,
    /// Granted bytes that did not arrive.
    pub withheld: u64,
    /// How far L + F may be above H: see [`Model::account`].
    pub excess: u64,
    /// Leaks that a counter has not noticed.
    hidden: u64,
}

impl Model {
    pub fn new(link: Link, kind: Kind) -> Self {
        Self::with(link, link.settings(kind))
    }

    pub fn with(link: Link, settings: program::Bifrost) -> Self {
        let mut bifrost = at_rest(settings, link.rate);
        bifrost.wake(Nanos::ZERO);
        Self {
            link,
            bifrost,
            now: Nanos::ZERO,
            // The upstream was free before the first frame came.
            grants: (0..=link.slots_per_round_trip).map(|_| link.line()).collect(),
            queue: 0,
            received: 0,
            starved: 0,
            withheld: 0,
            excess: 0,
            hidden: 0,
        }
    }

    /// Plays one slot and returns what leaked.
    pub fn step(&mut self, step: Step) -> u64 {
        let line = self.link.line();
        let used = self.grants[0] * step.used / 1_000;
        let leaked = (line - used).min(line * step.leaked / 1_000);
        self.end_slot(used + leaked, step.drain).leaked
    }

    /// Ends a slot in which `arrived` bytes came in and `drain` thousandths of the line could leave.
    pub fn end_slot(&mut self, arrived: u64, drain: u64) -> SlotEnd {
        let granted = self.grants.pop_front().unwrap();
        let leaked = arrived.saturating_sub(granted);
        let withheld = granted.saturating_sub(arrived);
        let wanted = self.link.line() * drain / 1_000;
        let drained = wanted.min(self.queue + arrived);
        self.account(arrived, leaked, withheld, drained);
        self.received += arrived;
        self.queue = self.queue + arrived - drained;
        self.starved += wanted - drained;
        self.withheld += withheld;

        let began = self.now;
        self.now += self.link.slot;
        self.bifrost.wake(began);
        let before = self.bifrost.counters.granted.0;
        let pause = self.bifrost.end_slot(self.now, self.queue, self.received);
        self.grants.push_back(self.bifrost.counters.granted.0 - before);
        SlotEnd { pause, leaked }
    }

    /// The excess of L + F over H. A history sees a leak in the slot in which it arrives, and what
    /// is drained or not used works it off. A counter takes a leak off F; it sees only what
    /// arrives beyond all of F, and that is never more than what leaked before.
    fn account(&mut self, arrived: u64, leaked: u64, withheld: u64, drained: u64) {
        match &self.bifrost.incoming {
            VirtualIncoming::History(_) => {
                self.excess = (self.excess + leaked).saturating_sub(withheld + drained);
            }
            VirtualIncoming::Counter(_) => {
                let seen = arrived.saturating_sub(self.incoming());
                self.hidden = (self.hidden + leaked).saturating_sub(withheld);
                assert!(seen <= self.hidden, "a counter saw {seen} of {} leaked bytes", self.hidden);
                self.hidden -= seen;
                self.excess = (self.excess + seen).saturating_sub(drained);
            }
        }
    }

    /// F.
    pub fn incoming(&self) -> u64 {
        self.bifrost.incoming.bytes(self.now)
    }

    /// L + F.
    pub fn sum(&self) -> u64 {
        self.queue + self.incoming()
    }

    pub fn last_grant(&self) -> u64 {
        *self.grants.back().unwrap()
    }
}

pub fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Counter), Just(HISTORY)]
}

pub fn rates() -> impl Strategy<Value = BitRate> {
    prop_oneof![Just(10), Just(25), Just(100), Just(400)].prop_map(BitRate::gigabits)
}

/// Whole quanta of 80 ns keep whole bytes at every rate, so that the model has no rounding.
pub fn whole(slot: Interval) -> Interval {
    Interval((slot.0 / 80).max(1) * 80)
}

pub fn links() -> impl Strategy<Value = Link> {
    (rates(), 1_u64..10_000, 2_u64..120).prop_map(|(rate, kilometres, slots)| {
        let round_trip = Distance(kilometres * 1_000).propagation() * 2;
        Link { rate, slot: whole(Interval(round_trip.0 / slots)), slots_per_round_trip: slots }
    })
}

/// Levels of a drain that last, so that the loop has time to act, and some that do not.
pub fn drains() -> impl Strategy<Value = Vec<u64>> {
    let level = prop_oneof![Just(0), Just(1_000), Just(500), 0_u64..=1_000];
    proptest::collection::vec((level, prop_oneof![1_usize..4, 50_usize..200]), 1..8).prop_map(|levels| {
        levels.into_iter().flat_map(|(level, slots)| core::iter::repeat_n(level, slots)).collect()
    })
}
