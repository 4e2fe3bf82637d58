//! Grant frames: what the two ends of a link tell each other about the bytes that each may send, and that they live.
//!
//! One module for each format of a message. All have the local experimental EtherType 0x88B5 and an address that no
//! bridge forwards, so they stay on their link, and begin with the same four bytes.

use crate::bytes::room;
use crate::error::invalid;
use crate::ethernet::{self, EtherType, MacAddress};
use crate::{BufferTooSmall, ParseError, Protocol};
use format::{FORMAT_AT, Format, VERSION_AT};

pub mod behind;
pub mod credit;
pub mod far_port;
mod format;
pub mod hello;
pub mod repair;
mod seal;
pub mod session;
pub mod slot;

pub use format::VERSION;

/// The destination of each frame.
pub const DESTINATION: MacAddress = MacAddress::NEAREST_NON_TPMR_BRIDGE;
/// The EtherType of each frame.
pub const ETHER_TYPE: EtherType = EtherType::LOCAL_EXPERIMENTAL_1;
/// Whether `frame`, of which the Ethernet header is there, is a grant frame, valid or not.
#[inline]
pub fn is_frame(frame: &[u8]) -> bool {
    ethernet::View::parse(frame)
        .is_ok_and(|it| it.ether_type() == ETHER_TYPE && it.destination() == DESTINATION)
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// BifrostX.
    Slot(slot::Message),
    /// Credits.
    Credit(credit::Message),
    /// Grants for far ports.
    FarPort(far_port::Message),
    /// Destinations behind far ports.
    Behind(behind::Message),
    /// Hellos of a link.
    Hello(hello::Message),
    /// The session of two ends that are commissioned.
    Session(session::Message),
    /// Statuses of repair.
    Repair(repair::Message),
}

impl Message {
    /// Reads `bytes`, the payload of a frame. Padding may follow.
    ///
    /// # Errors
    /// Truncated, where the message is not all there. Invalid if its version, format or flags are unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        match bytes.get(VERSION_AT) {
            Some(&version) if version != VERSION => return refused("version", version),
            _ => {}
        }
        match bytes.get(FORMAT_AT) {
            Some(&format) if format == Format::Credit as u8 => {
                credit::Message::parse(bytes).map(Self::Credit)
            }
            Some(&format) if format == Format::FarPort as u8 => {
                far_port::Message::parse(bytes).map(Self::FarPort)
            }
            Some(&format) if format == Format::Behind as u8 => {
                behind::Message::parse(bytes).map(Self::Behind)
            }
            Some(&format) if format == Format::Hello as u8 => hello::Message::parse(bytes).map(Self::Hello),
            Some(&format) if format == Format::Session as u8 => {
                session::Message::parse(bytes).map(Self::Session)
            }
            Some(&format) if format == Format::Repair as u8 => {
                repair::Message::parse(bytes).map(Self::Repair)
            }
            Some(&format) if format != Format::Slot as u8 => refused("format", format),
            _ => slot::Message::parse(bytes).map(Self::Slot),
        }
    }

    /// Bytes of its frame.
    pub const fn frame_len(&self) -> usize {
        ethernet::HEADER_LEN
            + match self {
                Self::Slot(_) => slot::MESSAGE_LEN,
                Self::Credit(_) => credit::MESSAGE_LEN,
                Self::FarPort(_) => far_port::MESSAGE_LEN,
                Self::Behind(_) => behind::MESSAGE_LEN,
                Self::Hello(_) => hello::MESSAGE_LEN,
                Self::Session(_) => session::MESSAGE_LEN,
                Self::Repair(_) => repair::MESSAGE_LEN,
            }
    }

    /// Writes the message as a frame from `source`; returns [`Message::frame_len`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, source: MacAddress, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let length = self.frame_len();
        if out.len() < length {
            return Err(BufferTooSmall { needed: length, available: out.len() });
        }
        let header = ethernet::Header { destination: DESTINATION, source, ether_type: ETHER_TYPE };
        let start = header.emit(out)?;
        let message = &mut out[start..];
        match self {
            Self::Slot(slot) => slot.emit(room(message)?),
            Self::Credit(credit) => credit.emit(room(message)?),
            Self::FarPort(far_port) => far_port.emit(room(message)?),
            Self::Behind(behind) => behind.emit(room(message)?),
            Self::Hello(hello) => hello.emit(room(message)?),
            Self::Session(session) => session.emit(room(message)?),
            Self::Repair(repair) => repair.emit(room(message)?),
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    #[test]
    fn another_version_is_named_before_anything_else_and_then_another_format() {
        let refused = |field, value| Err(ParseError::Invalid { protocol: Protocol::Grants, field, value });
        assert_eq!(Message::parse(&[2]), refused("version", 2));
        assert_eq!(Message::parse(&[1, 0, 0, 7]), refused("format", 7));
    }

    #[test]
    fn a_frame_begins_with_its_addresses_and_type_and_needs_room_for_all_of_it() {
        let mut bytes = vec![VERSION];
        bytes.resize(slot::MESSAGE_LEN, 0);
        let message = Message::parse(&bytes).unwrap();
        let mut out = [0xff; 62];
        assert_eq!(message.emit(SOURCE, &mut out), Ok(62));
        assert_eq!(out[..14], [1, 0x80, 0xc2, 0, 0, 3, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
        assert!(is_frame(&out) && !is_frame(&out[..13]));
        for at in [0, 13] {
            let mut other = out;
            other[at] ^= 1;
            assert!(!is_frame(&other), "byte {at}");
        }
        let error = BufferTooSmall { needed: 62, available: 61 };
        assert_eq!(message.emit(SOURCE, &mut out[..61]), Err(error));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            mut raw in any_bytes(credit::MESSAGE_LEN + 4),
            head in proptest::option::of((any::<(u8, u8)>(), 0_u8..7)),
        ) {
            if let (Some(((flags, priorities), format)), Some(first)) = (head, raw.first_chunk_mut()) {
                *first = [VERSION, flags % 4, priorities, format];
            }
            if let Ok(message) = Message::parse(&raw) {
                let mut out = [0xff; 256];
                let length = message.emit(SOURCE, &mut out).unwrap();
                prop_assert_eq!(&out[14..length], &raw[..length - 14]);
            }
        }
    }
}
