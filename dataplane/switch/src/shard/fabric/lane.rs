//! A shard as one lane of several: what it shows to the others, and what it takes from them.

use super::services::is_rate_feedback;
use super::{Fabric, services};
use crate::descriptor::Descriptor;
use crate::egress::WatchdogEvent;
use crate::flow_control::Accounts;
use crate::frame::{Frame, Transmitter};
use crate::ingress::IngressPort;
use crate::lanes::{Board, Busy, Claim, Lane, Level, Link, Own, Pace, Queues};
use crate::ledger::Volume;
use crate::program::{PortSettings, Program};
use crate::reason::DropReason;
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::sync::Arc;
use units::{Bytes, Cells, Nanos, PortId, Priority, PrioritySet, WireBytes};

/// Control frames of a port that the lead takes in a turn.
const LETTERS: usize = 8;

impl<F: Frame> Fabric<F> {
    /// Makes it lane `number` of those that share `board`.
    pub fn join(&mut self, number: usize, board: Arc<Board>, program: &Program) {
        let lane = Lane::new(board, number);
        self.egress.iter_mut().for_each(|port| port.gate.share());
        if !lane.leads() {
            self.ingress.iter_mut().for_each(IngressPort::follow);
        }
        // Or all lanes would mark the same frames.
        self.rng = Pcg32::seed_from_u64(program.settings().seed ^ ((number as u64) << 32));
        self.senders.iter_mut().flatten().for_each(|senders| senders.divide(lane.home()));
        (self.lane, self.has_others) = (Some(Box::new(lane)), true);
        self.note_equipment(program);
    }

    /// Looks at what the other lanes show of all ports, at the start of a turn.
    pub fn look(&mut self, now: Nanos, program: &Program) {
        let Some(lane) = &self.lane else { return };
        let leads = lane.leads();
        self.look_at_pools();
        for port in self.owned.iter() {
            self.look_at(now, port);
        }
        self.resume_where_low();
        if leads {
            self.wake_for_others(now);
            self.equipped.iter().for_each(|port| self.read_post(now, port, program));
        }
        self.look_at_paces(now);
    }

    /// Lets the rates of ports go by what all lanes have taken.
    fn look_at_paces(&mut self, now: Nanos) {
        for port in self.notifying.iter() {
            self.meet_senders(port);
            let Self { lane: Some(lane), senders, .. } = self else { return };
            let Some(senders) = &mut senders[port.index()] else { continue };
            if !lane.leads() {
                senders.follow(now, lane.pace(port));
                continue;
            }
            let bytes = lane.limited_of_others(port);
            if let Some(pace) = senders.lead(now, bytes) {
                lane.show_pace(port, pace);
            }
        }
    }

    /// Lets no lane go by the rate of a port that has none any more.
    pub(super) fn end_paces(&mut self) {
        let Some(lane) = self.lane.as_ref().filter(|lane| lane.leads()) else { return };
        for port in self.owned.iter().filter(|port| !self.notifying.contains(*port)) {
            lane.show_pace(port, Pace { rate: None, queue: WireBytes(0) });
        }
    }

    /// Wakes what sleeps at the lead until frames come in, because they came in at other lanes.
    fn wake_for_others(&mut self, now: Nanos) {
        let Self { lane, ledger, ingress, pools, equipped, changed, .. } = self;
        let Some(lane) = lane else { return };
        for port in equipped.iter() {
            let ingress = &mut ingress[port.index()];
            if ingress.sleeps() && lane.has_received(port, ingress.lossless()) {
                ingress.wake_behind(now, Accounts { ledger, others: Some(&**lane) }, pools);
                changed.insert(port);
            }
        }
    }

    /// Wakes what sleeps at `port` until frames come in, as they do now.
    pub(super) fn wake(&mut self, now: Nanos, port: PortId) {
        let Self { lane, ledger, ingress, pools, changed, .. } = self;
        let ingress = &mut ingress[port.index()];
        match lane {
            Some(lane) if ingress.sleeps() => {
                ingress.wake_behind(now, Accounts { ledger, others: Some(&**lane) }, pools);
            }
            _ => ingress.wake(now),
        }
        changed.insert(port);
    }

    /// Leaves a control frame to the lead. Returns `false` where it is to be taken here. One that finds no room is dropped.
    pub(super) fn post(&mut self, link: services::Link<'_>, headers: &[u8], length: Bytes) -> bool {
        let services::Link { now, port, settings } = link;
        let Some(lane) = self.lane.as_ref().filter(|lane| !lane.leads()) else { return false };
        if !lane.post(now, port, length, headers) {
            self.refuse(port, settings, DropReason::LeadBusy, length);
        }
        true
    }

    /// Takes control frames of `port` that other lanes have left to this one: a few, as more may come as fast.
    fn read_post(&mut self, now: Nanos, port: PortId, program: &Program) {
        for _ in 0..LETTERS {
            let Some(letter) = self.lane.as_ref().and_then(|lane| lane.next_letter(port)) else { break };
            let frame = (letter.headers(), letter.length);
            let link = services::Link { now, port, settings: program.port(port) };
            match Descriptor::parse(frame.0, frame.1) {
                Some(descriptor) if is_rate_feedback(descriptor, frame.0) => {
                    self.take_feedback(link, &descriptor, frame);
                }
                Some(descriptor) => self.receive_control(letter.at, link, &descriptor, frame),
                None => self.refuse(port, link.settings, DropReason::Runt, letter.length),
            }
        }
    }

    /// Looks at what the other lanes show of `port`, before a burst or a call of egress.
    #[inline(never)]
    pub(super) fn look_at(&mut self, now: Nanos, port: PortId) {
        let Self { lane, ingress, egress, pools, paused, changed, .. } = self;
        let Some(lane) = lane else { return };
        let has_news = lane.has_news(port);
        let (ingress, egress) = (&mut ingress[port.index()], &mut egress[port.index()]);
        if has_news {
            let (kept, longest) = (lane.kept(port), egress.longest.any);
            ingress.note_others(pools, |priority| lane.level_of_others(port, priority, longest), kept);
            // Lossy thresholds and marks go by all that waits.
            egress.note_waiting_of_others(&lane.look_at_waiting(port));
        }
        if !lane.leads() {
            ingress.await_lead(now, lane.end_of_pauses(port));
        }
        if !ingress.pauses.paused().is_empty() {
            paused.insert(port);
            changed.insert(port);
        }
        if has_news {
            self.hear_others(now, port);
        }
    }

    /// Heeds the pauses of `port` that other lanes have received.
    fn hear_others(&mut self, now: Nanos, port: PortId) {
        let Some(lane) = &mut self.lane else { return };
        let mut heard = [None; Priority::COUNT];
        lane.hear_pauses(now, port, |priority, left, stops| heard[priority.index()] = Some((left, stops)));
        for (priority, heard) in Priority::all().zip(heard) {
            if let Some(pause) = heard {
                let Self { egress, store, recorder, changed, .. } = self;
                egress[port.index()].hear(now, priority, pause, store, |queue, change| {
                    recorder.note_watchdog(WatchdogEvent { at: now, port, queue, priority, change });
                });
                changed.insert(port);
            }
        }
    }

    #[inline]
    pub(super) fn look_at_pools(&mut self) {
        if let Some(lane) = &self.lane {
            self.pools.note_others(lane.pools_of_others());
        }
    }

    /// Shows the others what this lane holds, at the end of a turn.
    pub fn show(&mut self) {
        let Some(mut lane) = self.lane.take() else { return };
        let Self { ingress, egress, pools, owned, .. } = &*self;
        for port in owned.iter() {
            let (ingress, egress) = (&ingress[port.index()], &egress[port.index()]);
            let level = |priority: Priority| {
                let group = &ingress.groups[priority.index()];
                let (shared, headroom) = (group.shared(), group.headroom());
                let parts = [group.occupancy() - shared - headroom, shared, headroom];
                let [reserved, shared, headroom] = parts.map(|bytes| Cells::within(bytes.0));
                Level { reserved, shared, headroom }
            };
            let counted = self.limiter(port).map(|limiter| limiter.limited().0);
            let cells = own_cells(egress);
            let received = |priority: Priority| ingress.counters.received[priority.index()].on_the_wire();
            lane.show_received(port, received);
            lane.show(port, ingress.holding(), level, Own { cells, wants: ingress.wants(pools), counted });
            if lane.leads() {
                lane.show_end_of_pauses(port, ingress.pauses.lasts_until());
                lane.show_paused(port, ingress.pauses.paused(), ingress.paused_for_ring());
            }
        }
        lane.end_turn(pools.held());
        self.lane = Some(lane);
    }

    /// As [`Fabric::egress`], for a lane: it claims the time of the link for all that it sends in the call.
    #[inline(never)]
    pub fn egress_of_lane(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        self.look_at_pools();
        self.look_at(now, port);
        let claimed = self.claim(now, port, program.port(port), out.room() > 0);
        let before = self.egress[port.index()].sent();
        self.egress_now(now, port, program, out);
        let Volume { frames, bytes } = self.egress[port.index()].sent() - before;
        // Short ones are padded on the way.
        let least = WireBytes(frames * WireBytes::of_frame(Bytes(0)).0);
        let used = Volume { frames, bytes }.on_the_wire().max(least);
        if let Some(lane) = &mut self.lane {
            lane.settle(port, claimed, used.0);
        }
    }

    /// Claims what waits for `port` in queues that are not paused, if the device `has_room`. Returns the bytes; none if nothing
    /// may be sent but control frames, which claim nothing beforehand: they wait for no lane.
    fn claim(&mut self, now: Nanos, port: PortId, settings: &PortSettings, has_room: bool) -> u64 {
        let Self { lane, egress, failover, .. } = self;
        let (Some(lane), egress) = (lane, &mut egress[port.index()]) else { return 0 };
        if failover.stopped().contains(port) {
            egress.gate.take_claim(now, lane.free_in(now, port, settings.rate), settings.tx_window);
            return 0;
        }
        let longest = WireBytes::of_frame(settings.max_frame);
        let link = Link { rate: settings.rate, window: settings.tx_window, longest };
        let paused = egress.gate.pauses.paused(now);
        let open: PrioritySet = Priority::all().filter(|it| !paused.contains((*it).into())).collect();
        let slack = longest.0 + settings.rate.bytes_in(settings.tx_window);
        let queues = Queues { settings: &settings.queues, open, own: own_cells(egress), slack };
        lane.judge(port, &queues);
        let most = if has_room { egress.on_the_wire(open).0 } else { 0 };
        if most == 0 {
            egress.gate.take_claim(now, lane.free_in(now, port, settings.rate), settings.tx_window);
            return 0;
        }
        let time = |bytes| settings.rate.serialization().time_of(WireBytes(bytes));
        match lane.claim(now, port, &link, most) {
            Ok(Claim { lead, bytes, last }) => {
                egress.gate.take_claim(now, time(lead), time(last));
                bytes
            }
            Err(Busy { lead, window }) => {
                egress.gate.take_claim(now, lead, window);
                0
            }
        }
    }
}

/// The cells that wait at a port, by priority.
fn own_cells(egress: &crate::egress::EgressPort) -> [u32; Priority::COUNT] {
    let mut cells = [0; Priority::COUNT];
    for queue in egress.waiting().iter() {
        cells[queue.index()] = egress.queue(queue).bytes.div_ceil(Cells::SIZE).min(u32::MAX.into()) as u32;
    }
    cells
}
