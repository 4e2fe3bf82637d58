//! Recording of a running simulation.

use super::captures::{CaptureState, Captures};
use super::checkpoint::{Keeper, NotSaved};
use super::events::{EventLog, EventState};
use super::flows::{FlowLog, FlowState};
use super::links::{LinkLog, LinkState};
use super::series::{SeriesLog, SeriesState};
use crate::simulate::progress::Board;
use core::ops::ControlFlow;
use serde::{Deserialize, Serialize};
use simulation::{FlowRecord, NetworkView, NodeId, Observer, Progress, State, Tap};
use std::io;
use switch::Event;
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
    /// Events of switches.
    pub events: EventLog,
    /// The number of the run.
    pub index: usize,
    /// The end of the time in which flows start.
    pub until: Nanos,
    /// The board for its progress.
    pub board: &'a Board<'a>,
    /// Where its checkpoints go, if there are any.
    pub keeper: Option<Keeper>,
}

/// The recordings of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecorderState<'a> {
    pub flows: FlowState,
    pub series: SeriesState<'a>,
    pub links: LinkState,
    pub captures: CaptureState,
    pub events: EventState,
    /// Frames put on links at the last report.
    pub transmissions: u64,
}

impl Recorder<'_> {
    /// Writes a checkpoint of the run in `state`.
    fn save(&mut self, state: &State<'_>) -> Result<(), NotSaved> {
        let Self { flows, series, links, captures, events, index, until: _, board, keeper } = self;
        let Some(keeper) = keeper else { return Ok(()) };
        keeper.begin();
        let recorder = RecorderState {
            flows: flows.state()?,
            captures: captures.state()?,
            events: events.state()?,
            series: series.state(),
            links: links.state(),
            transmissions: board.transmissions(*index),
        };
        let recordings = postcard::to_allocvec(&recorder).map_err(io::Error::other)?;
        keeper.write(&recordings, &state.to_bytes())
    }
}

impl Observer for Recorder<'_> {
    fn completed(&mut self, record: &FlowRecord) {
        self.flows.add(record);
        self.series.flows_mut().ended(record);
    }

    fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        self.series.sample(now, view);
        self.links.sample(now, view);
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        self.captures.add(tap, at, headers, length);
    }

    fn event(&mut self, switch: NodeId, event: &Event) {
        self.events.add(switch, event);
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.captures.has_failed() {
            return ControlFlow::Break(());
        }
        self.board.show(self.index, &progress, self.until)
    }

    fn checkpoint(&mut self, state: &State<'_>) {
        let ends = !self.board.goes_on();
        if self.keeper.as_ref().is_none_or(|keeper| !ends && !keeper.is_due()) || self.captures.has_failed() {
            return;
        }
        if let Err(error) = self.save(state) {
            self.board.complain(&error);
        }
    }
}
