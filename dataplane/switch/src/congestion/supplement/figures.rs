//! The figures of supplemental CNPs and thinning.

use super::Settings;
use super::SupplementCounters;
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, SeriesKind, Table};
use crate::program::PortSettings;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "supplement",
    view: "flows",
    runs_on: |settings: &PortSettings| settings.notifiers.supplement.is_some(),
    report: &[
        Section {
            name: "",
            figures: &[
                Figure::gauge("threshold_bytes", |it| Some(settings(it)?.threshold?.0.into())),
                Figure::gauge("increase_timer_ns", |it| Some(settings(it)?.increase_timer.into())),
                Figure::gauge("thinning_ns", |it| Some(settings(it)?.thinning?.into())),
            ],
        },
        Section {
            name: "cnps",
            figures: &[
                Figure::counter("supplemented", |it| Some(counters(it)?.supplemented.into()))
                    .of_run("supplemental_cnps")
                    .sampled("supplement_cnps_total", "supplemental CNPs since the start", SeriesKind::Count)
                    .plotted("Supplemental CNPs"),
                Figure::counter("not_notified", |it| Some(counters(it)?.not_notified.into())),
                Figure::counter("forgotten", |it| Some(counters(it)?.forgotten.into())),
                Figure::counter("passed", |it| Some(counters(it)?.passed.into())),
                Figure::counter("unknown", |it| Some(counters(it)?.unknown.into())),
                Figure::counter("suppressed", |it| Some(counters(it)?.suppressed.into()))
                    .of_run("suppressed_cnps"),
                Figure::counter("marked_packets", |it| Some(counters(it)?.marked.into())),
            ],
        },
    ],
    now: &[],
    metrics: &[
        Metric {
            name: "supplement_cnps",
            help: "CNPs to senders behind the gateway: made by it, or of receivers and passed on or suppressed.",
            samples: Samples::By(
                "kind",
                &[
                    ("supplemented", "cnps.supplemented", &[]),
                    ("passed", "cnps.passed", &[]),
                    ("unknown", "cnps.unknown", &[]),
                    ("suppressed", "cnps.suppressed", &[]),
                ],
            ),
        },
        Metric {
            name: "supplement_not_notified",
            help: "CNPs that were missing, or may have been, and were not made, by reason.",
            samples: Samples::By(
                "reason",
                &[("no_way", "cnps.not_notified", &[]), ("forgotten", "cnps.forgotten", &[])],
            ),
        },
        Metric {
            name: "supplement_marked_packets",
            help: "Packets of known flows that left with a congestion mark.",
            samples: Samples::One("cnps.marked_packets"),
        },
    ],
    tables: &[Table {
        title: "SUPPLEMENTAL CNPs, and CNPs of receivers",
        in_summary: true,
        columns: &[
            ("supplemented", &["cnps.supplemented"]),
            ("not notified", &["cnps.not_notified"]),
            ("forgotten", &["cnps.forgotten"]),
            ("passed", &["cnps.passed", "cnps.unknown"]),
            ("suppressed", &["cnps.suppressed"]),
            ("marked packets", &["cnps.marked_packets"]),
        ],
    }],
};

fn settings(seen: Seen<'_>) -> Option<&Settings> {
    seen.settings.notifiers.supplement.as_ref().filter(|_| seen.look.notifiers.supplement.is_some())
}

fn counters(seen: Seen<'_>) -> Option<&SupplementCounters> {
    seen.look.notifiers.supplement.as_ref()
}
