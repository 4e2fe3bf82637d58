//! BifrostX: both sides alone, and against each other over a link.

mod upstream_side;

use super::peer::{REPEAT, SILENCE};
use super::*;
use crate::ledger::{Ledger, Load, Volume};
use crate::program::VirtualIncoming;
use core::num::NonZeroU32;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Bytes, Cells, PortId};

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const HIGH: Priority = Priority::from_low_bits(5);
const LOW: Priority = Priority::from_low_bits(2);
const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(HIGH).with(LOW);
/// A byte a nanosecond.
const RATE: BitRate = BitRate::gigabits(8);
const SLOT: Interval = Interval(10_000);
const ROUND_TRIP: Interval = Interval(80_000);
/// On the wire.
const FRAME: u64 = 1_000;

fn settings() -> settings::Bifrost {
    let settings = settings::Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        round_trip: ROUND_TRIP,
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval(2_000) },
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    };
    let least = timed(settings).buffer_terms(RATE, Bytes(FRAME)).total();
    settings::Bifrost { buffer: least, ..settings }
}

/// A message that grants `total` bytes in all, and `each` to any priority.
fn grant(sequence: u32, total: u64, each: u64) -> Message {
    let head = Head {
        kind: Kind::Grant,
        follows: true,
        priorities: LOSSLESS,
        sequence,
        slot: SLOT,
        total: WireBytes(total),
    };
    Message { head, each: [WireBytes(each); Priority::COUNT] }
}

/// A message of `kind`, without a grant.
fn without_grant(sequence: u32, kind: Kind) -> Message {
    let message = grant(sequence, 0, 0);
    Message { head: Head { kind, ..message.head }, ..message }
}

/// Bytes that wait at both priorities.
fn waiting(high: u64, low: u64) -> [WireBytes; Priority::COUNT] {
    let mut waiting = [WireBytes(0); Priority::COUNT];
    (waiting[HIGH.index()], waiting[LOW.index()]) = (WireBytes(high), WireBytes(low));
    waiting
}

/// The downstream side of port A, whose frames leave through port B.
struct Downstream {
    ledger: Ledger,
    received: [Volume; Priority::COUNT],
    scheme: BifrostX,
}

fn look<'a>(received: &'a [Volume; Priority::COUNT], ledger: &'a Ledger) -> Look<'a> {
    Look {
        port: A,
        lossless: LOSSLESS,
        received,
        accounts: ledger.into(),
        shared_free: Bytes(0),
        shared_held: Bytes(0),
        holding: LOSSLESS,
    }
}

impl Downstream {
    fn new() -> Self {
        let (ledger, received) = (Ledger::new(2, 1), [Volume::ZERO; Priority::COUNT]);
        let look = look(&received, &ledger);
        let scheme = BifrostX::new(settings(), RATE, look);
        Self { ledger, received, scheme }
    }

    fn load(frames: u64) -> Load {
        let bytes = Bytes(frames * (FRAME - WireBytes::OVERHEAD));
        Load { cells: Cells(frames), volume: Volume { frames, bytes } }
    }

    fn arrive(&mut self, now: Nanos, priority: Priority, frames: u64) {
        let load = Self::load(frames);
        self.received[priority.index()] += load.volume;
        self.ledger.admit(A, B, priority, load);
        self.scheme.wake(now);
    }

    fn depart(&self, priority: Priority, frames: u64) {
        self.ledger.depart(A, B, priority, Self::load(frames));
    }

    fn queue(&self, priority: Priority) -> u64 {
        self.ledger.ingress_queue(A, priority).frames
    }

    /// Calls it at its deadline, if that has come. Returns the pause and the message that it sends.
    fn call(&mut self, now: Nanos) -> (Option<Directive>, Option<Message>) {
        if self.scheme.deadline() > now {
            return (None, None);
        }
        let Self { ledger, received, scheme } = self;
        (scheme.on_deadline(now, look(received, ledger)), scheme.message.take())
    }

    fn hear(&mut self, now: Nanos, follows: bool) {
        self.scheme.hear(now, &Head { follows, ..grant(1, 0, 0).head });
    }

    /// The peer says so once, and once more.
    fn hear_twice(&mut self, now: Nanos, follows: bool) {
        (0..2).for_each(|_| self.hear(now, follows));
    }
}

mod downstream_side {
    use super::*;

    fn kind(message: Option<Message>) -> Option<(Kind, bool)> {
        message.map(|message| (message.head.kind, message.head.follows))
    }

    #[test]
    fn it_speaks_first_grants_once_it_hears_and_says_that_it_follows() {
        let mut port = Downstream::new();
        assert_eq!(kind(port.call(Nanos(0)).1), Some((Kind::Pauses, false)), "a first sign of life");
        assert_eq!(port.scheme.deadline(), Nanos(0) + REPEAT);
        let head = Head { kind: Kind::Pauses, follows: false, ..grant(1, 0, 0).head };
        port.scheme.hear(Nanos(10), &head);
        assert_eq!(kind(port.call(Nanos(10)).1), Some((Kind::Free, false)), "said at once");
        port.hear(Nanos(20), false);
        assert_eq!(kind(port.call(Nanos(20)).1), Some((Kind::Free, true)));
    }

    #[test]
    fn a_slot_ends_in_a_pause_until_the_peer_follows_and_in_a_grant_once_it_is_heard() {
        let pause = Directive::PauseFor { priorities: LOSSLESS, time: SLOT, cause: PauseCause::Slot };
        for (hears, expected) in [
            (None, (Some(pause), None)),
            (Some(false), (Some(pause), Some((Kind::Grant, true)))),
            (Some(true), (None, Some((Kind::Grant, true)))),
        ] {
            let mut port = Downstream::new();
            port.call(Nanos(0));
            if let Some(follows) = hears {
                port.hear_twice(Nanos(0), follows);
                port.call(Nanos(0));
            }
            // Two BDP inside leave nothing to grant.
            port.arrive(Nanos(1_000), HIGH, 160);
            let (pause, message) = port.call(Nanos(1_000) + SLOT);
            assert_eq!((pause, kind(message)), expected);
            assert_eq!(message.map(|it| it.head.total), hears.map(|_| WireBytes(0)));
            assert_eq!(port.scheme.report(UpstreamCounters::default()).is_followed, hears == Some(true));
        }
    }

    #[test]
    fn a_priority_is_granted_the_line_less_by_what_its_queue_has_grown() {
        let mut port = Downstream::new();
        port.hear_twice(Nanos(0), true);
        port.call(Nanos(0));
        port.arrive(Nanos(0), HIGH, 4);
        port.arrive(Nanos(0), LOW, 12);
        let each = |message: Option<Message>| {
            let message = message.expect("a slot ends in a message");
            [HIGH, LOW].map(|priority| message.each[priority.index()].0)
        };
        assert_eq!(each(port.call(Nanos(10_000)).1), [6_000, 0], "12 frames in a slot of 10");
        port.arrive(Nanos(10_000), HIGH, 1);
        port.depart(LOW, 5);
        assert_eq!(each(port.call(Nanos(20_000)).1), [9_000, 10_000]);
    }

    #[test]
    fn an_idle_port_frees_its_upstream_three_times_and_then_now_and_again() {
        let mut port = Downstream::new();
        port.hear_twice(Nanos(0), true);
        port.call(Nanos(0));
        let mut times = Vec::new();
        while times.len() < 4 {
            let now = port.scheme.deadline();
            assert_eq!(kind(port.call(now).1), Some((Kind::Free, true)));
            times.push(now);
        }
        let third = Nanos(0) + SLOT * 2;
        assert_eq!(times, [Nanos(0) + SLOT, third, third + REPEAT, third + REPEAT * 2]);
    }

    #[test]
    fn one_message_that_claims_to_follow_ends_no_pauses() {
        let pauses = |claims: &[(u64, bool)]| {
            let mut port = Downstream::new();
            claims.iter().for_each(|(at, follows)| port.hear(Nanos(*at), *follows));
            let now = Nanos(claims.last().map_or(0, |it| it.0) + 1_000);
            port.arrive(now, HIGH, 160);
            port.call(now + SLOT).0.is_some()
        };
        let (long, late) = (SILENCE.0, SILENCE.0 - 1);
        for (claims, expected) in [
            (&[][..], true),
            (&[(0, true)], true),
            (&[(0, false), (10, true)], true),
            (&[(0, true), (long, true)], true),
            (&[(0, true), (late, true)], false),
            (&[(0, true), (10, true), (20, false)], true),
        ] {
            assert_eq!(pauses(claims), expected, "{claims:?}");
        }
    }

    #[test]
    fn once_it_no_longer_hears_the_peer_it_pauses_and_counts_that() {
        let mut port = Downstream::new();
        port.hear_twice(Nanos(0), true);
        port.call(Nanos(0));
        let silent = Nanos(0) + SILENCE;
        port.arrive(silent - Interval(15_000), HIGH, 160);
        assert_eq!(kind(port.call(silent - Interval(5_000)).1), Some((Kind::Grant, true)));
        let (pause, message) = port.call(silent + REPEAT);
        assert!(matches!(pause, Some(Directive::PauseFor { time: SLOT, .. })));
        assert_eq!(kind(message), Some((Kind::Pauses, false)));
        assert_eq!(port.scheme.report(UpstreamCounters::default()).downstream.fallbacks, 1);
    }

    #[test]
    fn a_peer_that_no_longer_hears_this_port_is_paused_from_the_end_of_the_slot_on() {
        let mut port = Downstream::new();
        port.hear_twice(Nanos(0), true);
        port.call(Nanos(0));
        port.arrive(Nanos(0), HIGH, 160);
        assert_eq!(kind(port.call(Nanos(10_000)).1), Some((Kind::Grant, true)));
        port.hear(Nanos(12_000), false);
        assert_eq!(port.call(Nanos(12_000)), (None, None), "the grant in force stays");
        let (pause, message) = port.call(Nanos(20_000));
        assert!(matches!(pause, Some(Directive::PauseFor { time: SLOT, .. })));
        assert_eq!(kind(message), Some((Kind::Grant, true)));
    }

    #[test]
    fn a_late_slot_is_charged_only_if_the_peer_did_not_follow() {
        for (follows, charged) in [(false, 2_001 + 3_001), (true, 2_001)] {
            let mut port = Downstream::new();
            port.call(Nanos(0));
            port.hear_twice(Nanos(0), follows);
            port.arrive(Nanos(0), HIGH, 160);
            port.call(Nanos(12_000));
            port.call(Nanos(25_000));
            let slots = port.scheme.report(UpstreamCounters::default()).slots.slots;
            assert_eq!((slots.late_charge.0, slots.slots), (charged, 2));
        }
    }
}

/// Both sides over a link, in steps of one frame time.
struct Pair {
    now: Nanos,
    upstream: Upstream,
    downstream: Downstream,
    /// The frames that wait at the upstream end, by priority: high, low.
    backlog: [u64; 2],
    /// Frames under way, and messages under way, with their times of arrival.
    frames: VecDeque<(Nanos, Priority)>,
    messages: VecDeque<(Nanos, Message)>,
    pauses: VecDeque<(Nanos, Interval)>,
    answers: VecDeque<(Nanos, bool)>,
    paused_until: Nanos,
    longest: u64,
    drained: u64,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            now: Nanos(0),
            upstream: Upstream::new(&settings(), RATE, LOSSLESS),
            downstream: Downstream::new(),
            backlog: [0; 2],
            frames: VecDeque::new(),
            messages: VecDeque::new(),
            pauses: VecDeque::new(),
            answers: VecDeque::new(),
            paused_until: Nanos(0),
            longest: 0,
            drained: 0,
        };
        pair.downstream.hear(Nanos(0), false);
        pair
    }

    /// One frame time. A message that the downstream end sends in it is lost if `lose`.
    fn step(&mut self, drains: bool, lose: bool) {
        let one_way = Interval(ROUND_TRIP.0 / 2 - FRAME);
        while self.frames.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((at, priority)) = self.frames.pop_front() {
                self.downstream.arrive(at, priority, 1);
            }
        }
        if drains {
            let first = [HIGH, LOW].into_iter().find(|priority| self.downstream.queue(*priority) > 0);
            if let Some(priority) = first {
                self.downstream.depart(priority, 1);
                self.drained += 1;
            }
        }
        let (directive, message) = self.downstream.call(self.now);
        if let Some(Directive::PauseFor { time, .. }) = directive {
            self.pauses.push_back((self.now + one_way, time));
        }
        self.messages.extend(message.filter(|_| !lose).map(|message| (self.now + one_way, message)));
        while self.messages.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((at, message)) = self.messages.pop_front() {
                let [high, low] = self.backlog.map(|frames| frames * FRAME);
                self.upstream.receive(at, &message, waiting(high, low));
                // Its answer leaves at once, and is never lost.
                let follows = message.head.kind != Kind::Pauses;
                self.answers.push_back((at + one_way, follows));
            }
        }
        while self.answers.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((at, follows)) = self.answers.pop_front() {
                self.downstream.hear(at, follows);
            }
        }
        while self.pauses.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((at, time)) = self.pauses.pop_front() {
                self.paused_until = at + time;
            }
        }
        let closed = self.upstream.closed(self.now);
        let closed = if self.now < self.paused_until { LOSSLESS } else { closed };
        let mut waiting = [HIGH, LOW].into_iter().zip(&mut self.backlog);
        let sends = waiting.find(|(priority, frames)| **frames > 0 && !closed.contains(*priority));
        if let Some((priority, frames)) = sends {
            *frames -= 1;
            self.upstream.spend(self.now, priority, WireBytes(FRAME));
            self.frames.push_back((self.now + one_way, priority));
        }
        self.longest = self.longest.max(self.queued());
        self.now += Interval(FRAME);
    }

    /// This many steps with a backlog at both priorities.
    fn run(&mut self, steps: u64, drains: bool) {
        for _ in 0..steps {
            self.backlog = [40, 400];
            self.step(drains, false);
        }
    }

    fn queued(&self) -> u64 {
        [HIGH, LOW].iter().map(|priority| self.downstream.queue(*priority)).sum()
    }

    /// H, and a frame for each priority that has begun within its grant, in frames.
    fn bound() -> u64 {
        settings().buffer.0.div_ceil(FRAME) + 2
    }
}

#[test]
fn a_backlog_drains_at_line_rate_and_a_stop_fills_the_buffer_and_no_more() {
    let mut pair = Pair::new();
    let mut run = |steps: u64, drains| {
        let before = pair.drained;
        pair.run(steps, drains);
        (pair.drained - before, pair.longest)
    };
    run(200, true);
    assert_eq!(run(1_000, true).0, 1_000);
    let (_, longest) = run(1_000, false);
    assert_eq!(run(1_000, true), (1_000, longest));
    assert!((Pair::bound() - 15..=Pair::bound()).contains(&longest), "{longest} of {}", Pair::bound());
}

#[test]
fn frames_now_and_then_ahead_of_a_flow_do_not_stop_it() {
    let mut pair = Pair::new();
    // Between any two of them the far end has some idle slots, but not a round trip of them.
    for step in 0..2_000 {
        pair.backlog[1] += u64::from(step % 70 == 0);
        pair.step(true, false);
    }
    for step in 0..1_000 {
        pair.backlog[1] += step % 2;
        pair.step(true, false);
        assert!(pair.backlog[1] <= SLOT.0 / FRAME, "step {step}: {} frames wait", pair.backlog[1]);
    }
}

#[test]
fn a_downstream_end_that_restarts_is_followed_within_two_round_trips() {
    let mut pair = Pair::new();
    // For more messages than may be taken for overtaken ones afterwards.
    pair.run(1_000, true);
    pair.downstream = Downstream::new();
    let restarted = pair.now;
    while !pair.downstream.scheme.report(UpstreamCounters::default()).is_followed {
        pair.run(1, true);
        assert!(pair.now < restarted + ROUND_TRIP * 2 + SLOT * 2);
    }
    let before = pair.drained;
    pair.run(1_000, true);
    // The change from pauses to grants may cost a slot.
    assert!(pair.drained - before >= 1_000 - SLOT.0 / FRAME, "{}", pair.drained - before);
    assert!(pair.longest <= Pair::bound(), "{} of {}", pair.longest, Pair::bound());
}

#[test]
fn an_upstream_end_that_restarts_sends_at_most_a_slot_in_excess_until_it_hears_a_grant() {
    let mut pair = Pair::new();
    pair.run(500, true);
    pair.run(500, false);
    let full = pair.longest;
    pair.upstream = Upstream::new(&settings(), RATE, LOSSLESS);
    pair.run(500, false);
    let excess = pair.longest - full;
    assert!((1..=SLOT.0 / FRAME).contains(&excess), "{excess}");
    let before = pair.drained;
    pair.run(1_000, true);
    assert_eq!(pair.drained - before, 1_000);
}

proptest! {
    /// Theorem 1 with lost grants, idle times, and any drain: a lost grant delays data and leaks none.
    #[test]
    fn the_queue_stays_within_the_buffer_whatever_is_lost_and_however_it_drains(
        phases in proptest::collection::vec((1_usize..300, 0_u8..=10, 0_u8..=3, [0_u64..600, 0_u64..600]), 1..20),
    ) {
        let mut pair = Pair::new();
        for (steps, drain, loss, backlog) in phases {
            pair.backlog = backlog;
            for step in 0..steps {
                pair.step((step * 7 % 10) < usize::from(drain), (step * 3 % 10) < usize::from(loss));
                prop_assert!(pair.queued() <= Pair::bound(), "{} of {}", pair.queued(), Pair::bound());
            }
        }
    }

    #[test]
    fn what_waits_is_sent_in_the_end_though_every_second_grant_is_lost(
        backlog in [0_u64..400, 0_u64..400],
    ) {
        let mut pair = Pair::new();
        pair.backlog = backlog;
        for step in 0..30_000 {
            pair.step(true, step % 20 < 10);
        }
        prop_assert_eq!((pair.backlog, pair.queued()), ([0, 0], 0));
    }
}
