//! Tests of the communication between cores under every order in which they may observe it. Loom tries all
//! interleavings with up to two or three preemptions, enough to expose most such bugs.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p worker --lib loom_tests`, with a separate target directory.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use crate::events::event_ring_of;
use crate::mailbox::mailbox_of;
use crate::ring::ring;
use crate::{
    CaptureFilter, Clock, Command, Device, DeviceCounters, FrameClass, Full, Monitor, ReceiveRing, Reply,
    Worker, tap,
};
use loom::thread;
use std::sync::Arc;
use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Settings, Threshold};
use switch::{
    Event, ForwardingSettings, Frame, Happening, Ledger, Program, Shard, ShardId, Successor, Transmitter,
};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority};
use wire::ethernet::MacAddress;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const C: PortId = PortId(2);
const D: PortId = PortId(3);
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
                tap.see_received(Nanos(number.into()), &[TestFrame { headers }]);
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
        ports: [0, 1, 2, 3].map(port).into(),
        buffer: BufferSettings {
            shared: Bytes(100_000),
            headroom: Bytes(10_000),
            egress_lossy: Bytes(100_000),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(vec![(A, B), (C, D)]),
        seed: 1,
    }
}

/// Two shards with a pair of ports each.
fn two_shards() -> (Arc<Ledger>, [Shard<TestFrame>; 2]) {
    let program = Arc::new(Program::new(settings()).unwrap());
    let ledger = Arc::new(Ledger::new(4, 2));
    let shard = |id: u16| {
        let owned = [2 * id, 2 * id + 1].into_iter().map(PortId).collect();
        Shard::new(ShardId(id), program.clone(), ledger.clone(), owned)
    };
    let shards = [0, 1].map(shard);
    (ledger, shards)
}

/// Sends everything, to no one.
struct Sink;

impl Transmitter<TestFrame> for Sink {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, _: TestFrame) {}

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

/// Takes `frames` frames in through the first of a pair of ports, one by one, and sends them through the other.
fn pass(shard: &mut Shard<TestFrame>, first: PortId, frames: u64) {
    for _ in 0..frames {
        shard.ingress(Nanos(1), first, &mut vec![TestFrame { headers: [0; 60] }], &mut ());
        shard.look_at_other_shards();
    }
    shard.egress(Nanos(1), PortId(first.0 + 1), &mut Sink);
}

fn two_shards_pass(frames: u64) {
    let (ledger, [mut one, mut other]) = two_shards();
    let thread = spawn(move || {
        pass(&mut one, A, frames);
        one
    });
    pass(&mut other, C, frames);
    let one = thread.join().unwrap();
    for (shard, first, second) in [(one, A, B), (other, C, D)] {
        let all = ledger.admitted(first, second, P0);
        assert_eq!((all.frames, all.bytes), (frames, Bytes(frames * LENGTH)));
        assert_eq!(ledger.departed(first, second, P0), all);
        assert_eq!(shard.group(Nanos(1), first, P0).occupancy, Bytes::ZERO);
        assert_eq!(shard.pools().shared.held, Bytes::ZERO);
    }
}

#[test]
fn shards_lose_no_frame_and_no_part_of_the_pools_whatever_they_see_of_each_other() {
    check(2, || two_shards_pass(1));
    check(1, || two_shards_pass(2));
}

#[test]
fn no_core_sees_more_departed_than_admitted() {
    check(2, || {
        let (ledger, [mut shard, _]) = two_shards();
        // A thread without synchronization: one that yields or joins would see too much.
        let looking = spawn(move || {
            // Departures first, like `Ledger::occupancy`.
            let departed = ledger.departed(A, B, P0);
            let admitted = ledger.admitted(A, B, P0);
            assert!(departed.frames <= admitted.frames, "{departed:?} of {admitted:?}");
            assert!(departed.bytes <= admitted.bytes, "{departed:?} of {admitted:?}");
        });
        pass(&mut shard, A, 1);
        looking.join().unwrap();
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

    fn make(&mut self, _: &[u8]) -> Option<TestFrame> {
        None
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
        let mut worker = Worker::new(NoTime, shard, devices, mailbox, monitor);
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
