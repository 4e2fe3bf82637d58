//! Recording of a running simulation.

use super::captures::Captures;
use super::flows::FlowLog;
use super::links::LinkLog;
use super::series::SeriesLog;
use crate::simulate::progress::Board;
use core::ops::ControlFlow;
use simulation::{FlowRecord, Observer, Progress, Tap, View};
use units::{Bytes, Nanos};

/// The recordings of one run.
pub struct Recorder<'a> {
    /// Flows that have ended.
    pub flows: FlowLog,
    /// Time series.
    pub series: SeriesLog,
    /// The use of links.
    pub links: LinkLog,
    /// Frames of tapped switches.
    pub captures: Captures,
    /// The number of the run.
    pub index: usize,
    /// The end of the time in which flows start.
    pub until: Nanos,
    /// The board for its progress.
    pub board: &'a Board<'a>,
}

impl Observer for Recorder<'_> {
    fn completed(&mut self, record: &FlowRecord) {
        self.flows.add(record);
        self.series.flows_mut().ended(record);
    }

    fn sample(&mut self, now: Nanos, view: &View<'_>) {
        self.series.sample(now, view);
        self.links.sample(now, view);
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        self.captures.add(tap, at, headers, length);
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.captures.has_failed() {
            return ControlFlow::Break(());
        }
        self.board.show(self.index, &progress, self.until)
    }
}
