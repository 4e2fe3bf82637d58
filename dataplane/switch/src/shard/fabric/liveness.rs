//! The liveness of the links of a bundle: what their monitors need to know, and what follows from them.

use super::Fabric;
use crate::bundle::failover::Verdict;
use crate::frame::Frame;
use crate::liveness::{DataFrames, LinkState};
use crate::program::Program;
use crate::reason::Consumed;
use crate::service::Service;
use units::{Nanos, PortId};
use wire::grants::hello;

/// Frames that one end of a link sends to the other, beside data.
const BESIDE_DATA: [Consumed; 6] = [
    Consumed::Pfc,
    Consumed::Pause,
    Consumed::Grants,
    Consumed::PeerDelay,
    Consumed::Lldp,
    Consumed::RateFeedback,
];

impl<F: Frame> Fabric<F> {
    /// Lets the monitor of `port` judge its link, where it has one, and does as it says.
    pub(super) fn watch(&mut self, now: Nanos, port: PortId, program: &Program) {
        let ingress = &mut self.ingress[port.index()];
        let burst_was_full = core::mem::take(&mut ingress.burst_was_full);
        let Some(monitor) = ingress.liveness.as_deref_mut() else { return };
        monitor.carrier(now, self.failover.has_carrier(port));
        if monitor.measures_anew() {
            ingress.meter.iter_mut().for_each(|meter| meter.restart());
        }
        monitor.delay(ingress.meter.as_ref().is_none_or(|meter| meter.may_return()));
        monitor.turn(now, burst_was_full);
        while let Some(event) = monitor.take_event() {
            self.recorder.note_link(port, event);
        }
        let is_due = monitor.frame_due() <= now;
        let verdict = self.verdict(port);
        if is_due {
            let totals = self.data_frames(port);
            self.ingress[port.index()].liveness.iter_mut().for_each(|monitor| monitor.totals(totals));
        }
        if verdict != self.failover.verdict(port) {
            self.follow_verdict(now, port, verdict, program);
        }
    }

    /// What the monitor of `port` says of its link. A link that has yet to prove itself is better than none.
    fn verdict(&self, port: PortId) -> Verdict {
        let Some(monitor) = &self.ingress[port.index()].liveness else { return self.failover.verdict(port) };
        let is_gone = |member: PortId| member == port || self.failover.verdict(member) == Verdict::Failed;
        let is_alone = || self.bundles.as_ref().is_some_and(|it| it.members(port).iter().all(is_gone));
        let carries = || self.failover.verdict(port) == Verdict::Lives;
        match monitor.state() {
            LinkState::Proving if carries() && monitor.may_return() || is_alone() => Verdict::Lives,
            _ => Verdict::of(monitor),
        }
    }

    /// When to watch `port` at the latest.
    pub(super) fn watch_deadline(&self, port: PortId) -> Nanos {
        let Some(monitor) = &self.ingress[port.index()].liveness else { return Nanos::NEVER };
        let is_behind = monitor.has_carrier() != self.failover.has_carrier(port)
            || self.verdict(port) != self.failover.verdict(port);
        if is_behind { Nanos::ZERO } else { monitor.deadline() }
    }

    /// Ends the watch of members that have no monitor any more: their carriers tell whether they live.
    pub(super) fn follow_carriers(&mut self, now: Nanos, program: &Program) {
        for port in self.owned.iter() {
            let verdict = Verdict::of_carrier(self.failover.has_carrier(port));
            if self.ingress[port.index()].liveness.is_none() && verdict != self.failover.verdict(port) {
                self.follow_verdict(now, port, verdict, program);
            }
        }
    }

    /// Notes that hellos may wait to be read at `port`: the turn is late, or the burst was full.
    pub fn note_unread(&mut self, now: Nanos, port: PortId, is_late: bool) {
        let ingress = &mut self.ingress[port.index()];
        if let Some(monitor) = &mut ingress.liveness {
            ingress.burst_was_full |= !is_late;
            if is_late {
                monitor.late(now);
            }
        }
    }

    /// Gives a hello to the monitor of `port`. Returns whether it has one.
    pub(super) fn take_hello(&mut self, now: Nanos, port: PortId, hello: &hello::Message) -> bool {
        let totals = self.data_frames(port);
        let Some(monitor) = &mut self.ingress[port.index()].liveness else { return false };
        monitor.totals(totals);
        monitor.hello(now, hello);
        true
    }

    /// The data frames of `port` so far. Frames that end here are among them, unless the neighbour itself makes them.
    fn data_frames(&self, port: PortId) -> DataFrames {
        let (counters, egress) = (&self.ingress[port.index()].counters, &self.egress[port.index()]);
        let beside =
            BESIDE_DATA.iter().map(|consumed| counters.consumed[consumed.index()].frames).sum::<u64>();
        let all = counters.received.iter().chain(&counters.consumed).map(|volume| volume.frames).sum::<u64>();
        DataFrames { sent: egress.data_sent().frames, received: all - beside }
    }
}
