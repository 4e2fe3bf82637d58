//! One worker, turn by turn, with a clock that the test moves.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::sync::Arc;
use switch::link_agent::LinkAgent;
use switch::program::{GroupSettings, Threshold};
use switch::{DropReason, PauseCause, Program, Successor, Volume};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId, Priority};
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::lldp::{Id, Message};
use worker::{BURST, Clock, Command, Reply, Stage};

/// The duration of a turn; a minimum frame takes 6.72 ns.
const TURN: Interval = Interval(1_000);

fn turns(bench: &mut Bench<TestClock>, clock: &TestClock, count: usize) {
    for _ in 0..count {
        clock.advance(TURN);
        assert!(bench.worker.turn().is_continue());
    }
}

fn frames(priority: units::Priority, count: u64) -> impl Iterator<Item = TestFrame> {
    (0..count).map(move |number| frame(1, priority, 100, number))
}

fn all(count: u64) -> Vec<u64> {
    (0..count).collect()
}

#[test]
fn what_arrives_at_one_port_leaves_through_the_other_in_order() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    a.inject(frames(P3, 1_000));
    b.inject((0..500).map(|number| frame(2, P0, 1_000, number)));
    turns(&mut bench, &clock, 200);
    assert_eq!(b.outside().numbers()[&1], all(1_000));
    assert_eq!(a.outside().numbers()[&2], all(500));
    assert_nothing_inside(bench.worker.shard().ledger());
    let device = bench.inspect(A).device;
    assert_eq!((device.received, device.sent), (1_000, 500));
}

#[test]
fn a_burst_leaves_in_the_turn_in_which_it_arrived() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    a.inject(frames(P3, BURST as u64));
    turns(&mut bench, &clock, 1);
    assert_eq!(b.outside().outbound.len(), BURST);
}

#[test]
fn ports_that_all_send_to_one_do_not_queue_for_want_of_bursts() {
    let mut settings = settings(4);
    settings.forwarding = switch::ForwardingSettings::Bridge(switch::BridgeSettings::default());
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings, 1, || clock.clone());
    let bench = &mut benches[0];
    // The bridge learns the port of station 1, the destination of all frames.
    let mut hello = frame(9, P0, 100, 0);
    switch::Frame::headers_mut(&mut hello)[..12].copy_from_slice(&[2, 0, 0, 0, 9, 9, 2, 0, 0, 0, 1, 1]);
    cables[3].inject([hello]);
    turns(bench, &clock, 1);
    for cable in &cables[..3] {
        cable.inject(frames(P3, BURST as u64));
    }
    turns(bench, &clock, 1);
    assert_eq!(cables[3].outside().outbound.len(), 3 * BURST);
}

#[test]
fn a_program_installed_while_frames_are_inside_costs_none_and_the_old_one_comes_back() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    let old = bench.worker.shard().program().clone();
    let new = Arc::new(Program::new(settings(2)).unwrap());
    // A pause keeps frames queued while the program changes.
    b.inject([pause(PauseQuanta::MAX)]);
    turns(&mut bench, &clock, 1);
    a.inject(frames(P3, 100));
    turns(&mut bench, &clock, 1);
    bench.send(Command::Install(Box::new(Successor::new(new.clone()))));
    turns(&mut bench, &clock, 10);
    assert!(Arc::ptr_eq(bench.worker.shard().program(), &new));
    match bench.controls.receive() {
        Some(Reply::Installed(Ok(back))) => assert!(Arc::ptr_eq(back.program(), &old)),
        reply => panic!("{reply:?}"),
    }
    assert_eq!(b.outside().outbound.len(), 0);
    b.inject([pause(PauseQuanta::ZERO)]);
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().numbers()[&1], all(100));
    // The worker released it: only the test holds a reference.
    assert_eq!(Arc::strong_count(&old), 1);
}

#[test]
fn a_program_that_cannot_be_installed_comes_back_with_the_reason_and_changes_nothing() {
    let (mut bench, clock, ..) = one_worker(settings(2));
    let running = bench.worker.shard().program().clone();
    let new = Arc::new(Program::new(settings(4)).unwrap());
    bench.send(Command::Install(Box::new(Successor::new(new.clone()))));
    turns(&mut bench, &clock, 1);
    match bench.controls.receive() {
        Some(Reply::Installed(Err((back, why)))) => {
            assert!(Arc::ptr_eq(back.program(), &new));
            assert_eq!(why, switch::program::NotLive::PortCount { running: 2, wanted: 4 });
        }
        reply => panic!("{reply:?}"),
    }
    assert!(Arc::ptr_eq(bench.worker.shard().program(), &running));
    assert_eq!(Arc::strong_count(&new), 1);
}

/// [`settings`] with an XOFF of 20 frames of 100 bytes and an XON of 10.
fn shallow() -> switch::Settings {
    let mut settings = settings(2);
    for port in &mut settings.ports {
        if let GroupSettings::Lossless(group) = &mut port.groups[P3.index()] {
            group.xoff = Threshold::Static(Bytes(2_000));
            group.xon = Bytes(1_000);
        }
    }
    settings
}

#[test]
fn while_memory_is_low_lossless_senders_of_all_ports_are_paused_and_lossy_frames_dropped_by_name() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    let flow = |flow, priority, numbers: core::ops::Range<u64>| {
        numbers.map(move |number| frame(flow, priority, 100, number))
    };
    let low = |low| [&a, &b].iter().for_each(|cable| cable.outside().memory_is_low = low);
    let dropped = |bench: &Bench<TestClock>, port, priority: Priority| {
        bench.worker.shard().ingress_counters(port).dropped[priority.index()]
    };
    a.inject(flow(1, P3, 0..10).chain(flow(2, P0, 0..10)));
    turns(&mut bench, &clock, 2);
    assert!(a.outside().control.is_empty() && b.outside().control.is_empty());

    low(true);
    turns(&mut bench, &clock, 1);
    assert_eq!([&a, &b].map(|cable| cable.outside().pauses()), [[PauseQuanta::MAX], [PauseQuanta::MAX]]);
    // Both ports have queued frames of both kinds.
    a.inject(flow(1, P3, 10..60).chain(flow(2, P0, 10..60)));
    b.inject(flow(3, P3, 0..50).chain(flow(4, P0, 0..50)));
    turns(&mut bench, &clock, 20);
    assert_eq!(b.outside().numbers(), [(1, all(60)), (2, all(10))].into());
    assert_eq!(a.outside().numbers(), [(3, all(50))].into());
    for port in [A, B] {
        let lossy = dropped(&bench, port, P0);
        assert_eq!(lossy[DropReason::MemoryLow.index()].frames, 50);
        assert_eq!(lossy.iter().copied().sum::<Volume>().frames, 50, "for no other reason");
        assert_eq!(dropped(&bench, port, P3).iter().copied().sum::<Volume>(), Volume::ZERO);
        let group = bench.worker.shard().group(clock.clone().now(), port, P3);
        assert_eq!(group.paused, Some(PauseCause::MemoryLow), "as long as it is low, whatever has left");
    }

    low(false);
    turns(&mut bench, &clock, 1);
    for cable in [&a, &b] {
        assert_eq!(cable.outside().pauses(), [PauseQuanta::MAX, PauseQuanta::ZERO]);
    }
    b.inject(flow(3, P3, 50..60).chain(flow(4, P0, 50..60)));
    turns(&mut bench, &clock, 10);
    assert_eq!(a.outside().numbers(), [(3, all(60)), (4, (50..60).collect())].into());
    assert_nothing_inside(bench.worker.shard().ledger());
}

#[test]
fn a_link_that_is_down_holds_its_frames_pauses_who_sends_them_and_releases_all_when_it_is_up() {
    let (mut bench, clock, a, b) = one_worker(shallow());
    bench.send(Command::Link(B, false));
    turns(&mut bench, &clock, 1);
    a.inject(frames(P3, 100));
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().outbound.len(), 0);
    assert_eq!(a.outside().pauses(), [PauseQuanta::MAX]);

    bench.send(Command::Link(B, true));
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().numbers()[&1], all(100));
    assert_eq!(a.outside().pauses(), [PauseQuanta::MAX, PauseQuanta::ZERO]);
    assert_nothing_inside(bench.worker.shard().ledger());
}

#[test]
fn a_pause_that_came_and_went_while_the_link_was_down_is_not_sent_when_it_is_up() {
    let (mut bench, clock, a, b) = one_worker(shallow());
    for port in [A, B] {
        bench.send(Command::Link(port, false));
    }
    turns(&mut bench, &clock, 2);
    a.inject(frames(P3, 100));
    turns(&mut bench, &clock, 10);
    bench.send(Command::Link(B, true));
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().outbound.len(), 100);
    bench.send(Command::Link(A, true));
    turns(&mut bench, &clock, 10);
    assert_eq!(a.outside().pauses(), []);
}

#[test]
fn a_device_without_room_keeps_its_frames_in_the_switch_and_is_still_given_control_frames() {
    let (mut bench, clock, a, b) = one_worker(shallow());
    b.outside().takes = Some(0);
    a.inject(frames(P3, 100));
    // Traffic in the other direction makes B send pauses.
    b.inject((0..100).map(|number| frame(2, P3, 100, number)));
    a.outside().takes = Some(0);
    turns(&mut bench, &clock, 10);
    assert_eq!(a.outside().pauses(), [PauseQuanta::MAX]);
    assert_eq!(b.outside().pauses(), [PauseQuanta::MAX]);
    let inside = bench.worker.shard().ledger().egress_queue(B, P3).frames;
    assert_eq!(inside as usize, 100 - BURST, "one burst is in the device");
    let device = bench.inspect(B).device;
    assert_eq!(device.full, 10 + 1, "in each turn, and in the one that answers");
    assert_eq!(device.waiting, BURST as u64);

    for cable in [&a, &b] {
        cable.outside().takes = None;
    }
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().numbers()[&1], all(100));
    assert_eq!(a.outside().numbers()[&2], all(100));
}

#[test]
fn a_frame_that_comes_alone_waits_while_its_link_is_down_or_its_device_has_no_room() {
    const FRAMES: u64 = BURST as u64 + 10;
    let (mut bench, clock, a, b) = one_worker(settings(2));
    bench.send(Command::Link(B, false));
    turns(&mut bench, &clock, 1);
    for number in 0..FRAMES {
        a.inject([frame(1, P3, 100, number)]);
        turns(&mut bench, &clock, 2);
    }
    assert_eq!(b.outside().outbound.len(), 0);
    assert_eq!(bench.inspect(B).device.waiting, 0, "the device is given nothing");

    b.outside().takes = Some(0);
    bench.send(Command::Link(B, true));
    turns(&mut bench, &clock, 10);
    for number in FRAMES..2 * FRAMES {
        a.inject([frame(1, P3, 100, number)]);
        turns(&mut bench, &clock, 2);
    }
    assert_eq!(bench.inspect(B).device.waiting, BURST as u64);
    b.outside().takes = None;
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().numbers()[&1], all(2 * FRAMES));
    assert_nothing_inside(bench.worker.shard().ledger());
}

#[test]
fn a_worker_that_drains_sends_what_is_inside_obeys_pauses_and_counts_what_still_comes() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    b.inject([pause(PauseQuanta::MAX)]);
    turns(&mut bench, &clock, 1);
    a.inject(frames(P3, 100));
    turns(&mut bench, &clock, 10);
    bench.send(Command::Drain);
    turns(&mut bench, &clock, 1);
    a.inject(frames(P3, 40));
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().outbound.len(), 0, "the pause is still obeyed");
    b.inject([pause(PauseQuanta::ZERO)]);
    turns(&mut bench, &clock, 10);
    assert_eq!(b.outside().numbers()[&1], all(100), "a resume too");
    assert_nothing_inside(bench.worker.shard().ledger());
    let of_a = bench.inspect(A);
    assert_eq!(of_a.drained, Volume { frames: 40, bytes: Bytes(4_000) });
    assert_eq!(of_a.device.received, 140);
    assert_eq!(bench.inspect(B).drained, Volume::ZERO);
    // A grant that would let it drain is not data either.
    b.inject([grant()]);
    turns(&mut bench, &clock, 1);
    assert_eq!(bench.inspect(B).drained, Volume::ZERO);
}

#[test]
fn a_port_whose_agent_shuts_down_says_so_before_the_worker_answers_the_next_command() {
    let mut settings = settings(2);
    let message =
        Message { chassis: Id::of_chassis(MacAddress([2; 6])), port: Id::of_port("a"), ..Message::default() };
    let agent = LinkAgent { interval: Interval::from_secs(30), message };
    settings.ports[A.index()].link_agent = Some(Box::new(agent));
    let (mut bench, clock, a, b) = one_worker(settings);
    turns(&mut bench, &clock, 10);
    bench.send(Command::Drain);
    turns(&mut bench, &clock, 10);
    assert_eq!(a.outside().announcements.len(), 1, "the drain still needs what the neighbour knows");
    bench.send(Command::ShutDownAgents);
    turns(&mut bench, &clock, 1);
    bench.inspect(A);
    let times = |cable: &Cable| -> Vec<u16> {
        let said = |frame: &Vec<u8>| Message::parse(&frame[HEADER_LEN..]).unwrap().message.ttl_seconds;
        cable.outside().announcements.iter().map(said).collect()
    };
    assert_eq!((times(&a), times(&b)), (vec![121, 0], vec![]));
}

#[test]
fn a_worker_stops_at_the_end_of_the_turn_in_which_it_is_told() {
    let (mut bench, _, a, b) = one_worker(settings(2));
    a.inject(frames(P3, 10));
    bench.send(Command::Stop);
    bench.worker.run();
    assert_eq!(b.outside().outbound.len(), 10);
    assert_eq!((bench.monitor.turns(), bench.monitor.busy()), (1, 1));
    assert_eq!(bench.monitor.stage(), Stage::Idle);
}

#[test]
fn one_command_is_followed_in_each_turn_and_none_without_room_for_its_reply() {
    let (mut bench, clock, ..) = one_worker(settings(2));
    let mut sent = 0;
    while bench.controls.send(Command::Inspect(A, Box::default())).is_ok() {
        sent += 1;
    }
    turns(&mut bench, &clock, 1);
    assert!(bench.controls.send(Command::Inspect(A, Box::default())).is_ok(), "one was taken");
    assert!(bench.controls.send(Command::Stop).is_err(), "and only one");
    turns(&mut bench, &clock, 3 * sent);
    let replies = core::iter::from_fn(|| bench.controls.receive()).count();
    assert_eq!(replies, sent, "the one for which there was no room for a reply waits");
    turns(&mut bench, &clock, 1);
    assert!(matches!(bench.controls.receive(), Some(Reply::Inspected(A, _))));
    assert!(bench.controls.receive().is_none());
}

#[test]
fn an_inspection_of_another_workers_port_stays_empty() {
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings(4), 2, || clock.clone());
    cables[0].inject(frames(P3, 10));
    turns(&mut benches[0], &clock, 1);
    assert_eq!(benches[0].inspect(A).device.received, 10);
    assert_eq!(benches[0].inspect(PortId(2)).port.at, Nanos::ZERO, "as it was sent");
}

#[test]
fn watermarks_are_cleared_on_demand() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    b.outside().takes = Some(0);
    a.inject(frames(P3, 100));
    turns(&mut bench, &clock, 10);
    b.outside().takes = None;
    turns(&mut bench, &clock, 10);
    let before = bench.inspect(A).port.groups[P3.index()].watermark;
    assert!(before.since_cleared() > Bytes::ZERO);
    bench.send(Command::ClearWatermarks);
    turns(&mut bench, &clock, 1);
    let after = bench.inspect(A).port.groups[P3.index()].watermark;
    assert_eq!((after.since_cleared(), after.persistent()), (Bytes::ZERO, before.persistent()));
}

#[test]
fn a_clock_that_goes_back_is_not_followed() {
    let (mut bench, clock, a, b) = one_worker(settings(2));
    turns(&mut bench, &clock, 2);
    clock.set(START);
    a.inject(frames(P3, 10));
    assert!(bench.worker.turn().is_continue());
    assert_eq!(b.outside().outbound.len(), 10);
    assert_eq!(bench.inspect(A).port.at, START + TURN * 2);
}

/// A clock whose every read is preempted.
struct Preempted(Nanos);

impl Clock for Preempted {
    fn now(&mut self) -> Nanos {
        self.0 += AWAY;
        self.0
    }
}

const AWAY: Interval = Interval::from_micros(200);

#[test]
fn a_frame_leaves_an_emulated_link_no_earlier_than_its_delay_after_it_came() {
    let (mut benches, cables) = workers(settings(2), 1, || Preempted(START));
    let Bench { worker, controls, monitor } = benches.remove(0);
    let mut bench = Bench { worker: worker.emulate(B, emulated_link(AWAY * 2)), controls, monitor };
    cables[0].inject(frames(P3, 1));
    while cables[1].outside().outbound.is_empty() {
        assert!(bench.worker.turn().is_continue());
    }
    // The turn began at the first read, and the frame arrived before the second. It left at a later read, and
    // the inspection made one more.
    let (came, left) = (START + AWAY * 2, bench.inspect(A).port.at - AWAY);
    assert_eq!(left, came + AWAY * 2);
}

#[test]
fn an_idle_worker_is_not_busy_and_its_turns_are_timed() {
    let (mut bench, clock, a, _) = one_worker(settings(2));
    turns(&mut bench, &clock, 10);
    a.inject(frames(P3, 1));
    turns(&mut bench, &clock, 1);
    assert_eq!((bench.monitor.turns(), bench.monitor.busy()), (11, 1));
    let turns = bench.inspect(A).turns;
    assert_eq!((turns.count(), turns.longest()), (11, TURN), "the first one of 12 has no beginning");
}

#[test]
fn a_turn_that_takes_longer_than_promised_is_late() {
    let (mut bench, clock, _, _) = one_worker(settings(2));
    turns(&mut bench, &clock, 10);
    assert_eq!(bench.monitor.late_turns(), 0, "nothing was promised");
    bench.monitor.promise(TURN);
    turns(&mut bench, &clock, 10);
    assert_eq!(bench.monitor.late_turns(), 0);
    bench.monitor.promise(Interval(TURN.0 - 1));
    turns(&mut bench, &clock, 10);
    assert_eq!((bench.monitor.late_turns(), bench.monitor.longest_turn()), (10, TURN));
}

#[test]
fn the_longest_late_turn_is_kept() {
    let (mut bench, clock, _, _) = one_worker(settings(2));
    bench.monitor.promise(TURN);
    turns(&mut bench, &clock, 1);
    for turn in [TURN * 50, TURN * 6] {
        clock.advance(turn);
        turns(&mut bench, &clock, 1);
    }
    assert_eq!(bench.monitor.late_turns(), 2);
    assert!(bench.monitor.longest_turn() >= TURN * 50);
}

#[test]
fn a_deadline_that_was_missed_counts_as_late_and_one_that_an_arrival_makes_does_not() {
    let (mut bench, clock, a, _) = one_worker(settings(2));
    turns(&mut bench, &clock, 10);
    a.inject(frames(P3, 1));
    turns(&mut bench, &clock, 10);
    assert_eq!(bench.inspect(PortId(1)).lateness.count(), 0, "the link was free since long");
    // 40 frames of 9,216 bytes take 740 ns each, and a window fits five of them.
    a.inject((0..40).map(|number| frame(1, P3, 9_216, number)));
    turns(&mut bench, &clock, 100);
    let lateness = bench.inspect(PortId(1)).lateness;
    assert_eq!(lateness.count(), 25);
    assert!(lateness.longest() < TURN, "it is served in the turn that follows it");
}
