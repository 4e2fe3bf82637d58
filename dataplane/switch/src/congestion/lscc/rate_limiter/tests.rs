//! Algorithm 2, a frame at a time, on a link of 16G whose other end advertises 1G: eight nanoseconds a byte.

use super::*;
use units::Bytes;
use wire::ethernet::MacAddress;
use wire::ip::{Dscp, IpProtocol};
use wire::ipv4;
use wire::rate_feedback::{Content, FRAME_LEN, Frame, Message};

const RATE: BitRate = BitRate::gigabits(16);
const REFERENCE: u64 = 10_000;
const LONG_FLOW: WireBytes = WireBytes(5_000);
/// The interval between direct CNPs to a flow.
const CNP_INTERVAL: Interval = Interval::from_micros(50);
/// Wire bytes that the pseudo-queue loses in that time.
const DRAINED: u64 = 6_250;
/// The port behind which all senders are.
const PORT: PortId = PortId(1);

fn lscc() -> Lscc {
    let limiting = RateLimiting {
        reference: WireBytes(REFERENCE),
        cnp_interval: CNP_INTERVAL,
        long_flow: Some(LONG_FLOW),
        flows: 200,
        ..Lscc::PLAIN.limiting
    };
    Lscc { limiting, ..Lscc::PLAIN }
}

fn limiter(lscc: &Lscc) -> RateLimiter {
    RateLimiter::new(lscc, lscc.limiting.flows, RATE, 1)
}

/// The headers of a packet with `ecn`.
fn headers(ecn: Ecn) -> [u8; 64] {
    let mut bytes = [2; 64];
    bytes[12..14].copy_from_slice(&[8, 0]);
    let header = ipv4::Header {
        dscp: Dscp::DEFAULT,
        ecn,
        total_length: 50,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: IpProtocol::UDP,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    header.emit(&mut bytes[14..]).unwrap();
    bytes
}

/// A limiter with the flows of its port.
struct Scene {
    lscc: Lscc,
    limiter: RateLimiter,
    flows: Flows,
    now: Nanos,
}

impl Scene {
    /// A port whose other end advertises 1G.
    fn new() -> Self {
        Self::with(lscc())
    }

    fn with(lscc: Lscc) -> Self {
        let mut scene = Self::silent(lscc);
        scene.tell(1);
        scene
    }

    /// A port whose other end has advertised nothing.
    fn silent(lscc: Lscc) -> Self {
        let (limiter, flows) = (limiter(&lscc), Flows::new(lscc.flows(RATE), 7));
        Self { lscc, limiter, flows, now: Nanos(1_000_000) }
    }

    /// Lets the other end advertise a rate.
    fn tell(&mut self, gigabits: u64) {
        let rate = BitRate::gigabits(gigabits);
        let content = Content::Rate { rate, sequence: self.now.0, session: 0 };
        let frame = Frame {
            source_mac: MacAddress::default(),
            source: self.lscc.feedback.peer,
            destination: self.lscc.feedback.local,
            dscp: Dscp::DEFAULT,
            identification: 0,
            message: Message { port: 0, content },
        };
        let mut bytes = [0; FRAME_LEN];
        frame.emit(None, &mut bytes).unwrap();
        self.limiter.receive_feedback(self.now, &bytes[14..]);
        assert_eq!(self.limiter.advertised().last_rate(), Some(rate));
    }

    /// A flow that has sent `sent`; the queue pair of its sender is known.
    fn known(&mut self, qp: u32, sent: WireBytes) -> Slot {
        self.flows.enter_known(qp, self.now, origin(PORT), sent)
    }

    /// A flow whose sender's queue pair is unknown.
    fn unknown(&mut self, qp: u32) -> Slot {
        self.flows.enter_from(qp, self.now, origin(PORT))
    }

    /// Sends `length` wire bytes of data with `ecn` out. Returns the ECN bits with which they leave.
    fn send(&mut self, sighting: Sighting, length: u64, ecn: Ecn) -> Ecn {
        self.send_as(PORT, (true, true), sighting, length, ecn)
    }

    fn send_as(
        &mut self,
        port: PortId,
        (limited, data): (bool, bool),
        sighting: Sighting,
        length: u64,
        ecn: Ecn,
    ) -> Ecn {
        let mut headers = headers(ecn);
        let descriptor = Descriptor::parse(&headers, Bytes(64)).unwrap();
        let (now, descriptor) = (self.now, &descriptor);
        let frame = Crossing { now, port, length: WireBytes(length), limited, descriptor };
        let seen = Seen { sighting, data, source_port: 49_152 };
        self.limiter.send(frame, seen, &mut self.flows, &mut headers);
        Descriptor::parse(&headers, Bytes(64)).unwrap().ecn()
    }

    /// Lets a CNP for `flow` come from the long link some microseconds from now, from the station of its host at
    /// `port`. Returns whether it passes.
    fn receive_cnp(&mut self, after: u64, flow: Option<Slot>, port: PortId) -> bool {
        let now = self.now + Interval::from_micros(after);
        self.limiter.receive_cnp(now, flow, &mut self.flows, origin(port))
    }

    /// Lets time pass until something is due. Returns the number of notifications that are offered then, which get
    /// `offer` for an answer.
    fn notify(&mut self, offer: Offer) -> usize {
        self.now = self.now.max(self.limiter.deadline());
        let mut offered = 0;
        self.limiter.notify(self.now, QueueSet::EMPTY, &mut self.flows, &mut |port, _| {
            assert_eq!(port, PORT);
            offered += 1;
            offer
        });
        offered
    }

    fn counters(&self) -> LimiterCounters {
        self.limiter.counters
    }

    fn pseudo_queue(&self) -> u64 {
        self.limiter.pseudo_queue().0.0
    }
}

fn origin(port: PortId) -> Origin {
    let headers = headers(Ecn::Ect0);
    Origin::of(port, &Descriptor::parse(&headers, Bytes(64)).unwrap(), &headers)
}

#[test]
fn an_interval_ends_with_a_cnp_to_a_young_flow_if_the_pseudo_queue_is_above_its_reference() {
    for (above, cnps) in [(0, 0), (1, 1)] {
        let mut scene = Scene::new();
        let flow = Sighting::Of(scene.known(1, WireBytes(0)));
        assert_eq!(scene.limiter.deadline(), Nanos::NEVER);
        scene.send(flow, REFERENCE + DRAINED + above, Ecn::Ect0);
        assert_eq!(scene.limiter.deadline(), scene.now + CNP_INTERVAL);
        scene.send(flow, 0, Ecn::Ect0);
        assert_eq!(scene.notify(Offer::Taken), cnps);
        let LimiterCounters { direct_cnps, congested_intervals, .. } = scene.counters();
        assert_eq!((direct_cnps, congested_intervals), (cnps as u64, cnps as u64));
        assert_eq!(scene.limiter.deadline(), Nanos::NEVER, "the flow is idle");
    }
}

/// A reference so long that the limiter sleeps below half of it.
const LONG_REFERENCE: u64 = 200_000;

/// A limiter that learns from a sample, with the long reference.
fn sampling() -> Lscc {
    let mut settings = lscc();
    (settings.limiting.learn, settings.limiting.reference) = (16, WireBytes(LONG_REFERENCE));
    settings
}

#[test]
fn nothing_is_listed_while_the_pseudo_queue_is_more_than_an_interval_of_the_link_below_its_reference() {
    for (length, awake) in [(LONG_REFERENCE / 2, false), (LONG_REFERENCE / 2 + 1, true)] {
        let mut scene = Scene::with(sampling());
        let flow = Sighting::Of(scene.known(1, WireBytes(0)));
        scene.send(flow, length, Ecn::Ect0);
        assert!(!scene.flows.is_watched(scene.now), "the state of a burst is that at its start");
        // Not yet a byte has drained.
        scene.now += Interval(1);
        scene.send(flow, 0, Ecn::Ect0);
        assert_eq!(scene.flows.is_watched(scene.now), awake);
        assert_eq!(scene.limiter.deadline() != Nanos::NEVER, awake);
    }
}

#[test]
fn with_everything_to_learn_from_flows_are_listed_whenever_a_rate_is_in_force() {
    let mut scene =
        Scene::with(Lscc { limiting: RateLimiting { learn: 1, ..sampling().limiting }, ..lscc() });
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send(flow, 1, Ecn::Ect0);
    assert_ne!(scene.limiter.deadline(), Nanos::NEVER);
}

#[test]
fn an_interval_that_ends_above_the_reference_has_listed_all_that_sent_in_it() {
    let mut scene = Scene::with(sampling());
    let flows: Vec<_> = (1..=3).map(|qp| Sighting::Of(scene.known(qp, WireBytes(0)))).collect();
    for flow in &flows {
        // It fills twice as quickly as it could on one link.
        for _ in 0..10 {
            scene.send(*flow, 10_000, Ecn::Ect0);
            scene.now += Interval(2_500);
        }
    }
    // The first one sent before the port awoke, and the interval had not begun.
    assert_eq!(scene.notify(Offer::Taken), 2);
    assert_eq!(scene.counters().congested_intervals, 1);
}

#[test]
fn a_mark_flags_a_flow_of_a_sleeping_port_and_stays() {
    let mut scene = Scene::with(sampling());
    let slot = scene.known(1, LONG_FLOW);
    assert_eq!(scene.send(Sighting::Of(slot), LONG_REFERENCE + DRAINED + 1, Ecn::Ce), Ecn::Ce);
    scene.now += Interval(1);
    assert_eq!(scene.send(Sighting::Of(slot), 1, Ecn::Ect0), Ecn::Ect0);
    assert_eq!(scene.notify(Offer::Taken), 1, "it is old and flagged");
}

#[test]
fn the_flow_of_a_marked_packet_is_looked_up_while_a_rate_is_in_force() {
    let looks = |mut scene: Scene, ecn| {
        let headers = headers(ecn);
        let descriptor = &Descriptor::parse(&headers, Bytes(64)).unwrap();
        let frame = Crossing { now: scene.now, port: PORT, length: WireBytes(84), limited: true, descriptor };
        scene.limiter.looks(frame, &mut scene.flows)
    };
    assert!(looks(Scene::with(sampling()), Ecn::Ce));
    assert!(!looks(Scene::with(sampling()), Ecn::Ect0));
    assert!(!looks(Scene::silent(sampling()), Ecn::Ce));
}

#[test]
fn nothing_is_notified_before_the_interval_ends() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send(flow, 2 * REFERENCE, Ecn::Ect0);
    let end = scene.now + CNP_INTERVAL;
    scene.now = Nanos(end.0 - 1);
    scene.limiter.notify(scene.now, QueueSet::EMPTY, &mut scene.flows, &mut |_, _| Offer::Taken);
    assert_eq!((scene.counters().direct_cnps, scene.limiter.deadline()), (0, end));
    assert_eq!(scene.notify(Offer::Taken), 1);
}

#[test]
fn a_long_flow_gets_cnps_only_where_a_mark_or_a_cnp_of_the_far_side_has_flagged_it() {
    let listed = |sent, flag: fn(&mut Scene, Slot)| {
        let mut scene = Scene::new();
        let slot = scene.known(1, sent);
        flag(&mut scene, slot);
        scene.send(Sighting::Of(slot), 1, Ecn::Ect0);
        scene.limiter.deadline() != Nanos::NEVER
    };
    assert!(listed(WireBytes(LONG_FLOW.0 - 1), |_, _| ()));
    assert!(!listed(LONG_FLOW, |_, _| ()));
    assert!(listed(LONG_FLOW, |scene, slot| {
        scene.send(Sighting::Of(slot), 1, Ecn::Ce);
    }));
    assert!(listed(LONG_FLOW, |scene, slot| {
        assert!(scene.receive_cnp(0, Some(slot), PORT));
    }));
}

#[test]
fn no_flow_is_young_once_its_bytes_are_no_longer_counted() {
    let mut settings = lscc();
    settings.limiting.long_flow = Some(WireBytes(u64::MAX));
    let mut scene = Scene::with(settings);
    let slot = scene.known(1, Hot::MOST_SENT);
    scene.send(Sighting::Of(slot), 1, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), Nanos::NEVER);
}

#[test]
fn without_a_length_of_long_flows_a_flow_is_young_for_ever() {
    let mut settings = lscc();
    settings.limiting.long_flow = None;
    let mut scene = Scene::with(settings);
    let slot = scene.known(1, Hot::MOST_SENT);
    scene.send(Sighting::Of(slot), REFERENCE + 1, Ecn::Ect0);
    assert_ne!(scene.limiter.deadline(), Nanos::NEVER);
}

#[test]
fn a_mark_is_removed_if_a_cnp_replaces_it() {
    let after = |known: bool, length| {
        let mut scene = Scene::new();
        let slot = if known { scene.known(1, WireBytes(0)) } else { scene.unknown(1) };
        (scene.send(Sighting::Of(slot), length, Ecn::Ce), scene.counters().marks_removed)
    };
    assert_eq!(after(true, REFERENCE + 1), (Ecn::Ect0, 1));
    assert_eq!(after(true, REFERENCE), (Ecn::Ce, 0), "the pseudo-queue is short");
    assert_eq!(after(false, REFERENCE + 1), (Ecn::Ce, 0), "the sender is unknown");
}

#[test]
fn a_flow_of_an_unknown_sender_is_marked_once_in_an_interval_at_any_age() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.unknown(1));
    assert_eq!(scene.send(flow, REFERENCE + 1, Ecn::Ect0), Ecn::Ce);
    assert_eq!(scene.send(flow, 2 * REFERENCE, Ecn::Ect0), Ecn::Ect0);
    assert_eq!(scene.notify(Offer::Taken), 0);
    assert_eq!(scene.send(flow, 1, Ecn::Ect1), Ecn::Ce, "in the next interval");
    assert_eq!(scene.counters().marked_instead, 2);
    let not_ect = Sighting::Of(scene.unknown(2));
    assert_eq!(scene.send(not_ect, 1, Ecn::NotEct), Ecn::NotEct);
    assert_eq!(scene.counters().not_notified, 1);
}

#[test]
fn nothing_is_marked_while_the_pseudo_queue_is_at_its_reference() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.unknown(1));
    assert_eq!(scene.send(flow, REFERENCE, Ecn::Ect0), Ecn::Ect0);
    assert_eq!(scene.send(Sighting::Stranger, 0, Ecn::NotEct), Ecn::NotEct);
    assert_eq!(scene.counters(), LimiterCounters::default());
}

#[test]
fn each_packet_from_elsewhere_is_marked_and_its_flow_is_not_notified() {
    let mut scene = Scene::new();
    for _ in 0..2 {
        assert_eq!(scene.send(Sighting::Stranger, REFERENCE + 1, Ecn::Ect0), Ecn::Ce);
    }
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    let elsewhere = scene.send_as(PortId(2), (true, true), flow, 1, Ecn::Ect0);
    assert_eq!((elsewhere, scene.counters().marked_instead), (Ecn::Ce, 3));
    assert_eq!(scene.limiter.deadline(), Nanos::NEVER);
}

#[test]
fn only_data_of_limited_priorities_is_notified_and_only_such_priorities_fill_the_pseudo_queue() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send_as(PORT, (false, true), flow, 100, Ecn::Ect0);
    assert_eq!((scene.pseudo_queue(), scene.limiter.deadline()), (0, Nanos::NEVER));
    scene.send_as(PORT, (true, false), flow, 100, Ecn::Ect0);
    scene.send(Sighting::NoFlow, 100, Ecn::Ect0);
    scene.send(Sighting::Notification(None), 100, Ecn::Ect0);
    assert_eq!((scene.pseudo_queue(), scene.limiter.deadline()), (300, Nanos::NEVER));
}

#[test]
fn without_a_rate_from_the_other_end_nobody_is_notified() {
    let mut scene = Scene::silent(lscc());
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    assert_eq!(scene.send(flow, 3 * REFERENCE, Ecn::Ce), Ecn::Ce);
    assert_eq!(scene.send(Sighting::Stranger, 1, Ecn::Ect0), Ecn::Ect0);
    assert_eq!((scene.limiter.deadline(), scene.counters()), (Nanos::NEVER, LimiterCounters::default()));
}

#[test]
fn the_pseudo_queue_drains_at_each_rate_from_its_arrival_on() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send(flow, 40_000, Ecn::Ect0);
    scene.now += Interval::from_micros(80);
    scene.tell(2);
    assert_eq!(scene.pseudo_queue(), 30_000);
    scene.now += Interval::from_micros(40);
    scene.send(flow, 0, Ecn::Ect0);
    assert_eq!(scene.pseudo_queue(), 20_000);
    assert_eq!(scene.limiter.pseudo_queue().1, WireBytes(40_000));
}

#[test]
fn a_cnp_of_the_far_side_passes_unless_another_one_of_its_flow_was_just_before() {
    let mut settings = lscc();
    settings.limiting.far_cnp_interval = Some(Interval::from_micros(100));
    let mut scene = Scene::with(settings);
    let known = Some(scene.known(1, LONG_FLOW));
    let mut passes = |after, flow| scene.receive_cnp(after, flow, PORT);
    assert_eq!([passes(0, known), passes(99, known), passes(100, known)], [true, false, true]);
    assert!(passes(100, None) && passes(100, None));
    let LimiterCounters { far_cnps, far_cnps_unknown, far_cnps_suppressed, .. } = scene.counters();
    assert_eq!((far_cnps, far_cnps_unknown, far_cnps_suppressed), (3, 2, 1));
}

#[test]
fn a_cnp_that_does_not_come_from_the_receiver_flags_no_flow_and_takes_the_place_of_no_other() {
    let mut settings = lscc();
    settings.limiting.far_cnp_interval = Some(Interval::from_micros(100));
    let mut scene = Scene::with(settings);
    let slot = scene.known(1, LONG_FLOW);
    let elsewhere = PortId(PORT.0 + 1);
    assert!(scene.receive_cnp(0, Some(slot), elsewhere), "its sender may discard it");
    scene.send(Sighting::Of(slot), 1, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), Nanos::NEVER, "an old flow that is not flagged is not listed");
    assert_eq!([(); 2].map(|()| scene.receive_cnp(0, Some(slot), PORT)), [true, false]);
    scene.send(Sighting::Of(slot), 1, Ecn::Ect0);
    assert_ne!(scene.limiter.deadline(), Nanos::NEVER);
    let LimiterCounters { far_cnps, far_cnps_unknown, .. } = scene.counters();
    assert_eq!((far_cnps, far_cnps_unknown), (2, 1));
}

#[test]
fn a_notification_without_a_way_is_counted_and_one_without_room_is_offered_again() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send(flow, 6 * REFERENCE, Ecn::Ect0);
    assert_eq!(scene.notify(Offer::Full), 1);
    let (deadline, waits) = (scene.limiter.deadline(), scene.limiter.is_blocked());
    assert_eq!((deadline, waits), (Nanos::NEVER, true), "the port says when it has room");
    scene.limiter.notify(scene.now, QueueSet::EMPTY, &mut scene.flows, &mut |_, _| Offer::Unreachable);
    assert!(!scene.limiter.is_blocked());
    let LimiterCounters { direct_cnps, not_notified, .. } = scene.counters();
    assert_eq!((direct_cnps, not_notified, scene.limiter.deadline()), (0, 1, Nanos::NEVER));
}

#[test]
fn a_flow_whose_cnp_is_still_to_be_made_is_not_listed_again() {
    let mut scene = Scene::new();
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    scene.send(flow, 6 * REFERENCE, Ecn::Ect0);
    scene.notify(Offer::Full);
    scene.send(flow, 1, Ecn::Ect0);
    scene.limiter.notify(scene.now, QueueSet::EMPTY, &mut scene.flows, &mut |_, _| Offer::Taken);
    assert_eq!((scene.counters().direct_cnps, scene.limiter.deadline()), (1, Nanos::NEVER));
    scene.send(flow, 1, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), scene.now + CNP_INTERVAL, "it has been made");
}

#[test]
fn a_long_list_takes_several_calls_and_the_next_interval_begins_after_the_last() {
    let mut scene = Scene::new();
    for qp in 1..=65 {
        let flow = Sighting::Of(scene.known(qp, WireBytes(0)));
        scene.send(flow, REFERENCE, Ecn::Ect0);
    }
    assert_eq!(scene.notify(Offer::Taken), 64);
    assert_eq!(scene.limiter.deadline(), Nanos::ZERO);
    let other = Sighting::Of(scene.known(100, WireBytes(0)));
    scene.send(other, 1, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), Nanos::ZERO, "the list is not done");
    scene.now += Interval::from_micros(7);
    assert_eq!(scene.notify(Offer::Taken), 1);
    assert_eq!(scene.limiter.deadline(), scene.now + CNP_INTERVAL);
    assert_eq!(scene.notify(Offer::Taken), 1);
    assert_eq!(scene.counters().direct_cnps, 66);
}

#[test]
fn a_slot_that_belongs_to_another_flow_by_then_is_not_notified_and_its_former_flow_is_counted() {
    let mut settings = lscc();
    settings.limiting.flows = 8;
    let mut scene = Scene::with(settings);
    let slot = scene.known(1, WireBytes(0));
    scene.send(Sighting::Of(slot), 3 * REFERENCE, Ecn::Ect0);
    for qp in 100..106 {
        scene.unknown(qp);
    }
    scene.now += Interval::from_millis(1);
    let other = (2..20).find(|qp| scene.unknown(*qp) == slot).unwrap();
    assert_eq!(scene.known(other, LONG_FLOW), slot);
    scene.send(Sighting::Stranger, 6 * REFERENCE, Ecn::Ect0);
    assert_eq!((scene.notify(Offer::Taken), scene.counters().congested_intervals), (0, 1));
    assert_eq!(scene.counters().not_notified, 1);
}

#[test]
fn with_another_table_of_flows_nobody_is_listed_and_those_who_were_to_be_notified_are_counted() {
    for (length, not_notified) in [(6 * REFERENCE, 2), (REFERENCE + DRAINED + 1, 1)] {
        let mut scene = Scene::new();
        let [one, other] = [1, 2].map(|qp| Sighting::Of(scene.known(qp, WireBytes(0))));
        scene.send(one, length, Ecn::Ce);
        assert_eq!(scene.notify(Offer::Full), 1);
        // The end of the next interval decides whether it is notified, by the length of the pseudo-queue then.
        scene.now += Interval::from_micros(10);
        scene.send(other, 0, Ecn::Ect0);
        let mut spare = limiter(&scene.lscc);
        scene.limiter.configure(&mut spare, true);
        assert_eq!((scene.limiter.deadline(), scene.limiter.is_blocked()), (Nanos::NEVER, false));
        assert_eq!(scene.counters().not_notified, not_notified);
    }
}

#[test]
fn new_settings_apply_to_the_next_frame() {
    let mut scene = Scene::new();
    let slot = scene.known(1, LONG_FLOW);
    scene.send(Sighting::Of(slot), 3 * REFERENCE, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), Nanos::NEVER);
    let mut settings = lscc();
    settings.limiting.long_flow = Some(WireBytes(LONG_FLOW.0 + 1));
    settings.limiting.cnp_interval = Interval::from_micros(9);
    scene.limiter.configure(&mut limiter(&settings), false);
    scene.send(Sighting::Of(slot), 1, Ecn::Ect0);
    assert_eq!(scene.limiter.deadline(), scene.now + Interval::from_micros(9));
}

#[test]
fn a_flow_beyond_those_that_an_interval_can_list_is_counted_and_not_notified() {
    let mut settings = lscc();
    settings.limiting.flows = 1 << 19;
    let mut scene = Scene::with(settings);
    for qp in 0..LIST as u32 {
        let flow = Sighting::Of(scene.known(2 + qp, WireBytes(0)));
        scene.send(flow, 1, Ecn::Ect0);
    }
    assert_eq!(scene.counters().not_notified, 0);
    for (count, qp) in (1..=2).zip(2 + LIST as u32..) {
        let flow = Sighting::Of(scene.known(qp, WireBytes(0)));
        assert_eq!(scene.send(flow, 1, Ecn::Ect0), Ecn::Ect0);
        assert_eq!(scene.counters().not_notified, count);
    }
}

#[test]
fn the_number_that_stands_for_no_interval_is_left_out_when_they_come_round() {
    let mut scene = Scene::new();
    scene.limiter.list.interval = u32::MAX;
    let flow = Sighting::Of(scene.known(1, WireBytes(0)));
    for _ in 0..2 {
        scene.send(flow, 6 * REFERENCE, Ecn::Ect0);
        assert_eq!(scene.notify(Offer::Taken), 1);
    }
}
