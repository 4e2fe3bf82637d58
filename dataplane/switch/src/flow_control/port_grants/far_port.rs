//! The bound of one far port: what it may hold of what came in through the long port, and what may still come.
//!
//! ```text
//! D   bytes that the port drains in a round trip
//!       while frames wait for it:  D <- D - D/n + drained      (n slots in a round trip)
//!       otherwise:                 D <- D + D/n, at most what its link carries
//! P = 17/16 D / n                  its pace
//! H_e = P (n + 2)                  its bound
//! c_e = min(P, H_e - L_e - F_e)    its grant for the next slot
//! ```
//!
//! L_e are the frames that wait for the port, and F_e the bytes granted within the last round trip that have not come.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Interval, Nanos, WireBytes};

/// The longest frame on the wire, for a port whose link carries less than two of them in a round trip.
const LONGEST: u64 = 9_240;

/// Its state at the end of a slot, in wire bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarPortState {
    /// L_e: the frames that wait for it.
    pub queue: WireBytes,
    /// F_e: bytes granted before that may still come.
    pub incoming: WireBytes,
    /// H_e: the bound of both.
    pub bound: WireBytes,
    /// The grant for the next slot.
    pub grant: WireBytes,
    /// The longest queue so far.
    pub longest: WireBytes,
}

/// Bytes that were granted and may still come.
#[derive(Debug, Serialize, Deserialize)]
struct Grant {
    bytes: u64,
    /// The arrival of the last of them.
    until: Nanos,
}

/// One far port.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FarPort {
    /// D.
    drains: u64,
    least: u64,
    most: u64,
    /// n.
    slots: u64,
    /// From the end of a slot until its last granted byte has come.
    span: Interval,
    grants: VecDeque<Grant>,
    /// F_e.
    incoming: u64,
    /// The totals at the end of the last slot: admitted and departed.
    totals: (u64, u64),
    /// Whether frames waited then.
    waits: bool,
    /// The state at the end of the last slot.
    pub state: FarPortState,
}

impl FarPort {
    /// A port whose link has `rate`, and through which so many bytes have been `admitted` and `departed`. A grant takes
    /// `round_trip` until its first byte comes.
    pub fn new(rate: BitRate, round_trip: Interval, slot: Interval, totals: (u64, u64)) -> Self {
        let slots = round_trip.0.div_ceil(slot.0.max(1)).max(1);
        let most = rate.bytes_in(round_trip).max(2 * LONGEST);
        Self {
            drains: most,
            // A 64th of its rate is enough to find out that it drains again.
            least: (most / 64).max(2 * LONGEST).min(most),
            most,
            slots,
            span: round_trip + slot,
            grants: VecDeque::with_capacity(most_grants(slots)),
            incoming: 0,
            totals,
            waits: totals.0 > totals.1,
            state: FarPortState::default(),
        }
    }

    /// P: a sixteenth more than it drains in a slot, so that it never runs dry for want of a probe.
    fn pace(&self) -> u64 {
        (self.drains + self.drains / 16) / self.slots + 1
    }

    /// H_e.
    pub fn bound(&self) -> u64 {
        self.pace() * (self.slots + 2)
    }

    /// The bytes that may come through a link at rest until the first grant is due: its start.
    pub fn start(&self) -> u64 {
        self.pace() * (self.slots + 1)
    }

    /// Notes at `now` that the link is no longer at rest, and that its start may be under way.
    pub fn refill(&mut self, now: Nanos) {
        self.grants.clear();
        self.incoming = self.start();
        self.grants.push_back(Grant { bytes: self.incoming, until: now + self.span });
    }

    /// Ends a slot, when so many bytes have been `admitted` for the port and `departed` through it. Returns its grant for
    /// the next one.
    pub fn end_slot(&mut self, now: Nanos, admitted: u64, departed: u64) -> u64 {
        let before = core::mem::replace(&mut self.totals, (admitted, departed));
        let (arrived, drained) = (admitted.saturating_sub(before.0), departed.saturating_sub(before.1));
        let queue = admitted.saturating_sub(departed);
        self.take_arrivals(now, arrived);
        self.follow_drain(queue > 0, drained);
        let (pace, bound) = (self.pace(), self.bound());
        let grant = bound.saturating_sub(queue + self.incoming).min(pace);
        self.note(queue, bound, grant);
        self.incoming += grant;
        // A slot that ends early by a clock's error must not make the ring grow.
        if self.grants.len() < most_grants(self.slots) {
            self.grants.push_back(Grant { bytes: grant, until: now + self.span });
        } else if let Some(last) = self.grants.back_mut() {
            last.bytes += grant;
        }
        grant
    }

    /// Takes what has arrived off the oldest grants, and drops those whose time is over.
    fn take_arrivals(&mut self, now: Nanos, mut arrived: u64) {
        while let Some(first) = self.grants.front_mut() {
            let taken = first.bytes.min(arrived);
            first.bytes -= taken;
            arrived -= taken;
            self.incoming -= taken;
            if first.bytes > 0 && first.until > now {
                break;
            }
            self.incoming -= first.bytes;
            self.grants.pop_front();
        }
    }

    fn follow_drain(&mut self, waits: bool, drained: u64) {
        let waited = core::mem::replace(&mut self.waits, waits);
        let change = self.drains / self.slots;
        self.drains = match waited && waits {
            true => self.drains - change + drained,
            false => self.drains + change.max(1),
        };
        self.drains = self.drains.clamp(self.least, self.most);
    }

    fn note(&mut self, queue: u64, bound: u64, grant: u64) {
        self.state = FarPortState {
            queue: WireBytes(queue),
            incoming: WireBytes(self.incoming),
            bound: WireBytes(bound),
            grant: WireBytes(grant),
            longest: WireBytes(queue.max(self.state.longest.0)),
        };
    }
}

/// The most grants that a port remembers: those of one round trip of so many slots, the running slot, and one that is
/// expiring.
const fn most_grants(slots: u64) -> usize {
    slots as usize + 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A byte a nanosecond.
    const RATE: BitRate = BitRate::gigabits(8);
    const SLOT: u64 = 10_000;
    const SLOTS: u64 = 40;

    /// A port behind a link that carries a grant at once, half of a round trip later, and its answers another half.
    struct Link {
        port: FarPort,
        now: u64,
        admitted: u64,
        departed: u64,
        /// Bytes that come in slot by slot, the first of which comes next.
        coming: VecDeque<u64>,
        longest: u64,
    }

    impl Link {
        fn new() -> Self {
            let port = FarPort::new(RATE, Interval(SLOTS * SLOT), Interval(SLOT), (0, 0));
            let coming = (0..SLOTS).map(|_| 0).collect();
            Self { port, now: 0, admitted: 0, departed: 0, coming, longest: 0 }
        }

        /// A slot in which at most `drain` bytes leave; of its grant, `use_of` tenths are sent. Returns what left.
        fn slot(&mut self, drain: u64, use_of: u64) -> u64 {
            self.now += SLOT;
            self.admitted += self.coming.pop_front().unwrap_or_default();
            let left = (self.admitted - self.departed).min(drain);
            self.departed += left;
            let grant = self.port.end_slot(Nanos(self.now), self.admitted, self.departed);
            self.coming.push_back(grant * use_of / 10);
            self.longest = self.longest.max(self.admitted - self.departed);
            left
        }

        fn queue(&self) -> u64 {
            self.admitted - self.departed
        }
    }

    #[test]
    fn a_port_at_the_rate_of_its_link_never_runs_dry() {
        let mut link = Link::new();
        (0..2 * SLOTS).for_each(|_| {
            link.slot(SLOT, 10);
        });
        let left: u64 = (0..1_000).map(|_| link.slot(SLOT, 10)).sum();
        assert_eq!(left, 1_000 * SLOT);
        assert!(link.longest <= 4 * SLOTS * SLOT / 16, "{}", link.longest);
    }

    #[test]
    fn a_slow_port_keeps_a_queue_of_its_own_rate_and_never_runs_dry() {
        let mut link = Link::new();
        (0..20 * SLOTS).for_each(|_| {
            link.slot(SLOT / 10, 10);
        });
        let mut longest = 0;
        for _ in 0..1_000 {
            assert_eq!(link.slot(SLOT / 10, 10), SLOT / 10);
            longest = longest.max(link.queue());
        }
        // Two slots and a sixteenth of a round trip at its rate, and the rounding of its pace.
        let own = SLOT / 10 * (SLOTS + 2) * 17 / 16 - SLOT / 10 * SLOTS;
        assert!(longest <= own + 2 * SLOTS + SLOT / 10, "{longest} of {own}");
    }

    #[test]
    fn a_port_that_stops_holds_no_more_than_what_was_under_way_and_starts_again_within_some_round_trips() {
        let mut link = Link::new();
        (0..10 * SLOTS).for_each(|_| {
            link.slot(SLOT, 10);
        });
        (0..20 * SLOTS).for_each(|_| {
            link.slot(0, 10);
        });
        assert!(link.queue() <= link.port.most * 17 / 16 + 3 * SLOT, "{}", link.queue());
        let slots = (1..).find(|_| {
            link.slot(SLOT, 10);
            link.port.drains >= link.port.most * 15 / 16
        });
        assert!(slots.is_some_and(|slots| slots < 8 * SLOTS), "{slots:?}");
    }

    #[test]
    fn an_idle_port_is_granted_the_rate_of_its_link_all_the_time() {
        let mut link = Link::new();
        for _ in 0..10 * SLOTS {
            link.slot(SLOT, 0);
            assert!(link.port.state.grant.0 >= SLOT, "{:?}", link.port.state);
        }
    }

    #[test]
    fn a_port_of_a_slow_link_still_gets_a_frame_now_and_then() {
        let mut port = FarPort::new(BitRate::megabits(10), Interval(SLOTS * SLOT), Interval(SLOT), (0, 0));
        let granted: u64 = (1..=SLOTS).map(|slot| port.end_slot(Nanos(slot * SLOT), 0, 0)).sum();
        assert!(granted >= LONGEST, "{granted}");
    }

    proptest! {
        /// L_e + F_e <= H_e at the line rate, whatever the port drains and whatever part of its grants is used or lost.
        #[test]
        fn queue_and_incoming_bytes_never_exceed_the_bound_of_the_link(
            phases in prop::collection::vec((1_u32..100, 0_u64..=SLOT, 0_u64..=10), 1..20),
        ) {
            let mut link = Link::new();
            let bound = link.port.bound();
            for (slots, drain, use_of) in phases {
                for _ in 0..slots {
                    link.slot(drain, use_of);
                    let state = link.port.state;
                    prop_assert!(state.queue.0 + state.incoming.0 + state.grant.0 <= bound);
                    prop_assert_eq!(link.port.grants.iter().map(|it| it.bytes).sum::<u64>(), link.port.incoming);
                    prop_assert!(link.port.grants.len() < link.port.grants.capacity());
                    let coming: u64 = link.coming.iter().sum();
                    prop_assert!(coming <= link.port.incoming, "{} of {}", coming, link.port.incoming);
                }
            }
        }
    }
}
