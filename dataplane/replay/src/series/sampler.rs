//! When a series is looked at: between two events, since nothing changes at other times.

use super::{Sampling, Series};
use crate::frame::OwnedFrame;
use switch::Shard;
use units::{Interval, Nanos};

/// Samples without rows between them after which the interval doubles, for each row that there
/// may be: a gateway whose queues are empty whenever it is looked at costs no more than that.
const LOOKS_PER_ROW: u64 = 100;

/// Looks at a shard at whole intervals since the first frame.
pub(crate) struct Sampler {
    series: Series,
    /// The instant of the first frame.
    origin: Option<Nanos>,
    /// Samples since the interval doubled.
    looks: u64,
    row: Vec<Option<u64>>,
}

impl Sampler {
    pub fn new(sampling: Sampling, shard: &Shard<OwnedFrame>) -> Self {
        let series = Series::new(sampling, super::columns::columns(&shard.program().settings().ports));
        Self { row: Vec::with_capacity(series.columns().len()), series, origin: None, looks: 0 }
    }

    /// The first frame of all comes at `now`.
    pub fn begin(&mut self, now: Nanos) {
        self.origin.get_or_insert(now);
    }

    /// The clock is to move to `to`, and nothing happens before. Takes the samples up to there, and
    /// returns when to be called next: with the first move of the clock to that instant or beyond.
    ///
    /// A sample shows what holds before the events of its own instant.
    pub fn catch_up(&mut self, shard: &Shard<OwnedFrame>, mut at: Nanos, to: Nanos) -> Nanos {
        let origin = *self.origin.get_or_insert(to);
        at = at.max(origin);
        while at <= to && at != Nanos::NEVER {
            let changes = self.look(shard, at);
            let next = changes.min(to + Interval(1)).max(at + Interval(1));
            at = origin + self.series.interval_end(next.since(origin));
        }
        at
    }

    /// Nothing more will happen after `now`: one last sample shows what is left.
    pub fn finish(mut self, shard: &Shard<OwnedFrame>, now: Nanos) -> Series {
        if let Some(origin) = self.origin {
            self.series.make_room();
            let end = self.series.interval_end(now.since(origin) + Interval(1));
            super::columns::look(shard, origin + end, self.series.columns(), &mut self.row);
            self.series.end(end, &self.row);
        }
        self.series
    }

    fn look(&mut self, shard: &Shard<OwnedFrame>, at: Nanos) -> Nanos {
        let changes = super::columns::look(shard, at, self.series.columns(), &mut self.row);
        self.series.push(at.since(self.origin.unwrap_or(at)), &self.row);
        self.looks += 1;
        if self.looks > LOOKS_PER_ROW * self.series.rows_max() as u64 {
            self.series.double_interval();
            self.looks = 0;
        }
        changes
    }
}
