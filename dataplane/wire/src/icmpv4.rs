//! ICMP for IPv4: RFC 792. Only echo, which the gateway answers.

use crate::bytes::{checked_head, head, put, u16_at};
use crate::checksum::{self, Sum};
use crate::{ParseError, Protocol};

/// Bytes of the header of an echo message, and of most others.
pub const HEADER_LEN: usize = 8;

const CHECKSUM: usize = 2;

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type(pub u8);

impl Type {
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(0);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(8);
    /// Experimental (RFC 4727 section 4): a [rate feedback message](crate::rate_feedback).
    pub const EXPERIMENT_1: Self = Self(253);
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IPv4 packet other than a later fragment, without padding. The
    /// checksum is not verified.
    ///
    /// # Errors
    /// Truncated below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        checked_head::<HEADER_LEN>(Protocol::Icmpv4, bytes.as_ref())?;
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// The message type.
    #[inline]
    pub fn message_type(&self) -> Type {
        Type(self.raw()[0])
    }

    /// The code within the type.
    #[inline]
    pub fn code(&self) -> u8 {
        self.raw()[1]
    }

    /// The checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.raw(), CHECKSUM)
    }

    /// Whether the checksum over the whole message is valid.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        Sum::ZERO.bytes(self.0.as_ref()).folded() == 0xffff
    }

    /// Whether it is an echo request.
    #[inline]
    pub fn is_echo_request(&self) -> bool {
        self.message_type() == Type::ECHO_REQUEST && self.code() == 0
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Turns an echo request into its reply and updates the checksum (RFC 1624). Data, identifier and
    /// sequence number stay. Returns whether the message was a request; any other is left unchanged. The
    /// caller adjusts the addresses and TTL of the lower layers.
    #[inline]
    pub fn turn_request_into_reply(&mut self) -> bool {
        let is_request = self.is_echo_request();
        if is_request {
            let word = |message_type: Type| u16::from_be_bytes([message_type.0, 0]);
            let checksum =
                checksum::updated(self.checksum(), word(Type::ECHO_REQUEST), word(Type::ECHO_REPLY));
            put(self.0.as_mut(), 0, &[Type::ECHO_REPLY.0]);
            put(self.0.as_mut(), CHECKSUM, &checksum.to_be_bytes());
            // RFC 1624 does not cover a message of zeros only: the update gives zero, but its checksum is
            // 0xffff.
            if self.0.as_ref().iter().all(|byte| *byte == 0) {
                put(self.0.as_mut(), CHECKSUM, &[0xff, 0xff]);
            }
        }
        is_request
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn a_reply_of_nothing_but_zeros_has_the_checksum_that_verifies() {
        let mut echo = [8, 0, 0xf7, 0xff, 0, 0, 0, 0];
        assert!(View::parse(&mut echo[..]).unwrap().turn_request_into_reply());
        assert_eq!(echo, [0, 0, 0xff, 0xff, 0, 0, 0, 0]);
        assert!(View::parse(&echo[..]).unwrap().verify_checksum());
    }

    #[test]
    fn the_captured_request_becomes_the_captured_reply() {
        let messages: Vec<_> = frames(SOFT_ROCE)
            .iter()
            .filter(|frame| frame[12..14] == [8, 0] && frame[23] == 1)
            .map(|frame| frame[34..].to_vec())
            .collect();
        let [request, reply] = &messages[..] else { panic!("{} messages", messages.len()) };
        let mut view = View::parse(request.clone()).unwrap();
        assert!(view.verify_checksum() && view.turn_request_into_reply());
        assert_eq!(&view.0, reply);
        assert!(!view.turn_request_into_reply());
        assert_eq!(&view.0, reply);
    }

    #[test]
    fn a_message_says_its_code_and_whether_its_checksum_is_wrong() {
        let unreachable = [3, 13, 0xfc, 0xf2, 0, 0, 0, 0];
        let view = View::parse(&unreachable[..]).unwrap();
        assert_eq!((view.message_type(), view.code(), view.verify_checksum()), (Type(3), 13, true));
        assert!(!View::parse(&[3, 13, 0xfc, 0xf3, 0, 0, 0, 0][..]).unwrap().verify_checksum());
    }

    #[test]
    fn a_message_shorter_than_its_header_is_refused() {
        assert_truncated_below(HEADER_LEN, &[8; HEADER_LEN], |bytes| View::parse(bytes).map(|_| ()));
    }

    proptest! {
        #[test]
        fn the_reply_to_an_echo_is_that_of_etherparse(reply: bool, id: u16, seq: u16, data in any_bytes(60)) {
            let of = |kind: Icmpv4Type| [&Icmpv4Header::with_checksum(kind, &data).to_bytes()[..], &data].concat();
            let theirs = IcmpEchoHeader { id, seq };
            let answer = of(Icmpv4Type::EchoReply(theirs));
            let mut bytes = if reply { answer.clone() } else { of(Icmpv4Type::EchoRequest(theirs)) };
            let mut view = View::parse(&mut bytes[..]).unwrap();
            prop_assert!(view.verify_checksum());
            prop_assert_eq!(view.turn_request_into_reply(), !reply);
            prop_assert!(view.verify_checksum());
            // Zero and 0xffff are the same sum.
            prop_assert_eq!((&bytes[..2], &bytes[4..]), (&answer[..2], &answer[4..]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in any_bytes(30)) {
            if let Ok(mut view) = View::parse(&mut bytes[..]) {
                let _ = (view.verify_checksum(), view.turn_request_into_reply());
            }
        }
    }
}
