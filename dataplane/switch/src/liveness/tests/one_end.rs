use super::super::*;
use super::{KEY, MILLI, SECOND, next_hello, place, settings};
use wire::bfd::{Diagnostic, Packet};

const START: Nanos = Nanos(1_000_000_000_000);
const INTERVAL: Interval = Interval::from_micros(3_300);

/// An end, and what plays the other one.
struct Bench {
    now: Nanos,
    monitor: Monitor,
    number: u64,
}

impl Bench {
    fn new() -> Self {
        let mut monitor = Monitor::new(settings(0, INTERVAL), 1);
        monitor.carrier(START, true);
        Self { now: START, monitor, number: START.0 }
    }

    /// An end that is up, with a detection time of three intervals.
    fn up() -> Self {
        let mut bench = Self::new();
        let mine = bench.next().bfd.mine;
        bench.hear(State::Down, 0);
        bench.hear(State::Init, mine);
        bench.hear(State::Up, mine);
        assert!(bench.monitor.carries_data());
        bench
    }

    fn next(&mut self) -> hello::Message {
        next_hello(&mut self.monitor, self.now).expect("one is due")
    }

    /// A hello of the other end.
    fn hello(&mut self, state: State, yours: u32) -> hello::Message {
        self.number += 1;
        let bfd = Packet {
            state,
            diagnostic: Diagnostic::NONE,
            polls: false,
            finishes: false,
            is_independent: true,
            multiplier: 3,
            mine: 7,
            yours,
            desired_tx: INTERVAL,
            required_rx: INTERVAL,
            required_echo_rx: Interval::ZERO,
        };
        let number = self.number;
        hello::Message { bfd, place: place(1), number, sent: 0, received: 0, tag: 0 }.sealed(&KEY)
    }

    fn hear(&mut self, state: State, yours: u32) {
        let hello = self.hello(state, yours);
        self.monitor.hello(self.now, &hello);
    }

    fn session(&self) -> State {
        self.monitor.report().session
    }
}

#[test]
fn without_carrier_nothing_is_sent_or_taken_and_no_data_is_carried() {
    let mut monitor = Monitor::new(settings(0, INTERVAL), 1);
    assert_eq!((monitor.frame_due(), monitor.deadline()), (Nanos::NEVER, Nanos::NEVER));
    let mut bench = Bench::new();
    let hello = bench.hello(State::Down, 0);
    monitor.hello(START, &hello);
    assert_eq!(monitor.report().counters.unexpected, 1);
    assert!(!monitor.carries_data());
}

#[test]
fn carrier_that_goes_takes_the_link_down_at_once_and_the_next_hello_says_so() {
    let mut bench = Bench::up();
    bench.monitor.carrier(bench.now, false);
    let report = bench.monitor.report();
    assert_eq!((report.state, report.cause), (LinkState::Out, Some(DownCause::NoCarrier)));
    assert_eq!(bench.monitor.frame_due(), Nanos::NEVER);
    bench.monitor.carrier(bench.now, true);
    let Packet { state, diagnostic, yours, .. } = bench.next().bfd;
    assert_eq!((state, diagnostic, yours), (State::Down, Diagnostic::PATH_DOWN, 0));
}

#[test]
fn states_change_as_figure_of_section_6_2_says() {
    let mut bench = Bench::new();
    let mine = bench.next().bfd.mine;
    bench.hear(State::Up, mine);
    assert_eq!(bench.session(), State::Down, "the other end has to go down first");
    for (state, expected) in [
        (State::AdminDown, State::Down),
        (State::Down, State::Init),
        (State::Down, State::Init),
        (State::AdminDown, State::Down),
        (State::Init, State::Up),
        (State::Up, State::Up),
        (State::Init, State::Up),
        (State::Down, State::Down),
        (State::Down, State::Init),
        (State::Up, State::Up),
        (State::AdminDown, State::Down),
    ] {
        bench.hear(state, mine);
        assert_eq!(bench.session(), expected, "after {state:?}");
    }
}

#[test]
fn a_hello_for_another_session_changes_nothing() {
    let mut bench = Bench::up();
    let mine = bench.next().bfd.mine;
    bench.hear(State::Down, mine ^ 1);
    assert_eq!((bench.session(), bench.monitor.report().counters.unexpected), (State::Up, 1));
}

#[test]
fn before_it_is_up_an_end_sends_once_a_second_at_most_and_a_change_at_once() {
    let mut bench = Bench::new();
    let first = bench.next();
    assert_eq!(first.bfd.desired_tx, SECOND);
    for _ in 0..1_000 {
        let wait = bench.monitor.frame_due().since(bench.now);
        assert!((SECOND - MILLI * 250..=SECOND).contains(&wait), "{wait}");
        bench.now += wait;
        bench.next();
    }
    bench.hear(State::Down, 0);
    assert_eq!(bench.next().bfd.state, State::Init);
    bench.hear(State::Init, first.bfd.mine);
    assert_eq!(bench.next().bfd.desired_tx, INTERVAL);
    let wait = bench.monitor.frame_due().since(bench.now);
    assert!((Interval(2_475_000)..=INTERVAL).contains(&wait), "{wait}");
}

#[test]
fn a_poll_is_answered_at_once_and_ends_with_its_answer() {
    let mut bench = Bench::up();
    let ours = bench.next().bfd;
    assert!(ours.polls, "the interval has changed");
    let mut hello = bench.hello(State::Up, ours.mine);
    hello.bfd.polls = true;
    bench.monitor.hello(bench.now, &hello.sealed(&KEY));
    let answer = bench.next().bfd;
    assert!(answer.finishes && !answer.polls);
    let mut hello = bench.hello(State::Up, ours.mine);
    hello.bfd.finishes = true;
    bench.monitor.hello(bench.now, &hello.sealed(&KEY));
    bench.now = bench.monitor.frame_due();
    let next = bench.next().bfd;
    assert!(!next.polls && !next.finishes);
}

#[test]
fn an_end_that_wants_no_hellos_gets_changes_only() {
    let mut bench = Bench::up();
    let mine = bench.next().bfd.mine;
    let mut hello = bench.hello(State::Up, mine);
    hello.bfd.required_rx = Interval::ZERO;
    bench.monitor.hello(bench.now, &hello.sealed(&KEY));
    bench.now += INTERVAL;
    bench.next();
    assert!(bench.monitor.frame_due().since(bench.now) > SECOND * 1_000_000);
}

#[test]
fn a_detection_waits_for_the_rest_of_a_full_burst() {
    let mut bench = Bench::up();
    let at = bench.monitor.deadline();
    assert_eq!(at.since(bench.now), INTERVAL * 3);
    bench.monitor.turn(at - Interval(1), false);
    bench.monitor.turn(at, true);
    assert!(bench.monitor.carries_data());
    bench.monitor.turn(at, false);
    let report = bench.monitor.report();
    assert_eq!((report.cause, report.counters.deferred), (Some(DownCause::DetectionExpired), 1));
}

#[test]
fn a_detection_waits_for_an_interval_after_a_late_turn_and_late_turns_put_it_off_by_its_time_at_most() {
    let mut bench = Bench::up();
    let at = bench.monitor.deadline();
    let late = at + Interval(500);
    bench.monitor.late(late);
    bench.monitor.turn(late, false);
    assert_eq!(bench.monitor.deadline(), late + INTERVAL);
    bench.monitor.turn(late + INTERVAL - Interval(1), false);
    assert!(bench.monitor.carries_data());
    let last = at + INTERVAL * 3;
    let mut now = late;
    while now < last {
        bench.monitor.late(now);
        bench.monitor.turn(now, false);
        assert!(bench.monitor.carries_data());
        now += MILLI;
    }
    bench.monitor.late(last);
    bench.monitor.turn(last, false);
    assert!(!bench.monitor.carries_data());
}

#[test]
fn a_forged_hello_and_a_replayed_one_are_counted_and_change_nothing() {
    let mut bench = Bench::up();
    let mine = bench.next().bfd.mine;
    let last = bench.hello(State::Up, mine);
    bench.monitor.hello(bench.now, &last);
    let mut forged = bench.hello(State::Down, mine);
    forged.tag ^= 1;
    let old = hello::Message { number: last.number - 1, ..forged }.sealed(&KEY);
    let before = format!("{:?}", LivenessReport { counters: Default::default(), ..bench.monitor.report() });
    let due = bench.monitor.frame_due();
    for hello in [forged, old, last] {
        bench.monitor.hello(bench.now + MILLI, &hello);
    }
    let report = bench.monitor.report();
    assert_eq!((report.counters.forged, report.counters.replayed), (1, 2));
    assert_eq!(format!("{:?}", LivenessReport { counters: Default::default(), ..report }), before);
    assert_eq!(bench.monitor.frame_due(), due);
}

/// With the key of the link: recorded on another one, or before a cable was moved.
#[test]
fn a_hello_of_another_gateway_before_the_link_was_up_does_not_keep_the_true_one_out() {
    let mut bench = Bench::new();
    let mine = bench.next().bfd.mine;
    let other = hello::Message { place: place(5), ..bench.hello(State::Down, 0) };
    bench.monitor.hello(bench.now, &other.sealed(&KEY));
    assert_eq!(bench.session(), State::Init);
    bench.hear(State::Init, mine);
    let report = bench.monitor.report();
    assert_eq!((report.session, report.peer, report.counters.crossed), (State::Up, Some(place(1)), 0));
}

#[test]
fn numbers_rise_with_the_clock_and_while_it_stands_still() {
    let mut bench = Bench::new();
    let first = bench.next().number;
    bench.hear(State::Down, 0);
    let second = bench.next().number;
    bench.now = bench.monitor.frame_due();
    assert_eq!([first, second, bench.next().number], [START.0, START.0 + 1, bench.now.0]);
}

/// An end that proves by its carrier, which is there.
fn by_carrier(settings: Liveness) -> Monitor {
    let mut monitor = Monitor::new(Liveness { proof: Proof::Carrier, ..settings }, 1);
    monitor.carrier(START, true);
    assert_eq!(monitor.state(), LinkState::Up, "the first time has nothing to prove");
    monitor
}

#[test]
fn a_link_that_flaps_waits_twice_as_long_each_time_and_a_stable_one_begins_anew() {
    let mut monitor = by_carrier(Liveness { return_after: SECOND * 60, ..settings(0, INTERVAL) });
    let mut now = START;
    let mut flap = |stays_up: Interval| {
        now += stays_up;
        monitor.carrier(now, false);
        assert!(!monitor.carries_data());
        now += MILLI;
        monitor.carrier(now, true);
        assert_eq!(monitor.state(), LinkState::Proving);
        let until = monitor.deadline();
        monitor.turn(until - Interval(1), false);
        assert_eq!(monitor.state(), LinkState::Proving);
        monitor.turn(until, false);
        assert!(monitor.carries_data());
        let waited = until.since(now);
        now = until;
        waited
    };
    let waits = [SECOND; 5].map(&mut flap);
    assert_eq!(waits, [60, 120, 240, 300, 300].map(|it| SECOND * it));
    assert_eq!([SECOND * 300, SECOND * 299].map(&mut flap), [60, 120].map(|it| SECOND * it));
}

#[test]
fn a_relapse_while_it_proves_itself_doubles_the_time_too() {
    let mut monitor = by_carrier(Liveness { return_after: SECOND, ..settings(0, INTERVAL) });
    for (step, seconds) in [1, 2, 4, 8].into_iter().enumerate() {
        let now = START + SECOND * step as u64;
        monitor.carrier(now, false);
        monitor.carrier(now, true);
        assert_eq!(monitor.deadline().since(now), SECOND * seconds);
    }
}

#[test]
fn a_link_that_came_back_waits_until_its_delay_is_known_to_be_short_enough() {
    let mut monitor = by_carrier(Liveness { return_after: SECOND, ..settings(0, INTERVAL) });
    assert!(!monitor.measures_anew(), "a link that has not failed");
    monitor.carrier(START, false);
    monitor.carrier(START + SECOND, true);
    assert!(monitor.measures_anew() && !monitor.measures_anew());
    let mut now = monitor.deadline();
    assert_eq!(now, START + SECOND * 2);
    monitor.delay(false);
    for _ in 0..3 {
        monitor.turn(now, false);
        assert_eq!(monitor.state(), LinkState::Proving);
        assert!(monitor.deadline() > now, "it is looked at again, and not at once");
        now = monitor.deadline();
    }
    monitor.delay(true);
    monitor.turn(now, false);
    assert_eq!(monitor.state(), LinkState::Up);
}

#[test]
fn a_link_is_held_for_hold_off_and_then_out() {
    let hold_off = MILLI * 60;
    let mut monitor = by_carrier(Liveness { hold_off, return_after: SECOND, ..settings(0, INTERVAL) });
    monitor.carrier(START, false);
    assert_eq!((monitor.state(), monitor.deadline()), (LinkState::Held, START + hold_off));
    monitor.carrier(START + MILLI * 59, true);
    assert_eq!(monitor.state(), LinkState::Up);
    assert!(monitor.measures_anew(), "it may have been restored along another way");
    monitor.carrier(START + SECOND, false);
    monitor.turn(START + SECOND + hold_off, false);
    assert_eq!(monitor.state(), LinkState::Out);
    monitor.carrier(START + SECOND * 2, true);
    assert_eq!(monitor.state(), LinkState::Proving);
    let states: Vec<_> = std::iter::from_fn(|| monitor.take_event()).map(|it| it.change).collect();
    let state = |from, to, cause| LinkChange::State { from, to, cause };
    let cause = Some(DownCause::NoCarrier);
    assert_eq!(
        states,
        [
            state(LinkState::Out, LinkState::Up, None),
            state(LinkState::Up, LinkState::Held, cause),
            state(LinkState::Held, LinkState::Up, None),
            state(LinkState::Up, LinkState::Held, cause),
        ],
        "there is room for four"
    );
}
