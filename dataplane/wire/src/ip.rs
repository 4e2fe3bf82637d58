//! Definitions shared by IPv4 and IPv6: DSCP, ECN and protocol numbers.

use core::fmt;
use serde::{Deserialize, Serialize};

/// Explicit congestion notification, the low two bits of the traffic class (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Ecn {
    /// 00: not ECN-capable, so dropping is the only congestion signal.
    #[default]
    NotEct = 0b00,
    /// 01: ECN-capable transport, codepoint 1.
    Ect1 = 0b01,
    /// 10: ECN-capable transport, codepoint 0.
    Ect0 = 0b10,
    /// 11: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the low two bits.
    #[inline]
    pub const fn from_low_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The codepoint, 0 to 3.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a queue may mark the packet: ECT(0), ECT(1) or CE.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// A differentiated services codepoint, 0 to 63 (RFC 2474).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dscp(u8);

/// The number is not a DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("DSCP {0} is not one of 0 to 63")]
pub struct DscpOutOfRange(pub u8);

impl Dscp {
    /// The number of codepoints.
    pub const COUNT: usize = 64;
    /// 0, best effort.
    pub const DEFAULT: Self = Self(0);

    /// Codepoint `number`, 0 to 63.
    ///
    /// # Errors
    /// [`DscpOutOfRange`] for 64 and above.
    pub const fn new(number: u8) -> Result<Self, DscpOutOfRange> {
        if number < 64 { Ok(Self(number)) } else { Err(DscpOutOfRange(number)) }
    }

    /// The codepoint in the low six bits.
    #[inline]
    pub const fn from_low_bits(bits: u8) -> Self {
        Self(bits & 0x3f)
    }

    /// Its number, 0 to 63.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its number, to index a table of [`Dscp::COUNT`] rows.
    #[inline]
    pub const fn index(self) -> usize {
        // The mask tells the compiler that an index into a table of 64 is in bounds.
        (self.0 & 0x3f) as usize
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The octet of both: IPv4's type of service, IPv6's traffic class.
#[inline]
pub const fn traffic_class(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.number() << 2 | ecn.bits()
}

/// A protocol number: IPv4's protocol, IPv6's next header (IANA registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4.
    pub const ICMPV4: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// IPv6 routing header.
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header.
    pub const FRAGMENT: Self = Self(44);
    /// Authentication header.
    pub const AUTHENTICATION: Self = Self(51);
    /// ICMP for IPv6.
    pub const ICMPV6: Self = Self(58);
    /// No next header.
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// IPv6 destination options.
    pub const DESTINATION_OPTIONS: Self = Self(60);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_class_of_a_cnp_is_dscp_48_with_ect_0() {
        assert_eq!(Dscp::new(48).map(|dscp| traffic_class(dscp, Ecn::Ect0)), Ok(0xc2));
    }

    #[test]
    fn every_dscp_has_a_row_of_its_own_in_a_table() {
        for number in 0..64 {
            let dscp = Dscp::new(number).unwrap();
            assert_eq!((dscp.index(), dscp.to_string()), (usize::from(number), number.to_string()));
        }
    }

    #[test]
    fn sixty_four_is_no_dscp() {
        assert_eq!(Dscp::new(64), Err(DscpOutOfRange(64)));
    }

    #[test]
    fn every_ecn_codepoint_survives_its_bits() {
        for bits in 0..=3 {
            assert_eq!(Ecn::from_low_bits(bits).bits(), bits);
            assert_eq!(Ecn::from_low_bits(bits | 0xfc).bits(), bits);
        }
        assert!(!Ecn::NotEct.is_capable() && Ecn::Ce.is_capable());
    }
}
