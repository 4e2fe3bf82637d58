//! Credit-based flow control, as on InfiniBand links: nothing is sent that the other end has no room for.
//!
//! InfiniBand architecture, volume 1, section 7.9.4. Each end tells the other how much it has sent at each priority
//! (FCTBS), and how much the other may have sent in all (FCCL): what has come in, and the free rest of the buffer. Both
//! are totals, so a lost message costs time and nothing else. The total sent repairs the credits of frames that were
//! lost on the link.
//!
//! Totals here are bytes on the wire. Messages carry limits in credits, in a counter wide enough for any distance, or in
//! that of Ultra Ethernet 1.0, whose own `CF_Update` is a symbol of the physical layer that software cannot send. A
//! buffer of one BDP and the bytes of an interval fills the link ([`settings::Cbfc::for_line_rate`]).
//!
//! Without a message from the other end, nothing lossless is sent. So both ends must speak it, and must put a frame at
//! the same priority.

pub(crate) mod figures;
pub mod settings;
#[cfg(test)]
mod tests;
mod upstream;

pub(crate) use upstream::Upstream;

use super::look::Look;
use super::sequence::Sequence;
use serde::{Deserialize, Serialize};
use settings::Cbfc;
use units::{Interval, Nanos, Priority, PrioritySet, WireBytes};
use wire::grants::credit::Message;

/// The time after which an idle port sends its last message again. It repairs lost credits within this time.
const REPEAT: Interval = Interval::from_millis(1);

/// Credits on one port, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CbfcReport {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: Sequence,
    /// Whether the other end was heard.
    pub hears: bool,
    /// Bytes on the wire that were lost on the link, and whose credits were given back.
    pub repaired: WireBytes,
    /// The longest queue of a priority when a message was sent, in wire bytes.
    pub longest_queue: WireBytes,
}

/// The downstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Credits {
    settings: Cbfc,
    priorities: PrioritySet,
    /// The session of this port, drawn from the clock at the first message.
    pub session: u32,
    /// The session of the other end; zero before it is heard.
    peer: u32,
    /// The bytes by which the other end's totals are ahead of those received here, modulo 2^64.
    offsets: [u64; Priority::COUNT],
    /// The totals of the message before.
    heard: [WireBytes; Priority::COUNT],
    /// The limits of the last message.
    limits: [u64; Priority::COUNT],
    /// The time of the next message.
    pub next: Nanos,
    sequence: u32,
    /// Whether a message waits for the link.
    pub has_message: bool,
    report: CbfcReport,
}

impl Credits {
    /// Credits on a port that has heard nothing yet.
    pub fn new(settings: Cbfc, look: Look<'_>) -> Self {
        Self {
            settings,
            priorities: look.lossless,
            session: 0,
            peer: 0,
            offsets: [0; Priority::COUNT],
            heard: [WireBytes(0); Priority::COUNT],
            limits: [0; Priority::COUNT],
            next: Nanos::ZERO,
            sequence: 0,
            has_message: false,
            report: CbfcReport::default(),
        }
    }

    /// Applies new settings, from the next message on. It never restarts, so it returns `false`.
    pub fn configure(&mut self, settings: Cbfc, look: Look<'_>) -> bool {
        (self.settings, self.priorities, self.next) = (settings, look.lossless, Nanos::ZERO);
        false
    }

    /// Wakes it, because bytes come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.next = self.next.min(now + self.settings.interval);
    }

    /// Leaves a message to be sent.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) {
        if self.session == 0 {
            self.session = (now.0 as u32).max(1);
        }
        let before = self.limits;
        for priority in self.priorities.iter() {
            let (index, queue) = (priority.index(), look.queue_of(priority));
            let free = self.settings.buffer.0.saturating_sub(queue.0);
            self.limits[index] = self.total(look, priority).wrapping_add(free);
            self.report.longest_queue = self.report.longest_queue.max(queue);
        }
        let is_busy = self.limits != before || !look.holding.is_empty();
        self.next = now + if is_busy { self.settings.interval } else { REPEAT };
        self.has_message = true;
    }

    /// The total of the other end for all that has come in.
    fn total(&self, look: Look<'_>, priority: Priority) -> u64 {
        look.received_at(priority).0.wrapping_add(self.offsets[priority.index()])
    }

    /// Takes the totals of the other end. A device may send a message ahead of data that was handed to it before. So
    /// what is missing of the totals of the message before is lost, and what is missing of these may still come.
    ///
    /// No more than the buffer can be missing, because no one may send more. Totals that claim more raise no limit and count
    /// as no repair: the next ones are taken as they are.
    pub fn hear(&mut self, now: Nanos, message: &Message, look: Look<'_>) {
        let is_known = self.peer == message.session;
        let before = core::mem::replace(&mut self.heard, message.sent);
        let mut leaked = 0_u64;
        for priority in self.priorities.iter() {
            let (index, total) = (priority.index(), self.total(look, priority));
            let missing = before[index].0.wrapping_sub(total) as i64;
            let ahead = message.sent[index].0.wrapping_sub(total) as i64;
            let lost = missing.max(0);
            let is_credible = is_known && ahead > 0 && lost.unsigned_abs() <= self.settings.buffer.0;
            let change = if is_credible { lost } else { ahead };
            self.offsets[index] = self.offsets[index].wrapping_add_signed(change);
            leaked += if is_credible { lost.unsigned_abs() } else { 0 };
        }
        self.report.repaired.0 = self.report.repaired.0.saturating_add(leaked);
        self.peer = message.session;
        if !is_known || leaked > 0 {
            self.next = now;
        }
    }

    /// Takes the message that waits for the link, of a port that has `sent` so much.
    pub fn take_message(&mut self, sent: [WireBytes; Priority::COUNT]) -> Option<Message> {
        core::mem::take(&mut self.has_message).then(|| {
            self.sequence = self.sequence.wrapping_add(1);
            self.report.sent += 1;
            Message {
                counter: self.settings.counter,
                priorities: self.priorities,
                sequence: self.sequence,
                session: self.session,
                echo: self.peer,
                sent,
                limit: self.limits.map(|limit| self.settings.counter.of(limit)),
            }
        })
    }

    /// Its report, with the messages that the other side of the port has taken.
    pub fn report(&self, received: Sequence) -> CbfcReport {
        CbfcReport { received, hears: self.peer != 0, ..self.report }
    }
}
