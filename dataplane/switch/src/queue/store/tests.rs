//! The store against queues of a model.

use super::*;
use crate::queue::Charge;
use core::cell::Cell;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Cells, PortId, Priority, QueueId};

/// Where frames get their memory.
#[derive(Debug, Default)]
struct Bank {
    /// Frames that are alive.
    live: Cell<u64>,
    /// How many more may be gathered.
    allowance: Cell<u64>,
    /// Whether one has been refused since someone looked.
    has_refused: Cell<bool>,
}

/// A frame in memory of a fixed size, or, where it does not fit that, in several pieces.
struct TestFrame {
    bank: Rc<Bank>,
    memory: Vec<u8>,
    length: usize,
    is_whole: bool,
}

impl TestFrame {
    fn new(bank: &Rc<Bank>, memory: usize, content: &[u8]) -> Self {
        bank.live.update(|live| live + 1);
        let (length, is_whole) = (content.len(), content.len() <= memory);
        let mut bytes = content.to_vec();
        // The memory behind a frame is not always zero.
        bytes.resize(memory.max(length), 0xee);
        Self { bank: Rc::clone(bank), memory: bytes, length, is_whole }
    }
}

impl Drop for TestFrame {
    fn drop(&mut self) {
        self.bank.live.update(|live| live - 1);
    }
}

impl Frame for TestFrame {
    fn headers(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.length]
    }

    fn length(&self) -> Bytes {
        Bytes(self.length as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        None
    }

    fn memory(&self) -> Option<&[u8]> {
        self.is_whole.then_some(&self.memory)
    }

    fn memory_mut(&mut self) -> Option<&mut [u8]> {
        self.is_whole.then_some(&mut self.memory)
    }

    fn gather(&self, parts: [&[u8]; 2]) -> Option<Self> {
        let Some(left) = self.bank.allowance.get().checked_sub(1) else {
            self.bank.has_refused.set(true);
            return None;
        };
        self.bank.allowance.set(left);
        let content = parts.concat();
        assert!(content.len() <= self.memory.len(), "it came in memory of this size");
        Some(Self::new(&self.bank, self.memory.len(), &content))
    }
}

/// A frame, as the model remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    content: Vec<u8>,
    since: Nanos,
    charge: Charge,
    egress: PortId,
    queue: QueueId,
    ip_offset: u8,
}

impl Known {
    /// Frame `number`: all that is known of it follows from the number and its length.
    fn new(number: u64, length: usize) -> Self {
        let mut content = vec![number as u8; length];
        for (place, bytes) in content.chunks_mut(32).enumerate() {
            let stamp = (number << 16 | place as u64).to_le_bytes();
            let stamped = stamp.len().min(bytes.len());
            bytes[..stamped].copy_from_slice(&stamp[..stamped]);
        }
        Self {
            content,
            since: Nanos(number * 1_000_003),
            charge: Charge::new(
                PortId(number as u16 % 64),
                Priority::from_low_bits(number as u8),
                number.is_multiple_of(3),
            ),
            egress: PortId((number as u16 % 7) << 6),
            queue: QueueId::from_low_bits((number >> 3) as u8),
            ip_offset: (number % 31) as u8,
        }
    }

    fn of(queued: &Queued<TestFrame>) -> Self {
        let Queued { ref frame, since, charge, egress, queue, ip_offset, .. } = *queued;
        assert_eq!(frame.length(), queued.length());
        let content = frame.headers().to_vec();
        Self { content, since, charge, egress, queue, ip_offset }
    }

    fn queued(&self, bank: &Rc<Bank>, memory: usize) -> Queued<TestFrame> {
        let Self { ref content, since, charge, egress, queue, ip_offset } = *self;
        let (frame, length) = (TestFrame::new(bank, memory, content), content.len() as u16);
        Queued { frame, since, length, charge, egress, queue, ip_offset }
    }

    fn cells(&self) -> Cells {
        Cells::of_frame(Bytes(self.content.len() as u64))
    }
}

const QUEUES: usize = 3;

/// A store beside its model.
struct Pair {
    store: Store<TestFrame>,
    fifos: [Fifo; QUEUES],
    models: [VecDeque<Known>; QUEUES],
    bank: Rc<Bank>,
    packing: Packing,
    memory: usize,
    pushed: u64,
}

impl Pair {
    fn new(packing: Packing, memory: usize) -> Self {
        let bank = Rc::new(Bank { allowance: Cell::new(u64::MAX), ..Bank::default() });
        let store = Store::new(Some(packing), QUEUES);
        Self {
            store,
            fifos: Default::default(),
            models: Default::default(),
            bank,
            packing,
            memory,
            pushed: 0,
        }
    }

    fn push(&mut self, queue: usize, length: usize) {
        let known = Known::new(self.pushed, length);
        self.pushed += 1;
        self.store.push(&mut self.fifos[queue], known.queued(&self.bank, self.memory));
        self.models[queue].push_back(known);
    }

    /// Adds frames of these lengths as a run, as far as there is room for one.
    fn run(&mut self, queue: usize, lengths: impl Iterator<Item = usize>) {
        let (room, mut cells, mut frames) = (self.store.room_for_run(&self.fifos[queue]), Cells::ZERO, 0);
        let mut lent = self.fifos[queue].lend();
        for length in lengths {
            let known = Known::new(self.pushed, length);
            cells += known.cells();
            if cells > room {
                break;
            }
            self.pushed += 1;
            frames += 1;
            self.store.push_of_run(&mut lent, known.queued(&self.bank, self.memory));
            self.models[queue].push_back(known);
        }
        self.store.end_run(&mut self.fifos[queue], lent, frames);
    }

    /// Takes up to `frames` frames, and says why there were fewer: the queue is empty, or memory is.
    fn pop(&mut self, queue: usize, frames: usize) {
        for _ in 0..frames {
            self.bank.has_refused.set(false);
            match self.store.pop(&mut self.fifos[queue]) {
                Some(queued) => assert_eq!(Some(Known::of(&queued)), self.models[queue].pop_front()),
                None => {
                    assert!(
                        self.models[queue].is_empty() || self.bank.has_refused.get(),
                        "nothing for no reason"
                    );
                    return;
                }
            }
        }
    }

    /// The same, in calls of which each takes a frame at least, or finds no memory.
    fn pop_while(&mut self, queue: usize, frames: usize) {
        self.bank.has_refused.set(false);
        let (model, mut left, mut before) = (&mut self.models[queue], frames, None);
        while before != Some(left) {
            before = Some(left);
            self.store.pop_while(&mut self.fifos[queue], |slot| {
                assert_eq!(
                    slot.as_ref().map(Known::of).as_ref(),
                    model.front(),
                    "whoever looks sees the first"
                );
                if left == 0 {
                    return false;
                }
                left -= 1;
                drop(slot.take());
                model.pop_front();
                true
            });
        }
        assert!(left == 0 || model.is_empty() || self.bank.has_refused.get(), "{left} too few for no reason");
    }

    fn assert_like_the_model(&self) {
        assert_eq!(self.store.held, self.fifos.iter().map(|fifo| fifo.whole.length()).sum::<usize>());
        for (fifo, model) in self.fifos.iter().zip(&self.models) {
            assert_eq!((fifo.length(), fifo.is_empty()), (model.len(), model.is_empty()));
            let first = model.front().map(|known| (known.since, Bytes(known.content.len() as u64)));
            assert_eq!(self.store.front(fifo), first);
        }
    }

    /// The memory of frames in use is no more than a gateway has reserved for what these cost.
    fn assert_within_the_memory_reserved(&self) {
        let cells: Cells = self.models.iter().flatten().map(Known::cells).sum();
        let long = cells.0.div_ceil(Cells::of_frame(self.packing.below).0);
        let bound = long + (QUEUES * Packing::PER_QUEUE + self.packing.whole) as u64;
        let live = self.bank.live.get();
        assert!(live <= bound, "{live} of {bound} for {cells:?}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// So many frames of lengths drawn from this range.
    Push(usize, u64, (usize, usize)),
    /// The same, as a run.
    Run(usize, u64, (usize, usize)),
    Pop(usize),
    PopWhile(usize),
    /// There is memory for so many frames.
    Memory(u64),
}

fn any_step() -> impl Strategy<Value = (usize, Step)> {
    let lengths = prop_oneof![
        3 => Just((14, 100)),
        2 => (14..=9_216_usize).prop_map(|length| (length, length)),
        2 => Just((14, 2_304)),
        1 => Just((14, 9_216)),
    ];
    let frames = (0..150_usize, any::<u64>(), lengths);
    let step = prop_oneof![
        5 => frames.clone().prop_map(|(frames, seed, of)| Step::Push(frames, seed, of)),
        1 => frames.prop_map(|(frames, seed, of)| Step::Run(frames, seed, of)),
        2 => (0..200_usize).prop_map(Step::Pop),
        2 => (0..200_usize).prop_map(Step::PopWhile),
        1 => (0..40_u64).prop_map(Step::Memory),
        1 => Just(Step::Memory(u64::MAX)),
    ];
    (0..QUEUES, step)
}

/// So many lengths, drawn from a range.
fn lengths(frames: usize, seed: u64, (least, most): (usize, usize)) -> impl Iterator<Item = usize> {
    let mut rng = Pcg32::seed_from_u64(seed);
    (0..frames).map(move |_| least + rng.next_u32() as usize % (most - least + 1))
}

fn any_packing() -> impl Strategy<Value = (Packing, usize)> {
    prop_oneof![Just(2_304_usize), Just(9_472), Just(9_479)].prop_flat_map(|memory| {
        // At most what a chunk holds with its label, as a gateway computes it.
        let most = (Cells::within(memory as u64).0 - 1) * Cells::SIZE;
        (0..200_usize, 60..=most)
            .prop_map(move |(whole, below)| (Packing { whole, below: Bytes(below), frames: 5_000 }, memory))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn frames_of_any_lengths_leave_in_order_and_unchanged_within_the_memory_reserved(
        (packing, memory) in any_packing(),
        steps in proptest::collection::vec(any_step(), 1..40),
    ) {
        let mut pair = Pair::new(packing, memory);
        for (queue, step) in steps {
            match step {
                Step::Push(frames, seed, of) => lengths(frames, seed, of).for_each(|length| {
                    pair.push(queue, length);
                    pair.assert_within_the_memory_reserved();
                }),
                Step::Run(frames, seed, of) => pair.run(queue, lengths(frames, seed, of)),
                Step::Pop(frames) => pair.pop(queue, frames),
                Step::PopWhile(frames) => pair.pop_while(queue, frames),
                Step::Memory(frames) => pair.bank.allowance.set(frames),
            }
            pair.assert_like_the_model();
            pair.assert_within_the_memory_reserved();
        }
        pair.bank.allowance.set(u64::MAX);
        (0..QUEUES).for_each(|queue| pair.pop(queue, usize::MAX));
        pair.assert_like_the_model();
        prop_assert!(pair.models.iter().all(VecDeque::is_empty));
        prop_assert_eq!(pair.bank.live.get(), 0, "all memory was given back");
    }
}

#[test]
fn minimum_frames_that_wait_fill_the_memory_in_which_they_lie_but_for_the_end() {
    let packing = Packing { whole: 64, below: Bytes(2_000), frames: 20_000 };
    let mut pair = Pair::new(packing, 2_304);
    (0..20_000).for_each(|_| pair.push(0, 60));
    // 64 frames in memory of their own; the others, of 5 cells, in memory of 144.
    assert_eq!(pair.bank.live.get(), 64 + ((20_000 - 64) * 5_u64).div_ceil(144));
    assert_eq!(pair.fifos[0].stretches.length(), 1, "no whole frame is between them");
    pair.pop_while(0, usize::MAX);
    assert_eq!(pair.bank.live.get(), 0);
}

#[test]
fn the_memory_reserved_for_a_queue_is_what_it_can_take_but_for_one_frame() {
    let packing = Packing { whole: 0, below: Bytes(9_000), frames: 5_000 };
    let mut pair = Pair::new(packing, 9_472);
    for queue in 0..QUEUES {
        // The first segment stays as it is, and the others are packed, into two chunks.
        (0..SEGMENT + 120).for_each(|_| pair.push(queue, 60));
        pair.pop(queue, SEGMENT);
        // For each frame of the next segment that leaves, another one comes.
        for _ in 0..SEGMENT {
            pair.pop(queue, 1);
            pair.push(queue, 60);
        }
        // The third segment is unpacked beside them.
        pair.pop(queue, 1);
    }
    pair.assert_within_the_memory_reserved();
    assert_eq!(pair.bank.live.get() as usize, QUEUES * (Packing::PER_QUEUE - 1));
}

#[test]
fn a_packed_frame_for_which_there_is_no_memory_waits_and_is_the_next_to_leave() {
    let packing = Packing { whole: 0, below: Bytes(2_000), frames: 1_000 };
    let mut pair = Pair::new(packing, 2_304);
    (0..100).for_each(|_| pair.push(0, 200));
    pair.bank.allowance.set(0);
    pair.pop(0, 100);
    assert_eq!(pair.models[0].len(), 100 - SEGMENT, "a segment waited in memory of its own");
    pair.pop_while(0, 100);
    assert_eq!(pair.models[0].len(), 100 - SEGMENT, "and nothing more can leave");
    pair.assert_like_the_model();
    pair.bank.allowance.set(1);
    pair.pop(0, 100);
    assert_eq!(pair.models[0].len(), 100 - SEGMENT - 1);
    pair.bank.allowance.set(u64::MAX);
    pair.pop_while(0, 100);
    assert!(pair.models[0].is_empty());
}

#[test]
fn a_short_frame_in_several_pieces_is_not_packed() {
    let packing = Packing { whole: 0, below: Bytes(2_000), frames: 1_000 };
    let mut pair = Pair::new(packing, 512);
    // Packed frames of 200 bytes take 14 cells, and there are 32 in the memory of one.
    for (count, length, memory) in
        [(SEGMENT, 200, SEGMENT as u64), (32, 200, 14), (40, 600, 40), (32, 200, 14)]
    {
        let before = pair.bank.live.get();
        (0..count).for_each(|_| pair.push(0, length));
        assert_eq!(pair.bank.live.get() - before, memory);
    }
    pair.pop(0, usize::MAX);
    assert!(pair.models[0].is_empty());
}
