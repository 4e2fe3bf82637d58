//! Frames that come in: copies, drops, control frames, and memory that runs low.

use super::*;
use crate::flow_control::{Directive, PauseCause};
use crate::ledger::Volume;
use crate::program::{Bifrost, FlowControl, VirtualIncoming};
use crate::reason::{Consumed, DropReason};
use core::num::NonZeroU32;
use units::{Interval, WireBytes};

const C: PortId = PortId(2);
/// A frame of 64 cells.
const LENGTH: u64 = 1_000;

fn bench() -> Bench {
    Bench::new((0..3).map(|number| port(number, &[])).collect())
}

fn frame(to: PortId, priority: Priority) -> Routed {
    Routed::new(to, priority, priority.into(), LENGTH)
}

impl Bench {
    fn waiting(&self, port: PortId, priority: Priority) -> u64 {
        self.fabric.egress[port.index()].queue(priority.into()).waiting().frames
    }

    /// Frames of `priority` dropped at ingress of port A, by reason, where there are any.
    fn dropped(&self, priority: Priority) -> Vec<(DropReason, u64)> {
        let dropped = self.fabric.ingress[A.index()].counters.dropped[priority.index()];
        let each = DropReason::ALL.map(|reason| (reason, dropped[reason.index()].frames));
        each.into_iter().filter(|(_, frames)| *frames > 0).collect()
    }

    fn occupancy(&self, priority: Priority) -> u64 {
        self.fabric.ingress[A.index()].groups[priority.index()].occupancy().0
    }

    fn cause(&self, port: PortId, priority: Priority) -> Option<PauseCause> {
        self.fabric.ingress[port.index()].pauses.cause(priority)
    }

    fn consumed(&self, kind: Consumed) -> u64 {
        self.fabric.ingress[A.index()].counters.consumed[kind.index()].frames
    }
}

#[test]
fn copies_of_a_flooded_lossless_frame_wait_in_its_queues_and_all_but_one_are_charged_to_a_lossy_group() {
    let mut bench = Bench::new((0..3).map(|number| port(number, &[P3])).collect());
    let flooded = Routed { queue: QueueId::from_low_bits(8), ..frame(B, P3) };
    bench.inject_with(A, vec![flooded; 2], false, |_| Verdict::Flood);
    assert_eq!([A, B, C].map(|port| bench.waiting(port, P3)), [0, 2, 2]);
    let best_effort = Priority::from_low_bits(0);
    let counters = &bench.fabric.ingress[A.index()].counters;
    assert_eq!((counters.received[3].frames, counters.copies[0].frames), (2, 2));
    assert_eq!([P3, best_effort].map(|priority| bench.occupancy(priority)), [2 * 1_024; 2]);

    let mut alone = Bench::new(vec![port(0, &[])]);
    alone.inject_with(A, vec![frame(B, P3)], false, |_| Verdict::Flood);
    assert_eq!(alone.dropped(P3), [(DropReason::NotConnected, 1)]);
}

#[test]
fn a_port_takes_frames_up_to_its_longest_however_they_come() {
    let too_long = Routed { length: LENGTH + 1, ..frame(B, P3) };
    // In a run, alone, and where the group has no room for a run.
    let ways = [(1, false, false), (0, true, false), (0, false, true)];
    for (limited, (before, lone, memory_low)) in
        [A, B].into_iter().flat_map(|port| ways.map(|way| (port, way)))
    {
        let mut ports: Vec<_> = (0..2).map(|number| port(number, &[])).collect();
        ports[limited.index()].max_frame = Bytes(LENGTH);
        let mut bench = Bench::new(ports);
        bench.inject(A, vec![frame(B, P3); before], lone);
        bench.fabric.set_memory_low(memory_low);
        let sent = bench.inject(A, vec![frame(B, P3)], lone).len() as u64;
        assert_eq!(sent, u64::from(lone), "nothing is in its way");
        bench.inject(A, vec![too_long.clone()], lone);
        bench.inject(A, vec![too_long.clone(), frame(B, P3)], lone);
        assert_eq!(bench.waiting(B, P3) + sent, before as u64 + 2);
        assert_eq!(bench.dropped(P3), [(DropReason::Oversize, 2)]);
    }
}

/// Linux lets the tag of a frame go beyond the MTU, and nothing else.
#[test]
fn a_device_of_a_shorter_mtu_limits_what_leaves_and_has_room_for_a_tag_beyond_it() {
    let ports = |device_mtu| {
        let mut ports: Vec<_> = (0..2).map(|number| port(number, &[])).collect();
        ports[B.index()].device_mtu = device_mtu;
        ports
    };
    let of = |length, ether_type: [u8; 2]| {
        let mut frame = Routed { length, ..frame(B, P3) };
        frame.bytes[12..14].copy_from_slice(&ether_type);
        frame
    };
    let (vlan, service_vlan, opaque) = ([0x81, 0x00], [0x88, 0xa8], [0x88, 0xb5]);
    let frames =
        [(0, vlan), (4, vlan), (5, vlan), (0, service_vlan), (1, service_vlan), (0, opaque), (1, opaque)];
    let left = [true, true, false, true, false, true, false];
    // In a burst, and alone.
    for burst in [1, frames.len()] {
        let mut bench = Bench::new(ports(None));
        bench.install(ports(Some(Bytes(LENGTH - 14))));
        let frames = frames.map(|(more, ether_type)| of(LENGTH + more, ether_type));
        let mut sent: Vec<_> =
            frames.chunks(burst).flat_map(|chunk| bench.inject(A, chunk.to_vec(), true)).collect();
        for _ in frames.iter() {
            bench.now += Interval::from_millis(1);
            sent.extend(bench.egress(B, usize::MAX));
        }
        let has_left = frames.each_ref().map(|frame| sent.contains(frame));
        assert_eq!(has_left, left, "{burst}");
        let ingress = &bench.fabric.ingress[A.index()];
        let dropped = [P0, P3]
            .map(|priority| ingress.counters.dropped[priority.index()][DropReason::Oversize.index()].frames);
        assert_eq!(dropped.iter().sum::<u64>(), 3);
    }
}

#[test]
fn a_frame_that_is_dropped_at_egress_leaves_its_group_at_once() {
    let mut ports: Vec<_> = (0..2).map(|number| port(number, &[])).collect();
    ports[B.index()].queues[0].lossy.threshold = Threshold::Static(Bytes(2 * 1_024));
    for burst in [1, 5] {
        let mut bench = Bench::new(ports.clone());
        (0..5 / burst).for_each(|_| drop(bench.inject(A, vec![frame(B, P0); burst], false)));
        assert_eq!((bench.waiting(B, P0), bench.occupancy(P0)), (2, 2 * 1_024));
        let dropped = bench.fabric.egress[B.index()].queue(P0.into()).dropped;
        assert_eq!(
            dropped[DropReason::QueueThreshold.index()],
            Volume { frames: 3, bytes: Bytes(3 * LENGTH) }
        );
        assert_eq!(bench.fabric.ledger.discarded(A, B, P0).frames, 3);
    }
}

#[test]
fn low_memory_pauses_lossless_priorities_of_all_ports_until_it_is_over() {
    let mut bench = bench();
    bench.fabric.take_changed();
    bench.fabric.set_memory_low(false);
    assert!(!bench.fabric.has_changed(), "it was not low");
    bench.fabric.egress[A.index()].gate.occupy(Nanos(0), Bytes(976));
    bench.fabric.set_memory_low(true);
    let low = Some(PauseCause::MemoryLow);
    for port in [A, B, C] {
        assert_eq!([P0, P3, P4].map(|priority| bench.cause(port, priority)), [None, low, low]);
    }
    assert_eq!(bench.fabric.take_changed().iter().count(), 3);
    // The XOFF waits for the link like any frame.
    assert_eq!((bench.fabric.port_deadline(A), bench.fabric.port_deadline(B)), (Nanos(1_000), Nanos(0)));
    assert_eq!(bench.fabric.next_deadline(), Nanos(0));

    bench.inject(A, vec![frame(C, P0), frame(C, P3)], false);
    assert_eq!((bench.waiting(C, P0), bench.waiting(C, P3)), (0, 1), "lossless frames are still taken");
    assert_eq!(bench.dropped(P0), [(DropReason::MemoryLow, 1)]);
    for port in [B, C] {
        bench.egress(port, 0);
    }
    assert_eq!(bench.fabric.egress[B.index()].control.frames, 1, "an XOFF was sent");
    bench.fabric.set_memory_low(false);
    assert_eq!([A, B, C].map(|port| bench.cause(port, P4)), [None; 3]);
    assert_eq!(bench.fabric.port_deadline(B), Nanos(84), "an XON, when the XOFF has left");
}

#[test]
fn a_deep_ring_pauses_its_port_alone_whose_lossy_frames_end_there_until_it_is_over() {
    for lone in [false, true] {
        let mut bench = bench();
        bench.fabric.set_ring_deep(A, true);
        let ring = Some(PauseCause::ReceiveRing);
        assert_eq!([A, B].map(|port| bench.cause(port, P3)), [ring, None]);
        let arriving = if lone { vec![frame(C, P0)] } else { vec![frame(C, P0), frame(C, P3)] };
        bench.inject(A, arriving, lone);
        bench.inject(B, vec![frame(C, P0)], false);
        assert_eq!((bench.waiting(C, P0), bench.waiting(C, P3)), (1, u64::from(!lone)));
        assert_eq!(bench.dropped(P0), [(DropReason::ReceiveRing, 1)]);
        bench.egress(A, 0);
        assert_eq!(bench.fabric.egress[A.index()].control.frames, 1, "an XOFF was sent");
        bench.fabric.set_ring_deep(A, false);
        bench.inject(A, vec![frame(C, P0)], false);
        assert_eq!((bench.cause(A, P3), bench.waiting(C, P0)), (None, 2));
        assert_eq!(bench.fabric.port_deadline(A), Nanos(84), "an XON, when the XOFF has left");
    }
}

#[test]
fn a_port_answers_1000_frames_at_once_and_drops_more_by_name() {
    for burst in [1, 17] {
        let mut bench = bench();
        for _ in 0..1_020 / burst {
            let answer = |_: &Routed| Verdict::Answer(Consumed::Echo);
            assert_eq!(bench.inject_with(A, vec![frame(B, P0); burst], true, answer), []);
        }
        assert_eq!((bench.waiting(A, P0), bench.consumed(Consumed::Echo)), (1_000, 1_000));
        let counters = &bench.fabric.ingress[A.index()].counters;
        assert_eq!((counters.answers[0].frames, counters.received[0].frames), (1_000, 20));
        assert_eq!(bench.dropped(P0), [(DropReason::AnswerLimit, 20)]);
    }
}

#[test]
fn a_lone_frame_waits_behind_a_pfc_frame_that_is_due() {
    let mut bench = bench();
    let pause = Directive::Pause { priority: P4, cause: PauseCause::Threshold };
    bench.fabric.ingress[B.index()].pauses.follow(pause);
    assert_eq!(bench.inject(A, vec![frame(B, P3)], true), []);
    assert_eq!(bench.inject(A, vec![frame(C, P3)], true).len(), 1);
}

#[test]
fn the_first_frame_of_a_queue_changes_the_deadline_of_its_port_and_those_behind_it_do_not() {
    for burst in [1, 3] {
        let mut bench = bench();
        bench.fabric.take_changed();
        let changed = [(P3, true), (P3, false), (P4, true)].map(|(priority, changes)| {
            bench.inject(A, vec![frame(B, priority); burst], false);
            (bench.fabric.has_changed(), bench.fabric.take_changed().contains(B)) == (changes, changes)
        });
        assert_eq!(changed, [true; 3]);
    }
}

#[test]
fn a_group_that_frames_fill_pauses_its_sender_and_resumes_it_when_they_have_left() {
    let mut ports: Vec<_> = (0..2).map(|number| port(number, &[])).collect();
    if let Some(group) = ports[A.index()].groups[P3.index()].lossless_mut() {
        (group.xoff, group.xon) = (Threshold::Static(Bytes(4 * 1_024)), Bytes(2 * 1_024));
    }
    let mut bench = Bench::new(ports);
    bench.inject(A, vec![frame(B, P3); 5], false);
    assert_eq!(bench.cause(A, P3), Some(PauseCause::Threshold));
    bench.egress(A, 8);
    let sent = bench.fabric.ingress[A.index()].pauses.sent(P3);
    assert_eq!((sent.xoff, sent.xon, bench.fabric.egress[A.index()].control.frames), (1, 0, 1));
    for left in 1..=4 {
        bench.fabric.take_changed();
        bench.now = bench.fabric.port_deadline(B);
        assert_eq!(bench.egress(B, 8).len(), 1);
        assert_eq!(bench.cause(A, P3).is_none(), left == 4, "1,024 bytes are below XON");
        assert!(bench.fabric.take_changed().contains(A));
    }
    bench.egress(A, 8);
    assert_eq!(bench.fabric.ingress[A.index()].pauses.sent(P3).xon, 1);
}

#[test]
fn data_wakes_the_scheme_of_its_port_and_control_frames_do_not() {
    let flow_control = FlowControl::Bifrost(Bifrost {
        buffer: WireBytes(50_000),
        slot: Interval(1_000),
        round_trip: Interval(3_000),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    });
    let port_a = PortSettings { flow_control, ..port(0, &[]) };
    for (lone, copies) in [(true, 1), (false, 2)] {
        let mut bench = Bench::new(vec![port_a.clone(), port(1, &[])]);
        bench.inject(A, vec![Routed::pfc(PrioritySet::EMPTY, PauseQuanta(1)); copies], lone);
        assert_eq!(bench.fabric.port_deadline(A), Nanos::NEVER);
        bench.fabric.take_changed();
        bench.inject(A, vec![frame(B, P3); copies], lone);
        assert_eq!(bench.fabric.port_deadline(A), Nanos(1_000));
        assert!(bench.fabric.take_changed().contains(A));
        bench.now = Nanos(1_000);
        bench.egress(A, 8);
        assert_eq!(bench.fabric.port_deadline(A), Nanos(2_000), "the next slot");
    }
}

/// A PFC frame for priority 3 or a PAUSE, to `destination` and with a VLAN tag or without.
fn control(pfc: bool, destination: MacAddress, tagged: bool) -> Routed {
    let time = PauseQuanta(100);
    let mut frame = Routed::pfc(PrioritySet::EMPTY.with(P3), time);
    if !pfc {
        let [high, low] = time.0.to_be_bytes();
        frame.bytes[14..18].copy_from_slice(&[0, 1, high, low]);
        frame.bytes[18..].fill(0);
    }
    frame.bytes[..6].copy_from_slice(&destination.0);
    if tagged {
        frame.bytes.copy_within(12..60, 16);
        frame.bytes[12..16].copy_from_slice(&[0x81, 0, 0x60, 1]);
    }
    frame
}

#[test]
fn a_pause_stops_what_obeys_it_where_it_is_for_this_link() {
    let (own, other) = (MacAddress([2, 0, 0, 0, 0, 0]), MacAddress([2, 0, 0, 0, 0, 1]));
    let group = MacAddress::MAC_CONTROL;
    let all: Vec<_> = Priority::all().collect();
    for (pfc, obeys_all, expected) in
        [(true, false, vec![P3]), (true, true, vec![P3]), (false, false, vec![]), (false, true, all)]
    {
        let mut port = port(0, &[]);
        port.pfc.obey_global_pause = obeys_all;
        for destination in [group, own] {
            for lone in [true, false] {
                let mut bench = Bench::new(vec![port.clone()]);
                let frames = vec![control(pfc, destination, false); if lone { 1 } else { 2 }];
                bench.inject(A, frames, false);
                let stopped = bench.fabric.egress[A.index()].gate.pauses.stopped();
                let queues = expected.iter().map(|priority| QueueId::from(*priority));
                assert_eq!(stopped.iter().collect::<Vec<_>>(), queues.collect::<Vec<_>>());
                let kind = if pfc { Consumed::Pfc } else { Consumed::Pause };
                assert_eq!(bench.consumed(kind), if lone { 1 } else { 2 });
            }
        }
        for (destination, tagged) in [(other, false), (group, true), (own, true)] {
            let mut bench = Bench::new(vec![port.clone()]);
            bench.inject(A, vec![control(pfc, destination, tagged)], false);
            assert!(bench.fabric.egress[A.index()].gate.pauses.stopped().is_empty());
            assert_eq!(bench.dropped(P0), [(DropReason::MalformedControl, 1)]);
        }
    }
}
