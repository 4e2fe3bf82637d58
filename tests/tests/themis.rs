//! THEMIS at the edge of a data center: CNPs for packets that were marked on their side, and flows of the other side that
//! are slowed down until their senders can have reacted.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{host_mac, lossless, patched, port_mac, routed, two_ports};
use conformance::{A, B, C, Connection, Flow, P3, P4, Sent, TestFrame, Testbench};
use proptest::prelude::*;
use std::collections::BTreeMap;
use switch::DropReason;
use switch::congestion::NotifiersError;
use switch::congestion::themis::{Settings as Themis, Slowing, ThemisCounters, ThemisError};
use switch::program::{
    ForwardingSettings, Notifier, NotifierError, Orientation, PortError, Program, ProgramError, Remap,
    RouteSettings, Settings,
};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ip::{Dscp, Ecn};
use wire::roce::{QueuePair, bth};
use wire::{ethernet, ipv4};

const CNP_INTERVAL: Interval = Interval::from_micros(5);
const HOLD: Interval = Interval::from_micros(500);
const SLOW: BitRate = BitRate::gigabits(1);
const LIMIT: Bytes = Bytes(50_000);
const PAYLOAD: usize = 1_000;

const THEMIS: Themis = Themis {
    cnp_interval: Some(CNP_INTERVAL),
    slowing: Some(Slowing { hold: HOLD, rate: SLOW, limit: LIMIT }),
    notifier: Notifier {
        flows: 1_024,
        ageing: Interval::from_secs(10),
        round_trip: HOLD,
        cnp_dscp: Dscp::from_low_bits(48),
        cnp_priority: Priority::from_low_bits(6),
    },
};

/// `settings` with `themis` on port B, and slow queues at the others.
fn with(mut settings: Settings, themis: Themis) -> Settings {
    let lossless = settings.ports[B.index()].lossless();
    settings.ports[B.index()].notifiers.themis = Some(themis);
    if let Some(slowing) = &themis.slowing {
        let others = settings.ports.iter_mut().enumerate().filter(|(index, _)| *index != B.index());
        others.for_each(|(_, port)| port.add_slow_queues(lossless, slowing));
    }
    settings
}

/// Two patched ports: a data center behind A, the long link behind B.
fn gateway() -> Settings {
    let mut settings = two_ports();
    for port in &mut settings.ports {
        port.groups[P3.index()] = lossless(4_000_000, 2_000_000, 100_000);
    }
    with(settings, THEMIS)
}

/// Connection `number` whose data goes out over the long link.
fn outward(number: u32) -> Connection {
    Connection::new(Flow::new(A, B).at(P3).ecn(Ecn::Ce), number)
}

/// Connection `number` whose data comes from the far side.
fn inward(number: u32) -> Connection {
    Connection::new(Flow::new(B, A).at(P3).ecn(Ecn::Ect0), number)
}

/// A gateway that saw these connections being made.
fn bench_with(settings: Settings, connections: &[Connection]) -> Testbench {
    let mut bench = Testbench::new(settings);
    for it in connections {
        bench.inject_singly(it.flow.from, [it.request()]);
        bench.inject_singly(it.flow.to, [it.reply()]);
    }
    bench.run_for(Interval::from_micros(1));
    [A, B].into_iter().for_each(|port| drop(bench.newly_sent(port)));
    bench
}

/// Lets the receiver of a flow from the far side complain, which has acknowledged before.
fn complain(bench: &mut Testbench, flow: &Connection) {
    bench.inject_singly(A, [flow.acknowledge(0), flow.cnp()]);
}

fn counters(bench: &Testbench) -> ThemisCounters {
    bench.shard.notifiers(B).themis.unwrap()
}

/// The CNPs among `sent`.
fn cnps(sent: &[Sent]) -> Vec<&Sent> {
    sent.iter().filter(|it| it.control && it.pfc().is_none()).collect()
}

fn queue_pair(sent: &Sent) -> QueuePair {
    bth::View::parse(&sent.frame.bytes[42..]).unwrap().destination_qp()
}

fn ecn(sent: &Sent) -> Ecn {
    ipv4::View::parse(&sent.frame.bytes[14..]).unwrap().ecn()
}

#[test]
fn a_marked_packet_is_answered_at_once_and_goes_on_without_its_mark() {
    let connection = outward(5);
    let mut bench = bench_with(gateway(), &[connection]);
    let start = bench.now();
    bench.inject_singly(A, [connection.data(0, PAYLOAD)]);
    bench.run_for(Interval::from_micros(1));
    let (near, far) = (bench.newly_sent(A), bench.newly_sent(B));
    let [cnp] = cnps(&near)[..] else { panic!("one CNP, not {near:?}") };
    assert_eq!((queue_pair(cnp), cnp.start), (connection.source_qp, start));
    let link = ethernet::View::parse(&cnp.frame.bytes[..]).unwrap();
    assert_eq!((link.destination(), link.source()), (host_mac(A), port_mac(A)));
    assert_eq!(far.iter().map(ecn).collect::<Vec<_>>(), [Ecn::Ect0]);
}

#[test]
fn a_flow_gets_a_cnp_per_interval_however_many_of_its_packets_are_marked() {
    let connections = [outward(1), outward(2)];
    let mut bench = bench_with(gateway(), &connections);
    for psn in 0..40 {
        bench.inject(A, connections.map(|it| it.data(psn, PAYLOAD)));
        bench.run_for(Interval::from_micros(1));
    }
    let near = bench.newly_sent(A);
    for connection in &connections {
        let mine = cnps(&near).into_iter().filter(|it| queue_pair(it) == connection.source_qp);
        let starts: Vec<_> = mine.map(|it| it.start).collect();
        assert_eq!(starts.len(), 8, "{starts:?}");
        // The second of two waits for the first, of 74 bytes.
        let apart = |pair: &[Nanos]| pair[1].since(pair[0]) + Interval(10);
        assert!(starts.windows(2).all(|pair| apart(pair) >= CNP_INTERVAL), "{starts:?}");
    }
    assert!(bench.newly_sent(B).iter().all(|it| ecn(it) == Ecn::Ect0));
}

#[test]
fn a_mark_stays_where_no_cnp_can_stand_for_it() {
    let (known, unknown) = (outward(1), outward(2));
    let stranger = Connection { flow: Flow { tag: None, ..known.flow }, ..known };
    let mut settings = with(patched(4), THEMIS);
    settings.forwarding = routed(4).forwarding;
    settings.ports.iter_mut().zip(routed(4).ports).for_each(|(to, from)| to.addresses = from.addresses);
    let mut bench = bench_with(settings, &[known]);
    bench.inject_singly(A, [known.data(0, PAYLOAD), unknown.data(0, PAYLOAD)]);
    // It comes through another port, with the addresses of the first.
    let mut forged = stranger.data(1, PAYLOAD);
    forged.bytes[..6].copy_from_slice(&port_mac(C).0);
    bench.inject_singly(C, [forged]);
    bench.run_for(Interval::from_micros(10));
    let marks: Vec<_> = bench.newly_sent(B).iter().filter(|it| !it.control).map(ecn).collect();
    assert_eq!(marks, [Ecn::Ect0, Ecn::Ce, Ecn::Ce]);
    assert_eq!(cnps(&bench.newly_sent(A)).len(), 1);
    let ThemisCounters { cnps, marks_removed, marks_kept, .. } = counters(&bench);
    assert_eq!((cnps, marks_removed, marks_kept), (1, 1, 2));
}

#[test]
fn a_flood_of_marked_flows_removes_no_mark_without_a_cnp_and_takes_no_more_than_the_store_of_its_port() {
    let connections: Vec<_> = (0..600).map(outward).collect();
    let mut settings = gateway();
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    let mut bench = bench_with(settings, &connections);
    bench.inject(A, connections.iter().map(|it| it.data(0, 64)));
    bench.run_dry();
    let removed = bench.newly_sent(B).iter().filter(|it| ecn(it) == Ecn::Ect0).count();
    let made = counters(&bench);
    assert_eq!((made.cnps, made.marks_removed), (removed as u64, removed as u64));
    assert_eq!(made.marks_removed + made.marks_kept, 600);
    assert_eq!(cnps(&bench.newly_sent(A)).len(), removed, "each of them has left");
}

#[test]
fn cnps_that_wait_when_a_reload_turns_themis_off_leave_as_far_as_there_is_room_and_the_others_are_counted() {
    let connections: Vec<_> = (0..600).map(outward).collect();
    let mut settings = gateway();
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    let mut bench = bench_with(settings, &connections);
    bench.inject(A, connections.iter().map(|it| it.data(0, 64)));
    let made = counters(&bench).cnps;
    bench.install(|it| it.ports[B.index()].notifiers.themis = None);
    let lost = bench.shard.ingress_counters(B).lost_notifications;
    bench.run_dry();
    let left = cnps(&bench.newly_sent(A)).len() as u64;
    assert_eq!(left + lost, made);
    assert!(left >= STORE && lost > 0, "{left} of {made} left: the store of the port was full");
}

#[test]
fn data_of_a_flow_whose_receiver_complains_leaves_slowly_until_its_sender_can_have_reacted() {
    let (told, other) = (inward(1), inward(2));
    let mut bench = bench_with(gateway(), &[told, other]);
    complain(&mut bench, &told);
    let start = bench.now();
    let mut psn = 0;
    // At 1.7 Gb/s of each, less than the limit waits at the end of the hold.
    while bench.now() < start + HOLD - Interval::from_micros(5) {
        bench.inject_singly(B, [told.data(psn, PAYLOAD), other.data(psn, PAYLOAD)]);
        bench.run_for(Interval::from_micros(5));
        psn += 1;
    }
    let sent = bench.newly_sent(A);
    let of =
        |it: &Connection| sent.iter().filter(|sent| queue_pair(sent) == it.destination_qp).count() as u64;
    assert_eq!(of(&other), u64::from(psn), "the other flow waits for nothing");
    let slow = SLOW.bytes_in(HOLD) / 1_086;
    // The burst of the rate is the port's longest frame.
    assert!((slow..=slow + 10).contains(&of(&told)), "{} of {psn}, and not {slow}", of(&told));
    bench.run_until(start + HOLD);
    bench.inject_singly(B, [told.data(psn, PAYLOAD)]);
    bench.run_for(Interval::from_micros(10));
    let late = bench.newly_sent(A).len() as u64;
    assert_eq!(of(&told) + late, u64::from(psn) + 1, "from then on it is as fast as any");
}

#[test]
fn a_flow_of_line_rate_is_slow_up_to_the_limit_and_passes_at_line_rate_beyond() {
    let told = inward(1);
    let mut bench = bench_with(gateway(), &[told]);
    complain(&mut bench, &told);
    let mut waited = 0;
    for psn in 0..400 {
        bench.inject_singly(B, [told.data(psn, PAYLOAD)]);
        bench.run_for(Interval(100));
        waited = waited.max(bench.shard.queue(bench.now(), A, P3).waiting.bytes.0);
    }
    assert!(waited.abs_diff(LIMIT.0) < 2 * 1_100, "{waited}");
    assert!(bench.newly_sent(A).len() > 330);
}

#[test]
fn a_complaint_that_does_not_come_from_the_receiver_slows_nothing() {
    let told = inward(1);
    let mut settings = with(routed(4), THEMIS);
    settings.ports[B.index()].groups[P3.index()] = lossless(4_000_000, 2_000_000, 100_000);
    let mut bench = bench_with(settings, &[told]);
    bench.inject_singly(A, [told.acknowledge(0), inward(9).cnp()]);
    let mut forged = told.cnp();
    forged.bytes[..6].copy_from_slice(&port_mac(C).0);
    bench.inject_singly(C, [forged]);
    bench.inject_singly(B, (0..4).map(|psn| told.data(psn, PAYLOAD)));
    bench.run_for(Interval::from_micros(2));
    let ThemisCounters { told, told_unknown, slowed, .. } = counters(&bench);
    assert_eq!((told, told_unknown, slowed), (0, 2, 0));
    assert_eq!(bench.newly_sent(A).len(), 4);
}

#[test]
fn each_part_works_without_the_other() {
    let (out, back) = (outward(1), inward(2));
    for (cnp_interval, slowing) in [(Some(CNP_INTERVAL), None), (None, THEMIS.slowing)] {
        let mut settings = two_ports();
        settings = with(settings, Themis { cnp_interval, slowing, ..THEMIS });
        let mut bench = bench_with(settings, &[out, back]);
        complain(&mut bench, &back);
        bench.inject_singly(A, [out.data(0, PAYLOAD)]);
        bench.inject_singly(B, (0..9).map(|psn| back.data(psn, PAYLOAD)));
        bench.run_for(Interval::from_micros(10));
        let ThemisCounters { cnps, marks_removed, slowed, .. } = counters(&bench);
        let (answers, slows) = (u64::from(cnp_interval.is_some()), if slowing.is_some() { 9 } else { 0 });
        assert_eq!((cnps, marks_removed, slowed), (answers, answers, slows));
    }
}

/// A routed gateway with a slow port to the senders, where CNPs wait.
fn routed_gateway() -> Settings {
    let mut settings = with(routed(3), THEMIS);
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    settings.ports[B.index()].groups[P3.index()] = lossless(4_000_000, 2_000_000, 100_000);
    settings
}

/// Takes the station behind A away.
fn without_a(settings: &mut Settings) {
    let ForwardingSettings::Route(table) = &mut settings.forwarding else { panic!("it routes") };
    let RouteSettings { routes, neighbours, .. } = table;
    neighbours.retain(|it| it.port != A);
    routes.retain(|it| it.next_hops.iter().all(|hop| neighbours.iter().any(|it| it.address == *hop)));
}

/// Notifications that wait at the port of their sender, at most. All others wait in the scheme.
const STORE: u64 = 128;

#[test]
fn cnps_that_wait_while_a_reload_exchanges_the_table_of_flows_still_leave_or_are_counted() {
    let connections: Vec<_> = (0..300).map(outward).collect();
    for reachable in [true, false] {
        let mut bench = bench_with(routed_gateway(), &connections);
        bench.inject(A, connections.iter().map(|it| it.data(0, 64)));
        bench.run_for(Interval::from_micros(1));
        let before = bench.newly_sent(A);
        bench.install(|it| {
            it.ports[B.index()].notifiers.themis.as_mut().unwrap().notifier.flows = 4;
            if !reachable {
                without_a(it);
            }
        });
        bench.run_dry();
        let left = cnps(&before).len() + cnps(&bench.newly_sent(A)).len();
        let ThemisCounters { cnps: made, unreachable, marks_removed, .. } = counters(&bench);
        assert_eq!(made, marks_removed);
        assert_eq!(made, left as u64 + unreachable, "each has left or is counted");
        assert!(made > STORE && (unreachable > 0) != reachable, "{made}, {unreachable}");
    }
}

#[test]
fn a_sender_without_a_way_keeps_its_marks_and_is_tried_again_after_a_second() {
    let connection = outward(1);
    let mut bench = bench_with(routed_gateway(), &[connection]);
    let forwarding = bench.shard.program().settings().forwarding.clone();
    bench.install(without_a);
    let marks = |bench: &mut Testbench, psn| {
        bench.inject_singly(A, [connection.data(psn, PAYLOAD)]);
        bench.run_for(Interval::from_micros(10));
        bench.newly_sent(B).iter().filter(|it| !it.control).map(ecn).collect::<Vec<_>>()
    };
    assert_eq!(marks(&mut bench, 0), [Ecn::Ect0], "a CNP is made, and finds no way");
    assert_eq!(marks(&mut bench, 1), [Ecn::Ce]);
    bench.install(|it| it.forwarding = forwarding);
    bench.run_for(Interval::from_millis(900));
    assert_eq!(marks(&mut bench, 2), [Ecn::Ce]);
    bench.run_for(Interval::from_millis(100));
    assert_eq!(marks(&mut bench, 3), [Ecn::Ect0]);
    assert_eq!(cnps(&bench.newly_sent(A)).len(), 1);
    let ThemisCounters { unreachable, marks_kept, .. } = counters(&bench);
    assert_eq!((unreachable, marks_kept), (1, 2));
}

#[test]
fn a_frame_that_bounces_stays_in_the_queue_of_its_isolated_priority_and_out_of_the_slow_one() {
    let told = inward(1);
    for bounces in [false, true] {
        let mut settings = gateway();
        for port in &mut settings.ports {
            port.orientation = bounces.then_some(Orientation::Uplink);
            port.remap = if bounces { Remap::default().with(P3, P4) } else { Remap::default() };
        }
        let mut bench = bench_with(settings, &[told]);
        complain(&mut bench, &told);
        bench.block(A, P3);
        bench.inject_singly(B, (0..4).map(|psn| told.data(psn, PAYLOAD)));
        bench.run_for(Interval::from_micros(2));
        let left = bench.newly_sent(A).len();
        let expected = if bounces { (4, 0) } else { (0, 4) };
        assert_eq!((left, counters(&bench).slowed), expected, "P4 is not paused");
    }
}

#[test]
fn frames_that_wait_in_a_slow_queue_behind_others_leave_after_a_reload_that_slows_nothing_down() {
    let (told, other) = (inward(1), inward(2));
    let mut bench = bench_with(gateway(), &[told, other]);
    complain(&mut bench, &told);
    bench.block(A, P3);
    bench.inject_singly(B, (0..4).map(|psn| other.data(psn, PAYLOAD)));
    bench.inject_singly(B, (0..4).map(|psn| told.data(psn, PAYLOAD)));
    assert_eq!(counters(&bench).slowed, 4, "they wait behind the others");
    bench.install(|it| {
        it.ports[A.index()].slow = None;
        it.ports[B.index()].notifiers.themis.as_mut().unwrap().slowing = None;
    });
    bench.release(A, P3);
    bench.run_dry();
    assert_eq!(bench.newly_sent(A).iter().filter(|it| !it.control).count(), 8);
}

#[test]
fn a_flow_that_changed_its_priority_is_slowed_there_once_its_former_lane_must_be_empty() {
    let told = inward(1);
    let moved = Connection { flow: told.flow.at(P4), ..told };
    let mut bench = bench_with(gateway(), &[told]);
    complain(&mut bench, &told);
    bench.inject_singly(B, [told.data(0, PAYLOAD), moved.data(1, PAYLOAD)]);
    let of = |bench: &Testbench| (counters(bench).slowed, counters(bench).not_slowed);
    assert_eq!(of(&bench), (1, 1));
    bench.run_for(HOLD * 2);
    bench.inject_singly(B, [moved.data(2, PAYLOAD)]);
    assert_eq!(of(&bench), (1, 2), "the last one that has the former lane against it");
    complain(&mut bench, &told);
    bench.inject_singly(B, [moved.data(3, PAYLOAD)]);
    assert_eq!(of(&bench), (2, 2));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = gateway();
        change(&mut settings);
        match Program::new(settings).err() {
            Some(ProgramError::Port { error: PortError::Notifiers(error), .. }) => match error {
                NotifiersError::Themis(error) => Ok(Some(error)),
                error => Err(error),
            },
            _ => Ok(None),
        }
    };
    let refused_together = |change: &dyn Fn(&mut Settings)| refused(change).unwrap_err();
    let refused = |change: &dyn Fn(&mut Settings)| refused(change).unwrap();
    let of =
        |change: &dyn Fn(&mut Themis)| refused(&|it| change(it.ports[1].notifiers.themis.as_mut().unwrap()));
    assert_eq!(refused(&|_| ()), None);
    assert_eq!(of(&|it| (it.cnp_interval, it.slowing) = (None, None)), Some(ThemisError::Idle));
    assert!(matches!(of(&|it| it.cnp_interval = Some(Interval(1))), Some(ThemisError::CnpInterval { .. })));
    assert!(matches!(
        of(&|it| it.notifier.flows = 0),
        Some(ThemisError::Notifier(NotifierError::Flows { .. }))
    ));
    assert_eq!(of(&|it| it.notifier.ageing = Interval::ZERO), Some(NotifierError::Ageing.into()));
    assert_eq!(of(&|it| it.slowing.as_mut().unwrap().hold = Interval::ZERO), Some(ThemisError::Hold));
    assert_eq!(of(&|it| it.slowing.as_mut().unwrap().limit = Bytes::ZERO), Some(ThemisError::Limit));
    let rate = BitRate::gigabits(100);
    let lscc = |it: &mut Settings| it.ports[1].notifiers.lscc = Some(conformance::long_haul::lscc(rate));
    assert!(matches!(refused_together(&lscc), NotifiersError::Twice { other: "LSCC" }));
    let beside = |it: &mut Settings| {
        lscc(it);
        it.ports[1].notifiers.themis.as_mut().unwrap().cnp_interval = None;
    };
    assert_eq!(refused(&beside), None, "LSCC answers the marks, and THEMIS slows flows down");
    let second = |it: &mut Settings| it.ports[0].notifiers.themis = it.ports[1].notifiers.themis;
    assert!(matches!(refused(&second), Some(ThemisError::SecondPort { .. })));
    let strange = |it: &mut Settings| it.ports[0].queues.last_mut().unwrap().rate_limit = None;
    assert!(matches!(refused(&strange), Some(ThemisError::SlowQueue { .. })));
}

/// The next event at the gateway of [`order_is_kept`].
#[derive(Clone, Debug)]
enum Event {
    /// Packets of a flow from the far side, in one burst.
    Data(usize, u8),
    /// The receiver of a flow complains.
    Complaint(usize),
    /// The data center pauses the priority, or resumes it.
    Pause(bool),
    /// Nothing for so many microseconds.
    Wait(u16),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..4_usize, 1..9_u8).prop_map(|(flow, packets)| Event::Data(flow, packets)),
        2 => (0..4_usize).prop_map(Event::Complaint),
        1 => any::<bool>().prop_map(Event::Pause),
        4 => (0..300_u16).prop_map(Event::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Nothing overtakes within a flow, nothing is lost, and no frame waits longer than the limit takes at the slow rate
    /// once pauses have ended.
    #[test]
    fn order_is_kept_nothing_is_lost_and_the_delay_is_bounded(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let connections: Vec<_> = (0..4).map(inward).collect();
        let mut bench = bench_with(gateway(), &connections);
        let (mut psns, mut came, mut paused) = ([0_u32; 4], BTreeMap::new(), false);
        for event in events {
            match event {
                Event::Data(flow, packets) => {
                    let burst: Vec<TestFrame> = (0..packets).map(|_| {
                        psns[flow] += 1;
                        came.insert((flow, psns[flow]), bench.now());
                        connections[flow].data(psns[flow], PAYLOAD)
                    }).collect();
                    bench.inject(B, burst);
                }
                Event::Complaint(flow) => complain(&mut bench, &connections[flow]),
                Event::Pause(on) => {
                    paused |= on;
                    let time = if on { PauseQuanta(10_000) } else { PauseQuanta::ZERO };
                    bench.inject_pfc(A, PrioritySet::EMPTY.with(P3), time);
                }
                Event::Wait(micros) => bench.run_for(Interval::from_micros(micros.into())),
            }
        }
        bench.run_dry();
        let mut next = [1_u32; 4];
        // A frame waits for the limit and a frame, at the slow rate, and then for the port's link.
        let most = SLOW.serialization().time_of(units::WireBytes(LIMIT.0 + 5_000)) + Interval::from_micros(60);
        for sent in bench.newly_sent(A).iter().filter(|it| !it.control) {
            let header = bth::View::parse(&sent.frame.bytes[42..]).unwrap();
            let flow = connections.iter().position(|it| it.destination_qp == header.destination_qp()).unwrap();
            prop_assert_eq!(header.psn().number(), next[flow]);
            let waited = sent.start.since(came[&(flow, next[flow])]);
            prop_assert!(paused || waited <= most, "{} waited {}", next[flow], waited);
            next[flow] += 1;
        }
        prop_assert_eq!(next.map(|it| it - 1), psns);
        for reason in DropReason::ALL {
            prop_assert_eq!(bench.dropped(B, P3, reason).frames, 0);
        }
        bench.assert_conserved();
    }
}
