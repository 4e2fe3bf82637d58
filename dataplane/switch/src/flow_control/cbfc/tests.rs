//! Credits: both sides alone, and against each other over a link.

use super::settings::Counter;
use super::*;
use crate::ledger::{Ledger, Load, Volume};
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Bytes, Cells, PortId};

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(P3).with(P4);
const INTERVAL: Interval = Interval(10_000);
/// On the wire, and its stored length.
const FRAME: u64 = 1_024;
const STORED: Bytes = Bytes(FRAME - WireBytes::OVERHEAD);

fn settings(buffer: u64) -> Cbfc {
    Cbfc { buffer: WireBytes(buffer), interval: INTERVAL, counter: Counter::Wide }
}

/// The downstream side of port A, whose frames leave through port B.
struct Downstream {
    ledger: Ledger,
    received: [Volume; Priority::COUNT],
    credits: Credits,
}

impl Downstream {
    fn new(settings: Cbfc) -> Self {
        let ledger = Ledger::new(2, 1);
        let received = [Volume::ZERO; Priority::COUNT];
        let credits = Credits::new(settings, look(&received, &ledger));
        Self { ledger, received, credits }
    }

    fn load() -> Load {
        Load { cells: Cells(1), volume: Volume { frames: 1, bytes: STORED } }
    }

    fn arrive(&mut self, now: Nanos, priority: Priority) {
        self.received[priority.index()] += Self::load().volume;
        self.ledger.admit(A, B, priority, Self::load());
        self.credits.wake(now);
    }

    fn depart(&self, priority: Priority) {
        self.ledger.depart(A, B, priority, Self::load());
    }

    fn queue(&self, priority: Priority) -> u64 {
        self.ledger.ingress_queue(A, priority).frames
    }

    /// Calls it at its deadline, if that has come. Returns the message of a port that has sent nothing.
    fn call(&mut self, now: Nanos) -> Option<Message> {
        if self.credits.next <= now {
            self.credits.on_deadline(now, look(&self.received, &self.ledger));
        }
        self.credits.take_message([WireBytes(0); Priority::COUNT])
    }

    fn hear(&mut self, now: Nanos, session: u32, sent: u64) {
        let message = Message { session, ..totals(sent) };
        self.credits.hear(now, &message, look(&self.received, &self.ledger));
    }
}

fn look<'a>(received: &'a [Volume; Priority::COUNT], ledger: &'a Ledger) -> Look<'a> {
    let inside = LOSSLESS.iter().filter(|it| ledger.ingress_queue(A, *it) != Volume::ZERO).collect();
    Look {
        port: A,
        lossless: LOSSLESS,
        received,
        accounts: ledger.into(),
        shared_free: Bytes(0),
        shared_held: Bytes(0),
        holding: inside,
    }
}

/// A message of a port that has sent so much at each priority.
fn totals(sent: u64) -> Message {
    Message {
        counter: Counter::Wide,
        priorities: LOSSLESS,
        sequence: 1,
        session: 7,
        echo: 0,
        sent: [WireBytes(sent); Priority::COUNT],
        limit: [0; Priority::COUNT],
    }
}

#[test]
fn the_limit_is_what_came_in_and_the_free_rest_of_the_buffer_in_the_totals_of_the_other_end() {
    let mut port = Downstream::new(settings(64_000));
    port.hear(Nanos(0), 7, 1_000_000_000);
    let limit = |message: Option<Message>| message.map(|it| it.limit[P3.index()]);
    assert_eq!(limit(port.call(Nanos(0))), Some((1_000_000_000 + 64_000) / 64));
    port.arrive(Nanos(1), P3);
    port.arrive(Nanos(1), P3);
    assert_eq!(limit(port.call(Nanos(9_999))), None);
    assert_eq!(limit(port.call(Nanos(10_000))), Some((1_000_000_000 + 64_000) / 64), "both are inside");
    port.depart(P3);
    assert_eq!(limit(port.call(Nanos(20_000))), Some((1_000_000_000 + 64_000 + 1_024) / 64));
    assert_eq!(port.credits.report(Sequence::default()).longest_queue, WireBytes(2 * FRAME));
}

#[test]
fn credits_of_frames_that_were_lost_come_back_with_the_next_total() {
    let mut port = Downstream::new(settings(64_000));
    port.hear(Nanos(0), 7, 0);
    port.call(Nanos(0));
    port.arrive(Nanos(1), P3);
    port.hear(Nanos(2), 7, 3 * FRAME);
    assert_eq!(port.call(Nanos(2)), None, "the others may come behind the message");
    port.hear(Nanos(3), 7, 3 * FRAME);
    let message = port.call(Nanos(3)).expect("a message is due at once");
    assert_eq!(u64::from(message.limit[P3.index()]) * 64, 3 * FRAME + 64_000 - FRAME);
    // Two frames of priority 3, and three of priority 4.
    let report = port.credits.report(Sequence::default());
    assert_eq!((report.repaired, report.hears), (WireBytes((2 + 3) * FRAME), true));
}

#[test]
fn a_message_that_comes_ahead_of_data_raises_no_limit() {
    let mut port = Downstream::new(settings(64_000));
    port.hear(Nanos(0), 7, 0);
    port.call(Nanos(0));
    port.hear(Nanos(1), 7, 2 * FRAME);
    port.arrive(Nanos(2), P3);
    port.arrive(Nanos(2), P3);
    port.hear(Nanos(3), 7, 2 * FRAME);
    let message = port.call(Nanos(10_001)).expect("a message is due");
    assert_eq!(u64::from(message.limit[P3.index()]) * 64, 64_000, "both are inside");
    assert_eq!(port.credits.report(Sequence::default()).repaired, WireBytes(2 * FRAME), "of priority 4");
}

#[test]
fn forged_totals_overflow_nothing() {
    let mut port = Downstream::new(settings(64_000));
    for sent in [0, u64::MAX / 2, u64::MAX / 2, 7, u64::MAX, u64::MAX / 2 - 1, 3, 3] {
        port.hear(Nanos(0), 7, sent);
        port.call(Nanos(0));
    }
    assert_eq!(port.credits.report(Sequence::default()).repaired, WireBytes(0), "no buffer holds so much");
}

/// One of the totals is forged; those of the true messages around it are all that was sent.
#[test]
fn a_forged_total_is_forgotten_after_two_true_ones_and_counts_as_no_more_than_the_buffer() {
    const TRUE: u64 = 1 << 40;
    const BUFFER: u64 = 64_000;
    for forged in [0, 1, TRUE - BUFFER, TRUE - 1, TRUE + 1, TRUE + BUFFER, TRUE + BUFFER + 1, u64::MAX] {
        let mut port = Downstream::new(settings(BUFFER));
        port.hear(Nanos(0), 7, TRUE);
        port.hear(Nanos(1), 7, forged);
        port.hear(Nanos(2), 7, TRUE);
        port.hear(Nanos(3), 7, TRUE);
        let limit = port.call(Nanos(3)).map(|it| it.limit[P3.index()]);
        let expected = Counter::Wide.of(TRUE + BUFFER);
        assert!(limit.is_none_or(|it| it == expected), "{forged}: {limit:?} instead of {expected}");
        let repaired = port.credits.report(Sequence::default()).repaired.0;
        assert!(repaired <= 2 * BUFFER, "{forged}: {repaired} at both priorities");
    }
}

#[test]
fn a_total_beyond_what_the_other_end_may_send_raises_no_limit() {
    let mut port = Downstream::new(settings(64_000));
    port.hear(Nanos(0), 7, 0);
    port.call(Nanos(0));
    port.hear(Nanos(1), 7, 1 << 40);
    let message = port.call(port.credits.next).expect("a message is due");
    assert_eq!(u64::from(message.limit[P3.index()]) * 64, 64_000);
}

#[test]
fn an_end_that_restarts_counts_from_zero_and_is_answered_at_once() {
    let mut port = Downstream::new(settings(64_000));
    port.hear(Nanos(0), 7, 5_000_000);
    port.call(Nanos(0));
    port.hear(Nanos(100), 8, 0);
    assert_eq!(port.credits.next, Nanos(100));
    let message = port.call(Nanos(100)).expect("a message is due");
    assert_eq!((message.limit[P3.index()], message.echo), (64_000 / 64, 8));
    assert_eq!(port.credits.report(Sequence::default()).repaired, WireBytes(0));
}

#[test]
fn an_idle_port_speaks_now_and_again_and_a_busy_one_in_each_interval() {
    let mut port = Downstream::new(settings(64_000));
    let mut times = Vec::new();
    port.hear(Nanos(0), 7, 0);
    for _ in 0..3 {
        times.push(port.credits.next);
        port.call(port.credits.next);
    }
    assert_eq!(times, [Nanos(0), Nanos(10_000), Nanos(10_000) + REPEAT], "its limits were new");
    port.arrive(Nanos(20_000), P3);
    port.call(Nanos(30_000));
    assert_eq!(port.credits.next, Nanos(40_000), "a frame is inside");
}

#[test]
fn nothing_is_sent_without_a_limit_for_this_session_and_no_frame_beyond_it() {
    let mut upstream = Upstream::new(settings(64_000), STORED, LOSSLESS);
    assert_eq!(upstream.closed(), LOSSLESS);
    let sent = [WireBytes(10_240); Priority::COUNT];
    // Room for two frames of priority 3, less a byte; priority 4 has no limit.
    let limit = |echo, sequence| {
        let mut message = Message { echo, sequence, priorities: PrioritySet::EMPTY.with(P3), ..totals(0) };
        message.limit[P3.index()] = ((10_240 + 2 * FRAME) / 64) as u32;
        message
    };
    assert!(upstream.receive(Nanos(0), &limit(0, 1), 0, &sent));
    assert_eq!(upstream.closed(), LOSSLESS, "neither end has a session");
    assert!(upstream.receive(Nanos(0), &limit(6, 2), 5, &sent));
    assert_eq!(upstream.closed(), LOSSLESS, "for the session before");
    assert!(upstream.receive(Nanos(0), &limit(5, 3), 5, &sent));
    assert_eq!(upstream.closed(), PrioritySet::EMPTY.with(P4));
    upstream.spend(P3, WireBytes(FRAME));
    assert_eq!(upstream.closed(), PrioritySet::EMPTY.with(P4));
    upstream.spend(P3, WireBytes(65));
    assert_eq!(upstream.closed(), LOSSLESS, "the longest frame no longer fits");
    assert!(!upstream.receive(Nanos(0), &limit(5, 3), 5, &sent), "heard before");
    assert_eq!(upstream.numbers().ignored, 1);
    let restarted = Message { session: 8, ..limit(5, 1) };
    assert!(upstream.receive(Nanos(0), &restarted, 5, &sent), "its numbers begin anew");
    assert_eq!(upstream.closed(), PrioritySet::EMPTY.with(P4));
}

/// Both sides over a link, in steps of one frame time: a byte a nanosecond.
struct Pair {
    now: Nanos,
    upstream: Upstream,
    downstream: Downstream,
    sent: u64,
    backlog: u64,
    frames: VecDeque<Nanos>,
    messages: VecDeque<(Nanos, Message)>,
    /// Totals on their way to the downstream side. A device sends them ahead of frames that it was given before.
    totals: VecDeque<(Nanos, u64)>,
    drained: u64,
}

/// The time by which a total is ahead of its data.
const AHEAD: Interval = Interval(2 * FRAME);

const ONE_WAY: Interval = Interval(40 * FRAME);

impl Pair {
    fn new(settings: Cbfc) -> Self {
        let mut downstream = Downstream::new(settings);
        downstream.hear(Nanos(0), 7, 0);
        let upstream = Upstream::new(settings, STORED, LOSSLESS);
        let (frames, messages, totals) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let (now, sent, backlog, drained) = (Nanos(0), 0, 0, 0);
        Self { now, upstream, downstream, sent, backlog, frames, messages, totals, drained }
    }

    /// The buffer that fills the link, whose interval is not a whole number of frames.
    fn buffer(counter: Counter) -> u64 {
        let cbfc = Cbfc { counter, ..settings(0) };
        cbfc.for_line_rate(units::BitRate::gigabits(8), ONE_WAY * 2 + Interval(3 * FRAME), STORED).0
    }

    /// One frame time, in which a frame may drain, and a frame or a message that is sent may be lost.
    fn step(&mut self, drains: bool, frame_lost: bool, message_lost: bool) {
        while self.frames.pop_front_if(|at| *at <= self.now).is_some() {
            self.downstream.arrive(self.now, P3);
        }
        while let Some((_, sent)) = self.totals.pop_front_if(|(at, _)| *at <= self.now) {
            self.downstream.hear(self.now, 7, sent);
        }
        if drains && self.downstream.queue(P3) > 0 {
            self.downstream.depart(P3);
            self.drained += 1;
        }
        if let Some(message) = self.downstream.call(self.now).filter(|_| !message_lost) {
            self.messages.push_back((self.now + ONE_WAY, message));
        }
        while let Some((_, message)) = self.messages.pop_front_if(|(at, _)| *at <= self.now) {
            self.upstream.receive(self.now, &message, 7, &[WireBytes(self.sent); Priority::COUNT]);
        }
        if self.backlog > 0 && !self.upstream.closed().contains(P3) {
            (self.backlog, self.sent) = (self.backlog - 1, self.sent + FRAME);
            self.upstream.spend(P3, WireBytes(FRAME));
            self.frames.extend((!frame_lost).then_some(self.now + ONE_WAY));
        }
        if self.now.0.is_multiple_of(10 * FRAME) {
            self.totals.push_back((self.now + ONE_WAY - AHEAD, self.sent));
        }
        self.now += Interval(FRAME);
    }

    /// Tells the downstream side what was sent so far, once all of it has come in.
    fn repair(&mut self) {
        self.backlog = 0;
        (0..100).for_each(|_| self.step(true, false, false));
        // Bytes that the first total shows to be missing may still come; the second total shows that they do not.
        (0..2).for_each(|_| self.downstream.hear(self.now, 7, self.sent));
    }
}

#[test]
fn the_buffer_for_line_rate_keeps_the_link_busy_and_one_smaller_by_an_interval_and_some_frames_does_not() {
    for counter in [Counter::Wide, Counter::Uec] {
        for (buffer, is_busy) in
            [(Pair::buffer(counter), true), (Pair::buffer(counter) - INTERVAL.0 - 8 * FRAME, false)]
        {
            let mut pair = Pair::new(Cbfc { counter, ..settings(buffer) });
            pair.backlog = u64::MAX;
            (0..1_000).for_each(|_| pair.step(true, false, false));
            let before = pair.drained;
            (0..1_000).for_each(|_| pair.step(true, false, false));
            assert_eq!(pair.drained - before == 1_000, is_busy, "{counter:?} {buffer}");
        }
    }
}

proptest! {
    #[test]
    fn the_queue_never_exceeds_the_buffer_whatever_is_lost_and_however_it_drains(
        phases in proptest::collection::vec((1_usize..300, 0_u8..=10, 0_u8..=3, 0_u8..=3, 0_u64..400), 1..12),
        buffer in 4 * FRAME..200 * FRAME,
        uec: bool,
    ) {
        let counter = if uec { Counter::Uec } else { Counter::Wide };
        let mut pair = Pair::new(Cbfc { counter, ..settings(buffer) });
        for (steps, drain, frames, messages, backlog) in phases {
            pair.backlog = backlog;
            for step in 0..steps {
                let lost = |of: u8, at: usize| (step * at % 10) < usize::from(of);
                pair.step(lost(drain, 7), lost(frames, 3), lost(messages, 9));
                prop_assert!(pair.downstream.queue(P3) * FRAME <= buffer);
            }
        }
        // Nothing leaks for good: after a total of the other end and a message, the whole buffer is there again.
        pair.repair();
        (0..REPEAT.0 / FRAME + 100).for_each(|_| pair.step(true, false, false));
        pair.backlog = u64::MAX;
        (0..400).for_each(|_| pair.step(false, false, false));
        let short = buffer - pair.downstream.queue(P3) * FRAME;
        prop_assert!(short < 2 * FRAME + 2 * counter.credit(), "{short} of {buffer}");
    }
}
