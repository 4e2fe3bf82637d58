//! The figures of a member of a bundle.

use super::BundleReport;
use crate::figure::{FigureList, Seen, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "bundle",
    about: "A member of a [bundle](bundles.md).",
    view: "ports",
    runs_on: |settings| settings.bundle.is_some(),
    report: &[figures! { "", |it|
        /// Times when the link failed, and its frames began to move to the other members.
        counter failures = report(it)?.failures, shown("bundle_failures", "failed"), of_run("failures");
        /// Times when the member sent again.
        counter returns = report(it)?.returns, shown("bundle_returns", "returned"), of_run("returns");
        /// Times when it could not return within a second, because the other members were stopped.
        counter gave_up = report(it)?.gave_up, shown("bundle_gave_up", "gave up");
        /// Frames that moved to other members.
        counter moved_out = report(it)?.moved_out.frames, shown("bundle_moved_out", "moved out"), of_run("moved_out");
        /// Frames of other members that it got.
        counter moved_in = report(it)?.moved_in.frames, shown("bundle_moved_in", "moved in");
    }],
    tables: &[Table::new("BUNDLE: members, and frames that moved between them", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&BundleReport> {
    seen.look.bundle.as_ref()
}
