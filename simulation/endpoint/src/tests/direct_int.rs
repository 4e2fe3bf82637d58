//! Direct INT to a host, as a gateway sends it and as anybody may.

use super::bench::*;
use crate::*;
use core::net::Ipv4Addr;
use units::{BitRate, Bytes, Interval, Nanos};
use wire::int::{Hop, LinkRate};
use wire::ip::{Dscp, Ecn};
use wire::roce::{QueuePair, cnp, direct_int};

const ROUND_TRIP: Interval = Interval::from_micros(500);
const LEAST: BitRate = BitRate::gigabits(1);
const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

/// A host that sends by HPCC, and its queue pair.
fn sending(near_rtt: Option<Interval>) -> (Bench, FlowId, QueuePair) {
    let mut bench = Bench::new(|settings| {
        let hpcc = Hpcc { base_rtt: ROUND_TRIP, minimum: LEAST, near_rtt, max_stage: 0, ..Hpcc::default() };
        settings.congestion_control = CongestionControl::Hpcc(hpcc);
    });
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(20_000));
    let pair = bench.sent.iter().find(|sent| !sent.is_data()).unwrap().bth().destination_qp();
    (bench, flow, pair)
}

/// Tells host 0 in the name of `source` of a pseudo-queue that is full, 20 times.
fn tell(bench: &mut Bench, source: Ipv4Addr, destination_qp: QueuePair) {
    for round in 0..20 {
        let now = bench.now + Interval(10_000 * round);
        let hop = Hop::new(LinkRate::of(RATE).unwrap(), now, 1_000_000 * round, 60_000_000);
        let way = cnp::Frame {
            destination_mac: station(0).mac,
            source_mac: station(1).mac,
            tag: None,
            addresses: cnp::Addresses::V4 { source, destination: v4(0), identification: 0 },
            dscp: Dscp::DEFAULT,
            ecn: Ecn::Ect0,
            ttl: 64,
            source_port: 0,
            destination_qp,
        };
        let content = direct_int::Content::new(&[0; 42], hop, BitRate::gigabits(10)).unwrap();
        let frame = direct_int::Frame { way, content };
        let mut bytes = [0; direct_int::MAX_FRAME_LEN];
        let length = frame.emit(&mut bytes).unwrap();
        bench.run_until(now);
        bench.hosts[0].ingress(now, &bytes[..length], Bytes(length as u64));
    }
}

fn rate(bench: &Bench, flow: FlowId) -> BitRate {
    bench.hosts[0].flow(flow).unwrap().rate
}

#[test]
fn a_forged_direct_int_needs_the_address_of_the_peer_and_lets_go_after_a_round_trip() {
    let (mut bench, flow, pair) = sending(Some(Interval(5_000)));
    tell(&mut bench, STRANGER, pair);
    let counters = bench.hosts[0].counters();
    assert_eq!((counters.direct_ints_received, counters.strays, rate(&bench, flow)), (0, 20, RATE));
    tell(&mut bench, v4(1), pair);
    assert_eq!(bench.hosts[0].counters().direct_ints_received, 20);
    assert_eq!(rate(&bench, flow), LEAST, "it slows the flow, to no less");
    bench.run_until(bench.now + ROUND_TRIP + Interval(20_000));
    assert_eq!(rate(&bench, flow), RATE);
}

#[test]
fn a_host_without_a_near_loop_ignores_direct_int() {
    let (mut bench, flow, pair) = sending(None);
    tell(&mut bench, v4(1), pair);
    let counters = bench.hosts[0].counters();
    assert_eq!((counters.direct_ints_received, counters.strays, rate(&bench, flow)), (0, 20, RATE));
}

#[test]
fn one_that_is_cut_short_or_malformed_is_a_stray() {
    let (mut bench, _, pair) = sending(Some(Interval(5_000)));
    tell(&mut bench, v4(1), pair);
    let before = bench.hosts[0].counters();
    let mut bytes = [0; 100];
    bytes[..6].copy_from_slice(&station(0).mac.0);
    bytes[12] = 8;
    bench.hosts[0].ingress(bench.now, &bytes, Bytes(100));
    let after = bench.hosts[0].counters();
    assert_eq!((after.direct_ints_received, after.strays), (before.direct_ints_received, before.strays + 1));
}
