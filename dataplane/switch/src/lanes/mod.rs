//! Lanes: several cores for all ports of a switch.
//!
//! A switch of n lanes has n shards, each with a receive and a transmit queue of every port, both halves of it, and a ledger
//! of its own. A frame leaves through the lane that received it, so no frame crosses cores. What the ports have once is
//! joint:
//!
//! | | how |
//! |---|---|
//! | thresholds and pools | each lane judges the sum of its own level and of those that the others last showed |
//! | sent pauses | by lane 0 alone, the *lead*: two transmit queues have no order on the wire, and an XON that overtakes an XOFF loses frames |
//! | received pauses | the lane that reads one tells the others; the newest counts |
//! | time of a link | claimed once for each call of `egress` |
//! | stations of a bridge | a lane tells the others of one that it learns, that moves, and again in each quarter of the ageing time; it asks for one that it does not know |
//! | queues | a lane whose frames others outrank, or which had more than its share, claims a quarter of the window |
//!
//! A lane *shows* what it has once a turn, behind its last egress, and then passes a fence. It *looks* before each burst and
//! each call of `egress`, so of two lanes at least one sees the other. [`unseen`] bounds what nobody sees.

mod board;
mod horizon;
mod pair_hash;
mod post;
mod program;
mod share;
mod sightings;

pub use board::Board;
pub(crate) use horizon::Claim;
use horizon::bytes_at;
pub use pair_hash::PairHash;
pub use program::{LanesRefusal, Unshared};

use crate::admission::Others;
use crate::flow_control::{OtherLanes, PauseCause};
use crate::ledger::{Ledger, PoolUse};
use crate::receive_ring::BURST;
use crate::sync::{Ordering, fence};
use board::Heard;
pub(crate) use board::{Level, Pace, Waiting};
pub(crate) use pair_hash::Home;
use post::Letter;
pub use post::PLACES;
pub(crate) use share::Queues;
use share::Turn;
pub(crate) use sightings::{Sighting, Stations};
use std::sync::Arc;
use units::{BitRate, Bytes, Cells, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};

/// Changes of a level that need not be shown.
const GRAIN: Cells = Cells(1_024);

/// The most that a lane holds of a priority group, with frames of up to `max_frame`, beyond what the others see: a burst of
/// its last turn, and what is too little to be shown.
pub const fn unseen(max_frame: Bytes) -> Bytes {
    let burst = Cells(BURST.saturating_mul(Cells::of_frame(max_frame).0));
    Bytes(burst.bytes().0.saturating_add(GRAIN.bytes().0))
}

/// What `lanes` lanes cost a lossless priority group in headroom, beside what arrives while the lead is late after another lane
/// was: the others may hold [`unseen`] bytes each when the sum reaches XOFF and again when it falls below XON.
pub const fn extra_headroom(lanes: u64, max_frame: Bytes) -> Bytes {
    Bytes(unseen(max_frame).0.saturating_mul(2).saturating_mul(lanes.saturating_sub(1)))
}

/// Memory beyond the pools for each lossless priority group: the others may have taken [`unseen`] bytes each.
pub const fn beyond_pools(lanes: u64, max_frame: Bytes) -> Bytes {
    Bytes(lanes.saturating_sub(1).saturating_mul(unseen(max_frame).0))
}

/// What a lane has for a port at the end of a turn, and wants of the lead.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    /// Bytes that wait, by priority, rounded up to whole cells of 16 bytes.
    pub cells: [u32; Priority::COUNT],
    /// The priorities that it cannot let go on, with the cause.
    pub wants: [Option<PauseCause>; Priority::COUNT],
    /// All bytes on the wire that its limiter has counted; `None` without one.
    pub counted: Option<u64>,
}

/// What a lane knows and has shown of a port.
#[derive(Clone, Default)]
struct PortState {
    levels: [Level; Priority::COUNT],
    /// The priorities whose levels are not zero.
    holding: PrioritySet,
    /// Counts what it shows.
    version: u64,
    /// The versions of the other lanes that it has looked at, by lane.
    seen: Vec<u64>,
    /// The cells that waited on other lanes at that time, by priority.
    elsewhere: [u64; Priority::COUNT],
    received: [WireBytes; Priority::COUNT],
    /// What the others had received when that was last looked at.
    noticed: WireBytes,
    /// What the others had taken to which a rate applies, when that was last looked at.
    limited: u64,
    /// What this lane has taken to which a rate applies.
    taken: u64,
    /// What the limiter of this lane had counted at the end of the last turn; `None` if there was none.
    counted: Option<u64>,
    waiting: Waiting,
    /// The words of the other lanes that it has heeded, by lane.
    known: Vec<[u64; Priority::COUNT]>,
    /// When the pause in force was received.
    newest: [Nanos; Priority::COUNT],
    claimed: u64,
    turn: Turn,
}

/// One lane's end of the board.
pub(crate) struct Lane {
    board: Arc<Board>,
    number: usize,
    ports: Vec<PortState>,
    pools: PoolUse,
}

impl Lane {
    pub fn new(board: Arc<Board>, number: usize) -> Self {
        let known = vec![Default::default(); board.lanes()];
        let seen = vec![0; board.lanes()];
        let ports = vec![PortState { known, seen, ..PortState::default() }; board.ports()];
        Self { board, number, ports, pools: PoolUse::default() }
    }

    /// Whether it is the lead.
    #[inline]
    pub fn leads(&self) -> bool {
        self.number == 0
    }

    /// Looks at everything anew, because the settings have changed.
    pub fn forget(&mut self) {
        for state in &mut self.ports {
            state.seen.fill(u64::MAX);
        }
    }

    /// Whether other lanes have shown something of `port` since the last call, so that it has to be looked at.
    #[inline]
    pub fn has_news(&mut self, port: PortId) -> bool {
        let (own, seen) = (self.number, &mut self.ports[port.index()].seen);
        let mut has_news = false;
        for (lane, seen) in seen.iter_mut().enumerate() {
            if lane != own {
                let version = self.board.version(lane, port);
                has_news |= core::mem::replace(seen, version) != version;
            }
        }
        has_news
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let number = self.number;
        (0..self.board.lanes()).filter(move |lane| *lane != number)
    }

    /// What the others hold of a group.
    #[inline]
    pub fn level_of_others(&self, port: PortId, priority: Priority, longest: Bytes) -> Others {
        let levels = self.others().map(|lane| self.board.level(lane, port, priority));
        let stale = beyond_pools(self.board.lanes() as u64, longest).0;
        levels.fold(Others { stale, ..Others::default() }, |sum, level| Others {
            reserved: sum.reserved + level.reserved.bytes().0,
            shared: sum.shared + level.shared.bytes().0,
            headroom: sum.headroom + level.headroom.bytes().0,
            stale,
        })
    }

    /// What the others hold of the pools.
    #[inline]
    pub fn pools_of_others(&self) -> PoolUse {
        let pools = self.others().map(|lane| self.board.pools(lane));
        pools.fold(PoolUse::default(), |sum, held| PoolUse {
            shared: sum.shared + held.shared,
            headroom: sum.headroom + held.headroom,
            egress_lossy: sum.egress_lossy + held.egress_lossy,
        })
    }

    /// The priorities of `port` that must stay paused for other lanes, with a cause: at the lead those that one of them wants,
    /// elsewhere those that the lead pauses.
    #[inline]
    pub fn kept(&self, port: PortId) -> [Option<PauseCause>; Priority::COUNT] {
        if !self.leads() {
            let (paused, for_ring) = self.board.paused(port);
            return core::array::from_fn(|index| {
                let priority = Priority::from_low_bits(index as u8);
                let for_ring = for_ring.contains(priority);
                let cause = if for_ring { PauseCause::ReceiveRing } else { PauseCause::Threshold };
                paused.contains(priority).then_some(cause)
            });
        }
        let wants = self.others().map(|lane| self.board.waiting(lane, port).wants);
        wants
            .fold([None; Priority::COUNT], |all, one| core::array::from_fn(|index| all[index].or(one[index])))
    }

    /// Tells the others of a pause that it has received at `now`.
    pub fn tell_pause(&mut self, now: Nanos, port: PortId, priority: Priority, lasts: Interval) {
        let state = &mut self.ports[port.index()];
        // In the units in which others tell theirs.
        state.newest[priority.index()] = Heard::stamp(now);
        self.board.tell_heard(self.number, port, priority, Heard { at: now, lasts });
        state.version += 1;
        self.board.show_version(self.number, port, state.version);
    }

    /// Calls `heed` for each pause that another lane has received since the last look, if it is the newest, with the time that
    /// is left of it at `now`, and whether it was one and not the end of one.
    #[inline]
    pub fn hear_pauses(&mut self, now: Nanos, port: PortId, mut heed: impl FnMut(Priority, Interval, bool)) {
        for lane in self.others() {
            let PortState { known, newest, .. } = &mut self.ports[port.index()];
            for priority in Priority::all() {
                let index = priority.index();
                let heard = self.board.heard(now, (lane, port), priority, &mut known[lane][index]);
                if let Some(Heard { at, lasts }) = heard.filter(|heard| heard.at >= newest[index]) {
                    newest[index] = at;
                    heed(priority, (at + lasts).since(now), lasts != Interval::ZERO);
                }
            }
        }
    }

    /// Claims time of the link of `port`: up to `most` bytes within its window, or within a quarter of that where other lanes
    /// come first.
    ///
    /// # Errors
    /// [`Busy`] if the link is ahead by more than that.
    pub fn claim(&mut self, now: Nanos, port: PortId, link: &Link, most: u64) -> Result<Claim, Busy> {
        let window =
            if self.ports[port.index()].turn.yields { Interval(link.window.0 / 4) } else { link.window };
        let instant = bytes_at(now, link.rate);
        let claim = self.board.horizon(port).claim(instant, link.rate.bytes_in(window), link.longest.0, most);
        let time = |lead| link.rate.serialization().time_of(WireBytes(lead));
        claim.map_err(|lead| Busy { lead: time(lead), window })
    }

    /// The time after which the link of `port` is free.
    pub fn free_in(&self, now: Nanos, port: PortId, rate: BitRate) -> Interval {
        rate.serialization().time_of(WireBytes(self.board.horizon(port).lead(bytes_at(now, rate))))
    }

    /// Ends a claim of which `used` bytes were sent.
    pub fn settle(&mut self, port: PortId, claimed: u64, used: u64) {
        self.board.horizon(port).settle(claimed, used);
        let state = &mut self.ports[port.index()];
        state.claimed = state.claimed.wrapping_add(used);
    }

    /// Looks at the cells that wait for `port` on other lanes, by priority.
    pub fn look_at_waiting(&mut self, port: PortId) -> [Bytes; Priority::COUNT] {
        let mut sum = [0; Priority::COUNT];
        for lane in self.others() {
            let waiting = self.board.waiting(lane, port);
            sum.iter_mut().zip(waiting.cells).for_each(|(sum, cells)| *sum += u64::from(cells));
        }
        self.ports[port.index()].elsewhere = sum;
        sum.map(|cells| Cells(cells).bytes())
    }

    /// Decides whether this lane comes first at `port`.
    pub fn judge(&mut self, port: PortId, queues: &Queues<'_>) {
        let claimed = self.others().map(|lane| self.board.claimed(lane, port)).fold(0, u64::wrapping_add);
        let state = &mut self.ports[port.index()];
        state.turn.judge(queues, &state.elsewhere, (state.claimed, claimed));
    }

    /// Shows what it holds of `port`, as far as that has changed by more than the grain, or to or from nothing. Only `levels` of
    /// the priorities in `holding` may be more than nothing.
    pub fn show(
        &mut self,
        port: PortId,
        holding: PrioritySet,
        levels: impl Fn(Priority) -> Level,
        Own { cells, wants, counted }: Own,
    ) {
        let state = &mut self.ports[port.index()];
        let before = state.version;
        for priority in holding.union(state.holding).iter() {
            let (shown, level) = (&mut state.levels[priority.index()], levels(priority));
            let parts = [(shown.reserved, level.reserved), (shown.shared, level.shared)];
            // Both together are what counts for the threshold.
            let below = (shown.reserved + shown.shared, level.reserved + level.shared);
            let mut parts = parts.into_iter().chain([below, (shown.headroom, level.headroom)]);
            if parts.any(|(shown, now)| differ(shown, now)) {
                *shown = level;
                state.version = before + 1;
                self.board.show_level(self.number, port, priority, level);
            }
        }
        state.holding = holding;
        // A limiter that has just started counts from here on: what it counted before says nothing about this turn.
        let before_turn = core::mem::replace(&mut state.counted, counted);
        let more = counted.zip(before_turn).map_or(0, |(now, before)| now.saturating_sub(before));
        state.taken = state.taken.wrapping_add(more);
        let shown = &mut state.waiting;
        let mut pairs = shown.cells.into_iter().zip(cells);
        let has_moved = |(shown, now): (u32, u32)| differ(Cells(shown.into()), Cells(now.into()));
        let grew = wants != shown.wants || pairs.any(has_moved);
        let sent = |now: u64, shown: u64| now.wrapping_sub(shown) >= GRAIN.bytes().0;
        if grew || sent(state.claimed, shown.claimed) || sent(state.taken, shown.limited) {
            // Cells that change by less than the grain keep what was shown of them, so that their changes add up.
            let cells = if grew { cells } else { shown.cells };
            *shown = Waiting { cells, claimed: state.claimed, limited: state.taken, wants };
            self.board.show_waiting(self.number, port, shown);
        }
        if grew || state.version != before {
            state.version = before + 1;
            self.board.show_version(self.number, port, state.version);
        }
    }

    /// Shows what has come in through `port`, at all priorities: during a reload, another lane may count one before this one.
    pub fn show_received(&mut self, port: PortId, of: impl Fn(Priority) -> WireBytes) {
        for priority in Priority::all() {
            let (shown, received) = (&mut self.ports[port.index()].received[priority.index()], of(priority));
            if *shown != received {
                *shown = received;
                self.board.show_received(self.number, port, priority, received);
            }
        }
    }

    /// Whether other lanes have shown that more of these `priorities` came in through `port` since the last call.
    pub fn has_received(&mut self, port: PortId, priorities: PrioritySet) -> bool {
        let received = priorities.iter().map(|priority| self.received(port, priority)).sum();
        core::mem::replace(&mut self.ports[port.index()].noticed, received) != received
    }

    /// Leaves a control frame to the lead. Returns whether there was room.
    pub fn post(&self, now: Nanos, port: PortId, length: Bytes, headers: &[u8]) -> bool {
        self.board.post(self.number, port).put(now, length, headers)
    }

    /// The next control frame of `port` that another lane has left to the lead.
    pub fn next_letter(&self, port: PortId) -> Option<Letter> {
        self.others().find_map(|lane| self.board.post(lane, port).take())
    }

    /// The bytes on the wire to which a rate of `port` applies and which other lanes have taken since the last call.
    pub fn limited_of_others(&mut self, port: PortId) -> WireBytes {
        let limited = self.others().map(|lane| self.board.waiting(lane, port).limited);
        let sum = limited.fold(0, u64::wrapping_add);
        WireBytes(sum.wrapping_sub(core::mem::replace(&mut self.ports[port.index()].limited, sum)))
    }

    /// Shows the rate of `port` that is in force at the lead, and the length of its pseudo-queue.
    pub fn show_pace(&self, port: PortId, pace: Pace) {
        let (shown, grain) = (self.board.pace(port), GRAIN.bytes().0);
        let moved = shown.queue.0.abs_diff(pace.queue.0) >= grain;
        if moved || shown.rate != pace.rate || (shown.queue.0 == 0) != (pace.queue.0 == 0) {
            self.board.show_pace(port, pace);
        }
    }

    /// What the lead shows of the rate of `port`.
    pub fn pace(&self, port: PortId) -> Pace {
        self.board.pace(port)
    }

    /// Where packets between two hosts belong, which is asked of each lane.
    pub fn home(&self) -> Home {
        Home { hash: self.board.hash(), lane: self.number, lanes: self.board.lanes() }
    }

    /// When the first pause of `port` ends that the lead has announced, unless it is there to refresh it; never without one.
    #[inline]
    pub fn end_of_pauses(&self, port: PortId) -> Nanos {
        self.board.end(port)
    }

    /// Shows that. Others read it behind the priorities that are paused.
    pub fn show_end_of_pauses(&mut self, port: PortId, end: Nanos) {
        if self.board.end(port) != end {
            self.board.show_end(port, end);
        }
    }

    /// Shows the priorities of `port` that the lead pauses, and those of them that it pauses for a receive ring alone.
    pub fn show_paused(&mut self, port: PortId, paused: PrioritySet, for_ring: PrioritySet) {
        if self.board.paused(port) != (paused, for_ring) {
            self.board.show_paused(port, paused, for_ring);
            let state = &mut self.ports[port.index()];
            state.version += 1;
            self.board.show_version(self.number, port, state.version);
        }
    }

    /// Shows what it holds of the pools, and passes the fence that ends its turn.
    pub fn end_turn(&mut self, held: PoolUse) {
        let parts = |held: PoolUse| [held.shared, held.headroom, held.egress_lossy];
        let cells = |bytes: Bytes| Cells::within(bytes.0);
        let mut pairs = parts(self.pools).into_iter().zip(parts(held));
        if pairs.any(|(shown, now)| differ(cells(shown), cells(now))) {
            self.pools = held;
            self.board.show_pools(self.number, held);
        }
        // What this turn has shown is seen by whoever looks after this, or this lane's next look sees what they have shown.
        fence(Ordering::SeqCst);
    }
}

impl OtherLanes for Lane {
    fn received(&self, port: PortId, priority: Priority) -> WireBytes {
        self.others().map(|lane| self.board.received(lane, port, priority)).sum()
    }

    fn ledgers(&self, each: &mut dyn FnMut(&Ledger)) {
        self.others().for_each(|lane| each(self.board.ledger(lane)));
    }
}

/// Whether a level that is shown as `shown` has to be shown anew.
fn differ(shown: Cells, now: Cells) -> bool {
    let falls_to_nothing = (shown == Cells::ZERO) != (now == Cells::ZERO);
    falls_to_nothing || shown.0.abs_diff(now.0) >= GRAIN.0
}

/// A link that is busy for longer than a claim may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    /// The time after which it is free.
    pub lead: Interval,
    /// How far ahead of it this lane may hand frames over.
    pub window: Interval,
}

/// What a claim has to know of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub rate: BitRate,
    /// How far ahead of it frames are handed over.
    pub window: Interval,
    /// The longest frame.
    pub longest: WireBytes,
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
