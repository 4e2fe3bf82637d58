//! Reasons for the end of a frame: every drop and every consumed frame has a name.

use core::ops::{Deref, DerefMut};
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

/// Declares reasons: enums with names, and what follows from each.
macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $(#[doc = $about:literal] $variant:ident = $text:literal, $follow_up:literal;)+ }) => {
        units::named! {
            $(#[$meta])*
            #[derive(PartialOrd, Ord, Hash)]
            $name [serde, ALL, about] { $(#[doc = $about] $variant = $text,)+ }
        }

        impl $name {
            /// The number of variants.
            pub const COUNT: usize = Self::ALL.len();

            /// Advice after a drop, or the use that the gateway makes of a frame that it consumes.
            pub const fn follow_up(self) -> &'static str {
                match self {
                    $(Self::$variant => $follow_up,)+
                }
            }

            /// Its number, to index a table of `COUNT` rows.
            #[inline]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

reasons! {
    /// The reason for a drop. Each has a counter per port and priority.
    DropReason {
        /// Shorter than an Ethernet header, or cut within it by the snap length.
        Runt = "runt", "The capture; the cable.";
        /// Longer than the largest frame of its ingress or egress port, or than the egress device sends.
        Oversize = "oversize", "`max_frame` of both ports; the [MTU](running.md#mtu).";
        /// Its source address is a group address.
        InvalidSource = "invalid_source", "The sender.";
        /// Sent to 01-80-C2-00-00-00 to -0F.
        LinkLocal = "link_local", "Nothing: LLDP, STP and the like end at the next hop.";
        /// A MAC control frame that is neither PAUSE nor PFC, too short, tagged or for another station; or a grant frame, peer delay message or LLDPDU that is malformed, tagged or of another version, on a port that reads it.
        MalformedControl = "malformed_control", "The sender.";
        /// LSCC feedback through a port without LSCC, while another port has it.
        ForeignFeedback = "foreign_feedback", "A sender that speaks LSCC, or forges it.";
        /// A grant frame of [BifrostX](bifrostx.md), [port grants](port-grants.md) or [credits](cbfc.md), through a port with none of them, or with another scheme or counter.
        ForeignGrants = "foreign_grants", "`flow_control` of both ends; a sender that forges grants.";
        /// A frame with a shim of [repair](repair.md), through a port that repairs nothing while another one does; or a status of repair, through a port that reads other grant frames.
        ForeignRepair = "foreign_repair", "`[port.repair]` of both ends; a sender that forges shims.";
        /// A frame that [repair](repair.md) has brought before.
        RepairDuplicate = "repair_duplicate", "Nothing: the answer to its status was lost or late.";
        /// A frame with a number that [repair](repair.md) cannot expect, or with a shim that is not whole.
        RepairWindow = "repair_window", "`repair.frames` of both ends; a sender that forges shims.";
        /// A gPTP frame through a port without [`[port.link_delay]`](headroom.md), or none of peer delay.
        ForeignPtp = "foreign_ptp", "Nothing, unless the neighbour is to measure the link.";
        /// A peer delay request while another is answered, or beyond a burst of 1,000 and then 1,000 a second.
        PeerDelayLimit = "peer_delay_limit", "A neighbour that floods.";
        /// A [direct INT](int.md#direct-int) through a long port with `direct = "int"`.
        ForeignDirectInt = "foreign_direct_int", "A host behind the far end that forges them.";
        /// Its port is not patched, or it was to be flooded and there is no other port.
        NotConnected = "not_connected", "`forwarding.pairs`.";
        /// Its destination is behind the port it came from.
        SamePort = "same_port", "Nothing.";
        /// Routed port: sent to another station's MAC address.
        NotForUs = "not_for_us", "The sender's ARP entry for the gateway.";
        /// Routed port: a malformed IP header.
        MalformedIp = "malformed_ip", "The sender.";
        /// Routed port: a wrong IPv4 header checksum.
        IpChecksum = "ip_checksum", "The sender; the cable.";
        /// Routed port: neither IPv4 nor IPv6 nor ARP.
        NotRoutable = "not_routable", "The sender.";
        /// Its TTL or hop limit ran out.
        TtlExpired = "ttl_expired", "A routing loop.";
        /// No route to its destination.
        NoRoute = "no_route", "`forwarding.route`; the routes of the [kernel](kernel.md).";
        /// Its destination is on a port's own network, but no neighbour; or no next hop of its route is one.
        NoNeighbour = "no_neighbour", "`forwarding.neighbour`; the neighbours of the [kernel](kernel.md).";
        /// Sent to the gateway, which serves only ARP, neighbour solicitation and echo.
        LocalUnserved = "local_unserved", "The sender.";
        /// A request to the gateway (ARP, neighbour solicitation, echo) beyond a burst of 1,000 and then 1,000 a second through one port; its priority may be lossless.
        AnswerLimit = "answer_limit", "A host that scans or floods.";
        /// A frame for the [kernel](kernel.md) beyond what a port may give it of its class.
        PuntLimit = "punt_limit", "A host that scans or floods.";
        /// A frame for the [kernel](kernel.md), which is behind with reading them.
        PuntFull = "punt_full", "The load of the machine.";
        /// ARP or neighbour advertisement that claims an address of the gateway.
        SpoofedAddress = "spoofed_address", "The station; a second gateway with the same address.";
        /// Lossy, and the shared pool has no room.
        SharedPoolFull = "shared_pool_full", "`buffer.shared`.";
        /// **Lossless**, and its group's headroom is used up.
        HeadroomExceeded = "headroom_exceeded", "A sender that does not obey PFC; `headroom` against the distance.";
        /// **Lossless**, and the headroom pool is used up.
        HeadroomPoolFull = "headroom_pool_full", "`buffer.headroom`: it is oversubscribed.";
        /// Lossy, and its queue is at its threshold.
        QueueThreshold = "queue_threshold", "Congestion; the queue's `lossy` settings.";
        /// Lossy, and the egress pool of lossy queues is full.
        EgressPoolFull = "egress_pool_full", "`buffer.egress_lossy`.";
        /// Lossy, while memory for received frames ran low.
        MemoryLow = "memory_low", "`dpdk.pack_below`; the [sum](configuration.md#memory) that `longspan check` prints.";
        /// Lossy, while a quarter of the [receive ring](running.md#a-core-that-is-too-slow) of a port with lossless priorities was unread.
        ReceiveRing = "receive_ring", "More cores; longer frames; less best effort at this port.";
        /// A control frame that came to another [lane](running.md#lanes) than the first, where 16 of the port wait for that one, or of more than 1,518 bytes.
        LeadBusy = "lead_busy", "A neighbour that floods, or whose control frames are longer than those of Ethernet.";
        /// A peer paused its queue for so long that the [watchdog](watchdog.md) drops.
        PfcWatchdog = "pfc_watchdog", "The device behind the port; `port.watchdog`.";
        /// No buffer for the copy of a flooded frame, or for a frame of the [kernel](kernel.md).
        NoBuffer = "no_buffer", "The size of the packet pool.";
        /// A further copy of a flooded **lossless** frame: its queue is full for lossy frames, or all priorities of its port are lossless.
        FloodLimit = "flood_limit", "A host that floods at a lossless priority; put broadcast and multicast into a lossy one.";
    }
}

reasons! {
    /// The reason for which the gateway consumed a frame.
    Consumed {
        /// A PFC frame.
        Pfc = "pfc", "Obeys it for the priorities set to obey; counts the others.";
        /// An 802.3x PAUSE frame.
        Pause = "pause", "Counts it; obeys it only if the port is set to.";
        /// An ARP request for an address of the port.
        ArpRequest = "arp_request", "Answers.";
        /// Another ARP frame, on a routed port.
        ArpOther = "arp_other", "Nothing: neighbours are static.";
        /// An echo request to an address of the gateway.
        Echo = "echo", "Answers.";
        /// An IPv6 neighbour solicitation for an address of the port.
        NeighbourSolicitation = "neighbour_solicitation", "Answers.";
        /// ARP or neighbour discovery, with a [kernel path](kernel.md).
        PuntNeighbour = "punt_neighbour", "Gives it to the kernel.";
        /// BFD of one hop to an address of the gateway, with a [kernel path](kernel.md).
        PuntLiveness = "punt_liveness", "Gives it to the kernel.";
        /// BGP, OSPF or BFD of several hops to an address of the gateway, with a [kernel path](kernel.md).
        PuntRouting = "punt_routing", "Gives it to the kernel.";
        /// Another frame to an address of the gateway or to a group of its link, with a [kernel path](kernel.md).
        PuntOther = "punt_other", "Gives it to the kernel.";
        /// A grant frame on a port with [BifrostX](bifrostx.md), [port grants](port-grants.md) or [credits](cbfc.md).
        Grants = "grants", "Follows it, or counts why not.";
        /// A message of [peer delay](headroom.md).
        PeerDelay = "peer_delay", "Answers a request, or takes an answer.";
        /// An LLDPDU on a port with a [link agent](link-agent.md).
        Lldp = "lldp", "Reads it, unless there were too many.";
        /// Rate feedback on a port with [LSCC](lscc.md).
        RateFeedback = "rate_feedback", "Adopts the rate, or counts why not.";
        /// A CNP from the far side, or of a receiver with [supplemental CNPs](supplement.md), too soon after another one of its flow.
        SuppressedCnp = "suppressed_cnp", "With LSCC, flags the flow.";
    }
}

/// One value for each [`DropReason`], by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct PerReason<T>(#[serde(with = "BigArray")] [T; DropReason::COUNT]);

impl<T: Copy + Default> Default for PerReason<T> {
    fn default() -> Self {
        Self([T::default(); DropReason::COUNT])
    }
}

impl<T> Deref for PerReason<T> {
    type Target = [T; DropReason::COUNT];

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for PerReason<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a PerReason<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_name_and_number() {
        for (number, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), number);
            assert_eq!(DropReason::ALL.iter().filter(|other| other.name() == reason.name()).count(), 1);
        }
    }
}
