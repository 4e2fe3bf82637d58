//! ARP for IPv4 over Ethernet: RFC 826.

use core::net::Ipv4Addr;

use crate::bytes::{array, checked_head, head, put, room, u16_at};
use crate::error::invalid;
use crate::ethernet::{EtherType, MacAddress};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of a packet.
pub const PACKET_LEN: usize = 28;

const OPERATION: usize = 6;
const SENDER_MAC: usize = 8;
const SENDER_IP: usize = 14;
const TARGET_MAC: usize = 18;
const TARGET_IP: usize = 24;

/// Hardware type Ethernet, protocol type IPv4, six and four bytes of address.
const FIXED: [u8; 6] = {
    let [high, low] = EtherType::IPV4.0.to_be_bytes();
    [0, 1, high, low, 6, 4]
};

/// What the packet asks or says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation(pub u16);

impl Operation {
    /// Who has the target's IP address?
    pub const REQUEST: Self = Self(1);
    /// The sender has it.
    pub const REPLY: Self = Self(2);
}

/// A checked view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of EtherType 0x0806. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`PACKET_LEN`] bytes; invalid, where the addresses are not those of
    /// Ethernet and IPv4.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let packet = checked_head::<PACKET_LEN>(Protocol::Arp, bytes.as_ref())?;
        let field = |name, value| Err(invalid(Protocol::Arp, name, value));
        match *packet {
            [0, 1, 8, 0, 6, 4, ..] => Ok(Self(bytes)),
            [0, 1, 8, 0, 6, length, ..] => field("protocol address length", length.into()),
            [0, 1, 8, 0, length, ..] => field("hardware address length", length.into()),
            [0, 1, a, b, ..] => field("protocol type", u16::from_be_bytes([a, b]).into()),
            [a, b, ..] => field("hardware type", u16::from_be_bytes([a, b]).into()),
        }
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; PACKET_LEN] {
        head(self.0.as_ref())
    }

    /// Request, reply or another.
    #[inline]
    pub fn operation(&self) -> Operation {
        Operation(u16_at(self.raw(), OPERATION))
    }

    /// The sender's MAC address.
    #[inline]
    pub fn sender_mac(&self) -> MacAddress {
        MacAddress(array(self.raw(), SENDER_MAC))
    }

    /// The sender's IP address; 0.0.0.0 in a probe (RFC 5227).
    #[inline]
    pub fn sender_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(array(self.raw(), SENDER_IP))
    }

    /// The target's MAC address; meaningless in a request.
    #[inline]
    pub fn target_mac(&self) -> MacAddress {
        MacAddress(array(self.raw(), TARGET_MAC))
    }

    /// The target's IP address.
    #[inline]
    pub fn target_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(array(self.raw(), TARGET_IP))
    }

    /// The packet as a value.
    #[inline]
    pub fn packet(&self) -> Packet {
        Packet {
            operation: self.operation(),
            sender_mac: self.sender_mac(),
            sender_ip: self.sender_ip(),
            target_mac: self.target_mac(),
            target_ip: self.target_ip(),
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Writes the reply over the request: the target's IP address is at `mac`. The Ethernet
    /// header is the caller's: back to the sender, from `mac`.
    #[inline]
    pub fn turn_request_into_reply(&mut self, mac: MacAddress) {
        let request = self.packet();
        let reply = Packet {
            operation: Operation::REPLY,
            sender_mac: mac,
            sender_ip: request.target_ip,
            target_mac: request.sender_mac,
            target_ip: request.sender_ip,
        };
        // There is room: parse has seen PACKET_LEN bytes.
        let _ = reply.emit(self.0.as_mut());
    }
}

/// A packet as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    /// Request, reply or another.
    pub operation: Operation,
    /// The sender's MAC address.
    pub sender_mac: MacAddress,
    /// The sender's IP address.
    pub sender_ip: Ipv4Addr,
    /// The target's MAC address; zero in a request.
    pub target_mac: MacAddress,
    /// The target's IP address.
    pub target_ip: Ipv4Addr,
}

impl Packet {
    /// Writes the packet; returns [`PACKET_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<PACKET_LEN>(out)?;
        put(out, 0, &FIXED);
        put(out, OPERATION, &self.operation.0.to_be_bytes());
        put(out, SENDER_MAC, &self.sender_mac.0);
        put(out, SENDER_IP, &self.sender_ip.octets());
        put(out, TARGET_MAC, &self.target_mac.0);
        put(out, TARGET_IP, &self.target_ip.octets());
        Ok(PACKET_LEN)
    }
}
