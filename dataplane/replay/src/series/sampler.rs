//! Sampling between events, since nothing else changes the state.

use super::{Sampling, Series};
use crate::frame::OwnedFrame;
use switch::{Lanes, PortInspection, Program};
use units::{Interval, Nanos};

/// Samples per allowed row after which the interval doubles. This limits the cost for a gateway whose queues
/// are empty at every sample.
const LOOKS_PER_ROW: u64 = 100;

/// Samples a switch at whole intervals since the first frame.
pub(crate) struct Sampler {
    series: Series,
    /// The instant of the first frame.
    origin: Option<Nanos>,
    /// Samples since the interval doubled.
    looks: u64,
    row: Vec<Option<u64>>,
    inspection: Box<PortInspection>,
}

impl Sampler {
    pub fn new(sampling: Sampling, program: &Program) -> Self {
        let series = Series::new(sampling, super::columns::columns(&program.settings().ports));
        let row = Vec::with_capacity(series.columns().len());
        Self { row, inspection: Box::default(), series, origin: None, looks: 0 }
    }

    /// Starts the series at `now`, the first frame.
    pub fn begin(&mut self, now: Nanos) {
        self.origin.get_or_insert(now);
    }

    /// Takes the samples up to `to`, before the clock moves there without events in between. Returns the next
    /// instant: call this at the first move of the clock to it or beyond.
    ///
    /// A sample shows the state before the events of its own instant.
    pub fn catch_up(&mut self, switch: &Lanes<OwnedFrame>, mut at: Nanos, to: Nanos) -> Nanos {
        let origin = *self.origin.get_or_insert(to);
        at = at.max(origin);
        while at <= to && at != Nanos::NEVER {
            let changes = self.look(switch, at);
            let next = changes.min(to + Interval(1)).max(at + Interval(1));
            at = origin + self.series.interval_end(next.since(origin));
        }
        at
    }

    /// Takes a final sample after the last event at `now`.
    pub fn finish(mut self, switch: &Lanes<OwnedFrame>, now: Nanos) -> Series {
        if let Some(origin) = self.origin {
            self.series.make_room();
            let end = self.series.interval_end(now.since(origin) + Interval(1));
            self.read(switch, origin + end);
            self.series.end(end, &self.row);
        }
        self.series
    }

    fn look(&mut self, switch: &Lanes<OwnedFrame>, at: Nanos) -> Nanos {
        let changes = self.read(switch, at);
        self.series.push(at.since(self.origin.unwrap_or(at)), &self.row);
        self.looks += 1;
        if self.looks > LOOKS_PER_ROW * self.series.rows_max() as u64 {
            self.series.double_interval();
            self.looks = 0;
        }
        changes
    }

    fn read(&mut self, switch: &Lanes<OwnedFrame>, at: Nanos) -> Nanos {
        let (columns, switch) = (self.series.columns(), (&**switch.program(), switch.lanes()));
        super::columns::look(switch, at, columns, &mut self.inspection, &mut self.row)
    }
}
