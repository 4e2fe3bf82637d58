//! The port: its link clock, the pauses that it obeys, and whose turn it is.

use super::table::Slot;
use crate::packet::ShortFrame;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{BitRate, Bytes, LinkClock, Nanos, Priority, PrioritySet, WireBytes};

/// A port, and who waits for it.
#[derive(Debug)]
pub(super) struct Nic {
    link: LinkClock,
    /// When the next frame may start, as the link has it: it is asked for all the time.
    free_at: Nanos,
    /// Until when each priority sends nothing.
    paused_until: [Nanos; Priority::COUNT],
    /// Those of which `paused_until` may lie in the future.
    pausing: PrioritySet,
    /// Frames that go ahead of data, by priority.
    control: [VecDeque<ShortFrame>; Priority::COUNT],
    control_waiting: PrioritySet,
    /// The round robin: the queue pairs of each priority that may send now, with the number of their turn.
    ready: [VecDeque<(u64, Slot)>; Priority::COUNT],
    ready_waiting: PrioritySet,
    turns: u64,
    /// The queue pair that sent last and may send again as soon as the link is free. Until then others may become
    /// ready, and they come first.
    last: Option<(Slot, Priority)>,
    /// Queue pairs that may send later, by when.
    paced: BinaryHeap<Reverse<(Nanos, Slot, Priority)>>,
}

impl Nic {
    pub fn new(rate: BitRate) -> Self {
        Self {
            link: LinkClock::new(rate),
            free_at: Nanos::ZERO,
            paused_until: [Nanos::ZERO; Priority::COUNT],
            pausing: PrioritySet::EMPTY,
            control: Default::default(),
            control_waiting: PrioritySet::EMPTY,
            ready: Default::default(),
            ready_waiting: PrioritySet::EMPTY,
            turns: 0,
            last: None,
            paced: BinaryHeap::new(),
        }
    }

    /// When the next frame may start.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Occupies the link with a frame; returns its start.
    #[inline]
    pub fn occupy(&mut self, now: Nanos, length: Bytes) -> Nanos {
        let start = self.link.occupy(now, WireBytes::of_frame(length));
        self.free_at = self.link.free_at();
        start
    }

    /// No frame of `priority` starts before `until`.
    pub fn pause(&mut self, priority: Priority, until: Nanos) {
        self.paused_until[priority.index()] = until;
        self.pausing = self.pausing.with(priority);
    }

    /// The priorities that are paused at `now`.
    #[inline]
    pub fn paused(&self, now: Nanos) -> PrioritySet {
        if self.pausing.is_empty() {
            return PrioritySet::EMPTY;
        }
        self.pausing.iter().filter(|priority| self.paused_until[priority.index()] > now).collect()
    }

    /// Forgets pauses that are over.
    #[inline]
    pub fn refresh_pauses(&mut self, now: Nanos) -> PrioritySet {
        self.pausing = self.paused(now);
        self.pausing
    }

    #[inline]
    pub fn push_control(&mut self, priority: Priority, frame: ShortFrame) {
        self.control[priority.index()].push_back(frame);
        self.control_waiting = self.control_waiting.with(priority);
    }

    /// The control frames of `priority`, for one that is made where it is to stand; [`Nic::note_control`] follows.
    #[inline]
    pub fn control(&mut self, priority: Priority) -> &mut VecDeque<ShortFrame> {
        &mut self.control[priority.index()]
    }

    /// A control frame of `priority` was added.
    #[inline]
    pub fn note_control(&mut self, priority: Priority) {
        self.control_waiting = self.control_waiting.with(priority);
    }

    /// The priority whose control frame it is the turn of: the highest that is not among `paused`.
    #[inline]
    pub fn control_turn(&self, paused: PrioritySet) -> Option<Priority> {
        self.control_waiting.difference(paused).highest()
    }

    /// Occupies the link with the oldest control frame of `priority`, which `send` is given with its start.
    #[inline]
    pub fn send_control(&mut self, now: Nanos, priority: Priority, send: impl FnOnce(Nanos, &[u8])) {
        let queue = &mut self.control[priority.index()];
        if let Some(frame) = queue.front() {
            let start = self.link.occupy(now, WireBytes::of_frame(Bytes(frame.bytes().len() as u64)));
            self.free_at = self.link.free_at();
            send(start, frame.bytes());
            queue.pop_front();
        }
        if queue.is_empty() {
            self.control_waiting = self.control_waiting.without(priority);
        }
    }

    /// Lists a queue pair whose next packet is due at `due`.
    #[inline]
    pub fn list(&mut self, slot: Slot, priority: Priority, due: Nanos, now: Nanos) {
        if due <= now {
            self.push_ready(slot, priority);
        } else {
            self.paced.push(Reverse((due, slot, priority)));
        }
    }

    /// Lists the queue pair whose packet has just started.
    #[inline]
    pub fn list_again(&mut self, slot: Slot, priority: Priority, due: Nanos) {
        // Nothing starts before the link is free, so what is due until then need not wait for its instant.
        if due <= self.free_at {
            self.last = Some((slot, priority));
            self.ready_waiting = self.ready_waiting.with(priority);
        } else {
            self.paced.push(Reverse((due, slot, priority)));
        }
    }

    #[inline]
    fn push_ready(&mut self, slot: Slot, priority: Priority) {
        self.ready[priority.index()].push_back((self.turns, slot));
        self.ready_waiting = self.ready_waiting.with(priority);
        self.turns += 1;
    }

    /// Puts into the round robin those whose instant has come, and behind them the one that sent last.
    #[inline]
    pub fn make_ready(&mut self, now: Nanos) {
        while let Some(Reverse((due, slot, priority))) = self.paced.peek().copied() {
            if due > now {
                break;
            }
            self.paced.pop();
            self.push_ready(slot, priority);
        }
        if let Some((slot, priority)) = self.last.take() {
            self.push_ready(slot, priority);
        }
    }

    /// The queue pair whose turn it is: who has waited longest, of all priorities that are not among `paused`.
    #[inline]
    pub fn pop_ready(&mut self, paused: PrioritySet) -> Option<Slot> {
        let waiting = self.ready_waiting.difference(paused);
        let priority = if waiting.is_single() { waiting.highest()? } else { self.longest_waiting(waiting)? };
        let ring = &mut self.ready[priority.index()];
        let (_, slot) = ring.pop_front()?;
        if ring.is_empty() {
            self.ready_waiting = self.ready_waiting.without(priority);
        }
        Some(slot)
    }

    fn longest_waiting(&self, waiting: PrioritySet) -> Option<Priority> {
        waiting.iter().min_by_key(|priority| self.ready[priority.index()].front().map(|(turn, _)| *turn))
    }

    /// When a frame can start at the earliest, as things are at `now`; never where nothing waits.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        let waiting = self.control_waiting.bits() | self.ready_waiting.bits();
        let waiting = PrioritySet::from_bits(waiting);
        let paused = self.paused(now).intersection(waiting);
        let free_at = self.free_at;
        if !waiting.difference(paused).is_empty() {
            return free_at;
        }
        let resumed = paused.iter().map(|priority| self.paused_until[priority.index()]).min();
        let paced = self.paced.peek().map(|Reverse((due, ..))| *due);
        let next = resumed.unwrap_or(Nanos::NEVER).min(paced.unwrap_or(Nanos::NEVER));
        next.max(free_at)
    }
}
