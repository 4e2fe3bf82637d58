//! Sends packets from one host of the simulator to another and their acknowledgements back, for a clock or a
//! profiler: instructions per packet are repeatable where times are not.
//!
//! `valgrind --tool=callgrind target/release/examples/host_packets 16 1 0 1000000`: 16 queue pairs, an
//! acknowledgement for each packet, every so many packets marked (0 for none), one million packets in all.
//! Without marks all queue pairs have the rate of the port; with some, DCQCN paces them.

use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use endpoint::{
    CongestionControl, Connection, Dcqcn, End, FlowId, GoBackN, Host, HostSettings, Station, Transmit,
    Transport,
};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{BitRate, Bytes, Interval, Nanos, Priority, PrioritySet, SerializationTime, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::{Dscp, Ecn};
use wire::ipv4;
use wire::roce::{Psn, source_port_of_queue_pairs};

const RATE: BitRate = BitRate::gigabits(100);
const PER_BYTE: SerializationTime = RATE.serialization();
const PRIORITY: Priority = Priority::from_low_bits(3);

/// A frame on its way, as short as its headers.
struct InFlight {
    arrival: Nanos,
    headers: [u8; 96],
    stored: usize,
    length: Bytes,
}

/// One direction of the link, 1 us long.
#[derive(Default)]
struct Link {
    frames: VecDeque<InFlight>,
    data: u64,
    mark_every: u64,
}

impl Transmit for Link {
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>) {
        let arrival = start + PER_BYTE.time_of(WireBytes::of_frame(length)) + Interval(1_000);
        let mut frame = InFlight { arrival, headers: [0; 96], stored: headers.len(), length };
        frame.headers[..headers.len()].copy_from_slice(headers);
        if flow.is_some() {
            self.data += 1;
            if self.mark_every > 0 && self.data.is_multiple_of(self.mark_every) {
                let packet = &mut frame.headers[14..];
                ipv4::View::parse_head(packet, usize::MAX).expect("a packet of a host").set_ecn(Ecn::Ce);
            }
        }
        self.frames.push_back(frame);
    }
}

fn host(number: u8, ack_every: u32) -> Host {
    let station = |number| Station {
        mac: MacAddress([2, 0, 0, 0, 0, number]),
        address: Ipv4Addr::new(10, 0, 0, number).into(),
    };
    Host::new(Arc::new(HostSettings {
        station: station(number),
        next_hop: station(3 - number).mac,
        rate: RATE,
        mtu: 1_024,
        lossless: PrioritySet::EMPTY.with(PRIORITY),
        dscp: [Dscp::DEFAULT; Priority::COUNT],
        control_priority: None,
        transport: Transport::GoBackN(GoBackN {
            ack_every: NonZeroU32::new(ack_every).unwrap_or(NonZeroU32::MIN),
            ..GoBackN::default()
        }),
        congestion_control: CongestionControl::Dcqcn(Dcqcn::default()),
        cnp_interval: Some(Interval::from_micros(50)),
        connection_management: None,
    }))
}

fn connect(hosts: &mut [Host; 2], number: u32) {
    let pairs = [0, 1].map(|host: usize| hosts[host].reserve().expect("no queue pair is taken yet"));
    for (at, end) in [(1, End::Receiver), (0, End::Sender)] {
        let connection = Connection {
            flow: FlowId(number),
            end,
            local: pairs[at],
            remote: pairs[1 - at],
            source_port: source_port_of_queue_pairs(pairs[at], pairs[1 - at]),
            peer: hosts[1 - at].settings().station.address,
            priority: PRIORITY,
            first_psn: Psn::from_low_bits(number),
            length: None,
        };
        hosts[at].connect(Nanos::ZERO, &connection);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (pairs, ack_every, mark_every, total) = (next(16) as u32, next(1) as u32, next(0), next(1_000_000));
    let mut hosts = [host(1, ack_every), host(2, ack_every)];
    (0..pairs).for_each(|number| connect(&mut hosts, number));
    let mut links = [Link { mark_every, ..Link::default() }, Link::default()];
    let began = std::time::Instant::now();
    while links[0].data < total {
        let arrivals = links.iter().filter_map(|link| link.frames.front()).map(|frame| frame.arrival);
        let deadlines = hosts.iter().map(Host::next_deadline);
        let now = arrivals.chain(deadlines).min().unwrap_or(Nanos::NEVER);
        for (at, host) in hosts.iter_mut().enumerate() {
            while let Some(frame) = links[1 - at].frames.pop_front_if(|frame| frame.arrival <= now) {
                host.ingress(now, &frame.headers[..frame.stored], frame.length);
            }
            if host.next_deadline() <= now {
                host.egress(now, &mut links[at]);
            }
            while host.take_event().is_some() {}
        }
    }
    let nanos = began.elapsed().as_nanos() as f64;
    let counters = hosts[0].counters();
    println!(
        "{pairs} queue pairs, {} packets, {} notifications: {:.2} ns per packet with its answer",
        counters.data_sent,
        counters.cnps_received,
        nanos / total as f64
    );
}
