//! Messages that are adopted, messages that are answered, and messages that are not believed.

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

fn told_at(now: Nanos, sequence: u64, advertised: &mut AdvertisedRate) {
    let mut bytes = [0; FRAME_LEN];
    frame(Content::Rate { rate: TOLD, sequence, session: 0 }).emit(None, &mut bytes).unwrap();
    assert_eq!(
        advertised.receive(now, &bytes[14..]),
        Response::Nothing,
        "no one is challenged without a key"
    );
}

/// The counters at the last look.
struct Counted(FeedbackCounters);

impl Counted {
    /// The name of the counter that has counted one message since then.
    fn one(&mut self, advertised: &AdvertisedRate) -> &'static str {
        let (old, new) = (core::mem::replace(&mut self.0, *advertised.counters()), advertised.counters());
        let all = [
            ("accepted", new.accepted - old.accepted),
            ("malformed", new.malformed - old.malformed),
            ("other version", new.other_version - old.other_version),
            ("foreign", new.foreign - old.foreign),
            ("forged", new.forged - old.forged),
            ("unconfirmed", new.unconfirmed - old.unconfirmed),
            ("stale", new.stale - old.stale),
            ("ahead", new.ahead - old.ahead),
            ("challenge", new.challenges_received - old.challenges_received),
        ];
        let counted: Vec<_> = all.iter().filter(|(_, count)| *count > 0).collect();
        assert!(matches!(counted[..], [(_, 1)]), "{counted:?}");
        counted[0].0
    }
}

/// A port with a key, and what its messages are counted as.
struct Keyed {
    advertised: AdvertisedRate,
    counted: Counted,
}

impl Keyed {
    fn new() -> Self {
        let mut settings = Lscc::PLAIN;
        settings.feedback.key = Some(KEY);
        Self { advertised: AdvertisedRate::new(&settings, 5), counted: Counted(FeedbackCounters::default()) }
    }

    fn receive(&mut self, now: Nanos, bytes: &[u8; FRAME_LEN]) -> (&'static str, Response) {
        let response = self.advertised.receive(now, &bytes[14..]);
        (self.counted.one(&self.advertised), response)
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
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    let mut counted = Counted(FeedbackCounters::default());
    told_at(LATE, 1_000, &mut advertised);
    assert_eq!(counted.one(&advertised), "accepted", "the first may have any");
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
        told_at(now, number, &mut advertised);
        assert_eq!(counted.one(&advertised), verdict, "{number}");
    }
}

#[test]
fn without_a_key_no_number_counts_for_longer_than_the_grace() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    let mut counted = Counted(FeedbackCounters::default());
    told_at(LATE, u64::MAX, &mut advertised);
    assert_eq!(counted.one(&advertised), "accepted");
    told_at(LATE + GRACE, 7, &mut advertised);
    assert_eq!(counted.one(&advertised), "stale");
    told_at(LATE + GRACE + Interval(1), 7, &mut advertised);
    assert_eq!(counted.one(&advertised), "accepted");
    told_at(LATE + GRACE + Interval(2), u64::MAX, &mut advertised);
    assert_eq!(counted.one(&advertised), "ahead");
}

#[test]
fn with_a_key_a_rate_counts_once_its_sender_has_answered_a_challenge() {
    let mut port = Keyed::new();
    let (counted, response) = port.told(LATE, 1, 1_000);
    let Response::Challenge(nonce) = response else { panic!("{response:?}") };
    assert_eq!((counted, port.advertised.last_rate()), ("unconfirmed", None));
    let wrong = port.receive(LATE, &answer(nonce ^ 1, 1, 1_000));
    assert_eq!(wrong, ("forged", Response::Nothing));
    assert_eq!(port.receive(LATE, &answer(nonce, 1, 1_000)), ("accepted", Response::Nothing));
    assert_eq!(port.advertised.last_rate(), Some(TOLD));
    assert_eq!(port.told(LATE, 1, 1_001), ("accepted", Response::Nothing));
    assert_eq!(port.receive(LATE, &answer(nonce, 1, 1_000)), ("stale", Response::Nothing), "replayed");
    assert_eq!(port.receive(LATE, &answer(nonce, 2, 9_000)).0, "unconfirmed", "it counted once");
}

#[test]
fn with_a_key_a_message_is_heard_however_late_the_one_before_it_was() {
    let mut port = Keyed::new();
    port.confirm(LATE, 1, 1_000);
    let late = LATE + GRACE * 20;
    assert_eq!(port.told(late, 1, 2_000).0, "accepted", "it waited for a receiver that was away");
    let next = 2_000 + (GRACE * 20).0;
    assert_eq!(port.told(late + Interval(1), 1, next).0, "accepted", "it did not wait");
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
    assert_eq!(port.advertised.counters().challenges_sent, challenged);

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
    let mut open = AdvertisedRate::new(&Lscc::PLAIN, 0);
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
    assert_eq!(port.advertised.receive(LATE, &packet), Response::Nothing);
    assert_eq!(port.counted.one(&port.advertised), "other version");
}

#[test]
fn another_peer_or_key_has_to_be_confirmed_anew() {
    let mut port = Keyed::new();
    port.confirm(LATE, 1, 1_000);
    let mut settings = Lscc::PLAIN;
    settings.feedback.key = Some(KEY);
    settings.interval = T * 2;
    port.advertised.configure(&AdvertisedRate::new(&settings, 1));
    assert_eq!(port.told(LATE, 1, 1_001).0, "accepted", "it is the same peer");
    settings.feedback.dscp = Dscp::from_low_bits(1);
    port.advertised.configure(&AdvertisedRate::new(&settings, 1));
    assert_eq!(port.advertised.last_rate(), None);
    assert_eq!(port.told(LATE, 1, 1_002).0, "unconfirmed");
}

/// Traffic arrives at `now`: the rate that holds.
fn arrive(advertised: &mut AdvertisedRate, now: Nanos) -> Option<BitRate> {
    advertised.note_traffic(now);
    advertised.rate(now, LINE)
}

#[test]
fn a_limit_holds_for_the_grace_then_doubles_with_every_interval_until_it_is_gone() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    arrive(&mut advertised, Nanos(1_000));
    told_at(Nanos(2_000), 1, &mut advertised);
    let mut now = Nanos(2_000);
    while now <= Nanos(2_000) + GRACE {
        assert_eq!(arrive(&mut advertised, now), Some(TOLD));
        now += T;
    }
    let beyond = Nanos(2_001) + GRACE;
    let limits: Vec<_> = (0..5).map(|step| arrive(&mut advertised, beyond + T * step)).collect();
    assert_eq!(
        limits,
        [2, 4, 8]
            .map(|rate| Some(BitRate::gigabits(rate)))
            .into_iter()
            .chain([None, None])
            .collect::<Vec<_>>()
    );
    assert_eq!((advertised.lapsed(), advertised.last_rate()), (1, None), "given up once");
}

#[test]
fn silence_counts_from_when_traffic_begins_again() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    told_at(Nanos(2_000), 1, &mut advertised);
    let begins = Nanos(5_000_000_000);
    assert_eq!(arrive(&mut advertised, begins), Some(TOLD), "the other end had nothing to say");
    assert_eq!(arrive(&mut advertised, begins + GRACE), Some(TOLD));
    assert_eq!(arrive(&mut advertised, begins + GRACE + Interval(1)), Some(BitRate::gigabits(2)));
}

#[test]
fn a_rate_that_is_asked_for_without_traffic_does_not_dissolve() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    arrive(&mut advertised, Nanos(1_000));
    told_at(Nanos(2_000), 1, &mut advertised);
    assert_eq!(advertised.rate(Nanos(9_000_000_000), LINE), Some(TOLD));
    assert_eq!(advertised.lapsed(), 0);
}

#[test]
fn a_message_that_is_damaged_or_from_elsewhere_is_counted_and_not_believed() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    let mut counted = Counted(FeedbackCounters::default());
    let mut bytes = [0; FRAME_LEN];
    let content = Content::Rate { rate: TOLD, sequence: 1, session: 0 };
    frame(content).emit(None, &mut bytes).unwrap();
    // The identification in the IP header, and the number of the port in the message.
    for at in [18, 34 + 7, 34 + 7] {
        bytes[at] ^= 1;
        assert_eq!(advertised.receive(LATE, &bytes[14..]), Response::Nothing);
        bytes[at] ^= 1;
        assert_eq!(counted.one(&advertised), "malformed", "byte {at}");
    }
    for host in [1, 2] {
        Frame { source: [10, 9, 9, host].into(), ..frame(content) }.emit(None, &mut bytes).unwrap();
        assert_eq!(advertised.receive(LATE, &bytes[14..]), Response::Nothing);
        assert_eq!(counted.one(&advertised), "foreign");
    }
    assert_eq!(advertised.last_rate(), None);
}

#[test]
fn an_open_challenge_and_what_was_counted_outlive_new_settings() {
    let mut port = Keyed::new();
    let (_, Response::Challenge(nonce)) = port.told(LATE, 1, 1_000) else { panic!("it is unconfirmed") };
    let mut settings = Lscc::PLAIN;
    settings.feedback.key = Some(KEY);
    settings.interval = T * 2;
    port.advertised.configure(&AdvertisedRate::new(&settings, 1));
    assert_eq!(port.receive(LATE, &answer(nonce, 1, 1_000)).0, "accepted");

    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    told_at(Nanos(2_000), 1, &mut advertised);
    arrive(&mut advertised, Nanos(3_000));
    assert_eq!(arrive(&mut advertised, Nanos(3_000) + GRACE + T * 9), Some(TOLD), "it begins again");
    assert_eq!(advertised.rate(Nanos(9_000_000_000), LINE), None);
    advertised.configure(&AdvertisedRate::new(&Lscc::PLAIN, 1));
    assert_eq!(advertised.lapsed(), 1);
}

#[test]
fn traffic_goes_on_under_new_settings() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    told_at(Nanos(2_000), 1, &mut advertised);
    let begins = Nanos(5_000_000_000);
    assert_eq!(arrive(&mut advertised, begins), Some(TOLD));
    advertised.configure(&AdvertisedRate::new(&Lscc::PLAIN, 1));
    assert_eq!(arrive(&mut advertised, begins + GRACE), Some(TOLD));
    assert_eq!(arrive(&mut advertised, begins + GRACE + Interval(1)), Some(BitRate::gigabits(2)));
}

#[test]
fn traffic_of_the_same_instant_as_a_message_counts_as_after_it() {
    let mut advertised = AdvertisedRate::new(&Lscc::PLAIN, 0);
    arrive(&mut advertised, Nanos(2_000));
    told_at(Nanos(2_000), 1, &mut advertised);
    assert_eq!(advertised.rate(Nanos(2_001) + GRACE, LINE), Some(BitRate::gigabits(2)));
}
