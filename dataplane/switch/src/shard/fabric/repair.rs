//! Repair of what links lose ([`crate::repair`]), between the queues of a port and its wire. Numbers are written as frames leave.
//! What comes in is put in order before anything reads it, and a frame that has to wait is held with the decision about it.

use super::Fabric;
use super::arrival::{Arrival, Decided, Entrance};
use super::egress::credit;
use super::port_repair::{Unwrapped, repair_of};
use super::senders::Watched;
use super::services::send_next;
use crate::descriptor::{Descriptor, Network};
use crate::egress::Turn;
use crate::forwarding::{Verdict, flow_hash};
use crate::frame::{Frame, Transmitter};
use crate::ledger::{Load, Volume};
use crate::program::{PortSettings, Program};
use crate::queue::Queued;
use crate::reason::DropReason;
use crate::repair::{End, RepairReport};
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use units::{Nanos, PortId, PortSet, Priority, QueueId, WireBytes};
use wire::grants;
use wire::ip::IpProtocol;
use wire::ipv4;
use wire::repair::{BUCKETS, NEW_LEN, Shim, end_of_tags};

/// Frames of a burst for which there is room from the start.
const BURST: usize = 64;
/// The most frames that waited and go on in one call, twice as many as a device gives in a burst.
const RELEASED: usize = 64;

impl<F: Frame> Fabric<F> {
    /// Starts or ends the repair of ports whose settings differ.
    pub(super) fn configure_repair(&mut self, now: Nanos, program: &Program) {
        self.repaired = PortSet::EMPTY;
        self.choose_buckets(program);
        for port in self.owned.iter() {
            let settings = program.port(port);
            let place = &mut self.repairs[port.index()];
            match (place.as_mut(), settings.repair) {
                (Some(running), Some(new)) if running.end.settings() == new => {}
                _ => {
                    place.iter_mut().for_each(|running| running.end.give_up());
                    while self.repairs[port.index()].as_ref().is_some_and(|it| it.end.may_release()) {
                        self.release(now, port, &mut { RELEASED });
                    }
                    self.repairs[port.index()] = repair_of(settings);
                }
            }
            let priorities = settings.repair.map(|it| it.priorities).unwrap_or_default();
            self.egress[port.index()].gate.repair(settings.queues_of(priorities));
            self.ingress[port.index()].unwraps = settings.repair.is_some();
            if settings.repair.is_some() {
                self.repaired.insert(port);
                self.ready.reserve(BURST);
            }
        }
    }

    /// Draws the hash that chooses the bucket of a flow.
    pub(in crate::shard) fn choose_buckets(&mut self, program: &Program) {
        self.buckets = FixedState::with_seed(program.settings().seed);
    }

    /// When the repair of `port` has something to do if nothing comes in.
    pub(super) fn repair_deadline(&self, port: PortId) -> Nanos {
        let free_at = self.egress[port.index()].gate.link_opens_at();
        self.repairs[port.index()].as_ref().map_or(Nanos::NEVER, |it| it.end.deadline(free_at))
    }

    /// Its report.
    pub(in crate::shard) fn repair_report(&self, port: PortId) -> Option<RepairReport> {
        let repair = self.repairs[port.index()].as_ref()?;
        let mut report = repair.end.report();
        report.near.dropped.bytes += repair.unwrapped;
        report.held = repair.held;
        Some(report)
    }

    /// Frames of `priority` that came in through `port` and are held.
    pub(in crate::shard) fn held(&self, port: PortId, priority: Priority) -> Volume {
        self.repairs[port.index()].as_ref().map_or(Volume::ZERO, |it| it.held[priority.index()])
    }

    /// Takes a burst of a repaired port. Frames without a shim, and those whose turn it is, take the usual way together.
    #[inline(never)]
    pub(super) fn ingress_repaired(
        &mut self,
        entrance: &Entrance<'_>,
        burst: &mut Vec<F>,
        mut forward: impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) {
        let Entrance { now, port, settings, .. } = *entrance;
        let mut ready = core::mem::take(&mut self.ready);
        let (mut carries_data, mut budget) = (false, RELEASED);
        for mut frame in burst.drain(..) {
            let Some(repair) = &mut self.repairs[port.index()] else { break };
            // A status may change what the next shim means.
            let is_status = grants::is_frame(frame.headers());
            let unwrapped = if is_status { Unwrapped::Passes } else { repair.unwrap(&mut frame) };
            let releases = repair.end.may_release();
            let waits = match unwrapped {
                Unwrapped::Passes => {
                    ready.push(frame);
                    if !is_status && !releases {
                        continue;
                    }
                    None
                }
                Unwrapped::Waits(shim) => Some((shim, frame)),
                Unwrapped::Dropped(reason) => {
                    self.refuse(port, settings, reason, frame.length());
                    continue;
                }
            };
            carries_data |= self.take_ready(entrance, &mut ready, &mut forward);
            if let Some((shim, frame)) = waits {
                carries_data = true;
                self.hold(entrance, &shim, frame, &mut forward);
            }
            self.release(now, port, &mut budget);
        }
        carries_data |= self.take_ready(entrance, &mut ready, &mut forward);
        self.release(now, port, &mut budget);
        self.ready = ready;
        self.note_repair(now, port, settings);
        self.end_burst(now, port, carries_data);
    }

    /// Takes frames in their order, as any port does.
    fn take_ready(
        &mut self,
        entrance: &Entrance<'_>,
        ready: &mut Vec<F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> bool {
        if self.ingress[entrance.port.index()].drops_lossy() {
            self.drop_lossy(entrance, ready);
        }
        !ready.is_empty() && self.receive_burst(*entrance, ready, forward)
    }

    /// Decides about a frame that has to wait, and holds it if it is lossless and goes on at all. It is charged to its group, with
    /// its own port as the one through which it leaves.
    fn hold(
        &mut self,
        entrance: &Entrance<'_>,
        shim: &Shim,
        frame: F,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) {
        let port = entrance.port;
        let held = self.receive(entrance, frame, &mut None, forward).and_then(|it| self.admit_held(it));
        let Some(repair) = &mut self.repairs[port.index()] else { return };
        match held {
            Some(queued) => {
                repair.held[queued.charge.group().index()].count(queued.length());
                repair.end.hold(shim, queued);
            }
            None => repair.end.let_go(shim),
        }
    }

    fn admit_held(&mut self, decided: Decided<F>) -> Option<Queued<F>> {
        let Decided { frame, arrival, verdict } = decided;
        let Arrival { now, port, priority, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        let charge = arrival.charge(ingress);
        let egress = match verdict {
            Verdict::Forward(egress) if charge.is_lossless() => egress,
            verdict => {
                self.carry_out(verdict, arrival, frame);
                return None;
            }
        };
        ingress.counters.received[priority.index()].count(length);
        let admitted = match self.egress[egress.index()].longest.takes(length, frame.headers()) {
            true => ingress.admit(now, (priority, length), &mut self.pools),
            false => Err(DropReason::Oversize),
        };
        match admitted {
            Ok(()) => {
                self.ledger.admit(port, port, priority, Load::of_frame(length));
                Some(arrival.queued(egress, frame, charge))
            }
            Err(reason) => {
                ingress.count_drop(priority, reason, length);
                None
            }
        }
    }

    /// Lets frames that were held go on whose turn it is, as many as `budget` says.
    fn release(&mut self, now: Nanos, port: PortId, budget: &mut usize) {
        while *budget > 0 {
            let Some(repair) = &mut self.repairs[port.index()] else { return };
            let Some(queued) = repair.end.take_released() else { return };
            *budget -= 1;
            let held = &mut repair.held[queued.charge.group().index()];
            *held = *held - Volume { frames: 1, bytes: queued.length() };
            self.let_go_on(now, port, queued);
        }
    }

    /// Moves a held frame to the queue that was chosen for it.
    fn let_go_on(&mut self, now: Nanos, port: PortId, queued: Queued<F>) {
        let Queued { egress, queue, charge, .. } = queued;
        let mut queued = Queued { since: now, ..queued };
        let (length, priority) = (queued.length(), charge.group());
        self.ledger.relocate(port, (port, egress), priority, Load::of_frame(length));
        self.note_change(egress, queue);
        if self.egress[egress.index()].drops(queue) {
            return self.drop_at_egress((egress, queue), charge, length, DropReason::PfcWatchdog);
        }
        if self.notifying.contains(egress)
            && let Some(descriptor) = Descriptor::parse(queued.frame.headers(), length)
        {
            let arrival = Arrival { now, port, priority, queue, length, descriptor };
            self.show_senders(egress, arrival, &mut queued.frame);
        }
        self.enqueue(queued);
    }

    /// Takes a status that came in through `port`. Returns whether the port repairs at all.
    pub(super) fn hear_status(&mut self, now: Nanos, port: PortId, status: &grants::repair::Message) -> bool {
        let Some(repair) = &mut self.repairs[port.index()] else { return false };
        repair.end.hear(now, status);
        true
    }

    /// Notes what has changed for the flow control and the queues of `port`.
    fn note_repair(&mut self, now: Nanos, port: PortId, settings: &PortSettings) {
        let Some(repair) = &self.repairs[port.index()] else { return };
        let longest = WireBytes::of_frame(settings.max_frame);
        self.ingress[port.index()].scheme.note_unrepaired(repair.unrepaired(longest));
        self.egress[port.index()].gate.withhold(!repair.end.takes(now));
        self.recorder.note_repair(now, port, repair.end.standing());
        self.changed.insert(port);
    }

    /// Lets the repair of `port` speak, and sends again what was lost, ahead of all new frames.
    #[inline(never)]
    pub(super) fn repair(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        let Some(repair) = &mut self.repairs[port.index()] else { return };
        repair.end.turn(now);
        self.release(now, port, &mut { RELEASED });
        let (egress, mac) = (&mut self.egress[port.index()], self.ingress[port.index()].mac);
        let Some(repair) = &mut self.repairs[port.index()] else { return };
        send_next(now, mac, &mut repair.end, egress, out);
        while repair.end.again_due() <= now && out.room() > 0 && egress.gate.link_opens_at() <= now {
            let start = egress.gate.link_free_at().max(now);
            let Some(frame) = repair.end.send_again(start) else { break };
            egress.gate.occupy(start, frame.length());
            out.frame(start, frame);
        }
        self.note_repair(now, port, program.port(port));
    }

    /// As [`Fabric::serve`], for a queue whose frames are numbered.
    #[inline(never)]
    pub(super) fn serve_repaired(
        &mut self,
        now: Nanos,
        port: PortId,
        turn: Turn,
        out: &mut impl Transmitter<F>,
    ) -> bool {
        let Self { ledger, egress, store, pools, rng, unsettled, senders, repairs, buckets, .. } = self;
        let Some(repair) = &mut repairs[port.index()] else { return false };
        let turn = turn.adding(WireBytes(NEW_LEN as u64));
        let mut out = Numbered { takes: repair.end.takes(now), end: &mut repair.end, buckets, out };
        let (egress, parts) = (&mut egress[port.index()], (store, pools, rng));
        let credit = credit(ledger, unsettled, port);
        let has_sent = match senders[port.index()].as_deref_mut().filter(|it| it.severe_from().is_some()) {
            None => egress.serve(now, turn, parts, &mut out, credit),
            Some(senders) => {
                let mut out = Watched { now, queue: turn.queue, senders, out: &mut out };
                egress.serve(now, turn, parts, &mut out, credit)
            }
        };
        egress.gate.withhold(!repair.end.takes(now));
        has_sent
    }

    /// Whether frames of `queue` at `port` are numbered now.
    #[inline]
    pub(super) fn numbers(&self, port: PortId, queue: QueueId) -> bool {
        self.egress[port.index()].gate.repairs(queue)
            && self.repairs[port.index()].as_ref().is_some_and(|it| it.end.is_up())
    }
}

/// A transmitter that numbers frames and keeps them.
struct Numbered<'a, F, T> {
    /// Whether the other end speaks, which nothing that leaves changes.
    takes: bool,
    end: &'a mut End<F, Queued<F>>,
    buckets: &'a FixedState,
    out: &'a mut T,
}

impl<F: Frame, T: Transmitter<F>> Transmitter<F> for Numbered<'_, F, T> {
    fn room(&self) -> usize {
        if self.takes && self.end.has_room() { self.out.room() } else { 0 }
    }

    fn frame(&mut self, start: Nanos, mut frame: F) {
        let bucket = bucket_of(self.buckets, &frame);
        // One that cannot be numbered leaves as it is.
        if let Ok(at) = end_of_tags(frame.headers())
            && let Ok(shim_at) = u8::try_from(at)
            && frame.make_room(at, NEW_LEN)
        {
            self.end.send(start, bucket, shim_at, &mut frame);
        }
        self.out.frame(start, frame);
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.out.control(start, frame);
    }
}

/// The bucket of a frame: that of its flow.
#[inline]
fn bucket_of<F: Frame>(buckets: &FixedState, frame: &F) -> u16 {
    let headers = frame.headers();
    let hash = match Descriptor::parse(headers, frame.length()) {
        Some(descriptor) => match usual_flow(&descriptor, headers) {
            Some(flow) => buckets.hash_one(flow),
            None => flow_hash(buckets, &descriptor, headers),
        },
        None => buckets.hash_one(headers),
    };
    (hash % u64::from(BUCKETS)) as u16
}

/// The addresses and ports of a UDP packet over IPv4, which nearly all are, in two words; `None` for a fragment, as for any other.
#[inline]
fn usual_flow(descriptor: &Descriptor, headers: &[u8]) -> Option<(u64, u32)> {
    let packet = headers.get(usize::from(descriptor.payload_offset)..)?;
    let ip = (descriptor.network == Network::Ipv4).then(|| ipv4::View::known(packet))?;
    let is_usual = ip.protocol() == IpProtocol::UDP && !ip.is_fragment();
    let ports = packet.get(ip.header_len()..)?.first_chunk().filter(|_| is_usual)?;
    let addresses = u64::from(ip.source().to_bits()) << 32 | u64::from(ip.destination().to_bits());
    Some((addresses, u32::from_ne_bytes(*ports)))
}
