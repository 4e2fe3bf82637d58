//! The message of credit-based flow control: for each priority, the total that its sender has sent, and the limit of the
//! total that its receiver may send in the other direction (InfiniBand architecture, volume 1, section 7.9.4: FCTBS and
//! FCCL). `docs/cbfc.md` shows its bytes.

use serde::{Deserialize, Serialize};
use units::{Priority, PrioritySet, WireBytes};

use super::format::{FORMAT_AT, Format, VERSION, VERSION_AT};
use crate::bytes::{checked_head, put, u32_at, u64_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = 112;

const COUNTER_AT: usize = 1;
const PRIORITIES_AT: usize = 2;
const SEQUENCE_AT: usize = 4;
const SESSION_AT: usize = 8;
const ECHO_AT: usize = 12;
const SENT_AT: usize = 16;
const LIMIT_AT: usize = 80;

/// The counter of the limits in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Counter {
    /// 32 bits in blocks of 64 bytes, as InfiniBand's are except for their 12 bits: 137 GB may be under way.
    #[default]
    Wide,
    /// 20 bits in credits of 256 bytes (Ultra Ethernet 1.0): 134 MB may be under way.
    Uec,
}

impl Counter {
    /// Bytes of a credit, on the wire.
    pub const fn credit(self) -> u64 {
        match self {
            Self::Wide => 64,
            Self::Uec => 256,
        }
    }

    /// The bits of the counter.
    const fn bits(self) -> u32 {
        match self {
            Self::Wide => 32,
            Self::Uec => 20,
        }
    }

    /// Bytes on the wire that may be under way: half of the range of the counter, which tells a limit ahead from one
    /// behind.
    pub const fn reach(self) -> WireBytes {
        WireBytes(self.credit() << (self.bits() - 1))
    }

    /// A total of bytes in this counter, rounded down.
    pub const fn of(self, total: u64) -> u32 {
        (total / self.credit()) as u32 & (u32::MAX >> (32 - self.bits()))
    }

    /// Bytes by which `limit` is ahead of the total `sent`, rounded down; negative if it is behind.
    pub const fn ahead(self, limit: u32, sent: u64) -> i64 {
        let unused = 32 - self.bits();
        let used = sent.div_ceil(self.credit()) as u32;
        ((limit.wrapping_sub(used) << unused) as i32 >> unused) as i64 * self.credit() as i64
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The counter of its limits.
    pub counter: Counter,
    /// The priorities that have limits.
    pub priorities: PrioritySet,
    /// One more than that of the message before, modulo 2^32.
    pub sequence: u32,
    /// The session of its sender, which changes when it restarts and counts from zero; never zero.
    pub session: u32,
    /// The session of its receiver to which the limits apply; zero before its sender has heard any.
    pub echo: u32,
    /// FCTBS: bytes on the wire that its sender has sent at each priority.
    pub sent: [WireBytes; Priority::COUNT],
    /// FCCL: the limit of the total of its receiver at each priority, in credits of the counter; cyclic.
    pub limit: [u32; Priority::COUNT],
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if the counter is unknown or the session zero.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let refused = |field, value| Err(invalid(Protocol::Grants, field, value));
        let counter = match raw[COUNTER_AT] {
            0 => Counter::Wide,
            1 => Counter::Uec,
            other => return refused("counter", other.into()),
        };
        let session = u32_at(raw, SESSION_AT);
        if session == 0 {
            return refused("session", session);
        }
        Ok(Self {
            counter,
            priorities: PrioritySet::from_bits(raw[PRIORITIES_AT]),
            sequence: u32_at(raw, SEQUENCE_AT),
            session,
            echo: u32_at(raw, ECHO_AT),
            sent: core::array::from_fn(|index| WireBytes(u64_at(raw, SENT_AT + 8 * index))),
            limit: core::array::from_fn(|index| u32_at(raw, LIMIT_AT + 4 * index)),
        })
    }

    /// Writes the message to `out`.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        out[VERSION_AT] = VERSION;
        out[COUNTER_AT] = match self.counter {
            Counter::Wide => 0,
            Counter::Uec => 1,
        };
        out[PRIORITIES_AT] = self.priorities.bits();
        out[FORMAT_AT] = Format::Credit as u8;
        put(out, SEQUENCE_AT, &self.sequence.to_be_bytes());
        put(out, SESSION_AT, &self.session.to_be_bytes());
        put(out, ECHO_AT, &self.echo.to_be_bytes());
        for index in 0..Priority::COUNT {
            put(out, SENT_AT + 8 * index, &self.sent[index].0.to_be_bytes());
            put(out, LIMIT_AT + 4 * index, &self.limit[index].to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grants;

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    fn message() -> Message {
        Message {
            counter: Counter::Uec,
            priorities: PrioritySet::from_bits(0x18),
            sequence: 0x0102_0304,
            session: 0x1112_1314,
            echo: 0x2122_2324,
            sent: core::array::from_fn(|index| WireBytes(0x1_0000_0000 + index as u64)),
            limit: core::array::from_fn(|index| 0x2000_0000 + index as u32),
        }
    }

    #[test]
    fn a_message_has_these_bytes() {
        let mut expected = vec![1, 1, 0x18, 1, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24];
        expected.extend((0..8).flat_map(|index| [0, 0, 0, 1, 0, 0, 0, index]));
        expected.extend((0..8).flat_map(|index| [0x20, 0, 0, index]));
        assert_eq!(bytes(message()).to_vec(), expected);
    }

    #[test]
    fn an_unknown_counter_a_session_of_zero_and_a_shorter_message_are_refused() {
        let refused = |message: &[u8], field, value| {
            let error = ParseError::Invalid { protocol: Protocol::Grants, field, value };
            assert_eq!(Message::parse(message), Err(error));
        };
        let mut odd = bytes(message());
        odd[COUNTER_AT] = 2;
        refused(&odd, "counter", 2);
        refused(&bytes(Message { session: 0, ..message() }), "session", 0);
        // Below four bytes the format is unknown.
        for length in 4..MESSAGE_LEN {
            assert!(grants::Message::parse(&bytes(message())[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (priorities, sequence, echo, uec) in any::<(u8, u32, u32, bool)>(),
            session in 1_u32..,
            (sent, limit) in any::<([u64; 8], [u32; 8])>(),
        ) {
            let priorities = PrioritySet::from_bits(priorities);
            let counter = if uec { Counter::Uec } else { Counter::Wide };
            let sent = sent.map(WireBytes);
            let message = Message { counter, priorities, sequence, session, echo, sent, limit };
            prop_assert_eq!(Message::parse(&bytes(message)), Ok(message));
        }
    }
}
