//! Each invariant can fail, and is then found: frames are put on links by hand, and doctored there.

use super::*;
use crate::frame::Label;
use crate::link::Sent;
use crate::network::{Faults, NetworkSpec};
use crate::testing::{P3, end, flow, line, link, patched, switch};
use endpoint::FlowId;
use switch::Frame;
use units::{Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::pfc;

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

fn pause(quanta: u16) -> [u8; 60] {
    let mut times = [None; Priority::COUNT];
    times[P3.index()] = Some(PauseQuanta(quanta));
    let mut bytes = [0; 60];
    pfc::Frame { source: MacAddress([2, 0, 0, 1, 0, 1]), times }.emit(&mut bytes).unwrap();
    bytes
}

/// A network with a flow under way of which its hosts know nothing.
fn engine(network: NetworkSpec) -> Engine {
    let options = Options { limit: Nanos(100_000_000), ..Options::default() };
    let mut engine = Engine::new(network, options);
    engine.flows.start(flow(None), [0, 1], Interval::ZERO);
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
    let frame = engine.pool.frame(headers, Bytes(1_082), label);
    let number = engine.numbers[link][end];
    let mut volume = Volume::ZERO;
    volume.count(frame.length());
    assert_eq!(engine.directions[number].send(Nanos(start), Nanos(start), frame), Ok(Sent::InFlight));
    engine.checker.balance.sent += volume;
    engine.checker.balance.in_flight += volume;
    engine.tournament.set(number, engine.directions[number].next_arrival());
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
    assert_eq!(engine.checker.balance.delivered.frames, 0);
    assert_eq!(run(&mut engine, 10 + 2 * 1_089), Ok(Ending::Limit));
    assert_eq!(engine.checker.balance.delivered, Volume { frames: 1, bytes: Bytes(1_082) });
    let outcome = engine.outcome(Ending::Limit);
    assert_eq!((outcome.transmissions, outcome.balance.credit()), (1, outcome.balance.debit()));
}

#[test]
fn a_frame_that_vanishes_from_a_link_is_missed_at_the_next_event() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    inject(&mut engine, (0, 0), 500, &headers(3), None);
    let number = engine.numbers[0][0];
    drop(engine.directions[number].steal());
    assert!(matches!(run(&mut engine, 5_000), Err(Broken::Conservation { .. })));
}

#[test]
fn a_frame_from_nowhere_is_noticed() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let extra = engine.pool.frame(&headers(3), Bytes(100), None);
    assert!(matches!(run(&mut engine, 5_000), Err(Broken::Conservation { .. })));
    drop(extra);
}

#[test]
fn a_frame_that_grows_on_its_way_is_noticed() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let number = engine.numbers[0][0];
    let taken = engine.directions[number].steal().unwrap();
    let longer = engine.pool.frame(taken.headers(), Bytes(1_083), None);
    drop(taken);
    engine.directions[number].send(Nanos(2_000), Nanos(2_000), longer).unwrap();
    engine.tournament.set(number, engine.directions[number].next_arrival());
    assert!(matches!(run(&mut engine, 9_000), Err(Broken::Conservation { .. })));
}

#[test]
fn a_frame_that_overtakes_another_one_of_its_flow_is_found_at_its_receiver() {
    let mut engine = engine(line());
    let number = engine.numbers[1][0];
    let labels = [0, 1].map(|_| engine.flows.label(FlowId(0)));
    for (label, start) in labels.into_iter().zip([0, 1_000]) {
        inject(&mut engine, (1, 0), start, &headers(3), label);
    }
    engine.directions[number].swap_last();
    assert_eq!(run(&mut engine, 9_000), Err(Broken::Order { flow: FlowId(0), serial: 1, after: 2 }));
}

#[test]
fn a_sender_that_does_not_know_of_a_pause_is_found_at_its_link() {
    let mut engine = engine(line());
    // The link hears of a pause that the switch never gets.
    let number = engine.numbers[1][0];
    engine.directions[number].pauses.hear(Nanos(0), &pause(1_000), PrioritySet::ALL);
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    let broken = run(&mut engine, 9_000).unwrap_err();
    assert!(matches!(broken, Broken::Pause { start: Nanos(1_089), until: Nanos(5_120), .. }), "{broken}");
}

#[test]
fn frames_of_other_priorities_pass_while_one_is_paused() {
    let mut engine = engine(line());
    inject(&mut engine, (1, 1), 0, &pause(1_000), None);
    inject(&mut engine, (0, 0), 500, &headers(0), None);
    inject(&mut engine, (0, 0), 1_000, &headers(3), None);
    assert_eq!(run(&mut engine, 3_000), Ok(Ending::Limit));
    assert_eq!(engine.checker.balance.delivered.frames, 1, "lossy, and in time");
    // The pause frame of 1082 bytes is there after 1089 ns.
    let resumed = 1_089 + 5_120;
    assert_eq!(run(&mut engine, resumed + 1_089 - 1), Ok(Ending::Limit));
    assert_eq!(engine.checker.balance.delivered.frames, 1);
    assert_eq!(run(&mut engine, resumed + 1_089), Ok(Ending::Limit));
    assert_eq!(engine.checker.balance.delivered.frames, 2, "on the nanosecond");
    assert!(engine.checker.checks.pause > 0);
}

/// A neighbour that sends in spite of pauses, into a switch that can't send on.
fn overfill(network: NetworkSpec) -> (Engine, Result<Ending, Broken>) {
    let mut engine = engine(network);
    engine.options.stall = Interval(u64::MAX);
    inject(&mut engine, (1, 1), 0, &pause(u16::MAX), None);
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
fn a_lossless_drop_may_be_explained_by_a_faulty_link_or_be_asked_for() {
    let mut network = line();
    network.links[1].faults[0] = Faults { control_loss: 0.5, ..Faults::default() };
    let (engine, ending) = overfill(network);
    assert_eq!(ending, Ok(Ending::Limit));
    assert!(engine.checker.balance.taken.frames > 30, "dropped, and pauses");

    let mut engine = self::engine(line());
    engine.options.tolerate_loss = true;
    inject(&mut engine, (1, 1), 0, &pause(u16::MAX), None);
    for number in 0..200 {
        inject(&mut engine, (0, 0), 1_000 + 100 * number, &headers(3), None);
    }
    assert_eq!(run(&mut engine, 100_000), Ok(Ending::Limit));
}

#[test]
fn what_a_switch_does_not_hold_is_missed_in_its_sums() {
    let mut engine = engine(line());
    inject(&mut engine, (1, 1), 0, &pause(u16::MAX), None);
    inject(&mut engine, (0, 0), 1_500, &headers(3), None);
    assert_eq!(run(&mut engine, 9_000), Ok(Ending::Limit));
    engine.switches[0].held.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::Held { .. })));
    engine.switches[0].held.frames -= 1;
    engine.switches[0].taken.frames += 1;
    assert!(matches!(engine.check_everything(), Err(Broken::UnnamedDrop { .. })));
    engine.switches[0].taken.frames -= 1;
    assert_eq!(engine.check_everything(), Ok(()));
}

#[test]
fn a_port_that_changes_its_mind_in_silence_is_found() {
    let mut engine = engine(line());
    inject(&mut engine, (0, 0), 0, &headers(3), None);
    assert_eq!(run(&mut engine, 9_000), Ok(Ending::Limit));
    engine.switches[0].deadlines[1] = Nanos(50_000);
    assert!(matches!(engine.check_everything(), Err(Broken::Deadline { .. })));
}

#[test]
fn a_switch_that_holds_more_than_it_has_is_found() {
    let mut engine = engine(line());
    engine.switches[0].held.bytes = Bytes(1_400_001);
    assert!(matches!(
        engine.checker.check_buffer(0, &engine.switches[0], Bytes::ZERO),
        Err(Broken::Buffer { .. })
    ));
    engine.switches[0].held.bytes = Bytes(1_400_000);
    assert_eq!(engine.checker.check_buffer(0, &engine.switches[0], Bytes::ZERO), Ok(()));
}

#[test]
fn of_what_arrives_at_one_instant_the_lower_port_comes_first_whatever_the_order_of_links() {
    let mut network = line();
    network.nodes.truncate(2);
    network.nodes.push(switch(patched(&[(0, 2), (1, 3)])));
    network.nodes.push(crate::testing::host(2, 0));
    network.links = vec![link(end(3, 0), end(2, 1)), link(end(0, 0), end(2, 0)), link(end(1, 0), end(2, 2))];
    let engine = engine(network);
    let to: Vec<_> = engine.directions.iter().map(|direction| direction.to).collect();
    assert_eq!(to, [end(0, 0), end(1, 0), end(2, 0), end(2, 1), end(2, 2), end(3, 0)]);
    for (number, direction) in engine.directions.iter().enumerate() {
        let back = &engine.directions[direction.reverse];
        assert_eq!((back.reverse, back.to), (number, direction.from));
    }
}
