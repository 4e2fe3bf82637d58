//! Requests that the gateway answers, drops or leaves alone.

use super::*;
use crate::program::{BufferSettings, Membership, PortSettings};
use units::{BitRate, Bytes, Interval};

const GATEWAY: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const GROUP: MacAddress = MacAddress([0x33, 0x33, 0xff, 0, 0, 0xfe]);
const ECHO: Option<Verdict> = Some(Verdict::Answer(Consumed::Echo));
const SPOOFED: Option<Verdict> = Some(Verdict::Drop(DropReason::SpoofedAddress));

/// A router; the addresses of its port 1 end with 1.254 and 1:fe.
fn settings() -> Settings {
    let port = |name: &str, addresses: [&str; 2]| PortSettings {
        addresses: addresses.map(|address| address.parse().unwrap()).into(),
        ..PortSettings::lossy(name, GATEWAY, BitRate::gigabits(10))
    };
    Settings {
        ports: vec![
            port("a", ["10.0.0.254/24", "fd00::fe/64"]),
            port("b", ["10.0.1.254/24", "fd00:0:0:1::1:fe/64"]),
        ],
        buffer: BufferSettings {
            shared: Bytes(0),
            headroom: Bytes(0),
            egress_lossy: Bytes(0),
            packing: None,
        },
        forwarding: ForwardingSettings::Route(Default::default()),
        seed: 1,
    }
}

/// The addresses of its port 0.
fn addresses() -> Addresses {
    Addresses::new(PortId(0), &settings())
}

fn answer(frame: &mut [u8]) -> Option<Verdict> {
    let descriptor = Descriptor::parse(frame, Bytes(frame.len() as u64)).unwrap();
    addresses().answer(&descriptor, frame)
}

/// The verdict on a frame that is not answered, and so is unchanged.
fn left_alone(mut frame: Vec<u8>) -> Option<Verdict> {
    let before = frame.clone();
    let verdict = answer(&mut frame);
    assert_eq!(frame, before);
    verdict
}

fn ethernet(destination: MacAddress, source: MacAddress, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&destination.0, &source.0, &ether_type.to_be_bytes()[..], payload].concat()
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// An echo request between IPv4 addresses, to the gateway's MAC address.
fn echo_v4(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 9, 1, 0, 0];
    packet.extend([source, destination].concat());
    packet.extend([8, 0, 0, 0, 0, 1, 0, 2]);
    seal_v4(&mut packet);
    ethernet(GATEWAY, HOST, 0x0800, &packet)
}

/// Sets the checksum of an IPv4 packet and that of the message in it.
fn seal_v4(packet: &mut [u8]) {
    packet[10..12].fill(0);
    packet[22..24].fill(0);
    let (header, message) = (checksum(&packet[..20]), checksum(&packet[20..]));
    packet[10..12].copy_from_slice(&header);
    packet[22..24].copy_from_slice(&message);
}

/// An ICMPv6 message between IPv6 addresses.
fn icmp_v6(to: MacAddress, source: &str, destination: &str, message: &[u8]) -> Vec<u8> {
    let [source, destination] = [source, destination].map(|it| it.parse::<Ipv6Addr>().unwrap().octets());
    let length = message.len() as u8;
    let pseudo = [&source[..], &destination, &[0, 0, 0, length, 0, 0, 0, 58], message].concat();
    let mut packet = [&[0x60, 0, 0, 0, 0, length, 58, 255], &source[..], &destination, message].concat();
    packet[42..44].copy_from_slice(&checksum(&pseudo));
    ethernet(to, HOST, 0x86dd, &packet)
}

fn echo_v6(source: &str, destination: &str) -> Vec<u8> {
    icmp_v6(GATEWAY, source, destination, &[128, 0, 0, 0, 0, 1, 0, 2])
}

/// A neighbour solicitation (135) or advertisement (136) for `target`, with an option of 8 bytes: a host without
/// an address gives a nonce instead of its MAC address.
fn neighbour(kind: u8, source: &str, target: &str) -> Vec<u8> {
    let target = target.parse::<Ipv6Addr>().unwrap().octets();
    let option = if source == "::" { 14 } else { 1 };
    let message = [&[kind, 0, 0, 0, 0, 0, 0, 0], &target[..], &[option, 1], &HOST.0].concat();
    icmp_v6(GROUP, source, "ff02::1:ff00:fe", &message)
}

fn arp(operation: u8, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let body = [&[0, 1, 8, 0, 6, 4, 0, operation], &HOST.0[..], &sender, &[0; 6], &target].concat();
    ethernet(MacAddress::BROADCAST, HOST, 0x0806, &body)
}

#[test]
fn an_echo_request_for_any_address_of_the_gateway_is_answered_in_place() {
    for address in [[10, 0, 0, 254], [10, 0, 1, 254]] {
        let mut frame = echo_v4([10, 0, 0, 9], address);
        assert_eq!(answer(&mut frame), ECHO);
        let mut reply = echo_v4(address, [10, 0, 0, 9]);
        (reply[22], reply[34]) = (64, 0);
        seal_v4(&mut reply[14..]);
        reply[..12].copy_from_slice(&[HOST.0, GATEWAY.0].concat());
        assert_eq!(frame, reply);
    }
    for address in ["fd00::fe", "fd00:0:0:1::1:fe"] {
        let mut frame = echo_v6("fd00::9", address);
        assert_eq!(answer(&mut frame), ECHO);
        let mut reply = icmp_v6(HOST, address, "fd00::9", &[129, 0, 0, 0, 0, 1, 0, 2]);
        reply[21] = 64;
        reply[6..12].copy_from_slice(&GATEWAY.0);
        assert_eq!(frame, reply);
    }
}

#[test]
fn an_echo_request_from_an_address_of_no_station_or_to_another_one_is_left_alone() {
    for source in [[0, 0, 0, 0], [255, 255, 255, 255], [224, 0, 0, 1]] {
        assert_eq!(left_alone(echo_v4(source, [10, 0, 0, 254])), None, "{source:?}");
    }
    for source in ["::", "ff02::1"] {
        assert_eq!(left_alone(echo_v6(source, "fd00::fe")), None, "{source}");
    }
    assert_eq!(left_alone(echo_v4([10, 0, 0, 9], [10, 0, 0, 8])), None);
    assert_eq!(left_alone(echo_v6("fd00::9", "fd00::8")), None);
}

#[test]
fn an_echo_request_to_another_mac_address_or_from_a_group_is_left_alone() {
    for frame in [echo_v4([10, 0, 0, 9], [10, 0, 0, 254]), echo_v6("fd00::9", "fd00::fe")] {
        let (mut to, mut from) = (frame.clone(), frame);
        to[5] = 7;
        from[6] = 3;
        assert_eq!((left_alone(to), left_alone(from)), (None, None));
    }
}

#[test]
fn damaged_requests_fragments_and_other_messages_are_left_alone() {
    let v4 = echo_v4([10, 0, 0, 9], [10, 0, 0, 254]);
    let v6 = echo_v6("fd00::9", "fd00::fe");
    // The IPv4 header, both messages.
    for (frame, at) in [(&v4, 19), (&v4, 41), (&v6, 61)] {
        let mut damaged = frame.clone();
        damaged[at] ^= 1;
        assert_eq!(left_alone(damaged), None, "byte {at}");
    }
    // More fragments, UDP, an echo reply.
    for (at, value) in [(20, 0x20), (23, 17), (34, 0)] {
        let mut other = v4.clone();
        other[at] = value;
        seal_v4(&mut other[14..]);
        assert_eq!(left_alone(other), None, "byte {at}");
    }
    let reply = icmp_v6(GATEWAY, "fd00::9", "fd00::fe", &[129, 0, 0, 0, 0, 1, 0, 2]);
    assert_eq!(left_alone(reply), None);
    let mut udp = v6;
    udp[20] = 17;
    assert_eq!(left_alone(udp), None);
}

#[test]
fn an_arp_request_is_answered_for_addresses_of_its_port_alone() {
    let mut request = arp(1, [10, 0, 0, 9], [10, 0, 0, 254]);
    assert_eq!(answer(&mut request), Some(Verdict::Answer(Consumed::ArpRequest)));
    let body =
        [&[0, 1, 8, 0, 6, 4, 0, 2], &GATEWAY.0[..], &[10, 0, 0, 254], &HOST.0, &[10, 0, 0, 9]].concat();
    assert_eq!(request, ethernet(HOST, GATEWAY, 0x0806, &body));
    assert_eq!(left_alone(arp(1, [10, 0, 0, 9], [10, 0, 1, 254])), None);
    assert_eq!(left_alone(arp(2, [10, 0, 0, 9], [10, 0, 0, 254])), None);
}

#[test]
fn each_member_of_a_bundle_answers_for_all_of_them() {
    let mut settings = settings();
    for port in &mut settings.ports {
        let (delay, jitter) = (Interval(0), Interval(0));
        port.bundle =
            Some(Membership { bundle: "lh".into(), head: PortId(0), delay, jitter, liveness: None });
    }
    settings.ports[1].mac = MacAddress([2, 0, 0, 0, 0, 2]);
    let second = Addresses::new(PortId(1), &settings);
    let answer = |mut frame: Vec<u8>| {
        let descriptor = Descriptor::parse(&frame, Bytes(frame.len() as u64)).unwrap();
        let verdict = second.answer(&descriptor, &mut frame);
        (verdict, MacAddress(frame[6..12].try_into().unwrap()))
    };
    let own = settings.ports[1].mac;
    let resolved = Some(Verdict::Answer(Consumed::ArpRequest));
    assert_eq!(answer(arp(1, [10, 0, 0, 9], [10, 0, 0, 254])), (resolved, own));
    assert_eq!(answer(echo_v4([10, 0, 0, 9], [10, 0, 0, 254])), (ECHO, own));
}

#[test]
fn arp_under_another_ether_type_is_left_alone() {
    for sender in [[10, 0, 0, 9], [10, 0, 0, 254]] {
        let mut frame = arp(1, sender, [10, 0, 0, 254]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        assert_eq!(left_alone(frame), None);
    }
}

#[test]
fn a_solicitation_is_answered_for_addresses_of_its_port_alone() {
    let answered = Some(Verdict::Answer(Consumed::NeighbourSolicitation));
    for (asker, to) in [("fd00::9", HOST), ("::", MacAddress([0x33, 0x33, 0, 0, 0, 1]))] {
        let mut frame = neighbour(135, asker, "fd00::fe");
        assert_eq!(answer(&mut frame), answered, "{asker}");
        assert_eq!((&frame[..6], &frame[6..12], frame[54]), (&to.0[..], &GATEWAY.0[..], 136));
    }
    assert_eq!(left_alone(neighbour(135, "fd00::9", "fd00:0:0:1::1:fe")), None);
}

#[test]
fn whoever_claims_an_address_of_the_gateway_is_dropped() {
    for address in [[10, 0, 0, 254], [10, 0, 1, 254]] {
        assert_eq!(left_alone(arp(1, address, [10, 0, 0, 8])), SPOOFED);
        assert_eq!(left_alone(arp(2, address, [10, 0, 0, 8])), SPOOFED);
    }
    for address in ["fd00::fe", "fd00:0:0:1::1:fe"] {
        assert_eq!(left_alone(neighbour(136, "fd00::9", address)), SPOOFED);
    }
    assert_eq!(left_alone(arp(2, [10, 0, 0, 9], [10, 0, 0, 8])), None);
    assert_eq!(left_alone(neighbour(136, "fd00::9", "fd00::9")), None);
}
