//! HPCC: a window computed from the telemetry of every link of the path ("HPCC: High Precision Congestion
//! Control", SIGCOMM 2019, algorithm 1).

use crate::settings;
use units::{BitRate, Interval, Nanos};
use wire::int::{self, Hop};

/// Half the wrap period of hop timestamps. If more time than this passes between two acknowledgements, their
/// difference is ambiguous.
const COMPARABLE: Interval = Interval(1 << 23);

/// The window of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hpcc {
    settings: settings::Hpcc,
    /// Bytes of the message per byte on the wire.
    payload_share: f64,
    /// W, in bytes on the wire, like the next three fields.
    window: f64,
    /// Wc: the window of the last round trip, from which W is computed.
    reference: f64,
    least: f64,
    most: f64,
    /// U: the utilization of the fullest link, averaged over a round trip.
    utilization: f64,
    /// incStage.
    stage: u32,
    /// lastUpdateSeq: Wc changes when an acknowledgement passes it.
    last_update: u64,
    /// L: the last telemetry, and its arrival.
    links: Option<(int::Header, Nanos)>,
}

impl Hpcc {
    /// A flow that starts at the rate of its port, `line`. `payload_share` is the message bytes per byte on
    /// the wire in a full packet.
    pub fn new(settings: settings::Hpcc, line: BitRate, payload_share: f64) -> Self {
        let in_round_trip = |rate: BitRate| bytes_in(rate, settings.base_rtt).max(1.0);
        let most = in_round_trip(line);
        Self {
            settings,
            payload_share,
            window: most,
            reference: most,
            least: in_round_trip(settings.minimum).min(most),
            most,
            // Assume a full path until telemetry arrives.
            utilization: 1.0,
            stage: 0,
            last_update: 0,
            links: None,
        }
    }

    /// W: bytes of the message that may be in flight.
    #[inline]
    pub fn window(&self) -> u64 {
        (self.window * self.payload_share).ceil() as u64
    }

    /// R = W / T: the sending rate.
    #[inline]
    pub fn rate(&self) -> BitRate {
        let bits = self.window * 8e9 / self.settings.base_rtt.0.max(1) as f64;
        BitRate::new(bits as u64).unwrap_or(const { BitRate::new(1).expect("it is not zero") })
    }

    /// NewAck: handles an acknowledgement of all bytes before `acknowledged` that arrived at `now`.
    /// `telemetry` is that of the acknowledged packet. `next` is the start of new data.
    pub fn acknowledge(&mut self, now: Nanos, acknowledged: u64, next: u64, telemetry: &int::Header) {
        // No hop adds telemetry.
        if telemetry.hops[0].is_none() {
            return;
        }
        let links = self.links;
        let Some((last, _)) = links.filter(|(last, arrived)| comparable(last, telemetry, *arrived, now))
        else {
            // The path is new, or its last record is too old. Only record the links; their load is known from
            // the next acknowledgement.
            self.links = Some((*telemetry, now));
            self.last_update = self.last_update.max(next);
            return;
        };
        // An acknowledgement that was overtaken has nothing new.
        if went_back(&last, telemetry) {
            return;
        }
        self.measure_inflight(&last, telemetry);
        let update = acknowledged > self.last_update;
        self.compute_window(update);
        if update {
            self.last_update = next;
        }
        self.links = Some((*telemetry, now));
    }

    /// MeasureInflight.
    fn measure_inflight(&mut self, last: &int::Header, now: &int::Header) {
        let base_rtt = self.settings.base_rtt.0.max(1) as f64;
        let mut fullest: Option<(f64, f64)> = None;
        for (before, after) in last.hops.iter().zip(&now.hops) {
            let (Some(before), Some(after)) = (before, after) else { break };
            let elapsed = after.nanos_since(before) as f64;
            if elapsed == 0.0 {
                continue;
            }
            let per_nano = after.rate.rate().bits_per_second() as f64 / 8e9;
            let queue = before.queue_bytes().min(after.queue_bytes()) as f64;
            let utilization =
                queue / (per_nano * base_rtt) + after.bytes_since(before) as f64 / elapsed / per_nano;
            if fullest.is_none_or(|(most, _)| utilization > most) {
                fullest = Some((utilization, elapsed));
            }
        }
        let Some((fullest, over)) = fullest else { return };
        let share = (over / base_rtt).min(1.0);
        self.utilization = (1.0 - share) * self.utilization + share * fullest;
    }

    /// ComputeWind.
    fn compute_window(&mut self, update: bool) {
        let settings = &self.settings;
        let additive = settings.additive.0 as f64;
        let multiplicative = self.utilization >= settings.eta || self.stage >= settings.max_stage;
        let window = if multiplicative {
            self.reference / (self.utilization / settings.eta) + additive
        } else {
            self.reference + additive
        };
        self.window = window.max(self.least).min(self.most);
        if update {
            self.stage = if multiplicative { 0 } else { self.stage.saturating_add(1) };
            self.reference = self.window;
        }
    }
}

fn bytes_in(rate: BitRate, time: Interval) -> f64 {
    rate.bits_per_second() as f64 * time.0 as f64 / 8e9
}

/// Whether both are of one path and close enough in time that no timestamp wrapped in between.
fn comparable(last: &int::Header, telemetry: &int::Header, arrived: Nanos, now: Nanos) -> bool {
    let rate = |hop: &Option<Hop>| hop.map(|hop| hop.rate);
    (last.passed, last.path) == (telemetry.passed, telemetry.path)
        && last.hops.iter().map(rate).eq(telemetry.hops.iter().map(rate))
        && now.since(arrived) < COMPARABLE
}

/// Whether the packet of `telemetry` passed its first hop before that of `last`.
fn went_back(last: &int::Header, telemetry: &int::Header) -> bool {
    let (Some(before), Some(after)) = (last.hops[0], telemetry.hops[0]) else { return false };
    after.nanos_since(&before) >= COMPARABLE.0
}

#[cfg(test)]
mod tests;
