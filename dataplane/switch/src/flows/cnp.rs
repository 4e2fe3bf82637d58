//! Congestion notification packets to senders, in the name of their receivers (InfiniBand specification volume 1, annex
//! A17).

use super::Flows;
use super::notifications::Notification;
use super::packet::{Hosts, Origin};
use super::table::{Slot, Tag};
use core::net::Ipv6Addr;
use serde::{Deserialize, Serialize};
use units::{PortId, Priority};
use wire::ethernet::{self, MacAddress};
use wire::ip::{Dscp, Ecn};
use wire::roce::cnp;
use wire::vlan;

/// TTL of CNPs.
const TTL: u8 = 64;

/// The way back to a sender, read from a packet of its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnPath {
    tag: Tag,
    destination: MacAddress,
    source_port: u16,
}

impl ReturnPath {
    /// The way back of the packet in `headers`, which comes from this UDP port. `None` behind two VLAN tags: a CNP
    /// has room for one, so it would not arrive.
    pub fn of(headers: &[u8], source_port: u16) -> Option<Self> {
        let stack = vlan::Stack::parse(headers).ok().filter(|stack| stack.inner.is_none())?;
        Some(Self {
            tag: Tag::new(stack.outer.map(vlan::Tag::tci)),
            destination: ethernet::View::parse(headers).ok()?.destination(),
            source_port,
        })
    }
}

impl Flows {
    /// Whether the flow accepts packets from `origin`. Origins can share a digest.
    pub fn is_from(&self, slot: Slot, origin: Origin) -> bool {
        self.table.cold(slot).origin() == Some(origin)
    }

    /// Remembers the way back to the sender of a flow.
    pub fn keep(&mut self, slot: Slot, way: ReturnPath) {
        let cold = self.table.cold_mut(slot);
        (cold.tag, cold.destination, cold.source_port) = (way.tag, way.destination, way.source_port);
    }
}

/// Makes CNPs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CnpBuilder {
    identification: u16,
}

impl CnpBuilder {
    /// The CNP to the sender of a flow whose way back [is kept](Flows::keep), and the port behind which the sender
    /// is; `None` if the queue pair is unknown. The CNP has this DSCP, and this PCP if the flow is tagged.
    pub fn build(
        &mut self,
        flows: &Flows,
        slot: Slot,
        as_configured: (Dscp, Priority),
    ) -> Option<(PortId, Notification)> {
        let (port, frame) = self.frame(flows, slot, as_configured)?;
        Some((port, Notification::Cnp(frame)))
    }

    /// As [`CnpBuilder::build`], for a notification that has the addresses of a CNP.
    pub fn frame(
        &mut self,
        flows: &Flows,
        slot: Slot,
        (dscp, priority): (Dscp, Priority),
    ) -> Option<(PortId, cnp::Frame)> {
        let destination_qp = flows.source_of(slot)?;
        let (hosts, cold) = (flows.hot(slot).key().hosts, flows.cold(slot));
        self.identification = self.identification.wrapping_add(1);
        let frame = cnp::Frame {
            destination_mac: cold.source,
            source_mac: cold.destination,
            tag: cold.tag.tci().map(|tci| vlan::Tag { priority, ..vlan::Tag::from_tci(tci) }),
            addresses: addresses(hosts.reversed(), self.identification),
            dscp,
            ecn: Ecn::Ect0,
            ttl: TTL,
            source_port: cold.source_port,
            destination_qp,
        };
        Some((cold.ingress, frame))
    }
}

fn addresses(hosts: Hosts, identification: u16) -> cnp::Addresses {
    let (source, destination) = (Ipv6Addr::from(hosts.source), Ipv6Addr::from(hosts.destination));
    match (source.to_ipv4_mapped(), destination.to_ipv4_mapped()) {
        (Some(source), Some(destination)) => cnp::Addresses::V4 { source, destination, identification },
        _ => cnp::Addresses::V6 { source, destination, flow_label: 0 },
    }
}
