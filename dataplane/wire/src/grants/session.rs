//! What the two ends of a link tell each other while they are commissioned. `docs/commission.md` shows its bytes.
//!
//! The key is that of [rate feedback](crate::rate_feedback). The tag covers 96 bytes, a length that no other protocol
//! with that key hashes, so no tag of one is a tag of another.

use super::format::{FORMAT_AT, Format, VERSION, VERSION_AT};
use super::seal::sealed;
use crate::bytes::{checked_head, put, u64_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// Figures of a message.
pub const FIGURES: usize = 8;
/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = TAG_AT + 8;
const MINE_AT: usize = 4;
const YOURS_AT: usize = 12;
const NUMBER_AT: usize = 20;
const STEP_AT: usize = 28;
const PHASE_AT: usize = 29;
const PADDING_AT: usize = 30;
const FIGURES_AT: usize = 32;
const TAG_AT: usize = FIGURES_AT + 8 * FIGURES;

/// A message as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Message {
    /// The number that its sender drew for this session.
    pub mine: u64,
    /// The number of the other end; zero while that is unknown.
    pub yours: u64,
    /// It rises with each message of the session.
    pub number: u64,
    /// The step that its sender is in.
    pub step: u8,
    /// How far it has come in the step.
    pub phase: u8,
    /// What it has counted.
    pub figures: [u64; FIGURES],
    /// SipHash-2-4 over all that stands before it.
    pub tag: u64,
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow. The tag is not verified.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if bytes without a meaning are not zero.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let reserved = raw[VERSION_AT + 1..FORMAT_AT].iter().chain(&raw[PADDING_AT..FIGURES_AT]);
        if let Some(&byte) = reserved.into_iter().find(|byte| **byte != 0) {
            return Err(invalid(Protocol::Grants, "reserved", byte.into()));
        }
        Ok(Self {
            mine: u64_at(raw, MINE_AT),
            yours: u64_at(raw, YOURS_AT),
            number: u64_at(raw, NUMBER_AT),
            step: raw[STEP_AT],
            phase: raw[PHASE_AT],
            figures: core::array::from_fn(|place| u64_at(raw, FIGURES_AT + 8 * place)),
            tag: u64_at(raw, TAG_AT),
        })
    }

    /// Writes the message to `out`.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        *out = [0; MESSAGE_LEN];
        put(out, VERSION_AT, &[VERSION, 0, 0, Format::Session as u8]);
        put(out, STEP_AT, &[self.step, self.phase]);
        let fields =
            [(MINE_AT, self.mine), (YOURS_AT, self.yours), (NUMBER_AT, self.number), (TAG_AT, self.tag)];
        let figures =
            self.figures.iter().enumerate().map(|(place, figure)| (FIGURES_AT + 8 * place, *figure));
        for (at, value) in fields.into_iter().chain(figures) {
            put(out, at, &value.to_be_bytes());
        }
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

    const MESSAGE: Message = Message {
        mine: 0x0102_0304_0506_0708,
        yours: 0x1112_1314_1516_1718,
        number: 0x2122_2324_2526_2728,
        step: 3,
        phase: 2,
        figures: [1, 2, 3, 4, 5, 6, 7, 0x3132_3334_3536_3738],
        tag: 0,
    };

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    /// The tag comes from a short independent program with its own SipHash.
    #[test]
    fn a_message_has_the_bytes_of_an_independent_encoder() {
        let untagged = concat!(
            "01000005",
            "0102030405060708",
            "1112131415161718",
            "2122232425262728",
            "03020000",
            "00000000000000010000000000000002000000000000000300000000000000040000000000000005",
            "000000000000000600000000000000073132333435363738",
        );
        assert_eq!(bytes(MESSAGE.sealed(&KEY)).to_vec(), hex(&format!("{untagged}2c60c1dfef326686")));
    }

    #[test]
    fn bytes_without_meaning_are_refused() {
        for at in [1, 2, 30, 31] {
            let mut raw = bytes(MESSAGE);
            raw[at] = 7;
            let invalid = ParseError::Invalid { protocol: Protocol::Grants, field: "reserved", value: 7 };
            assert_eq!(grants::Message::parse(&raw), Err(invalid), "byte {at}");
        }
    }

    #[test]
    fn a_shorter_message_is_refused() {
        assert_eq!(MESSAGE_LEN, 104);
        assert_truncated_below(MESSAGE_LEN, &bytes(MESSAGE), |bytes| {
            grants::Message::parse(bytes).map(|_| ())
        });
    }

    #[test]
    fn each_bit_of_a_message_and_of_the_key_changes_the_tag() {
        let message = MESSAGE.sealed(&KEY);
        assert!(message.is_sealed_by(&KEY));
        let sealed = bytes(message);
        for bit in 0..8 * MESSAGE_LEN {
            let mut forged = sealed;
            forged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(grants::Message::Session(forged)) = grants::Message::parse(&forged) {
                assert!(!forged.is_sealed_by(&KEY), "bit {bit}");
            }
        }
        for bit in 0..128 {
            let mut other = KEY;
            other.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!message.is_sealed_by(&other), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (mine, yours, number, tag) in any::<(u64, u64, u64, u64)>(),
            (step, phase, figures) in any::<(u8, u8, [u64; FIGURES])>(),
        ) {
            let message = Message { mine, yours, number, step, phase, figures, tag };
            prop_assert_eq!(grants::Message::parse(&bytes(message)), Ok(grants::Message::Session(message)));
            prop_assert!(message.sealed(&KEY).is_sealed_by(&KEY));
        }
    }
}
