//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::ip::IpProtocol;

/// A partial ones' complement sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// The empty sum.
    pub const ZERO: Self = Self(0);

    /// The pseudo-header of a UDP datagram over IPv4 (RFC 768); `length` in bytes.
    #[inline]
    pub fn pseudo_ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: IpProtocol, length: u16) -> Self {
        Self::ZERO
            .bytes(&source.octets())
            .bytes(&destination.octets())
            .word(u16::from(protocol.0))
            .word(length)
    }

    /// The pseudo-header of an upper layer over IPv6 (RFC 8200 section 8.1); `length` in bytes.
    #[inline]
    pub fn pseudo_ipv6(source: Ipv6Addr, destination: Ipv6Addr, protocol: IpProtocol, length: u32) -> Self {
        Self::ZERO
            .bytes(&source.octets())
            .bytes(&destination.octets())
            .bytes(&length.to_be_bytes())
            .word(u16::from(protocol.0))
    }

    /// Adds one 16-bit word.
    #[inline]
    #[must_use]
    pub const fn word(self, word: u16) -> Self {
        Self(self.0 + word as u64)
    }

    /// Adds `bytes`, which start at an even offset. An odd last byte is padded with zero.
    #[inline]
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        // Two words at a time: a sum of 32-bit words folds to the same 16 bits (RFC 1071 section 2(C)).
        let (pairs, rest) = bytes.as_chunks::<4>();
        let sum = pairs.iter().fold(self, |sum, pair| Self(sum.0 + u64::from(u32::from_be_bytes(*pair))));
        match *rest {
            [high, low, last] => sum.word(u16::from_be_bytes([high, low])).word(u16::from(last) << 8),
            [high, low] => sum.word(u16::from_be_bytes([high, low])),
            [last] => sum.word(u16::from(last) << 8),
            _ => sum,
        }
    }

    /// The sum folded into 16 bits: 0xffff over data that contains its own valid checksum.
    #[inline]
    pub const fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum field for the summed data: the complement of the sum.
    #[inline]
    pub const fn checksum(self) -> u16 {
        !self.folded()
    }
}

/// Whether a header of five 32-bit words contains its own valid checksum. Sums in either byte order are the
/// same except for the order of their bytes (RFC 1071 section 2(B)), so native words will do.
#[inline]
pub(crate) fn is_right(header: &[u8; 20]) -> bool {
    let (words, _) = header.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    // The sum of five words carries at most three bits. Folding twice leaves no carry.
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    sum == 0xffff
}

/// Updates `checksum` for data in which one 16-bit word changed from `old` to `new`: RFC 1624, equation 3.
/// Equals a full computation if `checksum` was valid, and preserves its error otherwise.
#[inline]
pub const fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::ZERO.word(!checksum).word(!old).word(new).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_sums_to_ddf2() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::ZERO.bytes(&data).folded(), 0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624_gives_zero_and_not_its_complement() {
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_high_half_of_a_word() {
        assert_eq!(Sum::ZERO.bytes(&[0x12, 0x34, 0x56]).folded(), 0x1234 + 0x5600);
    }

    #[test]
    fn a_header_is_right_where_its_sum_says_so() {
        proptest::proptest!(|(mut header: [u8; 20], right: bool)| {
            if right {
                header[10..12].fill(0);
                let checksum = Sum::ZERO.bytes(&header).checksum();
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            proptest::prop_assert_eq!(is_right(&header), Sum::ZERO.bytes(&header).folded() == 0xffff);
        });
    }

    #[test]
    fn a_header_whose_words_sum_to_nothing_but_ones_is_right() {
        let mut header = [0; 20];
        header[..4].fill(0xff);
        assert!(is_right(&header));
        header[4] = 1;
        assert!(!is_right(&header));
    }

    #[test]
    fn an_update_equals_a_recomputation() {
        proptest::proptest!(|(mut data: [u8; 20], at in 1..10usize, new: u16)| {
            data[0] |= 0x40; // Like a version field, this keeps the sum from being zero.
            let before = Sum::ZERO.bytes(&data).checksum();
            let old = u16::from_be_bytes([data[2 * at], data[2 * at + 1]]);
            data[2 * at..2 * at + 2].copy_from_slice(&new.to_be_bytes());
            proptest::prop_assert_eq!(updated(before, old, new), Sum::ZERO.bytes(&data).checksum());
        });
    }
}
