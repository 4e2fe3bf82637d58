//! The retransmission timer: RFC 6298.

use crate::settings;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The maximum timeout after backoff (section 2.5).
const TIMEOUT_MAX: Interval = Interval::from_secs(60);

/// The smoothed round-trip time and its variation, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Estimate {
    smoothed: f64,
    variation: f64,
}

/// Measures one segment at a time, never a retransmitted one (Karn's rule), and times the retransmission of
/// the first unacknowledged segment. The clock's granularity G of a nanosecond is neglected.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct RetransmissionTimer {
    estimate: Option<Estimate>,
    timeout: Interval,
    least: Interval,
    /// The measured segment, and its start.
    measured: Option<(u64, Nanos)>,
    deadline: Nanos,
}

impl RetransmissionTimer {
    pub fn new(settings: &settings::NewReno) -> Self {
        Self {
            estimate: None,
            timeout: settings.rto_initial,
            least: settings.rto_least,
            measured: None,
            deadline: Nanos::NEVER,
        }
    }

    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64, again: bool) {
        if again {
            self.measured = self.measured.filter(|(measured, _)| *measured != packet);
        } else if self.measured.is_none() {
            self.measured = Some((packet, now));
        }
        if self.deadline == Nanos::NEVER {
            self.deadline = now + self.timeout;
        }
    }

    /// Handles an acknowledgement of all segments before `before`.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Nanos, before: u64) {
        if let Some((packet, start)) = self.measured
            && packet < before
        {
            self.measured = None;
            self.measure(now.since(start));
        }
    }

    /// Sections 2.2 to 2.5.
    fn measure(&mut self, round_trip: Interval) {
        let round_trip = round_trip.0 as f64;
        let estimate = match self.estimate {
            None => Estimate { smoothed: round_trip, variation: round_trip / 2.0 },
            Some(Estimate { smoothed, variation }) => Estimate {
                smoothed: 0.875 * smoothed + 0.125 * round_trip,
                variation: 0.75 * variation + 0.25 * (smoothed - round_trip).abs(),
            },
        };
        self.estimate = Some(estimate);
        let timeout = Interval((estimate.smoothed + 4.0 * estimate.variation).ceil() as u64);
        self.timeout = timeout.max(self.least).min(TIMEOUT_MAX);
    }

    /// Sections 5.2 and 5.3: restarts if segments are still in flight.
    #[inline]
    pub fn restart(&mut self, now: Nanos, outstanding: bool) {
        self.deadline = if outstanding { now + self.timeout } else { Nanos::NEVER };
    }

    /// Sections 5.5 and 5.6: backs off.
    pub fn on_timeout(&mut self, now: Nanos) {
        self.timeout = (self.timeout * 2).min(TIMEOUT_MAX);
        self.measured = None;
        self.deadline = now + self.timeout;
    }
}
