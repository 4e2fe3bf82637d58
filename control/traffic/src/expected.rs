//! The data that a plan lets a host expect. Machines agree on queue pairs and sequence numbers only if they plan the same
//! scenario with the same seed; data that does not fit shows that they did not.

use crate::packet::Packet;
use crate::plan::PlannedEnd;
use core::net::IpAddr;
use endpoint::End;
use std::collections::{BTreeMap, BTreeSet};
use wire::roce::{Opcode, Psn, QueuePair};

/// How far a packet of a flow without end may be ahead of all others that fitted: far more than fits on any link, and
/// little enough for a wrong sequence number to be noticed.
const AHEAD_MAX: u64 = 1 << 20;

/// The data of one flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    peer: IpAddr,
    first_psn: Psn,
    /// Bytes in each packet but the last.
    mtu: u64,
    /// The number of packets, and the bytes in the last one; `None` if the flow has no length of its own.
    end: Option<(u64, u64)>,
    /// The packet furthest ahead that fitted.
    furthest: u64,
}

impl Flow {
    fn new(end: &PlannedEnd) -> Self {
        let mtu = u64::from(end.sender_mtu.max(1));
        let length = |bytes: u64| {
            let packets = bytes.div_ceil(mtu).max(1);
            (packets, bytes - (packets - 1) * mtu)
        };
        Self {
            peer: end.connection.peer,
            first_psn: end.connection.first_psn,
            mtu,
            end: end.connection.length.map(length),
            furthest: 0,
        }
    }

    fn fits(&mut self, packet: &Packet<'_>) -> bool {
        let near = self.first_psn.advanced_by(self.furthest as u32);
        let distance = packet.bth.psn().distance_from(near);
        let Some(number) = self.furthest.checked_add_signed(distance.into()) else { return false };
        let (opcode, bytes) = (packet.bth.opcode(), packet.message_bytes());
        let is_first = matches!(opcode, Opcode::RC_SEND_FIRST | Opcode::RC_SEND_ONLY);
        let is_last = matches!(opcode, Opcode::RC_SEND_LAST | Opcode::RC_SEND_ONLY);
        let fits = match self.end {
            Some((packets, last)) if number + 1 == packets => is_last && bytes == last,
            Some((packets, _)) => number < packets && !is_last && bytes == self.mtu,
            None => number <= self.furthest.saturating_add(AHEAD_MAX) && bytes == self.mtu,
        };
        let fits = fits && is_first == (number == 0) && packet.source == self.peer;
        if fits {
            self.furthest = self.furthest.max(number);
        }
        fits
    }
}

/// The data that a host may expect of all others.
#[derive(Debug)]
pub(crate) struct Expected {
    address: IpAddr,
    /// The addresses of all hosts of the scenario.
    hosts: BTreeSet<IpAddr>,
    /// By the queue pair of this host.
    flows: BTreeMap<QueuePair, Flow>,
}

impl Expected {
    /// What a host with `address` expects of `hosts` by its part of the plan.
    pub fn new(address: IpAddr, hosts: impl Iterator<Item = IpAddr>, ends: &[PlannedEnd]) -> Self {
        let receivers = ends.iter().filter(|it| it.connection.end == End::Receiver);
        let flows = receivers.map(|it| (it.connection.local, Flow::new(it))).collect();
        Self { address, hosts: hosts.collect(), flows }
    }

    /// Whether a packet is data of a host of the scenario for this one, but not what the plan says.
    pub fn is_misfit(&mut self, packet: &Packet<'_>) -> bool {
        let is_data = matches!(
            packet.bth.opcode(),
            Opcode::RC_SEND_FIRST | Opcode::RC_SEND_MIDDLE | Opcode::RC_SEND_LAST | Opcode::RC_SEND_ONLY
        );
        if !is_data || packet.destination != self.address || !self.hosts.contains(&packet.source) {
            return false;
        }
        !self.flows.get_mut(&packet.bth.destination_qp()).is_some_and(|flow| flow.fits(packet))
    }
}
