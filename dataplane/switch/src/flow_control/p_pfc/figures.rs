//! The figures of P-PFC.

use super::PPfcReport;
use crate::figure::{Figure, FigureList, Section, Seen, Table};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "p_pfc",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::PPfc(_)),
    report: &[Section {
        name: "",
        figures: &[
            Figure::counter("ticks", |it| Some(report(it)?.ticks.into())).shown(
                "p_pfc_ticks",
                "ticks",
                "Ticks at which P-PFC predicted.",
            ),
            Figure::counter("alarms", |it| Some(report(it)?.alarms.into())).shown(
                "p_pfc_alarms",
                "alarms",
                "Ticks at which the shared pool would have been full within the horizon of P-PFC.",
            ),
            Figure::counter("pauses", |it| Some(report(it)?.pauses.into()))
                .shown("p_pfc_pauses", "pauses", "Pauses that P-PFC asked for.")
                .of_run("pauses"),
            Figure::gauge("longest_pause_ns", |it| Some(report(it)?.longest_pause.into()))
                .shown("p_pfc_longest_pause", "longest pause", "Longest pause that P-PFC asked for.")
                .of_run("longest_pause_ns"),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table {
        title: "P-PFC: predictions, and pauses ahead of the thresholds",
        in_summary: false,
        columns: &[],
    }],
};

fn report(seen: Seen<'_>) -> Option<&PPfcReport> {
    seen.look.flow_control.p_pfc()
}
