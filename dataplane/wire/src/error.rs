//! Errors of parsing and writing.

use core::fmt;

/// The bytes are not a valid instance of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There are fewer bytes than the header, or a length in it, requires.
    #[error("{protocol}: {needed} bytes needed, {available} available")]
    Truncated {
        /// The protocol being parsed.
        protocol: Protocol,
        /// Bytes needed, from the first byte of the header.
        needed: usize,
        /// Bytes available, from the first byte of the header.
        available: usize,
    },
    /// A field has an invalid value.
    #[error("{protocol}: {field} is {value} ({value:#x})")]
    Invalid {
        /// The protocol being parsed.
        protocol: Protocol,
        /// The field's name in its standard.
        field: &'static str,
        /// The value found.
        value: u32,
    },
}

/// A protocol of this crate, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Ethernet II header.
    Ethernet,
    /// IEEE 802.1Q tag.
    Vlan,
    /// ARP for IPv4 over Ethernet.
    Arp,
    /// IPv4 header.
    Ipv4,
    /// IPv6 header or one of its extension headers.
    Ipv6,
    /// UDP header.
    Udp,
    /// ICMP for IPv4.
    Icmpv4,
    /// ICMP for IPv6.
    Icmpv6,
    /// Rate feedback message of LSCC.
    RateFeedback,
    /// Grant frame.
    Grants,
    /// MAC control frame.
    MacControl,
    /// Priority-based flow control frame.
    Pfc,
    /// IEEE 802.3x PAUSE frame.
    Pause,
    /// InfiniBand base transport header.
    Bth,
    /// InfiniBand extended transport header.
    ExtendedTransport,
    /// InfiniBand connection management datagram.
    Cm,
    /// InfiniBand invariant CRC.
    Icrc,
    /// In-band telemetry of HPCC.
    Telemetry,
    /// Direct in-band telemetry of HPCC*.
    DirectInt,
    /// TCP header.
    Tcp,
    /// Message of the Precision Time Protocol.
    Ptp,
    /// Link layer discovery protocol data unit.
    Lldp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::Vlan => "VLAN tag",
            Self::Arp => "ARP",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Udp => "UDP",
            Self::Icmpv4 => "ICMPv4",
            Self::Icmpv6 => "ICMPv6",
            Self::RateFeedback => "rate feedback",
            Self::Grants => "grant frame",
            Self::MacControl => "MAC control",
            Self::Pfc => "PFC",
            Self::Pause => "PAUSE",
            Self::Bth => "BTH",
            Self::ExtendedTransport => "extended transport header",
            Self::Cm => "CM datagram",
            Self::Icrc => "ICRC",
            Self::Telemetry => "in-band telemetry",
            Self::DirectInt => "direct in-band telemetry",
            Self::Tcp => "TCP",
            Self::Ptp => "PTP",
            Self::Lldp => "LLDP",
        })
    }
}

/// The output does not fit into the caller's buffer. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed} bytes needed to write it, the buffer has {available}")]
pub struct BufferTooSmall {
    /// Bytes required.
    pub needed: usize,
    /// Bytes in the buffer.
    pub available: usize,
}

/// A truncation error, kept out of the hot path's instructions.
#[cold]
pub(crate) const fn truncated(protocol: Protocol, needed: usize, available: usize) -> ParseError {
    ParseError::Truncated { protocol, needed, available }
}

/// An error of an invalid field, kept out of the hot path's instructions.
#[cold]
pub(crate) const fn invalid(protocol: Protocol, field: &'static str, value: u32) -> ParseError {
    ParseError::Invalid { protocol, field, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_protocol() {
        assert_eq!(Protocol::ExtendedTransport.to_string(), "extended transport header");
        let text = truncated(Protocol::Arp, 28, 27).to_string();
        assert!(text.contains("ARP") && text.contains("28") && text.contains("27"), "{text}");
    }
}
