//! The rate that the other end of the link asks for, and whether it is the other end that says so.
//!
//! Without a key anybody who can send into the link is believed, but nobody for good: a message whose sequence
//! number is further ahead of the last one than the time between them allows is refused, and once nothing was
//! accepted for a while, any number is.
//!
//! With a key a message has to be new as well. A sender draws a *session* when it starts, and its numbers grow
//! within that. Which session is the present one it shows by answering a *challenge*: the tag of the answer
//! covers a nonce that was never used before. So what was recorded before either end started again stays
//! worthless, and a sender whose clock went back is heard again after one round trip.

use crate::program::{Feedback, Lscc};
use units::{BitRate, Interval, Nanos};
use wire::rate_feedback::{Content, Received, VERSION_FIELD};
use wire::{ParseError, Protocol, ipv4};

/// Intervals without feedback, beyond the round trip, until the limit begins to dissolve.
const GRACE_INTERVALS: u64 = 5;
/// For how long a challenge is repeated with the same nonce: the longest round trip of a link, and as much again.
const NONCE_LASTS: Interval = Interval::from_secs(2);
/// What a nonce is drawn for.
const NONCE: [u8; 8] = *b"nonce\0\0\0";
/// The clocks of the two ends differ by less than one part in so many.
const DRIFT: u64 = 1_000;

/// What became of the feedback messages that came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounters {
    /// Messages whose rate was adopted.
    pub accepted: u64,
    /// Messages that do not hold: lengths, checksums, fields, TTL.
    pub malformed: u64,
    /// Messages of another version of the format.
    pub other_version: u64,
    /// Messages that are not from the peer to this end.
    pub foreign: u64,
    /// Messages without tag or with a wrong one, where a key is set; with a tag, where none is. An answer to a
    /// challenge other than the last one has a wrong tag.
    pub forged: u64,
    /// Messages of a session that has answered no challenge: the peer has just started, or they were recorded.
    pub unconfirmed: u64,
    /// Messages whose sequence number was not above that of the last one: late, or replayed.
    pub stale: u64,
    /// Messages whose sequence number was further ahead than the time since the last one allows.
    pub ahead: u64,
    /// Challenges of the peer.
    pub challenges: u64,
    /// Challenges to the peer. These came in with no message.
    pub challenged: u64,
}

/// A rate that was told, and when.
#[derive(Clone, Copy, Debug)]
struct Told {
    rate: BitRate,
    at: Nanos,
    session: u64,
    sequence: u64,
    /// Whether too much silence has followed for it to hold.
    lapsed: bool,
}

/// A challenge that was sent.
#[derive(Clone, Copy, Debug)]
struct Challenge {
    nonce: u64,
    drawn: Nanos,
    /// When it was sent last.
    sent: Nanos,
    /// Whether nobody has answered it yet.
    open: bool,
}

/// What is to be sent to the peer after a message of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    Nothing,
    /// A challenge with this nonce.
    Challenge(u64),
    /// An answer to its challenge with this nonce.
    Answer(u64),
}

/// Why the bytes of a message are not looked at further.
enum Refusal {
    Malformed,
    OtherVersion,
}

/// What is thought of a message that the peer has sent at some time.
enum Verdict {
    Accepted,
    Unconfirmed,
    Stale,
    Ahead,
}

/// What the other end says, and for how long it holds.
#[derive(Debug)]
pub(crate) struct Advice {
    feedback: Feedback,
    seed: u64,
    /// T.
    interval: Interval,
    /// How long after a message, or after traffic has begun, the limit holds without another one.
    grace: Interval,
    told: Option<Told>,
    challenge: Option<Challenge>,
    /// When the traffic began that still goes on: before that the other end had nothing to say.
    busy_since: Nanos,
    last_arrival: Nanos,
    lapsed: u64,
    counters: FeedbackCounters,
}

impl Advice {
    /// `seed` goes into the nonces.
    pub fn new(settings: &Lscc, seed: u64) -> Self {
        Self {
            feedback: settings.feedback,
            seed,
            interval: settings.interval,
            grace: settings.round_trip + settings.interval * GRACE_INTERVALS,
            told: None,
            challenge: None,
            busy_since: Nanos::ZERO,
            last_arrival: Nanos::ZERO,
            lapsed: 0,
            counters: FeedbackCounters::default(),
        }
    }

    /// New settings. What was told stays in force, unless the two ends are others now.
    pub fn configure(&mut self, settings: &Lscc) {
        let same = self.feedback == settings.feedback;
        let (told, challenge) = (self.told.take().filter(|_| same), self.challenge.take().filter(|_| same));
        let (busy_since, last_arrival) = (self.busy_since, self.last_arrival);
        let (lapsed, counters) = (self.lapsed, self.counters);
        let new = Self::new(settings, self.seed);
        *self = Self { told, challenge, busy_since, last_arrival, lapsed, counters, ..new };
    }

    /// Takes a feedback message in the IPv4 `packet`, or counts why not.
    pub fn receive(&mut self, now: Nanos, packet: &[u8]) -> Response {
        let counters = &mut self.counters;
        let received = match checked(packet) {
            Ok(received) => received,
            Err(refusal) => {
                match refusal {
                    Refusal::Malformed => counters.malformed += 1,
                    Refusal::OtherVersion => counters.other_version += 1,
                }
                return Response::Nothing;
            }
        };
        if (received.source, received.destination) != (self.feedback.peer, self.feedback.local) {
            counters.foreign += 1;
            return Response::Nothing;
        }
        let nonce = self.challenge.map(|challenge| challenge.nonce);
        let genuine = match &self.feedback.key {
            Some(key) => received.verify_tag(key, nonce),
            None => !received.message.is_authenticated(),
        };
        if !genuine {
            counters.forged += 1;
            return Response::Nothing;
        }
        match received.message.message().content {
            Content::Challenge { nonce } => {
                counters.challenges += 1;
                Response::Answer(nonce)
            }
            Content::Rate { rate, sequence, session } => {
                let told = Told { rate, at: now, session, sequence, lapsed: false };
                self.hear(now, told, received.message.is_answer())
            }
        }
    }

    /// The peer has said `new` at some time. An answer is to the last challenge.
    fn hear(&mut self, now: Nanos, new: Told, is_answer: bool) -> Response {
        let open = self.challenge.as_mut().filter(|_| is_answer).map(|challenge| &mut challenge.open);
        let verdict = match open.map(core::mem::take) {
            Some(true) => Verdict::Accepted,
            // It was answered before.
            _ => self.judge(now, &new),
        };
        let counters = &mut self.counters;
        match verdict {
            Verdict::Accepted => {
                counters.accepted += 1;
                self.told = Some(new);
                return Response::Nothing;
            }
            Verdict::Unconfirmed => counters.unconfirmed += 1,
            Verdict::Stale => counters.stale += 1,
            Verdict::Ahead => counters.ahead += 1,
        }
        self.doubt(now)
    }

    fn judge(&self, now: Nanos, new: &Told) -> Verdict {
        let keyed = self.feedback.key.is_some();
        // Without a key anybody may have said what came last, so it does not count for long.
        match self.told.filter(|last| keyed || now.since(last.at) <= self.grace) {
            None if keyed => Verdict::Unconfirmed,
            None => Verdict::Accepted,
            Some(last) if keyed && last.session != new.session => Verdict::Unconfirmed,
            Some(last) if new.sequence <= last.sequence => Verdict::Stale,
            Some(last) if new.sequence - last.sequence > self.farthest_ahead(now, last) => Verdict::Ahead,
            Some(_) => Verdict::Accepted,
        }
    }

    /// By how much a sequence number may have grown since `last`. It is the sender's clock in nanoseconds, and a
    /// message may have come sooner than the one before it.
    fn farthest_ahead(&self, now: Nanos, last: Told) -> u64 {
        let elapsed = now.since(last.at);
        (elapsed + Interval(elapsed.0 / DRIFT) + self.grace).0
    }

    /// The peer was not believed. Where nothing was accepted for a while it is asked to show that it is alive: once
    /// in that time, so that nobody who repeats old messages has this end send more.
    fn doubt(&mut self, now: Nanos) -> Response {
        let Some(key) = &self.feedback.key else { return Response::Nothing };
        let lately = |at: Nanos| now.since(at) <= self.grace;
        let heard = self.told.is_some_and(|told| lately(told.at));
        if heard || self.challenge.is_some_and(|challenge| lately(challenge.sent)) {
            return Response::Nothing;
        }
        let again = self.challenge.filter(|it| it.open && now.since(it.drawn) <= NONCE_LASTS);
        let challenge = match again {
            Some(challenge) => Challenge { sent: now, ..challenge },
            None => Challenge { nonce: key.draw(NONCE, self.seed, now), drawn: now, sent: now, open: true },
        };
        self.challenge = Some(challenge);
        self.counters.challenged += 1;
        Response::Challenge(challenge.nonce)
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
fn checked(packet: &[u8]) -> Result<Received<'_>, Refusal> {
    let received = Received::parse(packet).map_err(|error| match error {
        ParseError::Invalid { field: VERSION_FIELD, protocol: Protocol::RateFeedback, .. } => {
            Refusal::OtherVersion
        }
        _ => Refusal::Malformed,
    })?;
    let ip = ipv4::View::parse(packet).map_err(|_| Refusal::Malformed)?;
    let holds = ip.verify_checksum() && received.message.verify_checksum();
    if holds { Ok(received) } else { Err(Refusal::Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ip::Dscp;
    use wire::rate_feedback::{FRAME_LEN, Frame, Key, Message};

    const T: Interval = Lscc::PLAIN.interval;
    /// The round trip and five intervals.
    const GRACE: Interval = Interval::from_micros(1_500);
    const LINE: BitRate = BitRate::gigabits(16);
    const TOLD: BitRate = BitRate::gigabits(1);
    const KEY: Key = Key(*b"sixteen byte key");
    /// An hour after the start.
    const LATE: Nanos = Nanos(3_600_000_000_000);

    fn frame(content: Content) -> Frame {
        Frame {
            source_mac: Default::default(),
            source: Lscc::PLAIN.feedback.peer,
            destination: Lscc::PLAIN.feedback.local,
            dscp: Dscp::DEFAULT,
            identification: 0,
            message: Message { port: 0, content },
        }
    }

    fn told_at(now: Nanos, sequence: u64, advice: &mut Advice) {
        let mut bytes = [0; FRAME_LEN];
        frame(Content::Rate { rate: TOLD, sequence, session: 0 }).emit(None, &mut bytes).unwrap();
        assert_eq!(
            advice.receive(now, &bytes[14..]),
            Response::Nothing,
            "nobody is challenged without a key"
        );
    }

    /// What the counters have come to since they were looked at last.
    struct Counted(FeedbackCounters);

    impl Counted {
        /// What one message was counted as.
        fn one(&mut self, advice: &Advice) -> &'static str {
            let (old, new) = (core::mem::replace(&mut self.0, *advice.counters()), advice.counters());
            let all = [
                ("accepted", new.accepted - old.accepted),
                ("malformed", new.malformed - old.malformed),
                ("other version", new.other_version - old.other_version),
                ("foreign", new.foreign - old.foreign),
                ("forged", new.forged - old.forged),
                ("unconfirmed", new.unconfirmed - old.unconfirmed),
                ("stale", new.stale - old.stale),
                ("ahead", new.ahead - old.ahead),
                ("challenge", new.challenges - old.challenges),
            ];
            let counted: Vec<_> = all.iter().filter(|(_, count)| *count > 0).collect();
            assert!(matches!(counted[..], [(_, 1)]), "{counted:?}");
            counted[0].0
        }
    }

    /// A port with a key, and what its messages are counted as.
    struct Keyed {
        advice: Advice,
        counted: Counted,
    }

    impl Keyed {
        fn new() -> Self {
            let mut settings = Lscc::PLAIN;
            settings.feedback.key = Some(KEY);
            Self { advice: Advice::new(&settings, 5), counted: Counted(FeedbackCounters::default()) }
        }

        fn receive(&mut self, now: Nanos, bytes: &[u8; FRAME_LEN]) -> (&'static str, Response) {
            let response = self.advice.receive(now, &bytes[14..]);
            (self.counted.one(&self.advice), response)
        }

        fn told(&mut self, now: Nanos, session: u64, sequence: u64) -> (&'static str, Response) {
            self.receive(now, &message(session, sequence))
        }

        /// The present session is `session`, at `sequence`.
        fn confirm(&mut self, now: Nanos, session: u64, sequence: u64) {
            let (_, Response::Challenge(nonce)) = self.told(now, session, sequence) else { panic!() };
            assert_eq!(self.receive(now, &answer(nonce, session, sequence)), ("accepted", Response::Nothing));
        }
    }

    fn message(session: u64, sequence: u64) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        frame(Content::Rate { rate: TOLD, sequence, session }).emit(Some(&KEY), &mut bytes).unwrap();
        bytes
    }

    fn answer(nonce: u64, session: u64, sequence: u64) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        let frame = frame(Content::Rate { rate: TOLD, sequence, session });
        frame.emit_answer(&KEY, nonce, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn without_a_key_a_number_may_be_ahead_by_the_time_since_the_last_and_the_grace() {
        let mut advice = Advice::new(&Lscc::PLAIN, 0);
        let mut counted = Counted(FeedbackCounters::default());
        told_at(LATE, 1_000, &mut advice);
        assert_eq!(counted.one(&advice), "accepted", "the first may have any");
        let now = LATE + T;
        let farthest = 1_000 + T.0 + T.0 / 1_000 + GRACE.0;
        for (number, verdict) in [
            (farthest + 1, "ahead"),
            (u64::MAX, "ahead"),
            (1_000, "stale"),
            (0, "stale"),
            (farthest, "accepted"),
            (farthest, "stale"),
        ] {
            told_at(now, number, &mut advice);
            assert_eq!(counted.one(&advice), verdict, "{number}");
        }
    }

    #[test]
    fn without_a_key_no_number_counts_for_longer_than_the_grace() {
        let mut advice = Advice::new(&Lscc::PLAIN, 0);
        let mut counted = Counted(FeedbackCounters::default());
        told_at(LATE, u64::MAX, &mut advice);
        assert_eq!(counted.one(&advice), "accepted");
        told_at(LATE + GRACE, 7, &mut advice);
        assert_eq!(counted.one(&advice), "stale");
        told_at(LATE + GRACE + Interval(1), 7, &mut advice);
        assert_eq!(counted.one(&advice), "accepted");
        told_at(LATE + GRACE + Interval(2), u64::MAX, &mut advice);
        assert_eq!(counted.one(&advice), "ahead");
    }

    #[test]
    fn with_a_key_a_rate_counts_once_its_sender_has_answered_a_challenge() {
        let mut port = Keyed::new();
        let (counted, response) = port.told(LATE, 1, 1_000);
        let Response::Challenge(nonce) = response else { panic!("{response:?}") };
        assert_eq!((counted, port.advice.last_told()), ("unconfirmed", None));
        let wrong = port.receive(LATE, &answer(nonce ^ 1, 1, 1_000));
        assert_eq!(wrong, ("forged", Response::Nothing));
        assert_eq!(port.receive(LATE, &answer(nonce, 1, 1_000)), ("accepted", Response::Nothing));
        assert_eq!(port.advice.last_told(), Some(TOLD));
        assert_eq!(port.told(LATE, 1, 1_001), ("accepted", Response::Nothing));
        assert_eq!(port.receive(LATE, &answer(nonce, 1, 1_000)), ("stale", Response::Nothing), "replayed");
        assert_eq!(port.receive(LATE, &answer(nonce, 2, 9_000)).0, "unconfirmed", "it counted once");
        assert_eq!(port.told(LATE, 1, u64::MAX), ("ahead", Response::Nothing));
    }

    #[test]
    fn a_sender_that_starts_again_is_heard_after_another_challenge_and_its_former_life_never() {
        let mut port = Keyed::new();
        port.confirm(LATE, 1, 5_000_000);
        let now = LATE + GRACE;
        assert_eq!(port.told(now, 2, 100), ("unconfirmed", Response::Nothing), "the other may be alive");
        let now = now + Interval(1);
        port.confirm(now, 2, 200);
        assert_eq!(port.told(now, 1, 5_000_001).0, "unconfirmed");
        assert_eq!(port.told(now, 2, 201).0, "accepted");
    }

    #[test]
    fn a_sender_whose_clock_was_set_back_within_its_session_is_heard_after_a_challenge() {
        let mut port = Keyed::new();
        port.confirm(LATE, 1, 5_000_000);
        let now = LATE + GRACE + Interval(1);
        let (counted, Response::Challenge(nonce)) = port.told(now, 1, 100) else { panic!() };
        assert_eq!((counted, port.receive(now, &answer(nonce, 1, 100)).0), ("stale", "accepted"));
        assert_eq!(port.told(now, 1, 101).0, "accepted");
    }

    #[test]
    fn old_messages_cause_a_challenge_per_grace_and_none_while_the_peer_is_heard() {
        let mut port = Keyed::new();
        let (step, mut challenged) = (Interval::from_micros(10), 0);
        for number in 0..3_000 {
            let (_, response) = port.told(LATE + step * number, 1, 7);
            challenged += u64::from(response != Response::Nothing);
        }
        assert_eq!(challenged, 20, "in 30 ms");
        assert_eq!(port.advice.counters().challenged, challenged);

        let mut port = Keyed::new();
        port.confirm(LATE, 2, 1_000);
        for number in 1..3_000 {
            let now = LATE + step * number;
            assert_eq!(port.told(now, 2, 1_000 + (step * number).0), ("accepted", Response::Nothing));
            assert_eq!(port.told(now, 1, u64::MAX), ("unconfirmed", Response::Nothing));
            assert_eq!(port.told(now, 2, 7), ("stale", Response::Nothing));
        }
    }

    #[test]
    fn a_challenge_that_is_lost_is_repeated_and_has_a_new_nonce_after_two_seconds() {
        let mut port = Keyed::new();
        let mut nonce = |at: Nanos| match port.told(at, 1, 7).1 {
            Response::Challenge(nonce) => nonce,
            other => panic!("{other:?}"),
        };
        let first = nonce(LATE);
        assert_eq!(nonce(LATE + GRACE + Interval(1)), first, "the first may only be slow");
        let later = LATE + Interval::from_secs(2) + Interval(1);
        assert_ne!(nonce(later), first);
        assert_eq!(port.receive(later, &answer(first, 1, 8)).0, "forged");
    }

    #[test]
    fn a_challenge_needs_the_key_and_asks_for_an_answer() {
        let mut bytes = [0; FRAME_LEN];
        let challenge = frame(Content::Challenge { nonce: 0x77 });
        challenge.emit(Some(&KEY), &mut bytes).unwrap();
        let mut port = Keyed::new();
        assert_eq!(port.receive(LATE, &bytes), ("challenge", Response::Answer(0x77)));
        let mut open = Advice::new(&Lscc::PLAIN, 0);
        assert_eq!(open.receive(LATE, &bytes[14..]), Response::Nothing);
        assert_eq!(open.counters().forged, 1);
        challenge.emit(Some(&Key([0; 16])), &mut bytes).unwrap();
        assert_eq!(port.receive(LATE, &bytes), ("forged", Response::Nothing));
    }

    #[test]
    fn a_message_of_the_first_version_is_refused_by_name() {
        // 28 bytes of a message of version 1, with a right checksum.
        let mut first = [0; 28];
        first[0] = 253;
        (first[4], first[7], first[15], first[27]) = (1, 1, 1, 1);
        let checksum = wire::checksum::Sum::ZERO.bytes(&first).checksum();
        first[2..4].copy_from_slice(&checksum.to_be_bytes());
        let mut packet = message(1, 1)[14..14 + 20 + 28].to_vec();
        packet[2..4].copy_from_slice(&48_u16.to_be_bytes());
        packet[20..].copy_from_slice(&first);
        let mut port = Keyed::new();
        assert_eq!(port.advice.receive(LATE, &packet), Response::Nothing);
        assert_eq!(port.counted.one(&port.advice), "other version");
    }

    #[test]
    fn another_peer_or_key_has_to_be_confirmed_anew() {
        let mut port = Keyed::new();
        port.confirm(LATE, 1, 1_000);
        let mut settings = Lscc::PLAIN;
        settings.feedback.key = Some(KEY);
        settings.interval = T * 2;
        port.advice.configure(&settings);
        assert_eq!(port.told(LATE, 1, 1_001).0, "accepted", "it is the same peer");
        settings.feedback.dscp = Dscp::from_low_bits(1);
        port.advice.configure(&settings);
        assert_eq!(port.advice.last_told(), None);
        assert_eq!(port.told(LATE, 1, 1_002).0, "unconfirmed");
    }

    /// Traffic arrives at `now`: the rate that holds.
    fn arrive(advice: &mut Advice, now: Nanos) -> Option<BitRate> {
        advice.note_traffic(now);
        advice.rate(now, LINE)
    }

    #[test]
    fn a_limit_holds_for_the_grace_then_doubles_with_every_interval_until_it_is_gone() {
        let mut advice = Advice::new(&Lscc::PLAIN, 0);
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
        let mut advice = Advice::new(&Lscc::PLAIN, 0);
        told_at(Nanos(2_000), 1, &mut advice);
        let begins = Nanos(5_000_000_000);
        assert_eq!(arrive(&mut advice, begins), Some(TOLD), "the other end had nothing to say");
        assert_eq!(arrive(&mut advice, begins + GRACE), Some(TOLD));
        assert_eq!(arrive(&mut advice, begins + GRACE + Interval(1)), Some(BitRate::gigabits(2)));
    }

    #[test]
    fn a_rate_that_is_asked_for_without_traffic_does_not_dissolve() {
        let mut advice = Advice::new(&Lscc::PLAIN, 0);
        arrive(&mut advice, Nanos(1_000));
        told_at(Nanos(2_000), 1, &mut advice);
        assert_eq!(advice.rate(Nanos(9_000_000_000), LINE), Some(TOLD));
        assert_eq!(advice.lapsed(), 0);
    }
}
