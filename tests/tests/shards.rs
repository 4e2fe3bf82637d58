//! The same switch on one core and on several: the same frames leave, each queue keeps its order,
//! and nothing is lost on the way between shards.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::bench::Recorder;
use conformance::settings::{bridged, lossless, routed};
use conformance::shards::by_priority;
use conformance::{Flow, Shards, TestFrame, Testbench, cost};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::program::{LossyQueue, Threshold};
use switch::{DropReason, PauseCause, Program, Volume};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet};

const PORTS: u16 = 8;

/// A burst of traffic.
#[derive(Clone, Debug)]
struct Burst {
    gap: u64,
    from: u16,
    frames: Vec<(u16, u8, usize)>,
    pause: Option<(u16, u8, u16)>,
}

fn burst() -> impl Strategy<Value = Burst> {
    let frame = (0..PORTS, prop_oneof![Just(3), Just(1), 0_u8..8], 60_usize..2_000);
    let pause = proptest::option::of((0..PORTS, any::<u8>(), 0_u16..2_000));
    (0_u64..2_000, 0..PORTS, proptest::collection::vec(frame, 0..12), pause)
        .prop_map(|(gap, from, frames, pause)| Burst { gap, from, frames, pause })
}

fn frames(burst: &Burst, label: &mut u64) -> Vec<TestFrame> {
    let frame = |(to, priority, length): &(u16, u8, usize)| {
        *label += 1;
        let flow = Flow::new(PortId(burst.from), PortId(*to)).at(Priority::from_low_bits(*priority));
        flow.headers(*length).labelled(*label)
    };
    burst.frames.iter().map(frame).collect()
}

fn pause_frame(priorities: u8, quanta: u16) -> TestFrame {
    TestFrame::pfc(PrioritySet::from_bits(priorities), PauseQuanta(quanta))
}

/// The order of labels within each queue, looked at from one ingress port: frames of different
/// ports may overtake each other on their way between shards, frames of one port never.
fn per_flow(queues: &BTreeMap<u8, Vec<u64>>, ingress: &BTreeMap<u64, u16>) -> BTreeMap<(u8, u16), Vec<u64>> {
    let mut flows: BTreeMap<(u8, u16), Vec<u64>> = BTreeMap::new();
    for (priority, labels) in queues {
        for label in labels {
            flows.entry((*priority, ingress[label])).or_default().push(*label);
        }
    }
    flows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn one_two_and_four_shards_send_the_same_frames_in_the_same_order(
        bursts in proptest::collection::vec(burst(), 1..60),
    ) {
        let mut bench = Testbench::new(routed(PORTS));
        let mut several: Vec<_> = [1, 2, 4].map(|count| Shards::new(routed(PORTS), count)).into();
        let (mut label, mut ingress) = (0, BTreeMap::new());
        for burst in &bursts {
            let frames = frames(burst, &mut label);
            ingress.extend(frames.iter().map(|frame| (frame.label, burst.from)));
            bench.inject(PortId(burst.from), frames.clone());
            several.iter_mut().for_each(|shards| shards.inject(PortId(burst.from), frames.clone()));
            if let Some((port, priorities, quanta)) = burst.pause {
                bench.inject(PortId(port), [pause_frame(priorities, quanta)]);
                several.iter_mut().for_each(|shards| shards.inject(PortId(port), [pause_frame(priorities, quanta)]));
            }
            bench.run_for(Interval(burst.gap));
            several.iter_mut().for_each(|shards| shards.run_until(bench.now()));
            several.iter().for_each(Shards::assert_conserved);
        }
        bench.run_dry();
        prop_assert_eq!(bench.dropped_in_all(), Volume::ZERO);
        for shards in &mut several {
            shards.run_dry();
            shards.assert_conserved();
            for port in bench.ports() {
                let alone = per_flow(&by_priority(bench.sent(port).iter()), &ingress);
                prop_assert_eq!(&per_flow(&shards.labels(port), &ingress), &alone);
            }
            for shard in &shards.shards {
                let pools = shard.pools();
                prop_assert_eq!((pools.shared.held, pools.headroom.held), (Bytes::ZERO, Bytes::ZERO));
            }
        }
    }

    #[test]
    fn shards_that_run_out_of_buffer_lose_nothing_unnamed_and_settle_all_accounts(
        bursts in proptest::collection::vec(burst(), 20..120),
        count in 1_u16..5,
    ) {
        let mut settings = routed(PORTS);
        settings.buffer.shared = Bytes(60_000);
        settings.buffer.headroom = Bytes(20_000);
        settings.buffer.egress_lossy = Bytes(30_000);
        for port in &mut settings.ports {
            port.groups[3] = lossless(15_000, 5_000, 10_000);
            port.groups[4] = lossless(15_000, 15_000, 20_000);
            port.queues[1].lossy = LossyQueue { reserved: Bytes(500), threshold: Threshold::Static(Bytes(8_000)) };
        }
        let mut shards = Shards::new(settings, count);
        let (mut label, mut arrived) = (0, 0);
        for burst in &bursts {
            let frames = frames(burst, &mut label);
            arrived += frames.len() as u64;
            shards.inject(PortId(burst.from), frames);
            if let Some((port, priorities, quanta)) = burst.pause {
                shards.inject(PortId(port), [pause_frame(priorities, quanta)]);
            }
            shards.run_until(shards.now + Interval(burst.gap / 20));
            shards.assert_conserved();
        }
        shards.run_dry();
        shards.assert_conserved();
        let left: usize = shards.ports().map(|port| shards.labels(port).values().map(Vec::len).sum::<usize>()).sum();
        let dropped = shards.dropped();
        let lost: u64 = dropped.values().map(|volume| volume.frames).sum();
        prop_assert_eq!(left as u64 + lost, arrived);
        for port in shards.ports() {
            for priority in Priority::all() {
                let group = shards.owner(port).group(shards.now, port, priority);
                prop_assert_eq!((group.occupancy, group.paused), (Bytes::ZERO, None), "{} {}", port, priority);
                if group.lossless {
                    let lost = &shards.owner(port).ingress_counters(port).dropped[priority.index()];
                    let named = lost[DropReason::HeadroomExceeded.index()] + lost[DropReason::HeadroomPoolFull.index()];
                    prop_assert_eq!(lost.iter().copied().sum::<Volume>(), named);
                }
            }
        }
    }
}

#[test]
fn a_group_is_resumed_by_what_leaves_through_a_port_of_another_shard() {
    let mut shards = Shards::new(routed(2), 2);
    let (a, b) = (PortId(0), PortId(1));
    let p3 = Priority::from_low_bits(3);
    shards.inject(b, [pause_frame(0b1000, u16::MAX)]);
    shards.inject(a, Flow::new(a, b).at(p3).udps(100, 1_000));
    shards.run_until(Nanos(1_000));
    assert_eq!(shards.owner(a).group(shards.now, a, p3).paused, Some(PauseCause::Threshold));
    assert_eq!(shards.sent[0].len(), 1, "XOFF");
    shards.inject(b, [pause_frame(0b1000, 0)]);
    shards.run_dry();
    assert_eq!(shards.owner(a).group(shards.now, a, p3).paused, None);
    let last = shards.sent[0].last().unwrap();
    assert_eq!(last.pfc().unwrap()[3], Some(PauseQuanta::ZERO), "XON");
    shards.assert_conserved();
}

#[test]
fn frames_on_their_way_between_shards_are_charged_already() {
    let mut shards = Shards::new(routed(2), 2);
    let (a, b) = (PortId(0), PortId(1));
    let p3 = Priority::from_low_bits(3);
    shards.inject(a, Flow::new(a, b).at(p3).udps(10, 1_000));
    assert_eq!(shards.shards[0].ledger().occupancy(a, b, p3).volume.bytes, Bytes(10_000));
    assert_eq!(shards.shards[1].ledger().egress_queue(b, p3).frames, 10);
    assert_eq!(shards.shards[1].queue(shards.now, b, p3).waiting, Volume::ZERO);
    shards.run_dry();
    shards.assert_conserved();
}

#[test]
fn a_bridge_of_several_shards_delivers_every_copy_of_a_flood() {
    for count in [1, 2, 4, 8] {
        let mut shards = Shards::new(bridged(PORTS), count);
        for from in shards.ports() {
            shards.inject(from, [Flow::new(from, PortId(100)).bridged().udp(100).labelled(from.0.into())]);
        }
        shards.run_dry();
        shards.assert_conserved();
        for port in shards.ports() {
            let mut labels = shards.labels(port).remove(&0).unwrap();
            labels.sort_unstable();
            let others: Vec<u64> = (0..8).filter(|label| *label != u64::from(port.0)).collect();
            assert_eq!(labels, others);
        }
    }
}

#[test]
fn a_shard_of_a_bridge_learns_from_what_is_handed_over_to_it() {
    let (one, other, third) = (PortId(0), PortId(1), PortId(2));
    let mut shards = Shards::new(bridged(3), 3);
    // No one knows the receiver, so all hear of the sender.
    shards.inject(one, [Flow::new(one, other).bridged().udp(100)]);
    shards.run_dry();
    shards.inject(other, [Flow::new(other, one).bridged().udp(100)]);
    shards.inject(third, [Flow::new(third, one).bridged().udp(100)]);
    shards.run_dry();
    let sent = [one, other, third].map(|port| shards.sent[port.index()].len());
    assert_eq!(sent, [2, 1, 1], "the answers are not flooded");
}

#[test]
fn shards_install_one_after_the_other_with_frames_in_between() {
    let mut shards = Shards::new(routed(4), 2);
    let (a, b) = (PortId(0), PortId(1));
    let p3 = Priority::from_low_bits(3);
    shards.inject(a, Flow::new(a, b).at(p3).udps(60, 1_000));
    let mut settings = routed(4);
    settings.ports[0].groups[3] = lossless(30_000, 10_000, 50_000);
    settings.ports[1].queues[3].scheduling = switch::program::Scheduling::Weighted(9);
    let program = Arc::new(Program::new(settings).unwrap());
    shards.shards[0].install(shards.now, program.clone()).unwrap();
    shards.inject(
        a,
        Flow::new(a, b).at(p3).udps(20, 1_000).map(|frame| {
            let label = frame.label + 60;
            frame.labelled(label)
        }),
    );
    shards.turn();
    shards.shards[1].install(shards.now, program).unwrap();
    shards.run_dry();
    shards.assert_conserved();
    assert_eq!(shards.labels(b)[&3], (0..80).collect::<Vec<_>>());
    assert!(shards.dropped().is_empty());
}

/// Injects all of `frames` at `port`, and hands them over before too many lossy ones wait for that.
fn inject_and_hand_over(shards: &mut Shards, port: PortId, frames: impl Iterator<Item = TestFrame>) {
    let mut frames = frames.peekable();
    while frames.peek().is_some() {
        shards.inject(port, frames.by_ref().take(1_000));
        shards.hand_over(port.index());
    }
}

#[test]
fn a_shard_that_only_looks_gives_the_pool_back_to_the_others() {
    let mut settings = routed(2);
    let all = settings.buffer.shared;
    settings.buffer.egress_lossy = all;
    for port in &mut settings.ports {
        port.queues[0].lossy = LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(all) };
    }
    let frames = all.0 / cost(1_000);
    let mut shards = Shards::new(settings, 2);
    let (a, b) = (PortId(0), PortId(1));
    inject_and_hand_over(&mut shards, a, Flow::new(a, b).udps(frames, 1_000));
    let mut arrived = core::mem::take(&mut shards.rings[1]);
    shards.shards[1].accept(shards.now, &mut arrived);
    while shards.shards[1].port_deadline(b) != Nanos::NEVER {
        shards.now = shards.now.max(shards.shards[1].port_deadline(b));
        shards.shards[1].egress(shards.now, b, &mut Recorder::new(&mut shards.sent[1], usize::MAX));
    }
    // The first shard has nothing to accept and nothing to send.
    shards.shards[0].look_at_other_shards();
    inject_and_hand_over(&mut shards, b, Flow::new(b, a).udps(frames, 1_000));
    assert!(shards.dropped().is_empty(), "the pool is free: {:?}", shards.dropped());
}
