//! The TLVs of an LLDPDU.

use crate::error::{invalid, truncated};
use crate::{ParseError, Protocol};

/// The most bytes of an LLDPDU: those of a basic frame (IEEE 802.3 clause 3.2.7).
pub const LONGEST_LLDPDU: usize = 1_500;
/// Bytes of type and length.
const HEADER_LEN: usize = 2;
/// The most bytes of a value.
const LONGEST_VALUE: usize = 511;

/// Type of the End Of LLDPDU.
const END: u8 = 0;
/// Type of the chassis ID.
pub(super) const CHASSIS: u8 = 1;
/// Type of the port ID.
pub(super) const PORT: u8 = 2;
/// Type of the time to live.
pub(super) const TTL: u8 = 3;
/// Type of the system name.
pub(super) const SYSTEM_NAME: u8 = 5;
/// Type of the management address.
pub(super) const MANAGEMENT: u8 = 8;
/// Type of what an organization defines.
pub(super) const ORGANIZATION: u8 = 127;

/// One TLV (clause 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Its type, 7 bits.
    pub kind: u8,
    /// Its value, 511 bytes at most.
    pub value: &'a [u8],
}

/// Walks over the TLVs of an LLDPDU up to its end, which the End Of LLDPDU or the last byte marks. An error is the last item.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    all: usize,
    rest: &'a [u8],
}

impl<'a> Tlvs<'a> {
    /// The TLVs in `bytes`, the payload of EtherType 0x88CC. Padding may follow.
    ///
    /// # Errors
    /// Invalid if there are more than [`LONGEST_LLDPDU`] bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        match bytes.len() {
            ..=LONGEST_LLDPDU => Ok(Self { all: bytes.len(), rest: bytes }),
            longer => Err(invalid(Protocol::Lldp, "length", longer as u32)),
        }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = match self.rest.split_first_chunk::<HEADER_LEN>() {
            Some(split) => split,
            None if self.rest.is_empty() => return None,
            None => {
                self.rest = &[];
                return Some(Err(truncated(Protocol::Lldp, self.all + 1, self.all)));
            }
        };
        let header = u16::from_be_bytes(*header);
        let (kind, length) = ((header >> 9) as u8, usize::from(header) & LONGEST_VALUE);
        if kind == END {
            self.rest = &[];
            return (length != 0)
                .then(|| Err(invalid(Protocol::Lldp, "End Of LLDPDU length", length as u32)));
        }
        match rest.split_at_checked(length) {
            Some((value, rest)) => {
                self.rest = rest;
                Some(Ok(Tlv { kind, value }))
            }
            None => {
                self.rest = &[];
                Some(Err(truncated(Protocol::Lldp, self.all - rest.len() + length, self.all)))
            }
        }
    }
}

/// Writes TLVs one after the other. Those that do not fit are not written: callers have made room for all.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes to `out` from `at` on.
    pub fn new(out: &'a mut [u8], at: usize) -> Self {
        Self { out, at }
    }

    /// Writes a TLV with these parts as its value.
    pub fn tlv(&mut self, kind: u8, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let header = u16::from(kind) << 9 | (length.min(LONGEST_VALUE)) as u16;
        self.put(&header.to_be_bytes());
        parts.iter().for_each(|part| self.put(part));
    }

    /// Writes the End Of LLDPDU. Returns the bytes written up to here.
    pub fn end(mut self) -> usize {
        self.tlv(END, &[]);
        self.at
    }

    fn put(&mut self, bytes: &[u8]) {
        crate::bytes::put(self.out, self.at, bytes);
        self.at += bytes.len();
    }
}
