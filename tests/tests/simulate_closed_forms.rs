//! Times that can be computed by hand, to the nanosecond.

use conformance::settings::{XOFF, XON, lossless, routed, switch};
use conformance::simulated::{PACKET, Plan, assert_lossless, flow, host_behind, host_of_pair, options};
use conformance::{A, B, cost};
use core::num::NonZeroU32;
use endpoint::{GoBackN, Transport};
use simulation::{NodeId, Options, Tap};
use switch::ForwardingSettings;
use switch::program::Settings;
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};

const DELAY: Interval = Interval(1_500);

/// Two patched ports at `rate`.
fn patch(rate: BitRate) -> Settings {
    switch(2, rate, ForwardingSettings::Patch(vec![(A, B)]))
}

/// Two hosts with `switches` between them; returns the hosts.
fn chain(switches: usize, rate: BitRate, delay: Interval) -> (Plan, [NodeId; 2]) {
    let mut plan = Plan::default();
    let hosts = [0, 1].map(|number| plan.host(host_of_pair(number, rate)));
    let mut last = (hosts[0], PortId(0));
    for _ in 0..switches {
        let next = plan.switch(patch(rate));
        plan.join([last, (next, A)], rate, delay);
        last = (next, B);
    }
    plan.join([last, (hosts[1], PortId(0))], rate, delay);
    (plan, hosts)
}

/// The time that `bytes` take on a link of `rate`, rounded up.
fn time(rate: BitRate, bytes: u64) -> u64 {
    rate.serialization().time_of(WireBytes(bytes)).0
}

#[test]
fn a_packet_is_serialised_once_per_link_and_travels_each() {
    for gigabits in [10, 25, 100, 400, 800] {
        let rate = BitRate::new(gigabits * 1_000_000_000).unwrap();
        for links in 1..6 {
            let (plan, [source, destination]) = chain(links as usize - 1, rate, DELAY);
            let (outcome, seen) = plan.run(options(), &[flow(0, source, destination, 4_096)]);
            assert_lossless(&outcome);
            // Each node is called on whole nanoseconds, so each link rounds once.
            let expected = links * (time(rate, PACKET) + DELAY.0);
            assert_eq!(seen.flows[0].end, Nanos(expected), "{gigabits}G, {links} links");
        }
    }
}

#[test]
fn a_message_takes_one_packet_per_further_link_and_the_rest_at_the_rate_of_a_link() {
    for gigabits in [25, 100, 400] {
        let rate = BitRate::new(gigabits * 1_000_000_000).unwrap();
        for links in 1..6 {
            let (plan, [source, destination]) = chain(links as usize - 1, rate, DELAY);
            let packets = 1_000;
            let (outcome, seen) = plan.run(options(), &[flow(0, source, destination, packets * 4_096)]);
            assert_lossless(&outcome);
            let end = seen.flows[0].end.0;
            let exact = time(rate, packets * PACKET) + links * DELAY.0;
            let first = (links - 1) * time(rate, PACKET);
            // A train keeps the fractions of a nanosecond; only the first packet is rounded at each link.
            assert!(end <= exact + first && end + links >= exact + first, "{end}: {exact} and {first}");
            assert!(seen.flows[0].ideal.0 <= end && seen.flows[0].ideal.0 + links + 1 >= end);
        }
    }
}

#[test]
fn light_takes_its_time() {
    // 10,000 km of fibre at 5 us per km.
    let delay = Interval::from_millis(50);
    let rate = BitRate::gigabits(400);
    let (plan, [source, destination]) = chain(0, rate, delay);
    let (_, seen) = plan.run(options(), &[flow(0, source, destination, 1)]);
    // One byte is padded to four.
    assert_eq!(seen.flows[0].end, Nanos(50_000_000) + Interval(time(rate, 4 + 58 + 24)));
}

/// Several hosts and one that receives, around one switch.
fn incast(senders: u16, rate: BitRate, settings: Settings) -> (Plan, Vec<NodeId>) {
    let mut plan = Plan::default();
    let router = plan.switch(settings);
    let ports = (0..=senders).map(PortId);
    let hosts: Vec<_> = ports.clone().map(|port| plan.host(host_behind(port, rate))).collect();
    for (host, port) in hosts.iter().zip(ports) {
        plan.join([(*host, PortId(0)), (router, port)], rate, DELAY);
    }
    (plan, hosts)
}

#[test]
fn of_many_to_one_the_last_flow_ends_when_its_last_byte_has_passed_the_bottleneck() {
    for senders in [2, 7, 16] {
        let rate = BitRate::gigabits(100);
        let (plan, hosts) = incast(senders, rate, routed(senders + 1));
        let packets = 250;
        let flows: Vec<_> = (0..senders)
            .map(|n| flow(n.into(), hosts[usize::from(n)], hosts[usize::from(senders)], packets * 4_096))
            .collect();
        let (outcome, seen) = plan.run(options(), &flows);
        assert_lossless(&outcome);
        let first = time(rate, PACKET) + DELAY.0;
        let all = time(rate, u64::from(senders) * packets * PACKET);
        let last = seen.flows.iter().map(|record| record.end).max().unwrap();
        assert_eq!(last, Nanos(first + all + DELAY.0), "the bottleneck never idles, {senders} senders");
        // And that under PFC. Each pause lets what is between XOFF and XON drain.
        let most = 1 + (packets * cost(PACKET - WireBytes::OVERHEAD) - XOFF) / (XOFF - XON);
        for (host, port) in outcome.hosts.iter().zip(&outcome.switches[0].ports).take(senders.into()) {
            let pauses = port.groups[3].pauses;
            assert!((1..=most).contains(&pauses.xoff), "{senders} senders: {} of {most}", pauses.xoff);
            assert_eq!(pauses.xon, pauses.xoff);
            assert_eq!(host.counters.pauses_received, pauses.xoff + pauses.refresh + pauses.xon);
            assert_eq!(port.groups[3].watermark.persistent(), Bytes(XOFF));
        }
    }
}

/// A link of 100G into one of 25G, 10 us from each other. XOFF is five packets, XON two.
#[test]
fn a_pause_leaves_and_acts_and_ends_when_arithmetic_says() {
    let (fast, slow, delay) = (BitRate::gigabits(100), BitRate::gigabits(25), Interval(10_000));
    let mut settings = patch(fast);
    settings.ports[1].rate = slow;
    let stored = PACKET - WireBytes::OVERHEAD;
    settings.ports[0].groups[3] = lossless(5 * stored, 2 * stored, 1_000_000);
    let mut plan = Plan::default();
    let [source, destination] = [(0, fast), (1, slow)].map(|(number, rate)| {
        let mut host = host_of_pair(number, rate);
        // One acknowledgement at the end, so that the way of the pauses is free.
        let ack_every = NonZeroU32::MAX;
        host.transport = Transport::GoBackN(GoBackN { ack_every, ..GoBackN::default() });
        plan.host(host)
    });
    let gateway = plan.switch(settings);
    plan.join([(source, PortId(0)), (gateway, A)], fast, delay);
    plan.join([(gateway, B), (destination, PortId(0))], slow, delay);
    let taps = vec![source, gateway];
    let (outcome, seen) =
        plan.run(Options { taps, ..options() }, &[flow(0, source, destination, 200 * 4_096)]);
    assert_lossless(&outcome);
    let at = |node, inbound, pause| {
        let wanted = move |tap: &Tap, headers: &[u8]| {
            tap.node == node
                && tap.port == A
                && tap.inbound == inbound
                && (headers[12..14] == [0x88, 0x08]) == pause
        };
        seen.frames.iter().filter(move |(tap, _, headers, _)| wanted(tap, headers)).map(|(_, at, ..)| *at)
    };
    let pauses: Vec<_> = at(gateway, false, true).collect();
    let starts: Vec<_> = at(source, false, false).collect();

    // Packet n is there at n T + D, and packet m leaves at T + D + 4 T (m - 1). When the seventh is there,
    // two have left, and five are five.
    assert_eq!(pauses[0], Nanos(time(fast, 7 * PACKET) + delay.0));
    let on_the_way = Interval(time(fast, 84)) + delay;
    let heard = pauses[0] + on_the_way;
    assert_eq!(at(source, true, true).next(), Some(heard));
    // A packet that had begun when the pause arrived goes on, and none begins any more.
    let sent = starts.iter().filter(|start| **start < heard).count() as u64;
    assert_eq!(sent, (heard.0 * 100).div_ceil(8 * PACKET));
    // The pause ends when one packet is left.
    assert_eq!(pauses[1], Nanos(time(fast, PACKET) + delay.0 + time(slow, (sent - 2) * PACKET)));
    assert_eq!(starts[sent as usize], pauses[1] + on_the_way, "and the next packet begins at once");
    let group = outcome.switches[0].ports[0].groups[3];
    assert_eq!((group.pauses.xoff, group.pauses.xon), (pauses.len() as u64 / 2, pauses.len() as u64 / 2));
}
