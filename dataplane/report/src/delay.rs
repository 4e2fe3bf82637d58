//! How long things took.

use serde::{Deserialize, Serialize};
use switch::DelayHistogram;

/// How long frames waited between arrival and the start of transmission, to within a bucket of
/// 1/8. All zero where no frame was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayReport {
    /// Half of the frames waited no longer.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// All.
    pub max_ns: u64,
    /// The buckets that hold frames, shortest first.
    pub buckets: Vec<BucketReport>,
}

/// One bucket of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketReport {
    /// Its upper bound, included.
    pub up_to_ns: u64,
    /// Frames in it.
    pub frames: u64,
}

impl From<&DelayHistogram> for DelayReport {
    fn from(histogram: &DelayHistogram) -> Self {
        let bucket = |(up_to, frames): (units::Interval, u64)| BucketReport { up_to_ns: up_to.0, frames };
        Self {
            p50_ns: histogram.quantile(0.5).0,
            p99_ns: histogram.quantile(0.99).0,
            p999_ns: histogram.quantile(0.999).0,
            max_ns: histogram.longest().0,
            buckets: histogram.buckets().map(bucket).collect(),
        }
    }
}

impl DelayReport {
    /// The part with the key `name`, except for the buckets.
    pub fn part(&self, name: &str) -> Option<u64> {
        match name {
            "p50_ns" => Some(self.p50_ns),
            "p99_ns" => Some(self.p99_ns),
            "p999_ns" => Some(self.p999_ns),
            "max_ns" => Some(self.max_ns),
            _ => None,
        }
    }
}
