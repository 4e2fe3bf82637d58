//! The figures of ECN thresholds that move.

use super::ThresholdsReport;
use crate::figure::{FigureList, Seen, SeriesKind, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "adaptive_ecn",
    about: "[ECN thresholds that move](adaptive-ecn.md), those of all queues of the port together.",
    view: "queues",
    runs_on: |settings| {
        settings.queues.iter().any(|queue| queue.red.is_some_and(|red| red.adaptive.is_some()))
    },
    report: &[figures! { "", |it|
        /// Steps up of ECN thresholds, because frames were marked and the link was not busy.
        counter raised = report(it)?.raised, shown("adaptive_ecn_raised", "raised"), of_run("raised");
        /// Steps down of ECN thresholds, because many ports fed a queue above Kmin.
        counter lowered_by_incast = report(it)?.lowered_by_incast,
            shown("adaptive_ecn_lowered_by_incast", "incast"), of_run("lowered_by_incast");
        /// Steps down of ECN thresholds, because a queue above Kmin grew.
        counter lowered_by_growth = report(it)?.lowered_by_growth,
            shown("adaptive_ecn_lowered_by_growth", "growth"), of_run("lowered_by_growth");
        /// Lowest Kmin in force on the port.
        gauge kmin_bytes = report(it)?.kmin, shown("adaptive_ecn_kmin", "Kmin"),
            sampled("adaptive_kmin_bytes", "Kmin", SeriesKind::Queue), plotted("Adaptive Kmin");
        /// Lowest Kmax in force on the port.
        gauge kmax_bytes = report(it)?.kmax, shown("adaptive_ecn_kmax", "Kmax");
    }],
    tables: &[Table::new(
        "ADAPTIVE ECN: steps of the thresholds by reason, and the thresholds in force",
        &[],
    )],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&ThresholdsReport> {
    seen.look.adaptive_ecn.as_ref()
}
