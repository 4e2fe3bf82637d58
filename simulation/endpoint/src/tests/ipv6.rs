//! Hosts over IPv6, and Fast CNPs, which need it.

use super::bench::*;
use crate::*;
use core::net::Ipv6Addr;
use core::num::NonZeroU32;
use units::{BitRate, Bytes, Interval, Nanos};
use wire::ip::{Dscp, Ecn};
use wire::roce::fast_cnp::{Frame, MAX_FRAME_LEN, OptionType};
use wire::roce::{Opcode, QueuePair, icrc};

const NODE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9);

/// Hosts with IPv6 addresses.
fn bench(adjust: impl Fn(&mut HostSettings)) -> Bench {
    Bench::new(|settings| {
        let host = usize::from(settings.station == station(1));
        settings.station.address = v6(host).into();
        adjust(settings);
    })
}

fn dcqcn(settings: &mut HostSettings) {
    settings.congestion_control = CongestionControl::Dcqcn(Dcqcn::default());
}

/// The rate of a flow after a Fast CNP that `change` has changed, and whether it was a stray.
fn told(knows: bool, change: impl Fn(&mut Frame)) -> (BitRate, u64) {
    let mut bench = bench(|settings| {
        dcqcn(settings);
        settings.fast_cnp = knows.then_some(OptionType::EXPERIMENTAL);
    });
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(20_000));
    let mut frame = Frame {
        destination_mac: station(0).mac,
        source_mac: station(1).mac,
        tag: None,
        source: NODE,
        sender: v6(0),
        option: OptionType::EXPERIMENTAL,
        receiver: v6(1),
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::NotEct,
        hop_limit: 9,
        source_port: 0,
        receiver_qp: bench.data().next().unwrap().bth().destination_qp(),
    };
    change(&mut frame);
    let mut bytes = [0; MAX_FRAME_LEN];
    let length = frame.emit(&mut bytes).unwrap();
    bench.hosts[0].ingress(bench.now, &bytes[..length], Bytes(length as u64));
    (bench.hosts[0].flow(flow).unwrap().rate, bench.hosts[0].counters().strays)
}

#[test]
fn flows_of_every_transport_arrive_whole_over_ipv6_in_spite_of_losses() {
    let retransmission_timeout = Interval::from_micros(100);
    let go_back_n = GoBackN { retransmission_timeout, ack_every: NonZeroU32::MIN };
    let (rto_initial, rto_least) = (retransmission_timeout, retransmission_timeout);
    let new_reno = NewReno { rto_initial, rto_least, ..NewReno::default() };
    let transports =
        [Transport::GoBackN(go_back_n), Transport::Irn(Irn::default()), Transport::NewReno(new_reno)];
    for transport in transports {
        for managed in [None, Some(Interval::from_micros(100))] {
            let mut bench = bench(|settings| {
                settings.transport = transport;
                settings.connection_management = managed;
            });
            bench.weather = Box::new(|index, _| if index % 7 == 3 { Fate::Lost } else { Fate::Arrives });
            bench.flow(0, P3, Some(50_000), 0);
            bench.run();
            bench.assert_whole_and_once(&[50_000]);
            assert!(bench.sent.iter().all(|sent| sent.headers[12..14] == [0x86, 0xdd]));
        }
    }
}

#[test]
fn a_marked_packet_over_ipv6_brings_a_cnp_to_its_sender() {
    let mut bench = bench(|settings| {
        dcqcn(settings);
        settings.cnp_interval = Some(Interval::from_micros(50));
    });
    bench.weather = Box::new(|index, _| if index == 0 { Fate::Marked } else { Fate::Arrives });
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(10_000));
    let counters = [0, 1].map(|host| bench.hosts[host].counters());
    assert_eq!((counters[1].marked, counters[1].cnps_sent, counters[0].cnps_received), (1, 1, 1));
    let cnp = bench.sent.iter().find(|sent| sent.opcode() == Opcode::CNP).unwrap();
    assert_eq!(icrc::verify(&cnp.headers[14..]), Ok(true));
    assert!(bench.hosts[0].flow(flow).unwrap().rate < RATE);
}

#[test]
fn a_fast_cnp_acts_as_a_cnp_on_the_flow_that_it_names_by_the_receiver() {
    let halved = BitRate::new(RATE.bits_per_second() / 2).unwrap();
    assert_eq!(told(true, |_| {}), (halved, 0));
}

#[test]
fn a_fast_cnp_about_no_flow_or_for_a_host_that_does_not_know_them_is_a_stray() {
    assert_eq!(told(false, |_| {}), (RATE, 1));
    assert_eq!(told(true, |frame| frame.receiver_qp = QueuePair::from_low_bits(0x777)), (RATE, 1));
    assert_eq!(told(true, |frame| frame.receiver = NODE), (RATE, 1));
    assert_eq!(told(true, |frame| frame.sender = v6(1)), (RATE, 1));
    assert_eq!(told(true, |frame| frame.option = OptionType::new(7).unwrap()), (RATE, 1));
}

#[test]
fn a_flow_that_has_ended_leaves_nothing_for_a_fast_cnp_to_find() {
    let mut bench = bench(|settings| settings.fast_cnp = Some(OptionType::EXPERIMENTAL));
    for number in 0..40 {
        bench.flow(number, P3, Some(10), 0);
        bench.run();
    }
    assert_eq!(bench.hosts[0].known_destinations(), 0);
}

#[test]
fn a_flow_to_an_address_of_another_version_is_not_opened() {
    let mut bench = Bench::new(|settings| {
        if *settings == super::bench::settings(0) {
            settings.station.address = v6(0).into();
        }
    });
    let flow = bench.flow(1, P3, Some(10), 0);
    bench.run();
    assert_eq!((bench.hosts[0].flow(flow), bench.sent.len()), (None, 0));
}
