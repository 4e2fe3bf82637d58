//! Two meters, the messages between which a test carries.

use super::*;
use proptest::prelude::*;
use wire::ptp::Timestamp;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const SECOND: Interval = Interval::from_secs(1);
/// The time of a message on the link.
const FRAME: Interval = Interval(8);
/// The link.
const DELAY: Interval = Interval(400_000);

fn asking() -> LinkDelay {
    LinkDelay { interval: Some(SECOND), returns_up_to: None }
}

/// Two ends of a link.
struct Ends {
    asks: Meter,
    answers: Meter,
    now: Nanos,
    /// How far the clock of the end that answers is ahead, and how many billionths faster it runs.
    ahead: u64,
    drift: i64,
    /// How late each end reads a message.
    lateness: Interval,
}

impl Ends {
    fn new() -> Self {
        let answers = Meter::new(LinkDelay { interval: None, returns_up_to: None }, OTHER);
        let (now, ahead, drift) = (Nanos(5_000_000_000), 0, 0);
        Self { asks: Meter::new(asking(), MAC), answers, now, ahead, drift, lateness: Interval::ZERO }
    }

    /// The time of the other end.
    fn there(&self, at: Nanos) -> Nanos {
        let drift = i128::from(at.0) * i128::from(self.drift) / 1_000_000_000;
        Nanos((i128::from(at.0) + drift) as u64 + self.ahead)
    }

    /// Sends the request that is due, and returns it.
    fn ask(&mut self) -> Message {
        let request = self.asks.message(self.now).unwrap();
        self.asks.sent(self.now);
        request
    }

    /// Carries `request` there. Returns the answers, and when they arrive.
    fn answer(&mut self, request: &Message) -> (Nanos, [Message; 2]) {
        let read = self.now + FRAME + DELAY + self.lateness;
        let there = self.there(read);
        assert!(self.answers.hear(there, FRAME, request));
        let answers = [Interval::ZERO, FRAME].map(|after| {
            let message = self.answers.message(there + after).unwrap();
            self.answers.sent(there + after);
            message
        });
        (read + FRAME + DELAY + self.lateness, answers)
    }

    fn hear(&mut self, at: Nanos, answers: &[Message]) {
        answers.iter().for_each(|answer| assert!(self.asks.hear(at, FRAME, answer)));
    }

    /// A whole exchange, with `change` made to the answers.
    fn exchange_with(&mut self, change: impl FnOnce(&mut Vec<Message>)) {
        let request = self.ask();
        let (at, answers) = self.answer(&request);
        let mut answers = answers.to_vec();
        change(&mut answers);
        self.hear(at, &answers);
        self.now += SECOND;
    }

    fn exchange(&mut self, count: usize) {
        (0..count).for_each(|_| self.exchange_with(|_| ()));
    }

    fn asked(&self) -> InitiatorCounters {
        self.asks.report().asked
    }
}

/// Makes the end that answers claim to have taken `more` nanoseconds longer.
fn claim(answers: &mut [Message], more: i64) {
    answers[1].correction = more << 16;
}

#[test]
fn the_delay_is_that_of_the_link_after_eight_exchanges() {
    let mut ends = Ends::new();
    assert_eq!(ends.asks.frame_due(), Nanos::ZERO, "the first request waits for nothing");
    ends.exchange(8);
    assert_eq!(ends.asks.report().delay, None, "the last exchange goes on until the next request");
    assert_eq!(ends.asks.frame_due(), ends.now);
    ends.exchange(1);
    let report = ends.asks.report();
    assert_eq!((report.delay, report.last_delay), (Some(DELAY), Some(DELAY)));
    assert_eq!(report.asked, InitiatorCounters { requests: 9, ..Default::default() });
    assert_eq!(ends.answers.report().answered, ResponderCounters { answered: 9 });
    assert_eq!(ends.answers.report().delay, None, "it does not ask");
}

#[test]
fn a_link_may_return_once_it_is_measured_anew_and_not_longer_than_covered() {
    let mut ends = Ends::new();
    let mut returns = |longest: Interval, exchanges| {
        ends.asks.configure(LinkDelay { returns_up_to: Some(longest), ..asking() }, MAC);
        ends.asks.restart();
        ends.exchange(exchanges);
        ends.asks.may_return()
    };
    assert_eq!(
        [(DELAY, 9), (DELAY, 8), (DELAY - Interval(1), 9)].map(|it| returns(it.0, it.1)),
        [true, false, false]
    );
    ends.asks.configure(asking(), MAC);
    ends.asks.restart();
    assert!(ends.asks.may_return(), "without a bound");
}

#[test]
fn neither_the_offset_of_a_clock_nor_its_drift_is_part_of_the_delay() {
    for drift in [-150_000, -1, 0, 100_000, 150_000] {
        let mut ends = Ends { ahead: 77_000_000_000, drift, ..Ends::new() };
        ends.exchange(12);
        let delay = ends.asks.report().delay.unwrap();
        // It is measured by the clock of the other end, in which it is up to 60 ns longer or shorter.
        let expected = (i128::from(DELAY.0) * (1_000_000_000 + i128::from(drift)) / 1_000_000_000) as u64;
        assert!(delay.0.abs_diff(expected) <= 2, "{delay} at {drift}, not {expected}");
    }
}

#[test]
fn a_turn_that_is_late_makes_the_delay_longer_and_never_shorter() {
    for late in [1, 10_000, 1_000_000] {
        let mut ends = Ends { lateness: Interval(late), ..Ends::new() };
        ends.exchange(9);
        let delay = ends.asks.report().delay.unwrap();
        assert_eq!(delay, DELAY + Interval(late), "half of what both ends are late together");
    }
}

#[test]
fn an_answer_that_no_link_can_give_is_refused_and_counted() {
    let mut ends = Ends::new();
    ends.exchange(9);
    // A negative delay, and one of a second.
    for more in [2 * DELAY.0 as i64 + 1_000, -2_000_000_000] {
        ends.exchange_with(|answers| claim(answers, more));
    }
    // A follow-up from before the response.
    ends.exchange_with(|answers| {
        if let Body::FollowUp { sent, .. } = &mut answers[1].body {
            *sent = Timestamp::default();
        }
    });
    ends.exchange(1);
    assert_eq!(ends.asked().implausible, 3);
    assert_eq!(ends.asks.report().delay, Some(DELAY));
}

#[test]
fn a_device_that_takes_no_time_for_a_frame_has_a_delay_of_zero() {
    let mut ends = Ends::new();
    (0..9).for_each(|_| ends.exchange_with(|answers| claim(answers, 2 * (DELAY + FRAME).0 as i64)));
    assert_eq!((ends.asks.report().delay, ends.asked().implausible), (Some(Interval::ZERO), 0));
}

#[test]
fn two_answers_to_one_request_count_for_nothing_and_three_such_requests_end_the_measurement() {
    let mut ends = Ends::new();
    ends.exchange(9);
    let twice = |answers: &mut Vec<Message>| {
        let mut other = answers[0];
        other.source.clock += 1;
        answers.push(other);
    };
    for doubtful in 1..=3 {
        ends.exchange_with(twice);
        assert_eq!(ends.asks.report().delay, Some(DELAY), "{doubtful}");
    }
    ends.exchange(1);
    assert_eq!((ends.asks.report().delay, ends.asked().doubtful), (None, 3));
    ends.exchange(8);
    assert_eq!(ends.asks.report().delay, Some(DELAY), "it begins anew");
}

#[test]
fn the_delay_is_unknown_after_ten_requests_without_an_answer() {
    let mut ends = Ends::new();
    ends.exchange(9);
    let ask = |ends: &mut Ends| {
        ends.ask();
        ends.now += SECOND;
        ends.asks.report().delay
    };
    assert!((0..10).all(|_| ask(&mut ends) == Some(DELAY)), "one is under way");
    assert_eq!((ask(&mut ends), ends.asked().lost), (None, 10));
    ends.exchange(9);
    assert_eq!(ends.asks.report().delay, Some(DELAY));
}

#[test]
fn an_answer_to_another_request_or_another_port_is_counted_and_changes_nothing() {
    let mut ends = Ends::new();
    ends.exchange(1);
    let request = ends.ask();
    let (at, answers) = ends.answer(&request);
    let other = |change: fn(&mut Message)| {
        answers.map(|mut answer| {
            change(&mut answer);
            answer
        })
    };
    let strangers = [
        other(|it| it.sequence -= 1),
        other(|it| match &mut it.body {
            Body::Response { requester, .. } | Body::FollowUp { requester, .. } => requester.port += 1,
            Body::Request { .. } => {}
        }),
    ];
    strangers.iter().for_each(|answers| ends.hear(at, answers));
    ends.hear(at, &answers[1..]);
    assert_eq!(ends.asked().unexpected, 5, "the follow-up came before its response, too");
    ends.hear(at, &answers);
    ends.now += SECOND;
    ends.ask();
    let expected = InitiatorCounters { requests: 3, unexpected: 5, ..Default::default() };
    assert_eq!((ends.asked(), ends.asks.report().last_delay), (expected, Some(DELAY)));
}

#[test]
fn requests_are_answered_one_at_a_time_and_no_more_than_the_limit() {
    let mut answers = Meter::new(LinkDelay { interval: None, returns_up_to: None }, OTHER);
    let request = Meter::new(asking(), MAC).message(Nanos(1)).unwrap();
    assert!(answers.hear(Nanos(1), FRAME, &request));
    assert!(!answers.hear(Nanos(1), FRAME, &request), "the first one is being answered");
    assert_eq!(answers.frame_due(), Nanos::ZERO);
    let mut flood = |at: Nanos| {
        while answers.message(at).is_some() {
            answers.sent(at);
        }
        answers.hear(at, FRAME, &request)
    };
    let answered = (0..5_000).filter(|_| flood(Nanos(2))).count();
    assert_eq!(answered, 999);
    assert!(flood(Nanos(2_000_000)));
}

#[test]
fn a_port_that_stops_to_ask_forgets_the_delay_and_one_with_another_interval_does_not() {
    let mut ends = Ends::new();
    ends.exchange(9);
    ends.asks.configure(LinkDelay { interval: Some(Interval::from_millis(125)), returns_up_to: None }, MAC);
    assert_eq!(ends.asks.report().delay, Some(DELAY));
    ends.asks.configure(LinkDelay { interval: None, returns_up_to: None }, MAC);
    assert_eq!((ends.asks.report().delay, ends.asks.frame_due()), (None, Nanos::NEVER));
    ends.asks.configure(asking(), MAC);
    assert_eq!(ends.asks.frame_due(), Nanos::ZERO);
}

proptest! {
    #[test]
    fn whatever_is_answered_the_delay_is_that_of_a_link(
        answers in proptest::collection::vec(
            (any::<(u64, u32, i64, bool)>(), 0..3_u8, 0..2_000_000_000_u64),
            1..200,
        ),
    ) {
        let mut ends = Ends::new();
        let requester = PortIdentity::of_mac(MAC, 1);
        let mut sequence = 0;
        for ((seconds, nanoseconds, correction, is_other), kind, wait) in answers {
            ends.now += Interval(wait);
            if let Some(request) = ends.asks.message(ends.now) {
                sequence = request.sequence;
                ends.asks.sent(ends.now);
            }
            let at = Timestamp { seconds, nanoseconds };
            let body = match kind {
                0 => Body::Response { received: at, requester },
                1 => Body::FollowUp { sent: at, requester },
                _ => Body::Request { log_interval: 0 },
            };
            let source = PortIdentity { clock: u64::from(is_other), port: 1 };
            ends.asks.hear(ends.now, FRAME, &Message { source, sequence, correction, body });
            let report = ends.asks.report();
            let longest = Interval::from_millis(250);
            prop_assert!(report.delay.into_iter().chain(report.last_delay).all(|delay| delay <= longest));
        }
    }
}
