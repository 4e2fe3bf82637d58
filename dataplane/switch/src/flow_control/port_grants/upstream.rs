//! The upstream side: a port that sends what the other end grants, in all and for each far port.

use super::directory::{Directory, DirectoryCounters};
use super::settings::{Layout, PortGrants};
use crate::flow_control::bifrostx::term::{Beginning, Term};
use crate::flow_control::sequence::Sequence;
use crate::hash::HashKey;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use units::{BitRate, Interval, Nanos, Priority, PrioritySet, QueueId, QueueSet, WireBytes};
use wire::grants::slot::Kind;
use wire::grants::{behind, far_port};

/// Counters of messages that came in through one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamCounters {
    /// The numbers of grants.
    pub numbers: Sequence,
    /// Times at which the peer fell silent while its grants limited the port.
    pub silences: u64,
    /// The destinations that it knows.
    pub directory: DirectoryCounters,
}

/// The upstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Upstream {
    rate: BitRate,
    lossless: PrioritySet,
    term: Term,
    layout: Layout,
    directory: Directory,
    /// The queues of each priority.
    by_priority: [QueueSet; Priority::COUNT],
    /// The queues of each far port, the first of which is number one.
    by_port: [QueueSet; far_port::MOST],
    /// The far port of each queue; zero for none of its own.
    #[serde(with = "BigArray")]
    port_of: [u8; QueueSet::CAPACITY],
    /// The queues that the last message limits.
    limited: QueueSet,
    /// Those of them that may not send until the next grant.
    closed: QueueSet,
    /// The rest of the grant for all, in wire bytes; negative if a frame used part of the next grant.
    left: i64,
    /// The rest of that for each far port.
    left_of: [i64; far_port::MOST],
    /// The total that the last message stated for each of them, modulo 2^32; `None` before the first message.
    granted: Option<[u32; far_port::MOST]>,
}

impl Upstream {
    /// A port of `rate` that has heard nothing yet, whose queues have these priorities.
    pub fn new(
        settings: &PortGrants,
        rate: BitRate,
        lossless: PrioritySet,
        queues: impl Iterator<Item = Priority> + Clone,
    ) -> Self {
        let layout = Layout::new(settings, lossless, queues.clone());
        let mut by_priority = [QueueSet::EMPTY; Priority::COUNT];
        for (queue, priority) in queues.enumerate().filter_map(|(index, it)| Some((QueueId::new(index)?, it)))
        {
            by_priority[priority.index()] = by_priority[priority.index()].with(queue);
        }
        let mut port_of = [0; QueueSet::CAPACITY];
        for port in 1..=layout.far_ports() {
            layout.queues(port).iter().for_each(|queue| port_of[queue.index()] = port);
        }
        let queues_of = |index: usize| match index < usize::from(layout.far_ports()) {
            true => layout.queues(index as u8 + 1),
            false => QueueSet::EMPTY,
        };
        Self {
            rate,
            lossless,
            term: Term::new(settings.slots.round_trip, settings.slots.slot),
            layout,
            // The key need not be secret: whatever prefixes the other end chooses, a look-up visits few places.
            directory: Directory::new(layout, HashKey::from(0x9e37_79b9_7f4a_7c15)),
            by_priority,
            by_port: core::array::from_fn(queues_of),
            port_of,
            limited: QueueSet::EMPTY,
            closed: QueueSet::EMPTY,
            left: 0,
            left_of: [0; far_port::MOST],
            granted: None,
        }
    }

    /// Applies new settings. Returns whether it takes them over, with the grant in force; not if other queues are needed.
    pub fn configure(
        &mut self,
        settings: &PortGrants,
        rate: BitRate,
        lossless: PrioritySet,
        queues: impl Iterator<Item = Priority>,
    ) -> bool {
        self.term.configure(settings.slots.round_trip);
        self.rate = rate;
        self.lossless == lossless && self.layout == Layout::new(settings, lossless, queues)
    }

    /// Whether it tells far ports apart.
    pub fn steers(&self) -> bool {
        self.layout.far_ports() > 0
    }

    /// The queue for frames of `priority` to `address`.
    #[inline]
    pub fn queue(&self, address: IpAddr, priority: Priority) -> QueueId {
        self.directory.queue(address, priority)
    }

    /// Notes the queues that hold frames, while none is on its way to a queue.
    #[inline]
    pub fn note_waiting(&mut self, waiting: QueueSet) {
        self.directory.note_waiting(waiting);
    }

    /// The queues that may not send at `now`.
    #[inline]
    pub fn closed(&mut self, now: Nanos) -> QueueSet {
        if self.term.is_over(now) {
            self.expire(now);
        }
        self.closed.union(self.directory.held())
    }

    /// Whether `queue` may not send, and the time at which it will if no message comes. A queue that waits for frames in
    /// front of it is released when these leave.
    #[inline]
    pub fn closed_until(&self, queue: QueueId) -> Option<Nanos> {
        if self.closed.contains(queue) {
            return Some(self.term.silent_at());
        }
        self.directory.held().contains(queue).then_some(Nanos::NEVER)
    }

    #[cold]
    fn expire(&mut self, now: Nanos) {
        if self.term.expire(now) {
            self.closed = QueueSet::EMPTY;
        } else {
            self.left = self.left.min(0);
            self.left_of = self.left_of.map(|left| left.min(0));
            self.closed = self.limited;
        }
    }

    /// Charges a frame of `queue` that leaves at `now`.
    #[inline]
    pub fn spend(&mut self, now: Nanos, queue: QueueId, bytes: WireBytes) {
        self.directory.note_sent(queue);
        if !self.limited.contains(queue) {
            return;
        }
        self.term.note_sent(now);
        if self.term.kind == Kind::Grant {
            self.left -= bytes.0 as i64;
            if self.left <= 0 {
                self.closed = self.limited;
            }
        }
        if self.term.kind != Kind::Pauses && self.port_of[queue.index()] > 0 {
            let index = usize::from(self.port_of[queue.index()]) - 1;
            self.left_of[index] -= bytes.0 as i64;
            if self.left_of[index] <= 0 {
                self.closed = self.closed.union(self.by_port[index].intersection(self.limited));
            }
        }
    }

    /// Takes grants. Returns whether they are new.
    pub fn receive(&mut self, now: Nanos, message: &far_port::Message) -> bool {
        let Some(beginning) = self.term.begin(now, &message.head) else { return false };
        let priorities = message.head.priorities.intersection(self.lossless);
        let limited = priorities.iter().map(|priority| self.by_priority[priority.index()]);
        self.limited = limited.fold(QueueSet::EMPTY, QueueSet::union);
        let each = self.take_totals(message);
        match beginning {
            Beginning::Pauses => {
                self.closed = QueueSet::EMPTY;
                return true;
            }
            Beginning::Free { anew: false } => {}
            Beginning::Free { anew: true } => self.grant(Interval::ZERO, message, each),
            Beginning::Slot { early } => {
                if early.is_none() {
                    (self.left, self.left_of) = (0, [0; far_port::MOST]);
                }
                self.grant(early.unwrap_or(Interval::ZERO), message, each);
            }
        }
        self.close_spent();
        true
    }

    /// The bytes that a message grants each far port. Those of a slot come as totals, so they include what lost and overtaken
    /// messages granted. The first message grants them nothing if it is one of a slot: what its totals add is unknown. Totals
    /// that begin anew leave the port the grant for all, for this slot.
    fn take_totals(&mut self, message: &far_port::Message) -> [u32; far_port::MOST] {
        let each = message.each.map(|bytes| bytes.0 as u32);
        if message.head.kind != Kind::Grant {
            self.granted = Some([0; far_port::MOST]);
            return each;
        }
        let before = self.granted.replace(each).unwrap_or(each);
        core::array::from_fn(|index| each[index].wrapping_sub(before[index]))
    }

    /// Adds a grant, with bytes for `each` far port, to what is left of the last one: its debts, and what the link could
    /// still have sent in its `early` end.
    fn grant(&mut self, early: Interval, message: &far_port::Message, each: [u32; far_port::MOST]) {
        let kept = self.rate.bytes_in(early) as i64;
        self.left = self.left.min(kept).saturating_add(message.head.total.0 as i64);
        for (index, (left, bytes)) in self.left_of.iter_mut().zip(each).enumerate() {
            // The grant for all is the only bound of a far port that has none of its own.
            let own = if index < usize::from(message.count) { i64::from(bytes) } else { i64::MAX };
            *left = (*left).min(kept).saturating_add(own);
        }
    }

    /// Closes the queues for which nothing is left. While the port is freed, there is no bound for all.
    fn close_spent(&mut self) {
        let spent = self.by_port.iter().zip(self.left_of).filter(|(_, left)| *left <= 0);
        let of_ports = spent.fold(QueueSet::EMPTY, |closed, (queues, _)| closed.union(*queues));
        let all = self.term.kind == Kind::Grant && self.left <= 0;
        self.closed = if all { self.limited } else { of_ports.intersection(self.limited) };
    }

    /// Takes a page of destinations, while so many frames wait in the `first` queue of each priority.
    pub fn take_page(&mut self, page: &behind::Message, first: &[u64; Priority::COUNT]) {
        self.directory.take(page, first);
    }

    /// The rest of the grant of a far port, or of the grant for all if it is zero.
    #[cfg(test)]
    pub fn left_of(&self, far_port: usize) -> i64 {
        far_port.checked_sub(1).map_or(self.left, |index| self.left_of[index])
    }

    /// Its counters.
    pub fn counters(&self) -> UpstreamCounters {
        let (numbers, silences) = (self.term.numbers, self.term.silences);
        UpstreamCounters { numbers, silences, directory: self.directory.counters() }
    }
}
