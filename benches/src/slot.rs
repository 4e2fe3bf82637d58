//! A port whose slots of Bifrost end, and others that have none.

use crate::core::{Recycler, port_settings};
use crate::frame::{BenchFrame, rocev2_write};
use core::num::NonZeroU32;
use std::sync::Arc;
use switch::program::{
    Bifrost, BufferSettings, FlowControl, GroupSettings, PortSettings, Threshold, VirtualIncoming,
};
use switch::{ForwardingSettings, Program, Settings, Shard};
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};

const RATE: BitRate = BitRate::gigabits(10);
const SLOT: Interval = Interval::from_micros(10);
/// More than any buffer here.
const PLENTY: u64 = 1 << 32;
/// Frames that wait, at least.
const FRAMES: u64 = 10_000;

/// The load under which the slots are measured.
#[derive(Clone, Copy, Debug)]
pub struct SlotLoad {
    /// Slots in a round trip.
    pub slots_per_round_trip: u64,
    /// How F is kept.
    pub virtual_incoming: VirtualIncoming,
    /// Whether the queue fills the buffer, so that every slot is paused, or a third of it.
    pub paused: bool,
    /// Further pairs of ports with Bifrost that have no traffic.
    pub idle_pairs: u16,
}

/// A switch whose port 0 holds frames for port 1, which is never served.
pub struct Slots {
    shard: Shard<BenchFrame>,
    out: Recycler,
}

impl Slots {
    /// A switch under `load`, with every grant of a round trip in its history.
    pub fn new(load: SlotLoad) -> Self {
        let bifrost = bifrost(load);
        let program = Program::new(settings(bifrost, 2 + 2 * load.idle_pairs)).expect("the settings hold");
        let mut slots = Self { shard: Shard::single(Arc::new(program)), out: Recycler::default() };
        let queue = if load.paused { bifrost.buffer.0 * 2 } else { bifrost.buffer.0 / 3 };
        let length = (queue / FRAMES).clamp(64, 9_000);
        let frames = queue / WireBytes::of_frame(Bytes(length)).0;
        let mut burst = (0..frames).map(|_| rocev2_write(length)).collect();
        slots.shard.ingress(Nanos(1_000), PortId(0), &mut burst, &mut ());
        for _ in 0..2 * load.slots_per_round_trip + 10 {
            slots.turn();
        }
        slots
    }

    /// Ends one slot; returns how many pause frames were sent until now.
    pub fn turn(&mut self) -> u64 {
        let end = self.shard.port_deadline(PortId(0));
        self.shard.egress(end, PortId(0), &mut self.out);
        self.out.control
    }

    /// Calls `egress` for a port without traffic, and asks for the next deadline.
    pub fn poll_idle(&mut self, port: PortId) -> Nanos {
        self.shard.egress(Nanos(2_000), port, &mut self.out);
        self.shard.port_deadline(port)
    }
}

fn bifrost(load: SlotLoad) -> Bifrost {
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        round_trip: SLOT * load.slots_per_round_trip,
        check_every: NonZeroU32::MIN,
        virtual_incoming: load.virtual_incoming,
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    };
    bifrost.buffer = bifrost.buffer_terms(RATE, PortSettings::LARGEST_FRAME).total();
    bifrost
}

fn settings(bifrost: Bifrost, ports: u16) -> Settings {
    let pairs = (0..ports).step_by(2).map(|port| (PortId(port), PortId(port + 1)));
    Settings {
        ports: (0..ports).map(|port| with_bifrost(port_settings(port, RATE), bifrost)).collect(),
        buffer: BufferSettings {
            shared: Bytes(PLENTY),
            headroom: Bytes(PLENTY),
            egress_lossy: Bytes(8 << 20),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(pairs.collect()),
        seed: 1,
    }
}

fn with_bifrost(mut port: PortSettings, bifrost: Bifrost) -> PortSettings {
    for group in &mut port.groups {
        if let GroupSettings::Lossless(group) = group {
            group.xoff = Threshold::Static(Bytes(PLENTY));
        }
    }
    port.flow_control = FlowControl::Bifrost(bifrost);
    port
}
