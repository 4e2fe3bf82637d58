//! The grant frame of BifrostX: the bytes that the far end of a link may send in the next slot ("Minimizing Buffer
//! Utilization for Lossless Inter-DC Links", section IV-E and algorithm 2). The paper gives no frame format.
//! `docs/bifrostx.md` shows the bytes of ours. It has the local experimental EtherType 0x88B5 and an address that no
//! bridge forwards, so it stays on its link.

use units::{Interval, Priority, PrioritySet, WireBytes};

use crate::bytes::{checked_head, put, room, u32_at};
use crate::error::invalid;
use crate::ethernet::{self, EtherType, MacAddress};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = 48;
/// Bytes of a frame.
pub const FRAME_LEN: usize = ethernet::HEADER_LEN + MESSAGE_LEN;
/// The destination of each frame.
pub const DESTINATION: MacAddress = MacAddress::NEAREST_NON_TPMR_BRIDGE;
/// The EtherType of each frame.
pub const ETHER_TYPE: EtherType = EtherType::LOCAL_EXPERIMENTAL_1;
/// The supported version.
pub const VERSION: u8 = 1;

const VERSION_AT: usize = 0;
const FLAGS_AT: usize = 1;
const PRIORITIES_AT: usize = 2;
const ZERO_AT: usize = 3;
const SEQUENCE_AT: usize = 4;
const SLOT_AT: usize = 8;
const TOTAL_AT: usize = 12;
const EACH_AT: usize = 16;

const FOLLOWS: u8 = 0x80;

/// What limits the receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Pauses alone: the sender does not hear its receiver, and grants nothing.
    Pauses,
    /// The grants of this message, for one slot.
    Grant,
    /// Nothing, until the next message.
    Free,
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// What limits its receiver from now on.
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
    /// c_i: bytes on the wire of each priority.
    pub each: [WireBytes; Priority::COUNT],
}

impl Message {
    /// Reads `bytes`, the payload of a frame. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes. Invalid if the version or the flags are unknown, or the byte that must
    /// be zero is not.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        if let Some(&version) = bytes.first().filter(|version| **version != VERSION) {
            return refused("version", version);
        }
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let flags = raw[FLAGS_AT];
        let kind = match flags & !FOLLOWS {
            0 => Kind::Pauses,
            1 => Kind::Grant,
            2 => Kind::Free,
            _ => return refused("flags", flags),
        };
        if raw[ZERO_AT] != 0 {
            return refused("reserved", raw[ZERO_AT]);
        }
        let bytes_at = |at| WireBytes(u32_at(raw, at).into());
        Ok(Self {
            kind,
            follows: flags & FOLLOWS != 0,
            priorities: PrioritySet::from_bits(raw[PRIORITIES_AT]),
            sequence: u32_at(raw, SEQUENCE_AT),
            slot: Interval(u32_at(raw, SLOT_AT).into()),
            total: bytes_at(TOTAL_AT),
            each: core::array::from_fn(|index| bytes_at(EACH_AT + 4 * index)),
        })
    }

    /// Writes the message as a frame from `source`; returns [`FRAME_LEN`]. Values beyond the end of their fields are
    /// cut to the largest that fits.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, source: MacAddress, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<FRAME_LEN>(out)?;
        ethernet::Header { destination: DESTINATION, source, ether_type: ETHER_TYPE }.emit(out)?;
        let kind = match self.kind {
            Kind::Pauses => 0,
            Kind::Grant => 1,
            Kind::Free => 2,
        };
        let message = &mut out[ethernet::HEADER_LEN..];
        message[VERSION_AT] = VERSION;
        message[FLAGS_AT] = kind | if self.follows { FOLLOWS } else { 0 };
        message[PRIORITIES_AT] = self.priorities.bits();
        message[ZERO_AT] = 0;
        put(message, SEQUENCE_AT, &self.sequence.to_be_bytes());
        let amounts = [self.slot.0, self.total.0].into_iter().chain(self.each.map(|bytes| bytes.0));
        for (amount, field) in amounts.zip(message[SLOT_AT..].chunks_exact_mut(4)) {
            put(field, 0, &u32::try_from(amount).unwrap_or(u32::MAX).to_be_bytes());
        }
        Ok(FRAME_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    fn message() -> Message {
        let each = core::array::from_fn(|index| WireBytes(0x1000_0000 + index as u64));
        Message {
            kind: Kind::Grant,
            follows: true,
            priorities: PrioritySet::from_bits(0b0001_1000),
            sequence: 0x0102_0304,
            slot: Interval(10_000),
            total: WireBytes(125_000),
            each,
        }
    }

    fn bytes(message: Message) -> [u8; FRAME_LEN] {
        let mut out = [0xff; FRAME_LEN];
        assert_eq!(message.emit(SOURCE, &mut out), Ok(FRAME_LEN));
        out
    }

    #[test]
    fn a_frame_has_these_bytes() {
        let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 3, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
        expected.extend([1, 0x81, 0x18, 0, 1, 2, 3, 4, 0, 0, 0x27, 0x10, 0, 1, 0xe8, 0x48]);
        expected.extend((0..8).flat_map(|index| [0x10, 0, 0, index]));
        assert_eq!(bytes(message()).to_vec(), expected);
    }

    #[test]
    fn an_amount_beyond_its_field_is_cut_to_the_largest() {
        let long = Message { slot: Interval(1 << 32), total: WireBytes(1 << 40), ..message() };
        let cut = Message { slot: Interval(0xffff_ffff), total: WireBytes(0xffff_ffff), ..message() };
        assert_eq!(Message::parse(&bytes(long)[14..]), Ok(cut));
    }

    #[test]
    fn another_version_is_named_before_anything_else() {
        let error = ParseError::Invalid { protocol: Protocol::Grants, field: "version", value: 2 };
        assert_eq!(Message::parse(&[2]), Err(error));
    }

    #[test]
    fn unknown_flags_and_a_reserved_byte_are_refused() {
        for (at, value, field) in [(1, 3, "flags"), (1, 0x41, "flags"), (3, 1, "reserved")] {
            let mut message = bytes(message())[14..].to_vec();
            message[at] = value;
            let error = ParseError::Invalid { protocol: Protocol::Grants, field, value: value.into() };
            assert_eq!(Message::parse(&message), Err(error), "{field}");
        }
    }

    #[test]
    fn a_shorter_message_and_a_smaller_buffer_are_refused() {
        assert_truncated_below(MESSAGE_LEN, &bytes(message())[14..], |bytes| {
            Message::parse(bytes).map(|_| ())
        });
        let error = BufferTooSmall { needed: FRAME_LEN, available: FRAME_LEN - 1 };
        assert_eq!(message().emit(SOURCE, &mut [0; FRAME_LEN - 1]), Err(error));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in prop::sample::select(vec![Kind::Pauses, Kind::Grant, Kind::Free]),
            (follows, priorities, sequence) in any::<(bool, u8, u32)>(),
            (slot, total, each) in any::<(u32, u32, [u32; 8])>(),
        ) {
            let message = Message {
                kind,
                follows,
                priorities: PrioritySet::from_bits(priorities),
                sequence,
                slot: Interval(slot.into()),
                total: WireBytes(total.into()),
                each: each.map(|bytes| WireBytes(bytes.into())),
            };
            prop_assert_eq!(Message::parse(&bytes(message)[14..]), Ok(message));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut raw in any_bytes(MESSAGE_LEN + 4), version: bool) {
            if let Some(first) = raw.first_mut().filter(|_| version) {
                *first = VERSION;
            }
            if let Ok(message) = Message::parse(&raw) {
                prop_assert_eq!(&bytes(message)[14..], &raw[..MESSAGE_LEN]);
            }
        }
    }
}
