//! One port's ingress.

use super::HiddenCounters;
use super::stops::{StopMeter, Stops};
use crate::admission::{Group, Others, Pools};
use crate::allowance::Allowance;
use crate::congestion::RateAdvertiser;
use crate::flow_control::{
    Accounts, Directive, FlowControl, Look, PauseCause, PauseSender, PauseTimes, Scheme, threshold,
};
use crate::forwarding::{BounceCounters, PuntAllowance};
use crate::ledger::{Ledger, Load, Volume};
use crate::link_agent::Agent;
use crate::link_delay::Meter;
use crate::liveness::Monitor;
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason, PerReason};
use crate::service::Service;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cells, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::ethernet::MacAddress;
use wire::grants::Message;

/// Frames that came in through one port. Every frame is in exactly one of `received` and `consumed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IngressCounters {
    /// Frames that arrived to be forwarded, by priority, dropped frames included.
    pub received: [Volume; Priority::COUNT],
    /// Copies that flooding made, by the priority that is charged for them: for copies of lossless frames a lossy one.
    pub copies: [Volume; Priority::COUNT],
    /// Answers of the gateway to consumed frames, and frames of the kernel that leave through the port.
    pub answers: [Volume; Priority::COUNT],
    /// Frames that the gateway consumed.
    pub consumed: [Volume; Consumed::COUNT],
    /// Frames that were dropped before admission.
    pub dropped: [PerReason<Volume>; Priority::COUNT],
    /// RoCEv2 frames that found no room in a lossy priority of the port, in its group or in its queue.
    pub dropped_roce: [u64; Priority::COUNT],
    /// Notifications to senders that waited in a scheme of the port when a reload turned it off, and for which the ports to
    /// these senders had no room.
    pub lost_notifications: u64,
}

/// The ingress half of a port.
#[derive(Serialize, Deserialize)]
pub(crate) struct IngressPort {
    pub id: PortId,
    pub mac: MacAddress,
    pub groups: [Group; Priority::COUNT],
    pub scheme: Scheme,
    pub pauses: PauseSender,
    /// How lossless groups are obeyed.
    stops: [Option<Box<StopMeter>>; Priority::COUNT],
    lossless: PrioritySet,
    pub advertiser: Option<RateAdvertiser>,
    /// The measurement of its link.
    pub meter: Option<Box<Meter>>,
    pub agent: Option<Box<Agent>>,
    /// Whether its link lives, where more than the carrier tells.
    pub liveness: Option<Box<Monitor>>,
    /// Whether the last burst was full, until the monitor has been told.
    pub burst_was_full: bool,
    pub counters: IngressCounters,
    pub bounces: BounceCounters,
    pub hidden: HiddenCounters,
    /// The allowance for answers of the gateway.
    pub may_answer: Allowance,
    pub may_punt: PuntAllowance,
    /// Groups that may hold bytes.
    holding: PrioritySet,
    /// Whether more waits in the receive ring than its mark.
    ring_is_deep: bool,
    /// Whether frames come in with shims of repair.
    pub unwraps: bool,
    /// Priorities paused for that alone: their groups fill as if they were not paused.
    for_ring: PrioritySet,
    /// Whether another lane does what the link has once: it sends pauses and runs the flow control, the rates and the services.
    follows: bool,
    /// Priorities that stay paused for other lanes.
    kept: PrioritySet,
    /// Since when it has wanted a pause that the lead does not show; never if it does not.
    unheard_since: Nanos,
    /// Whether a frame was dropped since the drops were last looked at.
    pub has_dropped: bool,
}

impl IngressPort {
    pub fn new(id: PortId, program: &Program, ledger: &Ledger, pools: &Pools) -> Self {
        let settings = program.port(id);
        let (lossless, counters) = (settings.lossless(), IngressCounters::default());
        let holding = PrioritySet::EMPTY;
        let look = look(id, lossless, &counters.received, (ledger.into(), pools), holding);
        let mut scheme = Scheme::new(settings.flow_control, settings.rate, program.hash_key(), look);
        scheme.learn(program.behind(id), look);
        Self {
            id,
            mac: settings.mac,
            groups: core::array::from_fn(|index| Group::new(settings.groups[index])),
            scheme,
            pauses: PauseSender::new(settings.pfc.pause, settings.rate),
            stops: core::array::from_fn(|index| StopMeter::of(&settings.groups[index], settings.rate)),
            lossless,
            advertiser: settings
                .notifiers
                .lscc
                .as_ref()
                .map(|lscc| RateAdvertiser::at_rest(id, lscc, program.settings().seed)),
            meter: settings.link_delay.map(|it| Box::new(Meter::new(it, settings.mac))),
            agent: settings.link_agent.as_ref().map(|it| Box::new(Agent::new(it))),
            liveness: monitor(id, program),
            burst_was_full: false,
            counters,
            bounces: BounceCounters::default(),
            hidden: HiddenCounters::default(),
            may_answer: Allowance::default(),
            may_punt: PuntAllowance::default(),
            holding,
            ring_is_deep: false,
            unwraps: false,
            for_ring: PrioritySet::EMPTY,
            follows: false,
            kept: PrioritySet::EMPTY,
            unheard_since: Nanos::NEVER,
            has_dropped: false,
        }
    }

    /// Applies new settings. The groups keep their charges, and their pauses are to be reconsidered.
    pub fn configure(&mut self, now: Nanos, program: &Program, accounts: Accounts<'_>, pools: &mut Pools) {
        let settings: &PortSettings = program.port(self.id);
        self.mac = settings.mac;
        let advertises_anew = self.configure_advertiser(settings, program.settings().seed, accounts);
        self.lossless = settings.lossless();
        let flow_control = if self.follows { FlowControl::Pfc } else { settings.flow_control };
        let (key, behind) = (program.hash_key(), program.behind(self.id));
        let (scheme, pauses, look) = self.show(accounts, pools);
        let restarts = scheme.configure(flow_control, settings.rate, key, look);
        if restarts {
            // No other scheme knows what it holds.
            let (priorities, cause) = (PrioritySet::EMPTY, PauseCause::default());
            pauses.follow(Directive::Hold { priorities, cause });
        }
        scheme.learn(behind, look);
        if restarts || advertises_anew {
            self.wake(now);
        }
        match (settings.link_delay.filter(|_| !self.follows), &mut self.meter) {
            (Some(it), Some(meter)) => meter.configure(it, settings.mac),
            (it, meter) => *meter = it.map(|it| Box::new(Meter::new(it, settings.mac))),
        }
        match (settings.link_agent.as_ref().filter(|_| !self.follows), &mut self.agent) {
            (Some(it), Some(agent)) => agent.configure(it),
            (it, agent) => *agent = it.map(|it| Box::new(Agent::new(it))),
        }
        match (settings.bundle.as_ref().and_then(|it| it.liveness), &mut self.liveness) {
            (Some(it), Some(monitor)) => monitor.configure(now, it),
            (_, place) => *place = monitor(self.id, program),
        }
        self.pauses.configure(settings.pfc.pause, settings.rate);
        for priority in Priority::all() {
            let group = &mut self.groups[priority.index()];
            group.configure(settings.groups[priority.index()], pools);
            // Only a group that was lossy needs memory.
            match (group.settings().lossless(), &mut self.stops[priority.index()]) {
                (Some(new), Some(stops)) => stops.configure(new.headroom, settings.rate),
                (_, stops) => *stops = StopMeter::of(group.settings(), settings.rate),
            }
            let cause = threshold::above(group, pools);
            self.pause(priority, cause);
        }
    }

    /// Leaves to the lead what the link has once.
    pub fn follow(&mut self) {
        self.follows = true;
        self.pauses.silence();
        (self.scheme, self.advertiser, self.meter, self.agent) = (Scheme::Pfc, None, None, None);
    }

    /// Returns whether the advertiser restarts.
    fn configure_advertiser(&mut self, settings: &PortSettings, seed: u64, accounts: Accounts<'_>) -> bool {
        let departed = |priority| accounts.sum(|ledger| ledger.sent_from(self.id, priority));
        let departed: Volume = settings.lossless().iter().map(departed).sum();
        match (settings.notifiers.lscc.as_ref().filter(|_| !self.follows), &mut self.advertiser) {
            (Some(lscc), Some(advertiser)) if settings.lossless() == self.lossless => {
                advertiser.configure(lscc, departed);
                false
            }
            (lscc, advertiser) => {
                let new = |lscc| RateAdvertiser::new(self.id, lscc, seed, departed);
                *advertiser = lscc.map(new);
                advertiser.is_some()
            }
        }
    }

    /// The priorities whose groups may hold something.
    #[inline]
    pub fn holding(&self) -> PrioritySet {
        self.holding
    }

    /// The priorities that are lossless.
    #[inline]
    pub fn lossless(&self) -> PrioritySet {
        self.lossless
    }

    /// Whether it has a flow control with deadlines of its own, or another service.
    pub fn acts(&self) -> bool {
        self.scheme.acts() || self.meter.is_some() || self.agent.is_some() || self.liveness.is_some()
    }

    /// When the next frame of a service is due, if the link is free.
    #[inline]
    pub fn frame_due(&self) -> Nanos {
        let meter = self.meter.as_ref().map_or(Nanos::NEVER, |it| it.frame_due());
        let agent = self.agent.as_ref().map_or(Nanos::NEVER, |it| it.frame_due());
        let hello = self.liveness.as_ref().map_or(Nanos::NEVER, |it| it.frame_due());
        self.scheme.frame_due().min(meter).min(agent).min(hello)
    }

    /// Whether a component here sleeps until frames come in.
    #[inline]
    pub fn wakes(&self) -> bool {
        self.scheme.wakes() || self.advertiser.is_some()
    }

    /// Whether one of them sleeps now.
    pub fn sleeps(&self) -> bool {
        let scheme = self.scheme.wakes() && self.scheme.deadline() == Nanos::NEVER;
        scheme || self.advertiser.as_ref().is_some_and(|it| it.deadline() == Nanos::NEVER)
    }

    /// Wakes the components that sleep, because frames came in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.scheme.wake(now);
        if let Some(advertiser) = &mut self.advertiser {
            advertiser.wake(now);
        }
    }

    /// As [`IngressPort::wake`], on a lane: others may have taken frames before, which are not under way.
    pub fn wake_behind(&mut self, now: Nanos, accounts: Accounts<'_>, pools: &Pools) {
        let (scheme, _, look) = self.show(accounts, pools);
        let received = look.received();
        scheme.wake_behind(now, received);
        if let Some(advertiser) = &mut self.advertiser {
            advertiser.wake(now);
        }
    }

    /// Calls the scheme when its deadline has come.
    pub fn call_scheme(&mut self, now: Nanos, accounts: Accounts<'_>, pools: &Pools) {
        let (scheme, pauses, look) = self.show(accounts, pools);
        scheme.on_deadline(now, look, pauses);
    }

    /// Gives the scheme a message of the other end of the link.
    pub fn hear(&mut self, now: Nanos, message: &Message, accounts: Accounts<'_>, pools: &Pools) {
        let (scheme, _, look) = self.show(accounts, pools);
        scheme.hear(now, message, look);
    }

    /// The scheme, the pauses that it asks for, and what it may see.
    fn show<'a>(
        &'a mut self,
        accounts: Accounts<'a>,
        pools: &'a Pools,
    ) -> (&'a mut Scheme, &'a mut PauseSender, Look<'a>) {
        let Self { id, lossless, holding, scheme, pauses, counters, .. } = self;
        (scheme, pauses, look(*id, *lossless, &counters.received, (accounts, pools), *holding))
    }

    /// Cells of `priority` that may come in without a closer check, in any number of frames.
    #[inline]
    pub fn room(&self, priority: Priority, pools: &Pools) -> Cells {
        if self.takes_headroom(priority) {
            return Cells::ZERO;
        }
        self.groups[priority.index()].room(pools)
    }

    /// The priority whose group is charged for copies of flooded frames of `priority`: the first lossy one where that is
    /// lossless. `None`: all are lossless.
    pub fn charged_for_copies(&self, priority: Priority) -> Option<Priority> {
        let is_lossy = |each: &Priority| !self.lossless.contains(*each);
        Some(priority).filter(is_lossy).or_else(|| Priority::all().find(is_lossy))
    }

    /// Whether frames of `priority` fill its headroom alone, because its group had reached a threshold.
    #[inline]
    fn takes_headroom(&self, priority: Priority) -> bool {
        self.pauses.paused().difference(self.for_ring).contains(priority)
    }

    /// Charges a frame that came at `now` to its group, or returns the reason for its drop.
    #[inline]
    pub fn admit(
        &mut self,
        now: Nanos,
        (priority, length): (Priority, Bytes),
        pools: &mut Pools,
    ) -> Result<(), DropReason> {
        let paused = self.takes_headroom(priority);
        let group = &mut self.groups[priority.index()];
        let admitted = group.admit(Cells::of_frame(length), paused, pools);
        if paused && let Some(stops) = &mut self.stops[priority.index()] {
            stops.arrived(now, group.joint_headroom());
        }
        self.holding = self.holding.with(priority);
        let cause = threshold::reached(group, pools, &admitted);
        self.pause(priority, cause);
        admitted.map(|_| ())
    }

    /// Counts and charges frames that fit the room of their group.
    #[inline]
    pub fn charge_within_room(&mut self, priority: Priority, load: Load, pools: &mut Pools) {
        self.counters.received[priority.index()] += load.volume;
        self.groups[priority.index()].charge_within_room(load.cells, pools);
        self.holding = self.holding.with(priority);
    }

    /// Counts and charges a frame that fits the room of its group, and credits it at once: it has left already.
    #[inline(always)]
    pub fn pass_within_room(&mut self, priority: Priority, load: Load, pools: &mut Pools) {
        self.counters.received[priority.index()] += load.volume;
        self.groups[priority.index()].pass_within_room(load.cells, pools);
    }

    /// Pauses all lossless groups because memory for received frames runs low.
    pub fn pause_for_memory(&mut self) {
        for priority in self.lossless.iter() {
            self.pause(priority, Some(PauseCause::MemoryLow));
        }
    }

    /// Sets whether the receive ring is deep. [`IngressPort::resume_where_low`] then pauses or resumes.
    pub fn set_ring_deep(&mut self, deep: bool) {
        self.ring_is_deep = deep;
    }

    /// Whether a burst does not take the usual way: frames have shims, or lossy ones may end here.
    #[inline(always)]
    pub fn is_unusual(&self) -> bool {
        self.ring_is_deep | self.unwraps
    }

    /// Whether lossy frames end here, so that the core catches up with the receive ring. Without a lossless priority, no one
    /// gains by that.
    #[inline]
    pub fn drops_lossy(&self) -> bool {
        self.ring_is_deep && !self.lossless.is_empty()
    }

    /// The priorities that are paused because a receive ring is deep, and for nothing else.
    pub fn paused_for_ring(&self) -> PrioritySet {
        self.for_ring
    }

    /// Pauses the lossless groups that are not paused.
    #[cold]
    fn pause_for_ring(&mut self) {
        let free = self.lossless.difference(self.pauses.paused());
        for priority in free.iter() {
            self.pause(priority, Some(PauseCause::ReceiveRing));
        }
        self.for_ring = self.for_ring.union(free);
    }

    /// Pauses `priority` if there is a cause. A priority that is already paused keeps its first cause.
    #[inline]
    fn pause(&mut self, priority: Priority, cause: Option<PauseCause>) {
        if let Some(cause) = cause {
            self.for_ring = self.for_ring.without(priority);
            self.pauses.follow(Directive::Pause { priority, cause });
        }
    }

    /// Takes what other lanes hold of its groups, and the causes for which they keep priorities paused. Pauses where the sum is
    /// above a threshold; [`IngressPort::resume_where_low`] resumes.
    pub fn note_others(
        &mut self,
        pools: &Pools,
        others: impl Fn(Priority) -> Others,
        kept: [Option<PauseCause>; Priority::COUNT],
    ) {
        // During a reload, other lanes may know of more lossless priorities.
        self.kept = Priority::all().filter(|priority| kept[priority.index()].is_some()).collect();
        for priority in self.lossless.union(self.kept).iter() {
            let (group, kept) = (&mut self.groups[priority.index()], kept[priority.index()]);
            group.note_others(others(priority));
            let above = threshold::above(group, pools);
            match (kept, above) {
                (Some(PauseCause::ReceiveRing), None) => {
                    if !self.pauses.paused().contains(priority) {
                        self.pause(priority, kept);
                        self.for_ring = self.for_ring.with(priority);
                    }
                }
                _ => self.pause(priority, kept.or(above)),
            }
        }
    }

    /// Lets frames in that come while the lead is away, and tells no one to stop: as many as arrived since this lane has wanted
    /// that, or since the pauses of the lead have ended, at `end` at the earliest. The lead keeps what this lane wants as long
    /// as it does.
    pub fn await_lead(&mut self, now: Nanos, end: Nanos) {
        let unheard = self.pauses.paused().difference(self.kept);
        self.unheard_since = if unheard.is_empty() { Nanos::NEVER } else { self.unheard_since.min(now) };
        for (priorities, since) in [(unheard, self.unheard_since), (self.kept, end)] {
            if since < now {
                let arrived = self.pauses.rate().bytes_in(now.since(since));
                let groups = priorities.iter().map(|priority| priority.index());
                groups.for_each(|index| self.groups[index].allow_late(WireBytes(arrived)));
            }
        }
    }

    /// The priorities that cannot go on for what this lane knows, with the cause.
    pub fn wants(&self, pools: &Pools) -> [Option<PauseCause>; Priority::COUNT] {
        let mut wants = [None; Priority::COUNT];
        for priority in self.pauses.paused().iter() {
            let is_low = threshold::is_low(&self.groups[priority.index()], pools);
            let is_for_ring = self.for_ring.contains(priority);
            wants[priority.index()] = match (self.ring_is_deep, is_low) {
                (true, _) if is_for_ring || is_low => Some(PauseCause::ReceiveRing),
                (_, true) => None,
                // Another lane's ring is its own matter.
                (false, false) if is_for_ring => None,
                // It was paused for a ring first, and has reached its threshold since.
                (_, false) => match self.pauses.cause(priority) {
                    Some(PauseCause::ReceiveRing) => Some(PauseCause::Threshold),
                    cause => cause,
                },
            };
        }
        wants
    }

    /// Credits its groups with the frames that have left the switch.
    #[inline]
    pub fn settle(&mut self, ledger: &Ledger, pools: &mut Pools) {
        for priority in self.holding.iter() {
            let group = &mut self.groups[priority.index()];
            group.settle(ledger.released(self.id, priority), pools);
            if group.occupancy() == Bytes::ZERO {
                self.holding = self.holding.without(priority);
            }
        }
    }

    /// Whether the scheme or a PFC frame is due at `now`.
    #[inline(always)]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.pauses.deadline() <= now || self.scheme.deadline() <= now
    }

    /// Ends the pauses of groups that have fallen below their lower threshold, unless the receive ring is deep. Returns
    /// whether any group is still paused.
    #[inline]
    pub fn resume_where_low(&mut self, pools: &Pools) -> bool {
        for priority in self.pauses.paused().difference(self.kept).iter() {
            if self.for_ring.contains(priority) || threshold::is_low(&self.groups[priority.index()], pools) {
                // A deep ring holds more of what arrived while a worker was away.
                if !self.ring_is_deep {
                    self.groups[priority.index()].end_lateness();
                }
                self.pauses.follow(Directive::Resume { priority });
                if let Some(stops) = &mut self.stops[priority.index()] {
                    stops.resumed();
                }
            }
        }
        self.for_ring = self.for_ring.intersection(self.kept);
        if self.ring_is_deep {
            self.pause_for_ring();
        }
        !self.pauses.paused().is_empty()
    }

    /// Takes the pauses that are due at `now` and will be on the wire from `start`.
    pub fn take_due_pauses(&mut self, now: Nanos, start: Nanos) -> PauseTimes {
        let times = self.pauses.take_due(now, start);
        for priority in self.pauses.paused().iter().filter(|it| times[it.index()].is_some()) {
            if let Some(stops) = &mut self.stops[priority.index()] {
                stops.announced(start);
            }
        }
        times
    }

    /// How the sender of `priority` obeys; `None` if it is lossy.
    pub fn stops(&self, priority: Priority) -> Option<&Stops> {
        self.stops[priority.index()].as_ref().map(|it| &it.stops)
    }

    /// Counts a frame that was dropped before admission.
    pub fn count_drop(&mut self, priority: Priority, reason: DropReason, length: Bytes) {
        self.has_dropped = true;
        self.counters.dropped[priority.index()][reason.index()].count(length);
    }
}

/// The monitor of the link of `port`, where more than the carrier tells whether it lives. No program of several lanes has one.
fn monitor(port: PortId, program: &Program) -> Option<Box<Monitor>> {
    let liveness = program.port(port).bundle.as_ref()?.liveness?;
    Some(Box::new(Monitor::new(liveness, program.settings().seed ^ u64::from(port.0))))
}

/// The view of `port`, which has these `lossless` priorities, that its scheme gets.
fn look<'a>(
    port: PortId,
    lossless: PrioritySet,
    received: &'a [Volume; Priority::COUNT],
    (accounts, pools): (Accounts<'a>, &Pools),
    holding: PrioritySet,
) -> Look<'a> {
    let (shared_free, shared_held) = (Bytes(pools.shared.free()), Bytes(pools.shared.held_by_all()));
    Look { port, lossless, received, accounts, shared_free, shared_held, holding }
}

#[cfg(test)]
mod tests;
