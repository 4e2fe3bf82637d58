//! The figures of liveness.

use super::{LinkState, LivenessReport};
use crate::figure::{FigureList, Seen, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "liveness",
    about: "The [liveness](liveness.md) of a member of a bundle, by hellos or by a carrier that has to last.",
    view: "ports",
    runs_on: |settings| settings.bundle.as_ref().is_some_and(|it| it.liveness.is_some()),
    report: &[figures! { "", |it|
        /// Whether the link carries data.
        gauge is_up = u64::from(report(it)?.state == LinkState::Up), shown("liveness_is_up", "up");
        /// Times when the link was up and stopped to be.
        counter failures = report(it)?.counters.failures, shown("liveness_failures", "failed"), of_run("link_failures");
        /// Hellos sent.
        counter hellos_sent = report(it)?.counters.sent, shown("liveness_hellos_sent", "sent");
        /// Hellos taken.
        counter hellos_received = report(it)?.counters.received, shown("liveness_hellos_received", "received");
        /// Hellos with a wrong tag.
        counter forged = report(it)?.counters.forged, shown("liveness_forged", "forged");
        /// Hellos whose number is not above the last one.
        counter replayed = report(it)?.counters.replayed, shown("liveness_replayed", "replayed");
        /// Hellos of another link, or of this gateway.
        counter crossed = report(it)?.counters.crossed, shown("liveness_crossed", "crossed");
        /// Hellos for another session, or without carrier.
        counter unexpected = report(it)?.counters.unexpected, shown("liveness_unexpected", "unexpected");
        /// Turns in which a detection would have expired, but for the lateness of this end.
        counter deferred = report(it)?.counters.deferred, shown("liveness_deferred", "deferred");
        /// Data frames to this end that were lost while the link was up, by the totals of both ends.
        counter lost_on_link = report(it)?.counters.lost, shown("liveness_lost_on_link", "lost on link"), of_run("lost_on_link");
    }],
    tables: &[Table::new("LIVENESS: links of bundles, their hellos, and what was lost on them", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&LivenessReport> {
    seen.look.liveness.as_ref()
}
