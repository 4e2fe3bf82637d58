//! A host with flows in both directions: the input says which frames arrive, whole or damaged, and how time goes on.
//! Nothing panics, every frame that it sends can be read, its counters agree with what was seen, and each flow
//! ends once.

#![no_main]

mod input;

use core::net::{IpAddr, Ipv4Addr};
use core::num::NonZeroU32;
use endpoint::{
    CongestionControl, Connection, Dcqcn, End, Event, FlowId, GoBackN, Host, HostSettings, Hpcc, Station,
    Transmit, Transport,
};
use input::Input;
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::{Dscp, Ecn};
use wire::roce::cm::{CommunicationId, Message};
use wire::roce::{Psn, QueuePair, bth, icrc, source_port_of_queue_pairs};
use wire::{ipv4, pfc};

/// Operations of one input.
const OPERATIONS: usize = 200;
/// Calls in one step of time.
const CALLS: usize = 40;
const HOST: Station =
    Station { mac: MacAddress([2, 0, 0, 0, 0, 1]), address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)) };
const PEER: Station =
    Station { mac: MacAddress([2, 0, 0, 0, 0, 2]), address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)) };
/// Where BTH begins.
const BTH_AT: usize = 42;
/// Steps of time, up to beyond the retransmission timeout.
const STEPS: [u64; 8] = [0, 1, 90, 1_000, 10_000, 55_000, 100_000, 10_000_000];

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut run = Run::new(input.next());
    for _ in 0..OPERATIONS {
        if input.0.is_empty() {
            break;
        }
        run.operate(&mut input);
    }
    run.step(Interval(STEPS[7]));
    run.finish();
});

/// The frames that leave, checked at once.
#[derive(Default)]
struct Seen {
    data: u64,
    latest: Nanos,
    /// A data packet of each kind that was seen last, to be sent back damaged or as it is.
    sample: Vec<u8>,
}

impl Transmit for Seen {
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>) {
        assert!(start >= self.latest);
        self.latest = start;
        let packet = &headers[14..];
        let ip =
            ipv4::View::parse_head(packet, length.0 as usize - 14).expect("a frame of ours is an IP packet");
        assert!(ip.verify_checksum());
        let header = bth::View::parse(&headers[BTH_AT..]).expect("and a RoCEv2 packet").header();
        match flow {
            Some(_) => {
                assert!(header.opcode.is_send());
                assert_eq!(ip.ecn(), Ecn::Ect0);
                self.data += 1;
            }
            None => assert_eq!(icrc::verify(packet), Ok(true)),
        }
        self.sample = headers.to_vec();
    }
}

struct Run {
    host: Host,
    now: Nanos,
    seen: Seen,
    ingressed: u64,
    /// Local and remote queue pair of each flow, by its number; even ones send.
    pairs: Vec<(QueuePair, QueuePair)>,
    delivered: BTreeMap<FlowId, u64>,
    sent: BTreeSet<FlowId>,
    ended: BTreeSet<FlowId>,
}

impl Run {
    fn new(choice: u8) -> Self {
        let settings = HostSettings {
            station: HOST,
            next_hop: PEER.mac,
            rate: BitRate::gigabits(if choice & 1 == 0 { 100 } else { 400 }),
            mtu: if choice & 2 == 0 { 1_024 } else { 256 },
            lossless: PrioritySet::from_bits(0b1000),
            dscp: [Dscp::DEFAULT; Priority::COUNT],
            control_priority: (choice & 4 == 0).then_some(Priority::from_low_bits(6)),
            transport: Transport::GoBackN(GoBackN {
                ack_every: NonZeroU32::new(u32::from(choice >> 4) + 1).expect("one at least"),
                retransmission_timeout: Interval::from_micros(80),
            }),
            congestion_control: match choice & 8 {
                0 => CongestionControl::Dcqcn(Dcqcn::default()),
                _ if choice & 0x80 != 0 => {
                    let near_rtt = Some(Interval::from_micros(5));
                    CongestionControl::Hpcc(Hpcc { near_rtt, ..Hpcc::default() })
                }
                _ => CongestionControl::None,
            },
            cnp_interval: Some(Interval::from_micros(u64::from(choice & 0x40))),
            connection_management: (choice & 0x24 == 0x24).then_some(Interval::from_micros(80)),
        };
        Self {
            host: Host::new(Arc::new(settings)),
            now: Nanos::ZERO,
            seen: Seen::default(),
            ingressed: 0,
            pairs: Vec::new(),
            delivered: BTreeMap::new(),
            sent: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    fn operate(&mut self, input: &mut Input) {
        let operation = input.next();
        match operation & 7 {
            0 => self.connect(operation >> 3, input.next()),
            1 => self.pause(operation >> 3, input.next()),
            2 => {
                let bytes = input.take(usize::from(operation >> 3) * 4).to_vec();
                self.arrive(&bytes, Bytes(bytes.len() as u64));
            }
            3 | 4 => self.imitate(operation >> 3, input),
            5 if !self.pairs.is_empty() => {
                let flow = FlowId((usize::from(operation >> 3) % self.pairs.len()) as u32);
                self.host.stop(self.now, flow);
                if input.next() & 1 == 1 {
                    self.host.close(flow);
                }
            }
            _ if operation & 0x1f == 6 => self.manage(operation >> 5, input.next()),
            _ => self.step(Interval(STEPS[usize::from(operation >> 3) % STEPS.len()])),
        }
        self.take_events();
    }

    fn connect(&mut self, length: u8, psn: u8) {
        let number = self.pairs.len() as u32;
        let local = self.host.reserve().expect("few are taken");
        let remote = QueuePair::from_low_bits(u32::from(psn) + 2);
        let connection = Connection {
            flow: FlowId(number),
            end: if number.is_multiple_of(2) { End::Sender } else { End::Receiver },
            local,
            remote,
            source_port: source_port_of_queue_pairs(local, remote),
            peer: PEER.address,
            priority: Priority::from_low_bits(if psn & 1 == 0 { 3 } else { 0 }),
            first_psn: Psn::from_low_bits(u32::from(psn).wrapping_sub(4)),
            length: (length < 30).then_some(u64::from(length) * 700),
        };
        self.host.connect(self.now, &connection);
        self.pairs.push((local, remote));
    }

    fn pause(&mut self, priorities: u8, quanta: u8) {
        let times = PauseQuanta(u16::from(quanta) * 50);
        let mut bytes = [0; 60];
        let frame = pfc::Frame::uniform(PEER.mac, PrioritySet::from_bits(priorities), times);
        frame.emit(&mut bytes).expect("there is room");
        self.arrive(&bytes, Bytes(60));
    }

    /// A frame like the one that left last, turned around and changed.
    fn imitate(&mut self, how: u8, input: &mut Input) {
        let mut bytes = self.seen.sample.clone();
        if bytes.is_empty() || self.pairs.is_empty() {
            return;
        }
        let (pair, opcode, psn, damage) = (input.next(), input.next(), input.next(), input.next());
        let (local, _) = self.pairs[usize::from(pair) % self.pairs.len()];
        bytes[..6].copy_from_slice(&HOST.mac.0);
        ipv4::View::parse_head(&mut bytes[14..], usize::MAX).expect("it is one of ours").swap_addresses();
        bytes.resize(bytes.len().max(62), 0);
        bytes[BTH_AT] = match opcode & 7 {
            0 => 0x11,
            1 if opcode & 8 != 0 => 0xc1,
            1 => 0x11,
            2 => 0x81,
            3..=6 => opcode & 7,
            _ => opcode,
        };
        bytes[BTH_AT + 12] = if how & 1 == 0 { 0x1f } else { 0x60 };
        let header = bth::View::parse(&bytes[BTH_AT..]).expect("it is one of ours").header();
        let psn = Psn::from_low_bits(u32::from(psn).wrapping_sub(6));
        let _ = bth::Header { destination_qp: local, psn, ..header }.emit(&mut bytes[BTH_AT..]);
        if how & 2 != 0 {
            bytes[BTH_AT + 8] |= 0x80;
        }
        if how & 4 != 0 {
            bytes[15] |= 3;
        }
        if how & 8 != 0 {
            let at = usize::from(damage) % bytes.len();
            bytes[at] ^= 1 << (how >> 4 << 2 & 7);
        }
        let length = if how & 16 == 0 { 1_100 } else { bytes.len() as u64 };
        self.arrive(&bytes, Bytes(length));
    }

    /// A message of the connection manager, if the frame that left last was one.
    fn manage(&mut self, kind: u8, flow: u8) {
        let (mut bytes, flow) = (self.seen.sample.clone(), flow & 15);
        let Some((local, remote)) = self.pairs.get(usize::from(flow)).copied() else { return };
        if bytes.len() != BTH_AT + 280 {
            return;
        }
        bytes[..6].copy_from_slice(&HOST.mac.0);
        ipv4::View::parse_head(&mut bytes[14..], usize::MAX).expect("it is one of ours").swap_addresses();
        let (theirs, ours) = (CommunicationId(9), CommunicationId(u32::from(flow) + 1));
        let (qp, starting_psn) = (if kind & 4 == 0 { remote } else { local }, Psn::from_low_bits(0));
        let message = match kind & 3 {
            0 => Message::Request { local: theirs, service_id: 0, qp, starting_psn, flow_label: 0 },
            1 => Message::Reply { local: theirs, remote: ours, qp, starting_psn },
            2 => Message::ReadyToUse { local: theirs, remote: ours },
            _ => Message::Reject { local: theirs, remote: ours, rejected: 0, reason: 0 },
        };
        message.emit(u64::from(flow), &mut bytes[BTH_AT + 20..]).expect("there is room");
        self.arrive(&bytes, Bytes(bytes.len() as u64));
    }

    fn arrive(&mut self, bytes: &[u8], length: Bytes) {
        let before = self.host.counters();
        self.host.ingress(self.now, bytes, length);
        let after = self.host.counters();
        let counted = |of: fn(&endpoint::HostCounters) -> u64| of(&after) - of(&before);
        // Acknowledgements alone are not counted.
        let kinds = counted(|it| it.strays)
            + counted(|it| it.pauses_received)
            + counted(|it| it.cnps_received)
            + counted(|it| it.direct_ints_received)
            + counted(|it| it.data_received);
        assert!(kinds <= 1);
        assert!(counted(|it| it.marked) <= counted(|it| it.data_received));
        assert!(counted(|it| it.cnps_sent) <= counted(|it| it.marked));
        assert!(counted(|it| it.naks_sent) <= counted(|it| it.data_received));
        self.ingressed += 1;
    }

    fn step(&mut self, step: Interval) {
        let until = self.now + step;
        for _ in 0..CALLS {
            let due = self.host.next_deadline();
            if due > until {
                break;
            }
            // The driver is late where it had too much to do in the step before.
            self.now = self.now.max(due);
            self.host.egress(self.now, &mut self.seen);
            assert!(self.host.next_deadline() > self.now, "what was due is done");
        }
        self.now = until;
        self.take_events();
    }

    fn take_events(&mut self) {
        while let Some(event) = self.host.take_event() {
            match event {
                Event::Delivered { flow, bytes } => {
                    assert!(!self.ended.contains(&flow));
                    let before = self.delivered.insert(flow, bytes);
                    assert!(before.is_none_or(|before| before <= bytes));
                }
                Event::Sent { flow } => {
                    assert!(!self.ended.contains(&flow));
                    assert!(
                        self.sent.insert(flow),
                        "the last packet of {flow:?} is sent for the first time once"
                    );
                }
                Event::Received { flow } | Event::Acknowledged { flow, .. } => {
                    assert!(self.ended.insert(flow), "{flow:?} ends once");
                }
            }
        }
    }

    fn finish(&self) {
        let counters = self.host.counters();
        assert_eq!(counters.data_sent, self.seen.data);
        assert!(counters.retransmitted <= counters.data_sent);
        assert!(counters.strays <= self.ingressed);
        for number in 0..self.pairs.len() as u32 {
            if let Some(state) = self.host.flow(FlowId(number)) {
                assert!(state.acknowledged <= state.sent);
            }
        }
    }
}
