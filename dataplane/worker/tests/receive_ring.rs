//! A core that is too slow for a port: the receive ring is a part of its buffer, and a pause keeps it from losing lossless
//! frames.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::{P0, P3, START, TestClock, TestFrame, frame, pause, settings};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use switch::program::Threshold;
use switch::receive_ring::{RingRoom, mark};
use switch::{DropReason, PauseCause, Program, Settings, Shard};
use units::{BitRate, Bytes, Cells, Interval, Nanos, PauseQuanta, PortId, Priority, WireBytes};
use wire::mac_control::Message;
use worker::{BURST, Device, DeviceCounters, Monitor, ReceiveRing, Worker, mailbox};

const A: PortId = common::A;
const B: PortId = common::B;

/// Frames of one priority, evenly spaced.
#[derive(Clone, Copy)]
struct Flow {
    priority: Priority,
    length: usize,
    per_second: u64,
    /// From here on, and until there.
    span: (Nanos, Nanos),
}

/// What a device tells of its ring.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    Depth,
    Nothing,
    /// Not even that it can lose frames: the control.
    Endless,
}

/// Hosts behind a switch, whose link ends in the ring of a device.
struct Wire {
    flows: Vec<(Flow, u64)>,
    ring: VecDeque<TestFrame>,
    descriptors: u32,
    tells: Tells,
    /// From the departure of a PFC frame until it takes effect here.
    stops_within: Interval,
    /// Changes of the pause of priority 3 on their way: when it takes effect, and whether it pauses.
    pauses: VecDeque<(Nanos, bool)>,
    is_paused: bool,
    /// Frames that found no room, by priority.
    missed: [u64; Priority::COUNT],
    /// Lossless frames that were not sent, because their sender was paused.
    held: u64,
    xoffs: u64,
    xons: u64,
}

impl Wire {
    /// Brings what has arrived by `now`, in the order of its time.
    fn arrive(&mut self, now: Nanos) {
        loop {
            let due =
                |flow: &(Flow, u64)| flow.0.span.0 + Interval(flow.1 * 1_000_000_000 / flow.0.per_second);
            let Some(index) = (0..self.flows.len()).min_by_key(|index| due(&self.flows[*index])) else {
                return;
            };
            let at = due(&self.flows[index]);
            if at > now {
                return;
            }
            while self.pauses.front().is_some_and(|(from, _)| *from <= at) {
                self.is_paused = self.pauses.pop_front().unwrap().1;
            }
            let (flow, number) = &mut self.flows[index];
            *number += 1;
            if at >= flow.span.1 {
                self.flows.remove(index);
            } else if flow.priority == P3 && self.is_paused {
                self.held += 1;
            } else if self.ring.len() < self.descriptors as usize {
                self.ring.push_back(frame(0, flow.priority, flow.length, *number));
            } else {
                self.missed[flow.priority.index()] += 1;
            }
        }
    }
}

/// The time that the core spends, in nanoseconds: for each frame that it reads, and for each that it sends.
#[derive(Clone, Copy)]
struct Cost {
    read: u64,
    sent: u64,
}

struct RingDevice {
    clock: TestClock,
    wire: Arc<Mutex<Wire>>,
    cost: Cost,
    waiting: usize,
    sent: Arc<Mutex<[u64; Priority::COUNT]>>,
}

impl Device for RingDevice {
    type Frame = TestFrame;

    fn make(&mut self, _: &[u8]) -> Option<TestFrame> {
        None
    }

    fn receive(&mut self, burst: &mut Vec<TestFrame>) {
        let wire = &mut *self.wire.lock().unwrap();
        wire.arrive(worker::Clock::now(&mut self.clock));
        let frames = wire.ring.len().min(BURST);
        burst.extend(wire.ring.drain(..frames));
        // An empty poll takes time too.
        self.clock.advance(Interval((self.cost.read * frames as u64).max(20)));
    }

    fn receive_ring(&mut self) -> ReceiveRing {
        let wire = self.wire.lock().unwrap();
        match wire.tells {
            Tells::Depth => ReceiveRing::Told { is_deep: wire.ring.len() > mark(wire.descriptors) as usize },
            Tells::Nothing => ReceiveRing::Untold { descriptors: wire.descriptors },
            Tells::Endless => ReceiveRing::Endless,
        }
    }

    fn room(&self) -> usize {
        BURST - self.waiting
    }

    fn transmit(&mut self, frame: TestFrame) {
        self.waiting += 1;
        self.clock.advance(Interval(self.cost.sent));
        let priority = if switch::Frame::headers(&frame)[15] >> 2 == 0 { P0 } else { P3 };
        self.sent.lock().unwrap()[priority.index()] += 1;
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        let Ok(Message::Pfc(view)) = Message::parse(&frame[14..]) else { return };
        let Some(time) = view.time(P3) else { return };
        let wire = &mut *self.wire.lock().unwrap();
        let now = worker::Clock::now(&mut self.clock);
        wire.pauses.push_back((now + wire.stops_within, time > PauseQuanta::ZERO));
        let counter = if time > PauseQuanta::ZERO { &mut wire.xoffs } else { &mut wire.xons };
        *counter += 1;
    }

    fn flush(&mut self) {
        self.waiting = 0;
    }

    fn memory_is_low(&mut self) -> bool {
        false
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters::default()
    }
}

/// A worker with ports A and B, patched to each other: what comes in at A goes out at B.
struct Bench {
    worker: Worker<RingDevice, TestClock>,
    clock: TestClock,
    wire: Arc<Mutex<Wire>>,
    far: Arc<Mutex<Wire>>,
    sent: Arc<Mutex<[u64; Priority::COUNT]>>,
}

const STOPS_WITHIN: Interval = Interval::from_micros(50);
/// The same on a link of 48 km.
const FAR: Interval = Interval::from_micros(500);
const FOR_EVER: Nanos = Nanos(u64::MAX);

impl Bench {
    fn new(link: (BitRate, u32, Tells), cost: Cost, flows: &[Flow]) -> Self {
        Self::with(settings(2), link, cost, flows)
    }

    fn with(
        mut settings: Settings,
        (rate, descriptors, tells): (BitRate, u32, Tells),
        cost: Cost,
        flows: &[Flow],
    ) -> Self {
        let wire = |flows: &[Flow]| {
            Arc::new(Mutex::new(Wire {
                flows: flows.iter().map(|flow| (*flow, 0)).collect(),
                ring: VecDeque::new(),
                descriptors,
                tells,
                stops_within: STOPS_WITHIN,
                pauses: VecDeque::new(),
                is_paused: false,
                missed: [0; Priority::COUNT],
                held: 0,
                xoffs: 0,
                xons: 0,
            }))
        };
        for port in &mut settings.ports {
            // The core alone is the bottleneck.
            (port.rate, port.tx_window) = (rate, Interval::from_micros(100));
        }
        let shard = Shard::single(Arc::new(Program::new(settings).unwrap()));
        let clock = TestClock::at(START);
        let (near, far, sent) = (wire(flows), wire(&[]), Arc::default());
        let device = |wire: &Arc<Mutex<Wire>>| RingDevice {
            clock: clock.clone(),
            wire: wire.clone(),
            cost,
            waiting: 0,
            sent: Arc::clone(&sent),
        };
        let devices = [(A, device(&near)), (B, device(&far))];
        let worker = Worker::new(clock.clone(), shard, devices, mailbox().1, Arc::new(Monitor::default()));
        Self { worker, clock, wire: near, far, sent }
    }

    fn now(&self) -> Nanos {
        worker::Clock::now(&mut self.clock.clone())
    }

    fn run_until(&mut self, end: Nanos) {
        while self.now() < end {
            assert!(self.worker.turn().is_continue());
        }
    }

    fn missed(&self, priority: Priority) -> u64 {
        self.wire.lock().unwrap().missed[priority.index()]
    }

    fn xoffs(&self) -> u64 {
        self.wire.lock().unwrap().xoffs
    }

    fn sent(&self, priority: Priority) -> u64 {
        self.sent.lock().unwrap()[priority.index()]
    }

    /// Frames that the port dropped by name.
    fn dropped(&self, reason: DropReason) -> u64 {
        self.worker.shard().ingress_counters(A).dropped.iter().map(|it| it[reason.index()].frames).sum()
    }

    fn cause(&self) -> Option<PauseCause> {
        self.worker.shard().group(self.now(), A, P3).paused
    }
}

/// 5 million frames of 1,000 bytes a second, which 41.15G bring.
const ARRIVING: u64 = 5_000_000;
const RATE: BitRate = BitRate::megabits(40_960);
const LENGTH: usize = 1_000;

fn lossless(from: Nanos) -> Flow {
    Flow { priority: P3, length: LENGTH, per_second: ARRIVING, span: (from, FOR_EVER) }
}

/// A core that carries 4 million frames a second.
const SLOW: Cost = Cost { read: 150, sent: 100 };

/// The ring that the formula asks for at this lateness: its own mark is a quarter of it.
fn room(late: Interval) -> RingRoom {
    let room = |descriptors| RingRoom { descriptors, carried: 4_000_000, stops_within: FAR, lateness: late };
    let enough = |descriptors: &u32| room(*descriptors).holds_at_most(ARRIVING) <= (*descriptors).into();
    room((1..).find(enough).unwrap())
}

#[test]
fn a_core_that_is_too_slow_loses_no_lossless_frame_in_a_ring_that_covers_the_pause_and_many_without_it() {
    for tells in [Tells::Depth, Tells::Nothing, Tells::Endless] {
        let mut bench = Bench::new((RATE, 1_024, tells), SLOW, &[lossless(START)]);
        bench.run_until(START + Interval::from_millis(20));
        let carried = bench.sent(P3);
        // The control loses what the core does not carry.
        assert_eq!(bench.missed(P3) > 10_000, tells == Tells::Endless, "{}", bench.missed(P3));
        assert!(tells == Tells::Endless || (bench.missed(P3), bench.xoffs() > 10) == (0, true));
        assert!(carried > 60_000, "the core stays busy: {carried}");
        assert_eq!(bench.dropped(DropReason::HeadroomExceeded), 0);
    }
}

/// Lossless frames that are lost where the receiver stops as soon as the ring is deep. XOFF is 64 kB, and headroom is what the
/// link brings until the sender stops. `shared` bytes are shared.
fn lost_if_the_receiver_stops_too(shared: u64) -> u64 {
    let mut settings = settings(2);
    for port in &mut settings.ports {
        let group = port.groups[P3.index()].lossless_mut().unwrap();
        (group.xoff, group.xon) = (Threshold::Static(Bytes(64_000)), Bytes(32_000));
        group.headroom = Cells::of_any_mix(WireBytes(RATE.bytes_in(STOPS_WITHIN))).bytes() + Bytes(4_096);
    }
    (settings.buffer.shared, settings.buffer.egress_lossy) = (Bytes(shared), Bytes(shared));
    let mut bench = Bench::with(settings, (RATE, 1_024, Tells::Depth), SLOW, &[lossless(START)]);
    while bench.cause() != Some(PauseCause::ReceiveRing) {
        bench.run_until(bench.now() + Interval(1));
    }
    bench.far.lock().unwrap().ring.push_back(pause(PauseQuanta::MAX));
    bench.run_until(bench.now() + Interval::from_micros(700));
    assert_eq!(bench.missed(P3), 0);
    bench.dropped(DropReason::HeadroomExceeded)
}

#[test]
fn what_is_unread_when_the_receiver_stops_too_finds_room_in_the_shared_pool() {
    assert_eq!(lost_if_the_receiver_stops_too(4_000_000), 0);
    assert!(lost_if_the_receiver_stops_too(70_000) > 100, "a pool without room");
}

/// What is missed of a lossless flow in a ring of this many descriptors. The worker is away for `late` some turns before the
/// ring is deep, and again before the pause leaves. The flow begins at `phase`.
fn missed(descriptors: u32, late: Interval, before: u32, phase: u64) -> u64 {
    let mut bench = Bench::new((RATE, descriptors, Tells::Depth), SLOW, &[lossless(START + Interval(phase))]);
    bench.wire.lock().unwrap().stops_within = FAR;
    let level = |bench: &Bench| bench.wire.lock().unwrap().ring.len() as u32;
    // A turn takes 32 times 250 ns, and brings 8 frames more than it takes away.
    while level(&bench) + 8 * before < mark(descriptors) {
        bench.run_until(bench.now() + Interval(1));
    }
    bench.clock.advance(late);
    let mut turns = 0..100;
    while bench.cause().is_none() {
        assert!(turns.next().is_some(), "no one is paused");
        bench.run_until(bench.now() + Interval(1));
    }
    bench.wire.lock().unwrap().pauses.iter_mut().for_each(|(at, _)| *at += late);
    bench.clock.advance(late);
    bench.run_until(bench.now() + Interval::from_millis(2));
    assert!(bench.xoffs() > 0);
    bench.missed(P3)
}

#[test]
fn the_formula_says_how_long_the_ring_must_be_and_a_burst_less_is_too_short() {
    for late in [Interval::ZERO, Interval::from_micros(10)] {
        let enough = room(late).descriptors;
        // A look is due in each fourth turn; the worst is to be away right after one that finds the ring not quite deep.
        let missed = |descriptors| {
            let cases = (0..6).flat_map(|before| (0..4).map(move |step| (before, step * 2_000)));
            cases.map(|(before, phase)| missed(descriptors, late, before, phase)).max().unwrap()
        };
        assert_eq!(missed(enough), 0, "{enough} at {late}");
        assert!(missed(enough - BURST as u32) > 0, "{enough} at {late}");
    }
}

/// Frames of 60 bytes, which no one asked for, beside a lossless flow behind the same port.
fn flood(per_second: u64, span: (Nanos, Nanos)) -> Flow {
    Flow { priority: P0, length: 60, per_second, span }
}

#[test]
fn a_flood_that_the_core_can_drop_costs_best_effort_frames_by_name_and_no_lossless_one() {
    for tells in [Tells::Depth, Tells::Nothing, Tells::Endless] {
        // 10G: 0.5 million lossless frames of 1,000 bytes, and as many of 60 bytes as find room beside them.
        let flow = Flow { priority: P3, length: LENGTH, per_second: 500_000, span: (START, FOR_EVER) };
        let flows = [flow, flood(8_700_000, (START, FOR_EVER))];
        // It drops 20 million a second and forwards 4 million.
        let cost = Cost { read: 50, sent: 200 };
        let mut bench = Bench::new((BitRate::gigabits(10), 1_024, tells), cost, &flows);
        bench.run_until(START + Interval::from_millis(20));
        if tells == Tells::Endless {
            assert!(bench.missed(P3) > 1_000, "the control loses both alike: {}", bench.missed(P3));
            continue;
        }
        assert_eq!((bench.missed(P3), bench.missed(P0)), (0, 0));
        assert!(bench.dropped(DropReason::ReceiveRing) > 10_000);
        assert!(bench.sent(P3) > 2_000, "the pauses end again and again: {}", bench.sent(P3));
        let of_lossless = bench.worker.shard().ingress_counters(A).dropped[P3.index()];
        assert!(of_lossless.iter().all(|dropped| dropped.frames == 0));
    }
}

#[test]
fn a_flood_beyond_what_the_core_can_drop_pauses_lossless_senders_for_as_long_as_it_lasts_and_no_longer() {
    let end = START + Interval::from_millis(5);
    let flow = Flow { priority: P3, length: LENGTH, per_second: 100_000, span: (START, FOR_EVER) };
    let cost = Cost { read: 200, sent: 50 };
    // The ring fills by 4 million frames a second at first, and by 9 million less 5 million later.
    let flows = [flow, flood(9_000_000, (START, end))];
    let mut bench = Bench::new((BitRate::gigabits(10), 1_024, Tells::Depth), cost, &flows);
    bench.run_until(end);
    assert_eq!(bench.missed(P3), 0, "they stop before the ring is full");
    assert!(bench.missed(P0) > 1_000, "only the flood is lost in the ring: {}", bench.missed(P0));
    assert_eq!(bench.cause(), Some(PauseCause::ReceiveRing));
    assert_eq!(bench.wire.lock().unwrap().xons, 0);
    bench.run_until(end + Interval::from_millis(1));
    assert_eq!((bench.cause(), bench.missed(P3)), (None, 0), "two bursts that are not full end it");
}

#[test]
fn a_core_that_keeps_up_never_pauses_whatever_bursts_come() {
    for tells in [Tells::Depth, Tells::Nothing] {
        // Frames of 60 bytes fill 2G with 2,976,190 a second, which the core carries: for ever, and in bursts of ever more.
        let cost = Cost { read: 100, sent: 150 };
        let line = |span| flood(2_976_190, span);
        let each = |number: u64| START + Interval(number * 100_000);
        let bursts: Vec<_> = (0..200).map(|it| line((each(it), each(it) + Interval(it * 336 + 1)))).collect();
        for flows in [&[line((START, FOR_EVER))][..], &bursts] {
            let mut bench = Bench::new((BitRate::gigabits(2), 256, tells), cost, flows);
            bench.run_until(START + Interval::from_millis(20));
            assert!(bench.sent(P0) > 10_000, "{}", bench.sent(P0));
            assert_eq!((bench.xoffs(), bench.dropped(DropReason::ReceiveRing)), (0, 0));
        }
    }
}
