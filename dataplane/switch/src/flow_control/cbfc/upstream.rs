//! The upstream side: a port that sends no more than it has credits for.

use super::settings::Cbfc;
use crate::flow_control::sequence::Sequence;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Priority, PrioritySet, WireBytes};
use wire::grants::credit::Message;

/// The upstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Upstream {
    settings: Cbfc,
    /// The longest frame of the port. A priority with fewer credits than that is closed.
    longest: i64,
    /// Lossless priorities: without a limit that holds, they are closed.
    priorities: PrioritySet,
    closed: PrioritySet,
    /// Bytes on the wire that each priority may still send.
    left: [i64; Priority::COUNT],
    numbers: Sequence,
    /// The session of the other end; zero before it is heard.
    peer: u32,
}

impl Upstream {
    /// A port that has no credits yet.
    pub fn new(settings: Cbfc, max_frame: Bytes, lossless: PrioritySet) -> Self {
        Self {
            settings,
            longest: WireBytes::of_frame(max_frame).0 as i64,
            priorities: lossless,
            closed: lossless,
            left: [0; Priority::COUNT],
            numbers: Sequence::default(),
            peer: 0,
        }
    }

    /// Applies new settings. The credits of a priority stay until the next message.
    pub fn configure(&mut self, settings: Cbfc, max_frame: Bytes, lossless: PrioritySet) {
        let Self { numbers, left, peer, .. } = *self;
        *self = Self { numbers, left, peer, ..Self::new(settings, max_frame, lossless) };
        self.close();
    }

    /// The priorities that may not send.
    #[inline]
    pub fn closed(&self) -> PrioritySet {
        self.closed
    }

    /// Charges a frame of `priority`.
    #[inline]
    pub fn spend(&mut self, priority: Priority, bytes: WireBytes) {
        let left = &mut self.left[priority.index()];
        *left -= bytes.0 as i64;
        if *left < self.longest && self.priorities.contains(priority) {
            self.closed = self.closed.with(priority);
        }
    }

    /// Whether both ends have the same counter.
    pub fn counts_as(&self, message: &Message) -> bool {
        message.counter == self.settings.counter
    }

    /// Takes a message that comes at `now`, with limits for a port in `session` that has `sent` so much in it. Returns
    /// whether it was a new one.
    pub fn receive(
        &mut self,
        now: Nanos,
        message: &Message,
        session: u32,
        sent: &[WireBytes; Priority::COUNT],
    ) -> bool {
        if core::mem::replace(&mut self.peer, message.session) != message.session {
            self.numbers.restart();
        }
        if !self.numbers.take(now, message.sequence) {
            return false;
        }
        let holds = message.echo == session && session != 0;
        for priority in Priority::all() {
            let index = priority.index();
            let ahead = self.settings.counter.ahead(message.limit[index], sent[index].0);
            self.left[index] = if holds && message.priorities.contains(priority) { ahead } else { 0 };
        }
        self.close();
        true
    }

    fn close(&mut self) {
        let short = |priority: &Priority| self.left[priority.index()] < self.longest;
        self.closed = self.priorities.iter().filter(short).collect();
    }

    /// The numbers of the messages that came.
    pub fn numbers(&self) -> Sequence {
        self.numbers
    }
}
