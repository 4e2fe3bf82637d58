//! The figures of a link agent.

use super::LinkAgentReport;
use super::mismatch::{Mismatch, Mismatches};
use super::neighbours::Neighbour;
use crate::figure::{Figure, FigureList, Metric, Reading, Samples, Section, Seen, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "lldp",
    view: "neighbours",
    runs_on: |settings| settings.link_agent.is_some(),
    report: &[
        Section {
            name: "",
            figures: &[
                Figure::gauge("neighbours", |it| Some((report(it)?.neighbours.iter().count() as u64).into()))
                    .shown("lldp_neighbours", "neighbours", "Neighbours whose announcement holds."),
                Figure::gauge("age_ns", age).shown(
                    "lldp_age",
                    "age",
                    "Time since the neighbour that has been silent for longest was heard.",
                ),
                Figure::counter("sent", |it| Some(report(it)?.sent.into())).shown(
                    "lldp_sent",
                    "sent",
                    "LLDPDUs that the port sent.",
                ),
                Figure::counter("received", |it| Some(report(it)?.received.into())).shown(
                    "lldp_received",
                    "received",
                    "Valid LLDPDUs that came in.",
                ),
                Figure::counter("unread", |it| Some(report(it)?.unread.into())).shown(
                    "lldp_unread",
                    "unread",
                    "LLDPDUs that came in beyond the limit, and were not read.",
                ),
                Figure::counter("discarded_tlvs", |it| Some(report(it)?.discarded_tlvs.into())).shown(
                    "lldp_discarded_tlvs",
                    "bad TLVs",
                    "Malformed or repeated TLVs in the LLDPDUs that were read.",
                ),
                Figure::counter("new", |it| Some(report(it)?.counters.new.into())),
                Figure::counter("changed", |it| Some(report(it)?.counters.changed.into())),
                Figure::counter("left", |it| Some(report(it)?.counters.left.into())),
                Figure::counter("aged", |it| Some(report(it)?.counters.aged.into())),
                Figure::counter("displaced", |it| Some(report(it)?.counters.displaced.into())),
                Figure::counter("refused", |it| Some(report(it)?.counters.refused.into())),
            ],
        },
        Section {
            name: "mismatch",
            figures: &[
                Figure::gauge(Mismatch::PfcPriorities.name(), |it| found(it, Mismatch::PfcPriorities)),
                Figure::gauge(Mismatch::PfcCapability.name(), |it| found(it, Mismatch::PfcCapability)),
                Figure::gauge(Mismatch::MaxFrame.name(), |it| found(it, Mismatch::MaxFrame)),
                Figure::gauge(Mismatch::Ets.name(), |it| found(it, Mismatch::Ets)),
                Figure::gauge(Mismatch::Application.name(), |it| found(it, Mismatch::Application)),
                Figure::gauge(Mismatch::SeveralNeighbours.name(), |it| {
                    found(it, Mismatch::SeveralNeighbours)
                }),
                Figure::gauge(Mismatch::SameChassis.name(), |it| found(it, Mismatch::SameChassis)),
            ],
        },
    ],
    now: &[],
    metrics: &[
        Metric {
            name: "lldp_mismatch",
            help: "Whether there is a mismatch with a neighbour, 1 or 0, by kind.",
            samples: Samples::By(
                "kind",
                &[
                    ("pfc_priorities", "mismatch.pfc_priorities", &[]),
                    ("pfc_capability", "mismatch.pfc_capability", &[]),
                    ("max_frame", "mismatch.max_frame", &[]),
                    ("ets", "mismatch.ets", &[]),
                    ("application", "mismatch.application", &[]),
                    ("several_neighbours", "mismatch.several_neighbours", &[]),
                    ("same_chassis", "mismatch.same_chassis", &[]),
                ],
            ),
        },
        Metric {
            name: "lldp_neighbour_changes",
            help: "Changes of neighbours, by what came of them.",
            samples: Samples::By(
                "result",
                &[
                    ("new", "new", &[]),
                    ("changed", "changed", &[]),
                    ("left", "left", &[]),
                    ("aged", "aged", &[]),
                    ("displaced", "displaced", &[]),
                    ("refused", "refused", &[]),
                ],
            ),
        },
    ],
    tables: &[Table {
        title: "LLDP: announcements, and neighbours that came and went",
        in_summary: false,
        columns: &[
            ("new", &["new"]),
            ("changed", &["changed"]),
            ("left", &["left"]),
            ("aged", &["aged"]),
            ("displaced", &["displaced"]),
            ("refused", &["refused"]),
        ],
    }],
};

fn report(seen: Seen<'_>) -> Option<&LinkAgentReport> {
    seen.look.link_agent.as_ref()
}

fn age(seen: Seen<'_>) -> Option<Reading<'_>> {
    let heard = report(seen)?.neighbours.iter().map(|it: &Neighbour| it.heard).min()?;
    Some(seen.look.at.since(heard).into())
}

fn found(seen: Seen<'_>, mismatch: Mismatch) -> Option<Reading<'_>> {
    let ours = &seen.settings.link_agent.as_ref()?.message;
    let is_there = Mismatches::among(ours, &report(seen)?.neighbours).contains(mismatch);
    Some(u64::from(is_there).into())
}
