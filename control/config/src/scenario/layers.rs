//! What a scenario states for switches and their ports. The layers are merged into the generated configurations.

use units::{BitRate, Bytes};

use super::tree::Node;
use crate::machine::Probability;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Shape, Table, table};

/// The rate for which the default thresholds of ECN are meant.
const ECN_AT: BitRate = BitRate::gigabits(100);

table! {
    /// Marking of data queues. The defaults are those of HPCC ("HPCC: High Precision Congestion Control", section
    /// 5.1), in proportion to the rate: 100 kB and 400 kB at 25G, and Pmax 0.2.
    EcnDecl {
        /// Whether the queues mark
        on: At<bool>, default(true);
        /// Up to here nothing is marked
        kmin: At<Bytes>, default(Bytes(400_000));
        /// Above this everything is marked
        kmax: At<Bytes>, default(Bytes(1_600_000));
        /// Probability of a mark at `kmax`
        pmax: At<Probability>, default(Probability(0.2));
        /// The rate at which `kmin` and `kmax` hold; they scale with the rate of the port
        at: At<BitRate>, auto("`\"100G\"`; with `kmin` or `kmax` stated, they hold at any rate");
    }
}

impl EcnDecl {
    /// Merges these keys over `below`. Stated thresholds hold at any rate, unless `at` is stated too.
    pub fn on_top_of(&self, mut below: Self) -> Self {
        below.at = below.at.filter(|_| !self.has_thresholds());
        self.clone().over(below)
    }

    fn has_thresholds(&self) -> bool {
        self.kmin.is_some() || self.kmax.is_some()
    }

    /// `size` scaled to a port of `rate`.
    pub fn scaled(&self, size: Bytes, rate: BitRate) -> Bytes {
        let default = (!self.has_thresholds()).then_some(ECN_AT);
        let Some(at) = self.at.as_ref().map(|at| at.value).or(default) else { return size };
        let product = u128::from(size.0) * u128::from(rate.bits_per_second());
        Bytes(u64::try_from(product / u128::from(at.bits_per_second())).unwrap_or(u64::MAX))
    }
}

/// Tables of a running gateway, which has a process.
const OF_GATEWAY: [&str; 4] = ["dpdk", "control", "process", "kernel"];
/// The keys of a bundle that follow from the links.
const OF_LINKS: [&str; 2] = ["name", "members"];
/// The same for a port.
const OF_DEVICE: [&str; 2] = ["device", "emulation"];

/// The tables of what is generated for ports. Those of a switch stand beside its table for ports.
const GENERATED: [(&str, &str); 3] =
    [("ecn", "switch.ecn"), ("lossless", "switch.lossless"), ("queue", "switch.queue")];

/// A layer for ports: the keys of `[[port]]` and `ecn`. If `lossless` or `queue` is a table, it applies to all that
/// are generated.
#[derive(Clone, Debug, Default)]
pub(super) struct PortLayer {
    pub ecn: EcnDecl,
    pub port: Option<Node>,
    pub lossless: Option<Node>,
    pub queue: Option<Node>,
}

impl PortLayer {
    /// Reads the layer in a table.
    pub fn of(section: &mut Section<'_, '_>) -> Self {
        let ecn = section.table("ecn", Table::read).unwrap_or_default();
        let mut rest = rest(section, &OF_DEVICE);
        let (lossless, queue) = (rest.take("lossless"), rest.take("queue"));
        Self { ecn, port: Some(rest), lossless, queue }
    }
}

impl Shape for PortLayer {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        section.table(key, Self::of)
    }

    fn place(&self) -> Option<&Place> {
        self.port.as_ref()?.origin.as_ref()
    }
}

/// A layer for a switch: the keys of a gateway's file, and `lanes`, which is `dpdk.lanes` there. `port` is one table for all
/// ports, and `lossless`, `queue` and `ecn` may stand in that table or beside it. `bundle` is one table for all bundles.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchLayer {
    pub document: Option<Node>,
    pub port: PortLayer,
    pub bundle: Option<Node>,
}

impl Shape for SwitchLayer {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        section.table(key, |section| {
            let stated = GENERATED.into_iter().filter(|(key, _)| section.contains(key)).collect::<Vec<_>>();
            let port = section.table("port", |port| {
                for (key, other) in stated.into_iter().filter(|(key, _)| port.contains(key)) {
                    port.problems.error(&port.place_of_key(key), ProblemKind::Conflict { other });
                }
                PortLayer::of(port)
            });
            let port = port.unwrap_or_default();
            let ecn: EcnDecl = section.table("ecn", Table::read).unwrap_or_default();
            let bundle = section.table("bundle", |bundle| rest(bundle, &OF_LINKS));
            let mut document = rest(section, &OF_GATEWAY);
            // The one key of a process that a simulated switch has.
            if let Some(lanes) = document.take("lanes") {
                document.put("dpdk", Node::table([("lanes", lanes)]));
            }
            let port = PortLayer {
                ecn: ecn.over(port.ecn),
                lossless: document.take("lossless").or(port.lossless),
                queue: document.take("queue").or(port.queue),
                ..port
            };
            Self { document: Some(document), port, bundle }
        })
    }
}

/// The keys that were not asked for. Those that are `refused` are errors.
fn rest(section: &mut Section<'_, '_>, refused: &[&str]) -> Node {
    let mut table = Node::table([]);
    for (name, place, value) in section.rest() {
        let place = Place { offset: value.span().start, ..place };
        if refused.contains(&name) {
            let with = "a simulated switch".into();
            section.problems.error(&place, ProblemKind::Meaningless { with });
        } else {
            table.put(name, Node::read(value.get_ref(), &place));
        }
    }
    table.origin = Some(section.place.clone());
    table
}
