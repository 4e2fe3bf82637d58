//! Looks on while a simulation runs.

use super::captures::Captures;
use super::flows::FlowLog;
use super::links::LinkLog;
use super::series::SeriesLog;
use crate::simulate::progress::Board;
use core::ops::ControlFlow;
use simulation::{FlowRecord, Observer, Progress, Tap, View};
use units::{Bytes, Nanos};

/// All that is recorded of one run.
pub struct Recorder<'a> {
    /// Flows that have ended.
    pub flows: FlowLog,
    /// Samples.
    pub series: SeriesLog,
    /// What links carry.
    pub links: LinkLog,
    /// Frames of tapped switches.
    pub captures: Captures,
    /// The number of the run.
    pub index: usize,
    /// Flows start up to here.
    pub until: Nanos,
    /// Where it says how far it has come.
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
