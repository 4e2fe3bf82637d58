//! The figures of repair.

use super::RepairReport;
use crate::figure::{FigureList, Seen, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "repair",
    about: "[Repair](repair.md) of what the link loses.",
    view: "ports",
    runs_on: |settings| settings.repair.is_some(),
    report: &[figures! { "", |it|
        /// Whether the other end repairs as well, so that frames are numbered.
        gauge is_up = u64::from(report(it)?.is_up), shown("repair_is_up", "up");
        /// Frames that are kept until the other end has them.
        gauge kept_frames = report(it)?.kept.frames, shown("repair_kept", "kept");
        /// Bytes of these frames, with their shims.
        gauge kept_bytes = report(it)?.kept.bytes.0;
        /// Frames that came in and wait for lost ones of their flow.
        gauge held_frames = report(it)?.held.iter().map(|held| held.frames).sum::<u64>(), shown("repair_held", "held");
        /// Frames that the other end has sent and that have not come.
        gauge missing_frames = report(it)?.missing, shown("repair_missing", "missing");
        /// From a status to the one that speaks of it.
        gauge round_trip_ns = report(it)?.round_trip;
        /// Frames that were numbered.
        counter sent = report(it)?.near.sent, shown("repair_sent", "sent");
        /// Frames sent again.
        counter sent_again = report(it)?.near.sent_again, shown("repair_sent_again", "again"), of_run("sent_again");
        /// Frames of which the other end has told that they have come.
        counter settled = report(it)?.near.settled, shown("repair_settled", "settled");
        /// Frames that were given up, because the other end was silent for too long or has restarted.
        counter abandoned = report(it)?.near.abandoned, shown("repair_abandoned", "abandoned"), of_run("abandoned");
        /// Frames that left without being kept, because no memory was left.
        counter unkept = report(it)?.near.unkept, shown("repair_unkept", "unkept");
        /// Frames that came for the first time.
        counter arrived = report(it)?.far.arrived, shown("repair_arrived", "arrived");
        /// Those of them that waited for lost ones of their flow.
        counter held = report(it)?.far.held, shown("repair_waited", "waited"), of_run("held");
        /// Frames that came again.
        counter duplicates = report(it)?.far.duplicates, shown("repair_duplicates", "duplicates");
        /// Frames that the other end has given up.
        counter skipped = report(it)?.far.skipped, shown("repair_skipped", "skipped"), of_run("skipped");
        /// Statuses sent.
        counter statuses_sent = report(it)?.counters.sent, shown("repair_statuses_sent", "told");
        /// Statuses taken.
        counter statuses_received = report(it)?.counters.received, shown("repair_statuses_received", "heard");
        /// Statuses without a valid tag, or that no true peer sends.
        counter statuses_refused = report(it)?.counters.refused, shown("repair_statuses_refused", "refused");
        /// Sessions of the other end.
        counter sessions = report(it)?.counters.sessions, shown("repair_sessions", "sessions");
        /// Times when the other end was silent for too long.
        counter outages = report(it)?.counters.outages, shown("repair_outages", "outages"), of_run("outages");
    }],
    tables: &[Table::new("REPAIR: frames that a link lost, sent again and put in order", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&RepairReport> {
    seen.look.repair.as_ref()
}
