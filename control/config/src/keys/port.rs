//! `[[port]]` and `[profile.port.NAME]`.

use core::ops::Range;

use ipnet::IpNet;
use switch::program::{Orientation, PortSettings};
use units::{BitRate, Bytes, Distance, Interval, Priority};
use wire::ethernet::MacAddress;

use crate::flow_control::bifrost::keys::BifrostDecl;
use crate::flow_control::capfc::keys::CaPfcDecl;
use crate::flow_control::cbfc::keys::CbfcDecl;
use crate::flow_control::p_pfc::keys::PPfcDecl;
use crate::flow_control::port_grants::keys::PortGrantsDecl;
use crate::flow_control::relay::keys::RelayDecl;
use crate::keys::classify::{ClassifyDecl, RemapDecl};
use crate::keys::long_haul::{LONGEST, WatchdogChoice};
use crate::keys::queueing::{LosslessDecl, PfcDecl, QueueDecl, RateLimitDecl};
use crate::keys::running::{DeviceDecl, EmulationDecl};
use crate::link_agent::LldpDecl;
use crate::link_delay::keys::LinkDelayDecl;
use crate::notes::Problems;
use crate::notifiers::lscc::keys::LsccDecl;
use crate::notifiers::supplement::SupplementDecl;
use crate::notifiers::themis::keys::ThemisDecl;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::repair::keys::RepairDecl;
use crate::section::Section;
use crate::table::{List, Profiles, Table, table, values};
use crate::value::{Length, Name, Written, words};

/// Header and one VLAN tag, which a frame has beyond its MTU.
pub(crate) const MTU_OVERHEAD: Bytes = Bytes(18);
/// SONiC's default MTU of 9100 and a VLAN tag.
const MAX_FRAME: Bytes = Bytes(9_118);
/// The length of the equator, rounded.
pub(crate) const FARTHEST: Distance = Distance(40_000_000);

words! {
    /// Which flow control a port speaks to its upstream.
    pub(crate) enum FlowControlWord {
        "pfc" => Pfc, "bifrost" => Bifrost, "bifrostx" => BifrostX, "cbfc" => Cbfc, "p-pfc" => PPfc, "capfc" => CaPfc,
        "relay" => Relay, "port-grants" => PortGrants
    }
}

/// The tables of schemes, each with the words that choose a scheme which uses it.
pub(crate) const SCHEME_TABLES: [(&str, &[FlowControlWord]); 6] = [
    ("bifrost", &[FlowControlWord::Bifrost, FlowControlWord::BifrostX, FlowControlWord::PortGrants]),
    ("cbfc", &[FlowControlWord::Cbfc]),
    ("p_pfc", &[FlowControlWord::PPfc]),
    ("capfc", &[FlowControlWord::CaPfc]),
    ("relay", &[FlowControlWord::Relay]),
    ("port_grants", &[FlowControlWord::PortGrants]),
];

table! {
    /// One port.
    PortDecl, check {
        /// Its name, of the same characters as the gateway's; unique
        name: At<Name>, required("name = \"dc0\""), own, restart;
        /// Rate of the link
        rate: At<BitRate>, auto("required");
        /// A `[profile.port.NAME]`
        profile: At<String>, own;
        /// The address that the port speaks from and receives routed frames at; not a group address
        mac: At<MacAddress>, auto("`02:00:00:00:00:01` for the first port, and so on, at [every gateway](link-agent.md#two-gateways)"), own;
        /// The gateway's own addresses on this port, each once in the file: it answers ARP, neighbour solicitations and echo requests for them
        addresses: List<IpNet>, auto("none"), own;
        /// Longest packet in a frame. The longest frame is 18 bytes more: header and one VLAN tag
        mtu: At<Length>, within(Length(Bytes(46))..=Length(Bytes(9_198))), auto("9100");
        /// Longest frame without FCS
        max_frame: At<Length>, within(Length(Bytes(64))..=Length(PortSettings::LARGEST_FRAME)), instead_of(mtu), auto("9118");
        /// Length of the fibre, one way. Headroom that is computed or checked needs it
        distance: At<Distance>, within(Distance(0)..=FARTHEST), auto("unknown");
        /// Delays of NICs, PHYs and worker turns from a frame's arrival to the departure of its pause, both ends together. A running gateway [adds what is missing](running.md#lateness)
        interface_delay: At<Interval>, within(Interval::ZERO..=LONGEST), default(Interval::from_micros(1));
        /// How far ahead of the link the port hands frames to the device. A received pause acts within this and one frame. Zero in a replay, which has no device
        tx_window: At<Interval>, within(Interval::ZERO..=Interval::from_millis(1)), auto("`\"2us\"`, or the [response time](#headroom) of IEEE 802.3 if it is less: 1.638us at 25G, 1.158us at 400G");
        /// Whether the port adds [in-band telemetry](int.md) to data packets of HPCC; only the rates listed below have a code
        int: At<bool>, default(false);
        /// The scheme that keeps the upstream from overflowing the port. `"pfc"`: XOFF and XON of `[[port.lossless]]`. `"bifrost"`: [`[port.bifrost]`](#portbifrost), with PFC beneath it. `"bifrostx"`: the same with [grants for each priority](bifrostx.md), if the other end speaks it too. `"cbfc"`: [`[port.cbfc]`](#portcbfc), credits, which the other end must speak. `"p-pfc"`: [`[port.p_pfc]`](#portp_pfc), `"capfc"`: [`[port.capfc]`](#portcapfc), both with PFC beneath. `"relay"`: the pauses that [another port](#portrelay) receives, with PFC beneath. `"port-grants"`: Bifrost with [grants for each port of the far gateway](port-grants.md), if the other end speaks it too
        flow_control: At<FlowControlWord>, default(FlowControlWord::Pfc);
        /// The level of the neighbour in a network of levels: above (`"uplink"`, toward the spine), below (`"downlink"`, hosts included), or the same (`"crosslink"`)
        orientation: At<Orientation>, auto("none");
        /// `{ 3 = 5 }`: frames of priority 3 that come in through this port and [bounce](deadlock.md), by an uplink to an uplink, wait and leave in priority 5. Needs `orientation`, and routes or a patch
        remap: RemapDecl, auto("none");
        classify: ClassifyDecl, absent;
        lossless: Vec<LosslessDecl>;
        queue: Vec<QueueDecl>;
        /// Limit of the whole port, as of a queue
        rate_limit: RateLimitDecl, auto("none");
        pfc: PfcDecl, absent;
        bifrost: BifrostDecl;
        cbfc: CbfcDecl;
        p_pfc: PPfcDecl, absent;
        capfc: CaPfcDecl, absent;
        relay: RelayDecl;
        port_grants: PortGrantsDecl, absent;
        repair: RepairDecl, restart;
        link_delay: LinkDelayDecl;
        lldp: LldpDecl;
        lscc: LsccDecl;
        themis: ThemisDecl;
        supplement: SupplementDecl;
        watchdog: WatchdogChoice;
        device: DeviceDecl, own, restart;
        emulation: EmulationDecl, restart;
    }
}

impl PortDecl {
    /// Whether the flow control of the port reads the keys of `table`.
    pub(crate) fn uses_table(&self, table: &str) -> bool {
        SCHEME_TABLES.iter().any(|(name, words)| *name == table && words.contains(&self.flow_control()))
    }

    fn check(&self, section: &Section<'_, '_>) {
        let priority = |at: &'_ At<Priority>| format!("priority {} of this port", at.value);
        let lossless = self.lossless.iter().flatten().flat_map(|it| values(&it.priorities));
        section.problems.refuse_second(lossless.map(|at| (&at.place, priority(at))));
        let queues = self.queue.iter().flatten().flat_map(|it| values(&it.priorities));
        section.problems.refuse_second(queues.map(|at| (&at.place, priority(at))));
    }

    /// The port, with absent keys taken from its profiles.
    pub(super) fn resolved(self, profiles: &AllProfiles, problems: &Problems<'_>) -> Self {
        let mut port = self;
        if let Some(mut profile) = find("port profile", &port.profile, &profiles.port, problems) {
            // A scheme has no use for another scheme's table.
            if port.flow_control.is_some() {
                for (table, words) in SCHEME_TABLES {
                    if !words.contains(&port.flow_control()) {
                        profile.remove(table);
                    }
                }
            }
            port = port.over(profile);
        }
        for group in port.lossless.iter_mut().flatten() {
            if let Some(profile) = find("lossless profile", &group.profile, &profiles.lossless, problems) {
                *group = core::mem::take(group).over(profile);
            }
        }
        for queue in port.queue.iter_mut().flatten() {
            if let Some(mut profile) = find("queue profile", &queue.profile, &profiles.queue, problems) {
                // Both keys say one thing.
                if queue.scheduling.is_some() || queue.weight.is_some() {
                    (profile.scheduling, profile.weight) = (None, None);
                }
                *queue = core::mem::take(queue).over(profile);
            }
        }
        port
    }

    /// Reports keys that are missing even with its profiles. A key with a problem in `span`, the text of the port, is
    /// not missing.
    pub(super) fn check_whole(&self, span: &Range<usize>, problems: &Problems<'_>) {
        if self.rate.is_none() && !problems.has_any_at("port.rate", span) {
            problems.error(&self.place.of_key("rate"), ProblemKind::Missing { example: "rate = \"100G\"" });
        }
        if problems.has_any_at("port.flow_control", span) {
            return;
        }
        for (table, words) in SCHEME_TABLES {
            if let Some(place) = self.place_of(table).filter(|_| !words.contains(&self.flow_control())) {
                problems.error(place, ProblemKind::SchemeNotChosen { word: words[0].write() });
            }
        }
    }

    /// The longest frame, without FCS.
    pub fn longest_frame(&self) -> Bytes {
        let of_mtu = self.mtu.as_ref().map(|mtu| mtu.value.0 + MTU_OVERHEAD);
        of_mtu.or(self.max_frame.as_ref().map(|frame| frame.value.0)).unwrap_or(MAX_FRAME)
    }

    /// The group that is declared for `priority`.
    pub fn group_of(&self, priority: Priority) -> Option<&LosslessDecl> {
        let mut groups = self.lossless.iter().flatten();
        groups.find(|group| values(&group.priorities).any(|it| it.value == priority))
    }

    /// The queue that is declared for `priority`.
    pub fn queue_of(&self, priority: Priority) -> Option<&QueueDecl> {
        let mut queues = self.queue.iter().flatten();
        queues.find(|queue| values(&queue.priorities).any(|it| it.value == priority))
    }

    /// Its name; empty if it has none, which is an error elsewhere.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| name.value.0.as_str())
    }
}

table! {
    /// Profiles say once what several ports, groups or queues share.
    AllProfiles {
        lossless: Profiles<LosslessDecl>;
        queue: Profiles<QueueDecl>;
        port: Profiles<PortDecl>;
    }
}

/// The profile of that name. Reports an error if there is none.
fn find<T: Clone>(
    what: &'static str,
    name: &Option<At<String>>,
    profiles: &Option<Profiles<T>>,
    problems: &Problems<'_>,
) -> Option<T> {
    let At { value: name, place } = name.as_ref()?;
    let profile = profiles.as_ref().and_then(|profiles| profiles.get(name));
    if profile.is_none() {
        let known = profiles.iter().flatten().map(|(name, _)| name.as_str());
        problems.error_with(place, || ProblemKind::undefined(what, name, known));
    }
    profile.cloned()
}
