//! Reasons for the end of a frame: every drop and every consumed frame has a name.

use core::ops::{Deref, DerefMut};
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

/// Names a closed set of reasons once: the variants, their order, their stable names.
macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];
            /// The number of variants.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in reports, metrics and documentation; stable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
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
    /// The reason for a drop. Each has a counter per port and priority and a line in `docs/drops.md`.
    DropReason {
        /// Shorter than an Ethernet header.
        Runt = "runt",
        /// Longer than the port's largest frame.
        Oversize = "oversize",
        /// A source address that no station can have: multicast.
        InvalidSource = "invalid_source",
        /// A link-local group address (IEEE 802.1Q table 8-1), which no bridge forwards.
        LinkLocal = "link_local",
        /// A MAC control frame of an unknown opcode, or a malformed one; a malformed grant frame,
        /// message of peer delay or LLDPDU.
        MalformedControl = "malformed_control",
        /// A rate feedback message that came in through a port without LSCC.
        ForeignFeedback = "foreign_feedback",
        /// A grant frame that came in through a port whose scheme has none, or that is not in the format of its
        /// scheme.
        ForeignGrants = "foreign_grants",
        /// A gPTP frame that came in through a port that does not measure its link, or other than a message of peer delay.
        ForeignPtp = "foreign_ptp",
        /// A request of peer delay while another one is being answered, or beyond the limit of answers.
        PeerDelayLimit = "peer_delay_limit",
        /// Direct INT that came in through a port whose senders get it from the gateway alone.
        ForeignDirectInt = "foreign_direct_int",
        /// The port is not connected to another one.
        NotConnected = "not_connected",
        /// Its destination was learned on the port it came from.
        SamePort = "same_port",
        /// Addressed at layer 2 to another station, on a routed port.
        NotForUs = "not_for_us",
        /// An IPv4 or IPv6 header that is malformed, on a routed port.
        MalformedIp = "malformed_ip",
        /// An IPv4 header whose checksum is wrong, on a routed port.
        IpChecksum = "ip_checksum",
        /// Neither IPv4 nor IPv6 nor ARP, on a routed port.
        NotRoutable = "not_routable",
        /// The TTL or hop limit ran out.
        TtlExpired = "ttl_expired",
        /// No route to the destination.
        NoRoute = "no_route",
        /// A route, but no static neighbour for the address.
        NoNeighbour = "no_neighbour",
        /// Addressed to the gateway itself, which does not serve that protocol.
        LocalUnserved = "local_unserved",
        /// A request to the gateway itself beyond the limit of answers through one port.
        AnswerLimit = "answer_limit",
        /// Another station claims an address of the gateway, by ARP or neighbour discovery.
        SpoofedAddress = "spoofed_address",
        /// The shared pool has no room for a lossy frame.
        SharedPoolFull = "shared_pool_full",
        /// A lossless priority group used up its headroom: a sender did not obey PFC in time, or
        /// the headroom is smaller than the link needs.
        HeadroomExceeded = "headroom_exceeded",
        /// The headroom pool, shared by all groups, is used up.
        HeadroomPoolFull = "headroom_pool_full",
        /// A lossy queue reached its dynamic or static threshold.
        QueueThreshold = "queue_threshold",
        /// The egress pool of lossy queues is full.
        EgressPoolFull = "egress_pool_full",
        /// A lossy frame that came while memory for received frames ran low.
        MemoryLow = "memory_low",
        /// A lossy frame that came while the core was too slow for the port, whose receive ring was deep.
        ReceiveRing = "receive_ring",
        /// The shard that owns its egress port lags, and the limit of frames waiting to be handed over to it is
        /// reached.
        HandoffFull = "handoff_full",
        /// The watchdog drops waiting and new frames of a queue that a peer pauses without end.
        PfcWatchdog = "pfc_watchdog",
        /// No buffer left for the copy of a flooded frame.
        NoBuffer = "no_buffer",
        /// A further copy of a flooded lossless frame: its queue is full for lossy frames, or no lossy group is there to charge.
        FloodLimit = "flood_limit",
    }
}

reasons! {
    /// The reason for which the gateway consumed a frame.
    Consumed {
        /// A PFC frame (IEEE 802.1Qbb), obeyed or not.
        Pfc = "pfc",
        /// An 802.3x PAUSE frame, obeyed or not.
        Pause = "pause",
        /// An ARP request for an address of the gateway: answered.
        ArpRequest = "arp_request",
        /// Any other ARP frame, on a routed port.
        ArpOther = "arp_other",
        /// An ICMP or ICMPv6 echo request to the gateway: answered.
        Echo = "echo",
        /// An IPv6 neighbour solicitation for an address of the gateway: answered.
        NeighbourSolicitation = "neighbour_solicitation",
        /// A grant frame of BifrostX, port grants or credits, taken or not.
        Grants = "grants",
        /// A message of peer delay (IEEE 802.1AS), taken or not.
        PeerDelay = "peer_delay",
        /// An LLDPDU at a port with a link agent, read or not.
        Lldp = "lldp",
        /// A rate feedback message of LSCC, accepted or not.
        RateFeedback = "rate_feedback",
        /// A CNP from the far side that follows another one of its flow too soon to be passed on.
        SuppressedCnp = "suppressed_cnp",
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
