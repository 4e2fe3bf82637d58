//! A long link with everything on, and the flows that cross it.

use crate::frame::{BenchFrame, rocev2_headers};
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use switch::program::{
    Bifrost, Feedback, FlowControl, Lscc, PortSettings, RateCalculation, RateLimiting, VirtualIncoming,
    Watchdog, WatchdogAction,
};
use units::{BitRate, Interval, Nanos, PortId, Priority, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::rate_feedback;
use wire::roce::cm::{CommunicationId, DATAGRAM_LEN, Message};
use wire::roce::{Opcode, Psn, QueuePair};

const NEAR_END: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const FAR_END: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 2);
/// Of Bifrost, over 80 km.
const ROUND_TRIP: Interval = Interval::from_micros(820);
/// Of LSCC, short so that flows grow old before the measurement.
const LSCC_ROUND_TRIP: Interval = Interval::from_micros(2);
/// How often the far end tells its rate.
const FEEDBACK: Interval = Interval::from_micros(10);

/// Gives every port a watchdog, and every odd one a long link, which learns from one PSN in `learn`.
pub(crate) fn equip(number: usize, port: &mut PortSettings, flows: u32, learn: u32) {
    port.watchdog = Some(Watchdog {
        detection: Interval::from_millis(200),
        restoration: Interval::from_millis(400),
        action: WatchdogAction::Drop,
    });
    if number.is_multiple_of(2) {
        // Frames from the far end wait here, and LSCC wants a queue of them that no one marks.
        port.queues.iter_mut().for_each(|queue| queue.red = None);
    } else {
        port.flow_control = FlowControl::Bifrost(bifrost(port.rate));
        port.notifiers.lscc = Some(lscc(port.rate, flows, learn));
    }
}

fn bifrost(rate: BitRate) -> Bifrost {
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval::from_micros(10),
        round_trip: ROUND_TRIP,
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval::from_micros(1) },
        holdover: Interval::from_micros(5),
        lateness: Interval::from_micros(5),
    };
    bifrost.buffer = bifrost.buffer_terms(rate, PortSettings::LARGEST_FRAME).total();
    bifrost
}

fn lscc(rate: BitRate, flows: u32, learn: u32) -> Lscc {
    Lscc {
        interval: LSCC_ROUND_TRIP,
        round_trip: LSCC_ROUND_TRIP,
        calculation: RateCalculation {
            reference: WireBytes(1_000_000),
            step: BitRate::new(1_000_000_000),
            least: BitRate::gigabits(1),
            most: rate,
        },
        limiting: RateLimiting {
            reference: WireBytes(1_000_000),
            limit: None,
            cnp_interval: Interval::from_micros(50),
            direct_int: None,
            long_flow: Some(WireBytes(rate.bytes_in(LSCC_ROUND_TRIP))),
            far_cnp_interval: None,
            flows,
            ageing: Interval::from_secs(3_600),
            learn,
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
        feedback: Feedback { local: NEAR_END, peer: FAR_END, key: None, dscp: Dscp::from_low_bits(48) },
    }
}

/// The flows: half of them one way, half the other.
pub(crate) struct Flows {
    /// Connections.
    count: u32,
    /// Of each direction.
    packets: [u64; 2],
    /// How many packets of a flow have sequence numbers of their own.
    numbered: u64,
}

/// A prime above any number of flows, near the golden section of 2^32: a stride that visits each of them once
/// in a round, and far from the last one where their number is a power of two, too.
const STRIDE: u64 = 2_654_435_761;

impl Flows {
    /// `flows` in all, which start again after so many packets, or never.
    pub fn new(flows: u32, restart_after: Option<NonZeroU32>) -> Self {
        let numbered = restart_after.map_or(1 << 24, |packets| packets.get().into());
        Self { count: (flows / 2).max(1), packets: [0; 2], numbered }
    }

    /// How many connections they belong to.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Makes each frame the next packet of a flow, of all flows in turn.
    pub fn address<'a>(&mut self, ingress: PortId, frames: impl Iterator<Item = &'a mut [u8; 128]>) {
        let (outward, count) = (ingress.0.is_multiple_of(2), u64::from(self.count));
        let packets = &mut self.packets[usize::from(outward)];
        for headers in frames {
            let flow = *packets * STRIDE % count;
            let psn = *packets / count % self.numbered;
            *packets += 1;
            address(headers, flow as u32, outward, psn as u32 + 1);
        }
    }

    /// The frames of a connection that the gateway sees before the measurement: those that make it, and data until
    /// its flow is an old one.
    pub fn introduction(&self, flow: u32) -> Vec<(PortId, BenchFrame)> {
        const LONG: u64 = 9_000;
        let bdp = BitRate::gigabits(400).bytes_in(LSCC_ROUND_TRIP);
        let mut frames = vec![(PortId(0), management(flow, true)), (PortId(1), management(flow, false))];
        for _ in 0..=bdp / LONG {
            let mut headers = rocev2_headers(LONG);
            address(&mut headers, flow, true, 0);
            frames.push((PortId(0), BenchFrame::new(&headers, LONG)));
        }
        frames
    }
}

/// Puts hosts, queue pair and sequence number of a flow into the headers of a packet, from the data
/// center or to it.
fn address(headers: &mut [u8; 128], flow: u32, outward: bool, psn: u32) {
    let [_, _, high, low] = flow.to_be_bytes();
    let (local, remote) = ([10, 0, 1, low], [10, 0, 2, high & 7]);
    let (source, destination) = if outward { (local, remote) } else { (remote, local) };
    headers[26..30].copy_from_slice(&source);
    headers[30..34].copy_from_slice(&destination);
    let [_, qp @ ..] = pair(flow, outward).number().to_be_bytes();
    headers[47..50].copy_from_slice(&qp);
    let [_, psn @ ..] = psn.to_be_bytes();
    headers[51..54].copy_from_slice(&psn);
}

/// The receiver's queue pair.
fn pair(flow: u32, outward: bool) -> QueuePair {
    QueuePair::from_low_bits(flow + if outward { 2 } else { 0x80_0000 })
}

/// REQ outward, REP inward.
fn management(flow: u32, outward: bool) -> BenchFrame {
    const LENGTH: u64 = 14 + 20 + 8 + 12 + 8 + DATAGRAM_LEN as u64 + 4;
    let starting_psn = Psn::from_low_bits(0);
    let id = CommunicationId(flow);
    let message = if outward {
        Message::Request { local: id, service_id: 1, qp: pair(flow, false), starting_psn, flow_label: 0 }
    } else {
        Message::Reply { local: CommunicationId(!flow), remote: id, qp: pair(flow, true), starting_psn }
    };
    let mut headers = rocev2_headers(LENGTH);
    address(&mut headers, flow, outward, 0);
    headers[42] = Opcode::UD_SEND_ONLY.0;
    headers[47..50].copy_from_slice(&[0, 0, 1]);
    let mut datagram = [0; DATAGRAM_LEN];
    message.emit(u64::from(flow), &mut datagram).expect("there is room");
    let mut bytes = headers[..62].to_vec();
    bytes.extend_from_slice(&datagram);
    BenchFrame::new(&bytes, LENGTH)
}

/// The far end of every long link, which asks for one rate.
pub(crate) struct FarEnd {
    ports: u16,
    rate: BitRate,
    spoke: Nanos,
}

impl FarEnd {
    pub fn new(ports: u16, rate: BitRate) -> Self {
        Self { ports, rate, spoke: Nanos::ZERO }
    }

    /// Its messages at `now`, to each port.
    pub fn speak(&mut self, now: Nanos) -> Vec<(PortId, BenchFrame)> {
        if now < self.spoke + FEEDBACK {
            return Vec::new();
        }
        self.spoke = now;
        (1..self.ports).step_by(2).map(|port| (PortId(port), self.message(port))).collect()
    }

    fn message(&self, port: u16) -> BenchFrame {
        let (rate, sequence) = (self.rate, self.spoke.0);
        let content = rate_feedback::Content::Rate { rate, sequence, session: 0 };
        let frame = rate_feedback::Frame {
            source_mac: MacAddress([2, 0, 0, 0, 0, port as u8]),
            source: FAR_END,
            destination: NEAR_END,
            dscp: Dscp::from_low_bits(48),
            identification: 0,
            message: rate_feedback::Message { port, content },
        };
        let mut bytes = vec![0; rate_feedback::FRAME_LEN];
        frame.emit(None, &mut bytes).expect("there is room");
        BenchFrame::new(&bytes, bytes.len() as u64)
    }
}
