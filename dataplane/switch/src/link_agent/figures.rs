//! The figures of a link agent.

use super::LinkAgentReport;
use super::mismatch::{Mismatch, Mismatches};
use super::neighbours::Neighbour;
use crate::figure::{FigureList, Seen, figures, metric, table};
use units::Interval;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "lldp",
    about: "[The link agent](link-agent.md), and each [mismatch](link-agent.md#mismatches): 1 if a neighbour differs, otherwise 0.",
    view: "neighbours",
    runs_on: |settings| settings.link_agent.is_some(),
    report: &[
        figures! { "", |it|
            /// Neighbours whose announcement holds.
            gauge neighbours = report(it)?.neighbours.iter().count(), shown("lldp_neighbours", "neighbours");
            /// Time since the neighbour that has been silent for longest was heard.
            gauge age_ns = age(it)?, shown("lldp_age", "age");
            /// LLDPDUs that the port sent.
            counter sent = report(it)?.sent, shown("lldp_sent", "sent");
            /// Valid LLDPDUs that came in.
            counter received = report(it)?.received, shown("lldp_received", "received");
            /// LLDPDUs that came in beyond the limit, and were not read.
            counter unread = report(it)?.unread, shown("lldp_unread", "unread");
            /// Malformed or repeated TLVs in the LLDPDUs that were read.
            counter discarded_tlvs = report(it)?.discarded_tlvs, shown("lldp_discarded_tlvs", "bad TLVs");
            /// Neighbours that came.
            counter new = report(it)?.counters.new;
            /// Announcements that said something else than the one before.
            counter changed = report(it)?.counters.changed;
            /// Neighbours that shut down.
            counter left = report(it)?.counters.left;
            /// Neighbours whose time to live ran out.
            counter aged = report(it)?.counters.aged;
            /// Silent neighbours that gave their place to a new one.
            counter displaced = report(it)?.counters.displaced;
            /// Announcements of further neighbours, for which there was no place.
            counter refused = report(it)?.counters.refused;
        },
        figures! { "mismatch", |it|
            /// The priorities that have PFC.
            gauge pfc_priorities = found(it, Mismatch::PfcPriorities)?;
            /// The traffic classes that can have PFC.
            gauge pfc_capability = found(it, Mismatch::PfcCapability)?;
            /// The longest frame.
            gauge max_frame = found(it, Mismatch::MaxFrame)?;
            /// The shares of the link.
            gauge ets = found(it, Mismatch::Ets)?;
            /// The priority for RoCEv2.
            gauge application = found(it, Mismatch::Application)?;
            /// More than one neighbour speaks DCBX.
            gauge several_neighbours = found(it, Mismatch::SeveralNeighbours)?;
            /// The chassis ID, which both ends have.
            gauge same_chassis = found(it, Mismatch::SameChassis)?;
            /// The form of DCBX: the neighbour has only the older one.
            gauge cee = found(it, Mismatch::Cee)?;
        },
    ],
    metrics: &[
        metric! {
            /// Whether there is a mismatch with a neighbour, 1 or 0, by kind.
            "lldp_mismatch" by "kind":
            "pfc_priorities": "mismatch.pfc_priorities"; "pfc_capability": "mismatch.pfc_capability";
            "max_frame": "mismatch.max_frame"; "ets": "mismatch.ets"; "application": "mismatch.application";
            "several_neighbours": "mismatch.several_neighbours"; "same_chassis": "mismatch.same_chassis";
            "cee": "mismatch.cee";
        },
        metric! {
            /// Changes of neighbours, by what came of them.
            "lldp_neighbour_changes" by "result":
            "new": "new"; "changed": "changed"; "left": "left"; "aged": "aged"; "displaced": "displaced";
            "refused": "refused";
        },
    ],
    tables: &[table! { "LLDP: announcements, and neighbours that came and went":
        "new": "new"; "changed": "changed"; "left": "left"; "aged": "aged"; "displaced": "displaced";
        "refused": "refused";
    }],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&LinkAgentReport> {
    seen.look.link_agent.as_ref()
}

fn age(seen: Seen<'_>) -> Option<Interval> {
    let heard = report(seen)?.neighbours.iter().map(|it: &Neighbour| it.heard).min()?;
    Some(seen.look.at.since(heard))
}

fn found(seen: Seen<'_>, mismatch: Mismatch) -> Option<bool> {
    let ours = &seen.settings.link_agent.as_ref()?.message;
    Some(Mismatches::among(ours, &report(seen)?.neighbours).contains(mismatch))
}
