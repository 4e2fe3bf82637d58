//! The figures of port grants besides those of their slots, which are Bifrost's. All bytes are bytes on the wire.

use super::{PortGrantsReport, UpstreamCounters};
use crate::figure::{FigureList, Seen, figures, metric, table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "port_grants",
    about: "Messages of [port grants](port-grants.md), and the queues of far ports.",
    view: "slots",
    runs_on: |settings| settings.flow_control.port_grants().is_some(),
    report: &[
        figures! { "", |it|
            /// 1 while the upstream follows the grants; otherwise it is paused.
            gauge is_followed = report(it)?.is_followed;
            /// Ports of this gateway with separate grants.
            gauge far_ports = report(it)?.far_ports().len();
            /// Longest queue of any of them at the end of a slot.
            gauge longest_far_queue_wire_bytes = report(it)?.longest_far_queue(),
                of_run("longest_far_queue_wire_bytes");
        },
        figures! { "sent", |it|
            /// Messages that granted bytes for a slot, or none.
            counter grants = report(it)?.downstream.grants;
            /// Messages of any other kind, without pages.
            counter others = report(it)?.downstream.others;
            /// Pages of destinations.
            counter pages = report(it)?.pages;
            /// Destinations for which there is no page.
            gauge left_out = report(it)?.left_out;
            /// Times at which port grants began to pause, because one end did not hear the other.
            counter fallbacks = report(it)?.downstream.fallbacks, shown("port_grants_fallbacks", "fallbacks");
        },
        figures! { "received", |it|
            /// Grants and others taken.
            counter taken = received(it)?.numbers.taken;
            /// Grants of the other end that never came, by the gaps in their numbers.
            counter missed = received(it)?.numbers.missed, shown("port_grants_missed", "missed");
            /// Messages that came twice, or behind a later one.
            counter ignored = received(it)?.numbers.ignored;
            /// Times at which the other end fell silent while its grants limited the port.
            counter silences = received(it)?.silences;
            /// Pages of destinations that came.
            counter pages = received(it)?.directory.pages;
            /// Complete lists of destinations that were put in force.
            counter editions = received(it)?.directory.editions;
            /// Destinations of these lists for which there was no place.
            counter refused = received(it)?.directory.refused;
            /// Destinations that the other end has announced behind its ports.
            gauge destinations = received(it)?.directory.destinations,
                shown("port_grants_destinations", "destinations");
        },
    ],
    metrics: &[metric! {
        /// Messages sent: grants, other messages without grants, and pages of destinations.
        "port_grants_frames_sent" by "kind":
        "grant": "sent.grants"; "other": "sent.others"; "page": "sent.pages";
    }],
    tables: &[table! { "PORT GRANTS: messages between the ends of the link, in bytes on the wire":
        "far ports": "far_ports"; "sent": "sent.grants", "sent.others", "sent.pages";
        "received": "received.taken", "received.pages"; "ignored": "received.ignored";
        "longest far queue": "longest_far_queue_wire_bytes";
    }
    .summarized()],
    ..FigureList::EMPTY
};

fn received(seen: Seen<'_>) -> Option<&UpstreamCounters> {
    Some(&report(seen)?.upstream)
}

fn report(seen: Seen<'_>) -> Option<&PortGrantsReport> {
    seen.look.flow_control.port_grants()
}
