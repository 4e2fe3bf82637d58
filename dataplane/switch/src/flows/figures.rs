//! The figures of the flows that a port keeps, once for all of its schemes.

use super::FlowsReport;
use crate::figure::{FigureList, Metric, Seen, figures, metric, table};
use crate::program::FlowSettings;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "flows",
    about: "The table of flows, one for all schemes of the port that notify senders, with the largest size, ageing time and round trip that one of them asks for.",
    view: "flows",
    runs_on: |settings| settings.flows().is_some(),
    report: &[figures! { "", |it|
        /// Capacity of the flow table.
        gauge capacity = settings(it)?.capacity;
        /// Flows known now, in both directions.
        gauge known = flows(it)?.known;
        /// Known flows that carry data and whose sender is known.
        gauge resolved = flows(it)?.data.resolved;
        /// Known flows that carry data and whose sender is unknown.
        gauge unresolved = flows(it)?.data.unresolved;
        /// Flows entered.
        counter entered = flows(it)?.table.entered;
        /// Flows forgotten because they were idle.
        counter aged = flows(it)?.table.aged;
        /// Flows forgotten because the table, or a set in it, was full.
        counter evicted = flows(it)?.table.evicted;
        /// Packets of hosts that belong to another [lane](running.md#lanes): their senders are not told.
        counter strays = flows(it)?.table.strays;
        /// Pairs found by connection management.
        counter resolved_by_cm = flows(it)?.resolver.resolved_by_cm;
        /// Pairs found by sequence numbers.
        counter resolved_by_psn = flows(it)?.resolver.resolved_by_psn;
        /// Pairs given up because sequence numbers jumped or went back.
        counter suspended = flows(it)?.resolver.suspended;
        /// Pairs given up because a response contradicted them.
        counter contradicted = flows(it)?.resolver.contradicted;
        /// Responses that several flows could have caused.
        counter ambiguous = flows(it)?.resolver.ambiguous;
        /// Pairs ended by connection management.
        counter ended = flows(it)?.resolver.ended;
    }],
    metrics: &[
        metric! {
            /// Known flows, by whether they carry data and their sender is known.
            "flows" by "state":
            "resolved": "resolved"; "unresolved": "unresolved";
            "other": "known" - "resolved" - "unresolved";
        },
        Metric::one("flow_capacity", "capacity"),
        metric! {
            /// Flows removed from the table, by reason.
            "flows_removed" by "reason":
            "aged": "aged"; "evicted": "evicted";
        },
    ],
    tables: &[table! { "FLOWS in the table of queue pairs, and how these were resolved":
        "known": "known"; "capacity": "capacity"; "resolved": "resolved"; "unresolved": "unresolved";
        "by CM": "resolved_by_cm"; "by PSN": "resolved_by_psn"; "aged": "aged"; "evicted": "evicted";
        "suspended": "suspended"; "ended": "ended";
    }
    .summarized()],
    ..FigureList::EMPTY
};

fn settings(seen: Seen<'_>) -> Option<FlowSettings> {
    seen.settings.flows().filter(|_| seen.look.flows.is_some())
}

fn flows(seen: Seen<'_>) -> Option<&FlowsReport> {
    seen.look.flows.as_ref().filter(|_| seen.settings.flows().is_some())
}
