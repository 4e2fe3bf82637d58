//! The figures of ECN thresholds that move.

use super::AdaptiveEcnReport;
use crate::figure::{Figure, FigureList, Section, Seen, SeriesKind, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "adaptive_ecn",
    view: "queues",
    runs_on: |settings| {
        settings.queues.iter().any(|queue| queue.red.is_some_and(|red| red.adaptive.is_some()))
    },
    report: &[Section {
        name: "",
        figures: &[
            Figure::counter("raised", |it| Some(report(it)?.raised.into()))
                .shown(
                    "adaptive_ecn_raised",
                    "raised",
                    "Steps up of ECN thresholds, because frames were marked and the link was not busy.",
                )
                .of_run("raised"),
            Figure::counter("lowered_by_incast", |it| Some(report(it)?.lowered_by_incast.into()))
                .shown(
                    "adaptive_ecn_lowered_by_incast",
                    "incast",
                    "Steps down of ECN thresholds, because many ports fed a queue above Kmin.",
                )
                .of_run("lowered_by_incast"),
            Figure::counter("lowered_by_growth", |it| Some(report(it)?.lowered_by_growth.into()))
                .shown(
                    "adaptive_ecn_lowered_by_growth",
                    "growth",
                    "Steps down of ECN thresholds, because a queue above Kmin grew.",
                )
                .of_run("lowered_by_growth"),
            Figure::gauge("kmin_bytes", |it| Some(report(it)?.kmin.0.into()))
                .shown("adaptive_ecn_kmin", "Kmin", "Lowest Kmin in force on the port.")
                .sampled("adaptive_kmin_bytes", "Kmin", SeriesKind::Queue)
                .plotted("Adaptive Kmin"),
            Figure::gauge("kmax_bytes", |it| Some(report(it)?.kmax.0.into())).shown(
                "adaptive_ecn_kmax",
                "Kmax",
                "Lowest Kmax in force on the port.",
            ),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table {
        title: "ADAPTIVE ECN: steps of the thresholds by reason, and the thresholds in force",
        in_summary: false,
        columns: &[],
    }],
};

fn report(seen: Seen<'_>) -> Option<&AdaptiveEcnReport> {
    seen.look.adaptive_ecn.as_ref()
}
