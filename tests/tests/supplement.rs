//! Supplemental CNPs and thinning, on whole frames: which marks count, to whom the CNPs go, and what a host can make of
//! both that lies.

use conformance::settings::{INCREASE_TIMER as TIMER, bridged, host_mac, supplement, two_ports};
use conformance::{A, B, Connection, Flow, P3, TestFrame, Testbench};
use switch::Consumed;
use switch::congestion::supplement::{Settings as Supplement, SupplementCounters};
use switch::program::{MarkAt, Red, Settings};
use units::{BitRate, Bytes, Interval, PortId};
use wire::ethernet::MacAddress;
use wire::ip::Ecn;
use wire::roce::bth;
use wire::{ethernet, roce};

/// Another port of the senders.
const C: PortId = PortId(2);
const PAYLOAD: usize = 1_000;

/// Senders behind A, receivers behind B.
fn gateway(change: impl FnOnce(&mut Supplement)) -> Settings {
    let mut settings = two_ports();
    let mut on = supplement();
    change(&mut on);
    settings.ports[B.index()].notifiers.supplement = Some(on);
    settings
}

struct Scene {
    bench: Testbench,
    connection: Connection,
}

impl Scene {
    /// A connection from A to B whose sender is known.
    fn new(settings: Settings, ecn: Ecn) -> Self {
        Self::along(settings, Flow::new(A, B).at(P3).ecn(ecn))
    }

    fn along(settings: Settings, flow: Flow) -> Self {
        let mut scene = Self { bench: Testbench::new(settings), connection: Connection::new(flow, 5) };
        let (request, reply) = (scene.connection.request(), scene.connection.reply());
        scene.bench.inject_singly(A, [request]);
        scene.bench.inject_singly(B, [reply]);
        scene.pass(500);
        [A, B].into_iter().for_each(|port| drop(scene.bench.newly_sent(port)));
        scene
    }

    fn pass(&mut self, micros: u64) {
        self.bench.run_for(Interval::from_micros(micros));
    }

    fn data(&mut self, psn: u32) {
        let frame = self.connection.data(psn, PAYLOAD);
        self.bench.inject_singly(A, [frame]);
    }

    fn receiver(&mut self) {
        let cnp = self.connection.cnp();
        self.bench.inject_singly(B, [cnp]);
    }

    /// The CNPs that left toward the senders since the last call: whether the switch made each.
    fn cnps(&mut self) -> Vec<bool> {
        let sent = self.bench.newly_sent(A);
        let is_cnp = |frame: &[u8]| frame.len() == 74 && frame[42] == roce::Opcode::CNP.0;
        let cnps = sent.iter().filter(|it| it.pfc().is_none() && is_cnp(&it.frame.bytes));
        cnps.inspect(|it| {
            let bytes = &it.frame.bytes;
            let station = ethernet::View::parse(bytes).expect("a frame").destination();
            let pair = bth::View::parse(&bytes[42..]).expect("a BTH").destination_qp();
            assert!(station == host_mac(A) || !it.control, "to {station}");
            assert_eq!(pair, self.connection.source_qp);
        })
        .map(|it| it.control)
        .collect()
    }

    fn counters(&self) -> SupplementCounters {
        self.bench.shard.notifiers(B).supplement.expect("it is on")
    }
}

#[test]
fn the_sender_of_a_packet_that_leaves_marked_gets_the_cnps_that_are_missing() {
    for (ecn, expected) in [(Ecn::Ce, vec![true; 2]), (Ecn::Ect0, vec![]), (Ecn::NotEct, vec![])] {
        let mut scene = Scene::new(gateway(|_| ()), ecn);
        scene.data(1);
        scene.pass(3_000);
        assert_eq!(scene.cnps(), expected, "{ecn:?}");
        assert_eq!(scene.counters().supplemented, expected.len() as u64);
        scene.bench.assert_conserved();
    }
}

#[test]
fn cnps_that_are_missing_when_a_reload_turns_the_scheme_off_leave_as_far_as_there_is_room_or_are_counted() {
    let mut settings = gateway(|it| it.notifier.flows = 4_096);
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    let mut bench = Testbench::new(settings);
    let connections: Vec<_> =
        (0..600).map(|number| Connection::new(Flow::new(A, B).at(P3).ecn(Ecn::Ce), number)).collect();
    for it in &connections {
        bench.inject_singly(A, [it.request()]);
        bench.inject_singly(B, [it.reply()]);
    }
    bench.run_for(Interval::from_millis(5));
    [A, B].into_iter().for_each(|port| drop(bench.newly_sent(port)));
    bench.inject(A, connections.iter().map(|it| it.data(0, 64)));
    bench.run_for(Interval::from_micros(400));
    let made = bench.shard.notifiers(B).supplement.expect("it is on").supplemented;
    let known = bench.shard.flows(B).expect("it has some").data.resolved;
    bench.install(|it| it.ports[B.index()].notifiers.supplement = None);
    let lost = bench.shard.ingress_counters(B).lost_notifications;
    bench.run_dry();
    let left = bench.newly_sent(A).iter().filter(|it| it.control && it.pfc().is_none()).count() as u64;
    assert_eq!(left + lost, u64::from(known), "one to each sender that is known");
    assert!(made > 0 && left >= made && lost > 0, "{made} of {known} were made");
}

#[test]
fn packets_that_this_switch_marks_count_as_those_that_come_marked() {
    for (mark_at, marked) in [(MarkAt::Dequeue, 9), (MarkAt::Enqueue, 9)] {
        let mut settings = gateway(|_| ());
        let red = Red { kmin: Bytes(1), kmax: Bytes(2), pmax: 1.0, mark_at, adaptive: None };
        settings.ports[B.index()].queues[P3.index()].red = Some(red);
        let mut scene = Scene::new(settings, Ecn::Ect0);
        let burst: Vec<_> = (1..=10).map(|psn| scene.connection.data(psn, PAYLOAD)).collect();
        scene.bench.inject(A, burst);
        scene.pass(3_000);
        assert_eq!(scene.counters().marked, marked, "{mark_at:?}");
        assert_eq!(scene.cnps(), [true, true]);
    }
}

#[test]
fn nothing_is_supplemented_unless_the_queue_is_as_long_as_configured() {
    for (waiting, expected) in [(40, 0), (60, 1)] {
        let mut scene = Scene::new(gateway(|it| it.threshold = Some(Bytes(50_000))), Ecn::Ce);
        scene.data(1);
        scene.pass(10);
        scene.bench.block(B, P3);
        (2..2 + waiting).for_each(|psn| scene.data(psn));
        scene.pass(500);
        assert_eq!(scene.cnps().len(), expected, "{waiting} packets wait");
    }
}

#[test]
fn a_cnp_of_the_receiver_postpones_the_next_one_and_is_dropped_just_after_one_in_its_place() {
    let mut scene = Scene::new(gateway(|_| ()), Ecn::Ce);
    scene.data(1);
    scene.pass(200);
    scene.receiver();
    scene.pass(250);
    assert_eq!(scene.cnps(), [false], "450 us after the mark and 250 us after the CNP, nothing is missing");
    scene.pass(150);
    assert_eq!(scene.cnps(), [true]);
    scene.receiver();
    scene.pass(10);
    assert!(scene.cnps().is_empty());
    let consumed = scene.bench.shard.ingress_counters(B).consumed[Consumed::SuppressedCnp.index()];
    assert_eq!((consumed.frames, scene.counters().suppressed), (1, 1));
    scene.pass(300);
    scene.receiver();
    scene.pass(10);
    assert_eq!(scene.cnps().last(), Some(&false), "a timer later its CNPs pass again");
}

#[test]
fn a_receiver_of_which_nothing_else_has_been_seen_is_believed_and_a_stranger_no_longer_once_it_has_answered()
{
    let mut settings = bridged(3);
    settings.ports[B.index()].notifiers.supplement =
        Some(Supplement { thinning: Some(TIMER), ..supplement() });
    let mut scene = Scene::along(settings, Flow::new(A, B).at(P3).bridged().ecn(Ecn::Ect0));
    scene.data(1);
    let stranger = from(host_mac(PortId(20)), scene.connection.cnp());
    scene.receiver();
    scene.pass(1);
    let SupplementCounters { passed, unknown, .. } = scene.counters();
    assert_eq!((passed, unknown), (1, 0), "it has sent no acknowledgement yet");
    let answer = scene.connection.acknowledge(1);
    scene.bench.inject_singly(B, [answer, stranger]);
    scene.receiver();
    scene.pass(1);
    let SupplementCounters { passed, unknown, suppressed, .. } = scene.counters();
    assert_eq!((passed, unknown, suppressed), (1, 1, 1));
    assert_eq!(scene.cnps().len(), 2, "that of the stranger passes, and takes the place of none");
}

#[test]
fn a_flood_of_cnps_in_the_name_of_the_receiver_reaches_the_sender_as_often_as_thinning_lets_it() {
    let interval = Interval::from_micros(100);
    for (thinning, expected) in [(None, 1_000), (Some(interval), 10)] {
        let mut scene = Scene::new(gateway(|it| it.thinning = thinning), Ecn::Ect0);
        for _ in 0..1_000 {
            scene.receiver();
            scene.pass(1);
        }
        assert_eq!(scene.cnps().len(), expected);
    }
}

#[test]
fn marks_that_another_station_forges_bring_the_sender_no_cnp() {
    let attacker = host_mac(PortId(20));
    let mut settings = bridged(3);
    settings.ports[B.index()].notifiers.supplement = Some(supplement());
    for (station, expected) in [(host_mac(A), 2), (attacker, 0)] {
        let flow = Flow::new(A, B).at(P3).bridged();
        let mut scene = Scene::along(settings.clone(), flow.ecn(Ecn::Ect0));
        scene.data(1);
        scene.pass(10);
        let forged = Connection { flow: flow.ecn(Ecn::Ce), ..scene.connection };
        let port = if station == attacker { C } else { A };
        scene.bench.inject_singly(port, [from(station, forged.data(2, PAYLOAD))]);
        scene.pass(3_000);
        assert_eq!(scene.cnps().len(), expected, "from {station}");
    }
}

fn from(station: MacAddress, mut frame: TestFrame) -> TestFrame {
    frame.bytes[6..12].copy_from_slice(&station.0);
    frame
}

#[test]
fn a_reload_starts_it_changes_its_timer_and_stops_it() {
    let mut scene = Scene::new(gateway(|_| ()), Ecn::Ce);
    scene.data(1);
    scene.bench.install(|it| {
        let settings = it.ports[B.index()].notifiers.supplement.as_mut().expect("it is on");
        (settings.increase_timer, settings.mark_lasts) = (TIMER * 10, TIMER * 20);
    });
    scene.pass(2_000);
    assert!(scene.cnps().is_empty());
    scene.data(2);
    scene.pass(3_700);
    assert_eq!(scene.cnps(), [true], "the table of flows stays");
    scene.bench.install(|it| it.ports[B.index()].notifiers.supplement = None);
    scene.data(3);
    scene.pass(9_000);
    assert_eq!((scene.cnps(), scene.bench.shard.notifiers(B).supplement), (vec![], None));
    scene.bench.install(|it| it.ports[B.index()].notifiers.supplement = Some(supplement()));
    let (request, reply) = (scene.connection.request(), scene.connection.reply());
    scene.bench.inject_singly(A, [request]);
    scene.bench.inject_singly(B, [reply]);
    scene.data(4);
    scene.pass(3_000);
    assert_eq!(scene.cnps(), [true, true]);
}
