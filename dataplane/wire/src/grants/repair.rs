//! The status of repair: what one end of a link has sent and kept, and what has arrived there.
//! `docs/repair.md` shows its bytes and tells what the other end makes of them.

use serde::{Deserialize, Serialize};
use units::PrioritySet;

use super::format::{Format, VERSION, VERSION_AT};
use super::seal::sealed;
use crate::bytes::{array, checked_head, put, u32_at, u64_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = TAG_AT + 8;
/// The most gaps of a message.
pub const GAPS: usize = 7;

const PRIORITIES_AT: usize = 2;
const NUMBER_AT: usize = 4;
const SESSION_AT: usize = 8;
const ECHO_AT: usize = 12;
const HEARD_AT: usize = 16;
const NEXT_AT: usize = 20;
const NEXT_COPY_AT: usize = 24;
const BYTES_AT: usize = 28;
const FIRST_AT: usize = 36;
const BASE_AT: usize = 40;
const NEW_AT: usize = 44;
const COPIES_AT: usize = 52;
const COUNT_AT: usize = 60;
const KINDS_AT: usize = 61;
const GAPS_AT: usize = 62;
const GAP_LEN: usize = 6;
const TAG_AT: usize = GAPS_AT + GAPS * GAP_LEN;

/// Numbers from one up to, and without, another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first.
    pub from: u32,
    /// One above the last.
    pub until: u32,
}

/// Successive numbers that have not arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gap {
    /// Whether they are numbers of frames that were sent again.
    pub is_of_copies: bool,
    /// The first number.
    pub start: u32,
    /// How many there are, from 1.
    pub length: u16,
}

/// The gaps of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gaps {
    count: u8,
    gaps: [Gap; GAPS],
}

impl Gaps {
    /// Adds a gap, if it has a length and there is room. Returns whether it did.
    pub fn push(&mut self, gap: Gap) -> bool {
        let place = self.gaps.get_mut(usize::from(self.count)).filter(|_| gap.length > 0);
        let fits = place.is_some();
        if let Some(place) = place {
            *place = gap;
            self.count += 1;
        }
        fits
    }

    /// The gaps, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Gap> + '_ {
        self.gaps.iter().take(self.count.into()).copied()
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The priorities whose frames its sender repairs.
    pub priorities: PrioritySet,
    /// One more for each message.
    pub number: u32,
    /// The session of its sender.
    pub session: u32,
    /// The session of the other end, as far as its sender knows; or 0.
    pub echo: u32,
    /// The number of the last message that its sender has heard.
    pub heard: u32,
    /// The number of the next new frame.
    pub next: u32,
    /// The number of the next frame that is sent again.
    pub next_copy: u32,
    /// Bytes on the wire of all new frames so far.
    pub bytes: u64,
    /// The lowest number of a frame that its sender still keeps, or [`Message::next`].
    pub first: u32,
    /// All frames before it have arrived.
    pub base: u32,
    /// New frames of these numbers have arrived, but for the gaps.
    pub new: Span,
    /// Frames sent again of these numbers have arrived, but for the gaps.
    pub copies: Span,
    /// The gaps.
    pub gaps: Gaps,
    /// SipHash-2-4 over all that stands before it; or zero.
    pub tag: u64,
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow. The tag is not verified.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if bytes without a meaning are not zero, or a gap is empty.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        if raw[VERSION_AT + 1] != 0 {
            return refused("flags", raw[VERSION_AT + 1]);
        }
        let count = raw[COUNT_AT];
        if usize::from(count) > GAPS {
            return refused("gaps", count);
        }
        let mut gaps = Gaps::default();
        for index in 0..GAPS {
            let at = GAPS_AT + index * GAP_LEN;
            let is_of_copies = raw[KINDS_AT] >> index & 1 != 0;
            let (start, length) = (u32_at(raw, at), u16::from_be_bytes(array(raw, at + 4)));
            let gap = Gap { is_of_copies, start, length };
            let is_there = index < usize::from(count);
            if is_there != (length > 0) || (!is_there && gap != Gap::default()) {
                return refused("gap", index as u8);
            }
            gaps.push(gap);
        }
        if raw[KINDS_AT] >> GAPS != 0 {
            return refused("kinds", raw[KINDS_AT]);
        }
        let span = |at| Span { from: u32_at(raw, at), until: u32_at(raw, at + 4) };
        Ok(Self {
            priorities: PrioritySet::from_bits(raw[PRIORITIES_AT]),
            number: u32_at(raw, NUMBER_AT),
            session: u32_at(raw, SESSION_AT),
            echo: u32_at(raw, ECHO_AT),
            heard: u32_at(raw, HEARD_AT),
            next: u32_at(raw, NEXT_AT),
            next_copy: u32_at(raw, NEXT_COPY_AT),
            bytes: u64_at(raw, BYTES_AT),
            first: u32_at(raw, FIRST_AT),
            base: u32_at(raw, BASE_AT),
            new: span(NEW_AT),
            copies: span(COPIES_AT),
            gaps,
            tag: u64_at(raw, TAG_AT),
        })
    }

    /// Writes the message to `out`.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        put(out, VERSION_AT, &[VERSION, 0, self.priorities.bits(), Format::Repair as u8]);
        let words = [
            (NUMBER_AT, self.number),
            (SESSION_AT, self.session),
            (ECHO_AT, self.echo),
            (HEARD_AT, self.heard),
            (NEXT_AT, self.next),
            (NEXT_COPY_AT, self.next_copy),
            (FIRST_AT, self.first),
            (BASE_AT, self.base),
            (NEW_AT, self.new.from),
            (NEW_AT + 4, self.new.until),
            (COPIES_AT, self.copies.from),
            (COPIES_AT + 4, self.copies.until),
        ];
        for (at, word) in words {
            put(out, at, &word.to_be_bytes());
        }
        put(out, BYTES_AT, &self.bytes.to_be_bytes());
        let mut kinds = 0;
        for (index, gap) in self.gaps.gaps.iter().enumerate() {
            kinds |= u8::from(gap.is_of_copies) << index;
            put(out, GAPS_AT + index * GAP_LEN, &gap.start.to_be_bytes());
            put(out, GAPS_AT + index * GAP_LEN + 4, &gap.length.to_be_bytes());
        }
        put(out, COUNT_AT, &[self.gaps.count, kinds]);
        put(out, TAG_AT, &self.tag.to_be_bytes());
    }
}

sealed!(Message);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grants;
    use crate::rate_feedback::Key;
    use crate::testing::*;

    const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

    fn message() -> Message {
        let mut gaps = Gaps::default();
        assert!(gaps.push(Gap { is_of_copies: false, start: 0xd1d2_d3d4, length: 0xd5d6 }));
        assert!(gaps.push(Gap { is_of_copies: true, start: 0xe1e2_e3e4, length: 1 }));
        Message {
            priorities: PrioritySet::from_bits(8),
            number: 0x0102_0304,
            session: 0x1112_1314,
            echo: 0x2122_2324,
            heard: 0x3132_3334,
            next: 0x4142_4344,
            next_copy: 0x5152_5354,
            bytes: 0x6162_6364_6566_6768,
            first: 0x7172_7374,
            base: 0x8182_8384,
            new: Span { from: 0x9192_9394, until: 0xa1a2_a3a4 },
            copies: Span { from: 0xb1b2_b3b4, until: 0xc1c2_c3c4 },
            gaps,
            tag: 0,
        }
    }

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    /// The tag comes from a short independent program with its own SipHash.
    #[test]
    fn a_message_has_the_bytes_of_an_independent_encoder() {
        let untagged = concat!(
            "01000806",
            "01020304111213142122232431323334",
            "41424344515253546162636465666768",
            "7172737481828384",
            "91929394a1a2a3a4b1b2b3b4c1c2c3c4",
            "0202",
            "d1d2d3d4d5d6e1e2e3e40001",
            "000000000000000000000000000000000000000000000000000000000000",
        );
        assert_eq!(bytes(message().sealed(&KEY)).to_vec(), hex(&format!("{untagged}746476db583c055c")));
    }

    #[test]
    fn flags_kinds_and_gaps_without_a_meaning_are_refused() {
        let with = |at: usize, value| {
            let mut raw = bytes(message());
            raw[at] = value;
            grants::Message::parse(&raw)
        };
        let invalid = |field, value| Err(ParseError::Invalid { protocol: Protocol::Grants, field, value });
        assert_eq!(with(1, 1), invalid("flags", 1));
        assert_eq!(with(COUNT_AT, 8), invalid("gaps", 8));
        assert_eq!(with(COUNT_AT, 1), invalid("gap", 1), "a gap that is not counted");
        assert_eq!(with(COUNT_AT, 3), invalid("gap", 2), "an empty one that is");
        assert_eq!(with(KINDS_AT, 0x82), invalid("kinds", 0x82));
        assert_eq!(with(KINDS_AT, 0x06), invalid("gap", 2), "the kind of a gap that is not there");
    }

    #[test]
    fn a_shorter_message_is_refused_and_an_eighth_gap_has_no_room() {
        assert_eq!(MESSAGE_LEN, 112);
        assert_truncated_below(MESSAGE_LEN, &bytes(message()), |bytes| {
            grants::Message::parse(bytes).map(|_| ())
        });
        let mut gaps = Gaps::default();
        let gap = Gap { is_of_copies: false, start: 1, length: 1 };
        let pushed: Vec<bool> = (0..8).map(|_| gaps.push(gap)).collect();
        assert_eq!(pushed, [true, true, true, true, true, true, true, false]);
        assert!(!Gaps::default().push(Gap { length: 0, ..gap }), "nor has an empty one");
    }

    #[test]
    fn each_bit_of_a_message_changes_the_tag() {
        let sealed = bytes(message().sealed(&KEY));
        for bit in 0..8 * MESSAGE_LEN {
            let mut forged = sealed;
            forged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(grants::Message::Repair(forged)) = grants::Message::parse(&forged) {
                assert!(!forged.is_sealed_by(&KEY), "bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            words in any::<[u32; 12]>(),
            (total, tag, priorities) in any::<(u64, u64, u8)>(),
            listed in prop::collection::vec((any::<(bool, u32)>(), 1_u16..), 0..=GAPS),
        ) {
            let [number, session, echo, heard, next, next_copy, first, base, a, b, c, d] = words;
            let mut gaps = Gaps::default();
            for ((is_of_copies, start), length) in listed {
                let is_added = gaps.push(Gap { is_of_copies, start, length });
                prop_assert!(is_added);
            }
            let (new, copies) = (Span { from: a, until: b }, Span { from: c, until: d });
            let priorities = PrioritySet::from_bits(priorities);
            let message = Message {
                priorities,
                number,
                session,
                echo,
                heard,
                next,
                next_copy,
                bytes: total,
                first,
                base,
                new,
                copies,
                gaps,
                tag,
            };
            prop_assert_eq!(grants::Message::parse(&bytes(message)), Ok(grants::Message::Repair(message)));
            prop_assert!(message.sealed(&KEY).is_sealed_by(&KEY));
        }
    }
}
