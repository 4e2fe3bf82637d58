//! The members of bundles that do not send, whose frames move to their siblings.

use super::Fabric;
use crate::bundle::Bundles;
use crate::bundle::failover::{Behind, Verdict};
use crate::descriptor::Descriptor;
use crate::egress::EgressPort;
use crate::frame::{Frame, Transmitter};
use crate::ledger::Load;
use crate::program::Program;
use crate::queue::Queued;
use crate::reason::DropReason;
use units::{Nanos, PortId, PortSet, QueueId};

/// The most frames that move within one call: a queue may be as long as the buffer, and other ports wait for their turn.
const MOVES_PER_CALL: u32 = 256;

impl<F: Frame> Fabric<F> {
    /// Takes the bundles of `program`, for members that send until a call of [`Fabric::set_carrier`] says otherwise.
    pub fn configure_bundles(&mut self, program: &Program) {
        self.bundles = program.bundles().cloned();
        let watched = |port: &PortId| self.ingress[port.index()].liveness.is_some();
        let watched = self.owned.iter().filter(watched).collect();
        self.failover.configure(self.bundles.as_deref(), self.egress.len(), watched);
        self.note_stopped(program);
    }

    /// Sets whether the link of `port` carries frames. It changes nothing for a port in no bundle.
    pub fn set_carrier(&mut self, now: Nanos, port: PortId, up: bool, program: &Program) {
        self.failover.set_carrier(port, up);
        match self.ingress[port.index()].liveness {
            Some(_) => self.watch(now, port, program),
            None => self.follow_verdict(now, port, Verdict::of_carrier(up), program),
        }
    }

    /// Does as `verdict` says of the link of `port`.
    #[cold]
    pub(super) fn follow_verdict(&mut self, now: Nanos, port: PortId, verdict: Verdict, program: &Program) {
        let Some(bundles) = self.bundles.clone().filter(|it| !it.members(port).is_empty()) else { return };
        match verdict {
            Verdict::Lives => self.failover.recover(port),
            // Frames of a held member stay. Frames that move to it or past it meanwhile would break the order of flows.
            Verdict::Held if self.all_send(port, &bundles) => self.failover.hold(port),
            Verdict::Held | Verdict::Failed => {
                self.put_waiting_back(now, port, &bundles);
                for held in bundles.members(port).iter().filter(|it| *it != port) {
                    if self.failover.is_held(held) {
                        self.failover.put_out(held, self.arrived_by(now, held, &bundles));
                    }
                }
                self.failover.fail(port, verdict, self.arrived_by(now, port, &bundles));
            }
        }
        self.begin_returns(now);
        self.note_stopped(program);
    }

    /// Whether all members of the bundle of `port` send.
    fn all_send(&self, port: PortId, bundles: &Bundles) -> bool {
        bundles.members(port).iter().all(|member| !self.failover.stopped().contains(member))
    }

    /// When what left `port` last has arrived, or its siblings would not overtake it: its link may be longer than theirs.
    fn arrived_by(&self, now: Nanos, port: PortId, bundles: &Bundles) -> Nanos {
        self.in_order_from(now, [port].into_iter().collect(), bundles.members(port), bundles)
    }

    /// Lets no member wait to return for `failing`, nor for one that does: what they wait for moves first. Members that began
    /// to return later may wait for those that began before, so they move last.
    fn put_waiting_back(&mut self, now: Nanos, failing: PortId, bundles: &Bundles) {
        let (mut waiting, mut last) = (PortSet::EMPTY, PortSet::EMPTY);
        let waits = |fabric: &Self, member: PortId, waiting: PortSet| {
            let for_it = |it: &Behind| it.sibling == failing || waiting.contains(it.sibling);
            let unsent = |it: &Behind| for_it(it) && !fabric.has_sent(it);
            fabric.failover.awaits(member).is_some_and(|behind| behind.iter().any(unsent))
        };
        loop {
            let found =
                bundles.members(failing).iter().filter(|it| *it != failing && waits(self, *it, waiting));
            waiting = found.collect();
            if waiting == last {
                break;
            }
            last = waiting;
        }
        while let Some(latest) = waiting.iter().max_by_key(|it| self.failover.number(*it)) {
            self.failover.put_out(latest, now);
            waiting.remove(latest);
        }
    }

    /// Lets members return whose links live and that have no frames to move. Of several, the one that failed last goes first: it may
    /// hold frames of the others.
    fn begin_returns(&mut self, now: Nanos) {
        let Some(bundles) = self.bundles.clone() else { return };
        let mut left = self.failover.out();
        while let Some(port) = left.iter().max_by_key(|it| self.failover.number(*it)) {
            left.remove(port);
            if self.failover.verdict(port) == Verdict::Lives {
                self.begin_return(now, port, &bundles);
            }
        }
    }

    fn begin_return(&mut self, now: Nanos, port: PortId, bundles: &Bundles) {
        let receivers = self.receivers(port);
        let has_to_wait = self.holds(port) || self.is_behind_another(port) || self.is_held_up(receivers);
        if !receivers.is_empty() && has_to_wait {
            return;
        }
        let Self { failover, egress, .. } = self;
        failover.begin_return(now, port, |queue, sibling| all_frames(&egress[sibling.index()], queue));
        match receivers.is_empty() {
            // There is none to wait for. If two failed, frames that waited at the second may now come late.
            true => self.failover.return_at(port, now),
            false => self.end_wait(now, port, bundles),
        }
        self.changed.insert(port);
    }

    /// Whether one of `ports` is paused with frames that wait. Who waited for it would hold up all priorities.
    fn is_held_up(&self, ports: PortSet) -> bool {
        let held = |port: PortId| {
            let egress = &self.egress[port.index()];
            !egress.waiting().intersection(egress.gate.pauses.stopped()).is_empty()
        };
        ports.iter().any(held)
    }

    /// Opens or closes queues after a change of a member.
    fn note_stopped(&mut self, program: &Program) {
        let stopped = self.failover.stopped();
        for (port, egress) in (0..).map(PortId).zip(&mut self.egress) {
            egress.gate.stop(stopped.contains(port));
        }
        self.note_equipment(program);
        self.changed = self.owned;
    }

    /// The ports that have a member of their bundle which does not send.
    pub(super) fn beside_stopped(&self) -> PortSet {
        let Some(bundles) = &self.bundles else { return PortSet::EMPTY };
        self.failover.stopped().iter().fold(PortSet::EMPTY, |all, port| all.union(bundles.members(port)))
    }

    /// When a stopped port has something to do beside control frames.
    pub(super) fn stopped_deadline(&self, port: PortId) -> Nanos {
        let is_still = self.failover.is_out(port) && !self.has_moves(port);
        if is_still { Nanos::NEVER } else { self.failover.deadline(port) }
    }

    fn holds(&self, port: PortId) -> bool {
        !self.egress[port.index()].waiting().is_empty()
    }

    /// Whether a sibling that failed later than `port` has yet to move its frames.
    fn is_behind_another(&self, port: PortId) -> bool {
        let others = self.failover.stopped();
        others.iter().any(|other| self.holds(other) && self.failover.is_behind(port, other))
    }

    /// Whether frames of `port`, which is out, may move.
    fn has_moves(&self, port: PortId) -> bool {
        self.holds(port) && !self.is_behind_another(port) && !self.receivers(port).is_empty()
    }

    /// The siblings to which frames of `port` move: those that send, or will.
    fn receivers(&self, port: PortId) -> PortSet {
        let members = self.bundles.as_ref().map_or(PortSet::EMPTY, |bundles| bundles.members(port));
        members.iter().filter(|it| *it != port && !self.failover.is_out(*it)).collect()
    }

    /// Does what is due at a stopped port. Returns whether it sends from now on.
    #[cold]
    pub(super) fn serve_stopped(&mut self, now: Nanos, port: PortId, program: &Program) -> bool {
        if self.failover.ends_return(now, port) {
            self.failover.let_send(port);
            self.note_stopped(program);
            return true;
        }
        let gives_up = self.failover.is_impatient(now, port);
        if gives_up && let Some(bundles) = self.bundles.clone() {
            self.failover.count_gave_up(port);
            self.put_waiting_back(now, port, &bundles);
            self.failover.put_out(port, now);
        }
        let moves = self.has_moves(port) && self.failover.is_out(port) && self.failover.deadline(port) <= now;
        if moves {
            self.move_frames(port);
        }
        if gives_up || moves {
            self.begin_returns(now);
            self.note_stopped(program);
        }
        false
    }

    /// Sends the control frames of a stopped port, if its device sends, and lets its watchdog judge.
    #[cold]
    pub(super) fn speak_while_stopped(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        if self.failover.has_carrier(port) {
            self.act(now, port, program);
            self.send_pauses(now, port, out);
            self.speak(now, port, program, out);
        } else if self.egress[port.index()].watchdog_deadline(&self.store) <= now {
            self.judge(now, port, program);
        }
        // The watchdog may have dropped the last frame that had to move.
        self.look_at_returns(now);
        self.settle();
        self.publish();
    }

    /// Moves frames of `port` to its siblings, queue by queue.
    fn move_frames(&mut self, port: PortId) {
        let (receivers, Some(bundles)) = (self.receivers(port), self.bundles.clone()) else { return };
        for _ in 0..MOVES_PER_CALL {
            let egress = &mut self.egress[port.index()];
            let Some(queue) = egress.waiting().highest() else { break };
            let Some(queued) = egress.take_first(queue, &mut self.store, &mut self.pools) else { break };
            self.move_frame(queued, port, receivers, &bundles);
        }
        self.settle();
    }

    /// Moves a frame from `port` to one of the `receivers`. It stays charged to the group in which it came in; a lossy one needs
    /// room at the receiver.
    fn move_frame(&mut self, queued: Queued<F>, port: PortId, receivers: PortSet, bundles: &Bundles) {
        let (charge, length, headers) = (queued.charge, queued.length(), queued.frame.headers());
        let takes = |it: &PortId| self.egress[it.index()].longest.takes(length, headers);
        let receivers: PortSet = receivers.iter().filter(takes).collect();
        let descriptor = Descriptor::parse(headers, length);
        let sibling = descriptor.and_then(|it| bundles.sibling(port, receivers, &it, headers));
        // Its headers were read when it came in, but the devices of all siblings may send shorter frames only.
        let Some(sibling) = sibling.or(receivers.iter().next()) else {
            return self.drop_at_egress((port, queued.queue), charge, length, DropReason::Oversize);
        };
        let load = Load::of_frame(length);
        self.ledger.relocate(charge.ingress(), (port, sibling), charge.group(), load);
        self.failover.count_moved(port, sibling, load.volume);
        self.enqueue(Queued { egress: sibling, ..queued });
    }

    /// Lets members return whose siblings have sent what they waited for.
    #[inline]
    pub(super) fn look_at_returns(&mut self, now: Nanos) {
        if !self.failover.stopped().is_empty() {
            self.end_waits(now);
        }
    }

    #[cold]
    fn end_waits(&mut self, now: Nanos) {
        let Some(bundles) = self.bundles.clone() else { return };
        for port in self.failover.stopped().iter() {
            self.end_wait(now, port, &bundles);
        }
        self.begin_returns(now);
    }

    fn end_wait(&mut self, now: Nanos, port: PortId, bundles: &Bundles) {
        let Some(behind) = self.failover.awaits(port) else { return };
        if behind.iter().all(|it| self.has_sent(it)) {
            let own = [port].into_iter().collect();
            self.failover.return_at(port, self.in_order_from(now, bundles.members(port), own, bundles));
            self.changed.insert(port);
        }
    }

    /// Whether a sibling has sent what a member waits for.
    fn has_sent(&self, behind: &Behind) -> bool {
        let egress = &self.egress[behind.sibling.index()];
        egress.waiting().iter().all(|queue| sent(egress, queue) >= behind.frames[queue.index()])
    }

    /// The time from which no frame that leaves through a port of `after` overtakes one that has left through `before`.
    fn in_order_from(&self, now: Nanos, before: PortSet, after: PortSet, bundles: &Bundles) -> Nanos {
        let pairs = before.iter().flat_map(|one| after.iter().map(move |other| (one, other)));
        // The last frames that were handed over may still wait for the link.
        let gone = |port: PortId| self.egress[port.index()].gate.link_free_at().max(now);
        pairs.map(|(one, other)| gone(one) + bundles.lead(one, other)).max().unwrap_or(now)
    }
}

/// The frames that `queue` has sent so far.
fn sent(egress: &EgressPort, queue: QueueId) -> u64 {
    egress.queue(queue).counters.transmitted.frames
}

/// The frames that `queue` will have sent when all that wait now have left.
fn all_frames(egress: &EgressPort, queue: QueueId) -> u64 {
    sent(egress, queue) + egress.queue(queue).waiting().frames
}
