//! Neighbours of a port, as its link agent knows them.

use serde::{Deserialize, Serialize};
use switch::PortInspection;
use switch::link_agent::{Mismatch, Mismatches, Neighbour, Neighbours};
use switch::program::PortSettings;
use units::{Nanos, PrioritySet};
use wire::lldp::Message;
use wire::roce::UDP_PORT;

/// A neighbour. Its texts are printable ASCII: whatever else it sends is escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourReport {
    /// The name of the system; empty without one.
    pub system: String,
    /// Its chassis.
    pub chassis: String,
    /// Its port on this link.
    pub port: String,
    /// The address that it sends from.
    pub mac: String,
    /// Its management address.
    pub management: Option<String>,
    /// How long its announcement holds, as of when it came.
    pub ttl_ns: u64,
    /// Time since its last announcement.
    pub age_ns: u64,
    /// Time since its first announcement.
    pub known_ns: u64,
    /// Time since it last said something else.
    pub unchanged_ns: u64,
    /// The longest frame that it takes, with FCS.
    pub max_frame_bytes: Option<u64>,
    /// Its PFC, if it speaks DCBX.
    pub pfc: Option<NeighbourPfcReport>,
    /// Its ETS configuration.
    pub ets: Option<NeighbourEtsReport>,
    /// Its priority for RoCEv2.
    pub roce_priority: Option<u8>,
    /// The differences between it and the port.
    pub mismatches: Vec<MismatchReport>,
}

/// The PFC of a neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourPfcReport {
    /// Whether it takes over that of the port.
    pub willing: bool,
    /// The traffic classes that can have PFC at a time.
    pub capability: u8,
    /// The priorities that have PFC.
    pub enabled: Vec<u8>,
}

/// The ETS configuration of a neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourEtsReport {
    /// Whether it takes over what the port recommends.
    pub willing: bool,
    /// The traffic class of each priority.
    pub classes: [u8; 8],
    /// The bandwidth of each traffic class, in hundredths.
    pub bandwidths: [u8; 8],
    /// How each traffic class is selected: 0 by strict priority, 2 by its share of the bandwidth.
    pub selections: [u8; 8],
}

/// A difference between the two ends of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MismatchReport {
    /// Its kind: a key of `mismatch` in the [report](report.md#lldp).
    pub kind: String,
    /// The settings of both ends, in words.
    pub sides: String,
}

/// The PFC of a port, as its neighbour has changed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NegotiatedReport {
    /// The priorities that have PFC now.
    pub enabled: Vec<u8>,
    /// The priorities that have it by the file; empty if the gateway is of an older version.
    #[serde(default)]
    pub configured: Vec<u8>,
    /// How often a configuration of the neighbour was applied, or ceased to be.
    pub applied: u64,
    /// How often one was refused.
    pub refused: u64,
    /// Why the present one is refused.
    pub refusal: Option<String>,
}

impl NeighbourReport {
    /// The neighbours of a port.
    pub(crate) fn of_port(settings: &PortSettings, look: &PortInspection) -> Vec<Self> {
        let (Some(agent), Some(seen)) = (&settings.link_agent, &look.link_agent) else { return Vec::new() };
        seen.neighbours.iter().map(|it| Self::new(&agent.message, it, &seen.neighbours, look.at)).collect()
    }

    /// `neighbour`, which is one of `all`.
    fn new(ours: &Message, neighbour: &Neighbour, all: &Neighbours, now: Nanos) -> Self {
        let it = &neighbour.message;
        let mismatches = Mismatches::with(ours, neighbour, all).iter();
        Self {
            system: it.system_name.to_string(),
            chassis: it.chassis.chassis_text().to_string(),
            port: it.port.port_text().to_string(),
            mac: neighbour.source.to_string(),
            management: it.management.map(|address| address.to_string()),
            ttl_ns: u64::from(it.ttl_seconds) * 1_000_000_000,
            age_ns: now.since(neighbour.heard).0,
            known_ns: now.since(neighbour.since).0,
            unchanged_ns: now.since(neighbour.changed).0,
            max_frame_bytes: it.max_frame.map(u64::from),
            pfc: it.pfc.map(|pfc| NeighbourPfcReport {
                willing: pfc.willing,
                capability: pfc.capability,
                enabled: numbers(pfc.enabled),
            }),
            ets: it.ets.map(|ets| NeighbourEtsReport {
                willing: ets.willing,
                classes: ets.classes,
                bandwidths: ets.bandwidths,
                selections: ets.selections.map(|it| it.0),
            }),
            roce_priority: it.applications.of_udp(UDP_PORT).map(|it| it.number()),
            mismatches: mismatches
                .map(|kind| MismatchReport { kind: kind.name().into(), sides: kind.sides(ours, it) })
                .collect(),
        }
    }

    /// Its mismatches with the port, in sentences without the last full stop; `None` where there are none.
    pub(crate) fn mismatched(&self) -> Option<String> {
        let alike = self.mismatches.chunk_by(|one, next| one.predicate() == next.predicate());
        let told: Vec<_> = alike.filter_map(|it| Some(self.sentence(it.first()?.predicate(), it))).collect();
        (!told.is_empty()).then(|| told.join(". "))
    }

    /// A sentence about `mismatches` of one predicate.
    fn sentence(&self, predicate: &str, mismatches: &[MismatchReport]) -> String {
        let told: Vec<_> = mismatches.iter().map(|it| format!("{} ({})", it.sides, it.kind)).collect();
        format!("The neighbour {} (port {}) {predicate}: {}", self.name(), self.port, told.join("; "))
    }

    /// The name that people know it by: that of its system, or its chassis.
    pub fn name(&self) -> &str {
        if self.system.is_empty() { &self.chassis } else { &self.system }
    }
}

impl MismatchReport {
    /// The predicate of a sentence about the neighbour with this mismatch. The subject is the neighbour's name.
    pub(crate) fn predicate(&self) -> &'static str {
        let kind = Mismatch::ALL.into_iter().find(|it| it.name() == self.kind);
        // A newer gateway may know kinds that are not in the list.
        kind.map_or("differs", Mismatch::predicate)
    }
}

impl NegotiatedReport {
    /// Whether a neighbour has turned off `priority`, which is lossless by the file.
    pub fn turned_off(&self, priority: u8) -> bool {
        self.configured.contains(&priority) && !self.enabled.contains(&priority)
    }
}

/// The numbers of `priorities`.
pub fn numbers(priorities: PrioritySet) -> Vec<u8> {
    priorities.iter().map(|it| it.number()).collect()
}
