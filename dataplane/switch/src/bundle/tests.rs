use super::*;
use crate::frame::{Links, Transmitter};
use crate::ledger::Volume;
use crate::liveness::{Liveness, Proof};
use crate::program::{
    BufferSettings, ForwardingSettings, GroupSettings, LosslessGroup, Membership, PortSettings, Program,
    Threshold,
};
use crate::program::{Watchdog, WatchdogAction};
use crate::reason::DropReason;
use crate::shard::Shard;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{BitRate, Bytes, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::pfc;

const HOST: PortId = PortId(0);
/// The members: one as fast as the host's port, one half as fast and nearer, one a quarter as fast and farther, and one like
/// the second.
const MEMBERS: [PortId; COUNT] = [PortId(1), PortId(2), PortId(3), PortId(4)];
const COUNT: usize = 4;
const RATES: [u64; COUNT] = [8, 4, 2, 4];
const DELAYS: [Interval; COUNT] = [Interval(20_000), Interval(5_000), Interval(60_000), Interval(5_000)];
const JITTER: Interval = Interval(1_000);
const FLOWS: u16 = 24;
const P3: Priority = Priority::from_low_bits(3);

fn settings() -> Settings {
    let port = |number: u8, rate: u64| {
        let mac = MacAddress([2, 0, 0, 0, 0, number]);
        let mut port = PortSettings::lossy(format!("p{number}"), mac, BitRate::gigabits(rate));
        port.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(32 << 20)),
            xon: Bytes(1 << 19),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(1 << 20),
        });
        port.pfc.obey = PrioritySet::EMPTY.with(P3);
        port
    };
    let mut ports = vec![port(0, 8)];
    for (number, (rate, delay)) in (1..).zip(RATES.into_iter().zip(DELAYS)) {
        let bundle =
            Membership { bundle: "lh".into(), head: MEMBERS[0], delay, jitter: JITTER, liveness: None };
        ports.push(PortSettings { bundle: Some(bundle), ..port(number, rate) });
    }
    let pool = Bytes(64 << 20);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    Settings { ports, buffer, forwarding: ForwardingSettings::Patch(vec![(HOST, MEMBERS[0])]), seed: 7 }
}

/// The packet with this number of a flow, between UDP ports.
fn packet(flow: u16, number: u32) -> Vec<u8> {
    let mut bytes = vec![0; 500];
    bytes[12..14].copy_from_slice(&[0x08, 0]);
    bytes[14..24].copy_from_slice(&[0x45, 26 << 2, 1, 230, 0, 0, 0, 0, 64, 17]);
    bytes[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 9, 9]);
    bytes[34..36].copy_from_slice(&flow.to_be_bytes());
    bytes[42..46].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Links to the other site, where all frames arrive that left through a link with a carrier.
struct Fibre {
    up: [bool; COUNT],
    /// By arrival, the flow and number of each packet that is under way.
    under_way: BTreeMap<(Nanos, usize), (u16, u32, usize)>,
    sent: usize,
    /// By member, the arrival of the last one: a link keeps its order.
    last: [Nanos; COUNT],
    control: [usize; COUNT],
}

/// One link of the fibre.
struct OneLink<'a>(&'a mut Fibre, usize);

impl Fibre {
    fn new() -> Self {
        Self {
            up: [true; COUNT],
            under_way: BTreeMap::new(),
            sent: 0,
            last: [Nanos::ZERO; COUNT],
            control: [0; COUNT],
        }
    }

    fn carry(&mut self, member: usize, start: Nanos, frame: &[u8]) {
        assert!(self.up[member], "nothing leaves through a link without a carrier");
        let flow = u16::from_be_bytes([frame[34], frame[35]]);
        let number = u32::from_be_bytes([frame[42], frame[43], frame[44], frame[45]]);
        // The jitter of the link is at its most for every third frame, and none for the rest.
        let late = if self.sent.is_multiple_of(3) { JITTER } else { Interval::ZERO };
        let bits = units::WireBytes::of_frame(Bytes(frame.len() as u64));
        let arrival =
            start + BitRate::gigabits(RATES[member]).serialization().time_of(bits) + DELAYS[member] + late;
        let arrival = arrival.max(self.last[member]);
        self.last[member] = arrival;
        self.sent += 1;
        self.under_way.insert((arrival, self.sent), (flow, number, member));
    }

    /// Cuts a link: what is on it is lost.
    fn cut(&mut self, member: usize) -> usize {
        self.up[member] = false;
        let before = self.under_way.len();
        self.under_way.retain(|_, (_, _, by)| *by != member);
        before - self.under_way.len()
    }
}

impl Transmitter<Vec<u8>> for OneLink<'_> {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, start: Nanos, frame: Vec<u8>) {
        self.0.carry(self.1, start, &frame);
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {
        assert!(self.0.up[self.1], "no control frame leaves through a link without a carrier");
        self.0.control[self.1] += 1;
    }
}

impl Links<Vec<u8>> for Fibre {
    fn takes(&self, _: PortId) -> bool {
        true
    }

    fn frame(&mut self, port: PortId, start: Nanos, frame: Vec<u8>) {
        self.carry(port.index() - 1, start, &frame);
    }
}

/// A gateway, its links, and what has arrived.
struct World {
    shard: Shard<Vec<u8>>,
    fibre: Fibre,
    now: Nanos,
    next: [u32; FLOWS as usize],
    /// By flow, the numbers that have arrived, in order of arrival.
    arrived: Vec<Vec<u32>>,
    lost: usize,
}

impl World {
    fn new(settings: Settings) -> Self {
        Self {
            shard: Shard::single(Arc::new(Program::new(settings).unwrap())),
            fibre: Fibre::new(),
            now: Nanos(1_000),
            next: [0; FLOWS as usize],
            arrived: vec![Vec::new(); FLOWS.into()],
            lost: 0,
        }
    }

    /// Sends packets of all flows for `time`, at half of the rate of the port, and lets everything happen meanwhile.
    fn load(&mut self, time: Interval) {
        let end = self.now + time;
        while self.now < end {
            self.send((self.now.0 / 1_048 % u64::from(FLOWS)) as u16);
            self.pass(Interval(1_048));
        }
    }

    /// Takes `packets` of all flows in turn, at one instant.
    fn burst(&mut self, packets: u64) {
        (0..packets).for_each(|place| self.send((place % u64::from(FLOWS)) as u16));
    }

    /// Takes the next packet of `flow`.
    fn send(&mut self, flow: u16) {
        let number = &mut self.next[usize::from(flow)];
        let frame = packet(flow, *number);
        *number += 1;
        self.shard.ingress(self.now, HOST, &mut vec![frame], &mut self.fibre);
    }

    /// Lets time pass.
    fn pass(&mut self, time: Interval) {
        let end = self.now + time;
        loop {
            let due = MEMBERS.into_iter().find(|port| self.shard.port_deadline(*port) <= self.now);
            if let Some(port) = due {
                self.shard.egress(self.now, port, &mut OneLink(&mut self.fibre, port.index() - 1));
                continue;
            }
            let next = MEMBERS.into_iter().map(|port| self.shard.port_deadline(port)).min().unwrap();
            self.now = next.min(end);
            if next > end {
                break;
            }
        }
        while let Some(entry) = self.fibre.under_way.first_entry().filter(|it| it.key().0 <= self.now) {
            let (flow, number, _) = entry.remove();
            self.arrived[usize::from(flow)].push(number);
        }
    }

    fn set_carrier(&mut self, member: usize, up: bool) {
        if up {
            self.fibre.up[member] = true;
        } else {
            self.lost += self.fibre.cut(member);
        }
        self.shard.set_carrier(self.now, MEMBERS[member], up);
    }

    /// The other end of a member's link pauses it for the longest time.
    fn pause(&mut self, member: usize) {
        let mut times = [None; Priority::COUNT];
        times[P3.index()] = Some(PauseQuanta::MAX);
        let mut frame = [0; 60];
        pfc::Frame { source: MacAddress([2, 0, 0, 0, 9, 9]), times }.emit(&mut frame).unwrap();
        self.shard.ingress(self.now, MEMBERS[member], &mut vec![frame.to_vec()], &mut self.fibre);
    }

    fn report(&self, member: usize) -> BundleReport {
        let mut look = crate::PortInspection::default();
        self.shard.inspect(self.now, MEMBERS[member], &mut look);
        look.bundle.unwrap()
    }

    fn waiting(&self) -> Volume {
        let ledger = self.shard.ledger();
        MEMBERS.into_iter().map(|port| ledger.egress_queue(port, P3)).sum()
    }

    /// Asserts that all has arrived in order but what was on links as they were cut.
    fn expect_all_in_order(&self) {
        let in_order = |numbers: &Vec<u32>| numbers.is_sorted_by(|one, next| one < next);
        let wrong = self.arrived.iter().position(|numbers| !in_order(numbers));
        assert_eq!(wrong, None, "frames of this flow were reordered");
        let sent: u32 = self.next.iter().sum();
        let arrived: usize = self.arrived.iter().map(Vec::len).sum();
        assert_eq!(arrived + self.lost, sent as usize, "nothing is lost inside");
        assert_eq!(self.waiting(), Volume::ZERO);
        let mut look = crate::PortInspection::default();
        self.shard.inspect(self.now, HOST, &mut look);
        assert_eq!(look.groups[P3.index()].occupancy, Bytes::ZERO);
        assert_eq!(self.shard.pools().shared.held, Bytes::ZERO);
    }
}

const QUIET: Interval = Interval::from_millis(5);

#[test]
fn flows_are_spread_by_rates_and_each_keeps_its_member() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(20));
    world.pass(QUIET);
    world.expect_all_in_order();
    let bundles = Bundles::new(&settings()).unwrap();
    let mut frames = [0; COUNT];
    for flow in 0..6_000 {
        let frame = packet(flow, 0);
        let descriptor = Descriptor::parse(&frame, Bytes(500)).unwrap();
        let member = bundles.member(MEMBERS[0], &descriptor, &frame);
        assert_eq!(member, bundles.member(MEMBERS[0], &descriptor, &packet(flow, 9)));
        frames[member.index() - 1] += 1;
    }
    for (frames, rate) in frames.into_iter().zip(RATES) {
        let share = 6_000 * rate / RATES.iter().sum::<u64>();
        assert!((share * 9 / 10..share * 11 / 10).contains(&frames), "{frames} of {share}");
    }
}

#[test]
fn a_cut_moves_what_waits_to_the_siblings_in_order() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(3));
    world.set_carrier(0, false);
    world.load(Interval::from_millis(3));
    let report = world.report(0);
    assert_eq!((report.state, report.failures), (MemberState::Out, 1));
    assert!(report.moved_out.frames > 500, "{report:?}");
    let moved_in: u64 = [1, 2, 3].map(|member| world.report(member).moved_in.frames).into_iter().sum();
    assert_eq!(moved_in, report.moved_out.frames);
    world.set_carrier(0, true);
    assert_eq!(world.report(0).state, MemberState::Returning);
    world.load(Interval::from_millis(3));
    world.pass(QUIET);
    assert_eq!((world.report(0).state, world.report(0).returns), (MemberState::Up, 1));
    world.expect_all_in_order();
}

/// All links but the slowest fail under load, and the first of them is back. Frames of its flows wait at the slowest.
fn with_a_backlog() -> World {
    let mut world = World::new(settings());
    [0, 1, 3].into_iter().for_each(|member| world.set_carrier(member, false));
    world.load(Interval::from_millis(3));
    world.set_carrier(0, true);
    assert_eq!(world.report(0).state, MemberState::Returning);
    world
}

#[test]
fn without_the_wait_for_its_siblings_a_member_that_returns_overtakes_them() {
    let mut world = with_a_backlog();
    world.shard.return_now_for_tests(world.now, MEMBERS[0]);
    world.load(Interval::from_millis(3));
    world.pass(QUIET);
    let reordered = |numbers: &Vec<u32>| !numbers.is_sorted_by(|one, next| one < next);
    assert!(world.arrived.iter().any(reordered), "the wait is what keeps the order");
}

#[test]
fn a_member_that_cannot_return_moves_its_frames_again() {
    let mut world = with_a_backlog();
    for _ in 0..1_200 {
        world.pause(2);
        world.pass(Interval::from_millis(1));
    }
    assert_eq!((world.report(0).state, world.report(0).gave_up), (MemberState::Out, 1));
    world.load(Interval::from_millis(1));
    world.pass(Interval::from_millis(2_000));
    assert_eq!((world.report(0).state, world.report(0).gave_up), (MemberState::Up, 1));
    world.expect_all_in_order();
}

#[test]
fn of_two_members_that_wait_to_return_the_first_moves_first_if_a_sibling_fails() {
    let mut world = World::new(settings());
    [0, 1].into_iter().for_each(|member| world.set_carrier(member, false));
    world.burst(4_000);
    world.pass(Interval(200_000));
    // The first waits for what the siblings hold, and gets frames of the second, which begins to wait for these.
    for member in [0, 1] {
        world.set_carrier(member, true);
        assert_eq!(world.report(member).state, MemberState::Returning);
        world.burst(1_000);
        world.pass(Interval(20_000));
    }
    assert!(world.report(0).moved_in.frames > 0);
    world.set_carrier(3, false);
    assert_eq!([0, 1].map(|member| world.report(member).state), [MemberState::Out; 2]);
    world.pass(Interval::from_millis(50));
    world.set_carrier(3, true);
    world.pass(Interval::from_millis(50));
    world.expect_all_in_order();
}

#[test]
fn a_member_stays_out_while_a_sibling_is_paused_so_that_other_priorities_go_on() {
    let mut world = World::new(settings());
    (1..COUNT).for_each(|member| world.pause(member));
    world.set_carrier(0, false);
    world.load(Interval::from_millis(1));
    world.set_carrier(0, true);
    assert_eq!(world.report(0).state, MemberState::Out);
    // Frames of another priority, which nobody has paused, leave through the siblings.
    let before = world.fibre.sent;
    for flow in 0..FLOWS {
        let mut frame = packet(flow, u32::MAX);
        frame[15] = 0;
        world.shard.ingress(world.now, HOST, &mut vec![frame], &mut world.fibre);
    }
    world.pass(Interval(100_000));
    assert_eq!(world.fibre.sent - before, usize::from(FLOWS));
    world.pass(Interval::from_millis(100));
    assert_eq!((world.report(0).state, world.report(0).gave_up), (MemberState::Up, 0));
}

#[test]
fn a_watchdog_ends_its_storm_while_the_link_is_down() {
    let mut settings = settings();
    let (detection, restoration) = (Interval::from_millis(100), Interval::from_millis(100));
    let watchdog = Watchdog { detection, restoration, action: WatchdogAction::Drop };
    settings.ports[1].watchdog = Some(watchdog);
    let mut world = World::new(settings);
    world.load(Interval::from_millis(1));
    world.pause(0);
    world.load(Interval::from_millis(1));
    for _ in 0..60 {
        world.pause(0);
        world.pass(Interval::from_millis(2));
    }
    let look = |world: &World| world.shard.queue(world.now, MEMBERS[0], P3);
    assert!(look(&world).stormed, "its frames are dropped");
    world.set_carrier(0, false);
    world.load(Interval(100_000));
    // The peer says nothing any more.
    world.pass(Interval::from_millis(250));
    let dropped = look(&world).dropped[DropReason::PfcWatchdog.index()];
    assert!(!look(&world).stormed && dropped.frames > 0);
    world.load(Interval::from_millis(1));
    assert_eq!(look(&world).dropped[DropReason::PfcWatchdog.index()], dropped, "they move instead");
}

#[test]
fn frames_move_to_siblings_whose_devices_send_them_and_are_dropped_by_name_if_there_is_none() {
    for shorter in [&[1, 2][..], &[1, 2, 3]] {
        let mut settings = settings();
        for member in shorter {
            settings.ports[member + 1].device_mtu = Some(Bytes(400));
        }
        let mut world = World::new(settings);
        world.set_carrier(0, false);
        world.load(Interval::from_millis(1));
        let moved = world.report(0).moved_out.frames;
        let dropped = world.shard.queue(world.now, MEMBERS[0], P3).dropped[DropReason::Oversize.index()];
        assert_eq!(world.report(3).moved_in.frames, moved);
        assert_eq!((moved > 0, dropped.frames > 0), (shorter.len() == 2, shorter.len() == 3));
    }
}

#[test]
fn next_hops_have_equal_shares_and_members_parts_of_them_by_rates() {
    let bundles = Bundles::new(&settings()).unwrap();
    let count = |hops: &[PortId], port| hops.iter().filter(|hop| **hop == port).count();
    let alone = bundles.next_hops(MEMBERS[0], false);
    assert_eq!(MEMBERS.map(|member| count(&alone, member)), [16, 8, 4, 8]);
    let beside = bundles.next_hops(MEMBERS[0], true);
    assert_eq!(MEMBERS.map(|member| count(&beside, member)), [21, 11, 5, 11]);
    assert_eq!(bundles.next_hops(HOST, true).len(), beside.len());
    assert_eq!(bundles.next_hops(HOST, false), [HOST]);
}

#[test]
fn without_a_sibling_frames_wait_for_a_carrier() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(1));
    (0..COUNT).for_each(|member| world.set_carrier(member, false));
    world.load(Interval(500_000));
    assert!(world.waiting().frames > 100, "{:?} {:?}", world.waiting(), world.next);
    assert_eq!(world.shard.next_deadline(), Nanos::NEVER);
    world.set_carrier(2, true);
    world.pass(Interval::from_millis(20));
    assert_eq!(world.waiting(), Volume::ZERO);
    [3, 1, 0].into_iter().for_each(|member| world.set_carrier(member, true));
    world.pass(Interval::from_millis(20));
    world.expect_all_in_order();
}

/// Members that wait for a link that fails (`hold_off`), and for one that lives again (`return_after`).
fn waiting(waits: Option<[Interval; 2]>) -> Settings {
    let mut settings = settings();
    let liveness = waits.map(|[hold_off, return_after]| Liveness {
        proof: Proof::Carrier,
        hold_off,
        return_after,
        is_drained: false,
    });
    settings.ports.iter_mut().filter_map(|port| port.bundle.as_mut()).for_each(|it| it.liveness = liveness);
    settings
}

#[test]
fn frames_that_wait_at_a_member_that_may_come_back_are_not_overtaken_by_those_that_move() {
    let mut world = World::new(waiting(Some([Interval::from_micros(200), Interval::ZERO])));
    world.pass(Interval::from_micros(1));
    world.set_carrier(1, false);
    world.load(Interval::from_micros(300));
    assert_eq!(world.report(1).state, MemberState::Out);
    // Frames of the second member wait at the first one.
    world.pause(0);
    world.load(Interval::from_micros(50));
    world.set_carrier(0, false);
    assert_eq!(world.report(0).state, MemberState::Out, "nobody waits for it while another one is out");
    world.load(Interval::from_micros(100));
    world.set_carrier(0, true);
    world.load(Interval::from_micros(100));
    world.set_carrier(1, true);
    world.pass(Interval::from_millis(3_000));
    world.expect_all_in_order();
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Load(u64),
    Pass(u64),
    Carrier(usize, bool),
    Pause(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_u64..400_000).prop_map(Step::Load),
        1 => (1_u64..200_000).prop_map(Step::Pass),
        3 => (0..COUNT, any::<bool>()).prop_map(|(member, up)| Step::Carrier(member, up)),
        1 => (0..COUNT).prop_map(Step::Pause),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// While one member carries everything all the time, whatever happens to the others, in whatever order, nothing is lost
    /// inside and nothing is reordered.
    #[test]
    fn cuts_and_returns_lose_and_reorder_nothing_while_one_member_stays(
        steps in steps(),
        stays in 0..COUNT,
        waits in proptest::option::of((0_u64..300_000, 0_u64..300_000)),
    ) {
        let mut world = World::new(waiting(waits.map(|(hold_off, return_after)| [Interval(hold_off), Interval(return_after)])));
        // Members that have to live before they send are out at first.
        world.pass(Interval::from_micros(1));
        for step in steps {
            match step {
                Step::Load(nanos) => world.load(Interval(nanos)),
                Step::Pass(nanos) => world.pass(Interval(nanos)),
                Step::Carrier(member, up) if member != stays && world.fibre.up[member] != up => {
                    world.set_carrier(member, up);
                }
                Step::Carrier(..) => {}
                Step::Pause(member) => world.pause(member),
            }
        }
        (0..COUNT).filter(|member| !world.fibre.up[*member]).collect::<Vec<_>>().into_iter().for_each(|member| {
            world.set_carrier(member, true);
        });
        world.pass(Interval::from_millis(3_000));
        world.expect_all_in_order();
        for member in 0..COUNT {
            prop_assert_eq!(world.report(member).state, MemberState::Up);
        }
    }
}
