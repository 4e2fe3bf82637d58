//! From the wire into a queue: parse, classify, forward, admit, charge, enqueue.

use super::Fabric;
use super::arrival::{Arrival, Decided, Decision, Entrance, Next};
use super::run::Run;
use super::services::Link;
use crate::congestion::senders::Disposition;
use crate::descriptor::Descriptor;
use crate::flows::{self, Crossing};
use crate::forwarding::Verdict;
use crate::frame::{Frame, Links};
use crate::ledger::Load;
use crate::program::{PortSettings, Program};
use crate::queue::{Charge, Queued};
use crate::reason::DropReason;
use units::{Bytes, Nanos, PortId, Priority, QueueId};

impl<F: Frame> Fabric<F> {
    /// Takes the frames of `burst`, which came in through `port`. `forward` returns the egress port of a frame and
    /// the queue of its priority in which it waits there. Copies and answers wait in the first queue of their
    /// priority.
    #[inline]
    pub fn ingress(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        program: &Program,
        links: &mut impl Links<F>,
        forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) {
        self.look_before_burst(now, port);
        if self.ingress[port.index()].is_unusual() {
            let entrance = self.entrance(now, port, program);
            if self.ingress[port.index()].unwraps {
                return self.ingress_repaired(&entrance, burst, forward);
            }
            if self.ingress[port.index()].drops_lossy() {
                self.drop_lossy(&entrance, burst);
            }
        }
        let entrance = self.entrance(now, port, program);
        let carries_data = match burst.len() {
            // A lone frame skips the loop, which would prefetch for others.
            1 => burst.pop().is_some_and(|frame| self.receive_alone(&entrance, frame, links, forward)),
            _ => self.receive_burst(entrance, burst, forward),
        };
        self.end_burst(now, port, carries_data);
    }

    #[inline(always)]
    fn entrance<'a>(&self, now: Nanos, port: PortId, program: &'a Program) -> Entrance<'a> {
        let addresses = program.addresses(port);
        Entrance {
            now,
            port,
            program,
            settings: program.port(port),
            addresses: (!addresses.is_empty()).then_some(addresses),
            keeps_flows: program.keeps_flows(),
            detours: !self.steered.is_empty() || program.bounces(port).is_some(),
        }
    }

    /// Takes the frame of a burst of one: it passes, or takes the full path. Returns whether it carries data.
    #[inline(always)]
    fn receive_alone(
        &mut self,
        entrance: &Entrance<'_>,
        frame: F,
        links: &mut impl Links<F>,
        mut forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        let Some(decided) = self.receive(entrance, frame, &mut None, &mut forward) else { return false };
        let Decided { frame, arrival, verdict } = decided;
        if let Verdict::Forward(egress) = verdict
            && !entrance.keeps_flows
            && let Some(start) = self.pass(&arrival, egress, links)
        {
            links.frame(egress, start, frame);
        } else {
            self.carry_out(verdict, arrival, frame);
        }
        true
    }

    /// Takes the frames of a burst, in runs. Returns whether any carries data.
    #[inline(always)]
    pub(super) fn receive_burst(
        &mut self,
        entrance: Entrance<'_>,
        burst: &mut Vec<F>,
        mut forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        if entrance.keeps_flows {
            self.look_ahead(entrance.port, burst);
        }
        let (mut frames, mut carries_data) = (burst.drain(..), false);
        if !self.is_plain(&entrance) {
            return self.receive_each(&entrance, None, &mut frames, &mut forward);
        }
        let mut next = frames.next().map(Next::Unread);
        while let Some(frame) = next {
            let decided = match frame {
                Next::Unread(frame) => self.receive(&entrance, frame, &mut None, &mut forward),
                Next::Decided(decided) => Some(decided),
            };
            let run = decided.and_then(|decided| {
                carries_data = true;
                self.start_run(decided)
            });
            next = match run {
                Some(run) if self.leads(&entrance, &run) => {
                    self.follow(&entrance, run, &mut frames, &mut forward)
                }
                None => frames.next().map(Next::Unread),
                // Each frame has to be looked at.
                run => return self.receive_each(&entrance, run, &mut frames, &mut forward),
            };
        }
        carries_data
    }

    /// Takes `frames` one by one, the first of them in `run` if they belong there. Returns whether that or any of them
    /// carries data.
    #[inline(always)]
    fn receive_each(
        &mut self,
        entrance: &Entrance<'_>,
        mut run: Option<Run>,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        let mut carries_data = run.is_some();
        for frame in frames {
            let Some(decided) = self.receive(entrance, frame, &mut run, forward) else { continue };
            carries_data = true;
            if let Verdict::Forward(egress) = decided.verdict
                && let Some(run) = &mut run
                && run.takes(egress, &decided.arrival)
            {
                self.add_to(run, &decided.arrival, decided.frame);
                continue;
            }
            self.close(entrance.port, run);
            run = self.start_run(decided);
        }
        self.close(entrance.port, run);
        carries_data
    }

    /// Reads a frame and decides about it; `None` if it ends here. Ends `run` where the frame may change what that relies
    /// on.
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        entrance: &Entrance<'_>,
        mut frame: F,
        run: &mut Option<Run>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> Option<Decided<F>> {
        let Entrance { now, port, program, settings, keeps_flows, detours, .. } = *entrance;
        let length = frame.length();
        let Some(descriptor) = Descriptor::parse(frame.headers(), length) else {
            self.refuse(port, settings, DropReason::Runt, length);
            return None;
        };
        if descriptor.is_control(frame.headers()) && self.ends_here(settings, &descriptor) {
            // It may stop the queue for which the run is meant.
            self.close(port, run.take());
            let link = Link { now, port, settings };
            self.receive_control(now, link, &descriptor, (frame.headers(), length));
            return None;
        }
        self.ingress[port.index()].hidden.see(&descriptor);
        let disposition = match keeps_flows {
            true => {
                let crossing = Crossing::new(now, port, length, false, &descriptor);
                self.receive_with_senders(crossing, settings, frame.headers(), length)
            }
            false => Disposition::Forward,
        };
        if disposition == Disposition::Consumed {
            return None;
        }
        let mut decision = Self::decide(entrance, &descriptor, &mut frame, length, forward);
        if detours {
            decision = self.detour(port, program, decision, descriptor, frame.headers_mut());
        }
        let (priority, verdict, queue) = decision;
        let mut arrival = Arrival { now, port, priority, queue, length, descriptor };
        if let Disposition::MaySlow(slot) = disposition {
            // The choice depends on what waits, frames of the run among it.
            self.close(port, run.take());
            arrival.queue = self.slowly(slot, verdict, arrival);
        }
        Some(Decided { frame, arrival, verdict })
    }

    /// Returns the priority of a frame, its verdict, and the queue in which it waits at its egress port.
    #[inline(always)]
    fn decide(
        entrance: &Entrance<'_>,
        descriptor: &Descriptor,
        frame: &mut F,
        length: Bytes,
        forward: impl FnOnce(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> Decision {
        let Entrance { settings, addresses, .. } = *entrance;
        let priority = settings.classification.priority(descriptor.dscp(), descriptor.pcp);
        let own = addresses.and_then(|it| it.answer(descriptor, frame.headers_mut()));
        let (verdict, queue) = match own {
            _ if length > settings.max_frame => (Verdict::Drop(DropReason::Oversize), priority.into()),
            Some(own) => (own, priority.into()),
            None => forward(descriptor, priority, frame),
        };
        (priority, verdict, queue)
    }

    /// Wakes the components that sleep until frames come in, and settles the changes of a burst.
    #[inline(always)]
    pub(super) fn end_burst(&mut self, now: Nanos, port: PortId, carries_data: bool) {
        let ingress = &mut self.ingress[port.index()];
        // Messages that two neighbours exchange about their queues must not keep both awake for ever.
        if carries_data && self.equipped.contains(port) && ingress.wakes() {
            self.wake(now, port);
        }
        let ingress = &mut self.ingress[port.index()];
        if !ingress.pauses.paused().is_empty() {
            if self.recorder.is_on() {
                self.recorder.note_thresholds(now, ingress);
            }
            self.paused.insert(port);
            self.changed.insert(port);
        }
        self.settle();
        self.publish();
    }

    #[inline(never)]
    pub(super) fn carry_out(&mut self, verdict: Verdict, arrival: Arrival, frame: F) {
        let Arrival { now, port, priority, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        let verdict = match verdict {
            Verdict::Answer(_) if !ingress.may_answer.take(now) => Verdict::Drop(DropReason::AnswerLimit),
            verdict => verdict,
        };
        let counters = &mut ingress.counters;
        match verdict {
            Verdict::Forward(egress) => {
                counters.received[priority.index()].count(length);
                self.admit(arrival, egress, frame);
            }
            Verdict::Flood => {
                counters.received[priority.index()].count(length);
                self.flood(arrival, frame);
            }
            Verdict::Answer(reason) => {
                counters.consumed[reason.index()].count(length);
                counters.answers[priority.index()].count(length);
                self.admit(arrival, port, frame);
            }
            Verdict::Punt(class) => self.punt(arrival, class, frame),
            Verdict::Consume(reason) => counters.consumed[reason.index()].count(length),
            Verdict::Drop(reason) => {
                counters.received[priority.index()].count(length);
                self.ingress[port.index()].count_drop(priority, reason, length);
                if reason == DropReason::NoNeighbour {
                    self.miss(arrival, frame);
                }
            }
        }
    }

    /// Charges one frame to its group, exactly, and passes it on if its egress port takes frames of this length.
    pub(super) fn admit(&mut self, arrival: Arrival, egress: PortId, mut frame: F) {
        let Arrival { now, port, priority, queue, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        if !self.egress[egress.index()].longest.takes(length, frame.headers()) {
            ingress.count_drop(priority, DropReason::Oversize, length);
            return;
        }
        let charge = arrival.charge(ingress);
        self.note_change(egress, queue);
        let ingress = &mut self.ingress[port.index()];
        if let Err(reason) = ingress.admit(now, (priority, length), &mut self.pools) {
            ingress.count_drop(priority, reason, length);
            if !charge.is_lossless() {
                self.note_roce(port, priority, length, &frame);
            }
            return;
        }
        self.ledger.admit(port, egress, priority, Load::of_frame(length));
        if self.egress[egress.index()].drops(queue) {
            self.drop_at_egress((egress, queue), charge, length, DropReason::PfcWatchdog);
            return;
        }
        if self.notifying.contains(egress) {
            self.show_senders(egress, arrival, &mut frame);
        }
        self.enqueue(arrival.queued(egress, frame, charge));
    }

    /// Notes that a frame may change the deadline of its egress port. A frame behind others in its queue cannot.
    #[inline(always)]
    pub(super) fn note_change(&mut self, egress: PortId, queue: QueueId) {
        if !self.egress[egress.index()].has_waiting(queue) {
            self.changed.insert(egress);
        }
    }

    /// Queues a frame that is already charged, or drops it at egress.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, queued: Queued<F>) {
        let Queued { egress, .. } = queued;
        let port = &mut self.egress[egress.index()];
        let refused = port.enqueue(&mut self.store, &mut self.pools, queued, &mut self.rng);
        if let Err((reason, queued)) = refused {
            if !queued.charge.is_lossless() {
                self.note_roce(egress, queued.charge.group(), queued.length(), &queued.frame);
            }
            self.drop_at_egress((egress, queued.queue), queued.charge, queued.length(), reason);
        }
    }

    /// Counts a frame that a lossy priority of `port` drops, if it is RoCEv2, which was probably meant for a lossless one.
    #[cold]
    fn note_roce(&mut self, port: PortId, priority: Priority, length: Bytes, frame: &F) {
        let headers = frame.headers();
        if Descriptor::parse(headers, length).is_some_and(|it| flows::is_roce(&it, headers)) {
            self.ingress[port.index()].counters.dropped_roce[priority.index()] += 1;
        }
    }

    /// Accounts for a frame that was charged and is not in a queue, or no longer.
    pub(super) fn drop_at_egress(
        &mut self,
        (egress, queue): (PortId, QueueId),
        charge: Charge,
        length: Bytes,
        reason: DropReason,
    ) {
        let ingress = charge.ingress();
        self.egress[egress.index()].count_drop(queue, reason, length);
        self.ledger.discard(ingress, egress, charge.group(), Load::of_frame(length));
        self.unsettled.insert(ingress);
    }

    /// Sends a copy through every other port; the last one gets the frame itself, charged like any frame that comes in. No
    /// sender was told to leave room for the copies, so those of a lossless frame are best effort: they wait in its queues, and
    /// are charged to a lossy group.
    fn flood(&mut self, arrival: Arrival, frame: F) {
        let Arrival { port, priority, length, .. } = arrival;
        let bundles = self.bundles.clone();
        // One member of each other bundle.
        let is_other = |egress: &PortId| match &bundles {
            Some(bundles) => bundles.head(*egress) == *egress && bundles.head(port) != *egress,
            None => *egress != port,
        };
        let others = (0..self.egress.len() as u16).map(PortId).filter(is_other);
        let mut others = others.map(|egress| match &bundles {
            Some(bundles) => bundles.member(egress, &arrival.descriptor, frame.headers()),
            None => egress,
        });
        let Some(last) = others.next_back() else {
            self.ingress[port.index()].count_drop(priority, DropReason::NotConnected, length);
            return;
        };
        let charged = self.ingress[port.index()].charged_for_copies(priority);
        for egress in others {
            let counted = charged.unwrap_or(priority);
            self.ingress[port.index()].counters.copies[counted.index()].count(length);
            let copy = match charged {
                Some(_) => frame.duplicate().ok_or(DropReason::NoBuffer),
                None => Err(DropReason::FloodLimit),
            };
            match copy {
                Ok(copy) => {
                    let copied = Arrival { priority: counted, ..self.copied(arrival, egress, &copy) };
                    self.admit(copied, egress, copy);
                }
                Err(reason) => self.ingress[port.index()].count_drop(counted, reason, length),
            }
        }
        self.admit(self.copied(arrival, last, &frame), last, frame);
    }

    /// `arrival` of a copy for `egress`, in the queue in which later frames to the same destination wait.
    fn copied(&self, arrival: Arrival, egress: PortId, frame: &F) -> Arrival {
        let first = arrival.priority.into();
        let queue = self.steer(egress, first, &arrival.descriptor, frame.headers());
        Arrival { queue, ..arrival }
    }

    /// Drops a frame without its own priority. It counts under the default priority.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        port: PortId,
        settings: &PortSettings,
        reason: DropReason,
        length: Bytes,
    ) {
        let ingress = &mut self.ingress[port.index()];
        let priority = settings.classification.default;
        ingress.counters.received[priority.index()].count(length);
        ingress.count_drop(priority, reason, length);
    }
}
