//! The advertisements of the rate calculation module to the other end, and their times.

use super::rate_calculator::{RateCalculator, RateCounters};
use crate::histogram::DelayHistogram;
use crate::ledger::Volume;
use crate::program::{Feedback, Lscc};
use serde::{Deserialize, Serialize};
use units::{BitRate, Nanos, PortId};
use wire::ethernet::MacAddress;
use wire::rate_feedback::{Content, Frame, Key, Message};

/// Domain of drawn sessions.
const SESSION: [u8; 8] = *b"session\0";

/// The rate calculation module of one port, and the messages that wait for the link.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RateAdvertiser {
    port: PortId,
    settings: Lscc,
    seed: u64,
    calculator: RateCalculator,
    /// The newest rate until it is sent: an older one would be stale.
    due: Option<BitRate>,
    /// The nonce of a challenge of the other end, until a rate is sent that answers it.
    answers: Option<u64>,
    /// Challenges before this time are not answered.
    deaf_until: Nanos,
    /// The nonce of a challenge to the other end, until it is sent.
    challenge: Option<u64>,
    /// Drawn with the first rate.
    session: Option<u64>,
    /// The number of the last rate.
    sequence: u64,
    identification: u16,
}

/// A message to the other end.
pub(crate) struct Advertisement {
    frame: Frame,
    key: Option<Key>,
    /// The nonce of the challenge that it answers.
    answers: Option<u64>,
}

impl Advertisement {
    /// Writes the frame to `out`. Returns `false` if there is no room.
    pub fn emit(&self, out: &mut [u8]) -> bool {
        let written = match (&self.key, self.answers) {
            (Some(key), Some(nonce)) => self.frame.emit_answer(key, nonce, out),
            (key, _) => self.frame.emit(key.as_ref(), out),
        };
        written.is_ok()
    }
}

impl RateAdvertiser {
    /// The module of a port that starts. `seed` goes into its session.
    pub fn at_rest(port: PortId, settings: &Lscc, seed: u64) -> Self {
        Self::calculating(port, settings, seed, RateCalculator::at_rest(settings, 0))
    }

    /// The module of a running port, from which `departed` lossless frames have left the switch.
    pub fn new(port: PortId, settings: &Lscc, seed: u64, departed: Volume) -> Self {
        Self::calculating(port, settings, seed, RateCalculator::new(settings, departed.on_the_wire().0))
    }

    fn calculating(port: PortId, settings: &Lscc, seed: u64, calculator: RateCalculator) -> Self {
        Self {
            port,
            settings: *settings,
            seed,
            calculator,
            due: None,
            answers: None,
            deaf_until: Nanos::ZERO,
            challenge: None,
            session: None,
            sequence: 0,
            identification: 0,
        }
    }

    /// Applies new settings. The calculation restarts if it is affected.
    pub fn configure(&mut self, settings: &Lscc, departed: Volume) {
        let (old, new) = (&self.settings, settings);
        let same = (old.interval, old.round_trip, old.calculation)
            == (new.interval, new.round_trip, new.calculation);
        if old.feedback != new.feedback {
            // The challenges concern another end.
            (self.answers, self.challenge) = (None, None);
        }
        if !same {
            let departed = departed.on_the_wire().0;
            // Silence goes on, and traffic is not throttled.
            self.calculator = match self.calculator.is_at_rest() {
                true => RateCalculator::at_rest(settings, departed),
                false => RateCalculator::new(settings, departed),
            };
        }
        self.settings = *settings;
    }

    /// Wakes the calculation, because frames come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.calculator.wake(now);
    }

    /// The end of the running interval.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.calculator.deadline()
    }

    /// Ends the interval. `queue` of the port's lossless frames are inside, and `departed` of them have left since
    /// the start.
    pub fn end_interval(&mut self, now: Nanos, queue: Volume, departed: Volume) {
        let (queue, departed) = (queue.on_the_wire(), departed.on_the_wire());
        self.due = Some(self.calculator.end_interval(now, queue.0, departed.0));
    }

    /// Challenges the other end for a message whose tag covers `nonce`.
    pub fn challenge(&mut self, nonce: u64) {
        self.challenge = Some(nonce);
    }

    /// Answers a challenge of the other end for a message whose tag covers `nonce`: with the last rate again, or
    /// with the first one once there is one. At most one challenge is answered in T, so that replayed challenges
    /// cannot make this end send more.
    pub fn answer(&mut self, now: Nanos, nonce: u64) {
        if now < self.deaf_until {
            return;
        }
        self.deaf_until = now + self.settings.interval;
        self.answers = Some(nonce);
        self.due = self.due.or(self.calculator.counters().last_rate);
    }

    /// Whether a message waits.
    #[inline]
    pub fn has_message(&self) -> bool {
        self.due.is_some() || self.challenge.is_some()
    }

    /// Takes a waiting message, for the port with address `source_mac` to send at `now`.
    pub fn take_message(&mut self, now: Nanos, source_mac: MacAddress) -> Option<Advertisement> {
        let Feedback { local, peer, key, dscp } = self.settings.feedback;
        let (content, answers) = match self.challenge.take() {
            Some(nonce) => (Content::Challenge { nonce }, None),
            None => {
                let rate = self.due.take()?;
                let (sequence, session) = self.next(now, key.as_ref());
                (Content::Rate { rate, sequence, session }, self.answers.take())
            }
        };
        self.identification = self.identification.wrapping_add(1);
        let (identification, message) = (self.identification, Message { port: self.port.0, content });
        let frame = Frame { source_mac, source: local, destination: peer, dscp, identification, message };
        Some(Advertisement { frame, key, answers })
    }

    /// Sequence number and session of the next rate.
    fn next(&mut self, now: Nanos, key: Option<&Key>) -> (u64, u64) {
        self.sequence = now.0.max(self.sequence.saturating_add(1));
        let Some(key) = key else { return (self.sequence, 0) };
        let session = *self.session.get_or_insert_with(|| key.draw(SESSION, self.seed, now));
        (self.sequence, session)
    }

    pub fn counters(&self) -> &RateCounters {
        self.calculator.counters()
    }

    /// Lateness of interval ends.
    pub fn lateness(&self) -> &DelayHistogram {
        self.calculator.lateness()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::RateCalculation;
    use units::{Interval, WireBytes};

    const KEY: Key = Key(*b"sixteen byte key");
    const T: Interval = Lscc::PLAIN.interval;

    fn advertiser(key: Option<Key>) -> RateAdvertiser {
        let mut settings = Lscc::PLAIN;
        settings.feedback.key = key;
        RateAdvertiser::at_rest(PortId(0), &settings, 7)
    }

    fn interval_ends(advertiser: &mut RateAdvertiser, now: Nanos) {
        advertiser.wake(now);
        advertiser.end_interval(now, Volume::ZERO, Volume::ZERO);
    }

    fn taken(advertiser: &mut RateAdvertiser, now: Nanos) -> (Content, Option<u64>) {
        let told = advertiser.take_message(now, MacAddress::default()).unwrap();
        (told.frame.message.content, told.answers)
    }

    fn sequence_and_session(advertiser: &mut RateAdvertiser, now: Nanos) -> (u64, u64) {
        interval_ends(advertiser, now);
        let (Content::Rate { sequence, session, .. }, _) = taken(advertiser, now) else {
            panic!("it is a rate")
        };
        (sequence, session)
    }

    #[test]
    fn a_sequence_number_is_the_clock_and_grows_where_that_stands_still() {
        let mut advertiser = advertiser(None);
        let numbers =
            [5_000, 5_000, 5_000, 9_000].map(|now| sequence_and_session(&mut advertiser, Nanos(now)));
        assert_eq!(numbers, [(5_000, 0), (5_001, 0), (5_002, 0), (9_000, 0)], "without a key no session");
    }

    #[test]
    fn each_life_has_a_session_of_its_own() {
        let session = |advertiser: &mut RateAdvertiser, now| sequence_and_session(advertiser, Nanos(now)).1;
        let mut first = advertiser(Some(KEY));
        let one = session(&mut first, 1_000);
        assert_eq!(session(&mut first, 2_000), one);
        assert_ne!(session(&mut advertiser(Some(KEY)), 1_001), one, "it begins at another time");
        let mut settings = Lscc::PLAIN;
        settings.feedback.key = Some(KEY);
        let mut seeded = RateAdvertiser::at_rest(PortId(0), &settings, 8);
        assert_ne!(session(&mut seeded, 1_000), one, "it has another seed");
    }

    #[test]
    fn a_challenge_is_answered_with_the_last_rate_and_once_in_an_interval() {
        let mut advertiser = advertiser(Some(KEY));
        interval_ends(&mut advertiser, Nanos(1_000));
        let (Content::Rate { rate, .. }, None) = taken(&mut advertiser, Nanos(1_000)) else { panic!() };
        advertiser.answer(Nanos(2_000), 0x77);
        let (Content::Rate { rate: again, sequence, .. }, answers) = taken(&mut advertiser, Nanos(3_000))
        else {
            panic!("it is a rate")
        };
        assert_eq!((again, sequence, answers), (rate, 3_000, Some(0x77)));
        advertiser.answer(Nanos(2_000) + T - Interval(1), 0x78);
        assert!(!advertiser.has_message(), "it comes too soon");
        advertiser.answer(Nanos(2_000) + T, 0x79);
        assert_eq!(taken(&mut advertiser, Nanos(2_000) + T).1, Some(0x79));
        interval_ends(&mut advertiser, Nanos(900_000));
        assert_eq!(taken(&mut advertiser, Nanos(900_000)).1, None, "it is answered once");
    }

    #[test]
    fn who_has_told_no_rate_answers_with_the_first() {
        let mut advertiser = advertiser(Some(KEY));
        advertiser.answer(Nanos(1_000), 0x77);
        assert!(!advertiser.has_message());
        interval_ends(&mut advertiser, Nanos(2_000));
        assert_eq!(taken(&mut advertiser, Nanos(2_000)).1, Some(0x77));
    }

    #[test]
    fn a_challenge_goes_before_a_rate_and_takes_no_number() {
        let mut advertiser = advertiser(Some(KEY));
        interval_ends(&mut advertiser, Nanos(1_000));
        advertiser.challenge(0x99);
        advertiser.answer(Nanos(1_000), 0x77);
        assert!(advertiser.has_message());
        assert_eq!(taken(&mut advertiser, Nanos(1_000)), (Content::Challenge { nonce: 0x99 }, None));
        let (Content::Rate { sequence, .. }, answers) = taken(&mut advertiser, Nanos(1_000)) else {
            panic!()
        };
        assert_eq!((sequence, answers), (1_000, Some(0x77)));
        assert!(!advertiser.has_message());
        advertiser.challenge(0x9a);
        assert!(advertiser.has_message(), "a challenge alone is one");
    }

    #[test]
    fn what_waits_for_another_peer_is_not_sent_to_the_new_one() {
        let mut advertiser = advertiser(Some(KEY));
        advertiser.challenge(0x99);
        advertiser.answer(Nanos(1_000), 0x77);
        let mut settings = advertiser.settings;
        settings.feedback.peer = [10, 0, 0, 9].into();
        advertiser.configure(&settings, Volume::ZERO);
        assert!(!advertiser.has_message());
        interval_ends(&mut advertiser, Nanos(2_000));
        assert_eq!(taken(&mut advertiser, Nanos(2_000)).1, None);
    }

    #[test]
    fn new_settings_leave_a_port_at_rest_and_do_not_cut_down_one_with_traffic() {
        let settings = |micros| Lscc {
            interval: Interval::from_micros(micros),
            calculation: RateCalculation {
                reference: WireBytes(275_000),
                step: Some(BitRate::gigabits(1)),
                ..Lscc::PLAIN.calculation
            },
            ..Lscc::PLAIN
        };
        let first_rate_after = |wakes_before: bool| {
            let mut advertiser = RateAdvertiser::at_rest(PortId(0), &settings(100), 0);
            if wakes_before {
                advertiser.wake(Nanos(1));
            }
            advertiser.configure(&settings(375), Volume::ZERO);
            advertiser.wake(Nanos(2));
            advertiser.end_interval(advertiser.deadline(), Volume::ZERO, Volume::ZERO);
            let told = advertiser.take_message(Nanos(3), MacAddress::default()).unwrap();
            let Content::Rate { rate, .. } = told.frame.message.content else { panic!("it is a rate") };
            rate
        };
        // 275 kB in 1.375 ms.
        assert_eq!(first_rate_after(false), BitRate::new(1_600_000_000).unwrap());
        assert_eq!(first_rate_after(true), BitRate::gigabits(199));
    }
}
