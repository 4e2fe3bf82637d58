//! The figures of LSCC. Figures in `_wire_bytes` are bytes on the wire.

use super::DirectIntCounters;
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, SeriesKind, Table};
use crate::program::Lscc;
use crate::shard::LsccReport;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "lscc",
    view: "flows",
    runs_on: |settings| settings.lscc.is_some(),
    report: &[
        Section {
            name: "",
            figures: &[Figure::gauge("interval_ns", |it| Some(settings(it)?.interval.into()))],
        },
        Section {
            name: "advertised_rates",
            figures: &[
                Figure::counter("intervals", |it| Some(lscc(it)?.rates.intervals.into())),
                Figure::counter("clamped_by_step", |it| Some(lscc(it)?.rates.clamped_by_step.into())),
                Figure::counter("clamped_to_min", |it| Some(lscc(it)?.rates.clamped_to_min.into())),
                Figure::counter("clamped_to_max", |it| Some(lscc(it)?.rates.clamped_to_max.into())),
                Figure::gauge("last_bits_per_second", |it| Some(lscc(it)?.rates.last_rate?.into()))
                    .sampled(
                        "lscc_advertised_rate_bits_per_second",
                        "advertised to the far end",
                        SeriesKind::Rate,
                    )
                    .plotted("LSCC advertised rate"),
                Figure::gauge("last_bottleneck_bits_per_second", |it| {
                    Some(lscc(it)?.rates.last_bottleneck_rate?.into())
                }),
                Figure::gauge("reference_wire_bytes", |it| Some(settings(it)?.calculation.reference.into())),
                Figure::gauge("longest_queue_wire_bytes", |it| Some(lscc(it)?.rates.longest_queue.into())),
                Figure::delay("lateness", |it| Some(it.look.lscc_lateness.as_ref()?.into())),
            ],
        },
        Section {
            name: "feedback",
            figures: &[
                Figure::counter("accepted", |it| Some(lscc(it)?.feedback.accepted.into())),
                Figure::counter("malformed", |it| Some(lscc(it)?.feedback.malformed.into())),
                Figure::counter("foreign", |it| Some(lscc(it)?.feedback.foreign.into())),
                Figure::counter("other_version", |it| Some(lscc(it)?.feedback.other_version.into())),
                Figure::counter("forged", |it| Some(lscc(it)?.feedback.forged.into())),
                Figure::counter("unconfirmed", |it| Some(lscc(it)?.feedback.unconfirmed.into())),
                Figure::counter("stale", |it| Some(lscc(it)?.feedback.stale.into())),
                Figure::counter("ahead", |it| Some(lscc(it)?.feedback.ahead.into())),
                Figure::counter("challenges_received", |it| {
                    Some(lscc(it)?.feedback.challenges_received.into())
                }),
                Figure::counter("challenges_sent", |it| Some(lscc(it)?.feedback.challenges_sent.into())),
                Figure::counter("lapsed", |it| Some(lscc(it)?.lapsed.into())),
                Figure::gauge("last_bits_per_second", |it| Some(lscc(it)?.received_rate?.into()))
                    .sampled(
                        "lscc_received_rate_bits_per_second",
                        "received from the far end",
                        SeriesKind::Rate,
                    )
                    .plotted("LSCC received rate"),
            ],
        },
        Section {
            name: "pseudo_queue",
            figures: &[
                Figure::gauge("reference_wire_bytes", |it| Some(settings(it)?.limiting.reference.into())),
                Figure::gauge("longest_wire_bytes", |it| Some(lscc(it)?.longest_pseudo_queue.into()))
                    .of_run("longest_pseudo_queue_wire_bytes"),
                Figure::counter("congested_intervals", |it| {
                    Some(lscc(it)?.limiter.congested_intervals.into())
                }),
            ],
        },
        Section {
            name: "cnps",
            figures: &[
                Figure::counter("direct", |it| Some(lscc(it)?.limiter.direct_cnps.into()))
                    .of_run("direct_cnps")
                    .sampled("lscc_direct_cnps_total", "direct CNPs since the start", SeriesKind::Count)
                    .plotted("LSCC direct CNPs"),
                Figure::counter("marked_instead", |it| Some(lscc(it)?.limiter.marked_instead.into())),
                Figure::counter("not_notified", |it| Some(lscc(it)?.limiter.not_notified.into())),
                Figure::counter("marks_removed", |it| Some(lscc(it)?.limiter.marks_removed.into())),
                Figure::counter("far", |it| Some(lscc(it)?.limiter.far_cnps.into())),
                Figure::counter("far_unknown", |it| Some(lscc(it)?.limiter.far_cnps_unknown.into())),
                Figure::counter("far_suppressed", |it| Some(lscc(it)?.limiter.far_cnps_suppressed.into())),
            ],
        },
        Section {
            name: "direct_int",
            figures: &[
                Figure::counter("sent", |it| Some(direct_int(it)?.sent.into())).of_run("direct_ints"),
                Figure::counter("replaced", |it| Some(direct_int(it)?.replaced.into())),
                Figure::counter("kept", |it| Some(direct_int(it)?.kept.into())),
                Figure::counter("lost", |it| Some(direct_int(it)?.lost.into())),
            ],
        },
    ],
    now: &[Section {
        name: "",
        figures: &[Figure::gauge("pseudo_queue_wire_bytes", |it| Some(lscc(it)?.pseudo_queue.into()))
            .sampled("lscc_pseudo_queue_wire_bytes", "pseudo-queue (on the wire)", SeriesKind::Queue)
            .plotted("LSCC pseudo-queue")],
    }],
    metrics: &METRICS,
    tables: &TABLES,
};

static METRICS: [Metric; 13] = [
    Metric {
        name: "lscc_advertised_rate",
        help: "Rate that the gateway last advertised to the far end.",
        samples: Samples::One("advertised_rates.last_bits_per_second"),
    },
    Metric {
        name: "lscc_received_rate",
        help: "Rate received from the far end that is in force; absent while no limit applies.",
        samples: Samples::One("feedback.last_bits_per_second"),
    },
    Metric {
        name: "lscc_messages_sent",
        help: "Feedback messages sent to the far end, one at the end of each interval.",
        samples: Samples::One("advertised_rates.intervals"),
    },
    Metric {
        name: "lscc_messages_received",
        help: "Messages received from the far end, by outcome.",
        samples: Samples::By(
            "result",
            &[
                ("accepted", "feedback.accepted", &[]),
                ("malformed", "feedback.malformed", &[]),
                ("foreign", "feedback.foreign", &[]),
                ("other_version", "feedback.other_version", &[]),
                ("forged", "feedback.forged", &[]),
                ("unconfirmed", "feedback.unconfirmed", &[]),
                ("stale", "feedback.stale", &[]),
                ("ahead", "feedback.ahead", &[]),
                ("challenge", "feedback.challenges_received", &[]),
            ],
        ),
    },
    Metric {
        name: "lscc_challenges_sent",
        help: "Challenges sent to the far end, which must prove that its messages are fresh.",
        samples: Samples::One("feedback.challenges_sent"),
    },
    Metric {
        name: "lscc_lapses",
        help: "Times the limit lapsed because messages from the far end stopped arriving.",
        samples: Samples::One("feedback.lapsed"),
    },
    Metric {
        name: "lscc_interval_lateness",
        help: "How late LSCC intervals ended.",
        samples: Samples::One("advertised_rates.lateness"),
    },
    Metric {
        name: "lscc_pseudo_queue",
        help: "Bytes in the pseudo-queue, on the wire.",
        samples: Samples::One("pseudo_queue_wire_bytes"),
    },
    Metric {
        name: "lscc_pseudo_queue_watermark",
        help: "Most bytes that have been in the pseudo-queue, on the wire.",
        samples: Samples::One("pseudo_queue.longest_wire_bytes"),
    },
    Metric {
        name: "lscc_cnps",
        help: "CNPs generated by the gateway (direct), and CNPs from the far side, by whether they are of the receiver of a known flow.",
        samples: Samples::By(
            "kind",
            &[
                ("direct", "cnps.direct", &[]),
                ("far", "cnps.far", &[]),
                ("far_unknown", "cnps.far_unknown", &[]),
            ],
        ),
    },
    Metric {
        name: "lscc_cnps_suppressed",
        help: "CNPs from the far side that were not forwarded.",
        samples: Samples::One("cnps.far_suppressed"),
    },
    Metric {
        name: "lscc_senders",
        help: "Packets marked instead of sending a CNP, marks removed because a CNP was sent, senders not notified.",
        samples: Samples::By(
            "result",
            &[
                ("marked_instead", "cnps.marked_instead", &[]),
                ("mark_removed", "cnps.marks_removed", &[]),
                ("not_notified", "cnps.not_notified", &[]),
            ],
        ),
    },
    Metric {
        name: "lscc_direct_int",
        help: "Direct INTs sent and lost, and packets whose telemetry they replaced or that kept theirs.",
        samples: Samples::By(
            "result",
            &[
                ("sent", "direct_int.sent", &[]),
                ("lost", "direct_int.lost", &[]),
                ("replaced", "direct_int.replaced", &[]),
                ("kept", "direct_int.kept", &[]),
            ],
        ),
    },
];

static TABLES: [Table; 3] = [
    Table {
        title: "LSCC: rates advertised to the far end and received from it, and the pseudo-queue Q*",
        in_summary: true,
        columns: &[
            ("sent", &["advertised_rates.intervals"]),
            ("advertised", &["advertised_rates.last_bits_per_second"]),
            ("longest queue", &["advertised_rates.longest_queue_wire_bytes"]),
            ("Qref", &["advertised_rates.reference_wire_bytes"]),
            ("accepted", &["feedback.accepted"]),
            (
                "refused",
                &[
                    "feedback.malformed",
                    "feedback.other_version",
                    "feedback.foreign",
                    "feedback.forged",
                    "feedback.unconfirmed",
                    "feedback.stale",
                    "feedback.ahead",
                ],
            ),
            ("received", &["feedback.last_bits_per_second"]),
            ("longest Q*", &["pseudo_queue.longest_wire_bytes"]),
            ("Q*ref", &["pseudo_queue.reference_wire_bytes"]),
        ],
    },
    Table {
        title: "CONGESTION NOTIFICATIONS of LSCC",
        in_summary: true,
        columns: &[
            ("direct CNPs", &["cnps.direct"]),
            ("marked instead", &["cnps.marked_instead"]),
            ("marks removed", &["cnps.marks_removed"]),
            ("far CNPs", &["cnps.far", "cnps.far_unknown"]),
            ("suppressed", &["cnps.far_suppressed"]),
        ],
    },
    Table {
        title: "PSEUDO-QUEUE Q* of LSCC",
        in_summary: false,
        columns: &[
            ("Q* now", &["pseudo_queue_wire_bytes"]),
            ("congested intervals", &["pseudo_queue.congested_intervals"]),
        ],
    },
];

fn settings(seen: Seen<'_>) -> Option<&Lscc> {
    seen.settings.lscc.as_ref().filter(|_| seen.look.lscc.is_some())
}

fn direct_int(seen: Seen<'_>) -> Option<&DirectIntCounters> {
    settings(seen)?.limiting.direct_int?;
    Some(&lscc(seen)?.limiter.direct_int)
}

fn lscc(seen: Seen<'_>) -> Option<&LsccReport> {
    seen.look.lscc.as_ref().filter(|_| seen.settings.lscc.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::program::PortSettings;
    use crate::shard::PortInspection;
    use units::{BitRate, WireBytes};
    use wire::ethernet::MacAddress;

    #[test]
    fn figures_are_those_of_lscc_where_it_runs_and_is_configured() {
        let plain = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let configured = PortSettings { lscc: Some(Lscc::PLAIN), ..plain.clone() };
        let report = LsccReport {
            rates: Default::default(),
            feedback: Default::default(),
            received_rate: None,
            lapsed: 0,
            pseudo_queue: WireBytes(7),
            longest_pseudo_queue: WireBytes(8),
            limiter: Default::default(),
        };
        let running = PortInspection { lscc: Some(report), ..Default::default() };
        let silent = PortInspection::default();
        let number = |path, settings, look| match FIGURES.figure(path).unwrap().read(Seen { settings, look })
        {
            Some(Reading::Number(number)) => Some(number),
            _ => None,
        };
        for (settings, look, is_there) in
            [(&configured, &running, true), (&configured, &silent, false), (&plain, &running, false)]
        {
            assert_eq!(number("interval_ns", settings, look), is_there.then_some(Lscc::PLAIN.interval.0));
            assert_eq!(number("pseudo_queue_wire_bytes", settings, look), is_there.then_some(7));
        }
    }
}
