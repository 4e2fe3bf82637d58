//! The control packet of Bidirectional Forwarding Detection, without authentication (RFC 5880 section 4.1).

use serde::{Deserialize, Serialize};
use units::Interval;

use crate::bytes::{checked_head, put, u32_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// Bytes of a packet.
pub const LEN: usize = 24;

const VERSION: u8 = 1;
const MULTIPLIER_AT: usize = 2;
const LENGTH_AT: usize = 3;
const MINE_AT: usize = 4;
const YOURS_AT: usize = 8;
const DESIRED_TX_AT: usize = 12;
const REQUIRED_RX_AT: usize = 16;
const REQUIRED_ECHO_RX_AT: usize = 20;

const POLL: u8 = 0x20;
const FINAL: u8 = 0x10;
const INDEPENDENT: u8 = 0x08;
/// Authentication, demand mode, and the multipoint bit that must be zero.
const REFUSED: u8 = 0x07;

units::named! {
    /// The state of a session, by its number in the packet.
    #[derive(Default, Hash)]
    State [serde] {
        /// It is held down by an operator.
        AdminDown = "admin_down",
        /// It is down, or was just made.
        Down = "down" default,
        /// It hears the other end, which does not hear it yet.
        Init = "init",
        /// Both ends hear each other.
        Up = "up",
    }
}

/// The reason for the last change of the session's state, in five bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Diagnostic(u8);

impl Diagnostic {
    /// No diagnostic.
    pub const NONE: Self = Self(0);
    /// Control detection time expired.
    pub const DETECTION_EXPIRED: Self = Self(1);
    /// Neighbor signaled session down.
    pub const NEIGHBOR_DOWN: Self = Self(3);
    /// Path down.
    pub const PATH_DOWN: Self = Self(5);
    /// Administratively down.
    pub const ADMIN_DOWN: Self = Self(7);
}

/// A packet as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    /// The state of its sender.
    pub state: State,
    /// The reason for the last change of it.
    pub diagnostic: Diagnostic,
    /// Whether its sender asks for a packet that says `finishes` (P).
    pub polls: bool,
    /// Whether it answers a packet that says `polls` (F).
    pub finishes: bool,
    /// Whether its sender does not share fate with its control plane (C).
    pub is_independent: bool,
    /// Intervals without a packet after which the receiver takes the session to be down; never zero.
    pub multiplier: u8,
    /// The number that its sender has given the session; never zero.
    pub mine: u32,
    /// The number that its receiver has given the session; zero if its sender knows none.
    pub yours: u32,
    /// The least interval at which its sender would like to send; the field ends at 4,294 s.
    pub desired_tx: Interval,
    /// The least interval between packets that its sender can receive; the field ends at 4,294 s. Zero asks for none.
    pub required_rx: Interval,
    /// The same for echo packets; zero if its sender takes none.
    pub required_echo_rx: Interval,
}

impl Packet {
    /// Reads the first [`LEN`] of `bytes` (the checks of section 6.8.6).
    ///
    /// # Errors
    /// Truncated below that. Invalid if the version is unknown, the length differs, a bit asks for authentication,
    /// demand mode or several receivers, it asks and answers at once, multiplier or sender's number is zero, or it says
    /// init or up without its receiver's number.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<LEN>(Protocol::Bfd, bytes)?;
        let refused = |field, value: u8| Err(invalid(Protocol::Bfd, field, value.into()));
        let (flags, multiplier, length) = (raw[1] & 0x3f, raw[MULTIPLIER_AT], raw[LENGTH_AT]);
        let state = match raw[1] >> 6 {
            0 => State::AdminDown,
            1 => State::Down,
            2 => State::Init,
            _ => State::Up,
        };
        let (mine, yours) = (u32_at(raw, MINE_AT), u32_at(raw, YOURS_AT));
        match raw[0] >> 5 {
            VERSION => {}
            version => return refused("version", version),
        }
        if usize::from(length) != LEN {
            return refused("length", length);
        }
        if flags & REFUSED != 0 || flags & (POLL | FINAL) == POLL | FINAL {
            return refused("flags", flags);
        }
        if multiplier == 0 {
            return refused("detect multiplier", multiplier);
        }
        if mine == 0 {
            return refused("my discriminator", 0);
        }
        if yours == 0 && matches!(state, State::Init | State::Up) {
            return refused("your discriminator", 0);
        }
        let interval = |at| Interval::from_micros(u32_at(raw, at).into());
        Ok(Self {
            state,
            diagnostic: Diagnostic(raw[0] & 0x1f),
            polls: flags & POLL != 0,
            finishes: flags & FINAL != 0,
            is_independent: flags & INDEPENDENT != 0,
            multiplier,
            mine,
            yours,
            desired_tx: interval(DESIRED_TX_AT),
            required_rx: interval(REQUIRED_RX_AT),
            required_echo_rx: interval(REQUIRED_ECHO_RX_AT),
        })
    }

    /// Writes the packet to `out`. Intervals are rounded up to whole microseconds, and cut to the longest that fits.
    pub fn emit(&self, out: &mut [u8; LEN]) {
        let flag = |is_set: bool, bit| if is_set { bit } else { 0 };
        let flags =
            flag(self.polls, POLL) | flag(self.finishes, FINAL) | flag(self.is_independent, INDEPENDENT);
        let head =
            [VERSION << 5 | self.diagnostic.0, (self.state as u8) << 6 | flags, self.multiplier, LEN as u8];
        put(out, 0, &head);
        let micros = |it: Interval| u32::try_from(it.0.div_ceil(1_000)).unwrap_or(u32::MAX);
        let fields = [
            (MINE_AT, self.mine),
            (YOURS_AT, self.yours),
            (DESIRED_TX_AT, micros(self.desired_tx)),
            (REQUIRED_RX_AT, micros(self.required_rx)),
            (REQUIRED_ECHO_RX_AT, micros(self.required_echo_rx)),
        ];
        for (at, value) in fields {
            put(out, at, &value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    const PACKET: Packet = Packet {
        state: State::Up,
        diagnostic: Diagnostic::NEIGHBOR_DOWN,
        polls: true,
        finishes: false,
        is_independent: true,
        multiplier: 3,
        mine: 0x0102_0304,
        yours: 0x1112_1314,
        desired_tx: Interval::from_micros(3_300),
        required_rx: Interval::from_secs(1),
        required_echo_rx: Interval::ZERO,
    };

    fn bytes(packet: &Packet) -> [u8; LEN] {
        let mut out = [0xff; LEN];
        packet.emit(&mut out);
        out
    }

    /// tshark decodes the expected bytes as [`PACKET`].
    #[test]
    fn a_packet_has_the_bytes_of_section_4_1() {
        let expected = "23e80318010203041112131400000ce4000f424000000000";
        assert_eq!(bytes(&PACKET).to_vec(), hex(expected));
    }

    #[test]
    fn a_time_beyond_its_field_is_cut_and_a_part_of_a_microsecond_rounded_up() {
        let with = |desired_tx| Packet { desired_tx, ..PACKET };
        assert_eq!(bytes(&with(Interval(3_299_001))), bytes(&PACKET));
        let longest = with(Interval::from_micros(u32::MAX.into()));
        assert_eq!(Packet::parse(&bytes(&with(Interval(u64::MAX)))), Ok(longest));
    }

    #[test]
    fn what_section_6_8_6_discards_is_refused_by_name() {
        let with = |at: usize, value| {
            let mut raw = bytes(&PACKET);
            raw[at] = value;
            match Packet::parse(&raw) {
                Err(ParseError::Invalid { protocol: Protocol::Bfd, field, value }) => (field, value),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([0x03, 0x43, 0xe3].map(|head| with(0, head).1), [0, 2, 7]);
        assert_eq!(with(0, 0x03).0, "version");
        for flags in [0x04, 0x02, 0x01, POLL | FINAL] {
            assert_eq!(with(1, 0xc0 | flags), ("flags", flags.into()));
        }
        assert_eq!(with(MULTIPLIER_AT, 0), ("detect multiplier", 0));
        for length in [0_u8, 23, 25] {
            assert_eq!(with(LENGTH_AT, length), ("length", length.into()));
        }
    }

    #[test]
    fn a_session_without_a_number_is_refused_unless_it_is_down_and_lacks_the_receivers() {
        let parsed = |state, mine, yours| Packet::parse(&bytes(&Packet { state, mine, yours, ..PACKET }));
        let field = |it: Result<Packet, ParseError>| match it {
            Err(ParseError::Invalid { field, value: 0, .. }) => Some(field),
            _ => None,
        };
        for state in [State::AdminDown, State::Down, State::Init, State::Up] {
            assert_eq!(field(parsed(state, 0, 1)), Some("my discriminator"));
            let needs = matches!(state, State::Init | State::Up);
            assert_eq!(field(parsed(state, 1, 0)), needs.then_some("your discriminator"), "{state:?}");
        }
    }

    #[test]
    fn a_shorter_packet_is_refused() {
        assert_truncated_below(LEN, &bytes(&PACKET), Packet::parse);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_written_again_or_refused(mut raw: [u8; LEN], is_near: bool) {
            if is_near {
                (raw[0], raw[LENGTH_AT]) = (raw[0] & 0x1f | 0x20, LEN as u8);
                raw[1] &= !(REFUSED | FINAL);
            }
            if let Ok(packet) = Packet::parse(&raw) {
                prop_assert_eq!(bytes(&packet), raw);
            }
        }
    }
}
