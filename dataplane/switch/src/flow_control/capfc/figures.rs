//! The figures of CaPFC.

use super::CaPfcReport;
use crate::figure::{FigureList, Seen, Table, figures};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "capfc",
    about: "Ticks of [CaPFC](p-pfc.md#capfc); a port that holds no frames has none.",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::CaPfc(_)),
    report: &[figures! { "", |it|
        /// Ticks at which CaPFC looked at an egress queue.
        counter ticks = report(it)?.ticks, shown("capfc_ticks", "ticks");
        /// Times at which CaPFC began to pause the upstream.
        counter warnings = report(it)?.warnings, shown("capfc_warnings", "warnings"), of_run("warnings");
    }],
    tables: &[Table::new("CAPFC: egress queues above the warning threshold", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&CaPfcReport> {
    seen.look.flow_control.capfc()
}
