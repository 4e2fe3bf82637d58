//! The figures of a relay.

use super::RelayReport;
use crate::figure::{FigureList, Seen, Table, figures};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "relay",
    about: "Pauses that a [relay](swing.md) passed on.",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::Relay(_)),
    report: &[figures! { "", |it|
        /// Pauses of the other port that the relay began to pass on.
        counter passed_on = report(it)?.passed_on, shown("relay_passed_on", "passed on"), of_run("passed_on");
        /// Pauses of the other port that expired without a resume.
        counter expired = report(it)?.expired, shown("relay_expired", "expired");
    }],
    tables: &[Table::new("RELAY: pauses of the other port passed on", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&RelayReport> {
    seen.look.flow_control.relay()
}
