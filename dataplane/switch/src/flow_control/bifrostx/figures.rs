//! The figures of BifrostX besides those of its slots, which are Bifrost's. All bytes are bytes on the wire.

use super::{BifrostXReport, DownstreamCounters, UpstreamCounters};
use crate::figure::{FigureList, Metric, Seen, figures, metric, table};
use crate::flow_control::FlowControl;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "grants",
    about: "Grant frames of [BifrostX](bifrostx.md).",
    view: "slots",
    runs_on: |settings| matches!(settings.flow_control, FlowControl::BifrostX(_)),
    report: &[
        figures! { "sent", |it|
            /// Frames that granted bytes for a slot, or none.
            counter grants = sent(it)?.grants;
            /// Frames of any other kind.
            counter others = sent(it)?.others;
            /// Times at which BifrostX began to pause, because one end did not hear the other.
            counter fallbacks = sent(it)?.fallbacks, shown("bifrostx_fallbacks", "fallbacks");
        },
        figures! { "received", |it|
            /// Messages taken.
            counter taken = received(it)?.numbers.taken;
            /// Grant frames of the peer that never came, by the gaps in their numbers.
            counter missed = received(it)?.numbers.missed, shown("bifrostx_missed", "missed");
            /// Messages that came twice, or behind a later one.
            counter ignored = received(it)?.numbers.ignored;
            /// Bytes of grants dealt out to queues, on the wire.
            counter dealt_wire_bytes = received(it)?.dealt;
            /// Granted bytes that no queue needed.
            counter declined_wire_bytes = received(it)?.declined;
            /// Times at which the peer fell silent while its grants limited the port.
            counter silences = received(it)?.silences;
        },
    ],
    metrics: &[
        metric! {
            /// Grant frames sent.
            "bifrostx_frames_sent" by "kind":
            "grant": "sent.grants"; "other": "sent.others";
        },
        metric! {
            /// Grant frames received.
            "bifrostx_frames_received" by "state":
            "taken": "received.taken"; "ignored": "received.ignored";
        },
        Metric::one("bifrostx_dealt", "received.dealt_wire_bytes"),
    ],
    tables: &[table! { "BIFROSTX: grant frames, and the bytes that they granted to this port":
        "sent": "sent.grants", "sent.others"; "received": "received.taken"; "ignored": "received.ignored";
        "dealt out": "received.dealt_wire_bytes"; "not needed": "received.declined_wire_bytes";
        "silences": "received.silences";
    }],
    ..FigureList::EMPTY
};

fn sent(seen: Seen<'_>) -> Option<&DownstreamCounters> {
    Some(&report(seen)?.downstream)
}

fn received(seen: Seen<'_>) -> Option<&UpstreamCounters> {
    Some(&report(seen)?.upstream)
}

fn report(seen: Seen<'_>) -> Option<&BifrostXReport> {
    seen.look.flow_control.bifrostx()
}
