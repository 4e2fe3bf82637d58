//! UDP: RFC 768; over IPv6, RFC 8200 section 8.1.

use crate::bytes::{checked_head, head, put, room, u16_at};
use crate::error::{invalid, truncated};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;

const SOURCE_PORT: usize = 0;
const DESTINATION_PORT: usize = 2;
const LENGTH: usize = 4;
const CHECKSUM: usize = 6;

/// A checked view of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IP packet. The checksum is not verified.
    ///
    /// # Errors
    /// Truncated, where the header or the length reaches past the bytes; invalid, where the length
    /// is less than the header's.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let length_on_wire = bytes.as_ref().len();
        Self::parse_head(bytes, length_on_wire)
    }

    /// Like [`View::parse`], but `bytes` need only hold the header: the length is checked against
    /// `length_on_wire`, in bytes from the start of the header.
    ///
    /// # Errors
    /// As [`View::parse`].
    #[inline]
    pub fn parse_head(bytes: T, length_on_wire: usize) -> Result<Self, ParseError> {
        let header = checked_head::<HEADER_LEN>(Protocol::Udp, bytes.as_ref())?;
        let length = u16_at(header, LENGTH);
        if usize::from(length) < HEADER_LEN {
            return Err(invalid(Protocol::Udp, "length", u32::from(length)));
        }
        if usize::from(length) > length_on_wire {
            return Err(truncated(Protocol::Udp, usize::from(length), length_on_wire));
        }
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// The sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16_at(self.raw(), SOURCE_PORT)
    }

    /// The receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        u16_at(self.raw(), DESTINATION_PORT)
    }

    /// Length of header and payload, in bytes.
    #[inline]
    pub fn length(&self) -> usize {
        usize::from(u16_at(self.raw(), LENGTH))
    }

    /// The checksum field; 0 means none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.raw(), CHECKSUM)
    }

    /// The payload that the length gives, as far as `bytes` hold it.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        bytes.get(HEADER_LEN..self.length().min(bytes.len())).unwrap_or_default()
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            length: u16_at(self.raw(), LENGTH),
            checksum: self.checksum(),
        }
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the bytes.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(HEADER_LEN..self.length().min(self.0.len())).unwrap_or_default()
    }
}

/// The header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Length of header and payload, in bytes.
    pub length: u16,
    /// The checksum, 0 for none.
    pub checksum: u16,
}

impl Header {
    /// Writes the header; returns [`HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<HEADER_LEN>(out)?;
        put(out, SOURCE_PORT, &self.source_port.to_be_bytes());
        put(out, DESTINATION_PORT, &self.destination_port.to_be_bytes());
        put(out, LENGTH, &self.length.to_be_bytes());
        put(out, CHECKSUM, &self.checksum.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn a_datagram_cut_off_anywhere_is_refused() {
        let bytes = hex("c1a212b7000a0000ffff");
        assert_truncated_below(10, &bytes, |bytes| View::parse(bytes).map(|_| ()));
    }

    #[test]
    fn a_length_below_that_of_the_header_is_refused() {
        for length in 0..8u8 {
            let error =
                ParseError::Invalid { protocol: Protocol::Udp, field: "length", value: length.into() };
            assert_eq!(View::parse([0, 1, 0, 2, 0, length, 0, 0]).map(|_| ()), Err(error));
        }
    }

    #[test]
    fn a_lone_header_has_its_length_checked_against_the_wire() {
        let bytes = hex("c1a212b7000a0000ff");
        assert_eq!(View::parse_head(&bytes[..], 10).unwrap().payload(), [0xff]);
        assert!(View::parse_head(&bytes[..], 9).is_err());
    }

    proptest! {
        #[test]
        fn the_header_is_that_of_etherparse(
            source_port: u16, destination_port: u16, payload in any_bytes(50), checksum: u16,
        ) {
            let length = (HEADER_LEN + payload.len()) as u16;
            let header = Header { source_port, destination_port, length, checksum };
            let mut bytes = vec![0; HEADER_LEN];
            prop_assert_eq!(header.emit(&mut bytes), Ok(HEADER_LEN));
            bytes.extend(&payload);
            let (theirs, _) = etherparse::UdpHeader::from_slice(&bytes).unwrap();
            prop_assert_eq!(&theirs.to_bytes(), &bytes[..HEADER_LEN]);
            let view = View::parse(&bytes[..]).unwrap();
            prop_assert_eq!((view.header(), view.payload()), (header, &payload[..]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any_bytes(40)) {
            if let Ok(view) = View::parse(&bytes[..]) {
                prop_assert_eq!(view.payload().len() + HEADER_LEN, view.length());
                prop_assert_eq!(view.payload(), view.into_payload());
            }
        }
    }
}
