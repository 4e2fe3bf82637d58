//! Tests of the communication between cores under every order in which they may observe it. Loom tries all
//! interleavings with up to two or three preemptions, enough to expose most such bugs.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p worker --lib loom_tests`, with a separate target directory.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use crate::events::event_ring_of;
use crate::exchange::{TAKEN_AT_ONCE, exchanges_of};
use crate::mailbox::mailbox_of;
use crate::ring::ring;
use crate::{
    CaptureFilter, Clock, Command, Device, DeviceCounters, Exchange, FrameClass, Full, Monitor, ReceiveRing,
    Reply, Worker, tap,
};
use core::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Settings, Threshold};
use switch::{
    Event, ForwardingSettings, Frame, Happening, Ledger, Program, Shard, ShardId, Successor, Transmitter,
};
use units::{BitRate, Bytes, Cells, Interval, Nanos, PortId, Priority};
use wire::ethernet::MacAddress;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
/// The only priority, which is lossless.
const P0: Priority = Priority::from_low_bits(0);
const LENGTH: u64 = 100;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let model = Arc::new(model);
    builder.check(move || {
        let model = model.clone();
        spawn(move || model()).join().unwrap();
    });
}

/// Spawns a thread with room for a shard on its stack, which loom's first thread lacks.
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    const WORDS: usize = 1 << 18;
    thread::Builder::new().stack_size(WORDS).spawn(body).unwrap()
}

#[test]
fn what_goes_into_a_ring_comes_out_once_and_in_order() {
    check(3, || {
        let (mut producer, mut consumer) = ring(2);
        let giver = spawn(move || {
            let mut items: Vec<_> = (0..5).map(Box::new).collect();
            while !items.is_empty() {
                producer.append(&mut items);
                thread::yield_now();
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 5 {
            match taken.len() {
                3 => taken.extend(consumer.pop()),
                _ => consumer.take(2, &mut taken),
            }
            thread::yield_now();
        }
        assert!(taken.into_iter().map(|item| *item).eq(0..5));
        giver.join().unwrap();
    });
}

#[test]
fn an_item_that_finds_a_ring_full_comes_back_and_fits_once_another_was_taken() {
    check(3, || {
        let (mut producer, mut consumer) = ring(1);
        let giver = spawn(move || {
            for item in 0..3 {
                let mut item = item;
                while let Err(back) = producer.push(item) {
                    item = back;
                    thread::yield_now();
                }
            }
        });
        for expected in 0..3 {
            let item = loop {
                if let Some(item) = consumer.pop() {
                    break item;
                }
                thread::yield_now();
            };
            assert_eq!(item, expected);
        }
        giver.join().unwrap();
    });
}

/// The event number `at`.
fn event(at: u64) -> Event {
    Event { at: Nanos(at), port: None, priority: None, what: Happening::Lost { events: at } }
}

#[test]
fn events_reach_the_control_thread_in_order_and_what_finds_the_ring_full_waits() {
    check(3, || {
        let (mut outlet, mut inlet) = event_ring_of(2);
        let worker = spawn(move || {
            let mut waiting: Vec<_> = (0..4).map(event).collect();
            while !waiting.is_empty() {
                outlet.append(&mut waiting);
                thread::yield_now();
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 4 {
            inlet.take(&mut taken);
            thread::yield_now();
        }
        assert!(taken.into_iter().eq((0..4).map(event)));
        worker.join().unwrap();
    });
}

#[test]
fn a_buffer_of_a_capture_is_read_and_filled_in_turns_and_every_frame_is_read_or_lost() {
    check(3, || {
        let filter = CaptureFilter { received: true, class: FrameClass::All, ..CaptureFilter::default() };
        let (mut tap, mut reader) = tap(filter, 1, 60);
        let worker = spawn(move || {
            for number in 0..3 {
                let mut headers = [0; 60];
                headers[59] = number;
                tap.see_received(Nanos(number.into()), &[TestFrame { headers, number: number.into() }]);
                thread::yield_now();
            }
            tap
        });
        let mut read = Vec::new();
        for _ in 0..3 {
            read.extend(reader.read(|frame| (frame.at.0, frame.bytes[59].into())));
            thread::yield_now();
        }
        let _tap = worker.join().unwrap();
        while let Some(frame) = reader.read(|frame| (frame.at.0, frame.bytes[59].into())) {
            read.push(frame);
        }
        assert!(read.iter().all(|(at, number): &(u64, u64)| at == number), "a frame is whole");
        assert!(read.is_sorted(), "{read:?}");
        assert_eq!(read.len() as u64 + reader.lost()[0], 3);
    });
}

struct TestFrame {
    headers: [u8; 60],
    number: u64,
}

impl Frame for TestFrame {
    fn headers(&self) -> &[u8] {
        &self.headers
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.headers
    }

    fn length(&self) -> Bytes {
        Bytes(LENGTH)
    }

    fn duplicate(&self) -> Option<Self> {
        None
    }
}

fn frame(number: u64) -> TestFrame {
    TestFrame { headers: [0; 60], number }
}

fn settings() -> Settings {
    let mut groups = [GroupSettings::Lossy; Priority::COUNT];
    groups[P0.index()] = GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: Threshold::Static(Bytes(10_000)),
        xon: Bytes(5_000),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(1_000),
    });
    let port = |number: u8| {
        let (name, mac) = (format!("port{number}"), MacAddress([2, 0, 0, 0, 0, number]));
        let tx_window = Interval::from_micros(4);
        PortSettings { tx_window, groups, ..PortSettings::lossy(name, mac, BitRate::gigabits(100)) }
    };
    Settings {
        ports: [0, 1].map(port).into(),
        buffer: BufferSettings {
            shared: Bytes(100_000),
            headroom: Bytes(10_000),
            egress_lossy: Bytes(100_000),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(vec![(A, B)]),
        seed: 1,
    }
}

/// The frames that left, and their count before the ledger was updated.
struct Link {
    numbers: Vec<u64>,
    left: Arc<AtomicU64>,
}

impl Transmitter<TestFrame> for Link {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, frame: TestFrame) {
        self.numbers.push(frame.number);
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

/// The core of port A: admits `frames` frames one by one, then inspects its group.
fn admit(shard: &mut Shard<TestFrame>, exchange: &mut Exchange<TestFrame>, frames: u64, left: &AtomicU64) {
    for number in 0..frames {
        shard.ingress(Nanos(1), A, &mut vec![frame(number)], &mut ());
        for peer in exchange.peers() {
            peer.give(shard.outbox(peer.shard()));
        }
    }
    shard.look_at_other_shards();
    let seen = shard.group(Nanos(1), A, P0).occupancy;
    let gone = left.load(Ordering::Relaxed);
    let cost = Cells::of_frame(Bytes(LENGTH)).bytes().0;
    assert!(seen.0 <= frames * cost, "less than nothing has left");
    assert!(seen.0 >= (frames - gone) * cost, "what is inside is never overlooked");
}

/// The core of port B: sends `frames` frames and returns them.
fn release(
    mut shard: Shard<TestFrame>,
    mut exchange: Exchange<TestFrame>,
    frames: u64,
    left: Arc<AtomicU64>,
) -> Vec<u64> {
    let mut link = Link { numbers: Vec::new(), left };
    let mut arrivals = Vec::new();
    while link.numbers.len() as u64 != frames {
        for peer in exchange.peers() {
            peer.take(TAKEN_AT_ONCE, &mut arrivals);
        }
        if arrivals.is_empty() {
            thread::yield_now();
            continue;
        }
        shard.accept(Nanos(1), &mut arrivals);
        shard.egress(Nanos(1), B, &mut link);
    }
    link.numbers
}

fn two_shards() -> (Arc<Ledger>, [Shard<TestFrame>; 2]) {
    let program = Arc::new(Program::new(settings()).unwrap());
    let ledger = Arc::new(Ledger::new(2, 2));
    let owners = vec![ShardId(0), ShardId(1)];
    let shards = [0, 1].map(|id| Shard::new(ShardId(id), program.clone(), ledger.clone(), owners.clone()));
    (ledger, shards)
}

/// Moves `frames` frames from one shard to another, while a third core takes a `look`.
fn exchange_frames(frames: u64, look: impl FnOnce(&Arc<Ledger>)) {
    let (ledger, [mut one, other]) = two_shards();
    let [mut to_other, to_one] = exchanges_of(2, 2).try_into().ok().unwrap();
    let left = Arc::new(AtomicU64::new(0));
    let gone = left.clone();
    let admitting = spawn(move || {
        admit(&mut one, &mut to_other, frames, &gone);
        one
    });
    let releasing = spawn(move || release(other, to_one, frames, left));
    look(&ledger);
    let mut one = admitting.join().unwrap();
    let numbers = releasing.join().unwrap();
    assert!(numbers.into_iter().eq(0..frames), "complete and in order");
    let all = ledger.admitted(A, B, P0);
    assert_eq!((all.frames, all.bytes), (frames, Bytes(frames * LENGTH)));
    assert_eq!(ledger.departed(A, B, P0), all);
    one.look_at_other_shards();
    assert_eq!(one.group(Nanos(1), A, P0).occupancy, Bytes::ZERO);
}

#[test]
fn frames_cross_between_shards_complete_and_in_order_and_are_never_overlooked() {
    check(3, || exchange_frames(1, |_| {}));
    check(1, || exchange_frames(2, |_| {}));
}

#[test]
fn no_core_sees_more_departed_than_admitted() {
    check(2, || {
        exchange_frames(1, |ledger| {
            let ledger = ledger.clone();
            // A separate thread without synchronization: a thread that yields or joins would see too much.
            let looking = spawn(move || {
                // Departures first, like `Ledger::occupancy`.
                let departed = ledger.departed(A, B, P0);
                let admitted = ledger.admitted(A, B, P0);
                assert!(departed.frames <= admitted.frames, "{departed:?} of {admitted:?}");
                assert!(departed.bytes <= admitted.bytes, "{departed:?} of {admitted:?}");
            });
            looking.join().unwrap();
        });
    });
}

/// A device without traffic.
struct Silence;

impl Device for Silence {
    type Frame = TestFrame;

    fn memory_is_low(&mut self) -> bool {
        false
    }

    fn receive(&mut self, _: &mut Vec<TestFrame>) {}

    fn room(&self) -> usize {
        0
    }

    fn transmit(&mut self, _: TestFrame) {}

    fn transmit_control(&mut self, _: &[u8]) {}

    fn flush(&mut self) {}

    fn receive_ring(&mut self) -> ReceiveRing {
        ReceiveRing::Endless
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters::default()
    }
}

struct NoTime;

impl Clock for NoTime {
    fn now(&mut self) -> Nanos {
        Nanos(1)
    }
}

#[test]
fn a_worker_sees_each_program_once_in_order_and_lets_go_of_the_old_one_on_the_control_side() {
    check(2, || {
        let programs: Vec<_> = (0..4).map(|_| Arc::new(Program::new(settings()).unwrap())).collect();
        let shard = Shard::<TestFrame>::single(programs[0].clone());
        let (mut controls, mailbox) = mailbox_of(1);
        let devices = [(A, Silence), (B, Silence)];
        let monitor = Arc::new(Monitor::default());
        let mut worker = Worker::new(NoTime, shard, devices, Exchange::alone(), mailbox, monitor);
        let thread = spawn(move || {
            while worker.turn().is_continue() {
                thread::yield_now();
            }
            worker.shard().program().clone()
        });
        let mut replaced = Vec::new();
        let mut commands: Vec<_> = programs[1..]
            .iter()
            .map(|program| Command::Install(Box::new(Successor::new(program.clone()))))
            .collect();
        commands.push(Command::Stop);
        for command in commands {
            let mut command = command;
            // A full mailbox returns the command.
            while let Err(Full(back)) = controls.send(command) {
                command = back;
                replaced.extend(controls.receive());
                thread::yield_now();
            }
        }
        while replaced.len() < 3 {
            replaced.extend(controls.receive());
            thread::yield_now();
        }
        for (reply, program) in replaced.into_iter().zip(&programs) {
            let Reply::Installed(Ok(old)) = reply else { panic!("{reply:?}") };
            let old = old.program();
            assert!(Arc::ptr_eq(old, program));
            assert_eq!(Arc::strong_count(old), 2, "what came back and what the test holds");
        }
        assert!(Arc::ptr_eq(&thread.join().unwrap(), &programs[3]));
    });
}
