//! The settings of one port.

use super::{
    Bifrost, Classification, FlowControl, FlowSettings, Membership, Orientation, Red, Remap, Watchdog,
};
use crate::congestion::{Notifiers, SlowQueues};
use crate::frame::ControlFrame;
use crate::link_agent::LinkAgent;
use crate::link_delay::LinkDelay;
use crate::repair::Repair;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, PauseQuanta, Priority, PrioritySet, QueueId, QueueSet, WireBytes};
use wire::ethernet::MacAddress;
use wire::lldp::LONGEST_EMITTED;
use wire::repair::AGAIN_LEN;

/// One port: its ingress groups and its egress queues.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSettings {
    /// The name that operators use; unique.
    pub name: String,
    /// The source address of frames that the port makes, and the destination address of frames to be routed.
    pub mac: MacAddress,
    /// Addresses of the gateway on this port, with their prefixes: ARP, neighbour solicitations
    /// and echo requests for them are answered.
    pub addresses: Vec<IpNet>,
    /// Rate of the link.
    pub rate: BitRate,
    /// Longest frame that passes, without FCS: 64 to [`PortSettings::LARGEST_FRAME`].
    pub max_frame: Bytes,
    /// The longest packet without Ethernet header that the port's device sends, if it sends fewer than `max_frame` promises.
    /// A frame with a VLAN tag may be four bytes longer, as in Linux.
    pub device_mtu: Option<Bytes>,
    /// The lead over the link clock with which frames are handed to the device. Zero if nothing lies between the
    /// switch and the wire (replay, simulation). A received pause takes effect within this time and one frame.
    pub tx_window: Interval,
    /// Its bundle, if it is a member of one.
    pub bundle: Option<Membership>,
    /// The rule for priorities.
    pub classification: Classification,
    /// The level of its neighbour, where the network has levels.
    pub orientation: Option<Orientation>,
    /// The isolated priorities of frames that come in through the port and bounce.
    pub remap: Remap,
    /// Ingress: one priority group per priority.
    pub groups: [GroupSettings; Priority::COUNT],
    /// Egress: the queues, in the order of their numbers, [`QueueSet::CAPACITY`] at most. The first eight belong to
    /// priorities 0 to 7; frames wait there unless forwarding chooses another queue of their priority.
    pub queues: Vec<QueueSettings>,
    /// Limit of the whole port below its link rate.
    pub rate_limit: Option<RateLimit>,
    /// Priority-based flow control.
    pub pfc: PfcSettings,
    /// The scheme that keeps the upstream from overflowing the port.
    pub flow_control: FlowControl,
    /// The schemes that notify senders.
    pub notifiers: Notifiers,
    /// The queues in which a scheme of another port slows flows down.
    pub slow: Option<SlowQueues>,
    /// The watchdog over received pauses.
    pub watchdog: Option<Watchdog>,
    /// Repair of what the link loses; without it, frames with a shim are dropped.
    pub repair: Option<Repair>,
    /// The measurement of the link's delay; without it, messages of peer delay are dropped.
    pub link_delay: Option<LinkDelay>,
    /// LLDP on the port; without it, LLDPDUs are forwarded or dropped as any other frame.
    pub link_agent: Option<Box<LinkAgent>>,
    /// Whether data packets that ask for in-band telemetry get it: see [`wire::int`]. Only for rates that
    /// [`wire::int::LinkRate`] has.
    pub int: bool,
}

impl PortSettings {
    /// Longest frame that a port can be set to pass, in bytes without FCS.
    pub const LARGEST_FRAME: Bytes = Bytes(9_216);

    /// Longest frame that the port can have begun to send when something is due there, in bytes without FCS: data, a message
    /// of a scheme, or an announcement of its link agent.
    pub fn longest_sent(&self) -> Bytes {
        let announcement = if self.link_agent.is_some() { LONGEST_EMITTED } else { 0 };
        let longest = self.max_frame + self.added_on_link();
        longest.max(Bytes(announcement.max(ControlFrame::CAPACITY) as u64))
    }

    /// What the longest frame may get beyond `max_frame` on the link, in bytes: a shim of repair.
    pub fn added_on_link(&self) -> Bytes {
        Bytes(self.repair.map_or(0, |_| AGAIN_LEN as u64))
    }

    /// Frames on the wire that are lost and come in once more, beyond what the flow control lets in; zero without repair.
    pub fn repaired_in_flight(&self) -> WireBytes {
        self.repair.map_or(WireBytes(0), |it| it.in_flight(self.rate))
    }

    /// What may be lost before the port knows of it; zero without repair.
    pub fn lost_unknown(&self) -> WireBytes {
        self.repair.map_or(WireBytes(0), |it| it.unknown(self.rate))
    }

    /// The most by which a weighted queue can get ahead of another of the same weight while both hold frames: what a visit
    /// of the scheduler grants, a frame left over from the visit before, and a frame of the other that did not fit its own.
    pub fn longest_visit(&self) -> WireBytes {
        let frame = WireBytes::of_frame(self.max_frame);
        longest_quantum(&self.queues, self.max_frame, self.rate) + frame + frame
    }

    /// A port of `rate` that forwards and promises nothing: groups are lossy, queues are strict and take what the egress
    /// pool has, nothing is marked, and pauses are ignored. XOFF, if it is ever sent, asks for the longest pause.
    pub fn lossy(name: impl Into<String>, mac: MacAddress, rate: BitRate) -> Self {
        let lossy = LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(Bytes::MAX) };
        let queue = |priority| QueueSettings {
            priority,
            scheduling: Scheduling::Strict,
            rate_limit: None,
            red: None,
            lossy,
        };
        let obey = PrioritySet::EMPTY;
        Self {
            name: name.into(),
            mac,
            addresses: Vec::new(),
            rate,
            max_frame: Self::LARGEST_FRAME,
            device_mtu: None,
            tx_window: Interval::ZERO,
            bundle: None,
            classification: Classification::default(),
            orientation: None,
            remap: Remap::default(),
            groups: [GroupSettings::Lossy; Priority::COUNT],
            queues: Priority::all().map(queue).collect(),
            rate_limit: None,
            pfc: PfcSettings { pause: PauseQuanta::MAX, obey, obey_global_pause: false },
            flow_control: FlowControl::Pfc,
            notifiers: Notifiers::default(),
            slow: None,
            watchdog: None,
            repair: None,
            link_delay: None,
            link_agent: None,
            int: false,
        }
    }

    /// The settings of Bifrost, where it runs.
    pub const fn bifrost(&self) -> Option<&Bifrost> {
        self.flow_control.bifrost()
    }

    /// The flows that the port must keep for its schemes; `None` if no scheme notifies senders.
    pub fn flows(&self) -> Option<FlowSettings> {
        self.notifiers.flows(self.rate)
    }

    /// The queues that belong to one of `priorities`.
    pub fn queues_of(&self, priorities: PrioritySet) -> QueueSet {
        let numbered = self.queues.iter().enumerate();
        let belongs = numbered.filter(|(_, queue)| priorities.contains(queue.priority));
        belongs.filter_map(|(index, _)| QueueId::new(index)).collect()
    }

    /// The priorities that are lossless at ingress.
    pub fn lossless(&self) -> PrioritySet {
        Priority::all().filter(|priority| self.groups[priority.index()].lossless().is_some()).collect()
    }
}

/// The guarantee of a priority group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupSettings {
    /// None: frames are dropped at egress when their queue is full.
    #[default]
    Lossy,
    /// No loss: the sender is paused in time.
    Lossless(LosslessGroup),
}

impl GroupSettings {
    /// The lossless settings, if it is lossless.
    #[inline]
    pub fn lossless(&self) -> Option<&LosslessGroup> {
        match self {
            Self::Lossy => None,
            Self::Lossless(group) => Some(group),
        }
    }

    /// As [`Self::lossless`], mutably.
    pub fn lossless_mut(&mut self) -> Option<&mut LosslessGroup> {
        match self {
            Self::Lossy => None,
            Self::Lossless(group) => Some(group),
        }
    }
}

/// A lossless priority group (`ingress_lossless_profile` of the SONiC model).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LosslessGroup {
    /// Bytes that the group always has, outside the pool (`size`).
    pub reserved: Bytes,
    /// The level at which the sender is paused.
    pub xoff: Threshold,
    /// The sender is resumed when the group holds less than this (`xon`), or nothing.
    pub xon: Bytes,
    /// With a dynamic threshold, the sender is also resumed below the threshold minus this (`xon_offset`), if that
    /// is more.
    pub xon_offset: Bytes,
    /// The most that it may hold in the headroom pool while it is paused (`xoff` of the profile).
    pub headroom: Bytes,
}

/// The most that a group or queue may hold of a shared pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Threshold {
    /// A fixed level, reserved bytes included.
    Static(Bytes),
    /// A share of the free bytes: Choudhury and Hahne, "Dynamic queue length thresholds".
    Dynamic(DynamicThreshold),
}

/// `alpha = 2^n`, for n from -8 to 8 (`dynamic_th`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicThreshold(i8);

impl DynamicThreshold {
    /// `alpha = 2^exponent`; `None` outside -8 to 8.
    pub const fn new(exponent: i8) -> Option<Self> {
        if exponent >= -8 && exponent <= 8 { Some(Self(exponent)) } else { None }
    }

    /// The exponent n, as in `dynamic_th`.
    pub const fn exponent(self) -> i8 {
        self.0
    }

    /// Alpha times `free`, rounded down.
    #[inline]
    pub const fn of(self, free: u64) -> u64 {
        if self.0 >= 0 { free << self.0 } else { free >> -self.0 }
    }

    /// The bytes that a holder of `held` can still take until it reaches alpha times the rest of `free`, rounded
    /// down: `held + x >= alpha * (free - x)` for no smaller x.
    #[inline]
    pub const fn room(self, free: u64, held: u64) -> u64 {
        if self.0 >= 0 {
            (free << self.0).saturating_sub(held).div_ceil((1 << self.0) + 1)
        } else {
            free.saturating_sub(held << -self.0) / ((1 << -self.0) + 1)
        }
    }

    /// Whether `bytes` are less than the [room](Self::room), without a division.
    #[inline]
    pub(crate) const fn has_more_room(self, free: u64, held: u64, bytes: u64) -> bool {
        if self.0 >= 0 {
            bytes * ((1 << self.0) + 1) < (free << self.0).saturating_sub(held)
        } else {
            (bytes + 1) * ((1 << -self.0) + 1) <= free.saturating_sub(held << -self.0)
        }
    }
}

/// One egress queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSettings {
    /// The priority to which it belongs: pauses of this priority stop it.
    pub priority: Priority,
    /// Its scheduling.
    pub scheduling: Scheduling,
    /// Limit of its rate.
    pub rate_limit: Option<RateLimit>,
    /// The marking rule.
    pub red: Option<Red>,
    /// The limit of its lossy frames. Lossless frames pass egress admission.
    pub lossy: LossyQueue,
}

/// A queue's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Before all queues of lower priority and all weighted ones. Strict queues of one priority have equal shares.
    Strict,
    /// Deficit weighted round robin (Shreedhar and Varghese) with all other weighted queues, whatever their priorities;
    /// the weight is 1 to 255, and shares are shares of wire bytes.
    Weighted(u8),
}

impl Scheduling {
    /// The longest turn of a queue, unless its longest frame takes longer. It bounds the wait of the others, however
    /// unequal the weights and slow the link.
    pub const LONGEST_TURN: Interval = Interval::from_millis(1);

    /// The weight; `None` for a strict queue.
    pub const fn weight(self) -> Option<u8> {
        match self {
            Self::Strict => None,
            Self::Weighted(weight) => Some(weight),
        }
    }
}

/// What a visit grants the heaviest of the weighted `queues` of a port of `rate`: the longest frame for the lightest, and
/// in proportion for the others, up to a millisecond of the link.
pub(crate) fn longest_quantum(queues: &[QueueSettings], max_frame: Bytes, rate: BitRate) -> WireBytes {
    let weights = || queues.iter().filter_map(|queue| queue.scheduling.weight()).map(u64::from);
    let (least, most) = (weights().min().unwrap_or(1), weights().max().unwrap_or(1));
    let frame = WireBytes::of_frame(max_frame).0;
    WireBytes((frame * most / least).min(frame.max(rate.bytes_in(Scheduling::LONGEST_TURN))))
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Sustained rate, in wire bytes.
    pub rate: BitRate,
    /// Bytes by which it may exceed that rate after idling, in wire bytes. A frame is never cut: the last one of a
    /// burst may reach beyond.
    pub burst: Bytes,
}

/// Egress admission of lossy frames (`egress_lossy_profile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossyQueue {
    /// Bytes that the queue always has, outside the egress pool (`size`).
    pub reserved: Bytes,
    /// The most that it may hold of the egress pool.
    pub threshold: Threshold,
}

/// PFC as a port sends and obeys it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcSettings {
    /// The pause time of each XOFF. It is refreshed when half of it has passed.
    pub pause: PauseQuanta,
    /// Priorities whose received pauses are obeyed; pauses of others are counted and ignored.
    pub obey: PrioritySet,
    /// Whether a received 802.3x PAUSE stops all priorities. Off in a PFC network (IEEE 802.1Q
    /// clause 36.1.1: a port uses one or the other).
    pub obey_global_pause: bool,
}

impl PfcSettings {
    /// The priorities that a received pause can stop.
    pub const fn obeyed(&self) -> PrioritySet {
        if self.obey_global_pause { PrioritySet::ALL } else { self.obey }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alpha_is_a_power_of_two_from_a_256th_to_256() {
        assert_eq!([-9, 9].map(DynamicThreshold::new), [None, None]);
        for (exponent, expected) in [(-8, 3), (-1, 500), (0, 1_000), (1, 2_000), (8, 256_000)] {
            let alpha = DynamicThreshold::new(exponent).unwrap();
            assert_eq!((alpha.exponent(), alpha.of(1_000)), (exponent, expected));
        }
    }

    proptest! {
        #[test]
        fn below_its_room_nobody_reaches_a_dynamic_threshold(
            exponent in -8_i8..=8,
            free in 0_u64..50_000,
            held in 0_u64..50_000,
        ) {
            let alpha = DynamicThreshold::new(exponent).unwrap();
            let room = alpha.room(free, held);
            let reached = |taken: u64| held + taken >= alpha.of(free - taken);
            let naive = (0..=free).find(|taken| reached(*taken)).unwrap_or(free);
            prop_assert!(room <= naive, "{room} is beyond {naive}");
            prop_assert!(naive - room <= 1 << exponent.unsigned_abs(), "{room} is far from {naive}");
        }

        #[test]
        fn what_is_less_than_the_room_of_a_dynamic_threshold_is_known_without_a_division(
            exponent in -8_i8..=8,
            free in 0_u64..50_000,
            held in 0_u64..50_000,
            beyond in -2_i64..=2,
        ) {
            let alpha = DynamicThreshold::new(exponent).unwrap();
            let room = alpha.room(free, held);
            let bytes = room.saturating_add_signed(beyond);
            prop_assert_eq!(alpha.has_more_room(free, held, bytes), bytes < room);
        }
    }
}
