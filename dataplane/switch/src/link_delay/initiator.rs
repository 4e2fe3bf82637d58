//! The end that asks: it sends requests, and computes the delay from their answers (MDPdelayReq, IEEE 802.1AS-2020
//! clause 11.2.19).

use super::samples::Samples;
use super::settings::LinkDelay;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::ptp::{Body, Message, PortIdentity, Timestamp};

/// Requests without a valid answer after which the delay is unknown (`allowedLostResponses`, clause 11.5.3).
const ALLOWED_LOST: u32 = 9;
/// Successive requests with several answers after which the delay is unknown (clause 11.2.2).
const ALLOWED_DOUBTFUL: u32 = 2;
/// The longest delay that a link can have: once around the equator takes 202 ms in a fibre; this leaves a margin.
const LONGEST: Interval = Interval::from_millis(250);
/// The greatest difference between two clocks of 802.1AS, 100 ppm off each (clause B.1.1), in billionths.
const MOST_DRIFT: i128 = 200_000;
const BILLION: i128 = 1_000_000_000;

/// The counters of the end that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitiatorCounters {
    /// Requests sent.
    pub requests: u64,
    /// Requests without a complete answer.
    pub lost: u64,
    /// Requests with more than one answer.
    pub doubtful: u64,
    /// Answers whose delay no link can have.
    pub implausible: u64,
    /// Answers to no request of this port, or to an earlier one.
    pub unexpected: u64,
}

/// A response.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Response {
    source: PortIdentity,
    /// t2.
    received: Timestamp,
    correction: i64,
    /// t4.
    arrived: Nanos,
    /// The time of its frame on the link.
    frame_time: Interval,
}

/// The answer to a request, as far as it is there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Exchange {
    /// t1.
    sent: Nanos,
    response: Option<Response>,
    /// t3, with all corrections.
    origin: Option<(Timestamp, i64)>,
    /// Whether there was more than one answer.
    is_doubtful: bool,
}

/// The end that asks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Initiator {
    sequence: u16,
    exchange: Option<Exchange>,
    /// The next request.
    due: Nanos,
    samples: Samples,
    /// The clock, t3 and t4 of the last complete exchange.
    last_origin: Option<(PortIdentity, Timestamp, Nanos)>,
    /// The delay of the last exchange.
    pub last_delay: Option<Interval>,
    lost_in_a_row: u32,
    doubtful_in_a_row: u32,
    pub counters: InitiatorCounters,
}

impl Initiator {
    /// The next request; never if the port sends none.
    pub fn deadline(&self, settings: &LinkDelay) -> Nanos {
        settings.interval.map_or(Nanos::NEVER, |_| self.due)
    }

    /// The delay that the last exchanges agree on.
    pub fn delay(&self) -> Option<Interval> {
        self.samples.estimate()
    }

    /// Forgets what was measured. The next request is due at once.
    pub fn restart(&mut self) {
        *self = Self { sequence: self.sequence, counters: self.counters, ..Self::default() };
    }

    /// The request that is due.
    pub fn request(&self, source: PortIdentity, settings: &LinkDelay) -> Message {
        let body = Body::Request { log_interval: settings.log_interval() };
        Message { source, sequence: self.sequence.wrapping_add(1), correction: 0, body }
    }

    /// Notes that the first bit of the request left at `start`, and ends the exchange before it. By now every answer to
    /// that has come, so a second one is not missed.
    pub fn sent(&mut self, start: Nanos, interval: Interval) {
        if let Some(exchange) = self.exchange.take() {
            self.end(exchange);
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.counters.requests += 1;
        self.due = start + interval;
        self.exchange = Some(Exchange { sent: start, response: None, origin: None, is_doubtful: false });
    }

    /// Takes a response or follow-up to `identity` that was read at `now` and took `frame_time` on the link.
    pub fn hear(&mut self, now: Nanos, frame_time: Interval, message: &Message, identity: PortIdentity) {
        let (Body::Response { requester, .. } | Body::FollowUp { requester, .. }) = message.body else {
            return;
        };
        let sequence = self.sequence;
        let is_ours = requester == identity && message.sequence == sequence;
        let Some(exchange) = self.exchange.as_mut().filter(|_| is_ours) else {
            self.counters.unexpected += 1;
            return;
        };
        match (message.body, &exchange.response) {
            (Body::Response { received, .. }, None) => {
                let Message { source, correction, .. } = *message;
                let arrived = now - frame_time;
                exchange.response = Some(Response { source, received, correction, arrived, frame_time });
            }
            (Body::FollowUp { sent, .. }, Some(response))
                if response.source == message.source && exchange.origin.is_none() =>
            {
                exchange.origin = Some((sent, response.correction.saturating_add(message.correction)));
            }
            (Body::FollowUp { .. }, None) => self.counters.unexpected += 1,
            _ => exchange.is_doubtful = true,
        }
    }

    fn end(&mut self, exchange: Exchange) {
        if exchange.is_doubtful {
            self.counters.doubtful += 1;
            self.doubtful_in_a_row += 1;
        } else {
            self.doubtful_in_a_row = 0;
        }
        match exchange.response.zip(exchange.origin).filter(|_| !exchange.is_doubtful) {
            Some((response, origin)) => match self.delay_of(exchange.sent, &response, origin) {
                Some(delay) => {
                    self.lost_in_a_row = 0;
                    self.last_delay = Some(delay);
                    self.samples.push(delay);
                }
                None => {
                    self.counters.implausible += 1;
                    self.lost_in_a_row += 1;
                }
            },
            None => {
                self.counters.lost += u64::from(!exchange.is_doubtful);
                self.lost_in_a_row += 1;
            }
        }
        if self.lost_in_a_row > ALLOWED_LOST || self.doubtful_in_a_row > ALLOWED_DOUBTFUL {
            self.samples = Samples::default();
            self.last_delay = None;
        }
    }

    /// `((t4 - t1) x rate ratio - (t3 - t2)) / 2` (equation 16-1 of IEEE 802.1AS clause 11.2.19.3.3), in time of the other
    /// end, rounded up; `None` if no link has that delay. Both ends take off the time of a frame, and a device without a
    /// rate of its own, such as a veth, has none: the delay is then zero.
    fn delay_of(
        &mut self,
        sent: Nanos,
        response: &Response,
        (origin, correction): (Timestamp, i64),
    ) -> Option<Interval> {
        let drift = self.drift(response, origin);
        let turnaround = i128::from(origin.since_ns(response.received)?) + i128::from(correction >> 16);
        let round_trip = i128::from(response.arrived.since(sent).0);
        let twice = round_trip + round_trip * drift / BILLION - turnaround;
        if turnaround < 0 || twice < -2 * i128::from(response.frame_time.0) {
            return None;
        }
        let delay = Interval(u64::try_from((twice.max(0) + 1) / 2).ok()?);
        (delay <= LONGEST).then_some(delay)
    }

    /// The neighbour rate ratio less one, in billionths: how much faster the clock of the other end runs (clause
    /// 11.2.19.3.2). Zero if it is unknown, or more than two clocks differ: then a timestamp was late.
    fn drift(&mut self, response: &Response, origin: Timestamp) -> i128 {
        let Response { source, arrived, .. } = *response;
        let last = self.last_origin.replace((source, origin, arrived)).filter(|(clock, ..)| *clock == source);
        let Some((_, before, then)) = last else { return 0 };
        let (Some(theirs), ours) = (origin.since_ns(before), i128::from(arrived.since(then).0)) else {
            return 0;
        };
        if ours == 0 {
            return 0;
        }
        let drift = (i128::from(theirs) - ours) * BILLION / ours;
        if drift.abs() <= MOST_DRIFT { drift } else { 0 }
    }
}
