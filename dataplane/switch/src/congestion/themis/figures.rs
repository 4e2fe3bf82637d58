//! The figures of THEMIS.

use super::ThemisCounters;
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, SeriesKind, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "themis",
    view: "flows",
    runs_on: |settings| settings.notifiers.themis.is_some(),
    report: &[
        Section {
            name: "cnps",
            figures: &[
                Figure::counter("made", |it| Some(themis(it)?.cnps.into()))
                    .of_run("direct_cnps")
                    .sampled("themis_cnps_total", "CNPs of THEMIS since the start", SeriesKind::Count)
                    .plotted("THEMIS CNPs"),
                Figure::counter("marks_removed", |it| Some(themis(it)?.marks_removed.into())),
                Figure::counter("marks_kept", |it| Some(themis(it)?.marks_kept.into())),
                Figure::counter("unreachable", |it| Some(themis(it)?.unreachable.into())),
            ],
        },
        Section {
            name: "slowing",
            figures: &[
                Figure::counter("told", |it| Some(themis(it)?.told.into())),
                Figure::counter("told_unknown", |it| Some(themis(it)?.told_unknown.into())),
                Figure::counter("slowed", |it| Some(themis(it)?.slowed.into()))
                    .of_run("slowed")
                    .sampled("themis_slowed_total", "frames slowed down since the start", SeriesKind::Count)
                    .plotted("THEMIS slowed frames"),
                Figure::counter("not_slowed", |it| Some(themis(it)?.not_slowed.into())).of_run("not_slowed"),
            ],
        },
    ],
    now: &[],
    metrics: &[
        Metric {
            name: "themis_cnps",
            help: "CNPs that THEMIS made for marked packets, by whether their sender could be reached.",
            samples: Samples::By(
                "result",
                &[("sent", "cnps.made", &["cnps.unreachable"]), ("unreachable", "cnps.unreachable", &[])],
            ),
        },
        Metric {
            name: "themis_marks",
            help: "Congestion marks on outgoing packets, by whether a CNP of THEMIS replaced them.",
            samples: Samples::By(
                "result",
                &[("removed", "cnps.marks_removed", &[]), ("kept", "cnps.marks_kept", &[])],
            ),
        },
        Metric {
            name: "themis_told",
            help: "CNPs to the far side that THEMIS saw, by whether their flow was known.",
            samples: Samples::By(
                "flow",
                &[("known", "slowing.told", &[]), ("unknown", "slowing.told_unknown", &[])],
            ),
        },
        Metric {
            name: "themis_frames",
            help: "Frames of flows to be slowed down, by whether they took a slow queue.",
            samples: Samples::By(
                "queue",
                &[("slow", "slowing.slowed", &[]), ("usual", "slowing.not_slowed", &[])],
            ),
        },
    ],
    tables: &[Table {
        title: "THEMIS: CNPs for packets marked on this side, and flows from the far side slowed down",
        in_summary: true,
        columns: &[
            ("CNPs", &["cnps.made"]),
            ("marks removed", &["cnps.marks_removed"]),
            ("marks kept", &["cnps.marks_kept"]),
            ("told", &["slowing.told"]),
            ("told unknown", &["slowing.told_unknown"]),
            ("slowed", &["slowing.slowed"]),
            ("not slowed", &["slowing.not_slowed"]),
        ],
    }],
};

fn themis(seen: Seen<'_>) -> Option<&ThemisCounters> {
    seen.look.notifiers.themis.as_ref()
}
