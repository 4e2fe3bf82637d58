//! The figures of Fast CNPs.

use super::FastCnpCounters;
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "fast_cnp",
    view: "flows",
    runs_on: |settings| settings.fast_cnp.is_some(),
    report: &[Section {
        name: "cnps",
        figures: &[
            Figure::counter("sent", |it| Some(counters(it)?.sent.into())).of_run("fast_cnps_sent"),
            Figure::counter("unmarked", |it| Some(counters(it)?.unmarked.into())),
            Figure::counter("translated", |it| Some(counters(it)?.translated.into()))
                .of_run("fast_cnps_translated"),
            Figure::counter("passed", |it| Some(counters(it)?.passed.into())),
            Figure::counter("unknown", |it| Some(counters(it)?.unknown.into())),
            Figure::counter("malformed", |it| Some(counters(it)?.malformed.into())),
            Figure::counter("over_flow_limit", |it| Some(counters(it)?.over_flow_limit.into())),
            Figure::counter("over_port_limit", |it| Some(counters(it)?.over_port_limit.into())),
            Figure::counter("unreachable", |it| Some(counters(it)?.unreachable.into())),
        ],
    }],
    now: &[],
    metrics: &[
        Metric {
            name: "fast_cnps",
            help: "Fast CNPs, by what the gateway did: sent, translated or passed on; or why it did neither.",
            samples: Samples::By(
                "result",
                &[
                    ("sent", "cnps.sent", &[]),
                    ("translated", "cnps.translated", &[]),
                    ("passed", "cnps.passed", &[]),
                    ("unknown", "cnps.unknown", &[]),
                    ("malformed", "cnps.malformed", &[]),
                    ("over_flow_limit", "cnps.over_flow_limit", &[]),
                    ("over_port_limit", "cnps.over_port_limit", &[]),
                    ("unreachable", "cnps.unreachable", &[]),
                ],
            ),
        },
        Metric {
            name: "fast_cnp_unmarked_packets",
            help: "Packets left unmarked because their sender got a Fast CNP.",
            samples: Samples::One("cnps.unmarked"),
        },
    ],
    tables: &[Table {
        title: "FAST CNPs",
        in_summary: true,
        columns: &[
            ("sent", &["cnps.sent"]),
            ("unmarked packets", &["cnps.unmarked"]),
            ("translated", &["cnps.translated"]),
            ("passed", &["cnps.passed"]),
            ("unknown", &["cnps.unknown"]),
            ("malformed", &["cnps.malformed"]),
            ("limited", &["cnps.over_flow_limit", "cnps.over_port_limit"]),
        ],
    }],
};

fn counters(seen: Seen<'_>) -> Option<&FastCnpCounters> {
    seen.look.fast_cnp.as_ref().filter(|_| seen.settings.fast_cnp.is_some())
}
