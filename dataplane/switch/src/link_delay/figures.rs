//! The figures of the measurement.

use super::LinkDelayReport;
use crate::figure::{Figure, FigureList, Section, Seen, Table};
use crate::program::GroupSettings;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "link_delay",
    view: "pfc",
    runs_on: |settings| settings.link_delay.is_some(),
    report: &[Section {
        name: "",
        figures: &[
            Figure::gauge("delay_ns", |it| Some(report(it)?.delay?.into())).shown(
                "link_delay",
                "delay",
                "The delay of the link, one way, as measured by peer delay (IEEE 802.1AS).",
            ),
            Figure::gauge("last_delay_ns", |it| Some(report(it)?.last_delay?.into())),
            Figure::gauge("headroom_bytes", |it| Some(headroom(it)?.into())).shown(
                "link_delay_headroom",
                "headroom",
                "The least headroom of a lossless group of the port, as it is in force.",
            ),
            Figure::counter("requests", |it| Some(report(it)?.asked.requests.into())).shown(
                "link_delay_requests",
                "requests",
                "Requests of peer delay that the port sent.",
            ),
            Figure::counter("lost", |it| Some(report(it)?.asked.lost.into())).shown(
                "link_delay_lost",
                "lost",
                "Requests of the port that were not answered completely.",
            ),
            Figure::counter("doubtful", |it| Some(report(it)?.asked.doubtful.into())).shown(
                "link_delay_doubtful",
                "doubtful",
                "Requests of the port with more than one answer.",
            ),
            Figure::counter("implausible", |it| Some(report(it)?.asked.implausible.into())).shown(
                "link_delay_implausible",
                "implausible",
                "Answers with a delay that no link can have.",
            ),
            Figure::counter("unexpected", |it| Some(report(it)?.asked.unexpected.into())).shown(
                "link_delay_unexpected",
                "unexpected",
                "Answers to no request of the port, or to an earlier one.",
            ),
            Figure::counter("answered", |it| Some(report(it)?.answered.answered.into())).shown(
                "link_delay_answered",
                "answered",
                "Requests of the other end that the port answered.",
            ),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table {
        title: "LINK DELAY: the delay of a link by peer delay, and the headroom of its port",
        in_summary: false,
        columns: &[],
    }],
};

fn report(seen: Seen<'_>) -> Option<&LinkDelayReport> {
    seen.look.link_delay.as_ref()
}

fn headroom(seen: Seen<'_>) -> Option<u64> {
    report(seen)?;
    seen.settings.groups.iter().filter_map(GroupSettings::lossless).map(|group| group.headroom.0).min()
}
