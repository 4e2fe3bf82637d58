//! Hosts over IPv6.

use super::bench::*;
use crate::*;
use core::num::NonZeroU32;
use units::{Interval, Nanos};
use wire::roce::{Opcode, icrc};

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

#[test]
fn flows_of_every_transport_arrive_whole_over_ipv6_in_spite_of_losses() {
    let retransmission_timeout = Interval::from_micros(100);
    let go_back_n = GoBackN { retransmission_timeout, ack_every: NonZeroU32::MIN };
    let (rto_initial, rto_least) = (retransmission_timeout, retransmission_timeout);
    let new_reno = NewReno { rto_initial, rto_least };
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
