//! Each invariant can fail, and is then found: frames are put on links by hand, and doctored there.

use super::*;
use crate::check::Checker;
use crate::flows::Flow;
use crate::frame::{FramePool, Label};
use crate::link::Sent;
use crate::network::{Faults, FlowSpec, NetworkSpec, NodeId};
use crate::observer::Tap;
use crate::outcome::FlowRecord;
use crate::testing::{P3, end, flow, line, link, patched, pause, switch};
use crate::violation::Pool;
use core::num::NonZeroUsize;
use endpoint::FlowId;
use std::collections::BTreeSet;
use switch::program::{BufferSettings, GroupSettings, RateLimit, Settings, Threshold};
use switch::{Frame, Shard, ShardId, Volume};
use units::{BitRate, Bytes, Interval, Nanos, PortSet, PrioritySet};

impl Engine {
    /// The first switch of a network that is one part.
    pub(crate) fn first_switch(&mut self) -> &mut Switch {
        &mut self.parts[0].switches[0]
    }
}

impl Part {
    fn note_arrival(&mut self, number: usize) {
        self.calendar.note_arrival(&self.directions[number]);
    }

    fn check_first_buffer(&mut self) -> Result<(), Broken> {
        self.checker.check_buffer(0, &self.switches[0], Bytes::ZERO)?;
        self.checker.check_pools(0, &self.switches[0])
    }
}

/// The headers of an IPv4 frame of priority `priority`.
fn headers(priority: u8) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[..6].copy_from_slice(&[2, 0, 0, 1, 0, 1]);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 1, 0, 9]);
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, priority << 5]);
    bytes[16..18].copy_from_slice(&1_068_u16.to_be_bytes());
    bytes[22..24].copy_from_slice(&[64, 17]);
    bytes
}

/// A network with a flow under way of which its hosts know nothing.
fn engine(network: NetworkSpec) -> Engine {
    let options = Options { limit: Nanos(100_000_000), ..Options::default() };
    let mut engine = Engine::new(network, options);
    engine.parts[0].flows.start(Flow::new(flow(None), [Some(0), Some(1)], Interval::ZERO));
    engine
}

/// Puts a frame on the link, as a host would.
fn inject(
    engine: &mut Engine,
    (link, end): (usize, usize),
    start: u64,
    headers: &[u8],
    label: Option<Label>,
) {
    let frame = engine.parts[0].pool.frame(headers, Bytes(1_082), label);
    let number = engine.numbers[link][end];
    let mut volume = Volume::ZERO;
    volume.count(frame.length());
    engine.parts[0].checker.balance.sent += volume;
    match engine.parts[0].directions[number].send(Nanos(start), Nanos(start), frame).unwrap() {
        Sent::First | Sent::Behind => engine.parts[0].checker.balance.inside += volume,
        Sent::Twice => unreachable!("no fault makes a second one"),
        Sent::Lost => engine.parts[0].checker.balance.lost += volume,
    }
    engine.parts[0].note_arrival(number);
}

/// Lets everything happen up to `until`.
fn run(engine: &mut Engine, until: u64) -> Result<Ending, Broken> {
    engine.options.limit = Nanos(until);
    match engine.turn(&mut core::iter::empty(), &mut ()) {
        Stop::Ended(ending) => engine.check_everything().map(|()| ending),
        Stop::Broken(broken) => Err(broken),
    }
}

/// 1082 bytes last 89 ns on each link: after 88.48 ns the last bit is sent.
#[test]
fn a_frame_that_passes_a_switch_is_delivered_on_the_nanosecond() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 10, &headers(3), None);
    assert_eq!(run(&mut engine, 10 + 2 * 1_089 - 1), Ok(Ending::Limit));
    assert_eq!(engine.parts[0].checker.balance.delivered.frames, 0);
    assert_eq!(run(&mut engine, 10 + 2 * 1_089), Ok(Ending::Limit));
    assert_eq!(engine.parts[0].checker.balance.delivered, Volume { frames: 1, bytes: Bytes(1_082) });
    let outcome = engine.outcome(Ending::Limit);
    assert_eq!((outcome.transmissions, outcome.balance.credit()), (1, outcome.balance.debit()));
}

#[test]
fn a_frame_that_vanishes_from_a_link_is_missed_at_the_next_event() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    inject(&mut engine, (0, 0), 500, &headers(3), None);
    let number = engine.numbers[0][0];
    drop(engine.parts[0].directions[number].steal());
    assert!(matches!(run(&mut engine, 5_000), Err(Broken::Conservation { .. })));
}

#[test]
fn a_frame_from_nowhere_is_noticed() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let extra = engine.parts[0].pool.frame(&headers(3), Bytes(100), None);
    assert!(matches!(run(&mut engine, 5_000), Err(Broken::Conservation { .. })));
    drop(extra);
}

#[test]
fn a_frame_that_grows_on_its_way_is_noticed() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let number = engine.numbers[0][0];
    let taken = engine.parts[0].directions[number].steal().unwrap();
    let longer = engine.parts[0].pool.frame(taken.headers(), Bytes(1_083), None);
    drop(taken);
    engine.parts[0].directions[number].send(Nanos(2_000), Nanos(2_000), longer).unwrap();
    engine.parts[0].note_arrival(number);
    assert!(matches!(run(&mut engine, 9_000), Err(Broken::Conservation { .. })));
}

#[test]
fn a_frame_that_overtakes_another_one_of_its_flow_is_found_at_its_receiver() {
    let mut engine = engine(line());
    let number = engine.numbers[1][0];
    let labels = [0, 1].map(|_| engine.parts[0].flows.label(FlowId(0)));
    for (label, start) in labels.into_iter().zip([0, 1_000]) {
        inject(&mut engine, (1, 0), start, &headers(3), label);
    }
    engine.parts[0].directions[number].swap_last();
    assert_eq!(run(&mut engine, 9_000), Err(Broken::Order { flow: FlowId(0), serial: 1, after: 2 }));
}

#[test]
fn a_sender_that_does_not_know_of_a_pause_is_found_at_its_link() {
    let mut engine = engine(line());
    // The link hears of a pause that the switch never gets.
    let number = engine.numbers[1][0];
    engine.parts[0].directions[number].pauses.hear(Nanos(0), &pause(P3, 1_000), PrioritySet::ALL);
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let broken = run(&mut engine, 9_000).unwrap_err();
    assert!(matches!(broken, Broken::Pause { start: Nanos(1_089), until: Nanos(5_120), .. }), "{broken}");
}

#[test]
fn frames_of_other_priorities_pass_while_one_is_paused() {
    let mut engine = engine(line());
    inject(&mut engine, (1, 1), 0, &pause(P3, 1_000), None);
    inject(&mut engine, (0, 0), 500, &headers(0), None);
    inject(&mut engine, (0, 0), 1_000, &headers(3), None);
    assert_eq!(run(&mut engine, 3_000), Ok(Ending::Limit));
    assert_eq!(engine.parts[0].checker.balance.delivered.frames, 1, "lossy, and in time");
    // The pause frame of 1082 bytes is there after 1089 ns.
    let resumed = 1_089 + 5_120;
    assert_eq!(run(&mut engine, resumed + 1_089 - 1), Ok(Ending::Limit));
    assert_eq!(engine.parts[0].checker.balance.delivered.frames, 1);
    assert_eq!(run(&mut engine, resumed + 1_089), Ok(Ending::Limit));
    assert_eq!(engine.parts[0].checker.balance.delivered.frames, 2, "on the nanosecond");
    assert_eq!(engine.parts[0].checker.checks.pause, 1, "the lossy frame left in spite of the pause");
}

/// A neighbour that sends in spite of pauses, into a switch that can't send on.
fn overfill(network: NetworkSpec) -> (Engine, Result<Ending, Broken>) {
    let mut engine = engine(network);
    engine.options.stall = Interval(u64::MAX);
    inject(&mut engine, (1, 1), 0, &pause(P3, u16::MAX), None);
    for number in 0..200 {
        inject(&mut engine, (0, 0), 1_000 + 100 * number, &headers(3), None);
    }
    let ending = run(&mut engine, 100_000);
    (engine, ending)
}

#[test]
fn a_lossless_frame_that_is_dropped_fails_the_run() {
    let (_, ending) = overfill(line());
    let broken = ending.unwrap_err();
    assert!(matches!(broken, Broken::LosslessDrop { priority: P3, .. }), "{broken}");
}

#[test]
fn a_lossless_drop_is_explained_where_pauses_are_lost_or_late_or_data_is_late() {
    // The switch is end 1 of link 0, on which it drops.
    let none = Faults::default();
    let down = Some((Nanos(90_000_000), Nanos(90_000_001)));
    let explaining = [
        [none, Faults { control_loss: 0.5, ..none }],
        [none, Faults { corruption: 0.5, ..none }],
        [none, Faults { control_delay: Interval(1), ..none }],
        [none, Faults { control_jitter: Interval(1), ..none }],
        [none, Faults { down, ..none }],
        [none, Faults { jitter: Interval(1), ..none }],
        [Faults { jitter: Interval(1), ..none }, none],
    ];
    for faults in explaining {
        let mut network = line();
        network.links[0].faults = faults;
        let (engine, ending) = overfill(network);
        assert_eq!(ending, Ok(Ending::Limit), "{faults:?}");
        assert!(engine.parts[0].checker.balance.taken.frames > 30, "dropped, and pauses");
    }
}

#[test]
fn faults_that_hold_up_no_pause_on_the_link_of_a_drop_do_not_explain_it() {
    let none = Faults::default();
    let all = Faults { control_loss: 0.5, corruption: 0.01, control_delay: Interval(1), ..none };
    let others = [
        // Less arrives, and the host is told in time.
        (0, [Faults { loss: 0.01, ..none }, Faults { loss: 0.5, ..none }]),
        // The pauses of the host are nothing to the switch.
        (0, [Faults { control_loss: 0.5, control_delay: Interval(1), ..none }, none]),
        // On another link.
        (1, [all, none]),
    ];
    for (link, faults) in others {
        let mut network = line();
        network.links[link].faults = faults;
        let broken = overfill(network).1.unwrap_err();
        let reason = switch::DropReason::HeadroomExceeded;
        assert!(matches!(broken, Broken::LosslessDrop { reason: it, .. } if it == reason), "{broken}");
    }
}

#[test]
fn a_lossless_drop_may_be_asked_for() {
    let mut engine = self::engine(line());
    engine.parts[0].options.tolerate_loss = true;
    inject(&mut engine, (1, 1), 0, &pause(P3, u16::MAX), None);
    for number in 0..200 {
        inject(&mut engine, (0, 0), 1_000 + 100 * number, &headers(3), None);
    }
    assert_eq!(run(&mut engine, 100_000), Ok(Ending::Limit));
}

#[test]
fn what_a_switch_does_not_hold_is_missed_in_its_sums() {
    let mut engine = engine(line());
    inject(&mut engine, (1, 1), 0, &pause(P3, u16::MAX), None);
    inject(&mut engine, (0, 0), 1_500, &headers(3), None);
    assert_eq!(run(&mut engine, 9_000), Ok(Ending::Limit));
    engine.parts[0].switches[0].held.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::Held { .. })));
    engine.parts[0].switches[0].held.frames -= 1;
    engine.parts[0].switches[0].taken.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::UnnamedDrop { .. })));
    engine.parts[0].switches[0].taken.frames -= 1;
    assert_eq!(engine.check_everything(), Ok(()));
}

#[test]
fn what_was_not_sent_and_is_on_no_link_is_missed_in_the_sums() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    engine.parts[0].checker.balance.delivered.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::Conservation { .. })), "delivered, not sent");
    engine.parts[0].checker.balance.sent.frames += 1;
    assert_eq!(engine.check_everything(), Ok(()));
    engine.parts[0].checker.balance.delivered.frames -= 1;
    engine.parts[0].checker.balance.inside.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::Conservation { .. })), "in flight, on no link");
}

/// An engine whose switch has a ledger into which another shard writes: a frame came in there through `ingress`, of
/// which the queues and groups of this one know nothing.
fn with_a_strange_ledger(ingress: u16) -> Engine {
    let mut engine = engine(line());
    let it = &mut engine.parts[0].switches[0];
    let ledger = it.driver.lanes()[0].shared_ledger();
    let mut other = Shard::new(ShardId(0), it.program.clone(), ledger, PortSet::first(2));
    let mut frame = FramePool::default().frame(&headers(3), Bytes(1_082), None);
    frame.came_in_through(PortId(ingress));
    other.ingress(Nanos::ZERO, PortId(ingress), &mut vec![frame], &mut ());
    engine
}

#[test]
fn a_ledger_that_knows_more_than_an_egress_queue_is_found() {
    let broken = with_a_strange_ledger(1).check_everything().unwrap_err();
    let one = Volume { frames: 1, bytes: Bytes(1_082) };
    let (node, port, priority) = (NodeId(2), PortId(0), P3);
    assert_eq!(broken, Broken::Ledger { node, port, priority, queued: Volume::ZERO, ledger: one });
}

#[test]
fn a_ledger_that_knows_more_than_a_priority_group_is_found() {
    let broken = with_a_strange_ledger(0).check_everything().unwrap_err();
    let (node, port, priority) = (NodeId(2), PortId(0), P3);
    assert_eq!(broken, Broken::Group { node, port, priority, group: Bytes::ZERO, ledger: COST });
}

#[test]
fn a_port_that_changes_its_mind_in_silence_is_found() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    assert_eq!(run(&mut engine, 9_000), Ok(Ending::Limit));
    engine.parts[0].switches[0].deadlines[1] = Nanos(50_000);
    assert!(matches!(engine.check_everything(), Err(Broken::Deadline { .. })));
}

#[test]
fn a_switch_that_holds_more_than_it_has_is_found() {
    let mut engine = engine(line());
    engine.parts[0].switches[0].held.bytes = Bytes(1_400_001);
    assert!(matches!(engine.parts[0].check_first_buffer(), Err(Broken::Buffer { .. })));
    engine.parts[0].switches[0].held.bytes = Bytes(1_400_000);
    assert_eq!(engine.parts[0].check_first_buffer(), Ok(()));
}

#[test]
fn a_host_without_a_free_queue_pair_ends_the_run_when_a_flow_is_to_start_there() {
    for node in [0, 1] {
        let options = Options { limit: Nanos(1_000_000), ..Options::default() };
        let mut engine = Engine::new(line(), options);
        while engine.parts[0].stations[node as usize].host.reserve().is_some() {}
        let outcome = engine.run(core::iter::once(flow(Some(1_000))), &mut ()).unwrap();
        let expected = Ending::Exhausted { node: NodeId(node), flow: FlowId(0) };
        assert_eq!((outcome.ending, outcome.flows_started), (expected, 0));
    }
}

/// The bytes of a buffer that a frame of 1,082 bytes costs.
const COST: Bytes = Bytes(1_104);

/// The invariant that `fill` breaks in a switch of these settings, once it has no more than what `shrink` leaves.
fn overfilled(
    settings: Settings,
    fill: impl FnOnce(&mut Engine),
    shrink: impl FnOnce(&mut BufferSettings),
) -> Result<(), Broken> {
    let network = |settings| {
        let mut network = line();
        network.nodes[2] = switch(settings);
        network
    };
    let mut smaller = settings.clone();
    shrink(&mut smaller.buffer);
    for port in &mut smaller.ports {
        if let GroupSettings::Lossless(group) = &mut port.groups[P3.index()] {
            group.xoff = Threshold::Static(smaller.buffer.shared);
            group.xon = Bytes::ZERO;
            group.headroom = smaller.buffer.headroom;
        }
    }
    let mut engine = self::engine(network(settings));
    fill(&mut engine);
    assert_eq!(run(&mut engine, 50_000), Ok(Ending::Limit));
    let check = |engine: &mut Engine| engine.parts[0].check_first_buffer();
    assert_eq!(check(&mut engine), Ok(()));
    let Checker { balance, checks, .. } = engine.parts[0].checker;
    engine.parts[0].checker = self::engine(network(smaller)).parts.remove(0).checker;
    (engine.parts[0].checker.balance, engine.parts[0].checker.checks) = (balance, checks);
    check(&mut engine)
}

#[test]
fn each_pool_of_a_switch_is_held_to_its_own_size() {
    let paused = |count: u64| {
        move |engine: &mut Engine| {
            inject(engine, (1, 1), 0, &pause(P3, u16::MAX), None);
            (0..count).for_each(|number| inject(engine, (0, 0), 1_500 + 100 * number, &headers(3), None));
        }
    };
    let pool = |result| match result {
        Err(Broken::Buffer { node: NodeId(2), pool, held, limit }) => (pool, held, limit),
        other => panic!("{other:?}"),
    };
    let shared = overfilled(patched(&[(0, 1)]), paused(3), |buffer| {
        (buffer.shared, buffer.egress_lossy) = (Bytes(3_311), Bytes(3_311));
    });
    assert_eq!(pool(shared), (Pool::Shared, Bytes(3 * COST.0), Bytes(3_311)));

    // 91 frames cost 100,464 bytes, of which 100,000 are below XOFF.
    let headroom = overfilled(patched(&[(0, 1)]), paused(91), |buffer| buffer.headroom = Bytes(463));
    assert_eq!(pool(headroom), (Pool::Headroom, Bytes(464), Bytes(463)));

    let mut slow = patched(&[(0, 1)]);
    let limit = RateLimit { rate: BitRate::new(8_000).unwrap(), burst: Bytes(1) };
    slow.ports[1].queues[0].rate_limit = Some(limit);
    let lossy = |engine: &mut Engine| {
        (0..4).for_each(|number| inject(engine, (0, 0), 100 * number, &headers(0), None));
    };
    let egress = overfilled(slow, lossy, |buffer| buffer.egress_lossy = Bytes(3_311));
    assert_eq!(pool(egress), (Pool::EgressLossy, Bytes(3 * COST.0), Bytes(3_311)));
}

#[test]
fn a_host_that_does_not_know_of_a_pause_is_found_at_its_link() {
    let options = Options { limit: Nanos(1_000_000), ..Options::default() };
    let mut engine = Engine::new(line(), options);
    let number = engine.numbers[0][0];
    engine.parts[0].directions[number].pauses.hear(Nanos(0), &pause(P3, 1_000), PrioritySet::ALL);
    let broken = engine.run(core::iter::once(flow(Some(1_000))), &mut ()).unwrap_err().what;
    let (node, port, priority) = (NodeId(0), PortId(0), P3);
    let (start, until) = (Nanos(0), Nanos(5_120));
    assert_eq!(broken, Broken::Pause { node, port, priority, start, until });
}

#[test]
fn of_what_arrives_at_one_instant_the_lower_port_comes_first_whatever_the_order_of_links() {
    let mut network = line();
    network.nodes.truncate(2);
    network.nodes.push(switch(patched(&[(0, 2), (1, 3)])));
    network.nodes.push(crate::testing::host(2, 0));
    network.links = vec![link(end(3, 0), end(2, 1)), link(end(0, 0), end(2, 0)), link(end(1, 0), end(2, 2))];
    let engine = engine(network);
    let to: Vec<_> = engine.parts[0].directions.iter().map(|direction| direction.to).collect();
    assert_eq!(to, [end(0, 0), end(1, 0), end(2, 0), end(2, 1), end(2, 2), end(3, 0)]);
    for (number, direction) in engine.parts[0].directions.iter().enumerate() {
        let back = &engine.parts[0].directions[direction.reverse];
        assert_eq!((back.reverse, back.to), (number, direction.from));
    }
}

/// The flows that ended, and the UDP source ports of the data that host 0 sent.
#[derive(Default)]
struct Loop {
    records: Vec<FlowRecord>,
    ports: BTreeSet<[u8; 2]>,
}

impl Observer for Loop {
    fn completed(&mut self, record: &FlowRecord) {
        self.records.push(record.clone());
    }

    fn captured(&mut self, tap: Tap, _: Nanos, headers: &[u8], _: Bytes) {
        if !tap.inbound {
            self.ports.insert([headers[34], headers[35]]);
        }
    }
}

#[test]
fn a_closed_loop_sends_a_message_when_the_previous_one_is_acknowledged_on_one_path() {
    let options = Options { taps: vec![NodeId(0)], limit: Nanos(10_000_000), ..Options::default() };
    let looped = |until| FlowSpec { again_until: Some(Nanos(until)), ..flow(Some(3_000)) };
    let run = |spec: FlowSpec| {
        let mut seen = Loop::default();
        let outcome = Engine::new(line(), options.clone()).run(core::iter::once(spec), &mut seen).unwrap();
        (outcome, seen)
    };
    let (outcome, Loop { records, ports }) = run(looped(50_000));
    let times: Vec<_> = records.iter().map(|record| (record.flow.start.0, record.end.0)).collect();
    // The last bit of an acknowledgement of 62 bytes crosses both links after the message has arrived.
    let back = times[1].0 - times[0].1;
    assert!((2_000..2_100).contains(&back), "{times:?}");
    let period = times[1].0;
    let expected: Vec<_> =
        (0..50_000_u64.div_ceil(period)).map(|n| (n * period, n * period + times[0].1)).collect();
    assert_eq!(times, expected);
    assert!(records.iter().all(|record| record.flow.id == FlowId(0) && record.delivered == 3_000));
    assert_eq!((outcome.flows_started, outcome.flows_ended), (times.len() as u64, times.len() as u64));
    assert_eq!(ports.len(), 1, "its messages have one path");
    assert_eq!(run(looped(0)).1.records.len(), 1, "a loop that is over sends its first message alone");
}

#[test]
fn what_a_part_saw_ahead_of_the_others_is_told_in_the_order_of_turns_and_to_the_end() {
    let options = Options { limit: Nanos(10_000_000), ..Options::default() };
    // The loop lets the parts take turns. One has run ahead before.
    let mut engine = Engine::of_parts(line(), options, vec![0, 1, 0]);
    for at in [10_000, 5_000_000].map(Nanos) {
        engine.parts[1].log.completed(&FlowRecord {
            flow: FlowSpec { id: FlowId(9), source: NodeId(1), destination: NodeId(0), ..flow(Some(1)) },
            end: at,
            acknowledged: at,
            delivered: 1,
            ideal: Interval::ZERO,
            retransmitted: 0,
        });
    }
    let mut seen = Loop::default();
    let looped = FlowSpec { again_until: Some(Nanos(50_000)), ..flow(Some(3_000)) };
    let outcome = engine.run(core::iter::once(looped), &mut seen).unwrap();
    let told: Vec<_> = seen.records.iter().map(|record| record.acknowledged).collect();
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!((told.len() as u64, *told.last().unwrap()), (outcome.flows_ended + 2, Nanos(5_000_000)));
}

#[test]
fn parts_that_no_link_joins_have_the_results_of_one() {
    let mut network = line();
    network.nodes.push(switch(patched(&[(0, 1)])));
    let flows =
        || [0, 20_000].map(|at| FlowSpec { id: FlowId(at as u32), start: Nanos(at), ..flow(Some(9_000)) });
    let run = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let engine = Engine::new(network.clone(), Options { threads, ..Options::default() });
        assert_eq!(engine.parts.len(), threads.get());
        engine.run(flows().into_iter(), &mut ()).unwrap()
    };
    assert_eq!(run(2), run(1));
}
