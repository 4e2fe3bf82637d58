//! HPCC on a path of eight hops whose bottleneck is the last link, with telemetry of eight hops and of five.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, switch};
use conformance::simulated::{Plan, Seen, assert_lossless, flow, host_of_pair, options};
use conformance::{A, B, P3};
use endpoint::{CongestionControl, Hpcc};
use simulation::{NodeId, Options};
use switch::ForwardingSettings;
use units::{BitRate, Bytes, Interval, PortId};
use wire::int::{Format, Header, View};

const HOPS: usize = 8;
const FAST: BitRate = BitRate::gigabits(100);
/// The link of the receiver.
const SLOW: BitRate = BitRate::gigabits(25);
/// Of a link. Nine links there and back, and a packet of 0.35 us on eight of them and of 1.4 us on the last, are a round
/// trip of 23 us.
const DELAY: Interval = Interval(1_000);

/// The frames of a flow at the last switch, and that switch.
fn run(hops: Format) -> (Seen, NodeId) {
    let mut plan = Plan::default();
    let hpcc = Hpcc { base_rtt: Interval::from_micros(25), additive: Bytes(1_000), hops, ..Hpcc::default() };
    let hosts = [(0, FAST), (1, SLOW)].map(|(number, rate)| {
        let mut host = host_of_pair(number, rate);
        host.congestion_control = CongestionControl::Hpcc(hpcc);
        plan.host(host)
    });
    let mut last = (hosts[0], PortId(0));
    for hop in 1..=HOPS {
        let mut settings = switch(2, FAST, ForwardingSettings::Patch(vec![(A, B)]));
        settings.ports.iter_mut().for_each(|port| port.int = true);
        // PFC never acts: the flow has less than this in flight.
        settings.ports[0].groups[P3.index()] = lossless(1_000_000, 900_000, 100_000);
        settings.ports[1].mac.0[4] = hop as u8;
        settings.ports[1].rate = if hop == HOPS { SLOW } else { FAST };
        let next = plan.switch(settings);
        plan.join([last, (next, A)], FAST, DELAY);
        last = (next, B);
    }
    plan.join([last, (hosts[1], PortId(0))], SLOW, DELAY);
    let options = Options { taps: vec![last.0], ..options() };
    let (outcome, seen) = plan.run(options, &[flow(0, hosts[0], hosts[1], 6_000_000)]);
    assert_lossless(&outcome);
    (seen, last.0)
}

/// The telemetry of each data packet as it leaves the last switch, and how long the packet was in there.
fn at_the_end(hops: Format) -> Vec<(Header, Interval)> {
    let (seen, node) = run(hops);
    let through = |port: PortId, inbound: bool| {
        let at = move |tap: &simulation::Tap| (tap.node, tap.port, tap.inbound) == (node, port, inbound);
        seen.frames.iter().filter(move |(tap, _, _, length)| at(tap) && *length > Bytes(1_000))
    };
    let read = |headers: &[u8]| View::parse(&headers[54..], hops).unwrap().header();
    let pairs = through(A, true).zip(through(B, false));
    pairs.map(|((_, came, ..), (_, left, headers, _))| (read(headers), left.since(*came))).collect()
}

/// The longest stay of the second half of the packets.
fn longest_stay(packets: &[(Header, Interval)]) -> Interval {
    packets[packets.len() / 2..].iter().map(|(_, stay)| *stay).max().unwrap()
}

#[test]
fn with_eight_hops_the_queue_before_the_receiver_is_seen_and_comes_down() {
    let packets = at_the_end(Format::Eight);
    assert!(packets.len() > 1_400, "{}", packets.len());
    for (header, _) in &packets {
        let rates = header.hops.map(|hop| hop.unwrap().rate.rate());
        assert_eq!((header.passed, &rates[..7], rates[7]), (8, &[FAST; 7][..], SLOW));
    }
    let queue = |(header, _): &(Header, Interval)| header.hops[7].unwrap().queue_bytes();
    let first = packets.iter().map(queue).max().unwrap();
    assert!(first > 150_000, "the flow starts at 100G: {first}");
    assert!(packets.iter().all(|(header, _)| header.hops[..7].iter().all(|hop| hop.unwrap().queue == 0)));
    let stay = longest_stay(&packets);
    assert!(stay < Interval::from_micros(8), "{stay}");
}

#[test]
fn with_five_hops_it_is_not_seen_and_stays() {
    let packets = at_the_end(Format::Five);
    for (header, _) in &packets {
        assert_eq!(header.passed, 8);
        assert!(header.hops.iter().flatten().all(|hop| hop.rate.rate() == FAST && hop.queue == 0));
        assert_eq!(header.hops.iter().flatten().count(), 5);
    }
    let stay = longest_stay(&packets);
    assert!(stay > Interval::from_micros(40), "{stay}");
}
