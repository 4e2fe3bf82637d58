use super::*;
use crate::descriptor::Descriptor;
use crate::flows::Origin;
use crate::program::Lscc;
use units::{Bytes, WireBytes};
use wire::int::{Format, Header, HopNumber};
use wire::ip::{Ecn, IpProtocol};
use wire::roce::bth::{self, Telemetry};
use wire::roce::{self, Opcode, QueuePair};
use wire::{ipv4, udp};

const PORT: PortId = PortId(1);
const OTHER: PortId = PortId(2);
const INTERVAL: Interval = Interval::from_micros(10);
const RATE: BitRate = BitRate::gigabits(100);
const TELEMETRY_AT: usize = 54;

/// A data packet with `telemetry`, which has passed `hops`.
fn packet(telemetry: Telemetry, hops: u8) -> [u8; 160] {
    let mut bytes = [0; 160];
    bytes[12..14].copy_from_slice(&[8, 0]);
    let ip = ipv4::Header {
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        total_length: 146,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: IpProtocol::UDP,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    ip.emit(&mut bytes[14..]).unwrap();
    let udp = udp::Header { source_port: 49_152, destination_port: roce::UDP_PORT, length: 126, checksum: 0 };
    udp.emit(&mut bytes[34..]).unwrap();
    let bth =
        bth::Header { telemetry, ..bth::Header::new(Opcode::RC_SEND_ONLY, QueuePair::from_low_bits(1)) };
    bth.emit(&mut bytes[42..]).unwrap();
    if let Telemetry::Collected(format) = telemetry {
        for hop in 0..hops {
            let record = Hop::new(LinkRate::of(RATE).unwrap(), Nanos(u64::from(hop)), 0, 0);
            int::stamp(&mut bytes[TELEMETRY_AT..], format, HopNumber::from_low_bits(hop.into()), record);
        }
    }
    bytes
}

const FIVE: Telemetry = Telemetry::Collected(Format::Five);
const EIGHT: Telemetry = Telemetry::Collected(Format::Eight);

/// A port whose other end advertises 10G.
struct Scene {
    direct_int: DirectInt,
    flows: Flows,
    queue: PseudoQueue,
    cnps: CnpBuilder,
    counters: DirectIntCounters,
    now: Nanos,
}

impl Scene {
    fn new(interval: Interval) -> Self {
        let mut lscc = Lscc::PLAIN;
        lscc.limiting.flows = 1_000;
        Self {
            direct_int: DirectInt::new(interval, LinkRate::of(RATE).unwrap(), 1_000),
            flows: Flows::new(lscc.flows(RATE), 7),
            queue: PseudoQueue::new(None),
            cnps: CnpBuilder::default(),
            counters: DirectIntCounters::default(),
            now: Nanos(1_000_000),
        }
    }

    /// A flow whose sender's queue pair is known.
    fn known(&mut self, qp: u32) -> Slot {
        self.flows.enter_known(qp, self.now, origin(PORT), WireBytes(0))
    }

    /// Sends a packet of a flow from `port`. Returns whether direct INT answers for it, and the header that it leaves
    /// with.
    fn send_as(&mut self, slot: Slot, port: PortId, telemetry: Telemetry, hops: u8) -> (bool, Header) {
        let advertised = BitRate::gigabits(10);
        let mut headers = packet(telemetry, hops);
        let descriptor = Descriptor::parse(&headers, Bytes(160)).unwrap();
        let (now, length) = (self.now, WireBytes(0));
        let frame = Crossing { now, port, length, limited: true, descriptor: &descriptor };
        let maker = Maker {
            cnps: &mut self.cnps,
            as_configured: (Dscp::DEFAULT, Priority::from_low_bits(6)),
            counters: &mut self.counters,
        };
        let state = Some(State { queue: &self.queue, advertised });
        let taken = self.direct_int.take(frame, (slot, 49_152), state, &mut self.flows, maker, &mut headers);
        let view = int::View::parse(&headers[TELEMETRY_AT..], Format::Five).unwrap();
        (taken, view.header())
    }

    /// Sends a packet that has passed two hops. Returns how many it leaves with.
    fn send(&mut self, slot: Slot) -> u8 {
        let (taken, header) = self.send_as(slot, PORT, FIVE, 2);
        assert!(taken);
        header.passed
    }

    /// Offers all that waits to ports that answer `offer`. Returns the frames, and the time of the next try.
    fn given(&mut self, offer: Offer) -> Vec<(PortId, Frame)> {
        let mut given = Vec::new();
        self.direct_int.send(&mut self.counters, &mut |port, notification| {
            let Notification::Int(frame) = notification else { panic!("not a CNP") };
            given.push((port, frame));
            offer
        });
        given
    }
}

fn origin(port: PortId) -> Origin {
    let headers = packet(FIVE, 0);
    Origin::of(port, &Descriptor::parse(&headers, Bytes(160)).unwrap(), &headers)
}

#[test]
fn the_sender_is_told_what_its_packet_has_collected_and_the_packet_begins_anew() {
    for telemetry in [FIVE, EIGHT] {
        let mut scene = Scene::new(INTERVAL);
        scene.queue.arrive(WireBytes(100_000));
        let slot = scene.known(1);
        assert_eq!(scene.send_as(slot, PORT, telemetry, 2), (true, Header::default()));
        let given = scene.given(Offer::Taken);
        assert_eq!((given.len(), scene.direct_int.waits()), (1, false));
        let (port, Frame { way, content }) = given[0];
        assert_eq!((port, way.destination_qp), (PORT, QueuePair::from_low_bits(1)));
        let header = content.header();
        assert_eq!((header.passed, header.path.number()), (3, 1));
        let hop = header.hops[2].unwrap();
        assert_eq!((hop.timestamp, hop.queue_bytes()), (1_000_000, 100_000 / 1_024 * 1_024));
        assert_eq!(content.advertised(), BitRate::gigabits(10));
        assert_eq!(scene.counters, DirectIntCounters { sent: 1, replaced: 1, ..Default::default() });
    }
}

#[test]
fn a_flow_gets_one_in_an_interval_and_all_of_its_packets_begin_anew() {
    for (interval, each) in [(INTERVAL, 1), (Interval::ZERO, 5)] {
        let mut scene = Scene::new(interval);
        let slot = scene.known(1);
        for _ in 0..5 {
            assert_eq!(scene.send(slot), 0);
            scene.now += Interval::from_micros(1);
        }
        assert_eq!(scene.given(Offer::Taken).len(), each);
        scene.now += INTERVAL;
        assert_eq!(scene.send(slot), 0);
        assert_eq!(scene.given(Offer::Taken).len(), 1);
    }
}

#[test]
fn the_interval_says_nothing_of_the_next_flow_in_the_slot() {
    let mut scene = Scene::new(INTERVAL);
    let slot = scene.known(1);
    scene.send(slot);
    // A slot that is used again has no notes.
    scene.flows.hot_mut(slot).notes.set(LSCC_DIRECT_INT, false);
    scene.send(slot);
    assert_eq!(scene.given(Offer::Taken).len(), 2);
}

#[test]
fn a_packet_keeps_its_telemetry_where_no_direct_int_replaces_it() {
    let mut scene = Scene::new(INTERVAL);
    let unknown = scene.flows.enter_from(1, scene.now, origin(PORT));
    assert_eq!(scene.send(unknown), 2, "the queue pair is unknown");
    let known = scene.known(2);
    assert_eq!(scene.send_as(known, OTHER, FIVE, 2).1.passed, 2, "it comes from elsewhere");
    let (taken, header) = scene.send_as(known, PORT, EIGHT, 5);
    assert_eq!((taken, header.passed), (true, 5), "it has more hops than there is room for");
    assert_eq!(scene.counters, DirectIntCounters { kept: 3, ..Default::default() });
    assert!(!scene.direct_int.waits());
}

#[test]
fn without_a_rate_nothing_changes_and_without_telemetry_it_is_no_matter_of_direct_int() {
    let mut scene = Scene::new(INTERVAL);
    let slot = scene.known(1);
    assert!(!scene.send_as(slot, PORT, Telemetry::None, 0).0);
    let mut headers = packet(FIVE, 2);
    let descriptor = Descriptor::parse(&headers, Bytes(160)).unwrap();
    let (now, length) = (scene.now, WireBytes(0));
    let frame = Crossing { now, port: PORT, length, limited: true, descriptor: &descriptor };
    let maker = Maker {
        cnps: &mut scene.cnps,
        as_configured: (Dscp::DEFAULT, Priority::from_low_bits(6)),
        counters: &mut scene.counters,
    };
    let before = headers;
    assert!(scene.direct_int.take(frame, (slot, 49_152), None, &mut scene.flows, maker, &mut headers));
    assert_eq!((headers, scene.counters), (before, DirectIntCounters::default()));
}

#[test]
fn a_flood_of_flows_fills_no_more_than_the_room_and_others_keep_their_telemetry() {
    let mut scene = Scene::new(INTERVAL);
    for qp in 0..CAPACITY as u32 {
        let slot = scene.known(10 + qp);
        assert_eq!(scene.send(slot), 0);
    }
    let late = scene.known(2);
    assert_eq!(scene.send(late), 2);
    assert_eq!(scene.given(Offer::Taken).len(), SENT_PER_CALL);
    assert_eq!(scene.send(late), 0, "there is room again");
}

#[test]
fn a_port_that_is_full_loses_its_direct_int_and_holds_up_no_other() {
    let mut scene = Scene::new(INTERVAL);
    for qp in 1..=3 {
        let slot = scene.known(qp);
        scene.send(slot);
    }
    assert_eq!(scene.given(Offer::Full).len(), 3);
    assert_eq!(scene.counters, DirectIntCounters { replaced: 3, lost: 3, ..Default::default() });
}
