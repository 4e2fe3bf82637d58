//! The figures of credits. All bytes are bytes on the wire.

use super::CbfcReport;
use crate::figure::{FigureList, Metric, Seen, figures, table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "credits",
    about: "Messages of [credit-based flow control](cbfc.md).",
    view: "slots",
    runs_on: |settings| settings.flow_control.cbfc().is_some(),
    report: &[figures! { "", |it|
        /// Whether the other end of the link was heard: nothing lossless is sent before.
        gauge hears = report(it)?.hears, shown("credits_hears", "hears");
        /// Credit frames sent.
        counter sent = report(it)?.sent;
        /// Messages taken.
        counter taken = report(it)?.received.taken;
        /// Credit frames of the other end that never came, by the gaps in their numbers.
        counter missed = report(it)?.received.missed, shown("credits_missed", "missed");
        /// Messages that came twice, or behind a later one.
        counter ignored = report(it)?.received.ignored;
        /// Bytes that were lost on the link and whose credits were given back, on the wire.
        counter repaired_wire_bytes = report(it)?.repaired, shown("credits_repaired", "repaired");
        /// Longest queue of a priority when a message was made.
        gauge longest_queue_wire_bytes = report(it)?.longest_queue, of_run("longest_queue_wire_bytes");
    }],
    metrics: &[Metric::one("credits_frames_sent", "sent")],
    tables: &[table! { "CREDITS: messages between the ends of the link, in bytes on the wire":
        "sent": "sent"; "received": "taken"; "ignored": "ignored";
        "longest queue": "longest_queue_wire_bytes";
    }
    .summarized()],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&CbfcReport> {
    seen.look.flow_control.cbfc()
}
