//! Port grants: both sides against each other over a link, with any drains, losses and delays.

use super::*;
use crate::flow_control::bifrost::settings::{Bifrost, VirtualIncoming};
use crate::flow_control::sender::PauseCause;
use crate::ledger::{Ledger, Load, Volume};
use core::num::NonZeroU32;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Bytes, Cells, Priority, PrioritySet, QueueId};

const LONG: PortId = PortId(0);
const P3: Priority = Priority::from_low_bits(3);
const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(P3);
/// A byte a nanosecond.
const RATE: BitRate = BitRate::gigabits(8);
const SLOT: Interval = Interval(10_000);
const ROUND_TRIP: Interval = Interval(400_000);
/// On the wire.
const FRAME: u64 = 1_000;
/// Far ports, each with the rate of the long link.
const PORTS: usize = 3;
/// Frames that the link carries in a round trip.
const BDP: u64 = ROUND_TRIP.0 / FRAME;

fn settings(far_ports: u8) -> Settings {
    let mut slots = Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        round_trip: ROUND_TRIP,
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval(2_000) },
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    };
    slots.buffer = bifrostx::timed(slots).buffer_terms(RATE, Bytes(FRAME)).total();
    Settings { slots, far_ports }
}

/// The far gateway: the downstream side of its long port, and its ports 1 to [`PORTS`].
struct Far {
    ledger: Ledger,
    received: [Volume; Priority::COUNT],
    scheme: PortGrants,
}

impl Far {
    fn new(far_ports: u8) -> Self {
        let (ledger, received) = (Ledger::new(PORTS + 1, 1), [Volume::ZERO; Priority::COUNT]);
        let mut scheme = PortGrants::new(settings(far_ports), RATE, look(&received, &ledger));
        let ports = (1..=u16::from(far_ports)).map(|port| (PortId(port), RATE)).collect();
        let behind = Arc::new(Behind { ports, ..Behind::default() });
        scheme.learn(&behind, look(&received, &ledger));
        Self { ledger, received, scheme }
    }

    fn load() -> Load {
        Load { cells: Cells(1), volume: Volume { frames: 1, bytes: Bytes(FRAME - WireBytes::OVERHEAD) } }
    }

    fn arrive(&mut self, now: Nanos, port: usize) {
        self.received[P3.index()] += Self::load().volume;
        self.ledger.admit(LONG, PortId(port as u16), P3, Self::load());
        self.scheme.wake(now);
    }

    /// Sends a frame through a port, if one waits there.
    fn depart(&self, port: usize) -> bool {
        let waits = self.queue(port) > 0;
        if waits {
            self.ledger.depart(LONG, PortId(port as u16), P3, Self::load());
        }
        waits
    }

    fn queue(&self, port: usize) -> u64 {
        self.ledger.occupancy(LONG, PortId(port as u16), P3).volume.frames
    }
}

fn look<'a>(received: &'a [Volume; Priority::COUNT], ledger: &'a Ledger) -> Look<'a> {
    Look {
        port: LONG,
        lossless: LOSSLESS,
        received,
        accounts: ledger.into(),
        shared_free: Bytes::ZERO,
        shared_held: Bytes::ZERO,
        holding: LOSSLESS,
    }
}

/// The head of a message whose sender follows.
fn head(kind: Kind, sequence: u32, total: WireBytes) -> Head {
    Head { kind, follows: true, priorities: LOSSLESS, sequence, slot: SLOT, total }
}

fn near(far_ports: u8) -> Upstream {
    let settings = settings(far_ports);
    let queues: Vec<_> = Priority::all().chain(settings.queues(LOSSLESS)).collect();
    Upstream::new(&settings, RATE, LOSSLESS, queues.into_iter())
}

/// A link between both, in steps of a frame time.
struct Link {
    now: Nanos,
    far_ports: u8,
    near: Upstream,
    far: Far,
    /// Frames that wait at the near end for each far port.
    backlog: [u64; PORTS],
    /// The far port that sent last.
    turn: usize,
    frames: VecDeque<(Nanos, usize)>,
    messages: VecDeque<(Nanos, grants::Message)>,
    answers: VecDeque<(Nanos, Head)>,
    paused_until: Nanos,
    pauses: VecDeque<(Nanos, Interval)>,
    sequence: u32,
    drained: [u64; PORTS],
    longest: [u64; PORTS],
    longest_in_all: u64,
    /// The time by which messages are late.
    late: Interval,
    /// Up to this much is added to that of each message, so that they overtake each other.
    jitter: Interval,
}

impl Link {
    fn new(far_ports: u8) -> Self {
        let mut link = Self {
            now: Nanos(0),
            far_ports,
            near: near(far_ports),
            far: Far::new(far_ports),
            backlog: [0; PORTS],
            turn: 0,
            frames: VecDeque::new(),
            messages: VecDeque::new(),
            answers: VecDeque::new(),
            paused_until: Nanos(0),
            pauses: VecDeque::new(),
            sequence: 0,
            drained: [0; PORTS],
            longest: [0; PORTS],
            longest_in_all: 0,
            late: Interval::ZERO,
            jitter: Interval::ZERO,
        };
        link.answer(Nanos(0), false);
        // The handshake takes some messages.
        for _ in 0..4 * BDP {
            link.step([true; PORTS], false);
        }
        link
    }

    fn answer(&mut self, at: Nanos, follows: bool) {
        self.sequence += 1;
        let head = Head { follows, ..head(Kind::Free, self.sequence, WireBytes(0)) };
        self.answers.push_back((at, head));
    }

    fn queue_of(&self, port: usize) -> QueueId {
        let number = if port < usize::from(self.far_ports) { port as u8 + 1 } else { 0 };
        let settings = settings(self.far_ports);
        let queues = Priority::all().chain(settings.queues(LOSSLESS));
        super::settings::Layout::new(&settings, LOSSLESS, queues).queue(number, P3)
    }

    /// One frame time, in which the far ports in `drains` send a frame, and a message that leaves is lost if `lose`.
    fn step(&mut self, drains: [bool; PORTS], lose: bool) {
        let one_way = Interval(ROUND_TRIP.0 / 2 - FRAME);
        while let Some((at, port)) = self.frames.pop_front_if(|(at, _)| *at <= self.now) {
            self.far.arrive(at, port + 1);
        }
        for (port, drained) in self.drained.iter_mut().enumerate() {
            *drained += u64::from(drains[port] && self.far.depart(port + 1));
        }
        self.call_far(one_way, lose);
        while let Some((at, message)) = self.messages.pop_front_if(|(at, _)| *at <= self.now) {
            self.near.receive(at, &message);
            self.answer(at + one_way, message.head.kind != Kind::Pauses);
        }
        while let Some((at, head)) = self.answers.pop_front_if(|(at, _)| *at <= self.now) {
            self.far.scheme.hear(at, &head);
        }
        while let Some((at, time)) = self.pauses.pop_front_if(|(at, _)| *at <= self.now) {
            self.paused_until = at + time;
        }
        self.send(one_way);
        let queues: Vec<u64> = (1..=PORTS).map(|port| self.far.queue(port)).collect();
        self.longest_in_all = self.longest_in_all.max(queues.iter().sum());
        self.longest.iter_mut().zip(queues).for_each(|(longest, queue)| *longest = queue.max(*longest));
        self.now += Interval(FRAME);
    }

    fn call_far(&mut self, one_way: Interval, lose: bool) {
        let Far { ledger, received, scheme } = &mut self.far;
        if scheme.deadline() <= self.now {
            let directive = scheme.on_deadline(self.now, look(received, ledger));
            if let Some(Directive::PauseFor { time, cause: PauseCause::Slot, .. }) = directive {
                self.pauses.push_back((self.now + one_way, time));
            }
        }
        while let Some(message) = scheme.take_message() {
            if let Message::FarPort(message) = message
                && !lose
            {
                let drawn = u64::from(message.head.sequence.wrapping_mul(0x9e37_79b9) >> 8);
                let late = self.late + Interval(drawn % (self.jitter.0 + 1));
                self.messages.push_back((self.now + one_way + late, message));
            }
        }
        self.messages.make_contiguous().sort_by_key(|(at, _)| *at);
    }

    /// Sends a frame for the next far port whose turn it is.
    fn send(&mut self, one_way: Interval) {
        let closed = self.near.closed(self.now);
        let ports = (1..=PORTS).map(|step| (self.turn + step) % PORTS);
        let mut open = ports.filter(|port| self.backlog[*port] > 0 && !closed.contains(self.queue_of(*port)));
        if let Some(port) = open.next().filter(|_| self.now >= self.paused_until) {
            self.turn = port;
            self.backlog[port] -= 1;
            self.near.spend(self.now, self.queue_of(port), WireBytes(FRAME));
            self.frames.push_back((self.now + one_way, port));
        }
    }

    /// This many steps, with as many frames as anybody could send for the ports in `wants`. A port drains in one of so
    /// many steps; never for zero. Returns what each has drained.
    fn run(&mut self, steps: u64, wants: [bool; PORTS], every: [u64; PORTS]) -> [u64; PORTS] {
        let before = self.drained;
        for step in 0..steps {
            self.backlog = wants.map(|wants| if wants { 1_000 } else { 0 });
            self.step(every.map(|every| every > 0 && step % every == 0), false);
        }
        core::array::from_fn(|port| self.drained[port] - before[port])
    }

    /// H, and a frame that has begun within each of its grants, in frames.
    fn bound(&self) -> u64 {
        settings(self.far_ports).slots.buffer.0.div_ceil(FRAME) + PORTS as u64 + 1
    }

    /// The most that one far port can hold while no message is lost: its bound at line rate, and frames that have begun.
    fn bound_of_one() -> u64 {
        let timed = bifrostx::timed(settings(3).slots);
        let far = FarPort::new(RATE, timed.round_trip + Interval(2_000), SLOT, (0, 0));
        far.bound().div_ceil(FRAME) + 2
    }

    /// The excess when messages are lost or overtaken: the bytes that the link carries under the message that makes up for
    /// them.
    fn made_up() -> u64 {
        (SLOT + Interval(SLOT.0 / 4)).0 / FRAME
    }
}

#[test]
fn a_stopped_port_leaves_the_link_to_another_and_without_far_ports_it_does_not() {
    let others = |far_ports| {
        let mut link = Link::new(far_ports);
        link.run(10 * BDP, [true, true, false], [2, 2, 1]);
        link.run(20 * BDP, [true, true, false], [0, 1, 1]);
        let [stopped, other, _] = link.run(10 * BDP, [true, true, false], [0, 1, 1]);
        assert_eq!(stopped, 0);
        assert!(link.longest_in_all <= link.bound(), "{} of {}", link.longest_in_all, link.bound());
        other as f64 / (10 * BDP) as f64
    };
    // The stopped port had half of the link, which is still in front of it. The other keeps the half that it had.
    let [with, without] = [3, 0].map(others);
    assert!((0.42..0.6).contains(&with), "{with}");
    assert!(without < 0.01, "{without}");
}

#[test]
fn a_slow_port_keeps_its_own_share_alone_and_the_others_have_the_rest_of_the_link() {
    let mut link = Link::new(3);
    link.run(40 * BDP, [true, true, true], [20, 1, 1]);
    let steps = 20 * BDP;
    let drained = link.run(steps, [true, true, true], [20, 1, 1]);
    let share = drained.map(|frames| frames as f64 / steps as f64);
    assert!(share[0] > 0.049, "it never runs dry: {share:?}");
    assert!(share.iter().sum::<f64>() > 0.97, "{share:?}");
    let queue = link.far.queue(1);
    assert!(queue < BDP / 50, "{queue}");
}

#[test]
fn a_port_that_was_idle_has_the_line_rate_a_round_trip_later_and_one_alone_has_all_of_it() {
    let mut link = Link::new(3);
    link.run(10 * BDP, [true, false, false], [1, 1, 1]);
    let [alone, ..] = link.run(10 * BDP, [true, false, false], [1, 1, 1]);
    assert!(alone as f64 > 9.9 * BDP as f64, "{alone}");
    link.run(BDP + 20, [false, true, false], [1, 1, 1]);
    let [_, new, _] = link.run(BDP, [false, true, false], [1, 1, 1]);
    assert!(new as f64 > 0.98 * BDP as f64, "{new}");
}

#[test]
fn a_stopped_port_starts_again_and_is_at_line_rate_within_eight_round_trips() {
    let mut link = Link::new(3);
    link.run(10 * BDP, [true, false, false], [1, 1, 1]);
    link.run(30 * BDP, [true, false, false], [0, 1, 1]);
    link.run(8 * BDP, [true, false, false], [1, 1, 1]);
    let [drained, ..] = link.run(4 * BDP, [true, false, false], [1, 1, 1]);
    assert!(drained as f64 > 3.9 * BDP as f64, "{drained}");
}

#[test]
fn grants_that_come_a_quarter_of_a_slot_late_or_not_at_all_break_no_bound() {
    let mut link = Link::new(3);
    for step in 0..200 * BDP {
        link.late = Interval(if step / 700 % 2 == 0 { 2_000 } else { 0 });
        link.backlog = [1_000; PORTS];
        link.step([step % 3 == 0, step / 5_000 % 2 == 0, step % 20 == 0], step / 100 % 10 == 0);
        assert!(link.longest_in_all <= link.bound(), "{} of {}", link.longest_in_all, link.bound());
    }
    let bound = Link::bound_of_one() + Link::made_up();
    assert!(link.longest.iter().all(|longest| *longest <= bound), "{:?}", link.longest);
}

#[test]
fn messages_that_overtake_each_other_or_are_lost_cost_ports_at_a_tenth_of_the_link_no_rate() {
    let drained = |jitter, lost_of_ten| {
        let mut link = Link::new(3);
        link.jitter = jitter;
        let mut step = |count: u64| {
            let before = link.drained;
            for step in 0..count {
                link.backlog = [1_000; PORTS];
                link.step([step % 10 == 0; PORTS], step / 10 * 7 % 10 < lost_of_ten);
            }
            core::array::from_fn::<_, PORTS, _>(|port| link.drained[port] - before[port])
        };
        step(20 * BDP);
        step(20 * BDP)
    };
    let undisturbed = drained(Interval::ZERO, 0);
    assert_eq!(undisturbed, [2 * BDP; PORTS]);
    for (jitter, lost) in [(SLOT * 4, 0), (Interval::ZERO, 1), (Interval::ZERO, 2)] {
        let disturbed = drained(jitter, lost);
        let kept = disturbed.iter().zip(undisturbed).all(|(now, before)| now * 50 >= before * 49);
        assert!(kept, "{jitter:?}, {lost}: {disturbed:?} of {undisturbed:?}");
    }
}

#[test]
fn the_newest_message_grants_a_far_port_what_lost_ones_did_and_one_that_comes_later_nothing_more() {
    for start in [0, u32::MAX - 1_500] {
        let mut near = near(3);
        let mut hear = |sequence, total: u32| {
            let each =
                core::array::from_fn(|index| if index == 0 { WireBytes(total.into()) } else { WireBytes(0) });
            let head = head(Kind::Grant, sequence, WireBytes(100_000));
            let at = Nanos(u64::from(sequence) * 2 * SLOT.0);
            let taken = near.receive(at, &grants::Message { head, count: 1, each });
            (taken, near.left_of(1))
        };
        hear(1, start);
        hear(2, start.wrapping_add(1_000));
        assert_eq!(hear(5, start.wrapping_add(4_000)), (true, 3_000));
        assert_eq!(hear(4, start.wrapping_add(3_000)), (false, 3_000), "overtaken");
        assert_eq!(hear(5, start.wrapping_add(4_000)), (false, 3_000), "twice");
    }
}

#[test]
fn totals_that_begin_anew_leave_a_far_port_no_more_than_the_grant_for_all_and_for_one_slot_only() {
    let mut near = near(3);
    let mut hear = |at, sequence, kind, total| {
        let head = head(kind, sequence, WireBytes(5_000));
        let each = core::array::from_fn(|_| WireBytes(total));
        near.receive(Nanos(at), &grants::Message { head, count: 3, each });
        [near.left_of(1), near.left_of(0)]
    };
    hear(0, 1_000_000, Kind::Grant, 1_000_000);
    let [port, all] = hear(20_000, 1, Kind::Grant, 1_000);
    assert!(port > 1 << 31 && all == 5_000, "a restart: {port} of {all}");
    assert_eq!(hear(40_000, 2, Kind::Grant, 2_000), [1_000, 5_000]);
    hear(60_000, 3, Kind::Free, 7_000);
    assert_eq!(hear(80_000, 4, Kind::Grant, 500), [500, 5_000], "they begin at zero after a rest");
}

#[test]
fn a_near_end_that_restarts_takes_the_first_totals_for_a_base_and_grants_no_far_port_more() {
    let mut near = near(3);
    let mut hear = |sequence: u32, total| {
        let head = head(Kind::Grant, sequence, WireBytes(5_000));
        let each = core::array::from_fn(|_| WireBytes(total));
        near.receive(Nanos(u64::from(sequence) * 2 * SLOT.0), &grants::Message { head, count: 3, each });
        [near.left_of(1), near.left_of(0)]
    };
    assert_eq!(hear(1, 3_000_000_000), [0, 5_000]);
    assert_eq!(hear(2, 3_000_001_000), [1_000, 5_000]);
}

#[test]
fn the_total_of_a_far_port_that_was_gone_begins_where_the_messages_meanwhile_left_it() {
    let mut far = Far::new(3);
    let end_slot = |far: &mut Far| {
        far.scheme.far.iter_mut().zip(&mut far.scheme.granted).for_each(|(_, total)| *total += 1_000);
        far.scheme.grants(head(Kind::Grant, 1, WireBytes(5_000))).each.map(|total| total.0)
    };
    let learn = |far: &mut Far, far_ports| {
        let ports = (1..=far_ports).map(|port| (PortId(port), RATE)).collect();
        let behind = Arc::new(Behind { ports, ..Behind::default() });
        far.scheme.learn(&behind, look(&far.received, &far.ledger));
    };
    assert_eq!(end_slot(&mut far)[..3], [1_000; 3]);
    learn(&mut far, 1);
    assert_eq!(end_slot(&mut far)[..3], [2_000, 0, 0]);
    learn(&mut far, 3);
    assert_eq!(end_slot(&mut far)[..3], [3_000, 1_000, 1_000]);
}

#[test]
fn a_far_end_that_restarts_is_followed_again() {
    let mut link = Link::new(3);
    link.run(10 * BDP, [true; PORTS], [3, 3, 3]);
    link.far = Far::new(3);
    link.frames.clear();
    link.answer(link.now, true);
    link.run(10 * BDP, [true; PORTS], [3, 3, 3]);
    link.longest_in_all = 0;
    let drained = link.run(10 * BDP, [true; PORTS], [3, 3, 3]);
    assert!(drained.iter().sum::<u64>() as f64 > 9.5 * BDP as f64, "{drained:?}");
    assert!(link.longest_in_all <= link.bound());
}

#[test]
fn what_the_near_end_was_not_granted_for_a_far_port_waits_and_leaves_the_others_open() {
    let mut near = near(3);
    // A base for the totals of a slot.
    let none = [WireBytes(0); grants::MOST];
    let pauses = head(Kind::Pauses, 1, WireBytes(0));
    near.receive(Nanos(0), &grants::Message { head: pauses, count: 2, each: none });
    let head = head(Kind::Grant, 2, WireBytes(3_000));
    let mut each = none;
    each[1] = WireBytes(2_000);
    near.receive(Nanos(0), &grants::Message { head, count: 2, each });
    let queue = |port| {
        super::settings::Layout::new(
            &settings(3),
            LOSSLESS,
            Priority::all().chain(settings(3).queues(LOSSLESS)),
        )
        .queue(port, P3)
    };
    let closed = |near: &mut Upstream| [0, 1, 2, 3].map(|port| near.closed(Nanos(1)).contains(queue(port)));
    assert_eq!(closed(&mut near), [false, true, false, false], "the third has no bound of its own");
    near.spend(Nanos(1), queue(2), WireBytes(2_000));
    assert_eq!(closed(&mut near), [false, true, true, false]);
    near.spend(Nanos(1), queue(0), WireBytes(1_000));
    assert_eq!(closed(&mut near), [true; 4], "nothing is left for all");
    assert!(!near.closed(Nanos(1)).contains(QueueId::from_low_bits(0)), "lossy frames need no grant");
}

#[test]
fn a_peer_that_frees_the_port_for_nothing_and_falls_silent_frees_it_all_the_same() {
    let mut near = near(2);
    let head = Head { slot: Interval(u32::MAX.into()), ..head(Kind::Free, 1, WireBytes(0)) };
    near.receive(Nanos(0), &grants::Message { head, count: 14, each: [WireBytes(0); grants::MOST] });
    let queue = QueueId::from_low_bits(8);
    let until = near.closed_until(queue).expect("it may send nothing for a far port");
    assert!(near.closed(until - Interval(1)).contains(queue));
    assert!(!near.closed(until).contains(queue));
    assert_eq!((near.closed_until(queue), near.counters().silences), (None, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// L <= H in all, and each far port within the bound of its link, whatever drains, whoever sends, and whatever grants are
    /// lost or out of order. Grants that come later than the far end remembers come on top.
    #[test]
    fn the_buffer_holds_what_bifrost_promises_and_each_far_port_what_its_link_may(
        phases in prop::collection::vec(
            (1_u64..900, [0_u64..=10, 0_u64..=10, 0_u64..=10], 0_u64..=3, [0_u64..900, 0_u64..900, 0_u64..900]), 1..12,
        ),
        jitter in prop_oneof![Just(0), 0_u64..60_000],
    ) {
        let mut link = Link::new(3);
        link.jitter = Interval(jitter);
        let disturbed = jitter > 0 || phases.iter().any(|(_, _, loss, _)| *loss > 0);
        for (steps, drain, loss, backlog) in phases {
            link.backlog = backlog;
            for step in 0..steps {
                let drains = core::array::from_fn(|port| step * (7 + 2 * port as u64) % 10 < drain[port]);
                link.step(drains, step / 10 % 10 < loss);
            }
        }
        let late = jitter / FRAME;
        let bound = link.bound() + late;
        prop_assert!(link.longest_in_all <= bound, "{} of {bound}", link.longest_in_all);
        let bound = Link::bound_of_one() + late + if disturbed { Link::made_up() } else { 0 };
        for longest in link.longest {
            prop_assert!(longest <= bound, "{longest} of {bound}");
        }
    }

    /// No one starves: what waits is sent in the end, though every second grant is lost.
    #[test]
    fn what_waits_is_sent_in_the_end(backlog in [0_u64..900, 0_u64..900, 0_u64..900]) {
        let mut link = Link::new(3);
        link.backlog = backlog;
        for step in 0..60 * BDP {
            link.step([step % 4 == 0; PORTS], step / 10 % 2 == 0);
        }
        prop_assert_eq!(link.backlog, [0; PORTS]);
        prop_assert!((1..=PORTS).all(|port| link.far.queue(port) == 0));
    }
}
