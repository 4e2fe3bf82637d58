//! Nothing that the gateway changes invalidates an ICRC (item 27).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{bridged, host_mac, port_mac, routed, two_ports};
use conformance::{A, B, Flow, P3, TestFrame, Testbench};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ipnet::IpNet;
use replay::capture::{CaptureFile, FrameSource};
use switch::program::{MarkAt, Red, Settings};
use switch::{ForwardingSettings, Neighbour, Route, RouteSettings};
use units::Bytes;
use wire::ethernet::EtherType;
use wire::ip::{Ecn, IpProtocol};
use wire::roce::icrc;
use wire::vlan::{Stack, Tag, VlanId};
use wire::{ipv4, ipv6, udp};

/// The IP packet of a frame, where it is RoCEv2 with an ICRC that holds.
fn valid_roce(frame: &[u8]) -> Option<&[u8]> {
    let stack = Stack::parse(frame).ok()?;
    let packet = &frame[stack.payload_offset..];
    let (protocol, payload) = match stack.ether_type {
        EtherType::IPV4 => {
            let ip = ipv4::View::parse(packet).ok()?;
            (ip.protocol(), ip.into_payload())
        }
        EtherType::IPV6 => {
            let ip = ipv6::View::parse(packet).ok()?;
            (ip.next_header(), ip.into_payload())
        }
        _ => return None,
    };
    if protocol != IpProtocol::UDP {
        return None;
    }
    let is_roce = udp::View::parse(payload).ok()?.destination_port() == wire::roce::UDP_PORT;
    (is_roce && icrc::verify(packet) == Ok(true)).then_some(packet)
}

/// ECN bits, and TTL or hop limit; an IPv4 checksum is looked at on the way.
fn mutable_fields(packet: &[u8]) -> (Ecn, u8) {
    match ipv4::View::parse(packet) {
        Ok(ip) => {
            assert!(ip.verify_checksum());
            (ip.ecn(), ip.ttl())
        }
        Err(_) => {
            let ip = ipv6::View::parse(packet).unwrap();
            (ip.ecn(), ip.hop_limit())
        }
    }
}

/// The same switch, marking all that understands ECN while anything waits behind it.
fn marking(mut settings: Settings) -> Settings {
    let red = Red { kmin: Bytes(0), kmax: Bytes(1), pmax: 1.0, mark_at: MarkAt::Dequeue, adaptive: None };
    for port in &mut settings.ports {
        port.queues.iter_mut().for_each(|queue| queue.red = Some(red));
    }
    settings
}

/// A router with default routes to the station behind B.
fn routed_anywhere() -> Settings {
    let mut settings = routed(2);
    let (v4, v6) = (Ipv4Addr::new(172, 16, 0, 2), Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 2));
    let neighbours =
        [IpAddr::from(v4), v6.into()].map(|address| Neighbour { address, mac: host_mac(B), port: B });
    let route =
        |prefix: &str, hop: IpAddr| Route { prefix: prefix.parse::<IpNet>().unwrap(), next_hops: vec![hop] };
    settings.ports.iter_mut().for_each(|port| port.addresses.clear());
    settings.forwarding = ForwardingSettings::Route(RouteSettings {
        routes: vec![route("0.0.0.0/0", v4.into()), route("::/0", v6.into())],
        neighbours: neighbours.to_vec(),
        kernel: None,
        sprays: false,
    });
    settings
}

/// Sends `frames` through `settings`, with one of no interest behind each, and gives back what left
/// through B.
fn through(settings: Settings, frames: &[TestFrame]) -> Vec<TestFrame> {
    let mut bench = Testbench::new(settings);
    for (label, frame) in (1..).zip(frames) {
        let mut behind = frame.clone();
        behind.label = 0;
        bench.inject(A, [frame.clone().labelled(label), behind.clone(), behind]);
        bench.run_dry();
    }
    assert_eq!(bench.dropped_in_all().frames, 0);
    bench.data(B).filter(|sent| sent.frame.label > 0).map(|sent| sent.frame.clone()).collect()
}

fn assert_all_verify(frames: &[TestFrame], sent: &[TestFrame], hops: u8) -> usize {
    assert_eq!(frames.len(), sent.len());
    let mut marked = 0;
    for (before, after) in frames.iter().zip(sent) {
        let was = valid_roce(&before.bytes).expect("the ICRC holds");
        let is = valid_roce(&after.bytes).expect("the ICRC still holds");
        let (old, new) = (mutable_fields(was), mutable_fields(is));
        assert_eq!(new.1, old.1 - hops);
        assert_eq!(new.0, if old.0.is_capable() { Ecn::Ce } else { Ecn::NotEct });
        marked += usize::from(old.0 != new.0);
    }
    marked
}

/// Writes of many sizes over IPv4 and IPv6, tagged and not, with all ECN codes.
fn writes() -> Vec<TestFrame> {
    let tag = Tag { priority: P3, drop_eligible: false, id: VlanId::new(100).unwrap() };
    let base = Flow::new(A, B).at(P3);
    let forms = [base, base.v6(), base.tagged(tag), base.v6().tagged(tag)];
    let mut frames = Vec::new();
    for (psn, payload) in (0..).zip([0, 4, 64, 256, 1_020, 1_024, 4_096, 9_088]) {
        for form in forms {
            for bits in 0..4 {
                let mut flow = form.ecn(Ecn::from_low_bits(bits));
                flow.ttl = 255 - psn as u8 * 30;
                frames.push(flow.roce_write(psn, payload));
            }
        }
    }
    assert!(frames.iter().all(|frame| valid_roce(&frame.bytes).is_some()));
    frames
}

/// The frames of a capture that are whole, addressed to `to` at layer 2 if that is given.
fn captured(name: &str, to: Option<wire::ethernet::MacAddress>) -> Vec<TestFrame> {
    let path = format!("{}/data/captures/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut capture = CaptureFile::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        let mut bytes = frame.data.to_vec();
        if frame.is_cut() || valid_roce(&bytes).is_none() {
            continue;
        }
        if let Some(mac) = to {
            bytes[..6].copy_from_slice(&mac.0);
        }
        frames.push(TestFrame::new(bytes));
    }
    frames
}

#[test]
fn every_write_still_verifies_after_patch_bridge_and_routes() {
    let frames = writes();
    for (settings, hops) in [(two_ports(), 0), (bridged(2), 0), (routed_anywhere(), 1)] {
        let sent = through(marking(settings), &frames);
        assert_eq!(
            assert_all_verify(&frames, &sent, hops),
            frames.len() / 2,
            "ECT(0) and ECT(1) were marked"
        );
    }
}

#[test]
fn every_captured_packet_still_verifies_after_patch_bridge_and_routes() {
    for (name, count, capable) in [("rxe-cm-multiqp.pcap", 643, 270), ("wire-vectors.pcap", 5, 5)] {
        let frames = captured(name, None);
        assert_eq!(frames.len(), count, "{name}");
        for settings in [two_ports(), bridged(2)] {
            // Both stations of the capture send through the same port here: without learning, the bridge
            // would keep their frames.
            let alone = |frame: &TestFrame| {
                let sent = through(marking(settings.clone()), core::slice::from_ref(frame));
                assert_all_verify(core::slice::from_ref(frame), &sent, 0)
            };
            let marked: usize = frames.iter().map(alone).sum();
            assert_eq!(marked, capable, "{name}: what understands ECN is marked");
        }
        let frames = captured(name, Some(port_mac(A)));
        let sent = through(marking(routed_anywhere()), &frames);
        assert_eq!(assert_all_verify(&frames, &sent, 1), capable, "{name}");
    }
}

#[test]
fn the_icrc_of_a_damaged_packet_stays_wrong() {
    let mut frame = Flow::new(A, B).at(P3).ecn(Ecn::Ect0).roce_write(5, 256);
    frame.bytes[100] ^= 1;
    let sent = through(marking(routed_anywhere()), &[frame]);
    assert_eq!(icrc::verify(&sent[0].bytes[14..]), Ok(false));
}
