//! The figures of credits. All bytes are bytes on the wire.

use super::CbfcReport;
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "credits",
    view: "slots",
    runs_on: |settings| settings.flow_control.cbfc().is_some(),
    report: &[Section {
        name: "",
        figures: &[
            Figure::gauge("hears", |it| Some(u64::from(report(it)?.hears).into())).shown(
                "credits_hears",
                "hears",
                "Whether the other end of the link was heard: nothing lossless is sent before.",
            ),
            Figure::counter("sent", |it| Some(report(it)?.sent.into())),
            Figure::counter("taken", |it| Some(report(it)?.received.taken.into())),
            Figure::counter("missed", |it| Some(report(it)?.received.missed.into())).shown(
                "credits_missed",
                "missed",
                "Credit frames of the other end that never came, by the gaps in their numbers.",
            ),
            Figure::counter("ignored", |it| Some(report(it)?.received.ignored.into())),
            Figure::counter("repaired_wire_bytes", |it| Some(report(it)?.repaired.into())).shown(
                "credits_repaired",
                "repaired",
                "Bytes that were lost on the link and whose credits were given back, on the wire.",
            ),
            Figure::gauge("longest_queue_wire_bytes", |it| Some(report(it)?.longest_queue.into()))
                .of_run("longest_queue_wire_bytes"),
        ],
    }],
    now: &[],
    metrics: &[Metric {
        name: "credits_frames_sent",
        help: "Credit frames sent.",
        samples: Samples::One("sent"),
    }],
    tables: &[Table {
        title: "CREDITS: messages between the ends of the link, in bytes on the wire",
        in_summary: true,
        columns: &[
            ("sent", &["sent"]),
            ("received", &["taken"]),
            ("ignored", &["ignored"]),
            ("longest queue", &["longest_queue_wire_bytes"]),
        ],
    }],
};

fn report(seen: Seen<'_>) -> Option<&CbfcReport> {
    seen.look.flow_control.cbfc()
}
