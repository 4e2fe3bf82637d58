//! The message of grants for far ports: that of a [slot](super::slot::Message), with bytes for each port behind the sender
//! instead of each priority. `docs/port-grants.md` shows its bytes.

use serde::{Deserialize, Serialize};
use units::WireBytes;

use super::format::Format;
use super::slot::{self, HEAD_LEN, Head};
use crate::bytes::{checked_head, put, u32_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// The most far ports that a link tells apart.
pub const MOST: usize = 14;

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = HEAD_LEN + 4 + 4 * MOST;
const COUNT_AT: usize = HEAD_LEN;
const EACH_AT: usize = HEAD_LEN + 4;

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The limit of the receiver, as in a slot of BifrostX. Its total bounds all far ports together.
    pub head: Head,
    /// The far ports that have grants, up to [`MOST`]. They are numbered from one.
    pub count: u8,
    /// Bytes on the wire for each of them, zero beyond `count`: in a grant, all that was granted since the last message of
    /// another kind, modulo 2^32.
    pub each: [WireBytes; MOST],
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if the flags are unknown, there are more than [`MOST`] ports, or
    /// bytes without a meaning are not zero.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let refused = |field, value: u32| Err(invalid(Protocol::Grants, field, value));
        let count = raw[COUNT_AT];
        if usize::from(count) > MOST {
            return refused("far ports", count.into());
        }
        let unused = EACH_AT + 4 * usize::from(count);
        let padding = raw[COUNT_AT + 1..EACH_AT].iter().chain(&raw[unused..]).find(|it| **it != 0);
        if let Some(&byte) = padding {
            return refused("reserved", byte.into());
        }
        let each = core::array::from_fn(|index| WireBytes(u32_at(raw, EACH_AT + 4 * index).into()));
        Ok(Self { head: slot::parse_head(raw)?, count, each })
    }

    /// Writes the message to `out`. Values beyond the end of their fields are cut to the largest that fits.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        out.fill(0);
        self.head.emit(Format::FarPort, out);
        let count = usize::from(self.count).min(MOST);
        out[COUNT_AT] = count as u8;
        for (bytes, field) in self.each.iter().take(count).zip(out[EACH_AT..].chunks_exact_mut(4)) {
            put(field, 0, &u32::try_from(bytes.0).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grants;
    use crate::grants::slot::Kind;
    use crate::testing::*;
    use units::{Interval, PrioritySet};

    fn message(count: u8) -> Message {
        let head = Head {
            kind: Kind::Grant,
            follows: true,
            priorities: PrioritySet::from_bits(0b0001_1000),
            sequence: 0x0102_0304,
            slot: Interval(10_000),
            total: WireBytes(125_000),
        };
        let bytes = |index| if index < usize::from(count) { 0x1000_0000 + index as u64 } else { 0 };
        Message { head, count, each: core::array::from_fn(|index| WireBytes(bytes(index))) }
    }

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    #[test]
    fn a_message_has_these_bytes() {
        let mut expected = vec![1, 0x81, 0x18, 2, 1, 2, 3, 4, 0, 0, 0x27, 0x10, 0, 1, 0xe8, 0x48];
        expected.extend([2, 0, 0, 0, 0x10, 0, 0, 0, 0x10, 0, 0, 1]);
        expected.resize(MESSAGE_LEN, 0);
        assert_eq!(bytes(message(2)).to_vec(), expected);
    }

    #[test]
    fn more_ports_than_there_are_and_bytes_without_meaning_are_refused() {
        let invalid = |field, value| Err(ParseError::Invalid { protocol: Protocol::Grants, field, value });
        let with = |at: usize, value| {
            let mut raw = bytes(message(2));
            raw[at] = value;
            grants::Message::parse(&raw)
        };
        assert_eq!(with(COUNT_AT, 15), invalid("far ports", 15));
        for at in [COUNT_AT + 1, EACH_AT - 1, EACH_AT + 8, MESSAGE_LEN - 1] {
            assert_eq!(with(at, 7), invalid("reserved", 7), "byte {at}");
        }
        assert!(with(EACH_AT + 7, 7).is_ok());
    }

    #[test]
    fn a_shorter_message_is_refused() {
        assert_truncated_below(MESSAGE_LEN, &bytes(message(14)), |bytes| {
            grants::Message::parse(bytes).map(|_| ())
        });
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(count in 0_u8..=14, each in any::<[u32; MOST]>(), sequence in any::<u32>()) {
            let mut message = message(count);
            message.head.sequence = sequence;
            for (bytes, value) in message.each.iter_mut().zip(each).take(count.into()) {
                *bytes = WireBytes(value.into());
            }
            prop_assert_eq!(grants::Message::parse(&bytes(message)), Ok(grants::Message::FarPort(message)));
        }
    }
}
