//! The frames that a capture wants.

use core::net::IpAddr;
use switch::program::Classification;
use units::{Bytes, PrioritySet};
use wire::ethernet::{self, EtherType};
use wire::ip::{Ecn, IpProtocol};
use wire::roce::{QueuePair, UDP_PORT, bth};
use wire::{grants, ipv4, ipv6, ptp, udp, vlan};

/// A class of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameClass {
    /// All frames.
    All,
    /// Frames between the two ends of a link: PFC, PAUSE, grants, peer delay.
    #[default]
    Control,
    /// IP packets that carry a congestion mark (CE).
    Marked,
}

/// Frames must meet all conditions.
#[derive(Clone, Debug, Default)]
pub struct CaptureFilter {
    /// Whether frames that come in are wanted.
    pub received: bool,
    /// Whether frames that leave are wanted.
    pub sent: bool,
    /// Their class.
    pub class: FrameClass,
    /// Only frames of these priorities, if any are named; control frames have none.
    pub priorities: PrioritySet,
    /// How the port finds the priority of a frame.
    pub classification: Classification,
    /// Only IP packets from or to each of these addresses.
    pub addresses: [Option<IpAddr>; 2],
    /// Only RoCEv2 packets to this queue pair.
    pub queue_pair: Option<QueuePair>,
}

/// The fields of an IP packet that a filter may ask about.
struct Packet<'a> {
    traffic_class: u8,
    source: IpAddr,
    destination: IpAddr,
    /// The payload, if it is UDP and no later fragment.
    datagram: Option<&'a [u8]>,
}

impl CaptureFilter {
    /// Whether a frame of `length` that starts with `bytes` is wanted.
    pub fn matches(&self, bytes: &[u8], length: Bytes) -> bool {
        let Ok(stack) = vlan::Stack::parse(bytes) else {
            return self.class == FrameClass::All && self.is_plain();
        };
        let is_control =
            stack.ether_type == EtherType::MAC_CONTROL || grants::is_frame(bytes) || ptp::is_frame(bytes);
        if self.class == FrameClass::Control && !is_control {
            return false;
        }
        if self.is_plain() {
            return true;
        }
        let rest = bytes.get(stack.payload_offset..).unwrap_or_default();
        let packet =
            Packet::parse(stack.ether_type, rest, (length.0 as usize).saturating_sub(stack.payload_offset));
        let class = packet.as_ref().map(|packet| packet.traffic_class);
        let pcp = stack.outer.map(|tag| tag.priority);
        let dscp = class.map(|class| wire::ip::Dscp::from_low_bits(class >> 2));
        let has_priority = || self.priorities.contains(self.classification.priority(dscp, pcp));
        let is_marked = || class.is_some_and(|class| Ecn::from_low_bits(class) == Ecn::Ce);
        (self.class != FrameClass::Marked || is_marked())
            && (self.priorities.is_empty() || !is_control && has_priority())
            && self.addresses.iter().flatten().all(|it| packet.as_ref().is_some_and(|packet| packet.has(*it)))
            && self.queue_pair.is_none_or(|it| packet.is_some_and(|packet| packet.queue_pair() == Some(it)))
    }

    /// Whether only the class of a frame matters.
    fn is_plain(&self) -> bool {
        self.class != FrameClass::Marked
            && self.priorities.is_empty()
            && self.addresses == [None, None]
            && self.queue_pair.is_none()
    }
}

/// Whether the frame that starts with `bytes` is an untagged IP packet, and so no control frame.
#[inline]
pub(super) fn is_ip(bytes: &[u8]) -> bool {
    ethernet::View::parse(bytes).is_ok_and(|it| matches!(it.ether_type(), EtherType::IPV4 | EtherType::IPV6))
}

impl<'a> Packet<'a> {
    fn parse(ether_type: EtherType, bytes: &'a [u8], length: usize) -> Option<Self> {
        match ether_type {
            EtherType::IPV4 => {
                let ip = ipv4::View::parse_head(bytes, length).ok()?;
                let is_datagram = ip.protocol() == IpProtocol::UDP && ip.fragment_offset() == 0;
                Some(Self {
                    traffic_class: ip.traffic_class(),
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    datagram: if is_datagram { Some(ip.into_payload()) } else { None },
                })
            }
            EtherType::IPV6 => {
                let ip = ipv6::View::parse_head(bytes, length).ok()?;
                let is_datagram = ip.next_header() == IpProtocol::UDP;
                Some(Self {
                    traffic_class: ip.traffic_class(),
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    datagram: if is_datagram { Some(ip.into_payload()) } else { None },
                })
            }
            _ => None,
        }
    }

    fn has(&self, address: IpAddr) -> bool {
        self.source == address || self.destination == address
    }

    fn queue_pair(&self) -> Option<QueuePair> {
        let datagram = self.datagram?;
        let udp = udp::View::parse_head(datagram, usize::MAX).ok()?;
        if udp.destination_port() != UDP_PORT {
            return None;
        }
        Some(bth::View::parse(datagram.get(udp::HEADER_LEN..)?).ok()?.destination_qp())
    }
}

#[cfg(test)]
mod tests;
