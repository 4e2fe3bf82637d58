//! LSCC's rate feedback against someone who can send into the long link, and against gateways that start again.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{
    INTERVAL, KEY, LOCAL, PEER, ROUND_TRIP, SESSION, answer, feedback, gateway, lscc_of, nonce_in,
    on_the_wire, rate_in, told,
};
use conformance::{A, B, Flow, P3, TestFrame, Testbench};
use switch::FeedbackCounters;
use switch::program::Settings;
use units::{BitRate, Interval, Nanos};
use wire::rate_feedback::{Content, Frame, Key, Message};

/// How long a gateway waits for its peer before it asks again.
const GRACE: Interval = Interval(ROUND_TRIP.0 + 5 * INTERVAL.0);
/// A gateway that has run for an hour when it is first looked at.
const UPTIME: Nanos = Nanos(3_600_000_000_000);
const FORGED: BitRate = BitRate::gigabits(1);

/// Two gateways and the long link between them, which carries control frames at once. The far one is sent data
/// and says at which rate it wants more; the near one listens.
struct Link {
    near: Testbench,
    far: Testbench,
    key: Option<Key>,
    /// The frames that the far end has sent.
    said: Vec<TestFrame>,
    /// The frames that the near end has sent.
    asked: Vec<TestFrame>,
}

fn settings(key: Option<Key>) -> Settings {
    let mut settings = gateway();
    lscc_of(&mut settings).feedback.key = key;
    settings
}

fn near(key: Option<Key>, now: Nanos) -> Testbench {
    let mut near = Testbench::new(settings(key));
    near.run_clock_to(now);
    near
}

fn far(key: Option<Key>, now: Nanos) -> Testbench {
    let mut settings = settings(key);
    let feedback = &mut lscc_of(&mut settings).feedback;
    (feedback.local, feedback.peer) = (PEER, LOCAL);
    settings.ports[A.index()].rate = BitRate::gigabits(10);
    let mut far = Testbench::new(settings);
    far.run_clock_to(now);
    far
}

impl Link {
    fn new(key: Option<Key>) -> Self {
        Self { near: near(key, UPTIME), far: far(key, UPTIME), key, said: Vec::new(), asked: Vec::new() }
    }

    /// Both ends have traffic for `time`.
    fn run(&mut self, time: Interval) {
        const STEP: Interval = Interval::from_micros(10);
        for _ in 0..time.0 / STEP.0 {
            self.far.inject(B, Flow::new(B, A).at(P3).udps(1, 1_000));
            self.near.inject(A, Flow::new(A, B).at(P3).udps(1, 1_000));
            self.far.run_for(STEP);
            self.near.run_for(STEP);
            self.carry();
        }
    }

    fn carry(&mut self) {
        for sent in self.far.newly_sent(B).into_iter().filter(|sent| sent.control && sent.pfc().is_none()) {
            self.said.push(sent.frame.clone());
            self.near.inject_singly(B, [sent.frame]);
        }
        for sent in self.near.newly_sent(B).into_iter().filter(|sent| sent.control && sent.pfc().is_none()) {
            self.asked.push(sent.frame.clone());
            self.far.inject_singly(B, [sent.frame]);
        }
    }

    fn heard(&self) -> FeedbackCounters {
        self.near.shard.notifiers(B).lscc.unwrap().feedback
    }

    /// The rate that the near end goes by.
    fn told(&self) -> Option<BitRate> {
        self.near.shard.notifiers(B).lscc.unwrap().received_rate
    }

    fn forge(&mut self, sequence: u64) {
        let frame = on_the_wire(&told(sequence, FORGED), None);
        self.near.inject_singly(B, [frame]);
    }

    /// How many of the rates of `time` the near end adopts.
    fn adopted_in(&mut self, time: Interval) -> u64 {
        let before = self.heard().accepted;
        self.run(time);
        self.heard().accepted - before
    }

    /// LSCC works: the near end goes by what the far end says.
    fn assert_heard(&mut self) {
        let adopted = self.adopted_in(INTERVAL * 20);
        assert!(adopted >= 19, "of 20 rates {adopted} were adopted: {:?}", self.heard());
        assert_eq!(self.told(), self.far.shard.notifiers(B).lscc.unwrap().rates.last_rate);
    }
}

#[test]
fn without_a_key_one_forged_message_does_not_end_lscc() {
    let mut link = Link::new(None);
    link.run(Interval::from_millis(3));
    link.forge(u64::MAX);
    link.run(Interval::from_millis(5));
    link.assert_heard();
}

#[test]
fn without_a_key_a_forged_first_message_does_not_end_lscc() {
    let mut link = Link::new(None);
    link.forge(u64::MAX);
    link.run(Interval::from_millis(5));
    link.assert_heard();
}

#[test]
fn messages_recorded_before_the_receiver_starts_again_are_worthless() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    link.near = near(link.key, UPTIME);
    let recorded = link.said.clone();
    link.near.inject_singly(B, recorded);
    assert_eq!(link.told(), None, "{:?}", link.heard());
    link.assert_heard();
}

#[test]
fn a_sender_whose_clock_went_back_is_heard_again_and_what_it_said_before_is_worthless() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let recorded = link.said.clone();
    link.far = far(link.key, Nanos(1_000));
    link.run(Interval::from_millis(5));
    link.assert_heard();
    let before = link.told();
    link.near.inject_singly(B, recorded);
    assert_eq!(link.told(), before, "{:?}", link.heard());
}

#[test]
fn a_receiver_that_starts_again_hears_its_peer_though_a_challenge_is_lost() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    link.near = near(link.key, UPTIME);
    let recorded = link.said.pop().unwrap();
    link.near.inject_singly(B, [recorded]);
    let lost = link.near.newly_sent(B);
    assert!(lost.iter().any(|sent| nonce_in(&sent.frame).is_some()), "it asks, and no one hears it");
    link.run(GRACE + INTERVAL);
    link.assert_heard();
}

#[test]
fn both_ends_may_start_again_at_once() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    (link.near, link.far) = (near(link.key, Nanos(5_000)), far(link.key, Nanos(1_000)));
    let recorded: Vec<_> = link.said.iter().chain(&link.asked).cloned().collect();
    link.near.inject_singly(B, recorded.clone());
    link.far.inject_singly(B, recorded);
    link.run(Interval::from_millis(5));
    link.assert_heard();
}

/// The frames that `bench` sends through port B when `frames` come in there, one every `step`.
fn answers(bench: &mut Testbench, frames: impl Iterator<Item = TestFrame>, step: Interval) -> Vec<TestFrame> {
    bench.newly_sent(B);
    for frame in frames {
        bench.inject_singly(B, [frame]);
        bench.run_for(step);
    }
    bench.newly_sent(B).into_iter().map(|sent| sent.frame).collect()
}

#[test]
fn a_flood_of_recorded_messages_causes_a_challenge_per_grace_and_nothing_else() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let mut near = near(link.key, UPTIME);
    let recorded = link.said.clone();
    let (step, count) = (Interval::from_micros(1), 15_000);
    let sent = answers(&mut near, recorded.into_iter().cycle().take(count), step);
    assert_eq!(sent.len() as u64, (step * count as u64).0 / GRACE.0, "in {count} us");
    assert!(sent.iter().all(|frame| nonce_in(frame).is_some()));
    assert_eq!(near.shard.notifiers(B).lscc.unwrap().received_rate, None);
}

#[test]
fn a_flood_of_forged_messages_causes_nothing_at_all() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let wrong = Some(Key(*b"another key here"));
    let challenge = Message { port: 1, content: Content::Challenge { nonce: 7 } };
    let forged = [
        on_the_wire(&told(UPTIME.0, FORGED), wrong.as_ref()),
        on_the_wire(&told(UPTIME.0, FORGED), None),
        on_the_wire(&Frame { message: challenge, ..told(0, FORGED) }, wrong.as_ref()),
        answer(7, UPTIME.0, FORGED),
    ];
    let (before, heard) = (link.told(), link.heard());
    let sent = answers(&mut link.near, forged.into_iter().cycle().take(4_000), Interval(100));
    assert_eq!((sent, link.told()), (vec![], before));
    assert_eq!(link.heard(), FeedbackCounters { forged: heard.forged + 4_000, ..heard });
}

#[test]
fn a_challenge_that_is_repeated_is_answered_once_in_an_interval_and_changes_nothing() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let challenge = link.asked.iter().find(|frame| nonce_in(frame).is_some()).unwrap().clone();
    // No traffic, so that it has nothing else to say.
    let quiet = Interval::from_millis(50);
    link.far.run_for(quiet);
    let (step, count) = (Interval::from_micros(1), 2_000);
    let sent = answers(&mut link.far, std::iter::repeat_n(challenge, count), step);
    assert_eq!(sent.len() as u64, (step * count as u64).0 / INTERVAL.0, "in {count} us");
    assert!(sent.iter().all(|frame| rate_in(frame).is_some()));
    link.near.run_for(quiet + step * count as u64);
    link.assert_heard();
}

#[test]
fn an_answer_counts_for_one_challenge_and_once() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let recorded = link.said.clone();
    link.near = near(link.key, UPTIME + Interval::from_secs(1));
    let asked = answers(&mut link.near, recorded.into_iter(), Interval(100));
    assert_eq!((asked.len(), link.told()), (1, None), "it knows no answer to its new nonce");
    let nonce = nonce_in(&asked[0]).unwrap();
    let answered = answer(nonce, 5_000, FORGED);
    link.near.inject_singly(B, [answered.clone(), feedback(5_001, BitRate::gigabits(2)), answered]);
    assert_eq!(link.told(), Some(BitRate::gigabits(2)));
    assert_eq!((link.heard().accepted, link.heard().stale), (2, 1));
}

#[test]
fn a_message_of_another_link_with_the_same_key_is_forged() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let elsewhere = Frame { source: [10, 255, 0, 8].into(), ..told(UPTIME.0 + 4_000_000, FORGED) };
    let foreign = on_the_wire(&elsewhere, Some(&KEY));
    // Its message behind the header of this link.
    let mut moved = feedback(SESSION, FORGED);
    moved.bytes[34..].copy_from_slice(&foreign.bytes[34..]);
    let before = (link.told(), link.heard());
    link.near.inject_singly(B, [foreign, moved]);
    let expected =
        FeedbackCounters { foreign: before.1.foreign + 1, forged: before.1.forged + 1, ..before.1 };
    assert_eq!((link.told(), link.heard()), (before.0, expected));
}

#[test]
fn what_a_gateway_says_is_not_believed_when_it_comes_back() {
    let mut link = Link::new(Some(KEY));
    link.run(Interval::from_millis(3));
    let own = link.asked.clone();
    let before = (link.told(), link.heard());
    link.near.inject_singly(B, own.clone());
    let foreign = before.1.foreign + own.len() as u64;
    assert_eq!((link.told(), link.heard()), (before.0, FeedbackCounters { foreign, ..before.1 }));
}
