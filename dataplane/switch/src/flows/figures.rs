//! The figures of the flows that a port keeps, once for all of its schemes.

use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};
use crate::program::FlowSettings;
use crate::shard::FlowsReport;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "flows",
    view: "flows",
    runs_on: |settings| settings.flows().is_some(),
    report: &[Section {
        name: "",
        figures: &[
            Figure::gauge("capacity", |it| Some(settings(it)?.capacity.into())),
            Figure::gauge("known", |it| Some(flows(it)?.known.into())),
            Figure::gauge("resolved", |it| Some(flows(it)?.data.resolved.into())),
            Figure::gauge("unresolved", |it| Some(flows(it)?.data.unresolved.into())),
            Figure::counter("entered", |it| Some(flows(it)?.table.entered.into())),
            Figure::counter("aged", |it| Some(flows(it)?.table.aged.into())),
            Figure::counter("evicted", |it| Some(flows(it)?.table.evicted.into())),
            Figure::counter("resolved_by_cm", |it| Some(flows(it)?.resolver.resolved_by_cm.into())),
            Figure::counter("resolved_by_psn", |it| Some(flows(it)?.resolver.resolved_by_psn.into())),
            Figure::counter("suspended", |it| Some(flows(it)?.resolver.suspended.into())),
            Figure::counter("contradicted", |it| Some(flows(it)?.resolver.contradicted.into())),
            Figure::counter("ambiguous", |it| Some(flows(it)?.resolver.ambiguous.into())),
            Figure::counter("ended", |it| Some(flows(it)?.resolver.ended.into())),
        ],
    }],
    now: &[],
    metrics: &[
        Metric {
            name: "flows",
            help: "Known flows, by whether they carry data and their sender is known.",
            samples: Samples::By(
                "state",
                &[
                    ("resolved", "resolved", &[]),
                    ("unresolved", "unresolved", &[]),
                    ("other", "known", &["resolved", "unresolved"]),
                ],
            ),
        },
        Metric {
            name: "flow_capacity",
            help: "Capacity of the flow table.",
            samples: Samples::One("capacity"),
        },
        Metric {
            name: "flows_removed",
            help: "Flows removed from the table, by reason.",
            samples: Samples::By("reason", &[("aged", "aged", &[]), ("evicted", "evicted", &[])]),
        },
    ],
    tables: &[Table {
        title: "FLOWS in the table of queue pairs, and how these were resolved",
        in_summary: true,
        columns: &[
            ("known", &["known"]),
            ("capacity", &["capacity"]),
            ("resolved", &["resolved"]),
            ("unresolved", &["unresolved"]),
            ("by CM", &["resolved_by_cm"]),
            ("by PSN", &["resolved_by_psn"]),
            ("aged", &["aged"]),
            ("evicted", &["evicted"]),
            ("suspended", &["suspended"]),
            ("ended", &["ended"]),
        ],
    }],
};

fn settings(seen: Seen<'_>) -> Option<FlowSettings> {
    seen.settings.flows().filter(|_| seen.look.flows.is_some())
}

fn flows(seen: Seen<'_>) -> Option<&FlowsReport> {
    seen.look.flows.as_ref().filter(|_| seen.settings.flows().is_some())
}
