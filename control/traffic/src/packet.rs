//! Packets of RoCEv2, as a player reads them.

use core::net::IpAddr;
use wire::ethernet::EtherType;
use wire::ip::IpProtocol;
use wire::roce::bth::Telemetry;
use wire::roce::extended::Aeth;
use wire::roce::{UDP_PORT, bth, icrc};
use wire::{ipv4, ipv6, udp};

/// A packet of RoCEv2 whose ICRC is valid.
pub(crate) struct Packet<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub bth: bth::View<&'a [u8]>,
}

/// Why a packet is none that a player looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// It is not RoCEv2.
    Other,
    /// It is damaged.
    WrongIcrc,
}

impl<'a> Packet<'a> {
    /// Reads what follows an Ethernet header.
    pub fn read(ether_type: EtherType, packet: &'a [u8]) -> Result<Self, NotRead> {
        let (source, destination) = addresses(ether_type, packet).ok_or(NotRead::Other)?;
        let datagram = datagram(ether_type, packet).ok_or(NotRead::Other)?;
        if !icrc::verify(packet).unwrap_or(false) {
            return Err(NotRead::WrongIcrc);
        }
        let bth = bth::View::parse(datagram).map_err(|_| NotRead::Other)?;
        Ok(Self { source, destination, bth })
    }

    /// Bytes of the message in a packet of data.
    pub fn message_bytes(&self) -> u64 {
        let telemetry = match self.bth.telemetry() {
            Telemetry::Collected(format) => format.bytes(),
            Telemetry::None | Telemetry::Returned(_) => 0,
        };
        let around = icrc::LEN + usize::from(self.bth.pad_count()) + telemetry;
        self.bth.payload().len().saturating_sub(around) as u64
    }

    /// Whether it is a positive acknowledgement.
    pub fn is_positive(&self) -> bool {
        Aeth::parse(self.bth.payload()).is_ok_and(Aeth::is_positive)
    }
}

/// The source and the destination of a packet of IP.
pub(crate) fn addresses(ether_type: EtherType, packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match ether_type {
        EtherType::IPV4 => {
            let ip = ipv4::View::parse(packet).ok()?;
            Some((ip.source().into(), ip.destination().into()))
        }
        EtherType::IPV6 => {
            let ip = ipv6::View::parse(packet).ok()?;
            Some((ip.source().into(), ip.destination().into()))
        }
        _ => None,
    }
}

/// The base transport header of a packet of RoCEv2, whatever its ICRC.
pub(crate) fn transport(ether_type: EtherType, packet: &[u8]) -> Option<bth::View<&[u8]>> {
    bth::View::parse(datagram(ether_type, packet)?).ok()
}

/// What the datagram of a packet of RoCEv2 holds.
fn datagram(ether_type: EtherType, packet: &[u8]) -> Option<&[u8]> {
    let payload = match ether_type {
        EtherType::IPV4 => {
            let ip = ipv4::View::parse(packet).ok().filter(|it| it.protocol() == IpProtocol::UDP)?;
            ip.into_payload()
        }
        EtherType::IPV6 => {
            let ip = ipv6::View::parse(packet).ok().filter(|it| it.next_header() == IpProtocol::UDP)?;
            ip.into_payload()
        }
        _ => return None,
    };
    let udp = udp::View::parse(payload).ok().filter(|it| it.destination_port() == UDP_PORT)?;
    Some(udp.into_payload())
}
