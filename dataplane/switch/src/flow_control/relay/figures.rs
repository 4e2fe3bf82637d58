//! The figures of a relay.

use super::RelayReport;
use crate::figure::{Figure, FigureList, Section, Seen, Table};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "relay",
    view: "pfc",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::Relay(_)),
    report: &[Section {
        name: "",
        figures: &[
            Figure::counter("passed_on", |it| Some(report(it)?.passed_on.into()))
                .shown(
                    "relay_passed_on",
                    "passed on",
                    "Pauses of the other port that the relay began to pass on.",
                )
                .of_run("passed_on"),
            Figure::counter("expired", |it| Some(report(it)?.expired.into())).shown(
                "relay_expired",
                "expired",
                "Pauses of these that expired without a resume.",
            ),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table { title: "RELAY: pauses of the other port passed on", in_summary: false, columns: &[] }],
};

fn report(seen: Seen<'_>) -> Option<&RelayReport> {
    seen.look.flow_control.relay()
}
