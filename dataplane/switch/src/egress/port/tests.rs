//! A port of a byte a nanosecond, without ingress.

use super::*;
use crate::program::{BufferSettings, GroupSettings, LosslessGroup, RateLimit, Red, Threshold};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use units::{BitRate, PauseQuanta, PortId, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Ecn;

const P3: Priority = Priority::from_low_bits(3);
const Q3: QueueId = QueueId::from_low_bits(3);
/// Bytes of each frame: 1,000 on the wire.
const LENGTH: u16 = 976;
/// The cells of a frame.
const COST: u64 = 992;
const LOSSLESS: bool = true;
const LOSSY: bool = false;

/// An IPv4 packet that understands ECN.
struct Packet([u8; 64]);

impl Packet {
    fn new() -> Self {
        let mut bytes = [0; 64];
        bytes[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
        Self(bytes)
    }

    fn is_marked(&self) -> bool {
        self.0[15] & 3 == Ecn::Ce as u8
    }
}

impl Frame for Packet {
    fn headers(&self) -> &[u8] {
        &self.0
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn length(&self) -> Bytes {
        Bytes(LENGTH.into())
    }

    fn duplicate(&self) -> Option<Self> {
        None
    }
}

/// Takes so many frames.
struct Out {
    sent: Vec<Packet>,
    room: usize,
}

impl Transmitter<Packet> for Out {
    fn room(&self) -> usize {
        self.room - self.sent.len()
    }

    fn frame(&mut self, _: Nanos, frame: Packet) {
        self.sent.push(frame);
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

fn settings() -> PortSettings {
    let mut port = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
    port.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: Threshold::Static(Bytes(10_000)),
        xon: Bytes(5_000),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(10_000),
    });
    port.pfc.obey = PrioritySet::EMPTY.with(P3);
    port
}

/// A rule that marks what finds or leaves more than a frame.
fn red(mark_at: MarkAt) -> Option<Red> {
    let kmin = Bytes(LENGTH.into());
    Some(Red { kmin, kmax: kmin + Bytes(1), pmax: 1.0, mark_at, adaptive: None })
}

/// A frame for queue 3, whose IP header starts at `ip_offset`.
fn queued(lossless: bool, ip_offset: u8) -> Queued<Packet> {
    Queued {
        frame: Packet::new(),
        since: Nanos(0),
        length: LENGTH,
        charge: Charge::new(PortId(1), P3, lossless),
        egress: PortId(0),
        queue: Q3,
        ip_offset,
    }
}

struct Scene {
    port: EgressPort,
    store: Store<Packet>,
    pools: Pools,
    rng: Pcg32,
}

impl Scene {
    /// A port with room for 100 lossy frames.
    fn new(settings: &PortSettings) -> Self {
        let buffer = BufferSettings {
            shared: Bytes(100 * COST),
            headroom: Bytes::ZERO,
            egress_lossy: Bytes(100 * COST),
            packing: None,
        };
        Self {
            port: EgressPort::new(settings),
            store: Store::new(None, settings.queues.len()),
            pools: Pools::new(&buffer),
            rng: Pcg32::seed_from_u64(1),
        }
    }

    /// Queues frames for queue 3, whose IP header starts at `ip_offset`. Returns the number that are taken.
    fn enqueue(&mut self, count: usize, lossless: bool, ip_offset: u8) -> usize {
        let Self { port, store, pools, rng } = self;
        let frames = (0..count).map(|_| queued(lossless, ip_offset));
        frames.filter_map(|frame| port.enqueue(store, pools, frame, rng).ok()).count()
    }

    /// Adds a run of frames to queue 3.
    fn run(&mut self, count: usize, lossless: bool) {
        let Self { port, store, pools, .. } = self;
        let (mut lent, mut load) = (port.lend(Q3), Load::ZERO);
        for _ in 0..count {
            store.push_of_run(&mut lent, queued(lossless, 0));
            load += Load::of_frame(Bytes(LENGTH.into()));
        }
        port.end_run(Q3, (lent, Charge::new(PortId(1), P3, lossless), load), (store, pools));
    }

    /// Lets a turn begin at `now`. Returns the frames that leave, the load that is credited, and whether the port says
    /// that any left.
    fn serve(&mut self, now: Nanos, room: usize) -> (Vec<Packet>, Load, bool) {
        let Self { port, store, pools, rng } = self;
        let turn = port.next_turn(now, store).unwrap();
        let (mut out, mut credited) = (Out { sent: Vec::new(), room }, Load::ZERO);
        let any = port.serve(now, turn, (store, pools, rng), &mut out, |_, load| credited += load);
        (out.sent, credited, any)
    }

    /// Lets all waiting frames leave. Returns whether each is marked.
    fn marks(&mut self) -> Vec<bool> {
        let mut marks = Vec::new();
        while self.port.has_waiting(Q3) {
            let (sent, ..) = self.serve(self.port.deadline(), usize::MAX);
            marks.extend(sent.iter().map(Packet::is_marked));
        }
        marks
    }

    fn lossy_held(&self) -> u64 {
        self.pools.egress_lossy.held.0
    }

    /// Whether a lone frame may pass when a link that was taken at zero is free again.
    fn may_pass(&self, lossless: bool) -> bool {
        self.may_pass_at(Nanos(1_000), lossless)
    }

    fn may_pass_at(&self, now: Nanos, lossless: bool) -> bool {
        self.port.may_pass(now, Bytes(LENGTH.into()), Q3, lossless, &self.pools)
    }
}

#[test]
fn a_frame_is_marked_by_the_queue_that_it_finds_or_leaves_as_the_rule_says() {
    let with = |mark_at, ip_offset| {
        let mut settings = settings();
        settings.queues[Q3.index()].red = red(mark_at);
        let mut scene = Scene::new(&settings);
        scene.enqueue(4, LOSSLESS, ip_offset);
        let marks = scene.marks();
        assert_eq!(marks.iter().filter(|it| **it).count() as u64, scene.port.queue(Q3).counters.marked);
        marks
    };
    assert_eq!(with(MarkAt::Enqueue, 14), [false, false, true, true]);
    assert_eq!(with(MarkAt::Dequeue, 14), [true, true, false, false]);
    for mark_at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        assert_eq!(with(mark_at, 0), [false; 4], "these understand no mark");
    }
}

#[test]
fn a_run_has_the_room_of_its_queue_unless_frames_may_be_marked_as_they_come() {
    let room = |mark_at: Option<MarkAt>, lossless| {
        let mut settings = settings();
        settings.queues[Q3.index()].red = mark_at.and_then(red);
        let scene = Scene::new(&settings);
        let charge = Charge::new(PortId(1), P3, lossless);
        scene.port.room_for_run(Q3, charge, &scene.store, &scene.pools)
    };
    let most = Cells::within(100 * COST);
    for mark_at in [None, Some(MarkAt::Dequeue)] {
        assert_eq!(room(mark_at, LOSSY), most);
        assert!(room(mark_at, LOSSLESS) > most);
    }
    assert_eq!(room(Some(MarkAt::Enqueue), LOSSY), Cells::ZERO);
    assert_eq!(room(Some(MarkAt::Enqueue), LOSSLESS), Cells::ZERO);
}

#[test]
fn lossy_frames_take_the_egress_pool_until_they_leave_and_lossless_ones_never_do() {
    let mut scene = Scene::new(&settings());
    assert_eq!(scene.enqueue(101, LOSSY, 0), 100);
    assert_eq!(scene.enqueue(1, LOSSLESS, 0), 1);
    assert_eq!((scene.lossy_held(), scene.port.queue(Q3).waiting().frames), (100 * COST, 101));
    let (sent, credited, any) = scene.serve(Nanos(0), 3);
    // The link takes one frame at a time.
    assert_eq!((sent.len(), credited.volume.frames, any), (1, 1, true));
    assert_eq!(scene.lossy_held(), 99 * COST);
    scene.port.take_first(Q3, &mut scene.store, &mut scene.pools).unwrap();
    assert_eq!(scene.lossy_held(), 98 * COST);
    assert_eq!(scene.port.queue(Q3).waiting(), Volume { frames: 99, bytes: Bytes(99 * u64::from(LENGTH)) });
    for _ in 0..98 {
        scene.port.take_first(Q3, &mut scene.store, &mut scene.pools).unwrap();
    }
    assert_eq!(scene.lossy_held(), 0);
    assert!(scene.port.has_waiting(Q3), "the lossless frame");
    scene.port.take_first(Q3, &mut scene.store, &mut scene.pools).unwrap();
    assert_eq!((scene.lossy_held(), scene.port.has_waiting(Q3)), (0, false));
}

#[test]
fn a_turn_without_room_sends_nothing_and_does_not_count_as_sending() {
    let mut settings = settings();
    settings.tx_window = units::Interval(10_000);
    let mut scene = Scene::new(&settings);
    scene.enqueue(3, LOSSLESS, 0);
    let (sent, credited, any) = scene.serve(Nanos(5), 0);
    assert_eq!((sent.len(), credited, any), (0, Load::ZERO, false));
    assert_eq!(scene.port.queue(Q3).last_sent, Nanos::ZERO);
    let (sent, _, any) = scene.serve(Nanos(5), 2);
    assert_eq!((sent.len(), any), (2, true));
    assert_eq!(scene.port.queue(Q3).last_sent, Nanos(5));
    assert_eq!(scene.port.queue(Q3).counters.transmitted.frames, 2);
}

#[test]
fn a_lone_frame_may_pass_a_port_where_nothing_holds_it() {
    let scene = Scene::new(&settings());
    assert!(scene.may_pass(LOSSLESS) && scene.may_pass(LOSSY));
    let mut shaped = settings();
    shaped.rate_limit = Some(RateLimit { rate: BitRate::gigabits(4), burst: Bytes(9_000) });
    assert!(!Scene::new(&shaped).may_pass(LOSSLESS));
    let stamped = PortSettings { int: true, rate: BitRate::gigabits(100), ..settings() };
    assert!(!Scene::new(&stamped).may_pass(LOSSLESS));
    for (max_frame, passes) in [(u64::from(LENGTH), true), (u64::from(LENGTH) - 1, false)] {
        let port = PortSettings { max_frame: Bytes(max_frame), ..settings() };
        assert_eq!(Scene::new(&port).may_pass(LOSSLESS), passes);
    }
    for (mark_at, passes) in [(MarkAt::Dequeue, true), (MarkAt::Enqueue, false)] {
        let mut port = settings();
        port.queues[Q3.index()].red = red(mark_at);
        assert_eq!(Scene::new(&port).may_pass(LOSSLESS), passes);
    }
}

#[test]
fn a_lone_frame_waits_behind_frames_pauses_and_a_busy_link() {
    let after = |change: fn(&mut Scene)| {
        let mut scene = Scene::new(&settings());
        change(&mut scene);
        (scene.may_pass(LOSSLESS), scene.may_pass(LOSSY))
    };
    assert_eq!(after(|scene| assert_eq!(scene.enqueue(1, LOSSLESS, 0), 1)), (false, false));
    let paused = after(|scene| scene.port.gate.pauses.stop(Nanos(0), P3, PauseQuanta(100)));
    assert_eq!(paused, (false, false));
    let full = after(|scene| scene.pools.egress_lossy.held = Bytes(100 * COST));
    assert_eq!(full, (true, false), "lossless frames do not take this pool");

    let mut scene = Scene::new(&settings());
    scene.port.gate.occupy(Nanos(0), Bytes(LENGTH.into()));
    let passes = [999, 1_000].map(|now| scene.may_pass_at(Nanos(now), LOSSLESS));
    assert_eq!(passes, [false, true]);
}

#[test]
fn a_run_joins_the_frames_that_wait_and_takes_the_egress_pool_where_it_is_lossy() {
    for (lossless, held) in [(LOSSLESS, 0), (LOSSY, 3 * COST)] {
        let mut scene = Scene::new(&settings());
        scene.enqueue(2, LOSSLESS, 0);
        scene.run(3, lossless);
        let queue = scene.port.queue(Q3);
        assert_eq!(queue.waiting(), Volume { frames: 5, bytes: Bytes(5 * u64::from(LENGTH)) });
        assert_eq!(queue.watermark.persistent(), Bytes(5 * u64::from(LENGTH)));
        assert_eq!(scene.lossy_held(), held);
        assert_eq!(scene.marks().len(), 5);
        assert_eq!(scene.lossy_held(), 0);
    }
}

#[test]
fn a_frame_that_passes_takes_the_link_and_leaves_its_mark_on_the_pool_where_it_is_lossy() {
    for (lossless, most) in [(LOSSLESS, 0), (LOSSY, COST)] {
        let mut scene = Scene::new(&settings());
        let Scene { port, pools, .. } = &mut scene;
        let start = |now| port.pass(Nanos(now), Bytes(LENGTH.into()), Q3, lossless, pools);
        assert_eq!([0, 100].map(start), [Nanos(0), Nanos(1_000)]);
        assert_eq!(pools.egress_lossy.watermark.persistent(), Bytes(most));
        let queue = scene.port.queue(Q3);
        let two = Volume { frames: 2, bytes: Bytes(2 * u64::from(LENGTH)) };
        assert_eq!((queue.counters.transmitted, queue.last_sent), (two, Nanos(100)));
        assert_eq!((queue.delay.count(), queue.watermark.persistent()), (2, Bytes(LENGTH.into())));
        assert_eq!(scene.lossy_held(), 0);
    }
}

#[test]
fn new_settings_hold_for_frames_that_wait() {
    let mut scene = Scene::new(&settings());
    scene.enqueue(4, LOSSLESS, 14);
    let mut new = PortSettings { max_frame: Bytes(u64::from(LENGTH) - 1), ..settings() };
    new.queues[Q3.index()].red = red(MarkAt::Dequeue);
    new.queues[Q3.index()].lossy.threshold = Threshold::Static(Bytes(5 * COST));
    scene.port.configure(Nanos(0), &settings(), &new, |_, change| panic!("{change:?}"));
    assert_eq!(scene.enqueue(6, LOSSY, 0), 5);
    assert_eq!(scene.marks(), [true, true, true, true, false, false, false, false, false]);
    assert!(!scene.may_pass_at(Nanos(100_000), LOSSLESS), "it is too long now");
    scene.port.queues_mut().iter_mut().for_each(Queue::clear_watermark);
    assert_eq!(scene.port.queue(Q3).watermark.since_cleared(), Bytes::ZERO);
}

#[test]
fn the_link_has_carried_the_data_and_the_control_frames_that_were_sent() {
    let mut scene = Scene::new(&settings());
    scene.enqueue(2, LOSSLESS, 0);
    assert_eq!(scene.marks().len(), 2);
    assert_eq!(scene.port.send_control(Nanos(2_000), Bytes(60)), Nanos(2_000));
    // Both with FCS, preamble and gap.
    assert_eq!(scene.port.carried(), WireBytes(2 * 1_000 + 84));
}
