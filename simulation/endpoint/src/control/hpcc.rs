//! HPCC: a window computed from the telemetry of every link of the path ("HPCC: High Precision Congestion
//! Control", SIGCOMM 2019, algorithm 1), and the second one of HPCC*, up to the gateway before a long link.

mod near_loop;
mod window;

use crate::settings;
use near_loop::NearLoop;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos};
use window::{Load, Window};
use wire::int::{self, Hop};
use wire::roce::direct_int::Content;

/// Half the wrap period of hop timestamps. If more time than this passes between two acknowledgements, their
/// difference is ambiguous.
const COMPARABLE: Interval = Interval(1 << 23);

/// The window of one flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hpcc {
    settings: settings::Hpcc,
    /// Bytes of the message per byte on the wire.
    payload_share: f64,
    /// W, by the whole path.
    path: Window,
    /// lastUpdateSeq: Wc changes when an acknowledgement passes it.
    last_update: u64,
    /// L: the last telemetry, and its arrival.
    links: Option<(int::Header, Nanos)>,
    /// HPCC*: the loop up to the gateway before the long link.
    near: Option<Box<NearLoop>>,
}

impl Hpcc {
    /// A flow that starts at the rate of its port, `line`. `payload_share` is the message bytes per byte on
    /// the wire in a full packet.
    pub fn new(settings: settings::Hpcc, line: BitRate, payload_share: f64) -> Self {
        Self {
            settings,
            payload_share,
            path: Window::new(&settings, line),
            last_update: 0,
            links: None,
            near: NearLoop::new(&settings, line).map(Box::new),
        }
    }

    /// W, or W\* where it is less, in bytes on the wire.
    #[inline]
    fn lesser(&self) -> f64 {
        self.near.as_ref().map_or(self.path.bytes, |near| near.window().min(self.path.bytes))
    }

    /// Bytes of the message that may be in flight.
    #[inline]
    pub fn window(&self) -> u64 {
        (self.lesser() * self.payload_share).ceil() as u64
    }

    /// R = W / T: the sending rate at `now`.
    #[inline]
    pub fn rate(&mut self, now: Nanos) -> BitRate {
        self.pass(now);
        let bits = self.lesser() * 8e9 / self.settings.base_rtt.0.max(1) as f64;
        BitRate::new(bits as u64).unwrap_or(const { BitRate::new(1).expect("it is not zero") })
    }

    /// Lets time pass for the near loop.
    #[inline]
    pub fn pass(&mut self, now: Nanos) {
        if let Some(near) = &mut self.near {
            near.pass(now, &self.settings);
        }
    }

    /// Handles a direct INT. Returns whether there is a loop for it.
    pub fn direct_int(&mut self, now: Nanos, content: &Content) -> bool {
        let Some(near) = &mut self.near else { return false };
        near.pass(now, &self.settings);
        near.take(now, content, &self.settings);
        true
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
        let pairs = last.hops.iter().zip(&telemetry.hops);
        let loads = pairs.filter_map(|(before, after)| {
            let (before, after) = (before.as_ref()?, after.as_ref()?);
            Load::between(before, after, after.rate.rate())
        });
        self.path.measure_inflight(loads, self.settings.base_rtt);
        let update = acknowledged > self.last_update;
        self.path.compute(&self.settings, update);
        if update {
            self.last_update = next;
        }
        self.links = Some((*telemetry, now));
    }
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
