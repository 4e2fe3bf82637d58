//! Notes the events of a shard.

use crate::congestion::{ThresholdStep, ThresholdsReport};
use crate::egress::{EgressPort, WatchdogEvent, WatchdogLog};
use crate::event::{DropWatch, Event, Events, Happening, PauseDirection, PortHalf, Spans};
use crate::flow_control::PauseTimes;
use crate::ingress::IngressPort;
use crate::liveness::LivenessEvent;
use crate::repair::Standing;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, PortId, PortSet, Priority, PrioritySet};

/// The events of the shard, and what it takes to tell what is new.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::shard) struct Recorder {
    pub events: Events,
    /// The latest storms, whether or not events are recorded.
    pub watchdog: WatchdogLog,
    /// By port; none while nothing is recorded.
    ports: Vec<Known>,
}

/// The state of one port, as events have told it.
#[derive(Serialize, Deserialize)]
struct Known {
    sent: Spans,
    received: Spans,
    /// The groups above their thresholds.
    above: PrioritySet,
    /// Those of them that took headroom.
    in_headroom: PrioritySet,
    came_in: DropWatch,
    on_the_way_out: DropWatch,
    repair: Standing,
}

impl Known {
    fn new(port: PortId) -> Self {
        Self {
            sent: Spans::new(port, PauseDirection::Sent),
            received: Spans::new(port, PauseDirection::Received),
            above: PrioritySet::EMPTY,
            in_headroom: PrioritySet::EMPTY,
            came_in: DropWatch::default(),
            on_the_way_out: DropWatch::default(),
            repair: Standing::default(),
        }
    }
}

impl Recorder {
    /// Whether events are recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.events.is_on()
    }

    /// Records events of `ports` from now on.
    pub fn start(&mut self, ports: impl Iterator<Item = PortId>) {
        if !self.is_on() {
            self.events.start();
            self.ports = ports.map(Known::new).collect();
        }
    }

    /// Lets the next look be at once, and tell all drops.
    pub fn hurry(&mut self) {
        self.events.hurry();
        for known in &mut self.ports {
            known.came_in.hurry();
            known.on_the_way_out.hurry();
        }
    }

    fn note(&mut self, at: Nanos, port: PortId, priority: Priority, what: Happening) {
        self.events.note(Event { at, port: Some(port), priority: Some(priority), what });
    }

    /// Notes a change of the watchdog.
    pub fn note_watchdog(&mut self, event: WatchdogEvent) {
        self.watchdog.push(event);
        self.note(event.at, event.port, event.priority, Happening::Watchdog(event.change));
    }

    /// Notes a change of the link of `port`.
    pub fn note_link(&mut self, port: PortId, event: LivenessEvent) {
        let what = Happening::Link(event.change);
        self.events.note(Event { at: event.at, port: Some(port), priority: None, what });
    }

    /// Notes what has changed in the repair of `port`.
    pub fn note_repair(&mut self, now: Nanos, port: PortId, standing: Standing) {
        let Some(known) = self.ports.get_mut(port.index()) else { return };
        for change in known.repair.follow(standing) {
            let what = Happening::Repair(change);
            self.events.note(Event { at: now, port: Some(port), priority: None, what });
        }
    }

    /// Notes a step of ECN thresholds, which has led to `report`.
    pub fn note_ecn_step(
        &mut self,
        now: Nanos,
        port: PortId,
        priority: Priority,
        step: ThresholdStep,
        report: &ThresholdsReport,
    ) {
        let (kmin, kmax) = (report.kmin, report.kmax);
        self.note(now, port, priority, Happening::EcnThresholds { step, kmin, kmax });
    }

    /// Notes a pause that `port` received at `now` and that lasts until `until`.
    #[cold]
    pub fn note_received_pause(&mut self, now: Nanos, port: PortId, priority: Priority, until: Nanos) {
        let Self { events, ports, .. } = self;
        ports[port.index()].received.take(priority, None, (now, until), |event| events.note(event));
    }

    /// Notes pauses received by `owned` ports that a new configuration has ended at `now`.
    pub fn note_ended_pauses(&mut self, now: Nanos, owned: PortSet, egress: &[EgressPort]) {
        if !self.is_on() {
            return;
        }
        for port in owned.iter() {
            for priority in Priority::all() {
                let until = egress[port.index()].gate.pauses.ends_at(priority);
                if until <= now {
                    self.note_received_pause(now, port, priority, until);
                }
            }
        }
    }

    /// Notes the pauses of a frame with `times`, which is on the wire from `start`.
    #[cold]
    pub fn note_sent_pauses(&mut self, start: Nanos, ingress: &IngressPort, times: &PauseTimes) {
        let Self { events, ports, .. } = self;
        let sent = &mut ports[ingress.id.index()].sent;
        for priority in Priority::all().filter(|priority| times[priority.index()].is_some()) {
            let (cause, until) =
                (ingress.pauses.announced_cause(priority), ingress.pauses.paused_until(priority));
            sent.take(priority, Some(cause), (start, until), |event| events.note(event));
        }
    }

    /// Notes which groups of a port have reached their thresholds, or fallen below them, or taken headroom.
    pub fn note_thresholds(&mut self, now: Nanos, ingress: &IngressPort) {
        let (above, known) = (ingress.pauses.paused(), &mut self.ports[ingress.id.index()]);
        let unsure = above.difference(known.in_headroom);
        if above == known.above && unsure.is_empty() {
            return;
        }
        let (reached, left) = (above.difference(known.above), known.above.difference(above));
        let takes_headroom = |priority: &Priority| ingress.groups[priority.index()].headroom() > Bytes::ZERO;
        let entered: PrioritySet = unsure.iter().filter(takes_headroom).collect();
        known.above = above;
        known.in_headroom = known.in_headroom.difference(left).union(entered);
        for priority in reached.iter() {
            let held = ingress.groups[priority.index()].occupancy();
            if let Some(cause) = ingress.pauses.cause(priority) {
                self.note(now, ingress.id, priority, Happening::XoffReached { cause, held });
            }
        }
        for priority in entered.iter() {
            let held = ingress.groups[priority.index()].headroom();
            self.note(now, ingress.id, priority, Happening::HeadroomEntered { held });
        }
        for priority in left.iter() {
            let held = ingress.groups[priority.index()].occupancy();
            self.note(now, ingress.id, priority, Happening::XonReached { held });
        }
    }

    /// Notes the pauses of `port` whose time has run out.
    pub fn look_at_pauses(&mut self, now: Nanos, port: PortId) {
        let Self { events, ports, .. } = self;
        let known = &mut ports[port.index()];
        known.sent.end_those_over(now, |event| events.note(event));
        known.received.end_those_over(now, |event| events.note(event));
    }

    /// Notes frames that were dropped at a port.
    pub fn look_at_drops(&mut self, now: Nanos, ingress: &mut IngressPort, egress: &mut EgressPort) {
        let (events, port) = (&mut self.events, ingress.id);
        let Known { came_in, on_the_way_out, .. } = &mut self.ports[port.index()];
        let mut note = |half, priority, reason, volume| {
            let what = Happening::Dropped { reason, half, volume };
            events.note(Event { at: now, port: Some(port), priority: Some(priority), what });
        };
        if ingress.has_dropped && came_in.takes_look(now) {
            ingress.has_dropped = false;
            for priority in Priority::all() {
                let totals = &ingress.counters.dropped[priority.index()];
                let is_behind = came_in.look(now, priority, totals, |reason, volume| {
                    note(PortHalf::Ingress, priority, reason, volume);
                });
                ingress.has_dropped |= is_behind;
            }
        }
        if egress.has_dropped && on_the_way_out.takes_look(now) {
            egress.has_dropped = false;
            for priority in Priority::all() {
                let is_behind =
                    on_the_way_out.look(now, priority, &egress.dropped(priority), |reason, volume| {
                        note(PortHalf::Egress, priority, reason, volume);
                    });
                egress.has_dropped |= is_behind;
            }
        }
    }
}
