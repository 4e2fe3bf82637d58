//! In-band telemetry of HPCC ("HPCC: High Precision Congestion Control", SIGCOMM 2019, section 3.1). Each data
//! packet that asks for it gets, as it leaves, the load of its link and the length of its queue.

use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, WireBytes};
use wire::ethernet::EtherType;
use wire::int::{self, Hop, HopNumber, LinkRate};
use wire::ip::IpProtocol;
use wire::roce::{self, bth};
use wire::{ipv4, ipv6, udp, vlan};

/// Writes the telemetry of one port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Stamper {
    rate: LinkRate,
    number: HopNumber,
}

impl Stamper {
    /// The stamper of a port with `settings`; `None` where telemetry is off.
    pub fn new(settings: &PortSettings) -> Option<Self> {
        // A rate without a code was refused with the program.
        let rate = LinkRate::of(settings.rate).filter(|_| settings.int)?;
        Some(Self { rate, number: HopNumber::of(settings.mac) })
    }

    /// Stamps the frame that begins with `headers`, if it collects telemetry. Its first bit is on the wire at
    /// `start`, after `carried`; `queue` is the length of the queue behind it.
    #[inline]
    pub fn stamp(&self, headers: &mut [u8], start: Nanos, carried: WireBytes, queue: Bytes) {
        let Some((offset, format)) = telemetry(headers) else { return };
        if let Some(header) = headers.get_mut(offset..) {
            int::stamp(header, format, self.number, Hop::new(self.rate, start, carried.0, queue.0));
        }
    }
}

/// The offset and format of the telemetry of `frame`; `None` if it collects none. Fragments and frames with IPv6 extension
/// headers or more than two VLAN tags are skipped: no RoCEv2 host sends them.
#[inline]
pub(crate) fn telemetry(frame: &[u8]) -> Option<(usize, int::Format)> {
    let stack = vlan::Stack::parse(frame).ok()?;
    let packet = frame.get(stack.payload_offset..)?;
    // Ingress has checked the lengths on the wire; only the headers matter here.
    let (protocol, header_len) = match stack.ether_type {
        EtherType::IPV4 => {
            let ip = ipv4::View::parse_head(packet, usize::MAX).ok()?;
            (if ip.is_fragment() { None } else { Some(ip.protocol()) }, ip.header_len())
        }
        EtherType::IPV6 => {
            let ip = ipv6::View::parse_head(packet, usize::MAX).ok()?;
            (Some(ip.next_header()), ipv6::HEADER_LEN)
        }
        _ => return None,
    };
    let datagram = packet.get(header_len..).filter(|_| protocol == Some(IpProtocol::UDP))?;
    let udp = udp::View::parse_head(datagram, usize::MAX).ok()?;
    if udp.destination_port() != roce::UDP_PORT {
        return None;
    }
    let length = udp.length();
    let bth = bth::View::parse(udp.into_payload()).ok()?;
    let bth::Telemetry::Collected(format) = bth.telemetry() else { return None };
    let before = udp::HEADER_LEN + bth::HEADER_LEN;
    (length >= before + format.bytes()).then_some((stack.payload_offset + header_len + before, format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::roce::{Opcode, QueuePair};

    #[test]
    fn telemetry_is_found_where_the_datagram_has_room_for_all_of_it() {
        let mut frame = [0; 200];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..34].copy_from_slice(&[0x45, 0, 0, 120, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame[36..38].copy_from_slice(&roce::UDP_PORT.to_be_bytes());
        // The headers of UDP, 8 bytes, and of the transport, 12, are before the telemetry, 42 or 66.
        for (format, least) in [(int::Format::Five, 62), (int::Format::Eight, 86)] {
            let header = bth::Header::new(Opcode::RC_WRITE_ONLY, QueuePair::from_low_bits(7));
            let header = bth::Header { telemetry: bth::Telemetry::Collected(format), ..header };
            header.emit(&mut frame[42..]).unwrap();
            let found = Some((54, format));
            for (length, found) in [(least - 1, None), (least, found), (least + 1, found), (40, None)] {
                frame[39] = length;
                assert_eq!(telemetry(&frame), found, "{length} bytes");
            }
        }
    }
}
