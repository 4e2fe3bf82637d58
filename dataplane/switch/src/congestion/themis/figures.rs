//! The figures of THEMIS.

use super::ThemisCounters;
use crate::figure::{FigureList, Seen, SeriesKind, figures, metric, table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "themis",
    about: "[THEMIS](themis.md) on the port of a long link.",
    view: "flows",
    runs_on: |settings| settings.notifiers.themis.is_some(),
    report: &[
        figures! { "cnps", |it|
            /// CNPs that the gateway made for packets marked on this side.
            counter made = themis(it)?.cnps, of_run("direct_cnps"),
                sampled("themis_cnps_total", "CNPs of THEMIS since the start", SeriesKind::Count),
                plotted("THEMIS CNPs");
            /// Marks that a CNP replaced.
            counter marks_removed = themis(it)?.marks_removed;
            /// Marks that stayed because no CNP could be made.
            counter marks_kept = themis(it)?.marks_kept;
            /// The part of `made` that found no way to the sender.
            counter unreachable = themis(it)?.unreachable;
        },
        figures! { "slowing", |it|
            /// CNPs to the far side that slowed a known flow.
            counter told = themis(it)?.told;
            /// CNPs to the far side of unknown flows, or not from the flow's receiver.
            counter told_unknown = themis(it)?.told_unknown;
            /// Frames that took a slow queue.
            counter slowed = themis(it)?.slowed, of_run("slowed"),
                sampled("themis_slowed_total", "frames slowed down since the start", SeriesKind::Count),
                plotted("THEMIS slowed frames");
            /// Frames of such flows that took their usual queue: the slow one was full, or the flow changed its port or priority.
            counter not_slowed = themis(it)?.not_slowed, of_run("not_slowed");
        },
    ],
    metrics: &[
        metric! {
            /// CNPs that THEMIS made for marked packets, by whether their sender could be reached.
            "themis_cnps" by "result":
            "sent": "cnps.made" - "cnps.unreachable"; "unreachable": "cnps.unreachable";
        },
        metric! {
            /// Congestion marks on outgoing packets, by whether a CNP of THEMIS replaced them.
            "themis_marks" by "result":
            "removed": "cnps.marks_removed"; "kept": "cnps.marks_kept";
        },
        metric! {
            /// CNPs to the far side that THEMIS saw, by whether their flow was known.
            "themis_told" by "flow":
            "known": "slowing.told"; "unknown": "slowing.told_unknown";
        },
        metric! {
            /// Frames of flows to be slowed down, by whether they took a slow queue.
            "themis_frames" by "queue":
            "slow": "slowing.slowed"; "usual": "slowing.not_slowed";
        },
    ],
    tables: &[
        table! { "THEMIS: CNPs for packets marked on this side, and flows from the far side slowed down":
            "CNPs": "cnps.made"; "marks removed": "cnps.marks_removed"; "marks kept": "cnps.marks_kept";
            "told": "slowing.told"; "told unknown": "slowing.told_unknown"; "slowed": "slowing.slowed";
            "not slowed": "slowing.not_slowed";
        }
        .summarized(),
    ],
    ..FigureList::EMPTY
};

fn themis(seen: Seen<'_>) -> Option<&ThemisCounters> {
    seen.look.notifiers.themis.as_ref()
}
