//! The figures of supplemental CNPs and thinning.

use super::Settings;
use super::SupplementCounters;
use crate::figure::{FigureList, Metric, Seen, SeriesKind, figures, metric, table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "supplement",
    about: "[Supplemental CNPs and thinning](supplement.md).",
    view: "flows",
    runs_on: |settings| settings.notifiers.supplement.is_some(),
    report: &[
        figures! { "", |it|
            /// The length from which a queue is severely congested; `null` if nothing is supplemented.
            gauge threshold_bytes = settings(it)?.threshold?;
            /// The timer of the senders.
            gauge increase_timer_ns = settings(it)?.increase_timer;
            /// The interval of thinning; `null` without thinning.
            gauge thinning_ns = settings(it)?.thinning?;
        },
        figures! { "cnps", |it|
            /// CNPs that the gateway made.
            counter supplemented = counters(it)?.supplemented, of_run("supplemental_cnps"),
                sampled("supplement_cnps_total", "supplemental CNPs since the start", SeriesKind::Count),
                plotted("Supplemental CNPs");
            /// Missing CNPs that could not be made: the sender is unknown, or there is no way to it.
            counter not_notified = counters(it)?.not_notified;
            /// Flows with a marked packet that were forgotten when a CNP may have been missing.
            counter forgotten = counters(it)?.forgotten;
            /// CNPs of receivers that were passed on, for known flows.
            counter passed = counters(it)?.passed;
            /// CNPs of receivers for unknown flows, or not from the flow's receiver.
            counter unknown = counters(it)?.unknown;
            /// CNPs of receivers that were not passed on.
            counter suppressed = counters(it)?.suppressed, of_run("suppressed_cnps");
            /// Packets of known flows that left with a congestion mark.
            counter marked_packets = counters(it)?.marked;
        },
    ],
    metrics: &[
        metric! {
            /// CNPs to senders behind the gateway: made by it, or of receivers and passed on or suppressed.
            "supplement_cnps" by "kind":
            "supplemented": "cnps.supplemented"; "passed": "cnps.passed"; "unknown": "cnps.unknown";
            "suppressed": "cnps.suppressed";
        },
        metric! {
            /// CNPs that were missing, or may have been, and were not made, by reason.
            "supplement_not_notified" by "reason":
            "no_way": "cnps.not_notified"; "forgotten": "cnps.forgotten";
        },
        Metric::one("supplement_marked_packets", "cnps.marked_packets"),
    ],
    tables: &[table! { "SUPPLEMENTAL CNPs, and CNPs of receivers":
        "supplemented": "cnps.supplemented"; "not notified": "cnps.not_notified";
        "forgotten": "cnps.forgotten"; "passed": "cnps.passed", "cnps.unknown";
        "suppressed": "cnps.suppressed"; "marked packets": "cnps.marked_packets";
    }
    .summarized()],
    ..FigureList::EMPTY
};

fn settings(seen: Seen<'_>) -> Option<&Settings> {
    seen.settings.notifiers.supplement.as_ref().filter(|_| seen.look.notifiers.supplement.is_some())
}

fn counters(seen: Seen<'_>) -> Option<&SupplementCounters> {
    seen.look.notifiers.supplement.as_ref()
}
