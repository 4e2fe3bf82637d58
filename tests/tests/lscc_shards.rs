//! LSCC where the long link and the data center are ports of different shards: what one shard admits is
//! limited by another, and its CNPs find their way back.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{CNP_INTERVAL, answer, feedback, lscc, lscc_of, nonce_in, rate_in};
use conformance::settings::{host_mac, lossless, port_mac, routed};
use conformance::{A, B, C, Connection, D, Flow, P3, Sent, Shards};
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::program::Settings;
use switch::{DataFlows, LimiterCounters, Program, ResolverCounters};
use units::{BitRate, Interval, Nanos, PortId, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::Ecn;
use wire::roce::{bth, icrc};
use wire::{ethernet, ipv4};

const SLOW: BitRate = BitRate::gigabits(1);
const PAYLOAD: usize = 4_096;
const STEP: Interval = Interval::from_micros(1);
/// Length of a run, in steps. Responses count when a round trip has certainly passed: after some 3,000.
const STEPS: u32 = 9_000;

/// Four ports of a router; the long link is behind B.
fn settings() -> Settings {
    let mut settings = routed(4);
    settings.ports[B.index()].notifiers.lscc = Some(lscc(settings.ports[B.index()].rate));
    settings
}

fn connection(from: PortId, number: u32) -> Connection {
    Connection::new(Flow::new(from, B).at(P3).ecn(Ecn::Ect0), number)
}

/// Out to the long link: three whose making is seen, one that is found by its numbers, and a stranger, which
/// is never answered.
fn connections() -> [Connection; 5] {
    [connection(A, 0), connection(A, 1), connection(C, 2), connection(D, 3), connection(C, 4)]
}

const MANAGED: usize = 3;
const STRANGER: usize = 4;

/// The outcome of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Direct CNPs, by the port through which they left and the queue pair.
    cnps: BTreeMap<(PortId, u32), usize>,
    /// The rates that were told.
    told: Vec<BitRate>,
    /// Which packets left with a mark.
    marked: Vec<u64>,
    limiter: LimiterCounters,
    resolver: ResolverCounters,
    data: DataFlows,
    longest_pseudo_queue: WireBytes,
}

/// The far end is slow, and answers the challenge of whoever does not believe it yet.
fn introduce(shards: &mut Shards) {
    shards.inject(B, [feedback(1, SLOW)]);
    shards.run_until(shards.now);
    let nonce = shards.sent[B.index()].iter().find_map(|sent| nonce_in(&sent.frame)).unwrap();
    shards.inject(B, [answer(nonce, 1, SLOW)]);
}

/// The same traffic through `count` shards. Halfway the shards are given `changed` settings, one after the
/// other.
fn run(count: u16, changed: Option<&Settings>) -> Outcome {
    let mut shards = Shards::new(settings(), count);
    let connections = connections();
    introduce(&mut shards);
    for connection in &connections[..MANAGED] {
        shards.inject(connection.flow.from, [connection.request()]);
        shards.run_until(shards.now + STEP);
        shards.inject(B, [connection.reply()]);
        shards.run_until(shards.now + STEP);
    }
    let incoming = Connection::new(Flow::new(B, A).at(P3).ecn(Ecn::Ect0), 7);
    for step in 0..STEPS {
        let (psn, index) = (step / connections.len() as u32, step as usize % connections.len());
        if step % 100 == 0 {
            shards.inject(B, [feedback(2 + u64::from(step), SLOW)]);
        }
        if let Some(changed) = changed.filter(|_| step == STEPS / 2) {
            install(&mut shards, changed);
        }
        shards.inject(B, [incoming.data(step, PAYLOAD)]);
        let from = connections[index].flow.from;
        shards.inject(from, [connections[index].data(psn, PAYLOAD).labelled(step.into())]);
        shards.run_until(shards.now + STEP);
        if index != STRANGER {
            shards.inject(B, [connections[index].acknowledge(psn)]);
        }
    }
    shards.run_until(shards.now + Interval::from_millis(3));
    shards.assert_conserved();
    assert!(shards.dropped().is_empty(), "{:?}", shards.dropped());
    outcome(&shards)
}

fn install(shards: &mut Shards, changed: &Settings) {
    let program = Arc::new(Program::new(changed.clone()).unwrap());
    for shard in 0..shards.shards.len() {
        shards.shards[shard].install(shards.now, program.clone()).unwrap();
        shards.turn();
    }
}

fn outcome(shards: &Shards) -> Outcome {
    let mut cnps = BTreeMap::new();
    for port in shards.ports().filter(|port| *port != B) {
        for frame in own_frames(shards, port) {
            assert!(icrc::verify(&frame[14..]).unwrap());
            *cnps.entry((port, queue_pair(frame))).or_default() += 1;
        }
    }
    let told = shards.sent[B.index()].iter().filter_map(|sent| rate_in(&sent.frame)).collect();
    let left = shards.sent[B.index()].iter().filter(|sent| !sent.control);
    let mut marked: Vec<u64> =
        left.filter(|sent| ecn(sent) == Ecn::Ce).map(|sent| sent.frame.label).collect();
    marked.sort_unstable();
    let (report, flows) = (shards.owner(B).notifiers(B).lscc.unwrap(), shards.owner(B).flows(B).unwrap());
    Outcome {
        cnps,
        told,
        marked,
        limiter: report.limiter,
        resolver: flows.resolver,
        data: flows.data,
        longest_pseudo_queue: report.longest_pseudo_queue,
    }
}

/// Control frames other than PFC that left through `port`.
fn own_frames(shards: &Shards, port: PortId) -> impl Iterator<Item = &[u8]> {
    let own = shards.sent[port.index()].iter().filter(|sent| sent.control && sent.pfc().is_none());
    own.map(|sent| &sent.frame.bytes[..])
}

fn queue_pair(cnp: &[u8]) -> u32 {
    bth::View::parse(&cnp[42..]).unwrap().destination_qp().number()
}

fn ecn(sent: &Sent) -> Ecn {
    ipv4::View::parse(&sent.frame.bytes[14..]).unwrap().ecn()
}

#[test]
fn two_and_four_shards_say_what_one_says() {
    let alone = run(1, None);
    assert_eq!(alone.data, DataFlows { resolved: 4, unresolved: 2 });
    assert_eq!((alone.resolver.resolved_by_cm, alone.resolver.resolved_by_psn), (3, 1));
    let told: Vec<_> = alone.cnps.keys().copied().collect();
    let sender = |index: usize| (connections()[index].flow.from, connections()[index].source_qp.number());
    assert_eq!(told, [0, 1, 2, 3].map(sender));
    let most = (STEPS as u64 * STEP.0 / CNP_INTERVAL.0) as usize;
    assert!(alone.cnps.values().all(|count| (most / 2..=most).contains(count)), "{:?}", alone.cnps);
    // In each interval each of five flows is told or marked.
    let noticed = alone.cnps.values().sum::<usize>() + alone.marked.len();
    assert!((5 * most - 5..=5 * most).contains(&noticed), "{noticed} of {}", 5 * most);
    assert_eq!(alone.told.len(), 102);
    for count in [2, 4] {
        assert_eq!(run(count, None), alone, "{count} shards");
    }
}

#[test]
fn settings_that_change_on_the_way_change_the_same_on_all_shards() {
    let mut changed = settings();
    lscc_of(&mut changed).limiting.cnp_interval = CNP_INTERVAL * 4;
    lscc_of(&mut changed).limiting.reference = WireBytes(40_000);
    let alone = run(1, Some(&changed));
    let unchanged = run(1, None);
    assert!(alone.limiter.direct_cnps < unchanged.limiter.direct_cnps * 3 / 4);
    for count in [2, 4] {
        assert_eq!(run(count, Some(&changed)), alone, "{count} shards");
    }
}

#[test]
fn what_another_shard_admitted_is_limited_when_it_is_accepted() {
    let mut shards = Shards::new(settings(), 2);
    introduce(&mut shards);
    let frames: Vec<_> = (0..10).map(|psn| connection(A, 0).data(psn, PAYLOAD)).collect();
    let bytes: u64 = frames.iter().map(|frame| WireBytes::of_frame(units::Bytes(frame.length)).0).sum();
    shards.inject(A, frames);
    shards.hand_over(0);
    let waiting = |shards: &Shards| shards.owner(B).notifiers(B).lscc.unwrap().pseudo_queue;
    assert_eq!(waiting(&shards), WireBytes(0), "it is on its way");
    assert_eq!(shards.rings[1].len(), 10);
    shards.turn();
    assert_eq!(waiting(&shards), WireBytes(bytes));
    assert_eq!(shards.owner(B).flows(B).unwrap().known, 1);
    assert!(shards.owner(A).notifiers(B).lscc.is_none(), "the limiter is in the shard of its port alone");
    shards.run_dry();
    shards.assert_conserved();
}

#[test]
fn what_is_on_its_way_when_lscc_goes_is_neither_limited_nor_lost() {
    let mut shards = Shards::new(settings(), 2);
    introduce(&mut shards);
    let frames: Vec<_> = (0..10).map(|psn| connection(A, 0).data(psn, PAYLOAD)).collect();
    shards.inject(A, frames);
    shards.hand_over(0);
    install(&mut shards, &routed(4));
    assert!(shards.owner(B).notifiers(B).lscc.is_none());
    shards.run_until(Nanos(1_000_000));
    shards.assert_conserved();
    assert_eq!(shards.labels(B).values().map(Vec::len).sum::<usize>(), 10);
    assert_eq!(own_frames(&shards, A).count(), 0);
}

/// The Ethernet addresses of the first direct CNP to a sender behind A, from where to where.
fn addresses(v6: bool, count: u16) -> (MacAddress, MacAddress) {
    let mut shards = Shards::new(settings(), count);
    let mut connection = connection(A, 0);
    connection.flow.v6 = v6;
    introduce(&mut shards);
    shards.inject(A, [connection.request()]);
    shards.run_until(Nanos(1_000));
    shards.inject(B, [connection.reply()]);
    shards.run_until(Nanos(2_000));
    shards.inject(A, (0..10).map(|psn| connection.data(psn, PAYLOAD)));
    shards.run_until(Nanos(200_000));
    let link = ethernet::View::parse(own_frames(&shards, A).next().unwrap()).unwrap();
    (link.source(), link.destination())
}

#[test]
fn a_router_sends_direct_cnps_from_the_port_of_the_data_center_to_its_neighbour_there() {
    for (v6, count) in [(false, 1), (true, 1), (false, 2)] {
        assert_eq!(addresses(v6, count), (port_mac(A), host_mac(A)), "IPv6 {v6}, {count} shards");
    }
}

#[test]
fn more_flows_than_another_shards_port_can_tell_at_once_are_all_told() {
    let connections: Vec<_> = (0..600).map(|number| connection(A, number)).collect();
    let mut settings = settings();
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    for port in &mut settings.ports {
        port.groups[P3.index()] = lossless(5_000_000, 1_000_000, 50_000);
    }
    lscc_of(&mut settings).limiting.flows = 1_200;
    let mut shards = Shards::new(settings, 2);
    introduce(&mut shards);
    for connection in &connections {
        shards.inject(A, [connection.request()]);
        shards.run_until(shards.now + STEP);
        shards.inject(B, [connection.reply()]);
        shards.run_until(shards.now + STEP * 4);
    }
    shards.inject(B, [feedback(2, SLOW)]);
    shards.inject(A, connections.iter().map(|connection| connection.data(0, 64)));
    shards.run_until(shards.now + STEP * 2_000);
    let pairs = own_frames(&shards, A).fold(BTreeMap::new(), |mut pairs: BTreeMap<_, usize>, frame| {
        *pairs.entry(bth::View::parse(&frame[42..]).unwrap().destination_qp().number()).or_default() += 1;
        pairs
    });
    assert_eq!((pairs.len(), pairs.values().max()), (600, Some(&1)));
}
