//! One port's ingress.

use crate::admission::{Group, Pools};
use crate::allowance::Allowance;
use crate::congestion::lscc::RateAdvertiser;
use crate::flow_control::bifrost::{Bifrost, SlotCounters, SlotState};
use crate::flow_control::pfc::Generator;
use crate::ledger::{Ledger, Load, Volume};
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason};
use units::{BitRate, Bytes, Cells, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::ethernet::MacAddress;

/// What came in through one port. Every frame is in exactly one of `received` and `consumed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressCounters {
    /// Frames that arrived to be forwarded, by priority; those that were dropped included.
    pub received: [Volume; Priority::COUNT],
    /// Further copies that flooding made of them.
    pub copies: [Volume; Priority::COUNT],
    /// Answers that the gateway made out of consumed frames.
    pub answers: [Volume; Priority::COUNT],
    /// Frames that the gateway kept.
    pub consumed: [Volume; Consumed::COUNT],
    /// Frames that were dropped before they were admitted.
    pub dropped: [[Volume; DropReason::COUNT]; Priority::COUNT],
}

impl Default for IngressCounters {
    fn default() -> Self {
        Self {
            received: Default::default(),
            copies: Default::default(),
            answers: Default::default(),
            consumed: Default::default(),
            dropped: [[Volume::default(); DropReason::COUNT]; Priority::COUNT],
        }
    }
}

/// The ingress half of a port.
pub(crate) struct IngressPort {
    pub id: PortId,
    pub mac: MacAddress,
    pub groups: [Group; Priority::COUNT],
    pub pfc: Generator,
    rate: BitRate,
    lossless: PrioritySet,
    bifrost: Option<Bifrost>,
    pub advertiser: Option<RateAdvertiser>,
    pub counters: IngressCounters,
    /// Answers of the gateway itself.
    pub may_answer: Allowance,
    /// Groups that may hold bytes.
    holding: PrioritySet,
    /// Groups that are paused.
    paused: PrioritySet,
}

impl IngressPort {
    pub fn new(id: PortId, program: &Program) -> Self {
        let settings = program.port(id);
        Self {
            id,
            mac: settings.mac,
            groups: core::array::from_fn(|index| Group::new(settings.groups[index])),
            pfc: Generator::new(settings.pfc.pause, settings.rate),
            rate: settings.rate,
            lossless: settings.lossless(),
            bifrost: settings.bifrost.map(|bifrost| Bifrost::new(bifrost, settings.rate, 0)),
            advertiser: settings
                .lscc
                .as_ref()
                .map(|lscc| RateAdvertiser::at_rest(id, lscc, program.settings().seed)),
            counters: IngressCounters::default(),
            may_answer: Allowance::default(),
            holding: PrioritySet::EMPTY,
            paused: PrioritySet::EMPTY,
        }
    }

    /// New settings; what the groups hold stays. Their pauses are to be judged anew.
    pub fn configure(&mut self, now: Nanos, program: &Program, ledger: &Ledger, pools: &mut Pools) {
        let settings: &PortSettings = program.port(self.id);
        self.mac = settings.mac;
        self.configure_advertiser(settings, program.settings().seed, ledger);
        self.configure_bifrost(now, settings);
        self.pfc.configure(settings.pfc.pause, settings.rate);
        for priority in Priority::all() {
            self.groups[priority.index()].configure(settings.groups[priority.index()], pools);
            self.announce(priority);
        }
    }

    /// A change of Bifrost, or of what it counts, starts it anew as if everything were granted:
    /// it grants nothing more until the buffer has room beyond that.
    fn configure_bifrost(&mut self, now: Nanos, settings: &PortSettings) {
        let same = self.bifrost.as_ref().map(Bifrost::settings) == settings.bifrost.as_ref()
            && self.rate == settings.rate
            && self.lossless == settings.lossless();
        (self.rate, self.lossless) = (settings.rate, settings.lossless());
        if !same {
            let received = self.lossless_received().0;
            let counters = self.slots().cloned().unwrap_or_default();
            self.bifrost = settings
                .bifrost
                .map(|bifrost| Bifrost::new(bifrost, settings.rate, received).counting_on(counters));
            self.wake(now);
        }
    }

    fn configure_advertiser(&mut self, settings: &PortSettings, seed: u64, ledger: &Ledger) {
        let departed = settings.lossless().iter().map(|priority| ledger.sent_from(self.id, priority));
        let departed: Volume = departed.sum();
        match (&settings.lscc, &mut self.advertiser) {
            (Some(lscc), Some(advertiser)) if settings.lossless() == self.lossless => {
                advertiser.configure(lscc, departed);
            }
            (lscc, advertiser) => {
                let new = |lscc| RateAdvertiser::new(self.id, lscc, seed, departed);
                *advertiser = lscc.as_ref().map(new);
            }
        }
    }

    /// The priorities that are lossless.
    #[inline]
    pub fn lossless(&self) -> PrioritySet {
        self.lossless
    }

    /// Whether something here sleeps until frames come in.
    #[inline]
    pub fn wakes(&self) -> bool {
        self.bifrost.is_some() || self.advertiser.is_some()
    }

    /// Frames came in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if let Some(bifrost) = &mut self.bifrost {
            bifrost.wake(now);
        }
        if let Some(advertiser) = &mut self.advertiser {
            advertiser.wake(now);
        }
    }

    /// When the running slot ends; never without Bifrost.
    #[inline]
    pub fn slot_deadline(&self) -> Nanos {
        self.bifrost.as_ref().map_or(Nanos::NEVER, Bifrost::deadline)
    }

    /// Ends the slot while `queue` of the port's lossless frames is inside.
    pub fn end_slot(&mut self, now: Nanos, queue: Volume) {
        let received = self.lossless_received().0;
        if let Some(bifrost) = &mut self.bifrost
            && let Some(pause) = bifrost.end_slot(now, queue.on_the_wire().0, received)
        {
            self.pfc.pause_slot(self.lossless, pause, self.rate);
        }
    }

    /// All lossless frames that ever came in.
    fn lossless_received(&self) -> WireBytes {
        let received = self.lossless.iter().map(|priority| self.counters.received[priority.index()]);
        received.sum::<Volume>().on_the_wire()
    }

    /// What the slots have come to; `None` without Bifrost.
    pub fn slots(&self) -> Option<&SlotCounters> {
        self.bifrost.as_ref().map(Bifrost::counters)
    }

    /// The slot that ended last; `None` without Bifrost, or before one has.
    pub fn last_slot(&self) -> Option<SlotState> {
        self.bifrost.as_ref().and_then(Bifrost::last_slot)
    }

    /// Charges a frame to its group, or says why it may not enter.
    #[inline]
    pub fn admit(&mut self, priority: Priority, length: Bytes, pools: &mut Pools) -> Result<(), DropReason> {
        let group = &mut self.groups[priority.index()];
        let admitted = group.admit(Cells::of_frame(length), pools);
        self.holding = self.holding.with(priority);
        if group.paused().is_some() && !self.paused.contains(priority) {
            self.announce(priority);
        }
        admitted
    }

    /// Counts and charges frames that fit the room that their group had.
    #[inline]
    pub fn charge_within_room(&mut self, priority: Priority, load: Load, pools: &mut Pools) {
        self.counters.received[priority.index()] += load.volume;
        self.groups[priority.index()].charge_within_room(load.cells, pools);
        self.holding = self.holding.with(priority);
    }

    /// Counts and charges a frame that fits the room that its group had, and takes it off again, since it has left
    /// already.
    #[inline(always)]
    pub fn pass_within_room(&mut self, priority: Priority, load: Load, ledger: &Ledger, pools: &mut Pools) {
        self.counters.received[priority.index()] += load.volume;
        let group = &mut self.groups[priority.index()];
        group.pass_within_room(load.cells, ledger.released(self.id, priority), pools);
    }

    /// Pauses all lossless groups because memory for received frames runs low.
    pub fn pause_for_memory(&mut self) {
        for priority in self.lossless.iter() {
            self.groups[priority.index()].pause_for_memory();
            self.announce(priority);
        }
    }

    /// Tells the neighbour what the group says.
    fn announce(&mut self, priority: Priority) {
        match self.groups[priority.index()].paused() {
            Some(cause) => {
                self.paused = self.paused.with(priority);
                self.pfc.stop(priority, cause);
            }
            None => {
                self.paused = self.paused.without(priority);
                self.pfc.resume(priority);
            }
        }
    }

    /// Takes off its groups what has left the switch.
    #[inline]
    pub fn settle(&mut self, ledger: &Ledger, pools: &mut Pools) {
        for priority in self.holding.iter() {
            self.settle_one(priority, ledger, pools);
        }
    }

    /// As [`IngressPort::settle`], where nothing but frames of `priority` has left.
    #[inline]
    pub fn settle_one(&mut self, priority: Priority, ledger: &Ledger, pools: &mut Pools) {
        let group = &mut self.groups[priority.index()];
        group.settle(ledger.released(self.id, priority), pools);
        if group.occupancy() == Bytes::ZERO {
            self.holding = self.holding.without(priority);
        }
    }

    /// Whether it has nothing to tell its neighbour, now or later, unless something comes in.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        self.pfc.deadline() == Nanos::NEVER && self.bifrost.is_none()
    }

    /// Whether any of its groups is paused.
    #[inline]
    pub fn has_paused_group(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Ends the pauses of groups that have fallen below their lower threshold. Returns whether
    /// any is still paused.
    #[inline]
    pub fn resume_where_low(&mut self, pools: &Pools) -> bool {
        for priority in self.paused.iter() {
            if self.groups[priority.index()].resume_where_low(pools) {
                self.announce(priority);
            }
        }
        self.has_paused_group()
    }

    /// Counts a frame that was dropped before it was admitted.
    pub fn count_drop(&mut self, priority: Priority, reason: DropReason, length: Bytes) {
        self.counters.dropped[priority.index()][reason.index()].count(length);
    }
}
