//! The figures of the measurement.

use super::LinkDelayReport;
use crate::figure::{FigureList, Seen, Table, figures};
use crate::program::GroupSettings;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "link_delay",
    about: "[Peer delay](headroom.md); unknown until eight requests were answered, and after ten in a row that were not.",
    view: "pfc",
    runs_on: |settings| settings.link_delay.is_some(),
    report: &[figures! { "", |it|
        /// The delay of the link, one way, as measured by peer delay (IEEE 802.1AS).
        gauge delay_ns = report(it)?.delay?, shown("link_delay", "delay");
        /// The delay of the last exchange.
        gauge last_delay_ns = report(it)?.last_delay?;
        /// The least headroom of a lossless group of the port, as it is in force.
        gauge headroom_bytes = headroom(it)?, shown("link_delay_headroom", "headroom");
        /// Requests of peer delay that the port sent.
        counter requests = report(it)?.asked.requests, shown("link_delay_requests", "requests");
        /// Requests of the port that were not answered completely.
        counter lost = report(it)?.asked.lost, shown("link_delay_lost", "lost");
        /// Requests of the port with more than one answer.
        counter doubtful = report(it)?.asked.doubtful, shown("link_delay_doubtful", "doubtful");
        /// Answers with a delay that no link can have.
        counter implausible = report(it)?.asked.implausible, shown("link_delay_implausible", "implausible");
        /// Answers to no request of the port, or to an earlier one.
        counter unexpected = report(it)?.asked.unexpected, shown("link_delay_unexpected", "unexpected");
        /// Requests of the other end that the port answered.
        counter answered = report(it)?.answered.answered, shown("link_delay_answered", "answered");
    }],
    tables: &[Table::new("LINK DELAY: the delay of a link by peer delay, and the headroom of its port", &[])],
    ..FigureList::EMPTY
};

fn report(seen: Seen<'_>) -> Option<&LinkDelayReport> {
    seen.look.link_delay.as_ref()
}

fn headroom(seen: Seen<'_>) -> Option<u64> {
    report(seen)?;
    seen.settings.groups.iter().filter_map(GroupSettings::lossless).map(|group| group.headroom.0).min()
}
