//! Whole frames, and CNPs to their senders.

use super::*;
use crate::flows::cnp::{CnpBuilder, ReturnPath};
use crate::flows::notifications::Notification;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::{Bytes, Priority};
use wire::ip::{Dscp, Ecn};
use wire::roce::cnp;
use wire::vlan;

const SENDER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const ROUTER: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A WRITE to queue pair 0x20 from 10.0.0.1 to 10.0.0.2, UDP port 49,314.
fn write() -> [u8; 70] {
    let mut bytes = [0; 70];
    bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0]);
    bytes[14..34].copy_from_slice(&[0x45, 2, 0, 56, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[34..42].copy_from_slice(&[0xc0, 0xa2, 0x12, 0xb7, 0, 36, 0, 0]);
    bth::Header::new(Opcode::RC_WRITE_ONLY, QueuePair::from_low_bits(0x20)).emit(&mut bytes[42..]).unwrap();
    bytes
}

fn see(flows: &mut Flows, way: Way, bytes: &[u8]) -> Seen {
    let descriptor = Descriptor::parse(bytes, Bytes(bytes.len() as u64)).unwrap();
    let (now, port, length) = (Nanos::ZERO, PortId(3), WireBytes(94));
    let frame = Crossing { now, port, length, limited: false, descriptor: &descriptor };
    let seen = flows.see_next::<false>(way, frame, bytes, true);
    seen.unwrap_or_else(|| flows.see(way, frame, bytes, true))
}

#[test]
fn data_counts_on_its_way_out_alone() {
    for (way, sent) in [(Way::Out, 188), (Way::In, 0)] {
        let mut flows = Flows::new(settings(4), KEY);
        for _ in 0..2 {
            let seen = see(&mut flows, way, &write());
            let Sighting::Of(slot) = seen.sighting else { panic!("{seen:?}") };
            assert_eq!((seen.data, seen.source_port), (true, 49_314));
            assert!(flows.is_from(slot, Origin::new(PortId(3), SENDER, 0)));
        }
        let slot = flows.table.find(hash(&flows, way), &key(way)).unwrap();
        assert_eq!(flows.hot(slot).sent(), WireBytes(sent));
    }
}

fn key(way: Way) -> FlowKey {
    let [source, destination] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host).into());
    FlowKey { hosts: Hosts { source, destination, way }, qp: QueuePair::from_low_bits(0x20) }
}

fn hash(flows: &Flows, way: Way) -> u64 {
    flows.table.hash(&key(way))
}

#[test]
fn an_origin_is_kept_with_its_vlan() {
    for vlan in [0, 7] {
        let mut flows = Flows::new(settings(4), KEY);
        let origin = |vlan| Origin::new(PortId(3), SENDER, vlan);
        let slot = flows.enter_from(0x20, Nanos::ZERO, origin(vlan));
        assert!(flows.is_from(slot, origin(vlan)) && !flows.is_from(slot, origin(vlan + 1)));
        assert_eq!(flows.cold(slot).tag.tci(), (vlan != 0).then_some(vlan));
    }
}

#[test]
fn flows_stay_unless_their_table_is_another_one() {
    let seconds = Interval::from_secs;
    let table = |capacity, ageing| FlowSettings { capacity, ageing, ..settings(4) };
    for (next, key, exchanged) in [
        (table(4, seconds(10)), KEY, false),
        (FlowSettings { rate: BitRate::gigabits(1), ..table(4, seconds(10)) }, KEY, false),
        (table(5, seconds(10)), KEY, true),
        (table(4, seconds(9)), KEY, true),
        (FlowSettings { learn: 16, ..table(4, seconds(10)) }, KEY, true),
        (table(4, seconds(10)), KEY + 1, true),
    ] {
        let mut flows = Flows::new(settings(4), KEY);
        flows.enter(0x20, Nanos::ZERO);
        assert_eq!(flows.configure(&mut Flows::new(next, key)), exchanged);
        assert_eq!((flows.report().known, flows.settings), (u32::from(!exchanged), next));
    }
}

#[test]
fn a_new_round_trip_decides_whether_psns_identify_pairs() {
    let mut port = Port::new();
    let long = FlowSettings { round_trip: Interval::from_millis(200), ..settings(1_000) };
    port.flows.configure(&mut Flows::new(long, KEY));
    for psn in START..START + 40 {
        port.now += Interval::from_millis(10);
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

/// The headers of a packet from the sender, with these tags.
fn headers(tags: &[u16]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|tci| [[0x81, 0], tci.to_be_bytes()]).flatten();
    [ROUTER.0, SENDER.0].into_iter().flatten().chain(tags).chain([8, 0]).chain([0; 46]).collect()
}

#[test]
fn a_cnp_goes_from_the_receiver_to_the_sender_by_the_way_that_is_kept() {
    let v4 = |host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host));
    let v6 = |host| IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host));
    // PCP 1 and VLAN 5.
    for (sender, receiver, tag) in [(v4(1), v4(2), None), (v4(1), v4(2), Some(0x2005)), (v6(1), v6(2), None)]
    {
        let mut flows = Flows::new(settings(4), KEY);
        let address = |address| match address {
            IpAddr::V4(address) => Address::from(address),
            IpAddr::V6(address) => Address::from(address),
        };
        let hosts = Hosts { source: address(sender), destination: address(receiver), way: Way::Out };
        let forth = flows.enter_half(hosts, 0x20, Nanos::ZERO);
        let back = flows.enter_half(hosts.reversed(), 0x10, Nanos::ZERO);
        resolver::pin(
            &mut flows.table,
            forth,
            Origin::new(PortId(3), SENDER, if tag.is_some() { 5 } else { 0 }),
        );
        let tags: Vec<_> = tag.into_iter().collect();
        flows.keep(forth, ReturnPath::of(&headers(&tags), 49_314).unwrap());
        let (mut builder, marks) =
            (CnpBuilder::default(), (Dscp::from_low_bits(48), Priority::from_low_bits(6)));
        assert_eq!(builder.build(&flows, forth, marks), None, "the queue pair is unknown");
        flows.table.pair(forth, back);
        for identification in 1..=2 {
            let frame = cnp::Frame {
                destination_mac: SENDER,
                source_mac: ROUTER,
                tag: tag.map(|_| vlan::Tag::from_tci(0xc005)),
                addresses: match (receiver, sender) {
                    (IpAddr::V4(source), IpAddr::V4(destination)) => {
                        cnp::Addresses::V4 { source, destination, identification }
                    }
                    (IpAddr::V6(source), IpAddr::V6(destination)) => {
                        cnp::Addresses::V6 { source, destination, flow_label: 0 }
                    }
                    _ => panic!("both are of one version"),
                },
                dscp: marks.0,
                ecn: Ecn::Ect0,
                ttl: 64,
                source_port: 49_314,
                destination_qp: QueuePair::from_low_bits(0x10),
            };
            let built = builder.build(&flows, forth, marks);
            assert_eq!(built, Some((PortId(3), Notification::Cnp(frame))));
            assert_eq!(built.map(|(_, cnp)| cnp.receiver()), Some(sender));
        }
    }
}

#[test]
fn behind_two_tags_there_is_no_way_back() {
    assert!(ReturnPath::of(&headers(&[5]), 0).is_some());
    assert!(ReturnPath::of(&headers(&[5, 6]), 0).is_none());
}

/// Packets of eight flows that are known.
const KNOWN: core::ops::Range<u8> = 0x20..0x28;

/// A packet to this queue pair.
fn numbered(qp: u8, psn: u8) -> [u8; 70] {
    let mut bytes = write();
    (bytes[49], bytes[53]) = (qp, psn);
    bytes
}

/// A large table, with the [known](KNOWN) flows.
fn many_flows() -> Flows {
    let mut flows = Flows::new(settings(2 * LARGE_TABLE), KEY);
    for number in 0..LARGE_TABLE {
        flows.enter(0x1_0000 + number, Nanos::ZERO);
    }
    for psn in 0..3 {
        for qp in KNOWN {
            see(&mut flows, Way::Out, &numbered(qp, psn));
        }
    }
    flows
}

fn look_ahead(flows: &mut Flows, burst: &[[u8; 70]]) {
    flows.look_ahead(Way::Out, burst.iter().map(|bytes| &bytes[..]), |_, _| 0);
}

#[test]
fn each_frame_of_a_burst_has_the_guess_for_its_flow_and_none_has_one_for_an_earlier_burst() {
    let mut flows = many_flows();
    let burst: Vec<_> = KNOWN.map(|qp| numbered(qp, 3)).collect();
    for burst in [&burst[..], &burst[5..], &[]] {
        look_ahead(&mut flows, burst);
        let guesses = core::iter::from_fn(|| flows.next_guess()).collect::<Vec<_>>();
        let known = |bytes: &[u8; 70]| {
            let key = FlowKey { qp: QueuePair::from_low_bits(bytes[49].into()), ..key(Way::Out) };
            Link::to(flows.table.find(flows.table.hash(&key), &key).unwrap())
        };
        assert_eq!(guesses, burst.iter().map(known).collect::<Vec<_>>());
    }
}

#[test]
fn frames_that_are_left_out_of_a_burst_mislead_no_guess() {
    let mut flows = many_flows();
    let burst: Vec<_> = KNOWN.map(|qp| numbered(qp, 3)).collect();
    look_ahead(&mut flows, &burst);
    for left in [0, 3, 4] {
        let bytes = &burst[left + 1];
        let Sighting::Of(slot) = see(&mut flows, Way::Out, bytes).sighting else { panic!("it has a flow") };
        assert_eq!(flows.hot(slot).key().qp.number(), u32::from(bytes[49]));
    }
}
