//! Frames that bounce: they came down and go up again, and get an isolated priority.
//!
//! "Packets of the rerouted flow need to be forwarded to a separate queue" (IEEE 802 Nendica report, "PFC deadlock
//! prevention using topology recognition"). A lossless frame stays charged to the group of the priority in which it
//! came in, because only a pause of that priority stops its sender. It waits in the queue of the isolated
//! priority and gets its code point, because the next switch pauses by that.

use crate::descriptor::{Descriptor, Network};
use crate::program::{Settings, Trust};
use serde::{Deserialize, Serialize};
use units::{PortId, PortSet, Priority, PrioritySet};
use wire::ip::Dscp;
use wire::{ethernet, ipv4, ipv6, vlan};

/// Frames that bounced at one ingress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BounceCounters {
    /// Those that got an isolated priority.
    pub remapped: u64,
    /// Lossless ones that kept theirs because the remap does not name it: they bounced before, or came in by an
    /// isolated priority.
    pub kept: u64,
}

/// The bounces from one ingress port, ready for the turn.
pub(crate) struct Bounces {
    /// The ports through which a frame leaves that bounces.
    ports: PortSet,
    isolated: [Option<Isolated>; Priority::COUNT],
    /// The lossless priorities without an isolated one.
    kept: PrioritySet,
}

/// The isolated priority of another one.
#[derive(Clone, Copy)]
struct Isolated {
    priority: Priority,
    is_lossless: bool,
    /// The code points by which the next switch finds it: a DSCP where DSCPs are trusted.
    dscp: Option<Dscp>,
    pcp: Priority,
}

impl Bounces {
    /// The bounces from `port`; `None` if nothing is remapped there. The settings must be valid.
    pub fn new(port: PortId, settings: &Settings) -> Option<Self> {
        let own = &settings.ports[port.index()];
        let orientation = own.orientation.filter(|_| !own.remap.is_empty())?;
        let others = (0..settings.ports.len() as u16).map(PortId);
        let bounces =
            |to: &PortId| settings.ports[to.index()].orientation.is_some_and(|it| orientation.bounces(it));
        let isolated = |priority| {
            let priority: Priority = own.remap.of(priority)?;
            let class = &own.classification;
            let dscp = class.dscp_of(priority).filter(|_| class.trust == Trust::Dscp);
            let is_lossless = own.lossless().contains(priority);
            Some(Isolated { priority, is_lossless, dscp, pcp: class.pcp_of(priority)? })
        };
        Some(Self {
            ports: others.filter(bounces).collect(),
            isolated: core::array::from_fn(|index| isolated(Priority::from_low_bits(index as u8))),
            kept: own.lossless().iter().filter(|it| own.remap.of(*it).is_none()).collect(),
        })
    }

    /// The priority of the queue in which frames of `priority` wait at `egress`.
    pub fn queue(&self, egress: PortId, priority: Priority) -> Priority {
        let isolated = self.isolated[priority.index()].filter(|_| self.ports.contains(egress));
        isolated.map_or(priority, |it| it.priority)
    }

    /// Remaps a frame of `priority` that leaves through `egress`, if it bounces: gives it the code point of the
    /// isolated priority, and returns the priority of its group and that of its queue.
    pub fn remap(
        &self,
        egress: PortId,
        priority: Priority,
        descriptor: &Descriptor,
        headers: &mut [u8],
        counters: &mut BounceCounters,
    ) -> (Priority, Priority) {
        if !self.ports.contains(egress) {
            return (priority, priority);
        }
        let Some(isolated) = self.isolated[priority.index()] else {
            counters.kept += u64::from(self.kept.contains(priority));
            return (priority, priority);
        };
        counters.remapped += 1;
        isolated.mark(descriptor, headers);
        // A lossy frame that waits must not hold a lossless group: it would pause its sender after all.
        let group = if isolated.is_lossless { priority } else { isolated.priority };
        (group, isolated.priority)
    }
}

impl Isolated {
    /// Sets the field by which the frame was classified. The ICRC of RoCEv2 covers neither DSCP nor tag.
    fn mark(&self, descriptor: &Descriptor, headers: &mut [u8]) {
        let packet = headers.get_mut(usize::from(descriptor.payload_offset)..);
        match (descriptor.network, self.dscp, packet) {
            (Network::Ipv4, Some(dscp), Some(packet)) => ipv4::View::known(packet).set_dscp(dscp),
            (Network::Ipv6, Some(dscp), Some(packet)) => ipv6::View::known(packet).set_dscp(dscp),
            _ => {
                let tag = headers.get_mut(ethernet::HEADER_LEN..).map(vlan::View::parse);
                // Without a tag it has the default priority, which is never remapped.
                if let Some(Ok(mut tag)) = tag.filter(|_| descriptor.pcp.is_some()) {
                    let before = tag.tag();
                    tag.set_tag(vlan::Tag { priority: self.pcp, ..before });
                }
            }
        }
    }
}
