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

/// Hardware type Ethernet, protocol type IPv4, addresses of six and four bytes.
const FIXED: [u8; 6] = {
    let [high, low] = EtherType::IPV4.0.to_be_bytes();
    [0, 1, high, low, 6, 4]
};

/// The operation of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation(pub u16);

impl Operation {
    /// Asks who has the target's IP address.
    pub const REQUEST: Self = Self(1);
    /// States that the sender has it.
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
    /// Writes the reply over the request: the target's IP address is at `mac`. The caller sets the Ethernet
    /// header: from `mac` back to the sender.
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
        // This fits, as `parse` checked for PACKET_LEN bytes.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    fn any_packet() -> impl Strategy<Value = Packet> {
        (any::<u16>(), any_mac(), any_ipv4(), any_mac(), any_ipv4()).prop_map(
            |(operation, sender_mac, sender_ip, target_mac, target_ip)| Packet {
                operation: Operation(operation),
                sender_mac,
                sender_ip,
                target_mac,
                target_ip,
            },
        )
    }

    #[test]
    fn a_packet_shorter_than_28_bytes_is_refused() {
        let bytes = hex("0001080006040001520000000001c0a80001000000000000c0a80002");
        assert_truncated_below(PACKET_LEN, &bytes, |bytes| View::parse(bytes).map(|_| ()));
    }

    #[test]
    fn other_address_families_are_refused_by_name() {
        for (at, value, field, found) in [
            (1, 6, "hardware type", 6),
            (3, 6, "protocol type", 0x0806),
            (4, 8, "hardware address length", 8),
            (5, 16, "protocol address length", 16),
        ] {
            let mut bytes = [0; PACKET_LEN];
            bytes[..6].copy_from_slice(&FIXED);
            bytes[at] = value;
            let error = ParseError::Invalid { protocol: Protocol::Arp, field, value: found };
            assert_eq!(View::parse(&bytes[..]).map(|_| ()), Err(error));
        }
    }

    #[test]
    fn the_captured_hosts_find_each_other() {
        let packets: Vec<_> = frames(SOFT_ROCE)
            .iter()
            .filter_map(|frame| View::parse(frame.get(14..)?).ok().map(|view| view.packet()))
            .collect();
        assert_eq!(packets.len(), 4);
        assert_eq!(packets.iter().filter(|packet| packet.operation == Operation::REPLY).count(), 2);
    }

    proptest! {
        #[test]
        fn a_packet_is_that_of_etherparse(packet in any_packet()) {
            let mut bytes = [0; PACKET_LEN];
            prop_assert_eq!(packet.emit(&mut bytes), Ok(PACKET_LEN));
            let theirs = etherparse::ArpPacket::from_slice(&bytes).unwrap().try_eth_ipv4().unwrap();
            prop_assert_eq!(theirs.operation.0, packet.operation.0);
            prop_assert_eq!(theirs.sender_mac, packet.sender_mac.0);
            prop_assert_eq!(theirs.sender_ipv4, packet.sender_ip.octets());
            prop_assert_eq!(theirs.target_mac, packet.target_mac.0);
            prop_assert_eq!(theirs.target_ipv4, packet.target_ip.octets());
            prop_assert_eq!(View::parse(&bytes[..]).unwrap().packet(), packet);
        }

        #[test]
        fn a_reply_over_a_request_answers_its_sender(packet in any_packet(), mac in any_mac()) {
            let mut bytes = [0; PACKET_LEN];
            prop_assert!(packet.emit(&mut bytes).is_ok());
            let mut view = View::parse(&mut bytes).unwrap();
            view.turn_request_into_reply(mac);
            let reply = view.packet();
            prop_assert_eq!(reply.operation, Operation::REPLY);
            prop_assert_eq!((reply.sender_mac, reply.sender_ip), (mac, packet.target_ip));
            prop_assert_eq!((reply.target_mac, reply.target_ip), (packet.sender_mac, packet.sender_ip));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any_bytes(40)) {
            let _ = View::parse(&bytes[..]).map(|view| view.packet());
        }
    }
}
