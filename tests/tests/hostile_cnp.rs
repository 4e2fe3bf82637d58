//! Hosts of the data center that speak in the name of others, and the direct CNPs that they can bring about.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{feedback, introduce, lscc};
use conformance::settings::{bridged, host_mac, routed};
use conformance::{A, B, Connection, Flow, P3, TestFrame, Testbench};
use std::collections::BTreeMap;
use switch::FlowsReport;
use switch::program::Settings;
use units::{BitRate, Interval, PortId, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::Ecn;
use wire::roce::{QueuePair, bth};
use wire::{ethernet, ipv4};

/// Another port of the data center.
const C: PortId = PortId(2);
/// The station of the attacker, whatever port it is behind.
const ATTACKER: PortId = PortId(20);
const SLOW: BitRate = BitRate::gigabits(1);
/// The round trip of the long link, and a packet leaves every microsecond.
const ROUND_TRIP: u32 = 1_000;
/// The queue pair that the attacker would like to be notified.
const VICTIM: QueuePair = QueuePair::from_low_bits(0x666);
const PAYLOAD: usize = 4_096;

/// A bridge: the data center is behind A and C, the long link behind B.
fn bridge() -> Settings {
    with_lscc(bridged(3))
}

/// The same as a router.
fn router() -> Settings {
    with_lscc(routed(3))
}

/// With flows that stay young, and so are told in each interval.
fn with_lscc(mut settings: Settings) -> Settings {
    let rate = settings.ports[B.index()].rate;
    let mut lscc = lscc(rate);
    lscc.limiting.long_flow = Some(WireBytes(1 << 40));
    settings.ports[B.index()].notifiers.lscc = Some(lscc);
    settings
}

/// A connection of the host behind A to the one behind B, of which no message of the connection manager is seen.
fn connection(settings: &Settings, number: u32) -> Connection {
    let flow = Flow::new(A, B).at(P3).ecn(Ecn::Ect0);
    let routes = matches!(settings.forwarding, switch::ForwardingSettings::Route(_));
    Connection::new(if routes { flow } else { flow.bridged() }, number)
}

/// The frame as the attacker sends it: with its own source address in front, and one that brings it to the long link.
fn from_attacker(settings: &Settings, port: PortId, frame: TestFrame) -> TestFrame {
    let routes = matches!(settings.forwarding, switch::ForwardingSettings::Route(_));
    let gate = if routes { conformance::settings::port_mac(port) } else { host_mac(B) };
    with_addresses(frame, gate, host_mac(ATTACKER))
}

fn with_addresses(mut frame: TestFrame, destination: MacAddress, source: MacAddress) -> TestFrame {
    frame.bytes[..6].copy_from_slice(&destination.0);
    frame.bytes[6..12].copy_from_slice(&source.0);
    frame
}

/// A connection in use: a packet every microsecond, each acknowledged a round trip later. The other end asks for
/// less than that all the time.
struct Scene {
    bench: Testbench,
    connection: Connection,
    sent: u32,
}

impl Scene {
    fn new(settings: Settings) -> Self {
        let connection = connection(&settings, 5);
        let mut bench = Testbench::new(settings);
        // A bridge learns where its stations are.
        bench.inject_singly(B, [Flow::new(B, A).bridged().udp(64)]);
        introduce(&mut bench, 1, SLOW);
        Self { bench, connection, sent: 0 }
    }

    /// Sends for so many microseconds. Before each packet comes what `hostile` makes of its number.
    fn run(&mut self, micros: u32, mut hostile: impl FnMut(u32) -> Vec<(PortId, TestFrame)>) {
        for number in self.sent..self.sent + micros {
            if number % 100 == 0 {
                self.bench.inject_singly(B, [feedback(1 + self.bench.now().0, SLOW)]);
            }
            for (port, frame) in hostile(number) {
                self.bench.inject_singly(port, [frame]);
            }
            self.bench.inject_singly(A, [self.connection.data(number, PAYLOAD)]);
            if number >= ROUND_TRIP {
                self.bench.inject_singly(B, [self.connection.acknowledge(number - ROUND_TRIP)]);
            }
            self.bench.run_for(Interval::from_micros(1));
        }
        self.sent += micros;
    }

    fn in_peace(&mut self, micros: u32) {
        self.run(micros, |_| Vec::new());
    }

    fn report(&self) -> FlowsReport {
        self.bench.shard.flows(B).unwrap()
    }

    /// How many direct CNPs left, by port, station and queue pair.
    fn notified(&self) -> BTreeMap<(PortId, MacAddress, QueuePair), usize> {
        let mut notified = BTreeMap::new();
        for port in [A, B, C] {
            for sent in self.bench.sent(port).iter().filter(|it| it.control && it.pfc().is_none()) {
                let frame = &sent.frame.bytes;
                let station = ethernet::View::parse(&frame[..]).unwrap().destination();
                if station != MacAddress::NEAREST_NON_TPMR_BRIDGE {
                    let pair = bth::View::parse(&frame[42..]).unwrap().destination_qp();
                    *notified.entry((port, station, pair)).or_default() += 1;
                }
            }
        }
        notified
    }

    /// Asserts that the sender was sent direct CNPs, as many as is usual in the time that it is known, and no one else.
    fn assert_only_the_sender_is_notified(&self) {
        let notified = self.notified();
        let sender = (A, host_mac(A), self.connection.source_qp);
        let others: Vec<_> = notified.iter().filter(|(whom, _)| **whom != sender).collect();
        assert!(others.is_empty(), "CNPs to others: {notified:?}, {:?}", self.report().resolver);
        let told = notified.get(&sender).copied().unwrap_or_default();
        // Responses count when a round trip has certainly passed. After each 50 us the next packet begins an interval.
        let usual = (self.sent as usize - 3_200) / 52;
        assert!(told >= usual, "{told} of {usual} CNPs to the sender, {:?}", self.report());
    }
}

#[test]
fn acknowledgements_in_the_name_of_the_receiver_bind_nothing_on_their_way_to_it() {
    for (settings, port) in [(bridge(), A), (bridge(), C), (router(), A), (router(), C)] {
        let mut scene = Scene::new(settings.clone());
        let forged = Connection { source_qp: VICTIM, ..scene.connection };
        scene.run(5_000, |number| match number {
            100..140 => vec![(port, from_attacker(&settings, port, forged.acknowledge(number - 100)))],
            _ => Vec::new(),
        });
        scene.assert_only_the_sender_is_notified();
        assert_eq!(scene.report().resolver.resolved_by_psn, 1);
    }
}

#[test]
fn requests_with_an_old_psn_from_another_port_leave_a_binding_alone() {
    for settings in [bridge(), router()] {
        // With its own address, and with that of the sender.
        for station in [ATTACKER, A] {
            let mut scene = Scene::new(settings.clone());
            let connection = scene.connection;
            scene.in_peace(4_000);
            scene.run(6_000, |number| {
                let frame = from_attacker(&settings, C, connection.data(number % 7, PAYLOAD));
                let gate = ethernet::View::parse(&frame.bytes[..]).unwrap().destination();
                vec![(C, with_addresses(frame, gate, host_mac(station)))]
            });
            assert_eq!(scene.report().resolver.suspended, 0, "{:?}", scene.notified());
            scene.assert_only_the_sender_is_notified();
        }
    }
}

#[test]
fn a_packet_that_comes_first_in_an_interval_does_not_divert_the_cnp_of_its_flow() {
    for settings in [bridge(), router()] {
        let mut scene = Scene::new(settings.clone());
        let connection = scene.connection;
        scene.in_peace(4_000);
        // The very packet that the sender sends next, with the VLAN of no one.
        scene.run(6_000, |number| {
            let frame = from_attacker(&settings, C, connection.data(number, PAYLOAD));
            vec![(C, frame)]
        });
        scene.assert_only_the_sender_is_notified();
        let marked = |sent: &&conformance::Sent| {
            ipv4::View::parse(&sent.frame.bytes[14..]).is_ok_and(|ip| ip.ecn() == Ecn::Ce)
        };
        assert!(scene.bench.data(B).filter(marked).count() > 1_000, "the attacker's packets are marked");
    }
}
