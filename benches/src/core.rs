//! A switch core under load, without anything around it.

use crate::frame::{BenchFrame, rocev2_write};
use crate::long_haul::{self, FarEnd, Flows};
use core::num::NonZeroU32;
use std::sync::Arc;
use switch::program::{
    BufferSettings, Classification, GroupSettings, LosslessGroup, LossyQueue, MarkAt, PortSettings,
    QueueSettings, Red, Scheduling, Threshold,
};
use switch::{Board, ForwardingSettings, Frame, Links, Program, Settings, Shard, Transmitter};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::ethernet::MacAddress;

/// Takes what leaves and keeps it for a later round.
#[derive(Default)]
pub(crate) struct Recycler {
    frames: Vec<BenchFrame>,
    pub(crate) control: u64,
}

impl Transmitter<BenchFrame> for Recycler {
    #[inline]
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn frame(&mut self, _start: Nanos, frame: BenchFrame) {
        self.frames.push(frame);
    }

    fn control(&mut self, _start: Nanos, _frame: &[u8]) {
        self.control += 1;
    }
}

impl Links<BenchFrame> for Recycler {
    #[inline]
    fn takes(&self, _port: PortId) -> bool {
        true
    }

    #[inline]
    fn frame(&mut self, _port: PortId, _start: Nanos, frame: BenchFrame) {
        self.frames.push(frame);
    }
}

impl Recycler {
    /// The frames that have left.
    pub(crate) fn frames_mut(&mut self) -> &mut Vec<BenchFrame> {
        &mut self.frames
    }
}

/// Frames that circulate: their headers fill 64 KiB, so they come from the second-level cache.
const FRAMES: usize = 512;

/// The load under which the core is measured.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Stored length of every frame.
    pub frame_bytes: u64,
    /// Ports, patched in pairs.
    pub ports: u16,
    /// Frames in a burst.
    pub burst: usize,
    /// With everything on (Bifrost, LSCC, watchdog), and so many flows, two at least: half of them out to
    /// the long link and half of them in. Otherwise there is one, and nothing to know of it.
    pub flows: Option<u32>,
    /// After how many packets the flows start their sequence numbers again, as in a capture that is played
    /// without end; no one sees their connections being made, so their senders are not known. Otherwise they
    /// are, and the flows go on.
    pub restart_after: Option<NonZeroU32>,
    /// The rate that the far end asks for, where the frames make 200G: with that the link is quiet, with a little
    /// less it is awake, and with much less CNPs are due.
    pub far_rate: BitRate,
    /// Of how many sequence numbers the gateway learns from one.
    pub learn: u32,
    /// The lanes of the switch, each of which takes every so manieth burst; 0 for a switch that has none.
    pub lanes: usize,
}

impl Load {
    /// The usual far rate: the line rate of one direction.
    pub const FAR_RATE: BitRate = BitRate::gigabits(200);
    /// The default of `learn`.
    pub const LEARN: u32 = 16;
}

/// The core, the frames that circulate through it, and the clock.
pub struct Core {
    /// By lane.
    shards: Vec<Shard<BenchFrame>>,
    out: Recycler,
    /// Bursts that take turns, so that each comes back after all the others.
    bursts: Vec<Vec<BenchFrame>>,
    turns: usize,
    load: Load,
    now: Nanos,
    step: Interval,
    next: u16,
    long_haul: Option<(Flows, FarEnd)>,
}

impl Core {
    /// A core under `load`.
    pub fn new(load: Load) -> Self {
        let rate = BitRate::gigabits(400);
        let frames = WireBytes(WireBytes::of_frame(Bytes(load.frame_bytes)).0 * load.burst as u64);
        let program = Program::new(settings(&load, rate)).expect("the settings hold");
        let mut core = Self {
            shards: shards(program, load.lanes),
            out: Recycler::default(),
            bursts: (0..FRAMES / load.burst)
                .map(|_| (0..load.burst).map(|_| rocev2_write(load.frame_bytes)).collect())
                .collect(),
            turns: 0,
            load,
            now: Nanos(1_000),
            step: rate.serialization().time_of(frames) + Interval(1),
            next: 0,
            long_haul: None,
        };
        if let Some(flows) = load.flows {
            core.get_acquainted(Flows::new(flows, load.restart_after));
        }
        core
    }

    /// Lets the gateway see every connection being made, and its flow grow old: old flows that are not
    /// flagged are the rule, and the rest of them is what a link with LSCC carries at all times.
    fn get_acquainted(&mut self, flows: Flows) {
        for flow in 0..if self.load.restart_after.is_none() { flows.count() } else { 0 } {
            for (port, frame) in flows.introduction(flow) {
                self.pass(port, vec![frame]);
            }
        }
        self.long_haul = Some((flows, FarEnd::new(self.load.ports, self.load.far_rate)));
    }

    /// Sends frames in through one port, and lets them out again.
    fn pass(&mut self, ingress: PortId, frames: Vec<BenchFrame>) {
        self.now += Interval::from_micros(1);
        for shard in &mut self.shards {
            shard.ingress(self.now, ingress, &mut frames.clone(), &mut self.out);
            shard.egress(self.now, PortId(ingress.0 ^ 1), &mut self.out);
        }
        self.out.frames.clear();
    }

    /// Sends one burst in through one port and out through its partner; returns the frames.
    pub fn turn(&mut self) -> usize {
        let ingress = PortId(self.next);
        let egress = PortId(self.next ^ 1);
        self.next = (self.next + 1) % self.load.ports;
        self.now += self.step;
        let turn = self.turns % self.bursts.len();
        let lane = self.turns / usize::from(self.load.ports) % self.shards.len();
        let shard = &mut self.shards[lane];
        if ingress == PortId(0) {
            shard.look(self.now);
        }
        self.turns += 1;
        let mut burst = core::mem::take(&mut self.bursts[turn]);
        let frames = burst.len();
        if let Some((flows, far_end)) = &mut self.long_haul {
            flows
                .address(ingress, burst.iter_mut().filter_map(|frame| frame.headers_mut().first_chunk_mut()));
            for (port, frame) in far_end.speak(self.now) {
                shard.ingress(self.now, port, &mut vec![frame], &mut ());
            }
        }
        shard.ingress(self.now, ingress, &mut burst, &mut self.out);
        // The window lets the whole burst out in one call, as on the wire.
        shard.egress(self.now, egress, &mut self.out);
        if self.next == 0 {
            shard.publish();
        }
        // The memory of the burst takes what leaves next.
        self.bursts[turn] = core::mem::replace(&mut self.out.frames, burst);
        frames
    }
}

/// A switch of one shard, or of so many lanes.
fn shards(program: Program, lanes: usize) -> Vec<Shard<BenchFrame>> {
    if lanes == 0 {
        return vec![Shard::single(Arc::new(program))];
    }
    let board = Arc::new(Board::new(lanes, program.settings().ports.len()));
    let program = Arc::new(program.for_lanes(lanes).expect("lanes run what is on"));
    (0..lanes).map(|lane| Shard::lane(lane, program.clone(), board.clone())).collect()
}

fn settings(load: &Load, rate: BitRate) -> Settings {
    let mut settings = bare_settings(load.ports, rate);
    if let Some(flows) = load.flows {
        settings
            .ports
            .iter_mut()
            .enumerate()
            .for_each(|(number, port)| long_haul::equip(number, port, flows, load.learn));
    }
    settings
}

pub(crate) fn bare_settings(ports: u16, rate: BitRate) -> Settings {
    let pairs = (0..ports).step_by(2).map(|port| (PortId(port), PortId(port + 1)));
    Settings {
        ports: (0..ports).map(|port| port_settings(port, rate)).collect(),
        buffer: BufferSettings {
            shared: Bytes(16 << 20),
            headroom: Bytes(8 << 20),
            egress_lossy: Bytes(8 << 20),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(pairs.collect()),
        seed: 1,
    }
}

pub(crate) fn port_settings(port: u16, rate: BitRate) -> PortSettings {
    let lossless = Priority::from_low_bits(3);
    let mut classification = Classification::default();
    classification.dscp[26] = lossless;
    let mut groups = [GroupSettings::Lossy; Priority::COUNT];
    groups[lossless.index()] = GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes(4_096),
        xoff: Threshold::Static(Bytes(1 << 20)),
        xon: Bytes(1 << 19),
        xon_offset: Bytes(0),
        headroom: Bytes(1 << 20),
    });
    let queue = |priority| QueueSettings {
        priority,
        scheduling: Scheduling::Weighted(1),
        rate_limit: None,
        red: Some(Red {
            kmin: Bytes(100_000),
            kmax: Bytes(400_000),
            pmax: 0.1,
            mark_at: MarkAt::Dequeue,
            adaptive: None,
        }),
        lossy: LossyQueue { reserved: Bytes(0), threshold: Threshold::Static(Bytes(1 << 20)) },
    };
    let mut settings =
        PortSettings::lossy(format!("port{port}"), MacAddress([2, 0, 0, 0, 0, port as u8]), rate);
    settings.tx_window = Interval::from_micros(20);
    settings.classification = classification;
    settings.groups = groups;
    settings.queues = Priority::all().map(queue).collect();
    settings.pfc.obey = PrioritySet::EMPTY.with(lossless);
    settings
}
