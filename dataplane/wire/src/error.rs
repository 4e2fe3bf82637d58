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

units::named! {
    /// A protocol of this crate, as errors name it.
    #[derive(Hash)]
    Protocol {
        /// Ethernet II header.
        Ethernet = "Ethernet",
        /// IEEE 802.1Q tag.
        Vlan = "VLAN tag",
        /// ARP for IPv4 over Ethernet.
        Arp = "ARP",
        /// IPv4 header.
        Ipv4 = "IPv4",
        /// IPv6 header or one of its extension headers.
        Ipv6 = "IPv6",
        /// UDP header.
        Udp = "UDP",
        /// ICMP for IPv4.
        Icmpv4 = "ICMPv4",
        /// ICMP for IPv6.
        Icmpv6 = "ICMPv6",
        /// Rate feedback message of LSCC.
        RateFeedback = "rate feedback",
        /// Grant frame.
        Grants = "grant frame",
        /// Shim of a repaired frame.
        Repair = "repair shim",
        /// Control packet of Bidirectional Forwarding Detection.
        Bfd = "BFD",
        /// MAC control frame.
        MacControl = "MAC control",
        /// Priority-based flow control frame.
        Pfc = "PFC",
        /// IEEE 802.3x PAUSE frame.
        Pause = "PAUSE",
        /// InfiniBand base transport header.
        Bth = "BTH",
        /// InfiniBand extended transport header.
        ExtendedTransport = "extended transport header",
        /// InfiniBand connection management datagram.
        Cm = "CM datagram",
        /// InfiniBand invariant CRC.
        Icrc = "ICRC",
        /// In-band telemetry of HPCC.
        Telemetry = "in-band telemetry",
        /// Direct in-band telemetry of HPCC*.
        DirectInt = "direct in-band telemetry",
        /// TCP header.
        Tcp = "TCP",
        /// Message of the Precision Time Protocol.
        Ptp = "PTP",
        /// Link layer discovery protocol data unit.
        Lldp = "LLDP",
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
