//! The message of BifrostX: the bytes that the far end of a link may send in the next slot ("Minimizing Buffer
//! Utilization for Lossless Inter-DC Links", section IV-E and algorithm 2). The paper gives no format;
//! `docs/bifrostx.md` shows the bytes of ours.

use serde::{Deserialize, Serialize};
use units::{Interval, Priority, PrioritySet, WireBytes};

use super::format::{FORMAT_AT, Format, VERSION, VERSION_AT};
use crate::bytes::{checked_head, put, u32_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = 48;
const FLAGS_AT: usize = 1;
const PRIORITIES_AT: usize = 2;
const SEQUENCE_AT: usize = 4;
const SLOT_AT: usize = 8;
const TOTAL_AT: usize = 12;
const EACH_AT: usize = HEAD_LEN;
/// Bytes before the grants of each.
pub(super) const HEAD_LEN: usize = 16;

const FOLLOWS: u8 = 0x80;

/// The limit of a message's receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Pauses alone: the sender does not hear its receiver, and grants nothing.
    Pauses,
    /// The grants of this message, for one slot.
    Grant,
    /// Nothing, until the next message.
    Free,
}

/// The beginning of all messages with the grants of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Head {
    /// The limit of its receiver from now on.
    pub kind: Kind,
    /// Whether its sender follows the grants of its receiver, in the other direction of the link.
    pub follows: bool,
    /// The priorities that grants limit.
    pub priorities: PrioritySet,
    /// One more than that of the message before, modulo 2^32.
    pub sequence: u32,
    /// T: the slot for which a grant is good; the field ends at 4.29 s.
    pub slot: Interval,
    /// c_max: bytes on the wire of all priorities together; the field ends at 4 GiB.
    pub total: WireBytes,
}

/// Reads the head of a message.
///
/// # Errors
/// Invalid if the flags are unknown.
pub(super) fn parse_head<const N: usize>(raw: &[u8; N]) -> Result<Head, ParseError> {
    let flags = raw[FLAGS_AT];
    let kind = match flags & !FOLLOWS {
        0 => Kind::Pauses,
        1 => Kind::Grant,
        2 => Kind::Free,
        _ => return Err(invalid(Protocol::Grants, "flags", flags.into())),
    };
    Ok(Head {
        kind,
        follows: flags & FOLLOWS != 0,
        priorities: PrioritySet::from_bits(raw[PRIORITIES_AT]),
        sequence: u32_at(raw, SEQUENCE_AT),
        slot: Interval(u32_at(raw, SLOT_AT).into()),
        total: WireBytes(u32_at(raw, TOTAL_AT).into()),
    })
}

impl Head {
    /// Writes the head of a message of `format`. Values beyond the end of their fields are cut to the largest that fits.
    pub(super) fn emit(&self, format: Format, out: &mut [u8]) {
        let kind = match self.kind {
            Kind::Pauses => 0,
            Kind::Grant => 1,
            Kind::Free => 2,
        };
        put(out, VERSION_AT, &[VERSION]);
        put(out, FLAGS_AT, &[kind | if self.follows { FOLLOWS } else { 0 }]);
        put(out, PRIORITIES_AT, &[self.priorities.bits()]);
        put(out, FORMAT_AT, &[format as u8]);
        put(out, SEQUENCE_AT, &self.sequence.to_be_bytes());
        for (at, amount) in [(SLOT_AT, self.slot.0), (TOTAL_AT, self.total.0)] {
            put(out, at, &u32::try_from(amount).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The beginning, with the limit of its receiver.
    pub head: Head,
    /// c_i: bytes on the wire of each priority.
    pub each: [WireBytes; Priority::COUNT],
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if the flags are unknown.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let bytes_at = |at| WireBytes(u32_at(raw, at).into());
        Ok(Self { head: parse_head(raw)?, each: core::array::from_fn(|index| bytes_at(EACH_AT + 4 * index)) })
    }

    /// Writes the message to `out`. Values beyond the end of their fields are cut to the largest that fits.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        self.head.emit(Format::Slot, out);
        for (bytes, field) in self.each.iter().zip(out[EACH_AT..].chunks_exact_mut(4)) {
            put(field, 0, &u32::try_from(bytes.0).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grants;
    use crate::testing::*;

    fn message() -> Message {
        let each = core::array::from_fn(|index| WireBytes(0x1000_0000 + index as u64));
        let head = Head {
            kind: Kind::Grant,
            follows: true,
            priorities: PrioritySet::from_bits(0b0001_1000),
            sequence: 0x0102_0304,
            slot: Interval(10_000),
            total: WireBytes(125_000),
        };
        Message { head, each }
    }

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    #[test]
    fn a_message_has_these_bytes() {
        let mut expected = vec![1, 0x81, 0x18, 0, 1, 2, 3, 4, 0, 0, 0x27, 0x10, 0, 1, 0xe8, 0x48];
        expected.extend((0..8).flat_map(|index| [0x10, 0, 0, index]));
        assert_eq!(bytes(message()).to_vec(), expected);
    }

    #[test]
    fn an_amount_beyond_its_field_is_cut_to_the_largest() {
        let with = |slot, total| {
            let head = Head { slot: Interval(slot), total: WireBytes(total), ..message().head };
            Message { head, ..message() }
        };
        let (long, cut) = (with(1 << 32, 1 << 40), with(0xffff_ffff, 0xffff_ffff));
        assert_eq!(Message::parse(&bytes(long)), Ok(cut));
    }

    #[test]
    fn unknown_flags_are_refused() {
        for flags in [3, 0x41] {
            let mut message = bytes(message());
            message[FLAGS_AT] = flags;
            let error =
                ParseError::Invalid { protocol: Protocol::Grants, field: "flags", value: flags.into() };
            assert_eq!(Message::parse(&message), Err(error));
        }
    }

    #[test]
    fn a_shorter_message_is_refused() {
        assert_truncated_below(MESSAGE_LEN, &bytes(message()), |bytes| {
            grants::Message::parse(bytes).map(|_| ())
        });
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in prop::sample::select(vec![Kind::Pauses, Kind::Grant, Kind::Free]),
            (follows, priorities, sequence) in any::<(bool, u8, u32)>(),
            (slot, total, each) in any::<(u32, u32, [u32; 8])>(),
        ) {
            let head = Head {
                kind,
                follows,
                priorities: PrioritySet::from_bits(priorities),
                sequence,
                slot: Interval(slot.into()),
                total: WireBytes(total.into()),
            };
            let message = Message { head, each: each.map(|bytes| WireBytes(bytes.into())) };
            prop_assert_eq!(Message::parse(&bytes(message)), Ok(message));
        }
    }
}
