//! A page of the destinations behind the far ports of a link. `docs/port-grants.md` shows its bytes.
//!
//! The pages of one edition are sent one after the other, again and again. So a lost page comes again, and a repeated one
//! says nothing new.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

use super::far_port;
use super::format::{FORMAT_AT, Format, VERSION, VERSION_AT};
use crate::bytes::{array, checked_head, put, u32_at};
use crate::error::invalid;
use crate::{ParseError, Protocol};

/// The most destinations of a page.
pub const PER_PAGE: usize = 5;
/// The most pages of an edition.
pub const PAGES: u8 = 100;

/// Bytes of a message, after the Ethernet header.
pub const MESSAGE_LEN: usize = ENTRIES_AT + ENTRY_LEN * PER_PAGE;
const PAGE_AT: usize = 1;
const PAGES_AT: usize = 2;
const EDITION_AT: usize = 4;
const COUNT_AT: usize = 8;
const ENTRIES_AT: usize = 12;
const ENTRY_LEN: usize = 20;

/// Addresses with a common prefix, and the far port through which they are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Destination {
    /// The prefix; the bits beyond its length are zero.
    pub address: IpAddr,
    /// Its length in bits: up to 32 for IPv4, 128 for IPv6.
    pub length: u8,
    /// The number of the port, from one to [`far_port::MOST`]; zero for no port of its own.
    pub port: u8,
}

impl Destination {
    const NONE: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), length: 0, port: 0 };

    /// The address as a number, in the highest bits of 128, and the family: 4 or 6.
    pub fn key(address: IpAddr) -> (u128, u8) {
        match address {
            IpAddr::V4(it) => (u128::from(it.to_bits()) << 96, 4),
            IpAddr::V6(it) => (it.to_bits(), 6),
        }
    }

    fn parse(raw: &[u8; ENTRY_LEN]) -> Result<Self, ParseError> {
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        let [port, length, family, reserved] = array(raw, 0);
        let bits = u128::from_be_bytes(array(raw, 4));
        let (address, longest) = match family {
            4 => (IpAddr::V4(Ipv4Addr::from_bits((bits >> 96) as u32)), 32),
            6 => (IpAddr::V6(Ipv6Addr::from_bits(bits)), 128),
            _ => return refused("family", family),
        };
        if usize::from(port) > far_port::MOST {
            return refused("far port", port);
        }
        // All bits beyond the prefix are zero.
        if length > longest || bits.checked_shl(length.into()).unwrap_or(0) != 0 {
            return refused("prefix", length);
        }
        if reserved != 0 {
            return refused("reserved", reserved);
        }
        Ok(Self { address, length, port })
    }

    fn emit(&self, out: &mut [u8]) {
        let (bits, family) = Self::key(self.address);
        put(out, 0, &[self.port, self.length, family, 0]);
        put(out, 4, &bits.to_be_bytes());
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The number that tells one list of destinations from another.
    pub edition: u32,
    /// The number of this page, from zero.
    pub page: u8,
    /// The number of pages of the edition: one to [`PAGES`].
    pub pages: u8,
    /// The number of destinations on it, up to [`PER_PAGE`].
    count: u8,
    entries: [Destination; PER_PAGE],
}

impl Message {
    /// A page with the first [`PER_PAGE`] of `destinations`, whose prefixes have no bits beyond their lengths.
    pub fn new(edition: u32, page: u8, pages: u8, destinations: &[Destination]) -> Self {
        let mut entries = [Destination::NONE; PER_PAGE];
        entries.iter_mut().zip(destinations).for_each(|(entry, it)| *entry = *it);
        Self { edition, page, pages, count: destinations.len().min(PER_PAGE) as u8, entries }
    }

    /// The destinations on the page.
    pub fn destinations(&self) -> &[Destination] {
        self.entries.get(..self.count.into()).unwrap_or_default()
    }

    /// Reads `bytes`, whose version and format are known. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid if the page is not one of its edition, a destination has an unknown
    /// family or port or an impossible prefix, or bytes without a meaning are not zero.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<MESSAGE_LEN>(Protocol::Grants, bytes)?;
        let refused = |field, value: u8| Err(invalid(Protocol::Grants, field, value.into()));
        let (page, pages, count) = (raw[PAGE_AT], raw[PAGES_AT], raw[COUNT_AT]);
        if page >= pages || pages > PAGES {
            return refused("page", page);
        }
        if usize::from(count) > PER_PAGE {
            return refused("destinations", count);
        }
        let unused = ENTRIES_AT + ENTRY_LEN * usize::from(count);
        if let Some(&byte) = raw[COUNT_AT + 1..ENTRIES_AT].iter().chain(&raw[unused..]).find(|it| **it != 0) {
            return refused("reserved", byte);
        }
        let mut entries = [Destination::NONE; PER_PAGE];
        for (entry, index) in entries.iter_mut().zip(0..usize::from(count)) {
            *entry = Destination::parse(&array(raw, ENTRIES_AT + ENTRY_LEN * index))?;
        }
        Ok(Self { edition: u32_at(raw, EDITION_AT), page, pages, count, entries })
    }

    /// Writes the message to `out`.
    pub(super) fn emit(&self, out: &mut [u8; MESSAGE_LEN]) {
        out.fill(0);
        (out[VERSION_AT], out[FORMAT_AT]) = (VERSION, Format::Behind as u8);
        (out[PAGE_AT], out[PAGES_AT], out[COUNT_AT]) = (self.page, self.pages, self.count);
        put(out, EDITION_AT, &self.edition.to_be_bytes());
        for (entry, field) in self.destinations().iter().zip(out[ENTRIES_AT..].chunks_exact_mut(ENTRY_LEN)) {
            entry.emit(field);
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
        let entries = [
            Destination { address: "10.1.2.0".parse().unwrap(), length: 24, port: 1 },
            Destination { address: "fd00:1::".parse().unwrap(), length: 32, port: 14 },
        ];
        Message::new(0x0102_0304, 6, 7, &entries)
    }

    fn bytes(message: Message) -> [u8; MESSAGE_LEN] {
        let mut out = [0xff; MESSAGE_LEN];
        message.emit(&mut out);
        out
    }

    #[test]
    fn a_message_has_these_bytes() {
        let mut expected = vec![1, 6, 7, 3, 1, 2, 3, 4, 2, 0, 0, 0];
        expected.extend([1, 24, 4, 0, 10, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([14, 32, 6, 0, 0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.resize(MESSAGE_LEN, 0);
        assert_eq!(bytes(message()).to_vec(), expected);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let entry = ENTRIES_AT;
        for (at, value, field, got) in [
            (PAGE_AT, 7, "page", 7),
            (PAGES_AT, 101, "page", 6),
            (COUNT_AT, 6, "destinations", 6),
            (COUNT_AT + 1, 9, "reserved", 9),
            (entry, 15, "far port", 15),
            (entry + 1, 33, "prefix", 33),
            (entry + 1, 22, "prefix", 22),
            (entry + 2, 5, "family", 5),
            (entry + 3, 1, "reserved", 1),
            (entry + 8, 1, "prefix", 24),
            (MESSAGE_LEN - 1, 1, "reserved", 1),
        ] {
            let mut raw = bytes(message());
            raw[at] = value;
            let error = ParseError::Invalid { protocol: Protocol::Grants, field, value: got };
            assert_eq!(grants::Message::parse(&raw), Err(error), "byte {at}");
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
            (edition, page, more) in (any::<u32>(), 0..PAGES, 0..PAGES),
            wished in prop::collection::vec((any::<bool>(), any::<u128>(), 0_u8..=128, 0_u8..=14), 0..=PER_PAGE),
        ) {
            let destination = |(v4, bits, length, port): (bool, u128, u8, u8)| {
                let length = if v4 { length.min(32) } else { length };
                let bits = bits & !u128::MAX.checked_shr(length.into()).unwrap_or(0);
                let address = match v4 {
                    true => IpAddr::V4(Ipv4Addr::from_bits((bits >> 96) as u32)),
                    false => IpAddr::V6(Ipv6Addr::from_bits(bits)),
                };
                Destination { address, length, port }
            };
            let entries: Vec<_> = wished.into_iter().map(destination).collect();
            let message = Message::new(edition, page, (page + 1 + more).min(PAGES), &entries);
            prop_assert_eq!(message.destinations(), &entries);
            prop_assert_eq!(grants::Message::parse(&bytes(message)), Ok(grants::Message::Behind(message)));
        }
    }
}
