//! Frames of a burst leave what the same frames leave that come one by one: a lone frame takes the general path.

use super::*;
use crate::PortInspection;
use crate::flows::Slot;
use crate::program::{
    Feedback, GroupSettings, LosslessGroup, Lscc, Membership, RateCalculation, RateLimiting, Threshold,
};
use core::net::Ipv4Addr;
use proptest::prelude::*;
use units::{Interval, WireBytes};
use wire::rate_feedback::{self, Content, Message};
use wire::roce::{Opcode, QueuePair, bth};

const FLOWS: u32 = 24;
const DSCP_OF_P3: u8 = 26;

/// Frames that leave, with their starts; control frames among them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sent(Vec<(Nanos, Vec<u8>)>);

impl Sent {
    pub fn into_frames(self) -> Vec<Vec<u8>> {
        self.0.into_iter().map(|(_, frame)| frame).collect()
    }
}

impl Transmitter<Vec<u8>> for Sent {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, start: Nanos, frame: Vec<u8>) {
        self.0.push((start, frame));
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.0.push((start, frame.to_vec()));
    }
}

impl Links<Vec<u8>> for Sent {
    fn takes(&self, _: PortId) -> bool {
        true
    }

    fn frame(&mut self, _: PortId, start: Nanos, frame: Vec<u8>) {
        self.0.push((start, frame));
    }
}

/// A frame of the host with this number to one of its queue pairs, or to another end of the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub host: u8,
    pub qp: u8,
    pub opcode: Opcode,
    pub psn: Number,
    pub ecn: u8,
    pub form: Form,
}

/// The sequence number of a packet, beside that of the last one of its queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Next,
    Again(u32),
    Beyond(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Usual,
    Tagged,
    /// At another priority.
    Lossy,
    /// A part of a longer packet.
    Fragment,
    /// From another station.
    Forged,
    /// No RoCE.
    OtherPort,
    /// No IP.
    Opaque,
    /// Its header tells more bytes than there are.
    Malformed,
    /// A rate for this end of the link.
    Rate,
    Long,
    Short,
}

fn packet() -> impl Strategy<Value = Packet> {
    let opcode = prop_oneof![
        12 => Just(Opcode::RC_WRITE_ONLY),
        2 => Just(Opcode::RC_ACKNOWLEDGE),
        1 => Just(Opcode::CNP),
        1 => Just(Opcode::DIRECT_INT),
        1 => any::<u8>().prop_map(Opcode),
    ];
    let psn = prop_oneof![
        12 => Just(Number::Next),
        1 => (0_u32..6).prop_map(Number::Again),
        1 => prop_oneof![1_u32..6, Just(5_000), Just(1 << 22)].prop_map(Number::Beyond),
    ];
    let ecn = prop_oneof![8 => Just(2_u8), 1 => 0_u8..4];
    let forms = vec![
        Form::Tagged,
        Form::Lossy,
        Form::Fragment,
        Form::Forged,
        Form::OtherPort,
        Form::Opaque,
        Form::Malformed,
        Form::Rate,
        Form::Long,
        Form::Short,
    ];
    let form = prop_oneof![20 => Just(Form::Usual), 3 => proptest::sample::select(forms)];
    (0_u8..3, 0_u8..5, opcode, psn, ecn, form).prop_map(|(host, qp, opcode, psn, ecn, form)| Packet {
        host,
        qp,
        opcode,
        psn,
        ecn,
        form,
    })
}

fn origin() -> impl Strategy<Value = PortId> {
    prop_oneof![2 => Just(A), 1 => Just(B), 1 => Just(C)]
}

/// Packets of one flow follow each other, as they do on the wire.
fn burst() -> impl Strategy<Value = Vec<Packet>> {
    let train = (packet(), 1_usize..6).prop_map(|(packet, count)| vec![packet; count]);
    proptest::collection::vec(train, 1..14).prop_map(|trains| trains.concat())
}

/// The last sequence numbers that were sent from near and far, by host and queue pair.
pub(super) type Numbers = [[[u32; 5]; 3]; 2];

/// LSCC at this end of a long link.
fn feedback(port: PortId) -> Feedback {
    let [local, peer] = [1, 2].map(|end| Ipv4Addr::new(10, 255, port.0 as u8, end));
    Feedback { local, peer, ..Lscc::PLAIN.feedback }
}

/// A rate for `port`, if it has LSCC.
fn rate(now: Nanos, port: PortId) -> Vec<u8> {
    let feedback = feedback(port);
    let content = Content::Rate { rate: BitRate::gigabits(1), sequence: now.0, session: 0 };
    let frame = rate_feedback::Frame {
        source_mac: MacAddress([2, 0, 0, 0, 0, 7]),
        source: feedback.peer,
        destination: feedback.local,
        dscp: feedback.dscp,
        identification: 0,
        message: Message { port: 1, content },
    };
    let mut bytes = vec![0; rate_feedback::FRAME_LEN];
    frame.emit(None, &mut bytes).unwrap();
    bytes
}

impl Packet {
    pub fn bytes(self, now: Nanos, port: PortId, numbers: &mut Numbers) -> Vec<u8> {
        let Self { host, qp, opcode, psn, ecn, form } = self;
        let last = &mut numbers[usize::from(port != A)][usize::from(host)][usize::from(qp)];
        let psn = match psn {
            Number::Next => *last + 1,
            Number::Again(back) => last.saturating_sub(back),
            Number::Beyond(ahead) => *last + ahead,
        };
        *last = psn.max(*last);
        let length = match form {
            Form::Rate => return rate(now, port),
            Form::Long => 1_600,
            Form::Short => 34,
            _ => 90,
        };
        let dscp = if matches!(form, Form::Lossy) { 0 } else { DSCP_OF_P3 };
        let (near, far) = ([10, 0, 0, host], [10, 0, 1, host]);
        let (source, destination) = if port == A { (near, far) } else { (far, near) };
        let station = host | if matches!(form, Form::Forged) { 0x80 } else { 0 };
        let mut bytes = vec![0; length];
        bytes[..14].copy_from_slice(&[2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, station, 8, 0]);
        let total = (length as u16 - 14 + u16::from(matches!(form, Form::Malformed))).to_be_bytes();
        let fragment = if matches!(form, Form::Fragment) { 0x20 } else { 0x40 };
        let ip = [0x45, dscp << 2 | ecn, total[0], total[1], 0, 1, fragment, 0, 64, 17, 0, 0];
        bytes[14..34].copy_from_slice(&[&ip[..], &source, &destination].concat());
        if length > 54 {
            let other = u8::from(matches!(form, Form::OtherPort));
            bytes[34..42].copy_from_slice(&[0xc0, host, 0x12, 0xb7 ^ other, 0, (length - 34) as u8, 0, 0]);
            let number = QueuePair::from_low_bits(0x20 + u32::from(qp));
            bth::Header {
                opcode,
                psn: wire::roce::Psn::from_low_bits(psn),
                ..bth::Header::new(opcode, number)
            }
            .emit(&mut bytes[42..])
            .unwrap();
        }
        match form {
            Form::Tagged => drop(bytes.splice(12..12, [0x81, 0, 0x60, 7])),
            Form::Opaque => bytes[12..14].copy_from_slice(&[0x88, 0xb5]),
            _ => {}
        }
        bytes
    }
}

/// A port in the data center, and two of long links with LSCC, whose senders get direct INT if they `tell_directly`. Both are a
/// bundle if they are `bundled`, and frames to the other side take the first one otherwise.
pub(super) fn long_haul(tell_directly: bool, learn: u32, bundled: bool) -> Arc<Program> {
    let port = |number: u8| {
        let mac = MacAddress([2, 0, 0, 0, 0, 0x40 + number]);
        let mut port = PortSettings::lossy(format!("port{number}"), mac, BitRate::gigabits(10));
        port.classification.dscp[usize::from(DSCP_OF_P3)] = P3;
        port.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(6_000)),
            xon: Bytes(3_000),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(20_000),
        });
        port
    };
    let mut ports = vec![port(0), port(1), port(2)];
    let rate = ports[1].rate;
    let mut lscc = Lscc {
        calculation: RateCalculation { reference: WireBytes(10_000), most: rate, ..Lscc::PLAIN.calculation },
        ..Lscc::PLAIN
    };
    lscc.limiting = RateLimiting {
        reference: WireBytes(1_000),
        long_flow: Some(lscc.bdp(rate)),
        far_cnp_interval: Some(Interval::from_micros(20)),
        direct_int: tell_directly.then_some(Interval::from_micros(10)),
        cnp_interval: Interval::from_micros(10),
        flows: FLOWS,
        learn,
        ..lscc.limiting
    };
    for (number, long) in [B, C].into_iter().zip(&mut ports[1..]) {
        let (delay, jitter) = (Interval(1_000), Interval::ZERO);
        long.notifiers.lscc = Some(Lscc { feedback: feedback(number), ..lscc });
        long.bundle =
            bundled.then(|| Membership { bundle: "lh".into(), head: B, delay, jitter, liveness: None });
    }
    let pool = Bytes(1 << 20);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    let forwarding = ForwardingSettings::Patch(vec![(A, B)]);
    Arc::new(Program::new(Settings { ports, buffer, forwarding, seed: 1 }).unwrap())
}

/// All that frames leave behind.
fn state(shard: &Shard<Vec<u8>>, now: Nanos) -> (String, [PortInspection; 3]) {
    let senders = shard.fabric.senders.iter().flatten().next().unwrap();
    let flow = |slot| (*senders.flows.hot(slot), *senders.flows.cold(slot));
    let flows: Vec<_> = (0..senders.flows.report().known).map(Slot::numbered).map(flow).collect();
    let deadlines = [A, B, C].map(|port| shard.port_deadline(port));
    let inspections = [A, B, C].map(|port| {
        let mut inspection = PortInspection::default();
        shard.inspect(now, port, &mut inspection);
        inspection
    });
    (format!("{flows:?} {deadlines:?}"), inspections)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_burst_leaves_what_its_frames_leave_that_come_one_by_one(
        tell_directly: bool,
        bundled: bool,
        learn in prop_oneof![Just(1_u32), Just(2), Just(16)],
        events in proptest::collection::vec((burst(), origin(), 0_u64..4_000, any::<bool>()), 1..24),
    ) {
        let program = long_haul(tell_directly, learn, bundled);
        let (mut whole, mut apart) = (Shard::single(program.clone()), Shard::single(program));
        let (mut now, mut numbers) = (Nanos(1 << 20), Numbers::default());
        for (packets, port, wait, leaves) in events {
            now += Interval(wait);
            let frames: Vec<_> = packets.iter().map(|it| it.bytes(now, port, &mut numbers)).collect();
            whole.ingress(now, port, &mut frames.clone(), &mut Sent::default());
            for frame in frames {
                apart.ingress(now, port, &mut vec![frame], &mut Sent::default());
            }
            prop_assert_eq!(state(&whole, now), state(&apart, now));
            for port in [A, B, C].into_iter().filter(|_| leaves) {
                let sent = [&mut whole, &mut apart].map(|shard| {
                    let mut sent = Sent::default();
                    shard.egress(now, port, &mut sent);
                    sent
                });
                prop_assert_eq!(&sent[0], &sent[1]);
            }
        }
    }
}

#[test]
fn a_burst_goes_on_with_flows_that_are_known() {
    let (mut shard, mut now, mut numbers) =
        (Shard::single(long_haul(false, 1, false)), Nanos(1 << 20), Numbers::default());
    let usual = |qp| Packet {
        host: 0,
        qp,
        opcode: Opcode::RC_WRITE_ONLY,
        psn: Number::Next,
        ecn: 2,
        form: Form::Usual,
    };
    for port in [A, B] {
        for _ in 0..3 {
            let mut burst = (0..5).map(|qp| usual(qp).bytes(now, port, &mut numbers)).collect();
            shard.ingress(now, port, &mut burst, &mut Sent::default());
            now += Interval(1 << 20);
        }
    }
    let flows = &shard.fabric.senders[B.index()].as_ref().unwrap().flows;
    let sent: Vec<_> = (0..10).map(|slot| flows.hot(Slot::numbered(slot)).sent()).collect();
    let each = WireBytes(3 * WireBytes::of_frame(Bytes(90)).0);
    assert_eq!(sent, [[each; 5], [WireBytes(0); 5]].concat());
    assert_eq!(flows.report().known, 10);
}
