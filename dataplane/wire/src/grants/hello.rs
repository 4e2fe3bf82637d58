//! The hello of a link that belongs to a bundle: a packet of BFD, and what else its two ends must know of each other.
//! `docs/liveness.md` shows its bytes.
//!
//! The key is that of [rate feedback](crate::rate_feedback). The tag covers 60 bytes, and what that protocol hashes has
//! another length, so no tag of one is a tag of the other.

use serde::{Deserialize, Serialize};

use super::format::{FORMAT_AT, Format, VERSION, VERSION_AT};
use super::seal::sealed;
use crate::bytes::{array, checked_head, put, room, u64_at};
use crate::error::invalid;
use crate::ethernet::MacAddress;
use crate::{ParseError, Protocol, bfd};

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = TAG_AT + 8;
const BFD_AT: usize = 4;
const CHASSIS_AT: usize = BFD_AT + bfd::LEN;
const BUNDLE_AT: usize = 34;
const MEMBER_AT: usize = 35;
const NUMBER_AT: usize = 36;
const SENT_AT: usize = 44;
const RECEIVED_AT: usize = 52;
const TAG_AT: usize = 60;

/// The end of a link. Two hellos with different ones through one port tell of a crossed cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// An address that its gateway alone has.
    pub chassis: MacAddress,
    /// The number of the bundle at its gateway.
    pub bundle: u8,
    /// The number of the link in that bundle.
    pub member: u8,
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The state of the session.
    pub bfd: bfd::Packet,
    /// The end that sends it.
    pub place: Place,
    /// It rises with each message of its sender, across restarts, too.
    pub number: u64,
    /// All data frames that its sender has sent through the link.
    pub sent: u64,
    /// All data frames that its sender has received through the link.
    pub received: u64,
    /// SipHash-2-4 over all that stands before it.
    pub tag: u64,
}

impl Message {
    /// Reads `bytes`, whose version and format are known. Padding may follow. The tag is not verified.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if bytes without a meaning are not zero, or the chassis is not
    /// the address of a station. Those of [`bfd::Packet::parse`].
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        if let Some(&byte) = raw[VERSION_AT + 1..FORMAT_AT].iter().find(|byte| **byte != 0) {
            return refused("reserved", byte);
        }
        let chassis = MacAddress(array(raw, CHASSIS_AT));
        if !chassis.is_unicast() {
            return refused("chassis", raw[CHASSIS_AT]);
        }
        Ok(Self {
            bfd: bfd::Packet::parse(&raw[BFD_AT..])?,
            place: Place { chassis, bundle: raw[BUNDLE_AT], member: raw[MEMBER_AT] },
            number: u64_at(raw, NUMBER_AT),
            sent: u64_at(raw, SENT_AT),
            received: u64_at(raw, RECEIVED_AT),
            tag: u64_at(raw, TAG_AT),
        })
    }

    /// Writes the message to `out`.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        put(out, VERSION_AT, &[VERSION, 0, 0, Format::Hello as u8]);
        if let Ok(packet) = room(&mut out[BFD_AT..]) {
            self.bfd.emit(packet);
        }
        let Place { chassis, bundle, member } = self.place;
        put(out, CHASSIS_AT, &chassis.0);
        put(out, BUNDLE_AT, &[bundle, member]);
        let fields = [
            (NUMBER_AT, self.number),
            (SENT_AT, self.sent),
            (RECEIVED_AT, self.received),
            (TAG_AT, self.tag),
        ];
        for (at, value) in fields {
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
    use units::Interval;

    const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

    const MESSAGE: Message = Message {
        bfd: bfd::Packet {
            state: bfd::State::Up,
            diagnostic: bfd::Diagnostic::NONE,
            polls: false,
            finishes: true,
            is_independent: true,
            multiplier: 3,
            mine: 0x0102_0304,
            yours: 0x1112_1314,
            desired_tx: Interval::from_micros(3_300),
            required_rx: Interval::from_micros(3_300),
            required_echo_rx: Interval::ZERO,
        },
        place: Place { chassis: MacAddress([2, 0, 0, 0, 0, 0x0a]), bundle: 7, member: 1 },
        number: 0x2122_2324_2526_2728,
        sent: 0x3132_3334_3536_3738,
        received: 0x4142_4344_4546_4748,
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
            "01000004",
            "20d80318010203041112131400000ce400000ce400000000",
            "02000000000a0701",
            "212223242526272831323334353637384142434445464748",
        );
        assert_eq!(bytes(MESSAGE.sealed(&KEY)).to_vec(), hex(&format!("{untagged}f5bf7523f6fb1c45")));
    }

    #[test]
    fn bytes_without_meaning_and_a_chassis_that_is_no_station_are_refused() {
        let with = |at: usize, value| {
            let mut raw = bytes(MESSAGE);
            raw[at] = value;
            grants::Message::parse(&raw)
        };
        let invalid = |field, value| Err(ParseError::Invalid { protocol: Protocol::Grants, field, value });
        assert_eq!(with(1, 7), invalid("reserved", 7));
        assert_eq!(with(2, 7), invalid("reserved", 7));
        assert_eq!(with(CHASSIS_AT, 3), invalid("chassis", 3));
        let nobody = Message { place: Place { chassis: MacAddress::ZERO, ..MESSAGE.place }, ..MESSAGE };
        assert_eq!(grants::Message::parse(&bytes(nobody)), invalid("chassis", 0));
    }

    #[test]
    fn a_malformed_packet_of_bfd_is_refused_as_one() {
        for (at, value) in [(0, 0x40), (1, 0xc4), (2, 0), (3, 25)] {
            let mut raw = bytes(MESSAGE);
            raw[BFD_AT + at] = value;
            let refusal = grants::Message::parse(&raw);
            assert!(matches!(refusal, Err(ParseError::Invalid { protocol: Protocol::Bfd, .. })), "byte {at}");
        }
    }

    #[test]
    fn a_shorter_message_is_refused() {
        assert_eq!(MESSAGE_LEN, 68);
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
            if let Ok(grants::Message::Hello(forged)) = grants::Message::parse(&forged) {
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
            (number, sent, received, tag) in any::<(u64, u64, u64, u64)>(),
            (bundle, member, multiplier, micros) in (any::<u8>(), any::<u8>(), 1_u8.., any::<[u32; 3]>()),
            (mine, yours) in (1_u32.., 1_u32..),
            state in prop::sample::select(vec![
                bfd::State::AdminDown, bfd::State::Down, bfd::State::Init, bfd::State::Up,
            ]),
        ) {
            let [desired_tx, required_rx, required_echo_rx] = micros.map(|it| Interval::from_micros(it.into()));
            let bfd = bfd::Packet {
                state, multiplier, mine, yours, desired_tx, required_rx, required_echo_rx, ..MESSAGE.bfd
            };
            let place = Place { bundle, member, ..MESSAGE.place };
            let message = Message { bfd, place, number, sent, received, tag };
            prop_assert_eq!(grants::Message::parse(&bytes(message)), Ok(grants::Message::Hello(message)));
            prop_assert!(message.sealed(&KEY).is_sealed_by(&KEY));
        }
    }
}
