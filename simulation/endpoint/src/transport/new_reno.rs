//! TCP NewReno, as a contrast to the lossless transports: slow start and congestion avoidance (RFC 5681),
//! fast retransmit and fast recovery with partial acknowledgements (RFC 6582), and the retransmission timer
//! of RFC 6298, without ECN, selective acknowledgements, delayed acknowledgements or limited transmit.
//!
//! It counts in segments, which all have the same size except the last.

mod round_trip;

use super::Response;
use super::seen::Seen;
use crate::settings;
use round_trip::RetransmissionTimer;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The maximum number of segments in flight: 2^30 bytes of the largest, to distinguish old sequence numbers
/// from new (RFC 7323 section 2.3).
const IN_FLIGHT_MAX: u64 = 1 << 17;
/// IW: the initial window in segments (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// Consecutive duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// The sending half of the transport. Windows are in segments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sender {
    /// SND.UNA: the first unacknowledged segment.
    acknowledged: u64,
    /// SND.NXT: goes back to SND.UNA when the timer expires.
    next: u64,
    /// One past the last segment ever sent.
    sent: u64,
    /// cwnd.
    window: f64,
    /// ssthresh.
    threshold: f64,
    duplicates: u32,
    /// `recover` of RFC 6582: one past the last segment sent when the last loss was detected.
    recover: u64,
    in_recovery: bool,
    /// Whether this recovery had a partial acknowledgement.
    partial: bool,
    /// The segment to retransmit before sending anything else.
    again: Option<u64>,
    /// Consecutive timeouts without an acknowledgement in between.
    timeouts: u32,
    timer: RetransmissionTimer,
}

impl Sender {
    pub fn new(settings: settings::NewReno) -> Self {
        Self {
            acknowledged: 0,
            next: 0,
            sent: 0,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            duplicates: 0,
            recover: 0,
            in_recovery: false,
            partial: false,
            again: None,
            timeouts: 0,
            timer: RetransmissionTimer::new(&settings),
        }
    }

    #[inline]
    pub fn next_packet(&self, packets: u64) -> Option<u64> {
        if self.again.is_some() {
            return self.again;
        }
        let window = self.window.min(IN_FLIGHT_MAX as f64);
        (self.next < packets && (self.in_flight() as f64) < window.floor().max(1.0)).then_some(self.next)
    }

    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64) {
        self.timer.on_sent(now, packet, packet < self.sent);
        if self.again == Some(packet) {
            self.again = None;
        } else {
            self.next = packet + 1;
            self.sent = self.sent.max(self.next);
        }
    }

    #[inline]
    pub fn on_response(&mut self, now: Nanos, response: Response) -> u64 {
        // TCP receivers send nothing else.
        let Response::Acknowledge { before } = response else { return 0 };
        if before > self.sent || before < self.acknowledged {
            return 0;
        }
        if before == self.acknowledged {
            if before < self.sent {
                self.on_duplicate();
            }
            return 0;
        }
        let newly = before - self.acknowledged;
        self.acknowledged = before;
        self.next = self.next.max(before);
        self.again = self.again.filter(|packet| *packet >= before);
        (self.duplicates, self.timeouts) = (0, 0);
        self.timer.on_acknowledgement(now, before);
        match self.in_recovery {
            true => self.on_acknowledgement_in_recovery(now, newly),
            false => {
                self.grow();
                self.timer.restart(now, before < self.sent);
            }
        }
        newly
    }

    /// Slow start, or congestion avoidance (RFC 5681 section 3.1, equations 2 and 3).
    fn grow(&mut self) {
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }

    /// RFC 6582 section 3.2, steps 2 and 3.
    fn on_duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.in_recovery {
            // A segment has left the network.
            self.window += 1.0;
            return;
        }
        if self.duplicates != DUPLICATES || self.acknowledged < self.recover {
            return;
        }
        self.threshold = self.half_in_flight();
        self.window = self.threshold + f64::from(DUPLICATES);
        self.recover = self.sent;
        (self.in_recovery, self.partial) = (true, false);
        self.again = Some(self.acknowledged);
    }

    /// RFC 6582 section 3.2, step 3: a full or a partial acknowledgement.
    fn on_acknowledgement_in_recovery(&mut self, now: Nanos, newly: u64) {
        if self.acknowledged >= self.recover {
            self.in_recovery = false;
            // The first of the RFC's two choices, which avoids a burst.
            self.window = self.threshold.min((self.in_flight() as f64).max(1.0) + 1.0);
            self.timer.restart(now, self.acknowledged < self.sent);
            return;
        }
        self.again = Some(self.acknowledged);
        self.window = (self.window - newly as f64 + 1.0).max(1.0);
        // Only the first one restarts the timer, so that many losses end in slow start (the impatient variant
        // of section 4).
        if !self.partial {
            self.partial = true;
            self.timer.restart(now, true);
        }
    }

    /// RFC 5681, equation 4.
    fn half_in_flight(&self) -> f64 {
        (self.in_flight() as f64 / 2.0).max(2.0)
    }

    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.timer.deadline()
    }

    pub fn on_timeout(&mut self, now: Nanos) {
        // RFC 5681 section 3.1: further timeouts keep the threshold of the first.
        if self.timeouts == 0 {
            self.threshold = self.half_in_flight();
        }
        self.timeouts = self.timeouts.saturating_add(1);
        self.window = 1.0;
        self.duplicates = 0;
        self.in_recovery = false;
        self.recover = self.sent;
        self.again = None;
        self.next = self.acknowledged;
        self.timer.on_timeout(now);
    }

    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.next - self.acknowledged
    }

    /// cwnd, in segments.
    pub fn window(&self) -> u64 {
        self.window as u64
    }
}

/// The receiving half of the transport: it keeps segments after a gap and acknowledges each segment at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Receiver {
    seen: Seen,
}

impl Receiver {
    #[inline]
    pub fn expected(&self) -> u64 {
        self.seen.missing()
    }

    #[inline]
    pub fn on_packet(&mut self, packet: u64) -> Response {
        self.seen.insert(packet);
        Response::Acknowledge { before: self.seen.missing() }
    }
}

#[cfg(test)]
mod tests;
