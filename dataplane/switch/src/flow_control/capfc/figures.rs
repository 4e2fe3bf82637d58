//! The figures of CaPFC.

use super::CaPfcReport;
use crate::figure::{Figure, FigureList, Section, Seen, Table};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "capfc",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::CaPfc(_)),
    report: &[Section {
        name: "",
        figures: &[
            Figure::counter("ticks", |it| Some(report(it)?.ticks.into())).shown(
                "capfc_ticks",
                "ticks",
                "Ticks at which CaPFC looked at an egress queue.",
            ),
            Figure::counter("warnings", |it| Some(report(it)?.warnings.into()))
                .shown("capfc_warnings", "warnings", "Times at which CaPFC began to pause the upstream.")
                .of_run("warnings"),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table {
        title: "CAPFC: egress queues above the warning threshold",
        in_summary: false,
        columns: &[],
    }],
};

fn report(seen: Seen<'_>) -> Option<&CaPfcReport> {
    seen.look.flow_control.capfc()
}
