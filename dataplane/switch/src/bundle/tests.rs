use super::*;
use crate::frame::{Links, Transmitter};
use crate::ledger::Volume;
use crate::program::{
    BufferSettings, ForwardingSettings, GroupSettings, LosslessGroup, Membership, PortSettings, Program,
    Threshold,
};
use crate::shard::Shard;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{BitRate, Bytes, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::pfc;

const HOST: PortId = PortId(0);
/// The members: one as fast as the host's port, one half as fast and nearer, and one a quarter as fast and farther.
const MEMBERS: [PortId; 3] = [PortId(1), PortId(2), PortId(3)];
const RATES: [u64; 3] = [8, 4, 2];
const DELAYS: [Interval; 3] = [Interval(20_000), Interval(5_000), Interval(60_000)];
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
        let bundle = Membership { bundle: "lh".into(), head: MEMBERS[0], delay, jitter: JITTER };
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
    up: [bool; 3],
    /// By arrival, the flow and number of each packet that is under way.
    under_way: BTreeMap<(Nanos, usize), (u16, u32, usize)>,
    sent: usize,
    /// By member, the arrival of the last one: a link keeps its order.
    last: [Nanos; 3],
    control: [usize; 3],
}

/// One link of the fibre.
struct OneLink<'a>(&'a mut Fibre, usize);

impl Fibre {
    fn new() -> Self {
        Self { up: [true; 3], under_way: BTreeMap::new(), sent: 0, last: [Nanos::ZERO; 3], control: [0; 3] }
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
            let flow = (self.now.0 / 1_048 % u64::from(FLOWS)) as u16;
            let number = &mut self.next[usize::from(flow)];
            let frame = packet(flow, *number);
            *number += 1;
            self.shard.ingress(self.now, HOST, &mut vec![frame], &mut self.fibre);
            self.pass(Interval(1_048));
        }
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
    let mut frames = [0; 3];
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
    let moved_in: u64 = [1, 2].map(|member| world.report(member).moved_in.frames).into_iter().sum();
    assert_eq!(moved_in, report.moved_out.frames);
    world.set_carrier(0, true);
    assert_eq!(world.report(0).state, MemberState::Returning);
    world.load(Interval::from_millis(3));
    world.pass(QUIET);
    assert_eq!((world.report(0).state, world.report(0).returns), (MemberState::Up, 1));
    world.expect_all_in_order();
}

#[test]
fn without_the_wait_for_its_siblings_a_member_that_returns_overtakes_them() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(3));
    // With all links up, frames of a member move only if it fails, and the flows of others stay.
    world.set_carrier(1, false);
    world.load(Interval::from_millis(1));
    world.fibre.up[1] = true;
    // The control: it is made to send at once.
    world.shard.set_carrier(world.now, MEMBERS[1], true);
    world.shard.return_now_for_tests(world.now, MEMBERS[1]);
    world.load(Interval::from_millis(3));
    world.pass(QUIET);
    let reordered = |numbers: &Vec<u32>| !numbers.is_sorted_by(|one, next| one < next);
    assert!(world.arrived.iter().any(reordered), "the wait is what keeps the order");
}

#[test]
fn a_member_that_cannot_return_moves_its_frames_again() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(1));
    world.set_carrier(0, false);
    // Its siblings are paused for longer than its patience, with frames that moved to them.
    for round in 0..1_500 {
        [1, 2].into_iter().for_each(|member| world.pause(member));
        match round {
            0 => world.load(Interval::from_millis(1)),
            1 => world.set_carrier(0, true),
            _ => world.pass(Interval::from_millis(1)),
        }
    }
    assert_eq!((world.report(0).state, world.report(0).gave_up), (MemberState::Returning, 1));
    world.load(Interval::from_millis(1));
    world.pass(Interval::from_millis(2_000));
    assert_eq!(world.report(0).state, MemberState::Up);
    world.expect_all_in_order();
}

#[test]
fn without_a_sibling_frames_wait_for_a_carrier() {
    let mut world = World::new(settings());
    world.load(Interval::from_millis(1));
    [0, 1, 2].into_iter().for_each(|member| world.set_carrier(member, false));
    world.load(Interval(500_000));
    assert!(world.waiting().frames > 100, "{:?} {:?}", world.waiting(), world.next);
    assert_eq!(world.shard.next_deadline(), Nanos::NEVER);
    world.set_carrier(2, true);
    world.pass(Interval::from_millis(20));
    assert_eq!(world.waiting(), Volume::ZERO);
    [1, 0].into_iter().for_each(|member| world.set_carrier(member, true));
    world.pass(Interval::from_millis(20));
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
        3 => (0..3_usize, any::<bool>()).prop_map(|(member, up)| Step::Carrier(member, up)),
        1 => (0..3_usize).prop_map(Step::Pause),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// While one member carries everything all the time, whatever happens to the others, in whatever order, nothing is lost
    /// inside and nothing is reordered.
    #[test]
    fn cuts_and_returns_lose_and_reorder_nothing_while_one_member_stays(steps in steps(), stays in 0..3_usize) {
        let mut world = World::new(settings());
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
        (0..3).filter(|member| !world.fibre.up[*member]).collect::<Vec<_>>().into_iter().for_each(|member| {
            world.set_carrier(member, true);
        });
        world.pass(Interval::from_millis(3_000));
        world.expect_all_in_order();
        for member in 0..3 {
            prop_assert_eq!(world.report(member).state, MemberState::Up);
        }
    }
}
