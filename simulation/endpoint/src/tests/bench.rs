//! Two hosts and a wire between them, in virtual time.

use crate::*;
use core::cmp::Reverse;
use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::sync::Arc;
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::{Dscp, Ecn};
use wire::roce::{Opcode, Psn, bth, source_port_of_queue_pairs};
use wire::{int, ipv4, ipv6, pfc};

pub const P0: Priority = Priority::from_low_bits(0);
pub const P3: Priority = Priority::from_low_bits(3);
pub const P4: Priority = Priority::from_low_bits(4);
pub const RATE: BitRate = BitRate::gigabits(100);
pub const DELAY: Interval = Interval::from_micros(1);

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Marked,
    Lost,
    Late(Interval),
    /// Arrives late, with the telemetry of a hop.
    Stamped(Interval, int::Hop),
}

/// A frame that left a host.
#[derive(Clone, Debug)]
pub struct Sent {
    pub from: usize,
    pub start: Nanos,
    pub headers: Vec<u8>,
    pub length: Bytes,
    pub flow: Option<FlowId>,
}

impl Sent {
    pub fn bth(&self) -> bth::View<&[u8]> {
        let at = if self.headers[12..14] == [0x86, 0xdd] { 62 } else { 42 };
        bth::View::parse(&self.headers[at..]).unwrap()
    }

    pub fn is_data(&self) -> bool {
        self.flow.is_some()
    }

    pub fn opcode(&self) -> Opcode {
        self.bth().opcode()
    }

    pub fn psn(&self) -> u32 {
        self.bth().psn().number()
    }
}

struct Collect<'a>(usize, &'a mut Vec<Sent>);

impl Transmit for Collect<'_> {
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>) {
        self.1.push(Sent { from: self.0, start, headers: headers.to_vec(), length, flow });
    }
}

pub fn station(host: usize) -> Station {
    Station { mac: MacAddress([2, 0, 0, 0, 0, host as u8 + 1]), address: v4(host).into() }
}

pub fn v4(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1)
}

pub fn v6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host as u16 + 1)
}

pub fn settings(host: usize) -> HostSettings {
    HostSettings {
        station: station(host),
        next_hop: station(1 - host).mac,
        rate: RATE,
        mtu: 1_024,
        lossless: PrioritySet::EMPTY.with(P3).with(P4),
        dscp: core::array::from_fn(|priority| Dscp::from_low_bits(8 * priority as u8)),
        control_priority: None,
        transport: Transport::GoBackN(GoBackN {
            retransmission_timeout: Interval::from_micros(100),
            ..GoBackN::default()
        }),
        congestion_control: CongestionControl::None,
        cnp_interval: None,
        connection_management: None,
    }
}

/// Decides the fate of a frame, by the number of frames before it.
pub type Weather = Box<dyn FnMut(usize, &Sent) -> Fate>;

pub struct Bench {
    pub hosts: [Host; 2],
    pub now: Nanos,
    pub sent: Vec<Sent>,
    pub events: Vec<(Nanos, Event)>,
    pub weather: Weather,
    arrivals: BinaryHeap<Reverse<(Nanos, u64, usize, usize)>>,
    in_flight: BTreeMap<u64, Vec<u8>>,
    order: u64,
}

impl Bench {
    pub fn new(adjust: impl Fn(&mut HostSettings)) -> Self {
        let host = |number| {
            let mut settings = settings(number);
            adjust(&mut settings);
            Host::new(Arc::new(settings))
        };
        Self {
            hosts: [host(0), host(1)],
            now: Nanos::ZERO,
            sent: Vec::new(),
            events: Vec::new(),
            weather: Box::new(|_, _| Fate::Arrives),
            arrivals: BinaryHeap::new(),
            in_flight: BTreeMap::new(),
            order: 0,
        }
    }

    /// A flow from host 0 to host 1.
    pub fn flow(&mut self, number: u32, priority: Priority, length: Option<u64>, first_psn: u32) -> FlowId {
        let flow = FlowId(number);
        let pairs = [0, 1].map(|host: usize| self.hosts[host].reserve().unwrap());
        for (host, end) in [(1, End::Receiver), (0, End::Sender)] {
            let connection = Connection {
                flow,
                end,
                local: pairs[host],
                remote: pairs[1 - host],
                source_port: source_port_of_queue_pairs(pairs[host], pairs[1 - host]),
                peer: self.hosts[1 - host].settings().station.address,
                priority,
                first_psn: Psn::from_low_bits(first_psn),
                length,
            };
            self.hosts[host].connect(self.now, &connection);
        }
        flow
    }

    /// Pauses a priority of host 0 for some quanta, starting now.
    pub fn pause(&mut self, priority: Priority, quanta: u16) {
        let source = station(1).mac;
        let frame = pfc::Frame::uniform(source, PrioritySet::EMPTY.with(priority), PauseQuanta(quanta));
        let mut bytes = [0; 60];
        frame.emit(&mut bytes).unwrap();
        self.hosts[0].ingress(self.now, &bytes, Bytes(60));
    }

    /// Runs until `until`, or until nothing is due.
    pub fn run_until(&mut self, until: Nanos) {
        loop {
            let arrival = self.arrivals.peek().map_or(Nanos::NEVER, |Reverse((at, ..))| *at);
            let due = self.hosts.iter().map(Host::next_deadline).min().unwrap().min(arrival);
            if due > until || due == Nanos::NEVER {
                self.now = if until == Nanos::NEVER { self.now } else { until };
                return;
            }
            assert!(due >= self.now, "time goes on");
            self.now = due;
            self.step();
        }
    }

    pub fn run(&mut self) {
        self.run_until(Nanos::NEVER);
    }

    fn step(&mut self) {
        while let Some(Reverse((at, order, to, length))) = self.arrivals.peek().copied() {
            if at > self.now {
                break;
            }
            self.arrivals.pop();
            let headers = self.in_flight.remove(&order).unwrap();
            self.hosts[to].ingress(self.now, &headers, Bytes(length as u64));
            self.take_events();
        }
        for host in 0..2 {
            if self.hosts[host].next_deadline() <= self.now {
                let first = self.sent.len();
                self.hosts[host].egress(self.now, &mut Collect(host, &mut self.sent));
                self.carry(first);
                assert!(self.hosts[host].next_deadline() > self.now, "what was due is done");
            }
        }
        self.take_events();
    }

    fn carry(&mut self, first: usize) {
        for index in first..self.sent.len() {
            let fate = (self.weather)(index, &self.sent[index]);
            let sent = &self.sent[index];
            let last_bit = RATE.serialization().time_of(WireBytes::of_frame(sent.length));
            let mut at = sent.start + last_bit + DELAY;
            let mut headers = sent.headers.clone();
            match fate {
                Fate::Arrives => {}
                Fate::Lost => continue,
                Fate::Late(by) => at += by,
                Fate::Stamped(by, hop) => {
                    at += by;
                    int::stamp(&mut headers[54..], int::Format::Five, int::HopNumber::from_low_bits(1), hop);
                }
                Fate::Marked if headers[12] == 0x86 => {
                    ipv6::View::parse_head(&mut headers[14..], usize::MAX).unwrap().set_ecn(Ecn::Ce);
                }
                Fate::Marked => {
                    ipv4::View::parse_head(&mut headers[14..], usize::MAX).unwrap().set_ecn(Ecn::Ce);
                }
            }
            self.in_flight.insert(self.order, headers);
            self.arrivals.push(Reverse((at, self.order, 1 - sent.from, sent.length.0 as usize)));
            self.order += 1;
        }
    }

    fn take_events(&mut self) {
        for host in 0..2 {
            while let Some(event) = self.hosts[host].take_event() {
                self.events.push((self.now, event));
                if let Event::Acknowledged { flow, .. } = event {
                    self.hosts[1].close(flow);
                }
            }
        }
    }

    pub fn when(&self, wanted: Event) -> Option<Nanos> {
        self.events.iter().find(|(_, event)| *event == wanted).map(|(at, _)| *at)
    }

    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|(_, event)| wanted(event)).count()
    }

    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.is_data())
    }

    /// Asserts for each n that flow n, of `lengths[n]` bytes, arrived completely and was reported once, and
    /// that every packet is accounted for.
    pub fn assert_whole_and_once(&self, lengths: &[u64]) {
        for (number, length) in lengths.iter().enumerate() {
            let flow = FlowId(number as u32);
            let mut bytes = 0;
            for (_, event) in &self.events {
                if let Event::Delivered { flow: of, bytes: now } = event
                    && *of == flow
                {
                    assert!(*now > bytes || *length == 0);
                    bytes = *now;
                }
            }
            assert_eq!(bytes, *length);
            assert_eq!(self.count(|event| *event == Event::Received { flow }), 1);
            let done = |event: &Event| matches!(event, Event::Acknowledged { flow: of, .. } if *of == flow);
            assert_eq!(self.count(done), 1);
        }
        let [sender, receiver] = [0, 1].map(|host| self.hosts[host].counters());
        let packets: u64 = lengths.iter().map(|length| length.div_ceil(1_024).max(1)).sum();
        assert_eq!(sender.data_sent, packets + sender.retransmitted);
        assert!(receiver.data_received <= sender.data_sent);
    }
}
