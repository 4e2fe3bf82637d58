//! The figures of BifrostX beside those of its slots, which are Bifrost's. All bytes are bytes on the wire.

use super::{BifrostXReport, DownstreamCounters, UpstreamCounters};
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "grants",
    view: "slots",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::BifrostX(_)),
    report: &[
        Section {
            name: "sent",
            figures: &[
                Figure::counter("grants", |it| Some(sent(it)?.grants.into())),
                Figure::counter("others", |it| Some(sent(it)?.others.into())),
                Figure::counter("fallbacks", |it| Some(sent(it)?.fallbacks.into())).shown(
                    "bifrostx_fallbacks",
                    "fallbacks",
                    "Times at which BifrostX began to pause, because one end did not hear the other.",
                ),
            ],
        },
        Section {
            name: "received",
            figures: &[
                Figure::counter("taken", |it| Some(received(it)?.numbers.taken.into())),
                Figure::counter("missed", |it| Some(received(it)?.numbers.missed.into())).shown(
                    "bifrostx_missed",
                    "missed",
                    "Grant frames of the peer that never came, by the gaps in their numbers.",
                ),
                Figure::counter("ignored", |it| Some(received(it)?.numbers.ignored.into())),
                Figure::counter("dealt_wire_bytes", |it| Some(received(it)?.dealt.into())),
                Figure::counter("declined_wire_bytes", |it| Some(received(it)?.declined.into())),
                Figure::counter("silences", |it| Some(received(it)?.silences.into())),
            ],
        },
    ],
    now: &[],
    metrics: &[
        Metric {
            name: "bifrostx_frames_sent",
            help: "Grant frames sent.",
            samples: Samples::By("kind", &[("grant", "sent.grants", &[]), ("other", "sent.others", &[])]),
        },
        Metric {
            name: "bifrostx_frames_received",
            help: "Grant frames received.",
            samples: Samples::By(
                "state",
                &[("taken", "received.taken", &[]), ("ignored", "received.ignored", &[])],
            ),
        },
        Metric {
            name: "bifrostx_dealt",
            help: "Bytes of grants dealt out to queues, on the wire.",
            samples: Samples::One("received.dealt_wire_bytes"),
        },
    ],
    tables: &[Table {
        title: "BIFROSTX: grant frames, and the bytes that they granted to this port",
        in_summary: false,
        columns: &[
            ("sent", &["sent.grants", "sent.others"]),
            ("received", &["received.taken"]),
            ("ignored", &["received.ignored"]),
            ("dealt out", &["received.dealt_wire_bytes"]),
            ("not needed", &["received.declined_wire_bytes"]),
            ("silences", &["received.silences"]),
        ],
    }],
};

fn sent(seen: Seen<'_>) -> Option<&DownstreamCounters> {
    Some(&report(seen)?.downstream)
}

fn received(seen: Seen<'_>) -> Option<&UpstreamCounters> {
    Some(&report(seen)?.upstream)
}

fn report(seen: Seen<'_>) -> Option<&BifrostXReport> {
    seen.look.flow_control.bifrostx()
}
