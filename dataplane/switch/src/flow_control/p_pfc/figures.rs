//! The figures of P-PFC.

use super::PPfcReport;
use crate::figure::{FigureList, Seen, Table, figures};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "p_pfc",
    about: "Predictions of [P-PFC](p-pfc.md); a port without frames inside makes none.",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::PPfc(_)),
    report: &[figures! { "", |it|
        /// Ticks at which P-PFC predicted.
        counter ticks = report(it)?.ticks, shown("p_pfc_ticks", "ticks");
        /// Ticks at which the shared pool would have been full within the horizon of P-PFC.
        counter alarms = report(it)?.alarms, shown("p_pfc_alarms", "alarms");
        /// Pauses that P-PFC asked for.
        counter pauses = report(it)?.pauses, shown("p_pfc_pauses", "pauses"), of_run("pauses");
        /// Longest pause that P-PFC asked for.
        gauge longest_pause_ns = report(it)?.longest_pause,
            shown("p_pfc_longest_pause", "longest pause"), of_run("longest_pause_ns");
    }],
    tables: &[Table::new("P-PFC: predictions, and pauses ahead of the thresholds", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&PPfcReport> {
    seen.look.flow_control.p_pfc()
}
