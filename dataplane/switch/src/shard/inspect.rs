//! Inspection of a shard: counters, levels, watermarks, pauses.

use super::Shard;
use crate::admission::{Pool, Pools};
use crate::bundle::BundleReport;
use crate::congestion::RateAdvertiser;
use crate::congestion::{NotifiersReport, ThresholdsReport};
use crate::egress::{PausesReceived, Queue, QueueCounters, WatchdogCounters, WatchdogLog};
use crate::flow_control::{PauseCause, PausesSent, SchemeReport};
use crate::flows::{Flows, FlowsReport};
use crate::forwarding::{BounceCounters, BridgeCounters};
use crate::frame::Frame;
use crate::histogram::DelayHistogram;
use crate::ingress::{HiddenCounters, IngressCounters, Stops};
use crate::ledger::Volume;
use crate::link_agent::LinkAgentReport;
use crate::link_delay::LinkDelayReport;
use crate::liveness::LivenessReport;
use crate::program::ForwardingSettings;
use crate::reason::PerReason;
use crate::repair::RepairReport;
use crate::watermark::Watermark;
use units::{Bytes, Interval, Nanos, PortId, Priority, PrioritySet};

/// One priority group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupReport {
    /// Whether it is lossless.
    pub lossless: bool,
    /// Bytes that it holds, headroom included.
    pub occupancy: Bytes,
    /// Bytes that it holds of the headroom pool.
    pub headroom: Bytes,
    /// Watermark of reserved and shared bytes.
    pub watermark: Watermark,
    /// Watermark of headroom bytes.
    pub headroom_watermark: Watermark,
    /// The reason why its sender is paused; `None` if it is not.
    pub paused: Option<PauseCause>,
    /// PFC frames sent for it.
    pub pauses: PausesSent,
    /// Total pause time requested by the frames, for each of [`PauseCause::ALL`].
    pub paused_for: [Interval; PauseCause::ALL.len()],
}

/// The egress queues of one priority, taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// Frames that wait now.
    pub waiting: Volume,
    /// Frames that have passed.
    pub counters: QueueCounters,
    /// Watermark of the bytes in one of them.
    pub watermark: Watermark,
    /// PFC frames received for the priority.
    pub pauses: PausesReceived,
    /// Total time for which it was paused.
    pub paused_for: Interval,
    /// The watchdog's counters.
    pub watchdog: WatchdogCounters,
    /// Whether the watchdog holds one of them for stormed now.
    pub stormed: bool,
    /// Admitted frames that were then dropped here, for each of [`DropReason::ALL`](crate::DropReason::ALL).
    pub dropped: PerReason<Volume>,
}

/// The pauses of a port at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseState {
    /// Priorities that the neighbour was asked to stop, as long as that pause lasts.
    pub sent: PrioritySet,
    /// Priorities that the neighbour has stopped here.
    pub received: PrioritySet,
    /// The end of the first of these pauses to expire; never if there is none.
    pub until: Nanos,
}

/// A pool: the part that this shard holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLevel {
    /// Bytes held now.
    pub held: Bytes,
    /// The most bytes held.
    pub watermark: Watermark,
}

/// The pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolReport {
    /// Shared part of the ingress pool.
    pub shared: PoolLevel,
    /// Headroom pool.
    pub headroom: PoolLevel,
    /// Egress pool of lossy queues.
    pub egress_lossy: PoolLevel,
}

/// The whole state of one port, as plain data that can leave the shard's core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortInspection {
    /// The time of the inspection.
    pub at: Nanos,
    /// Frames that came in.
    pub ingress: IngressCounters,
    /// Its groups, by priority.
    pub groups: [GroupReport; Priority::COUNT],
    /// Its queues, those of each priority taken together.
    pub queues: [QueueReport; Priority::COUNT],
    /// Delay of frames in them.
    pub delays: [DelayHistogram; Priority::COUNT],
    /// How the sender obeys the pauses of each priority; empty where it is lossy.
    pub stops: [Stops; Priority::COUNT],
    /// Control frames that the switch sent through it.
    pub control_sent: Volume,
    /// Its pauses.
    pub pauses: PauseState,
    /// Its flow control.
    pub flow_control: SchemeReport,
    /// Its flows, where a scheme notifies their senders.
    pub flows: Option<FlowsReport>,
    /// The delay of its link, where it is measured.
    pub link_delay: Option<LinkDelayReport>,
    /// Its link agent, where it has one.
    pub link_agent: Option<LinkAgentReport>,
    /// Lateness of LSCC intervals, where LSCC runs.
    pub advertiser_lateness: Option<DelayHistogram>,
    /// ECN thresholds that move: the sums of all changes, and the lowest thresholds in force; `None` where none moves.
    pub adaptive_ecn: Option<ThresholdsReport>,
    /// Frames that came in and bounced; `None` where nothing is remapped.
    pub bounces: Option<BounceCounters>,
    /// The port as a member of its bundle, if it is one.
    pub bundle: Option<BundleReport>,
    /// The liveness of its link, where more than the carrier tells.
    pub liveness: Option<LivenessReport>,
    /// Repair of what its link loses, where it repairs.
    pub repair: Option<RepairReport>,
    /// Frames that came in with headers that are hidden.
    pub hidden: HiddenCounters,
    /// The schemes that notify senders.
    pub notifiers: NotifiersReport,
    /// Changes that its stations made to entries of others in the bridge; `None` where the switch is no bridge.
    pub bridge: Option<BridgeCounters>,
    /// The latest storms, begun or ended, on any port of its shard.
    pub watchdog: WatchdogLog,
}

impl PortInspection {
    /// Adds what another lane of the port has seen to this inspection of the lead: counters, delays, and what is inside. What a
    /// link has once is the lead's: pauses, flow control, rates, services, watermarks.
    pub fn add_lane(&mut self, lane: &Self) {
        // All fields are named here and below, so that a new one isn't forgotten.
        let Self {
            at: _,
            ingress,
            groups,
            queues,
            delays,
            stops: _,
            control_sent,
            pauses: _,
            flow_control: _,
            flows,
            link_delay: _,
            link_agent: _,
            advertiser_lateness: _,
            adaptive_ecn: _,
            bounces: _,
            bundle,
            liveness: _,
            repair: _,
            hidden,
            notifiers,
            bridge,
            watchdog,
        } = lane;
        self.watchdog.add_lane(watchdog);
        if let (Some(member), Some(more)) = (&mut self.bundle, bundle) {
            *member += *more;
        }
        if let (Some(flows), Some(more)) = (&mut self.flows, flows) {
            flows.add_lane(more);
        }
        self.notifiers.add_lane(notifiers);
        self.ingress.add_lane(ingress);
        self.groups.iter_mut().zip(groups).for_each(|(group, more)| group.add_lane(more));
        self.queues.iter_mut().zip(queues).for_each(|(queue, more)| queue.add_lane(more));
        self.delays.iter_mut().zip(delays).for_each(|(delay, more)| delay.add(more));
        self.control_sent += *control_sent;
        let HiddenCounters { macsec, tagged } = hidden;
        self.hidden.macsec += macsec;
        self.hidden.tagged += tagged;
        if let (Some(changes), Some(BridgeCounters { moved, displaced, refused })) =
            (&mut self.bridge, bridge)
        {
            changes.moved += moved;
            changes.displaced += displaced;
            changes.refused += refused;
        }
    }
}

impl<F: Frame> Shard<F> {
    /// Copies the whole state of `port` at `now` to `into`. Does not allocate.
    pub fn inspect(&self, now: Nanos, port: PortId, into: &mut PortInspection) {
        into.at = now;
        into.ingress.clone_from(self.ingress_counters(port));
        for (index, priority) in Priority::all().enumerate() {
            into.groups[index] = self.group(now, port, priority);
            into.queues[index] = self.queue(now, port, priority);
            into.delays[index] = self.queue_delay(port, priority);
            match self.fabric.ingress[port.index()].stops(priority) {
                Some(stops) => into.stops[index].clone_from(stops),
                None => into.stops[index] = Stops::default(),
            }
        }
        into.control_sent = self.control_sent(port);
        into.pauses = self.pauses(now, port);
        into.link_agent = self.link_agent(now, port);
        into.watchdog.clone_from(self.watchdog_events());
        self.inspect_schemes(port, into);
    }

    /// Copies the state of `port` that [`figure::LISTS`](crate::figure::LISTS) reads to `into`, and leaves the rest
    /// of `into` as it is. Does not allocate.
    pub fn inspect_schemes(&self, port: PortId, into: &mut PortInspection) {
        let (ingress, egress) = (&self.fabric.ingress[port.index()], &self.fabric.egress[port.index()]);
        let adaptive = |queue| Some(egress.queue(queue).adaptive.as_ref()?.report());
        into.flow_control = self.flow_control(port);
        into.flows = self.flows(port);
        into.link_delay = self.link_delay(port);
        into.advertiser_lateness = self.advertiser_lateness(port).cloned();
        into.adaptive_ecn = egress.adapting.iter().filter_map(adaptive).reduce(ThresholdsReport::and);
        into.bounces = self.program.bounces(port).map(|_| ingress.bounces);
        into.bundle = self.fabric.failover.report(port);
        into.liveness = self.fabric.ingress[port.index()].liveness.as_ref().map(|it| it.report());
        into.repair = self.repair(port);
        into.hidden = ingress.hidden;
        into.notifiers = self.notifiers(port);
        let bridges = matches!(self.program.settings().forwarding, ForwardingSettings::Bridge(_));
        into.bridge = bridges.then(|| self.bridge.counters(port));
    }

    /// Frames that came in through `port`.
    pub fn ingress_counters(&self, port: PortId) -> &IngressCounters {
        &self.fabric.ingress[port.index()].counters
    }

    /// The report of the flow control of `port`.
    pub fn flow_control(&self, port: PortId) -> SchemeReport {
        let upstream = self.fabric.egress[port.index()].gate.upstream.as_deref();
        self.fabric.ingress[port.index()].scheme.report(upstream)
    }

    /// The repair of `port`, if it repairs.
    pub fn repair(&self, port: PortId) -> Option<RepairReport> {
        self.fabric.repair_report(port)
    }

    /// Frames of `priority` that came in through `port`, which repairs, and wait for lost ones: they are charged as if they left
    /// through the port itself.
    pub fn held(&self, port: PortId, priority: Priority) -> Volume {
        self.fabric.held(port, priority)
    }

    /// The delay of the link of `port`, if it is measured.
    pub fn link_delay(&self, port: PortId) -> Option<LinkDelayReport> {
        self.fabric.ingress[port.index()].meter.as_ref().map(|meter| meter.report())
    }

    /// The link agent of `port` at `now`, if it has one.
    pub fn link_agent(&self, now: Nanos, port: PortId) -> Option<LinkAgentReport> {
        self.fabric.ingress[port.index()].agent.as_ref().map(|agent| agent.report(now))
    }

    /// The pauses of `port` at `now`, for the time that their frames ask for. A sent pause counts from the time
    /// when its frame was given out.
    pub fn pauses(&self, now: Nanos, port: PortId) -> PauseState {
        let (ingress, egress) = (&self.fabric.ingress[port.index()], &self.fabric.egress[port.index()]);
        let mut state =
            PauseState { sent: PrioritySet::EMPTY, received: PrioritySet::EMPTY, until: Nanos::NEVER };
        for priority in Priority::all() {
            let received = &egress.gate.pauses;
            let stopped = received.queues(priority).iter().map(|queue| received.paused_until(queue));
            let ends = [ingress.pauses.paused_until(priority), stopped.max().unwrap_or_default()];
            for (set, end) in [&mut state.sent, &mut state.received].into_iter().zip(ends) {
                if end > now {
                    *set = set.with(priority);
                    state.until = state.until.min(end);
                }
            }
        }
        state
    }

    /// The flows of `port`; `None` where no scheme notifies their senders, and at a member of a bundle if the first member has
    /// them.
    pub fn flows(&self, port: PortId) -> Option<FlowsReport> {
        self.fabric.flows(port).map(Flows::report)
    }

    /// Lateness of LSCC intervals on `port`; `None` where LSCC does not run.
    pub fn advertiser_lateness(&self, port: PortId) -> Option<&DelayHistogram> {
        self.fabric.ingress[port.index()].advertiser.as_ref().map(RateAdvertiser::lateness)
    }

    /// The counters of the schemes of `port` that notify senders.
    pub fn notifiers(&self, port: PortId) -> NotifiersReport {
        let advertiser = self.fabric.ingress[port.index()].advertiser.as_ref();
        let senders = self.fabric.senders[port.index()].as_ref();
        match senders {
            Some(senders) => senders.report(advertiser),
            None => NotifiersReport::of_limiter(self.fabric.limiter(port), advertiser),
        }
    }

    /// Control frames that the switch sent through `port`.
    pub fn control_sent(&self, port: PortId) -> Volume {
        self.fabric.egress[port.index()].control
    }

    /// The group of `priority` on `port`, at `now`.
    pub fn group(&self, now: Nanos, port: PortId, priority: Priority) -> GroupReport {
        let ingress = &self.fabric.ingress[port.index()];
        let group = &ingress.groups[priority.index()];
        GroupReport {
            lossless: group.is_lossless(),
            occupancy: group.occupancy(),
            headroom: group.headroom(),
            watermark: group.watermark,
            headroom_watermark: group.headroom_watermark,
            paused: ingress.pauses.cause(priority),
            pauses: ingress.pauses.sent(priority),
            paused_for: PauseCause::ALL.map(|cause| ingress.pauses.paused_for(priority, cause, now)),
        }
    }

    /// The queues of `priority` on `port`, at `now`.
    pub fn queue(&self, now: Nanos, port: PortId, priority: Priority) -> QueueReport {
        let egress = &self.fabric.egress[port.index()];
        let pauses = &egress.gate.pauses;
        let mut report = QueueReport {
            pauses: pauses.received(priority),
            paused_for: pauses.paused_for(priority, now),
            dropped: egress.dropped(priority),
            ..QueueReport::default()
        };
        for id in pauses.queues(priority).iter() {
            let (queue, (watchdog, stormed)) = (egress.queue(id), egress.watchdog(id));
            report.waiting += queue.waiting();
            report.counters += queue.counters;
            report.watermark = report.watermark.max(queue.watermark);
            report.watchdog += watchdog;
            report.stormed |= stormed;
        }
        report
    }

    /// The latest storms, begun or ended, on this shard's ports.
    pub fn watchdog_events(&self) -> &WatchdogLog {
        &self.fabric.recorder.watchdog
    }

    /// Delay of frames in the queues of `priority` on `port`.
    pub fn queue_delay(&self, port: PortId, priority: Priority) -> DelayHistogram {
        let egress = &self.fabric.egress[port.index()];
        let mut sum = DelayHistogram::default();
        egress.gate.pauses.queues(priority).iter().for_each(|queue| sum.add(&egress.queue(queue).delay));
        sum
    }

    /// The pools: the part that this shard holds.
    pub fn pools(&self) -> PoolReport {
        let level = |pool: &Pool| PoolLevel { held: pool.held, watermark: pool.watermark };
        let Pools { shared, headroom, egress_lossy, .. } = &self.fabric.pools;
        PoolReport { shared: level(shared), headroom: level(headroom), egress_lossy: level(egress_lossy) }
    }

    /// Restarts all cleared-on-read watermarks at the present levels. The persistent ones stay.
    pub fn clear_watermarks(&mut self) {
        for ingress in &mut self.fabric.ingress {
            ingress.groups.iter_mut().for_each(crate::admission::Group::clear_watermarks);
        }
        for egress in &mut self.fabric.egress {
            egress.queues_mut().iter_mut().for_each(Queue::clear_watermark);
        }
        self.fabric.pools.clear_watermarks();
    }
}
