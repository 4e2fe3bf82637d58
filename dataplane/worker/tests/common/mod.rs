//! Workers whose devices are queues in memory.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use switch::program::{
    BufferSettings, Classification, GroupSettings, LosslessGroup, LossyQueue, PortSettings, QueueSettings,
    Scheduling, Settings, Threshold,
};
use switch::{Board, ControlFrame, ForwardingSettings, Frame, Ledger, Program, Shard, ShardId};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet, WireBytes};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::{grants, mac_control, pfc};
use worker::{
    BURST, Capacity, Clock, Command, Controls, DelayLine, Device, DeviceCounters, EmulationSettings,
    Inspection, Monitor, ReceiveRing, Reply, Worker, mailbox,
};

pub const A: PortId = PortId(0);
pub const B: PortId = PortId(1);
pub const P0: Priority = Priority::from_low_bits(0);
pub const P3: Priority = Priority::from_low_bits(3);
pub const RATE: BitRate = BitRate::gigabits(100);
/// The start of test clocks: an arbitrary Unix time.
pub const START: Nanos = Nanos(86_400_000_000_000);
/// DSCP of priority 3, which is lossless; all others are lossy.
const LOSSLESS_DSCP: u8 = 26;

/// A frame that carries its flow and its number in the flow.
#[derive(Debug, PartialEq, Eq)]
pub struct TestFrame {
    bytes: Vec<u8>,
    pub flow: u32,
    pub number: u64,
}

impl TestFrame {
    /// A frame of no flow.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, flow: u32::MAX, number: 0 }
    }
}

impl Frame for TestFrame {
    fn headers(&self) -> &[u8] {
        &self.bytes
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn length(&self) -> Bytes {
        Bytes(self.bytes.len() as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self { bytes: self.bytes.clone(), ..*self })
    }
}

/// Frame `number` of `flow`, which has its own priority.
pub fn frame(flow: u32, priority: Priority, length: usize, number: u64) -> TestFrame {
    let mut bytes = vec![0; length];
    bytes[..6].copy_from_slice(&[2, 0, 0, 0, 1, 1]);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
    bytes[12..14].copy_from_slice(&[0x08, 0x00]);
    let dscp = if priority == P3 { LOSSLESS_DSCP } else { 0 };
    let ip = wire::ipv4::Header {
        dscp: wire::ip::Dscp::from_low_bits(dscp),
        ecn: wire::ip::Ecn::Ect0,
        total_length: (length - 14) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: wire::ip::IpProtocol::UDP,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    ip.emit(&mut bytes[14..]).unwrap();
    TestFrame { bytes, flow, number }
}

/// A PFC frame that pauses priority 3 for `time`.
pub fn pause(time: PauseQuanta) -> TestFrame {
    let pfc = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 9, 9]), PrioritySet::EMPTY.with(P3), time);
    let mut bytes = vec![0; 60];
    pfc.emit(&mut bytes).unwrap();
    TestFrame::from_bytes(bytes)
}

/// The first bytes of a grant frame.
pub fn grant() -> TestFrame {
    let mut bytes = vec![0; 60];
    bytes[..6].copy_from_slice(&grants::DESTINATION.0);
    bytes[12..14].copy_from_slice(&grants::ETHER_TYPE.0.to_be_bytes());
    TestFrame::from_bytes(bytes)
}

/// The far side of a device.
#[derive(Default)]
pub struct Outside {
    /// Frames that the device will receive.
    pub inbound: VecDeque<TestFrame>,
    /// Data frames that the hardware took.
    pub outbound: Vec<TestFrame>,
    /// Control frames that the hardware took.
    pub control: Vec<ControlFrame>,
    /// Announcements that the hardware took.
    pub announcements: Vec<Vec<u8>>,
    /// Data frames that it still takes; `None` for any number.
    pub takes: Option<usize>,
    /// Whether the device reports that memory runs low.
    pub memory_is_low: bool,
}

/// The time that calls of a device take.
#[derive(Clone, Copy)]
pub struct Costs {
    /// A look whether memory runs low.
    pub memory: Interval,
    /// A poll, whether it finds frames or not.
    pub receive: Interval,
    /// A data frame to send.
    pub transmit: Interval,
    /// A flush, whether there is anything to send or not.
    pub flush: Interval,
}

impl Outside {
    /// The pause times of priority 3 in PFC frames, in order.
    pub fn pauses(&self) -> Vec<PauseQuanta> {
        let times = |frame: &ControlFrame| match mac_control::Message::parse(frame.bytes().get(14..)?) {
            Ok(mac_control::Message::Pfc(view)) => view.time(P3),
            _ => None,
        };
        self.control.iter().filter_map(times).collect()
    }

    /// The numbers of the sent frames by flow, in order.
    pub fn numbers(&self) -> BTreeMap<u32, Vec<u64>> {
        let mut flows: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for frame in &self.outbound {
            flows.entry(frame.flow).or_default().push(frame.number);
        }
        flows
    }
}

/// The test's handle of a device.
#[derive(Clone, Default)]
pub struct Cable {
    outside: Arc<Mutex<Outside>>,
    /// The time that calls of the device take, and on which clock.
    costs: Arc<OnceLock<(TestClock, Costs)>>,
}

impl Cable {
    pub fn outside(&self) -> MutexGuard<'_, Outside> {
        self.outside.lock().unwrap()
    }

    /// From now on, calls of the device take this time on `clock`.
    pub fn takes_time(&self, clock: &TestClock, costs: Costs) {
        assert!(self.costs.set((clock.clone(), costs)).is_ok(), "it takes another time already");
    }

    fn spend(&self, cost: impl Fn(&Costs) -> Interval) {
        if let Some((clock, costs)) = self.costs.get() {
            clock.advance(cost(costs));
        }
    }

    pub fn inject(&self, frames: impl IntoIterator<Item = TestFrame>) {
        self.outside().inbound.extend(frames);
    }
}

/// A device in memory.
pub struct MemoryDevice {
    cable: Cable,
    waiting: VecDeque<TestFrame>,
    counters: DeviceCounters,
}

impl MemoryDevice {
    fn new(cable: Cable) -> Self {
        Self { cable, waiting: VecDeque::with_capacity(BURST), counters: DeviceCounters::default() }
    }
}

impl Device for MemoryDevice {
    type Frame = TestFrame;

    fn make(&mut self, bytes: &[u8]) -> Option<TestFrame> {
        Some(TestFrame::from_bytes(bytes.to_vec()))
    }

    fn receive(&mut self, burst: &mut Vec<TestFrame>) {
        self.cable.spend(|costs| costs.receive);
        let inbound = &mut self.cable.outside().inbound;
        let frames = inbound.len().min(BURST);
        self.counters.received += frames as u64;
        burst.extend(inbound.drain(..frames));
    }

    fn room(&self) -> usize {
        BURST - self.waiting.len()
    }

    fn transmit(&mut self, frame: TestFrame) {
        assert!(self.room() > 0, "a device without room is given nothing");
        self.cable.spend(|costs| costs.transmit);
        self.waiting.push_back(frame);
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        let outside = &mut *self.cable.outside();
        match ethernet::View::parse(frame).unwrap().ether_type() {
            EtherType::LLDP => outside.announcements.push(frame.to_vec()),
            _ => outside.control.push(ControlFrame::copy_of(frame).unwrap()),
        }
        self.counters.control_sent += 1;
    }

    fn flush(&mut self) {
        self.cable.spend(|costs| costs.flush);
        if self.waiting.is_empty() {
            return;
        }
        let outside = &mut *self.cable.outside();
        let frames = self.waiting.len().min(outside.takes.unwrap_or(usize::MAX));
        outside.outbound.extend(self.waiting.drain(..frames));
        outside.takes = outside.takes.map(|takes| takes - frames);
        self.counters.sent += frames as u64;
        self.counters.full += u64::from(!self.waiting.is_empty());
    }

    fn memory_is_low(&mut self) -> bool {
        self.cable.spend(|costs| costs.memory);
        self.cable.outside().memory_is_low
    }

    fn receive_ring(&mut self) -> ReceiveRing {
        ReceiveRing::Endless
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters { waiting: self.waiting.len() as u64, ..self.counters }
    }
}

/// A clock that stands still until the test moves it.
#[derive(Clone)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub fn at(now: Nanos) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    pub fn advance(&self, by: Interval) {
        self.0.fetch_add(by.0, Ordering::Relaxed);
    }

    pub fn set(&self, now: Nanos) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&mut self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// `count` ports, patched in pairs. Priority 3 is lossless, with XOFF at 20 MB and headroom of 8 MB.
pub fn settings(count: u16) -> Settings {
    let mut classification = Classification::default();
    classification.dscp[usize::from(LOSSLESS_DSCP)] = P3;
    let port = |number: u16| {
        let mut groups = [GroupSettings::Lossy; Priority::COUNT];
        groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(20_000_000)),
            xon: Bytes(10_000_000),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(8_000_000),
        });
        let queue = |priority| QueueSettings {
            priority,
            scheduling: Scheduling::Weighted(1),
            rate_limit: None,
            red: None,
            lossy: LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(Bytes::MAX) },
        };
        let (name, mac) = (format!("port{number}"), MacAddress([2, 0, 0, 0, 0, number as u8]));
        let mut port = PortSettings::lossy(name, mac, RATE);
        port.tx_window = Interval::from_micros(4);
        port.classification = classification.clone();
        port.groups = groups;
        port.queues = Priority::all().map(queue).collect();
        port.pfc.obey = PrioritySet::EMPTY.with(P3);
        port
    };
    Settings {
        ports: (0..count).map(port).collect(),
        buffer: BufferSettings {
            shared: Bytes(40_000_000),
            headroom: Bytes(32_000_000),
            egress_lossy: Bytes(40_000_000),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(
            (0..count / 2).map(|pair| (PortId(2 * pair), PortId(2 * pair + 1))).collect(),
        ),
        seed: 1,
    }
}

/// A worker with its mailbox and monitor.
pub struct Bench<C> {
    pub worker: Worker<MemoryDevice, C>,
    pub controls: Controls,
    pub monitor: Arc<Monitor>,
}

impl<C: Clock> Bench<C> {
    pub fn send(&mut self, command: Command) {
        self.controls.send(command).unwrap();
    }

    /// Inspects a port of the worker.
    pub fn inspect(&mut self, port: PortId) -> Box<Inspection> {
        self.send(Command::Inspect(port, Box::default()));
        assert!(self.worker.turn().is_continue());
        match self.controls.receive() {
            Some(Reply::Inspected(of, inspection)) if of == port => inspection,
            reply => panic!("{reply:?}"),
        }
    }
}

/// `workers` workers for `settings`: pair n of ports belongs to worker n modulo `workers`. Each port has a cable.
pub fn workers<C: Clock>(
    settings: Settings,
    workers: u16,
    clock: impl Fn() -> C,
) -> (Vec<Bench<C>>, Vec<Cable>) {
    let ports = settings.ports.len();
    let program = Arc::new(Program::new(settings).unwrap());
    let ledger = Arc::new(Ledger::new(ports, workers.into()));
    let cables: Vec<_> = (0..ports).map(|_| Cable::default()).collect();
    let bench = |id: u16| {
        let own = (0..ports as u16).filter(|port| port / 2 % workers == id).map(PortId);
        let devices = own.clone().map(|port| (port, MemoryDevice::new(cables[port.index()].clone())));
        let shard = Shard::new(ShardId(id), program.clone(), ledger.clone(), own.collect());
        let (controls, mailbox) = mailbox();
        let monitor = Arc::new(Monitor::default());
        let worker = Worker::new(clock(), shard, devices, mailbox, monitor.clone());
        Bench { worker, controls, monitor }
    };
    ((0..workers).map(bench).collect(), cables)
}

/// Workers of `lanes` lanes for `settings`, and for each lane the cables of its queues, one for each port.
pub fn lanes<C: Clock>(
    settings: Settings,
    lanes: usize,
    clock: impl Fn() -> C,
) -> (Vec<Bench<C>>, Vec<Vec<Cable>>) {
    let ports = settings.ports.len();
    let program = Arc::new(Program::new(settings).unwrap().for_lanes(lanes).unwrap());
    let board = Arc::new(Board::new(lanes, ports));
    let lane = |number| {
        let cables: Vec<_> = (0..ports).map(|_| Cable::default()).collect();
        let devices = (0..).map(PortId).zip(cables.iter().cloned().map(MemoryDevice::new));
        let shard = Shard::lane(number, program.clone(), board.clone());
        let (controls, mailbox) = mailbox();
        let monitor = Arc::new(Monitor::default());
        let worker = Worker::new(clock(), shard, devices, mailbox, monitor.clone());
        (Bench { worker: worker.as_lane(), controls, monitor }, cables)
    };
    (0..lanes).map(lane).unzip()
}

/// A link of this delay that loses nothing.
pub fn emulated_link(delay: Interval) -> DelayLine<TestFrame> {
    let settings = EmulationSettings {
        delay,
        rate: RATE,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        reorder_by: Interval::ZERO,
        control: false,
        seed: 1,
    };
    DelayLine::new(&settings, Capacity { frames: 100, data: WireBytes(100_000) })
}

/// One worker with ports A and B, which are patched to each other.
pub fn one_worker(settings: Settings) -> (Bench<TestClock>, TestClock, Cable, Cable) {
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings, 1, || clock.clone());
    (benches.remove(0), clock, cables[0].clone(), cables[1].clone())
}

/// Asserts that all frames admitted by `ledger` have left.
pub fn assert_nothing_inside(ledger: &Ledger) {
    let ports = || (0..ledger.ports() as u16).map(PortId);
    for (ingress, egress) in ports().flat_map(|one| ports().map(move |other| (one, other))) {
        for priority in Priority::all() {
            let admitted = ledger.admitted(ingress, egress, priority);
            assert_eq!(ledger.departed(ingress, egress, priority), admitted, "{ingress} to {egress}");
        }
    }
}
