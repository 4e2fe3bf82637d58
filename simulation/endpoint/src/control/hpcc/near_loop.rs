//! The near loop of HPCC*, on the direct INT of the gateway before the long link ("LSCC: Link-Segmented Congestion
//! Control for RDMA in Cross-Datacenter Networks", section III-D).
//!
//! It computes W\* as HPCC computes W, from the links up to the gateway and the pseudo-queue, with the round trip to
//! the gateway as T. W\* is the window of the whole path, as W is, so the two compare and the lesser counts.
//!
//! A direct INT has no sequence number. The paper divides the sequence numbers of a round trip by RTT / N to renew the
//! reference once in each near round trip. A host knows the time, so here the near round trip itself passes.

use super::window::{Load, Window};
use crate::settings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos};
use wire::roce::direct_int::Content;

/// Half the wrap period of hop timestamps, as in the loop over the whole path.
const COMPARABLE: Interval = Interval(1 << 23);

/// The near loop of one flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct NearLoop {
    /// T of this loop.
    round_trip: Interval,
    /// Where it starts, and starts again.
    fresh: Window,
    /// W\*.
    window: Window,
    /// The time when the reference was renewed.
    renewed: Nanos,
    /// The last direct INT, and its arrival.
    last: Option<(Content, Nanos)>,
}

impl NearLoop {
    /// The loop of a flow that starts at the rate of its port, `line`; `None` where the settings have none.
    pub fn new(settings: &settings::Hpcc, line: BitRate) -> Option<Self> {
        let (round_trip, fresh) = (settings.near_rtt?, Window::new(settings, line));
        Some(Self { round_trip, fresh, window: fresh, renewed: Nanos::ZERO, last: None })
    }

    /// W\*, in bytes on the wire.
    #[inline]
    pub fn window(&self) -> f64 {
        self.window.bytes
    }

    /// Handles a direct INT.
    pub fn take(&mut self, now: Nanos, content: &Content, settings: &settings::Hpcc) {
        let last = self.last.filter(|(last, arrived)| comparable(last, content, *arrived, now));
        let Some((last, _)) = last else {
            // The path is new, or its last record is too old.
            (self.last, self.renewed) = (Some((*content, now)), now);
            return;
        };
        let (before, after) = (last.header(), content.header());
        // The last hop is the pseudo-queue, whose rate is the advertised one.
        let queue = usize::from(after.passed).saturating_sub(1);
        let pairs = || before.hops.iter().zip(&after.hops).enumerate();
        let both = || {
            pairs().filter_map(|(index, (before, after))| Some((index, before.as_ref()?, after.as_ref()?)))
        };
        // One that was overtaken has nothing new.
        if both().any(|(index, before, after)| index == queue && after.nanos_since(before) >= COMPARABLE.0) {
            return;
        }
        let loads = both().filter_map(|(index, before, after)| {
            let rate = if index == queue { content.advertised() } else { after.rate.rate() };
            Load::between(before, after, rate)
        });
        self.window.measure_inflight(loads, self.round_trip);
        let update = now.since(self.renewed) >= self.round_trip;
        self.window.compute(settings, update);
        if update {
            self.renewed = now;
        }
        self.last = Some((*content, now));
    }

    /// Lets go if the gateway has been silent for a round trip of the whole path: then the packets carry the telemetry of
    /// all links again, and W knows of them.
    #[inline]
    pub fn pass(&mut self, now: Nanos, settings: &settings::Hpcc) {
        if self.last.is_some_and(|(_, arrived)| now.since(arrived) >= settings.base_rtt) {
            (self.window, self.last) = (self.fresh, None);
        }
    }
}

/// Whether both are of one path and close enough in time that no timestamp wrapped in between. The advertised rate may
/// differ.
fn comparable(last: &Content, content: &Content, arrived: Nanos, now: Nanos) -> bool {
    let links = |content: &Content| {
        let header = content.header();
        (header.passed, header.path, header.hops.map(|hop| hop.map(|hop| hop.rate)))
    };
    links(last) == links(content) && now.since(arrived) < COMPARABLE
}

#[cfg(test)]
mod tests;
