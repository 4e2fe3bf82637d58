//! HPCC*: direct INT from the gateway before the long link, and the near loop of the hosts.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{LOCAL, PEER, gateway, introduce, lscc, lscc_of};
use conformance::settings::{host_mac, host_v4, lossless, patched, port_mac, routed};
use conformance::simulated::{Plan, endless, flow, host_behind, options};
use conformance::two_gateways::{ONE_WAY, RATE, sender};
use conformance::{A, B, Connection, Flow, P3, P4, TestFrame, Testbench};
use endpoint::{CongestionControl, Hpcc};
use simulation::{Faults, Outcome};
use switch::program::{Feedback, Settings};
use switch::{DirectIntCounters, DropReason};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority};
use wire::int::{self, Format, Header, Hop, HopNumber, LinkRate};
use wire::ip::Ecn;
use wire::roce::bth::{self, Telemetry};
use wire::roce::direct_int::Content;
use wire::roce::{Opcode, Psn, icrc};
use wire::{ethernet, ipv4};

const SLOW: BitRate = BitRate::gigabits(1);
const TELEMETRY_AT: usize = 54;

/// A gateway that replaces direct CNPs by direct INT.
fn telling() -> Settings {
    let mut settings = gateway();
    lscc_of(&mut settings).limiting.direct_int = Some(Interval::from_micros(10));
    settings
}

fn connection() -> Connection {
    Connection::new(Flow::new(A, B).at(P3).ecn(Ecn::Ect0), 5)
}

/// Packet `psn` of the connection, which has passed one hop of 40G.
fn collecting(connection: &Connection, psn: u32) -> TestFrame {
    let mut payload = vec![0; Format::Five.bytes() + 1_000];
    let hop = Hop::new(LinkRate::of(BitRate::gigabits(40)).unwrap(), Nanos(77), 0, 51_200);
    int::stamp(&mut payload, Format::Five, HopNumber::from_low_bits(0x123), hop);
    let header = bth::Header {
        telemetry: Telemetry::Collected(Format::Five),
        psn: Psn::from_low_bits(psn),
        ..bth::Header::new(Opcode::RC_SEND_MIDDLE, connection.destination_qp)
    };
    connection.flow.roce(&header, &payload)
}

/// A gateway that has seen the connection being made, and sends its packets for 100 us, one in each.
fn run(settings: Settings, rate: Option<BitRate>, connected: bool) -> Testbench {
    let (mut bench, connection) = (Testbench::new(settings), connection());
    if let Some(rate) = rate {
        introduce(&mut bench, 1, rate);
    }
    if connected {
        bench.inject_singly(A, [connection.request()]);
        bench.inject_singly(B, [connection.reply()]);
    }
    for psn in 0..100 {
        bench.inject_singly(A, [collecting(&connection, psn)]);
        bench.run_for(Interval::from_micros(1));
    }
    bench
}

/// The direct INTs that left through port A.
fn direct_ints(bench: &Testbench) -> Vec<Vec<u8>> {
    let control = bench.sent(A).iter().filter(|it| it.control && it.pfc().is_none());
    let frames = control.map(|it| it.frame.bytes.clone());
    frames.filter(|bytes| bytes.get(42) == Some(&Opcode::DIRECT_INT.0)).collect()
}

/// The telemetry of the data packets that left through port B.
fn left_with(bench: &Testbench) -> Vec<Header> {
    let data = bench.data(B).filter(|sent| sent.frame.bytes.len() > 1_000);
    data.map(|sent| {
        assert_eq!(icrc::verify(&sent.frame.bytes[14..]), Ok(true));
        int::View::parse(&sent.frame.bytes[TELEMETRY_AT..], Format::Five).unwrap().header()
    })
    .collect()
}

fn counters(bench: &Testbench) -> DirectIntCounters {
    bench.shard.notifiers(B).lscc.unwrap().limiter.direct_int
}

#[test]
fn a_direct_int_tells_the_sender_what_its_packet_has_collected_the_pseudo_queue_and_the_rate() {
    let bench = run(telling(), Some(SLOW), true);
    let frames = direct_ints(&bench);
    assert!((9..=11).contains(&frames.len()), "one in each 10 us: {}", frames.len());
    let mut longest = 0;
    for frame in &frames {
        assert_eq!(frame.len(), 106);
        let link = ethernet::View::parse(&frame[..]).unwrap();
        assert_eq!((link.destination(), link.source()), (host_mac(A), port_mac(A)));
        let ip = ipv4::View::parse(&frame[14..]).unwrap();
        assert!(ip.verify_checksum() && icrc::verify(&frame[14..]).unwrap());
        assert_eq!((ip.source(), ip.destination()), (host_v4(B), host_v4(A)));
        let transport = bth::View::parse(&frame[42..]).unwrap();
        assert_eq!(transport.destination_qp(), connection().source_qp);
        let content = Content::parse(transport.payload()).unwrap();
        let header = content.header();
        assert_eq!((header.passed, header.path.number()), (2, 0x123));
        assert_eq!(header.hops[0].map(|hop| hop.timestamp), Some(77));
        assert_eq!(content.advertised(), SLOW);
        let queue = header.hops[1].unwrap().queue_bytes();
        assert!(queue >= longest, "it grows by a packet each microsecond");
        longest = queue;
    }
    assert!(longest > 0);
    assert!(left_with(&bench).iter().all(|header| *header == Header::default()), "none counts a link twice");
    let sent = frames.len() as u64;
    assert_eq!(counters(&bench), DirectIntCounters { sent, replaced: 100, ..Default::default() });
}

#[test]
fn without_a_rate_or_a_known_sender_all_telemetry_stays_and_nobody_is_told() {
    for (rate, connected, kept) in [(None, true, 0), (Some(SLOW), false, 100)] {
        let bench = run(telling(), rate, connected);
        assert!(direct_ints(&bench).is_empty());
        assert_eq!(left_with(&bench).iter().map(|header| u64::from(header.passed)).sum::<u64>(), 100);
        assert_eq!(counters(&bench), DirectIntCounters { kept, ..Default::default() });
    }
}

#[test]
fn with_direct_cnps_telemetry_stays_as_it_is() {
    let bench = run(gateway(), Some(SLOW), true);
    assert!(direct_ints(&bench).is_empty() && left_with(&bench).iter().all(|header| header.passed == 1));
    let limiter = bench.shard.notifiers(B).lscc.unwrap().limiter;
    assert!(limiter.direct_cnps > 0 && limiter.direct_int == DirectIntCounters::default());
}

#[test]
fn senders_without_telemetry_are_still_sent_cnps() {
    let (mut bench, connection) = (Testbench::new(telling()), connection());
    introduce(&mut bench, 1, SLOW);
    bench.inject_singly(A, [connection.request()]);
    bench.inject_singly(B, [connection.reply()]);
    for psn in 0..100 {
        bench.inject_singly(A, [connection.data(psn, 4_096)]);
        bench.run_for(Interval::from_micros(1));
    }
    assert!(direct_ints(&bench).is_empty() && bench.shard.notifiers(B).lscc.unwrap().limiter.direct_cnps > 0);
}

#[test]
fn direct_int_that_comes_over_the_long_link_is_forged_and_dropped_by_name() {
    let told = direct_ints(&run(telling(), Some(SLOW), true)).remove(0);
    for (settings, dropped) in [(telling(), true), (gateway(), false)] {
        for tagged in [false, true] {
            let mut bench = run(settings.clone(), Some(SLOW), true);
            let before = direct_ints(&bench).len();
            let mut forged = told.clone();
            if tagged {
                forged.splice(12..12, [0x81, 0x00, 0x60, 0x07]);
            }
            bench.inject_singly(B, [TestFrame::new(forged)]);
            bench.run_for(Interval::from_micros(1));
            let counted = bench.dropped_in_all().frames;
            let by_name =
                Priority::all().map(|it| bench.dropped(B, it, DropReason::ForeignDirectInt).frames).sum();
            assert_eq!((counted, by_name), if dropped { (1, 1) } else { (0, 0) });
            let passed = bench.sent(A).iter().filter(|it| !it.control).count() - 1;
            assert_eq!(passed, usize::from(!dropped), "beside the reply");
            assert!(dropped || before == 0);
        }
    }
}

/// The bottleneck behind the far gateway.
const BOTTLENECK: BitRate = BitRate::gigabits(25);

/// `settings` as those of a gateway of a long link behind `port`, with HPCC* or LSCC, and telemetry at all ports.
fn end(mut settings: Settings, port: PortId, direct_int: Option<Interval>, far: bool) -> Settings {
    settings.buffer.shared = Bytes(200_000_000);
    for it in &mut settings.ports {
        it.int = true;
        for priority in [P3, P4] {
            it.groups[priority.index()] = lossless(50_000_000, 40_000_000, 0);
        }
    }
    let long = &mut settings.ports[port.index()];
    let mut own = lscc(RATE);
    own.round_trip = ONE_WAY * 2 + Interval(3_000);
    own.limiting.long_flow = Some(own.bdp(RATE));
    own.limiting.direct_int = direct_int;
    let (local, peer) = if far { (PEER, LOCAL) } else { (LOCAL, PEER) };
    own.feedback = Feedback { local, peer, key: None, ..own.feedback };
    long.notifiers.lscc = Some(own);
    settings
}

fn hpcc(near_rtt: Option<Interval>) -> Hpcc {
    let base_rtt = ONE_WAY * 2 + Interval(10_000);
    Hpcc { base_rtt, max_stage: 0, additive: Bytes(10_000), near_rtt, ..Hpcc::default() }
}

/// A host of 100G with HPCC sends for 20 ms over 80 km, to one at 25G.
fn simulated(direct_int: Option<Interval>, near_rtt: Option<Interval>, near_faults: Faults) -> Outcome {
    let (mut plan, hpcc) = (Plan::default(), hpcc(near_rtt));
    let hosts = [(0, 1, RATE), (1, 0, BOTTLENECK)].map(|(number, to, rate)| {
        let mut host = sender(number, to, rate);
        host.congestion_control = CongestionControl::Hpcc(hpcc);
        plan.host(host)
    });
    let near = plan.switch(end(patched(2), B, direct_int, false));
    let mut far = end(patched(2), A, direct_int, true);
    far.ports[B.index()].rate = BOTTLENECK;
    let far = plan.switch(far);
    let link = plan.join([(hosts[0], PortId(0)), (near, A)], RATE, Interval(500));
    plan.network.links[link].faults[1] = near_faults;
    plan.join([(near, B), (far, A)], RATE, ONE_WAY);
    plan.join([(far, B), (hosts[1], PortId(0))], BOTTLENECK, Interval(500));
    let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, Nanos(0), Nanos(20_000_000))];
    plan.run(options(), &flows).0
}

fn told(outcome: &Outcome) -> DirectIntCounters {
    outcome.switches[0].ports[B.index()].notifiers.lscc.unwrap().limiter.direct_int
}

#[test]
fn hosts_with_a_near_loop_use_direct_int_and_others_ignore_it() {
    let interval = Some(Interval(10_000));
    let star = simulated(interval, Some(Interval(5_000)), Faults::default());
    let (told_star, sender) = (told(&star), star.hosts[0].counters);
    assert!(told_star.sent > 100 && sender.direct_ints_received == told_star.sent, "{told_star:?}");
    assert_eq!(sender.strays, 0);
    let deaf = simulated(interval, None, Faults::default());
    let sender = deaf.hosts[0].counters;
    assert_eq!((sender.direct_ints_received, sender.strays), (0, told(&deaf).sent), "ignored");
    let off = simulated(None, Some(Interval(5_000)), Faults::default());
    assert_eq!((told(&off), off.hosts[0].counters.direct_ints_received), (DirectIntCounters::default(), 0));
    for outcome in [&star, &deaf, &off] {
        assert!(outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
    }
}

#[test]
fn direct_ints_that_are_lost_cost_no_data() {
    // Acknowledgements are lost with them.
    let faults = Faults { loss: 0.05, ..Faults::default() };
    let outcome = simulated(Some(Interval(10_000)), Some(Interval(5_000)), faults);
    let sent = told(&outcome).sent;
    let received = outcome.hosts[0].counters.direct_ints_received;
    assert!(received < sent && received * 10 > sent * 8, "{received} of {sent}");
    assert!(outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
}

/// Two hosts of 100G send over 80 km of 100G, the second one from 4 ms on. Returns the longest queue of the near gateway
/// to the long link.
fn joined(direct_int: Option<Interval>, near_rtt: Option<Interval>) -> u64 {
    const C: PortId = PortId(2);
    let mut plan = Plan::default();
    let [first, second, receiver] = [A, C, B].map(|port| {
        let mut host = host_behind(port, RATE);
        host.congestion_control = CongestionControl::Hpcc(hpcc(near_rtt));
        plan.host(host)
    });
    let near = plan.switch(end(routed(3), B, direct_int, false));
    let far = plan.switch(end(patched(2), A, direct_int, true));
    plan.join([(first, PortId(0)), (near, A)], RATE, Interval(500));
    plan.join([(second, PortId(0)), (near, C)], RATE, Interval(500));
    plan.join([(near, B), (far, A)], RATE, ONE_WAY);
    plan.join([(far, B), (receiver, PortId(0))], RATE, Interval(500));
    let flows = [(0, first, 0), (1, second, 4_000_000)]
        .map(|(id, from, start)| endless(flow(id, from, receiver, 0), P3, Nanos(start), Nanos(8_000_000)));
    let outcome = plan.run(options(), &flows).0;
    outcome.switches[0].ports[B.index()].queues[P3.index()].watermark.persistent().0
}

#[test]
fn a_sender_makes_room_for_another_one_before_a_round_trip_of_the_long_link() {
    let (interval, near_rtt) = (Some(Interval(10_000)), Some(Interval(5_000)));
    let star = joined(interval, near_rtt);
    // A round trip of the first sender, at 100G.
    let bdp = RATE.bytes_in(ONE_WAY * 2);
    for (direct_int, near_rtt) in [(None, near_rtt), (interval, None)] {
        let control = joined(direct_int, near_rtt);
        assert!(control > bdp / 2 && star * 4 < control, "{star} and {control} of {bdp}");
    }
}
