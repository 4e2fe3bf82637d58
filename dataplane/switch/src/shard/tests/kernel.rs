//! The kernel path: what goes to the kernel, what comes from it, and the routes that it changes.

use super::*;
use crate::program::{KernelPath, LearnedRoute, Neighbour, ProgramError, Route, RouteSettings};
use crate::reason::{Consumed, DropReason};
use core::net::IpAddr;
use std::sync::Arc;
use units::Interval;
use wire::ipv4;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const OURS: [u8; 4] = [10, 0, 0, 254];
const FAR: [u8; 4] = [10, 1, 0, 7];
const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const PRIORITY: Priority = Priority::from_low_bits(6);

fn mac(port: PortId) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, port.0 as u8])
}

fn hop(port: PortId, station: u8) -> Neighbour {
    let address = IpAddr::from([10, 0, port.0 as u8, station]);
    Neighbour { address, mac: MacAddress([2, 0, 0, 0, 2, station]), port }
}

fn learned(prefix: &str, hops: &[Neighbour]) -> LearnedRoute {
    LearnedRoute { prefix: prefix.parse().unwrap(), hops: hops.into() }
}

/// A router of two ports with addresses 10.0.0.254 and 10.0.1.254, with these routes of the kernel and of its file.
fn settings(learned: &[LearnedRoute], routes: Vec<Route>, neighbours: Vec<Neighbour>) -> Settings {
    let port = |port: PortId| PortSettings {
        addresses: vec![format!("10.0.{}.254/24", port.0).parse().unwrap()],
        ..PortSettings::lossy(["a", "b"][port.index()], mac(port), BitRate::gigabits(10))
    };
    let pool = Bytes(1 << 20);
    let kernel = Some(KernelPath { priority: PRIORITY, learned: learned.into() });
    Settings {
        ports: vec![port(A), port(B)],
        buffer: BufferSettings { shared: pool, headroom: Bytes(0), egress_lossy: pool, packing: None },
        forwarding: ForwardingSettings::Route(RouteSettings { routes, neighbours, kernel, sprays: false }),
        seed: 1,
    }
}

fn program(learned: &[LearnedRoute]) -> Arc<Program> {
    Arc::new(Program::new(settings(learned, Vec::new(), Vec::new())).unwrap())
}

struct Bench {
    shard: Shard<Vec<u8>>,
    now: Nanos,
    /// What the kernel got: port, class, destination.
    given: Vec<(PortId, Punt, [u8; 6])>,
}

impl Bench {
    fn new(learned: &[LearnedRoute]) -> Self {
        let mut shard = Shard::single(program(learned));
        shard.make_room_for_punts(32);
        Self { shard, now: Nanos(1 << 30), given: Vec::new() }
    }

    fn receive(&mut self, port: PortId, frame: Vec<u8>) {
        self.shard.ingress(self.now, port, &mut vec![frame], &mut ());
        let given = &mut self.given;
        self.shard.take_punts(|port, class, frame| {
            given.push((port, class, frame[..6].try_into().unwrap()));
            true
        });
    }

    /// Frames to 10.1.0.7 that each port sends, one for each of `count` flows.
    fn forward(&mut self, count: u16) -> [usize; 2] {
        for flow in 0..count {
            self.receive(A, udp(mac(A), FAR, flow, 64));
        }
        [A, B].map(|port| self.leave(port).len())
    }

    fn leave(&mut self, port: PortId) -> Vec<Vec<u8>> {
        let mut out = Sent(Vec::new());
        while self.shard.departure(port) != Nanos::NEVER {
            self.now += Interval::from_micros(1);
            self.shard.egress(self.now, port, &mut out);
        }
        out.0
    }

    fn dropped(&self, port: PortId) -> Vec<(DropReason, u64)> {
        let mut seen = PortInspection::default();
        self.shard.inspect(self.now, port, &mut seen);
        let sum = |reason: DropReason| -> u64 {
            seen.ingress.dropped.iter().map(|dropped| dropped[reason.index()].frames).sum()
        };
        DropReason::ALL.map(|it| (it, sum(it))).into_iter().filter(|(_, frames)| *frames > 0).collect()
    }

    fn consumed(&self, port: PortId, kind: Consumed) -> u64 {
        let mut seen = PortInspection::default();
        self.shard.inspect(self.now, port, &mut seen);
        seen.ingress.consumed[kind.index()].frames
    }
}

struct Sent(Vec<Vec<u8>>);

impl Transmitter<Vec<u8>> for Sent {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _start: Nanos, frame: Vec<u8>) {
        self.0.push(frame);
    }

    fn control(&mut self, _start: Nanos, _frame: &[u8]) {}
}

fn ethernet(to: MacAddress, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &HOST.0, &ether_type.to_be_bytes(), payload].concat()
}

fn v4(to: MacAddress, destination: [u8; 4], (protocol, ttl): (u8, u8), payload: &[u8]) -> Vec<u8> {
    let length = 20 + payload.len() as u8;
    let head = [0x45, 0, 0, length, 0, 0, 0, 0, ttl, protocol, 0, 0, 10, 0, 0, 9];
    let mut packet = [&head[..], &destination, payload].concat();
    ipv4::View::parse(&mut packet[..]).unwrap().fill_checksum();
    ethernet(to, 0x0800, &packet)
}

fn udp(to: MacAddress, destination: [u8; 4], port: u16, ttl: u8) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    v4(to, destination, (17, ttl), &[0x30, 0, high, low, 0, 12, 0, 0, 1, 2, 3, 4])
}

fn v6(to: MacAddress, destination: &str, (next, first): (u8, u8)) -> Vec<u8> {
    let destination = destination.parse::<core::net::Ipv6Addr>().unwrap().octets();
    let source = [&[0xfe, 0x80][..], &[0; 13], &[9]].concat();
    let payload = [first, 0, 0, 0, 0, 0, 0, 0];
    ethernet(to, 0x86dd, &[&[0x60, 0, 0, 0, 0, 8, next, 255], &source[..], &destination, &payload].concat())
}

fn arp(sender: [u8; 4]) -> Vec<u8> {
    let body = [&[0, 1, 8, 0, 6, 4, 0, 1], &HOST.0[..], &sender, &[0; 6], &OURS].concat();
    ethernet(MacAddress::BROADCAST, 0x0806, &body)
}

/// The class of `frame` at port A; `None` if the kernel does not get it.
fn class(frame: Vec<u8>) -> Option<Punt> {
    let mut bench = Bench::new(&[]);
    bench.receive(A, frame);
    let class = bench.given.pop().map(|(_, class, _)| class).filter(|class| *class != Punt::Miss);
    let counted =
        [Consumed::PuntNeighbour, Consumed::PuntLiveness, Consumed::PuntRouting, Consumed::PuntOther];
    let counted: u64 = counted.map(|kind| bench.consumed(A, kind)).iter().sum();
    assert_eq!(counted, u64::from(class.is_some()));
    class
}

#[test]
fn what_is_for_the_gateway_itself_goes_to_the_kernel_by_class() {
    let group = MacAddress([1, 0, 0x5e, 0, 0, 5]);
    let group_v6 = MacAddress([0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(class(arp([10, 0, 0, 9])), Some(Punt::Neighbour));
    assert_eq!(class(v6(group_v6, "ff02::1:ff00:fe", (58, 135))), Some(Punt::Neighbour));
    assert_eq!(class(v6(mac(A), "fe80::1", (58, 136))), Some(Punt::Neighbour));
    for ports in [[0, 179, 0x30, 0], [0x30, 0, 0, 179]] {
        let segment = [&ports[..], &[0; 16]].concat();
        assert_eq!(class(v4(mac(A), OURS, (6, 64), &segment)), Some(Punt::Routing));
    }
    assert_eq!(class(v4(group, [224, 0, 0, 5], (89, 1), &[2; 24])), Some(Punt::Routing));
    for port in [3_784, 3_785] {
        assert_eq!(class(udp(mac(A), OURS, port, 255)), Some(Punt::Liveness));
    }
    assert_eq!(class(udp(mac(A), OURS, 4_784, 250)), Some(Punt::Routing));
    assert_eq!(class(udp(mac(A), OURS, 3_784, 254)), Some(Punt::Other), "it came from beyond the link");
    // Any address of the gateway, through any port, and an echo, which is no longer answered in place.
    assert_eq!(class(v4(mac(A), [10, 0, 1, 254], (1, 64), &[8, 0, 0, 0, 0, 1, 0, 2])), Some(Punt::Other));
    assert_eq!(class(ethernet(MacAddress::NEAREST_BRIDGE, 0x88cc, &[0; 46])), Some(Punt::Other));
}

#[test]
fn a_frame_to_any_member_of_a_bundle_has_the_address_of_the_first_one_for_the_kernel() {
    let mut settings = settings(&[], Vec::new(), Vec::new());
    for port in &mut settings.ports {
        let (delay, jitter) = (Interval(0), Interval(0));
        let bundle = "lh".into();
        port.bundle = Some(crate::program::Membership { bundle, head: A, delay, jitter, liveness: None });
    }
    settings.ports[1].addresses = Vec::new();
    let mut shard = Shard::single(Arc::new(Program::new(settings).unwrap()));
    shard.make_room_for_punts(32);
    let mut bench = Bench { shard, now: Nanos(1 << 30), given: Vec::new() };
    for (port, to) in [(A, A), (A, B), (B, A), (B, B)] {
        bench.receive(port, udp(mac(to), OURS, 7, 64));
    }
    bench.receive(B, arp([10, 0, 0, 9]));
    assert_eq!(bench.given[..4], [(A, Punt::Other, mac(A).0); 4]);
    assert_eq!(bench.given[4..], [(A, Punt::Neighbour, [0xff; 6])]);
}

#[test]
fn what_is_for_others_does_not() {
    let other = MacAddress([2, 0, 0, 0, 7, 7]);
    assert_eq!(class(udp(other, OURS, 179, 64)), None);
    assert_eq!(class(udp(mac(A), [10, 0, 0, 8], 179, 64)), None);
    assert_eq!(class(v4(MacAddress([1, 0, 0x5e, 1, 0, 5]), [224, 0, 1, 5], (17, 1), &[0; 12])), None);
    assert_eq!(class(v6(mac(A), "fd00::1", (58, 135))), None);
    assert_eq!(class(ethernet(mac(A), 0x88b5, &[0; 46])), None);
    let mut multicast_source = arp([10, 0, 0, 9]);
    multicast_source[6] = 3;
    assert_eq!(class(multicast_source), None);
}

#[test]
fn who_claims_an_address_of_the_gateway_is_dropped_before_the_kernel_sees_it() {
    let mut bench = Bench::new(&[]);
    bench.receive(A, arp(OURS));
    bench.receive(B, arp([10, 0, 0, 254]));
    assert_eq!((bench.given.len(), bench.dropped(A)), (0, vec![(DropReason::SpoofedAddress, 1)]));
}

#[test]
fn a_flood_of_one_class_is_limited_and_leaves_the_others_their_share() {
    let mut bench = Bench::new(&[]);
    for _ in 0..1_000 {
        bench.receive(A, udp(mac(A), OURS, 7, 64));
    }
    assert_eq!(bench.given.len(), 100);
    assert_eq!(bench.dropped(A), [(DropReason::PuntLimit, 900)]);
    bench.receive(A, udp(mac(A), OURS, 3_784, 255));
    bench.receive(B, udp(mac(B), OURS, 7, 64));
    assert_eq!(bench.given.len(), 102, "another class, and another port");
}

#[test]
fn a_flood_of_routing_leaves_the_sessions_of_the_link_their_share() {
    let mut bench = Bench::new(&[]);
    for count in [500, 1_000] {
        for _ in 0..1_000 {
            bench.receive(A, udp(mac(A), OURS, if count == 500 { 4_784 } else { 3_784 }, 255));
        }
        assert_eq!(bench.given.len(), count, "each has five times as much as the others");
    }
    assert!(bench.given[500..].iter().all(|(_, class, _)| *class == Punt::Liveness));
}

#[test]
fn a_frame_that_the_kernel_has_no_room_for_is_dropped_by_name_and_not_counted_as_given() {
    let mut bench = Bench::new(&[]);
    bench.shard.ingress(bench.now, A, &mut vec![arp([10, 0, 0, 9]); 2], &mut ());
    let mut first = true;
    bench.shard.take_punts(|_, _, _| core::mem::take(&mut first));
    assert_eq!(
        (bench.consumed(A, Consumed::PuntNeighbour), bench.dropped(A)),
        (1, vec![(DropReason::PuntFull, 1)])
    );
    // A switch that no one takes them from.
    let mut bench = Bench { shard: Shard::single(program(&[])), now: bench.now, given: Vec::new() };
    bench.receive(A, arp([10, 0, 0, 9]));
    assert_eq!((bench.given.len(), bench.dropped(A)), (0, vec![(DropReason::PuntFull, 1)]));
}

#[test]
fn a_frame_without_neighbour_asks_the_kernel_and_is_dropped_all_the_same() {
    let mut bench = Bench::new(&[learned("10.1.0.0/16", &[])]);
    assert_eq!(bench.forward(50), [0, 0]);
    assert_eq!(bench.dropped(A), [(DropReason::NoNeighbour, 50)]);
    assert!(bench.given.iter().all(|(_, class, _)| *class == Punt::Miss));
    assert_eq!(bench.given.len(), 10, "of the burst");
}

#[test]
fn routes_of_the_kernel_are_followed_and_exchanged_while_frames_wait() {
    let mut bench = Bench::new(&[]);
    assert_eq!(bench.forward(1), [0, 0]);
    assert_eq!(bench.dropped(A), [(DropReason::NoRoute, 1)]);
    bench.shard.exchange_routes(&mut program(&[learned("10.1.0.0/16", &[hop(A, 3), hop(B, 4)])]));
    let shares = bench.forward(64);
    assert!(shares.iter().all(|it| *it > 16) && shares.iter().sum::<usize>() == 64, "{shares:?}");
    // One waits for port B, and the route goes.
    bench.shard.exchange_routes(&mut program(&[learned("10.1.0.0/16", &[hop(B, 4)])]));
    bench.receive(A, udp(mac(A), FAR, 1, 64));
    let mut old = program(&[]);
    bench.shard.exchange_routes(&mut old);
    assert!(old.settings().forwarding.kernel_path().is_some_and(|it| it.learned.len() == 1), "it comes back");
    let left = bench.leave(B);
    assert_eq!((left.len(), &left[0][..6]), (1, &hop(B, 4).mac.0[..]));
    assert_eq!(bench.forward(1), [0, 0]);
}

#[test]
fn routes_and_neighbours_of_the_file_win() {
    let file = Neighbour { address: IpAddr::from([10, 0, 1, 4]), ..hop(B, 44) };
    let route = Route { prefix: "10.1.0.0/16".parse().unwrap(), next_hops: vec![file.address] };
    let of_kernel = [
        learned("10.1.0.0/16", &[hop(A, 3)]),
        learned("10.0.1.4/32", &[hop(A, 5)]),
        learned("10.0.1.254/32", &[hop(A, 5)]),
    ];
    let program = Program::new(settings(&of_kernel, vec![route], vec![file])).unwrap();
    let mut bench = Bench::new(&[]);
    bench.shard.exchange_routes(&mut Arc::new(program));
    bench.receive(A, udp(mac(A), FAR, 1, 64));
    bench.receive(A, udp(mac(A), [10, 0, 1, 4], 1, 64));
    let left = bench.leave(B);
    assert!(left.len() == 2 && left.iter().all(|frame| frame[..6] == file.mac.0), "{left:?}");
    bench.receive(A, udp(mac(A), [10, 0, 1, 254], 1, 64));
    assert_eq!(bench.given.len(), 1, "an address of the gateway is its own");
    // A route of the kernel through the same station.
    let route = learned("10.1.0.0/16", &[Neighbour { address: file.address, ..hop(B, 5) }]);
    let program = Program::new(settings(&[route], Vec::new(), vec![file])).unwrap();
    bench.shard.exchange_routes(&mut Arc::new(program));
    bench.receive(A, udp(mac(A), FAR, 1, 64));
    assert_eq!(bench.leave(B)[0][..6], file.mac.0);
}

#[test]
fn a_frame_of_the_kernel_leaves_through_its_port_in_the_lossy_priority() {
    let mut bench = Bench::new(&[]);
    let frame = arp(OURS);
    bench.shard.inject(bench.now, B, Bytes(42), Some(frame.clone()));
    let mut seen = PortInspection::default();
    bench.shard.inspect(bench.now, B, &mut seen);
    assert_eq!(seen.ingress.answers[PRIORITY.index()].frames, 1);
    assert_eq!(bench.leave(B), [frame]);
    // Pauses are the switch's own.
    let mut pause = ethernet(MacAddress::MAC_CONTROL, 0x8808, &[1, 1, 0, 0xff]);
    pause.resize(60, 0);
    bench.shard.inject(bench.now, B, Bytes(60), Some(pause));
    // There was no buffer for this one.
    bench.shard.inject(bench.now, B, Bytes(60), None);
    let dropped = [(DropReason::MalformedControl, 1), (DropReason::NoBuffer, 1)];
    assert_eq!((bench.leave(B).len(), bench.dropped(B).len()), (0, 2));
    assert!(dropped.iter().all(|it| bench.dropped(B).contains(it)));
}

#[test]
fn frames_of_the_kernel_have_no_lossless_priority() {
    let mut settings = settings(&[], Vec::new(), Vec::new());
    settings.buffer.headroom = Bytes(1 << 20);
    settings.ports[1].groups[6] = crate::program::GroupSettings::Lossless(crate::program::LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: crate::program::Threshold::Static(Bytes(10_000)),
        xon: Bytes(5_000),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(10_000),
    });
    let error = Program::new(settings).unwrap_err();
    assert_eq!(error, ProgramError::KernelPriority { port: "b".into(), priority: PRIORITY });
}
