//! The figures of port grants beside those of their slots, which are Bifrost's. All bytes are bytes on the wire.

use super::{PortGrantsReport, UpstreamCounters};
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "port_grants",
    view: "slots",
    runs_on: |settings| settings.flow_control.port_grants().is_some(),
    report: &[
        Section {
            name: "",
            figures: &[
                Figure::gauge("is_followed", |it| Some(u64::from(report(it)?.is_followed).into())),
                Figure::gauge("far_ports", |it| Some((report(it)?.far_ports().len() as u64).into())),
                Figure::gauge("longest_far_queue_wire_bytes", |it| {
                    Some(report(it)?.longest_far_queue().into())
                })
                .of_run("longest_far_queue_wire_bytes"),
            ],
        },
        Section {
            name: "sent",
            figures: &[
                Figure::counter("grants", |it| Some(report(it)?.downstream.grants.into())),
                Figure::counter("others", |it| Some(report(it)?.downstream.others.into())),
                Figure::counter("pages", |it| Some(report(it)?.pages.into())),
                Figure::gauge("left_out", |it| Some(report(it)?.left_out.into())),
                Figure::counter("fallbacks", |it| Some(report(it)?.downstream.fallbacks.into())).shown(
                    "port_grants_fallbacks",
                    "fallbacks",
                    "Times at which port grants began to pause, because one end did not hear the other.",
                ),
            ],
        },
        Section {
            name: "received",
            figures: &[
                Figure::counter("taken", |it| Some(received(it)?.numbers.taken.into())),
                Figure::counter("missed", |it| Some(received(it)?.numbers.missed.into())).shown(
                    "port_grants_missed",
                    "missed",
                    "Grants of the other end that never came, by the gaps in their numbers.",
                ),
                Figure::counter("ignored", |it| Some(received(it)?.numbers.ignored.into())),
                Figure::counter("silences", |it| Some(received(it)?.silences.into())),
                Figure::counter("pages", |it| Some(received(it)?.directory.pages.into())),
                Figure::counter("editions", |it| Some(received(it)?.directory.editions.into())),
                Figure::counter("refused", |it| Some(received(it)?.directory.refused.into())),
                Figure::gauge("destinations", |it| Some(received(it)?.directory.destinations.into())).shown(
                    "port_grants_destinations",
                    "destinations",
                    "Destinations that the other end has announced behind its ports.",
                ),
            ],
        },
    ],
    now: &[],
    metrics: &[Metric {
        name: "port_grants_frames_sent",
        help: "Messages sent: grants, other messages without grants, and pages of destinations.",
        samples: Samples::By(
            "kind",
            &[("grant", "sent.grants", &[]), ("other", "sent.others", &[]), ("page", "sent.pages", &[])],
        ),
    }],
    tables: &[Table {
        title: "PORT GRANTS: messages between the ends of the link, in bytes on the wire",
        in_summary: true,
        columns: &[
            ("far ports", &["far_ports"]),
            ("sent", &["sent.grants", "sent.others", "sent.pages"]),
            ("received", &["received.taken", "received.pages"]),
            ("ignored", &["received.ignored"]),
            ("longest far queue", &["longest_far_queue_wire_bytes"]),
        ],
    }],
};

fn received(seen: Seen<'_>) -> Option<&UpstreamCounters> {
    Some(&report(seen)?.upstream)
}

fn report(seen: Seen<'_>) -> Option<&PortGrantsReport> {
    seen.look.flow_control.port_grants()
}
