//! The rate that the other end of the link asks for.

use crate::program::{Feedback, Lscc};
use units::{BitRate, Interval, Nanos};
use wire::ipv4;
use wire::rate_feedback::Received;

/// Intervals without feedback, beyond the round trip, until the limit begins to dissolve.
const GRACE_INTERVALS: u64 = 5;

/// What became of the feedback messages that came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounters {
    /// Messages whose rate was adopted.
    pub accepted: u64,
    /// Messages that do not hold: lengths, checksums, version, TTL.
    pub malformed: u64,
    /// Messages that are not from the peer to this end.
    pub foreign: u64,
    /// Messages without tag or with a wrong one, where a key is set; with a tag, where none is.
    pub forged: u64,
    /// Messages whose sequence number was not above that of the last one: late, or replayed.
    pub stale: u64,
}

/// A rate that was told, and when.
#[derive(Clone, Copy, Debug)]
struct Told {
    rate: BitRate,
    at: Nanos,
    sequence: u64,
    /// Whether too much silence has followed for it to hold.
    lapsed: bool,
}

/// What the other end says, and for how long it holds.
#[derive(Debug)]
pub(crate) struct Advice {
    feedback: Feedback,
    /// T.
    interval: Interval,
    /// How long after a message, or after traffic has begun, the limit holds without another one.
    grace: Interval,
    told: Option<Told>,
    /// When the traffic began that still goes on: before that the other end had nothing to say.
    busy_since: Nanos,
    last_arrival: Nanos,
    lapsed: u64,
    counters: FeedbackCounters,
}

impl Advice {
    pub fn new(settings: &Lscc) -> Self {
        Self {
            feedback: settings.feedback,
            interval: settings.interval,
            grace: settings.round_trip + settings.interval * GRACE_INTERVALS,
            told: None,
            busy_since: Nanos::ZERO,
            last_arrival: Nanos::ZERO,
            lapsed: 0,
            counters: FeedbackCounters::default(),
        }
    }

    /// New settings. What was told stays in force, unless the two ends are others now.
    pub fn configure(&mut self, settings: &Lscc) {
        let same = self.feedback == settings.feedback;
        let told = self.told.take().filter(|_| same);
        let (busy_since, last_arrival) = (self.busy_since, self.last_arrival);
        let (lapsed, counters) = (self.lapsed, self.counters);
        *self = Self { told, busy_since, last_arrival, lapsed, counters, ..Self::new(settings) };
    }

    /// Takes a feedback message in the IPv4 `packet`, or counts why not.
    pub fn receive(&mut self, now: Nanos, packet: &[u8]) {
        let counters = &mut self.counters;
        let Some(received) = checked(packet) else {
            counters.malformed += 1;
            return;
        };
        if (received.source, received.destination) != (self.feedback.peer, self.feedback.local) {
            counters.foreign += 1;
            return;
        }
        let genuine = match &self.feedback.key {
            Some(key) => received.verify_tag(key),
            None => !received.message.is_authenticated(),
        };
        if !genuine {
            counters.forged += 1;
            return;
        }
        let (sequence, rate) = (received.message.sequence(), received.message.rate());
        if self.told.is_some_and(|told| sequence <= told.sequence) {
            counters.stale += 1;
            return;
        }
        counters.accepted += 1;
        self.told = Some(Told { rate, at: now, sequence, lapsed: false });
    }

    /// Traffic toward the other end arrives at `now`.
    #[inline]
    pub fn note_traffic(&mut self, now: Nanos) {
        if now.since(self.last_arrival) > self.grace {
            self.busy_since = now;
        }
        self.last_arrival = now;
    }

    /// The rate that holds at `now`; `None` where nothing is limited. Where messages fail to come
    /// although there is traffic to be told about, the limit doubles with every interval, and is
    /// gone when it has reached `most`.
    #[inline]
    pub fn rate(&mut self, now: Nanos, most: BitRate) -> Option<BitRate> {
        let told = self.told.filter(|told| !told.lapsed)?;
        let silence = now.since(told.at.max(self.busy_since));
        if silence <= self.grace || self.last_arrival < told.at {
            return Some(told.rate);
        }
        self.dissolved(told, silence - self.grace, most)
    }

    #[cold]
    fn dissolved(&mut self, told: Told, beyond: Interval, most: BitRate) -> Option<BitRate> {
        let doublings = 1 + beyond.0 / self.interval.0;
        let rate = u128::from(told.rate.bits_per_second()) << doublings.min(64);
        let limit = u64::try_from(rate).ok().and_then(BitRate::new).filter(|rate| *rate < most);
        if limit.is_none() {
            // Its sequence number stays: an old message does not bring the limit back.
            self.lapsed += 1;
            self.told = Some(Told { lapsed: true, ..told });
        }
        limit
    }

    /// The rate that was told last, if it was not given up since.
    pub fn last_told(&self) -> Option<BitRate> {
        self.told.filter(|told| !told.lapsed).map(|told| told.rate)
    }

    /// How often the limit dissolved because messages failed to come.
    pub fn lapsed(&self) -> u64 {
        self.lapsed
    }

    pub fn counters(&self) -> &FeedbackCounters {
        &self.counters
    }
}

/// The message in an IPv4 packet, where packet and message hold.
fn checked(packet: &[u8]) -> Option<Received<'_>> {
    let received = Received::parse(packet).ok()?;
    let ip = ipv4::View::parse(packet).ok()?;
    (ip.verify_checksum() && received.message.verify_checksum()).then_some(received)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ip::Dscp;
    use wire::rate_feedback::{Frame, Message};

    const T: Interval = Lscc::PLAIN.interval;
    /// The round trip and five intervals.
    const GRACE: Interval = Interval::from_micros(1_500);
    const LINE: BitRate = BitRate::gigabits(16);
    const TOLD: BitRate = BitRate::gigabits(1);

    fn told_at(now: Nanos, sequence: u64, advice: &mut Advice) {
        let frame = Frame {
            source_mac: Default::default(),
            source: Lscc::PLAIN.feedback.peer,
            destination: Lscc::PLAIN.feedback.local,
            dscp: Dscp::DEFAULT,
            identification: 0,
            message: Message { port: 0, sequence, timestamp: now, rate: TOLD },
        };
        let mut bytes = [0; 62];
        frame.emit(None, &mut bytes).unwrap();
        advice.receive(now, &bytes[14..]);
    }

    /// Traffic arrives at `now`: the rate that holds.
    fn arrive(advice: &mut Advice, now: Nanos) -> Option<BitRate> {
        advice.note_traffic(now);
        advice.rate(now, LINE)
    }

    #[test]
    fn a_limit_holds_for_the_grace_then_doubles_with_every_interval_until_it_is_gone() {
        let mut advice = Advice::new(&Lscc::PLAIN);
        arrive(&mut advice, Nanos(1_000));
        told_at(Nanos(2_000), 1, &mut advice);
        let mut now = Nanos(2_000);
        while now <= Nanos(2_000) + GRACE {
            assert_eq!(arrive(&mut advice, now), Some(TOLD));
            now += T;
        }
        let beyond = Nanos(2_001) + GRACE;
        let limits: Vec<_> = (0..5).map(|step| arrive(&mut advice, beyond + T * step)).collect();
        assert_eq!(
            limits,
            [2, 4, 8]
                .map(|rate| Some(BitRate::gigabits(rate)))
                .into_iter()
                .chain([None, None])
                .collect::<Vec<_>>()
        );
        assert_eq!((advice.lapsed(), advice.last_told()), (1, None), "given up once");
    }

    #[test]
    fn silence_counts_from_when_traffic_begins_again() {
        let mut advice = Advice::new(&Lscc::PLAIN);
        told_at(Nanos(2_000), 1, &mut advice);
        let begins = Nanos(5_000_000_000);
        assert_eq!(arrive(&mut advice, begins), Some(TOLD), "the other end had nothing to say");
        assert_eq!(arrive(&mut advice, begins + GRACE), Some(TOLD));
        assert_eq!(arrive(&mut advice, begins + GRACE + Interval(1)), Some(BitRate::gigabits(2)));
    }

    #[test]
    fn a_rate_that_is_asked_for_without_traffic_does_not_dissolve() {
        let mut advice = Advice::new(&Lscc::PLAIN);
        arrive(&mut advice, Nanos(1_000));
        told_at(Nanos(2_000), 1, &mut advice);
        assert_eq!(advice.rate(Nanos(9_000_000_000), LINE), Some(TOLD));
        assert_eq!(advice.lapsed(), 0);
    }
}
