//! From the fields of a frame to its priority (item 15).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::two_ports;
use conformance::{A, B, Flow, TestFrame, Testbench};
use switch::program::{Settings, Trust};
use units::Priority;
use wire::ip::Dscp;
use wire::vlan::{Tag, VlanId};

fn priority(number: u8) -> Priority {
    Priority::from_low_bits(number)
}

fn tag(pcp: u8, id: u16) -> Tag {
    Tag { priority: priority(pcp), drop_eligible: false, id: VlanId::new(id).unwrap() }
}

/// A switch that trusts `trust`, with tables that no formula gives, and default priority 6.
fn trusting(trust: Trust) -> Settings {
    let mut settings = two_ports();
    for port in &mut settings.ports {
        let classification = &mut port.classification;
        classification.trust = trust;
        classification.dscp = core::array::from_fn(dscp_table);
        classification.pcp = core::array::from_fn(|pcp| priority(7 - pcp as u8));
        classification.default = priority(6);
    }
    settings
}

fn dscp_table(dscp: usize) -> Priority {
    priority((dscp * 5 + dscp / 8) as u8)
}

/// The priority at which `frame` is received and sent.
fn found(settings: &Settings, frame: TestFrame) -> Priority {
    let mut bench = Testbench::new(settings.clone());
    bench.inject(A, [frame]);
    bench.turn();
    let sent =
        |priority: &Priority| bench.shard.queue(bench.now(), B, *priority).counters.transmitted.frames == 1;
    let sent: Vec<_> = Priority::all().filter(sent).collect();
    let [only] = sent[..] else { panic!("sent at {sent:?}") };
    assert_eq!(bench.shard.ingress_counters(A).received[only.index()].frames, 1);
    only
}

#[test]
fn all_64_code_points_have_the_priority_that_the_table_says_in_ipv4_and_ipv6() {
    let settings = trusting(Trust::Dscp);
    for dscp in 0..64 {
        for ecn in 0..4 {
            let mut flow = Flow::new(A, B).ecn(wire::ip::Ecn::from_low_bits(ecn));
            flow.dscp = Dscp::new(dscp).unwrap();
            let expected = dscp_table(dscp.into());
            for flow in [flow, flow.v6(), flow.tagged(tag(2, 5)), flow.v6().tagged(tag(2, 5))] {
                assert_eq!(found(&settings, flow.udp(100)), expected, "{flow:?}");
                assert_eq!(found(&settings, flow.headers(1_000)), expected, "headers alone: {flow:?}");
            }
        }
    }
}

#[test]
fn by_default_a_code_point_has_the_priority_of_its_class_selector_and_a_pcp_its_own() {
    let mut settings = two_ports();
    for dscp in 0..64 {
        let mut flow = Flow::new(A, B);
        flow.dscp = Dscp::new(dscp).unwrap();
        assert_eq!(found(&settings, flow.udp(100)), priority(dscp / 8));
    }
    settings.ports[0].classification.trust = Trust::Pcp;
    for pcp in 0..8 {
        assert_eq!(found(&settings, Flow::new(A, B).tagged(tag(pcp, 1)).udp(100)), priority(pcp));
    }
}

#[test]
fn all_eight_pcps_have_the_priority_that_the_table_says_whatever_the_dscp() {
    let settings = trusting(Trust::Pcp);
    for pcp in 0..8 {
        for dscp in [0, 26, 63] {
            for id in [0, 1, 4_094] {
                let mut flow = Flow::new(A, B).tagged(tag(pcp, id));
                flow.dscp = Dscp::new(dscp).unwrap();
                assert_eq!(found(&settings, flow.udp(100)), priority(7 - pcp));
            }
        }
    }
}

#[test]
fn an_untagged_frame_has_the_default_priority_where_the_pcp_is_trusted() {
    let settings = trusting(Trust::Pcp);
    for dscp in 0..64 {
        let mut flow = Flow::new(A, B);
        flow.dscp = Dscp::new(dscp).unwrap();
        assert_eq!(found(&settings, flow.udp(100)), priority(6));
    }
}

#[test]
fn where_nothing_is_trusted_every_frame_has_the_default_priority() {
    let settings = trusting(Trust::Nothing);
    for flow in [Flow::new(A, B).at(priority(3)), Flow::new(A, B).at(priority(5)).tagged(tag(2, 9)).v6()] {
        assert_eq!(found(&settings, flow.udp(100)), priority(6));
    }
}

#[test]
fn frames_without_ip_header_are_judged_by_their_tag_where_the_dscp_is_trusted() {
    let settings = trusting(Trust::Dscp);
    let plain = |ether_type: u16, rest: &[u8]| {
        let mut bytes = Flow::new(A, B).udp(60).bytes[..12].to_vec();
        bytes.extend(ether_type.to_be_bytes());
        bytes.extend(rest);
        bytes.resize(60, 0);
        TestFrame::new(bytes)
    };
    for ether_type in [0x0806, 0x8915, 0x88b5, 0x0026] {
        assert_eq!(found(&settings, plain(ether_type, &[])), priority(6));
    }
    let [high, low] = tag(2, 7).tci().to_be_bytes();
    assert_eq!(found(&settings, plain(0x8100, &[high, low, 0x08, 0x06])), priority(5));
    assert_eq!(
        found(&settings, plain(0x88a8, &[high, low, 0x81, 0x00, 0x20, 0x01, 0x08, 0x06])),
        priority(5)
    );
    // An IP header that does not hold has no DSCP.
    assert_eq!(found(&settings, plain(0x0800, &[0x55, 0xff])), priority(6));
    assert_eq!(found(&settings, plain(0x8100, &[high, low, 0x08, 0x00, 0x42, 0xff])), priority(5));
}

#[test]
fn the_outer_of_two_tags_counts() {
    let settings = trusting(Trust::Pcp);
    let mut bytes = Flow::new(A, B).tagged(tag(1, 20)).udp(100).bytes;
    let [high, low] = tag(4, 10).tci().to_be_bytes();
    bytes.splice(12..12, [0x88, 0xa8, high, low]);
    assert_eq!(found(&settings, TestFrame::new(bytes.clone())), priority(3));
    let mut by_dscp = trusting(Trust::Dscp);
    by_dscp.ports[0].classification.dscp[0] = priority(2);
    assert_eq!(found(&by_dscp, TestFrame::new(bytes)), priority(2), "the IP header behind both");
}

#[test]
fn frames_of_macsec_and_behind_tags_that_are_not_read_have_the_priority_of_their_tag_and_are_counted_by_name()
{
    let with = |types: &[u8], ether_type: [u8; 2]| {
        let mut frame = Flow::new(A, B).at(priority(3)).udp(200);
        frame.bytes.splice(12..14, types.iter().copied().chain(ether_type));
        frame.length = frame.bytes.len() as u64;
        frame
    };
    let (tag, macsec, old, ip) = ([0x81, 0x00, 0xa0, 0x05], [0x88, 0xe5], [0x91, 0x00], [0x08, 0x00]);
    let three: Vec<u8> = tag.repeat(3);
    let cases = [
        (with(&[], macsec), 6, (1, 0)),
        (with(&tag, macsec), 2, (1, 0)),
        (with(&[], old), 6, (0, 1)),
        (with(&tag, old), 2, (0, 1)),
        (with(&three, ip), 2, (0, 1)),
        (with(&three[..8], ip), dscp_table(26).number(), (0, 0)),
    ];
    for (frame, expected, (macsec, tagged)) in cases {
        assert_eq!(found(&trusting(Trust::Dscp), frame.clone()).number(), expected);
        // Alone, in a run, and where a lone frame passes.
        for (burst, passes) in [(1, false), (5, false), (1, true)] {
            let settings = trusting(Trust::Dscp);
            let mut bench = if passes { Testbench::letting_pass(settings) } else { Testbench::new(settings) };
            bench.inject(A, vec![frame.clone(); burst as usize]);
            bench.run_dry();
            let seen = bench.look(A).hidden;
            assert_eq!((seen.macsec, seen.tagged), (burst * macsec, burst * tagged), "{burst} {passes}");
        }
    }
}
