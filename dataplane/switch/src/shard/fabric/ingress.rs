//! From the wire into a queue: parse, classify, forward, admit, charge, enqueue.

use super::{Cargo, Fabric, Handoff};
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::ledger::Volume;
use crate::program::{PortSettings, Program};
use crate::queue::Queued;
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PauseQuanta, PortId, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::mac_control::Message;

impl<F: Frame> Fabric<F> {
    #[inline]
    pub fn ingress(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        program: &Program,
        mut verdict: impl FnMut(&Descriptor, &mut F) -> Verdict,
    ) {
        self.read_other_shards();
        let (settings, addresses) = (program.port(port), program.addresses(port));
        let with_lscc = program.has_lscc();
        if with_lscc {
            self.look_ahead(port, burst);
        }
        let (mut run, mut carries_data) = (Run::default(), false);
        for mut frame in burst.drain(..) {
            let length = frame.length();
            let Some(descriptor) = Descriptor::parse(frame.headers(), length) else {
                self.refuse(port, settings, DropReason::Runt, length);
                continue;
            };
            if descriptor.ether_type == EtherType::MAC_CONTROL {
                self.receive_control(now, port, settings, &descriptor, &frame);
                continue;
            }
            if with_lscc && !self.receive_with_lscc(now, port, settings, &descriptor, &frame) {
                continue;
            }
            carries_data = true;
            let priority = settings.classification.priority(descriptor.dscp(), descriptor.pcp);
            let verdict = if length > settings.max_frame {
                Verdict::Drop(DropReason::Oversize)
            } else {
                let own = match addresses.is_empty() {
                    true => None,
                    false => addresses.answer(&descriptor, frame.headers_mut()),
                };
                own.unwrap_or_else(|| verdict(&descriptor, &mut frame))
            };
            let arrival = Arrival { now, port, priority, length, descriptor: &descriptor };
            match verdict {
                Verdict::Forward(egress) if run.takes(egress, priority, length) => {
                    self.pass_on(arrival, egress, (run.way, run.lossless), frame);
                }
                other => {
                    self.close(port, &run);
                    run = self.start_run(other, arrival, frame);
                }
            }
        }
        self.close(port, &run);
        let ingress = &mut self.ingress[port.index()];
        // What two neighbours say to each other about their queues must not keep them awake for ever.
        if carries_data {
            ingress.wake(now);
        }
        if ingress.has_paused_group() {
            self.paused.insert(port);
        }
        self.settle();
        self.publish();
    }

    /// Takes the frame with which a run may begin. Where it fits no run, it is looked at by
    /// itself.
    #[inline(never)]
    fn start_run(&mut self, verdict: Verdict, arrival: Arrival<'_>, frame: F) -> Run {
        let Arrival { port, priority, length, .. } = arrival;
        if let Verdict::Forward(egress) = verdict {
            let mut run = self.open(port, egress, priority);
            if run.takes(egress, priority, length) {
                self.pass_on(arrival, egress, (run.way, run.lossless), frame);
                return run;
            }
        }
        self.carry_out(verdict, arrival, frame);
        Run::default()
    }

    /// Starts a run: frames of one priority for one egress port, as long as their group has room
    /// that need not be looked at more closely.
    #[inline]
    fn open(&self, port: PortId, egress: PortId, priority: Priority) -> Run {
        let group = &self.ingress[port.index()].groups[priority.index()];
        Run {
            egress,
            priority,
            longest: self.egress[egress.index()].max_frame,
            // What is to be dropped is looked at frame by frame.
            room: if self.egress[egress.index()].drops(priority) { 0 } else { group.room(&self.pools) },
            way: self.way_to(egress),
            lossless: group.is_lossless(),
            volume: Volume::default(),
        }
    }

    /// Charges what a run has gathered.
    #[inline]
    fn close(&mut self, port: PortId, run: &Run) {
        if run.volume.frames > 0 {
            let ingress = &mut self.ingress[port.index()];
            ingress.charge_within_room(run.priority, run.volume, &mut self.pools);
            self.ledger.admit(port, run.egress, run.priority, run.volume);
        }
    }

    #[cold]
    fn carry_out(&mut self, verdict: Verdict, arrival: Arrival<'_>, frame: F) {
        let Arrival { port, priority, length, .. } = arrival;
        let counters = &mut self.ingress[port.index()].counters;
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

    /// Charges one frame to its group, exactly, and passes it on to its egress port, if it may leave
    /// there.
    fn admit(&mut self, arrival: Arrival<'_>, egress: PortId, frame: F) {
        let Arrival { port, priority, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        if length > self.egress[egress.index()].max_frame {
            ingress.count_drop(priority, DropReason::Oversize, length);
            return;
        }
        if let Err(reason) = ingress.admit(priority, length, &mut self.pools) {
            ingress.count_drop(priority, reason, length);
            return;
        }
        let lossless = ingress.groups[priority.index()].is_lossless();
        self.ledger.admit(port, egress, priority, Volume { frames: 1, bytes: length });
        if self.egress[egress.index()].drops(priority) {
            self.drop_at_egress(egress, priority, port, length, DropReason::PfcWatchdog);
            return;
        }
        self.pass_on(arrival, egress, (self.way_to(egress), lossless), frame);
    }

    /// Gives a frame that was admitted to its egress port, or to the shard that owns it.
    #[inline(always)]
    fn pass_on(&mut self, arrival: Arrival<'_>, egress: PortId, (way, lossless): (Way, bool), frame: F) {
        let Arrival { now, port, priority, length, descriptor } = arrival;
        let ip_offset = descriptor.markable_ip_offset();
        let mut queued =
            Queued { frame, since: now, length: length.0 as u32, ingress: port, ip_offset, lossless };
        match way {
            Way::Queue => self.enqueue(egress, priority, queued),
            Way::LimitAndQueue => {
                self.limit(egress, priority, descriptor, &mut queued);
                self.enqueue(egress, priority, queued);
            }
            Way::HandOver => {
                let owner = self.owners[egress.index()];
                self.outboxes[owner.index()].push(Handoff { egress, cargo: Cargo::Frame(priority, queued) });
            }
        }
    }

    fn way_to(&self, egress: PortId) -> Way {
        match (self.owned.contains(egress), self.limited.contains(egress)) {
            (false, _) => Way::HandOver,
            (true, true) => Way::LimitAndQueue,
            (true, false) => Way::Queue,
        }
    }

    /// Queues a frame that is charged already, or drops it at egress.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, egress: PortId, priority: Priority, queued: Queued<F>) {
        let port = &mut self.egress[egress.index()];
        let refused = port.enqueue(&mut self.store, &mut self.pools, priority, queued, &mut self.rng);
        if let Err((reason, queued)) = refused {
            self.drop_at_egress(egress, priority, queued.ingress, queued.length(), reason);
        }
    }

    /// Accounts for a frame that was charged and is in no queue, or no more.
    pub(super) fn drop_at_egress(
        &mut self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
        length: Bytes,
        reason: DropReason,
    ) {
        self.egress[egress.index()].dropped[priority.index()][reason.index()].count(length);
        self.ledger.discard(self.id, ingress, egress, priority, Volume { frames: 1, bytes: length });
        self.note_departure(ingress);
    }

    /// Sends a copy through every port but its own; the frame itself goes through the last one.
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
                Some(copy) => self.admit(arrival, egress, copy),
                None => {
                    let Arrival { port, priority, length, .. } = arrival;
                    self.ingress[port.index()].count_drop(priority, DropReason::NoBuffer, length);
                }
            }
        }
        self.admit(arrival, last, frame);
    }

    /// Drops a frame that has no priority of its own: it counts as one of the default priority.
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

    /// PFC and PAUSE frames end here, whatever they say.
    fn receive_control(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let consumed = match control_message(descriptor, frame.headers(), settings.mac) {
            Some(Message::Pfc(pfc)) => {
                for priority in pfc.enabled().iter() {
                    if self.egress[port.index()].pauses.obeys(priority) {
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
        self.ingress[port.index()].counters.consumed[consumed.index()].count(frame.length());
    }
}

/// What a MAC control frame asks of the port with address `mac`. It is for this link only where it
/// is untagged and sent to the group of MAC control or to the port (IEEE 802.3 clause 31.4).
fn control_message<'a>(descriptor: &Descriptor, headers: &'a [u8], mac: MacAddress) -> Option<Message<'a>> {
    let destination = ethernet::View::parse(headers).ok()?.destination();
    let for_us = destination == MacAddress::MAC_CONTROL || destination == mac;
    if descriptor.pcp.is_some() || !for_us {
        return None;
    }
    Message::parse(headers.get(usize::from(descriptor.payload_offset)..)?).ok()
}

/// How a frame gets to its egress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Queue,
    /// The port has LSCC, which sees what goes out.
    LimitAndQueue,
    /// It belongs to another shard.
    HandOver,
}

/// Successive frames of a burst that share priority and egress port. They are charged together,
/// as long as that changes nothing: the sum stays below every threshold.
#[derive(Default)]
struct Run {
    egress: PortId,
    priority: Priority,
    /// The longest frame that may leave through the egress port.
    longest: Bytes,
    /// Bytes that the group may take without reaching a threshold.
    room: u64,
    way: Way,
    lossless: bool,
    volume: Volume,
}

impl Run {
    /// Adds a frame, if it belongs to the run.
    #[inline]
    fn takes(&mut self, egress: PortId, priority: Priority, length: Bytes) -> bool {
        let belongs = self.egress == egress
            && self.priority == priority
            && length <= self.longest
            && self.volume.bytes.0 + length.0 <= self.room;
        if belongs {
            self.volume.count(length);
        }
        belongs
    }
}

/// What is known of a frame that came in.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    now: Nanos,
    port: PortId,
    priority: Priority,
    length: Bytes,
    descriptor: &'a Descriptor,
}
