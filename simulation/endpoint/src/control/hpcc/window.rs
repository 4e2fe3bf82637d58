//! The window of one loop of HPCC, by the load of the fullest of its links (algorithm 1).

use crate::settings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval};
use wire::int::Hop;

/// The load of a link between two records of its hop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Nanoseconds between the records.
    elapsed: f64,
    /// Bytes that the link carries in a nanosecond.
    per_nano: f64,
    /// The smaller of the two queues, in bytes.
    queue: f64,
    /// Bytes that it carried in between.
    sent: f64,
}

impl Load {
    /// The load of a link of `rate`; `None` if both records are of one instant.
    pub fn between(before: &Hop, after: &Hop, rate: BitRate) -> Option<Self> {
        let elapsed = after.nanos_since(before);
        (elapsed > 0).then(|| Self {
            elapsed: elapsed as f64,
            per_nano: rate.bits_per_second() as f64 / 8e9,
            queue: before.queue_bytes().min(after.queue_bytes()) as f64,
            sent: after.bytes_since(before) as f64,
        })
    }
}

/// The window of a loop, in bytes on the wire.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Window {
    /// W.
    pub bytes: f64,
    /// Wc: the window of the last round trip, from which W is computed.
    pub reference: f64,
    least: f64,
    most: f64,
    /// U: the utilization of the fullest link, averaged over a round trip.
    pub utilization: f64,
    /// incStage.
    stage: u32,
}

impl Window {
    /// A flow that starts at the rate of its port, `line`.
    pub fn new(settings: &settings::Hpcc, line: BitRate) -> Self {
        let in_round_trip = |rate: BitRate| bytes_in(rate, settings.base_rtt).max(1.0);
        let most = in_round_trip(line);
        Self {
            bytes: most,
            reference: most,
            least: in_round_trip(settings.minimum).min(most),
            most,
            // Assume a full path until telemetry arrives.
            utilization: 1.0,
            stage: 0,
        }
    }

    /// MeasureInflight, for a loop whose base round trip is `round_trip`.
    pub fn measure_inflight(&mut self, loads: impl Iterator<Item = Load>, round_trip: Interval) {
        let base_rtt = round_trip.0.max(1) as f64;
        let mut fullest: Option<(f64, f64)> = None;
        for Load { elapsed, per_nano, queue, sent } in loads {
            let utilization = queue / (per_nano * base_rtt) + sent / elapsed / per_nano;
            if fullest.is_none_or(|(most, _)| utilization > most) {
                fullest = Some((utilization, elapsed));
            }
        }
        let Some((fullest, over)) = fullest else { return };
        let share = (over / base_rtt).min(1.0);
        self.utilization = (1.0 - share) * self.utilization + share * fullest;
    }

    /// ComputeWind. `update` renews Wc.
    pub fn compute(&mut self, settings: &settings::Hpcc, update: bool) {
        let additive = settings.additive.0 as f64;
        let multiplicative = self.utilization >= settings.eta || self.stage >= settings.max_stage;
        let window = if multiplicative {
            self.reference / (self.utilization / settings.eta) + additive
        } else {
            self.reference + additive
        };
        self.bytes = window.max(self.least).min(self.most);
        if update {
            self.stage = if multiplicative { 0 } else { self.stage.saturating_add(1) };
            self.reference = self.bytes;
        }
    }
}

fn bytes_in(rate: BitRate, time: Interval) -> f64 {
    rate.bits_per_second() as f64 * time.0 as f64 / 8e9
}
