//! Whole switches, and several queues for a priority.

mod ingress;
mod queues;
mod random;

use super::Fabric;
use crate::forwarding::Verdict;
use crate::frame::{Frame, Links, Transmitter};
use crate::ledger::{Ledger, ShardId};
use crate::program::{
    BufferSettings, ForwardingSettings, GroupSettings, LosslessGroup, PortSettings, Program, QueueSettings,
    Scheduling, Settings, Threshold,
};
use std::sync::Arc;
use units::{BitRate, Bytes, Nanos, PauseQuanta, PortId, PortSet, Priority, PrioritySet, QueueId};
use wire::ethernet::MacAddress;
use wire::pfc;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const P0: Priority = Priority::from_low_bits(0);
const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);

/// A frame that says itself where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Routed {
    bytes: [u8; 64],
    length: u64,
    label: u64,
    to: PortId,
    queue: QueueId,
}

impl Routed {
    /// A tagged frame of `length` and `priority` for a queue of port `to`.
    fn new(to: PortId, priority: Priority, queue: QueueId, length: u64) -> Self {
        let mut bytes = [2; 64];
        bytes[12..18].copy_from_slice(&[0x81, 0x00, priority.number() << 5, 1, 0x88, 0xb5]);
        Self { bytes, length, label: 0, to, queue }
    }

    /// A PFC frame.
    fn pfc(priorities: PrioritySet, time: PauseQuanta) -> Self {
        let mut bytes = [0; 64];
        pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 9, 9]), priorities, time).emit(&mut bytes).unwrap();
        Self { bytes, length: 64, label: 0, to: A, queue: QueueId::default() }
    }
}

impl Frame for Routed {
    fn headers(&self) -> &[u8] {
        &self.bytes
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn length(&self) -> Bytes {
        Bytes(self.length)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Takes so many frames at a time, and those that pass where `takes_lone` says so.
struct Out {
    sent: Vec<Routed>,
    room: usize,
    takes_lone: bool,
}

impl Transmitter<Routed> for Out {
    fn room(&self) -> usize {
        self.room - self.sent.len()
    }

    fn frame(&mut self, _: Nanos, frame: Routed) {
        self.sent.push(frame);
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

impl Links<Routed> for Out {
    fn takes(&self, _: PortId) -> bool {
        self.takes_lone
    }

    fn frame(&mut self, _: PortId, _: Nanos, frame: Routed) {
        self.sent.push(frame);
    }
}

/// A switch with a clock.
struct Bench {
    program: Program,
    fabric: Fabric<Routed>,
    now: Nanos,
}

impl Bench {
    fn new(ports: Vec<PortSettings>) -> Self {
        let program = Program::new(settings(ports)).unwrap();
        let ports = program.settings().ports.len();
        let ledger = Arc::new(Ledger::new(ports, 1));
        let fabric = Fabric::new(ShardId(0), &program, ledger, PortSet::first(ports));
        Self { program, fabric, now: Nanos::ZERO }
    }

    /// Takes `frames` in through `port`. Returns those that left at once.
    fn inject(&mut self, port: PortId, frames: Vec<Routed>, takes_lone: bool) -> Vec<Routed> {
        self.inject_with(port, frames, takes_lone, |frame| Verdict::Forward(frame.to))
    }

    /// As [`Self::inject`], for frames that `verdict` decides about.
    fn inject_with(
        &mut self,
        port: PortId,
        mut frames: Vec<Routed>,
        takes_lone: bool,
        verdict: fn(&Routed) -> Verdict,
    ) -> Vec<Routed> {
        let Self { program, fabric, now } = self;
        let mut out = Out { sent: Vec::new(), room: usize::MAX, takes_lone };
        fabric
            .ingress(*now, port, &mut frames, program, &mut out, |_, _, frame| (verdict(frame), frame.queue));
        out.sent
    }

    /// Lets frames leave through `port`, as many as there is `room` for.
    fn egress(&mut self, port: PortId, room: usize) -> Vec<Routed> {
        let mut out = Out { sent: Vec::new(), room, takes_lone: false };
        self.fabric.egress(self.now, port, &self.program, &mut out);
        out.sent
    }

    fn pause(&mut self, port: PortId, priorities: PrioritySet, time: PauseQuanta) {
        self.inject(port, vec![Routed::pfc(priorities, time)], false);
    }

    fn install(&mut self, ports: Vec<PortSettings>) {
        let program = self.program.with_settings(settings(ports)).unwrap();
        program.can_replace(&self.program).unwrap();
        let mut senders = super::senders_of(&program);
        self.fabric.configure(self.now, &self.program, &program, &mut senders);
        self.program = program;
    }
}

/// A buffer that takes all that a test queues.
fn settings(ports: Vec<PortSettings>) -> Settings {
    let pool = Bytes(1 << 40);
    Settings {
        ports,
        buffer: BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None },
        forwarding: ForwardingSettings::Patch(Vec::new()),
        seed: 1,
    }
}

/// A port of a byte a nanosecond with a queue for each priority, all of them strict, and one more for each of
/// `further`. Priorities 3 and 4 are lossless and obey pauses.
fn port(number: u8, further: &[Priority]) -> PortSettings {
    let (mac, rate) = (MacAddress([2, 0, 0, 0, 0, number]), BitRate::gigabits(8));
    let mut port = PortSettings::lossy(format!("port{number}"), mac, rate);
    for priority in [P3, P4] {
        port.groups[priority.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(1 << 39)),
            xon: Bytes(1 << 38),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(50_000),
        });
        port.pfc.obey = port.pfc.obey.with(priority);
    }
    let first = port.queues[0];
    port.queues.extend(further.iter().map(|priority| QueueSettings { priority: *priority, ..first }));
    port
}

/// Gives queue `id` of `port` a weight.
fn weigh(port: &mut PortSettings, id: usize, weight: u8) {
    port.queues[id].scheduling = Scheduling::Weighted(weight);
}
