//! From the wire into a queue: parse, classify, forward, admit, charge, enqueue.

use super::Fabric;
use crate::congestion::senders::Passage;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::{Frame, Links};
use crate::ingress::IngressPort;
use crate::ledger::Load;
use crate::program::{PortSettings, Program};
use crate::queue::{Charge, Lent, Queued};
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Cells, Nanos, PauseQuanta, PortId, Priority, QueueId};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::mac_control::Message;
use wire::{grants, ptp};

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
        self.read_other_shards();
        if program.keeps_flows() {
            self.look_ahead(port, burst);
        }
        let carries_data = match burst.len() {
            // A lone frame skips the loop, which would prefetch for others.
            1 => {
                burst.pop().is_some_and(|frame| self.receive_alone(now, port, frame, program, links, forward))
            }
            _ => self.receive_burst(now, port, burst, program, forward),
        };
        self.end_burst(now, port, carries_data);
    }

    /// Takes the frame of a burst of one: it passes, or takes the full path. Returns whether it carries data.
    #[inline(always)]
    fn receive_alone(
        &mut self,
        now: Nanos,
        port: PortId,
        mut frame: F,
        program: &Program,
        links: &mut impl Links<F>,
        mut forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        let (settings, length) = (program.port(port), frame.length());
        let Some(descriptor) = Descriptor::parse(frame.headers(), length) else {
            self.refuse(port, settings, DropReason::Runt, length);
            return false;
        };
        if is_control(&descriptor, frame.headers()) {
            self.receive_control(now, port, settings, &descriptor, &frame);
            return false;
        }
        let with_flows = program.keeps_flows();
        let passage = match with_flows {
            true => self.receive_with_senders(now, port, settings, &descriptor, &frame),
            false => Passage::Forwarded,
        };
        if passage == Passage::Consumed {
            return false;
        }
        let mut decision = Self::decide(port, program, &descriptor, &mut frame, length, &mut forward);
        if self.detours(port, program) {
            decision = self.detour(port, program, decision, &descriptor, &mut frame);
        }
        let (priority, verdict, queue) = decision;
        let mut arrival = Arrival { now, port, priority, queue, length, descriptor: &descriptor };
        if let Passage::Slowed(slot) = passage {
            arrival.queue = self.slowly(slot, verdict, &arrival);
        }
        if let Verdict::Forward(egress) = verdict
            && !with_flows
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
    fn receive_burst(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        program: &Program,
        mut forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        let (settings, with_flows) = (program.port(port), program.keeps_flows());
        let detours = self.detours(port, program);
        let (mut run, mut carries_data) = (None::<Run>, false);
        for mut frame in burst.drain(..) {
            let length = frame.length();
            let Some(descriptor) = Descriptor::parse(frame.headers(), length) else {
                self.refuse(port, settings, DropReason::Runt, length);
                continue;
            };
            if is_control(&descriptor, frame.headers()) {
                // It may stop the queue for which the run is meant.
                self.close(port, run.take());
                self.receive_control(now, port, settings, &descriptor, &frame);
                continue;
            }
            let passage = match with_flows {
                true => self.receive_with_senders(now, port, settings, &descriptor, &frame),
                false => Passage::Forwarded,
            };
            if passage == Passage::Consumed {
                continue;
            }
            carries_data = true;
            let mut decision = Self::decide(port, program, &descriptor, &mut frame, length, &mut forward);
            if detours {
                decision = self.detour(port, program, decision, &descriptor, &mut frame);
            }
            let (priority, verdict, queue) = decision;
            let mut arrival = Arrival { now, port, priority, queue, length, descriptor: &descriptor };
            if let Passage::Slowed(slot) = passage {
                // The choice depends on what waits, frames of the run among it.
                self.close(port, run.take());
                arrival.queue = self.slowly(slot, verdict, &arrival);
            }
            if let Verdict::Forward(egress) = verdict
                && let Some(run) = &mut run
                && run.takes(egress, &arrival)
            {
                self.add_to(run, &arrival, frame);
                continue;
            }
            self.close(port, run);
            run = self.start_run(verdict, arrival, frame);
        }
        self.close(port, run);
        carries_data
    }

    /// Returns the priority of a frame, its verdict, and the queue in which it waits at its egress port.
    #[inline(always)]
    fn decide(
        port: PortId,
        program: &Program,
        descriptor: &Descriptor,
        frame: &mut F,
        length: Bytes,
        forward: impl FnOnce(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> Decision {
        let (settings, addresses) = (program.port(port), program.addresses(port));
        let priority = settings.classification.priority(descriptor.dscp(), descriptor.pcp);
        let own = match addresses.is_empty() {
            false => addresses.answer(descriptor, frame.headers_mut()),
            true => None,
        };
        let (verdict, queue) = match own {
            _ if length > settings.max_frame => (Verdict::Drop(DropReason::Oversize), priority.into()),
            Some(own) => (own, priority.into()),
            None => forward(descriptor, priority, frame),
        };
        (priority, verdict, queue)
    }

    /// Wakes the components that sleep until frames come in, and settles the changes of a burst.
    #[inline(always)]
    fn end_burst(&mut self, now: Nanos, port: PortId, carries_data: bool) {
        let ingress = &mut self.ingress[port.index()];
        // Messages that two neighbours exchange about their queues must not keep both awake for ever.
        if carries_data && ingress.wakes() {
            ingress.wake(now);
            self.changed.insert(port);
        }
        if !ingress.pauses.paused().is_empty() {
            self.paused.insert(port);
            self.changed.insert(port);
        }
        self.settle();
        self.publish();
    }

    /// Takes a frame that may begin a run. A frame that fits no run is handled alone.
    #[inline(never)]
    fn start_run(&mut self, verdict: Verdict, arrival: Arrival<'_>, frame: F) -> Option<Run> {
        if let Verdict::Forward(egress) = verdict {
            let mut run = self.open(&arrival, egress);
            self.note_change(egress, arrival.queue);
            if run.takes(egress, &arrival) {
                if run.way == Way::Queue {
                    run.lent = self.egress[egress.index()].lend(arrival.queue);
                }
                self.add_to(&mut run, &arrival, frame);
                return Some(run);
            }
        }
        self.carry_out(verdict, arrival, frame);
        None
    }

    /// Starts a run: frames of one priority for one queue, for as long as their group has room without a closer
    /// check.
    #[inline]
    fn open(&self, arrival: &Arrival<'_>, egress: PortId) -> Run {
        let Arrival { port, priority, queue, .. } = *arrival;
        let (from, to) = (&self.ingress[port.index()], &self.egress[egress.index()]);
        let charge = arrival.charge(from);
        let (mut room, mut way) = (from.room(priority, &self.pools), self.way_to(egress));
        if way != Way::HandOver {
            match to.room_for_run(queue, charge, &self.store, &self.pools) {
                // Frames to be dropped are handled one by one.
                _ if to.drops(queue) => room = Cells::ZERO,
                Cells::ZERO => way = Way::OneByOne,
                most => room = room.min(most),
            }
        }
        let shown = way != Way::HandOver && self.notifying.contains(egress);
        let (longest, load, lent) = (to.max_frame, Load::ZERO, Lent::default());
        Run { egress, priority, queue, longest, room, way, shown, charge, load, lent }
    }

    /// Adds a frame to a run.
    #[inline(always)]
    fn add_to(&mut self, run: &mut Run, arrival: &Arrival<'_>, mut frame: F) {
        let Run { egress, way, charge, .. } = *run;
        if run.shown {
            self.show_senders(egress, *arrival, &mut frame);
        }
        let queued = arrival.queued(egress, frame, charge);
        match way {
            Way::Queue => self.store.push_of_run(&mut run.lent, queued),
            Way::OneByOne => self.enqueue(queued),
            Way::HandOver if self.takes_handoff(egress, charge) => self.hand_over(queued),
            Way::HandOver => self.refuse_of_run(run, *arrival),
        }
    }

    /// Drops a frame that a run has taken, so that it is not charged with the others.
    #[cold]
    fn refuse_of_run(&mut self, run: &mut Run, arrival: Arrival<'_>) {
        let Arrival { port, priority, length, .. } = arrival;
        run.load = run.load - Load::of_frame(length);
        let ingress = &mut self.ingress[port.index()];
        ingress.counters.received[priority.index()].count(length);
        ingress.count_drop(priority, DropReason::HandoffFull, length);
    }

    /// Charges the frames of a run.
    #[inline(always)]
    fn close(&mut self, port: PortId, run: Option<Run>) {
        if let Some(run) = run {
            self.charge(port, run);
        }
    }

    fn charge(&mut self, port: PortId, run: Run) {
        let Run { egress, priority, queue, load, charge, way, lent, .. } = run;
        self.ingress[port.index()].charge_within_room(priority, load, &mut self.pools);
        self.ledger.admit(port, egress, priority, load);
        if way == Way::Queue {
            let (egress, parts) = (&mut self.egress[egress.index()], (&mut self.store, &mut self.pools));
            egress.end_run(queue, (lent, charge, load), parts);
        }
    }

    #[inline(never)]
    fn carry_out(&mut self, verdict: Verdict, arrival: Arrival<'_>, frame: F) {
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
            Verdict::Consume(reason) => counters.consumed[reason.index()].count(length),
            Verdict::Drop(reason) => {
                counters.received[priority.index()].count(length);
                self.ingress[port.index()].count_drop(priority, reason, length);
            }
        }
    }

    /// Charges one frame to its group, exactly, and passes it on if its egress port takes frames of this length.
    fn admit(&mut self, arrival: Arrival<'_>, egress: PortId, mut frame: F) {
        let Arrival { port, priority, queue, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        if length > self.egress[egress.index()].max_frame {
            ingress.count_drop(priority, DropReason::Oversize, length);
            return;
        }
        let charge = arrival.charge(ingress);
        self.note_change(egress, queue);
        let way = self.way_to(egress);
        if way == Way::HandOver && !self.takes_handoff(egress, charge) {
            self.ingress[port.index()].count_drop(priority, DropReason::HandoffFull, length);
            return;
        }
        let ingress = &mut self.ingress[port.index()];
        if let Err(reason) = ingress.admit(priority, length, &mut self.pools) {
            ingress.count_drop(priority, reason, length);
            return;
        }
        self.ledger.admit(port, egress, priority, Load::of_frame(length));
        if self.egress[egress.index()].drops(queue) {
            self.drop_at_egress((egress, queue), charge, length, DropReason::PfcWatchdog);
            return;
        }
        match way {
            Way::HandOver => self.hand_over(arrival.queued(egress, frame, charge)),
            Way::Queue | Way::OneByOne => {
                if self.notifying.contains(egress) {
                    self.show_senders(egress, arrival, &mut frame);
                }
                self.enqueue(arrival.queued(egress, frame, charge));
            }
        }
    }

    /// Notes that a frame may change the deadline of its egress port. A frame behind others in its queue cannot.
    #[inline(always)]
    fn note_change(&mut self, egress: PortId, queue: QueueId) {
        if !self.egress[egress.index()].has_waiting(queue) {
            self.changed.insert(egress);
        }
    }

    fn way_to(&self, egress: PortId) -> Way {
        if self.owned.contains(egress) { Way::Queue } else { Way::HandOver }
    }

    /// Queues a frame that is already charged, or drops it at egress.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, queued: Queued<F>) {
        let Queued { egress, .. } = queued;
        let port = &mut self.egress[egress.index()];
        let refused = port.enqueue(&mut self.store, &mut self.pools, queued, &mut self.rng);
        if let Err((reason, queued)) = refused {
            self.drop_at_egress((egress, queued.queue), queued.charge, queued.length(), reason);
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
        self.ledger.discard(self.id, ingress, egress, charge.group(), Load::of_frame(length));
        self.note_departure(ingress);
    }

    /// Sends a copy through every other port; the last one gets the frame itself.
    fn flood(&mut self, arrival: Arrival<'_>, frame: F) {
        let ports = self.egress.len() as u16;
        let mut others = (0..ports).map(PortId).filter(|egress| *egress != arrival.port);
        let Some(last) = others.next_back() else {
            let Arrival { port, priority, length, .. } = arrival;
            self.ingress[port.index()].count_drop(priority, DropReason::NotConnected, length);
            return;
        };
        for egress in others {
            let counters = &mut self.ingress[arrival.port.index()].counters;
            counters.copies[arrival.priority.index()].count(arrival.length);
            match frame.duplicate() {
                Some(copy) => self.admit(self.copied(arrival, egress, &copy), egress, copy),
                None => {
                    let Arrival { port, priority, length, .. } = arrival;
                    self.ingress[port.index()].count_drop(priority, DropReason::NoBuffer, length);
                }
            }
        }
        self.admit(self.copied(arrival, last, &frame), last, frame);
    }

    /// `arrival` of a copy for `egress`, in the queue in which later frames to the same destination wait.
    fn copied<'a>(&self, arrival: Arrival<'a>, egress: PortId, frame: &F) -> Arrival<'a> {
        let first = arrival.priority.into();
        let queue = self.steered(Verdict::Forward(egress), first, arrival.descriptor, frame);
        Arrival { queue, ..arrival }
    }

    /// Drops a frame without a priority of its own. It counts under the default priority.
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

    /// Consumes a PFC, PAUSE, grant or gPTP frame, valid or not.
    fn receive_control(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        self.changed.insert(port);
        if descriptor.ether_type == grants::ETHER_TYPE {
            self.receive_grants(now, port, settings, descriptor, frame);
            return;
        }
        if descriptor.ether_type == EtherType::PTP {
            self.receive_ptp(now, port, settings, descriptor, frame);
            return;
        }
        let consumed = match control_message(descriptor, frame.headers(), settings.mac) {
            Some(Message::Pfc(pfc)) => {
                for priority in pfc.enabled().iter() {
                    if self.egress[port.index()].gate.pauses.obeys(priority) {
                        self.pause(now, port, priority, pfc.time(priority).unwrap_or(PauseQuanta::ZERO));
                    }
                }
                Consumed::Pfc
            }
            Some(Message::Pause(pause)) => {
                if settings.pfc.obey_global_pause {
                    Priority::all().for_each(|priority| self.pause(now, port, priority, pause.time()));
                }
                Consumed::Pause
            }
            _ => {
                self.refuse(port, settings, DropReason::MalformedControl, frame.length());
                return;
            }
        };
        self.pass_on(now, port);
        self.ingress[port.index()].counters.consumed[consumed.index()].count(frame.length());
    }
}

/// Whether a frame is between the two ends of its link, and never forwarded: MAC control, grants,
/// or gPTP.
#[inline(always)]
fn is_control(descriptor: &Descriptor, headers: &[u8]) -> bool {
    match descriptor.ether_type {
        EtherType::MAC_CONTROL => true,
        // Behind a VLAN tag it is still never forwarded.
        grants::ETHER_TYPE => is_for(grants::DESTINATION, headers),
        EtherType::PTP => is_for(ptp::DESTINATION, headers),
        _ => false,
    }
}

#[inline]
fn is_for(address: MacAddress, headers: &[u8]) -> bool {
    ethernet::View::parse(headers).is_ok_and(|it| it.destination() == address)
}

/// Returns the MAC control message of a frame to the port with address `mac`. It concerns this link only if it is
/// untagged and sent to the group address of MAC control or to the port (IEEE 802.3 clause 31.4).
fn control_message<'a>(descriptor: &Descriptor, headers: &'a [u8], mac: MacAddress) -> Option<Message<'a>> {
    let destination = ethernet::View::parse(headers).ok()?.destination();
    let for_us = destination == MacAddress::MAC_CONTROL || destination == mac;
    if descriptor.pcp.is_some() || !for_us {
        return None;
    }
    Message::parse(headers.get(usize::from(descriptor.payload_offset)..)?).ok()
}

/// The priority of a frame, its verdict, and the queue in which it waits at its egress port.
pub(super) type Decision = (Priority, Verdict, QueueId);

/// The way of a frame to its egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Into its queue, accounted for together with the rest of its run.
    Queue,
    /// Into its queue, one by one: it may be marked or dropped there.
    OneByOne,
    /// To the shard that owns the egress port.
    HandOver,
}

/// Successive frames of a burst with the same priority and queue. They are charged and queued together, as long as
/// the result is the same: their sum stays below every threshold.
struct Run {
    egress: PortId,
    queue: QueueId,
    priority: Priority,
    /// The longest frame that may leave through the egress port.
    longest: Bytes,
    /// The cells that the group may take without reaching a threshold.
    room: Cells,
    way: Way,
    /// Whether the egress port has LSCC, which reads every frame that goes out.
    shown: bool,
    charge: Charge,
    load: Load,
    /// The frames lent by the queue, if the run adds to it directly.
    lent: Lent,
}

impl Run {
    /// Adds a frame, if it belongs to the run.
    #[inline]
    fn takes(&mut self, egress: PortId, arrival: &Arrival<'_>) -> bool {
        let Arrival { priority, queue, length, .. } = *arrival;
        let cells = Cells::of_frame(length);
        let belongs = self.egress == egress
            && self.queue == queue
            && self.priority == priority
            && length <= self.longest
            && self.load.cells + cells <= self.room;
        if belongs {
            self.load.count(length, cells);
        }
        belongs
    }
}

/// A frame that came in, with its headers parsed.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub now: Nanos,
    pub port: PortId,
    pub priority: Priority,
    /// The queue in which it waits at its egress port.
    pub queue: QueueId,
    pub length: Bytes,
    pub descriptor: &'a Descriptor,
}

impl Arrival<'_> {
    /// The charge of the frame: its group at `port`, where it came in.
    #[inline(always)]
    pub fn charge(&self, port: &IngressPort) -> Charge {
        Charge::new(self.port, self.priority, port.groups[self.priority.index()].is_lossless())
    }

    /// Returns `frame`, which arrived like this, as an entry of a queue of `egress`.
    #[inline(always)]
    pub fn queued<F>(&self, egress: PortId, frame: F, charge: Charge) -> Queued<F> {
        let Arrival { now: since, queue, length, descriptor, .. } = *self;
        // No port queues a frame above its longest frame.
        let (length, ip_offset) = (length.0 as u16, descriptor.markable_ip_offset());
        Queued { frame, since, length, charge, egress, queue, ip_offset }
    }
}
