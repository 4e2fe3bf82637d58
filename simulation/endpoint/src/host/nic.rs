//! The port: its link clock, received pauses and transmission order.

use super::table::Slot;
use crate::packet::ShortFrame;
use crate::settings::FlowId;
use core::cmp::Reverse;
use serde::{Deserialize, Serialize};
use std::collections::{BinaryHeap, VecDeque};
use units::{BitRate, Bytes, LinkClock, Nanos, Priority, PrioritySet, WireBytes};

/// A port, and the frames and queue pairs that wait for it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Nic {
    link: LinkClock,
    /// A copy of the link clock's value, because it is read very often.
    free_at: Nanos,
    /// The end of each priority's pause.
    paused_until: [Nanos; Priority::COUNT],
    /// The priorities whose `paused_until` may be in the future.
    pausing: PrioritySet,
    /// Control frames by priority; they precede data.
    control: [VecDeque<ShortFrame>; Priority::COUNT],
    control_waiting: PrioritySet,
    /// The flows with a message of the connection manager, by its priority. The messages precede data, and control frames
    /// precede them.
    management: [VecDeque<FlowId>; Priority::COUNT],
    management_waiting: PrioritySet,
    /// The round robin: the queue pairs of each priority that may send now, with their turn numbers.
    ready: [VecDeque<(u64, Slot)>; Priority::COUNT],
    ready_waiting: PrioritySet,
    turns: u64,
    /// The queue pair that sent last and may send again once the link is free. Queue pairs that become ready
    /// before then precede it.
    last: Option<(Slot, Priority)>,
    /// Queue pairs that may send later, by due time.
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
            management: Default::default(),
            management_waiting: PrioritySet::EMPTY,
            ready: Default::default(),
            ready_waiting: PrioritySet::EMPTY,
            turns: 0,
            last: None,
            paced: BinaryHeap::new(),
        }
    }

    /// The earliest start of the next frame.
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

    /// Pauses `priority` until `until`.
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

    /// Forgets expired pauses; returns the priorities still paused.
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

    /// The control frames of `priority`, to build a frame in place. Call [`Nic::note_control`] afterwards.
    #[inline]
    pub fn control(&mut self, priority: Priority) -> &mut VecDeque<ShortFrame> {
        &mut self.control[priority.index()]
    }

    /// Notes that a control frame of `priority` was added.
    #[inline]
    pub fn note_control(&mut self, priority: Priority) {
        self.control_waiting = self.control_waiting.with(priority);
    }

    /// The priority of the next control frame: the highest that is not in `paused`.
    #[inline]
    pub fn control_turn(&self, paused: PrioritySet) -> Option<Priority> {
        self.control_waiting.difference(paused).highest()
    }

    /// Occupies the link with the oldest control frame of `priority`, and gives it to `send` with its start.
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

    pub fn push_management(&mut self, priority: Priority, flow: FlowId) {
        self.management[priority.index()].push_back(flow);
        self.management_waiting = self.management_waiting.with(priority);
    }

    /// The flow whose message of the connection manager has waited longest at the highest priority that is not in `paused`.
    #[inline]
    pub fn pop_management(&mut self, paused: PrioritySet) -> Option<FlowId> {
        let priority = self.management_waiting.difference(paused).highest()?;
        let queue = &mut self.management[priority.index()];
        let flow = queue.pop_front();
        if queue.is_empty() {
            self.management_waiting = self.management_waiting.without(priority);
        }
        flow
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
        // Nothing starts before the link is free, so a packet due by then needs no pacing.
        if due <= self.free_at {
            self.last = Some((slot, priority));
            self.ready_waiting = self.ready_waiting.with(priority);
        } else {
            self.paced.push(Reverse((due, slot, priority)));
        }
    }

    /// Removes a queue pair from the transmission order.
    #[cold]
    pub fn forget(&mut self, slot: Slot) {
        self.last = self.last.filter(|(last, _)| *last != slot);
        self.paced.retain(|Reverse((_, other, _))| *other != slot);
        for ring in &mut self.ready {
            ring.retain(|(_, other)| *other != slot);
        }
        let last = self.last.map(|(_, priority)| priority);
        let waits = |priority: &Priority| !self.ready[priority.index()].is_empty() || last == Some(*priority);
        self.ready_waiting = Priority::all().filter(waits).collect();
    }

    #[inline]
    fn push_ready(&mut self, slot: Slot, priority: Priority) {
        self.ready[priority.index()].push_back((self.turns, slot));
        self.ready_waiting = self.ready_waiting.with(priority);
        self.turns += 1;
    }

    /// Adds the queue pairs that are due to the round robin, and after them the one that sent last.
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

    /// The next queue pair: the longest waiting of all priorities that are not in `paused`.
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

    /// The earliest start of a waiting frame, as of `now`; never if nothing waits.
    #[inline]
    pub fn next_start(&self, now: Nanos) -> Nanos {
        let waiting =
            self.control_waiting.bits() | self.management_waiting.bits() | self.ready_waiting.bits();
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
