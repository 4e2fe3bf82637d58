//! A whole switch with LSCC on port B: the first bytes choose its settings, the rest is what happens to it.
//! Nothing panics, no frame is lost track of, time goes on, and what the switch says of its own is what it may say.
//!
//! Two connections are real. Anybody may speak in the name of their hosts, except for two: no one behind the long link
//! is their receiver, and no one in the data center has the station of their sender at its port. A direct CNP that
//! their packets cause goes to the queue pair that sends them, at that station and port. Any other one goes where packets of its
//! flow came from, to a queue pair that the far side named in its answers, or both sides to each other.

#![no_main]

mod input;
mod lscc_senders;
mod lscc_template;

use conformance::long_haul::{KEY, LOCAL, PEER, answer, gateway, lscc_of, on_the_wire, told};
use conformance::settings::{bridged, host_mac, host_v4, host_v6, lossless};
use conformance::{A, B, Connection, Flow, P1, P3, P4, Sent, TestFrame, Testbench};
use input::Input;
use libfuzzer_sys::fuzz_target;
use lscc_senders::{Side, addresses, is_real, real, source_port, transport};
use lscc_template::{Template, damaged};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv6Addr;
use std::num::NonZeroU32;
use std::sync::Arc;
use switch::Program;
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, PrioritySet, WireBytes};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Ecn, IpProtocol};
use wire::rate_feedback::{self, Content, Key, Received};
use wire::roce::cm::{CommunicationId, DATAGRAM_LEN, Message};
use wire::roce::direct_int::Content as DirectInt;
use wire::roce::extended::Deth;
use wire::roce::{self, Opcode, Psn, QueuePair, bth, cm, icrc};
use wire::vlan::{Stack, Tag};
use wire::{ipv4, ipv6, udp};

/// Operations of one input.
const OPERATIONS: usize = 300;
/// Calls in one step of time; a driver that has so much to do comes late.
const CALLS: usize = 400;
/// Calls at one instant, after which it is said to stand still.
const CALLS_AT_ONCE: usize = 64;

/// Opcodes that are told apart anywhere.
const OPCODES: [Opcode; 16] = [
    Opcode::RC_WRITE_ONLY,
    Opcode::RC_WRITE_MIDDLE,
    Opcode::RC_SEND_ONLY,
    Opcode::RC_SEND_FIRST,
    Opcode::RC_READ_REQUEST,
    Opcode::RC_READ_RESPONSE_FIRST,
    Opcode::RC_READ_RESPONSE_MIDDLE,
    Opcode::RC_READ_RESPONSE_ONLY,
    Opcode::RC_ACKNOWLEDGE,
    Opcode::RC_ATOMIC_ACKNOWLEDGE,
    Opcode::RC_FETCH_ADD,
    Opcode::CNP,
    Opcode::UC_WRITE_ONLY,
    Opcode::UC_SEND_ONLY,
    Opcode::UD_SEND_ONLY,
    Opcode::DIRECT_INT,
];
/// Queue pairs, the reserved ones among them.
const PAIRS: [u32; 8] = [0x11, 0x1f, 0x12, 0x20, 0x2a7, 0xff_ffff, 1, 0];
/// The hosts of the real connections; their addresses are no single bit away from any other.
const SENDER: PortId = PortId(67);
const RECEIVER: PortId = PortId(106);
/// The station of who speaks in the name of others.
const FORGER: PortId = PortId(20);
/// The queue pairs of the real connections, and one more, for who speaks in their name.
const REAL_PAIRS: [u32; 5] = [0x1051, 0x1052, 0x8051, 0x8052, 0x666];
/// Where PSNs begin.
const PSNS: [u32; 8] = [0, 0x70_0000, 0xff_fff0, 0x7f_fff0, 0x10_0000, 0x0f_fff0, 5_000, 0x30_0000];
/// Steps of time, up to where the clocks of flags and of flows have gone round.
const STEPS: [u64; 16] = [
    0,
    1,
    100,
    400,
    1_000,
    10_000,
    50_000,
    100_000,
    1_500_000,
    20_000_000,
    300_000_000,
    1_000_000_000,
    11_000_000_000,
    61_000_000_000,
    4_398_046_600_000,
    281_474_976_800_000,
];
/// Of the challenges to the switch.
const NONCE: u64 = 7;
/// Syndromes of acknowledgements: positive, receiver not ready, two that refuse, reserved.
const SYNDROMES: [u8; 4] = [0, 0x20, 0x60, 0x7f];

fuzz_target!(|data: &[u8]| {
    let mut bytes = Input(data);
    let mut run = Run::new(settings(bytes.next(), bytes.next()));
    for _ in 0..OPERATIONS {
        if bytes.0.is_empty() {
            break;
        }
        run.operate(&mut bytes);
    }
    run.finish();
});

/// One of `choices`, by the bits of `byte` from `shift`.
fn pick<T: Copy>(byte: u8, shift: u32, choices: &[T]) -> T {
    choices[usize::from(byte >> shift) % choices.len()]
}

fn settings(one: u8, other: u8) -> Settings {
    let mut settings = gateway();
    if one & 1 != 0 {
        let lscc = settings.ports[B.index()].notifiers.lscc.take();
        settings = bridged(3);
        settings.ports[B.index()].notifiers.lscc = lscc;
    }
    let lscc = lscc_of(&mut settings);
    lscc.feedback.key = (one & 2 == 0).then_some(KEY);
    lscc.limiting.flows = pick(one, 2, &[1_024, 16, 4, 1]);
    lscc.limiting.far_cnp_interval = (one & 0x10 != 0).then_some(Interval::from_micros(500));
    lscc.limiting.cnp_interval = pick(other, 0, &[50, 1, 10, 1_000].map(Interval::from_micros));
    lscc.interval = pick(other, 2, &[100, 1, 10, 1_000].map(Interval::from_micros));
    lscc.limiting.ageing = pick(other, 4, &[10_000_000, 100, 1_000, 100_000].map(Interval::from_micros));
    if one & other & 0x10 != 0 {
        lscc.limiting.direct_int = Some(Interval(if other & 0x20 == 0 { 10_000 } else { 0 }));
    }
    if one & 0x20 != 0 {
        settings.ports[A.index()].rate = BitRate::gigabits(1);
    }
    if one & 0x40 != 0 {
        with_bifrost(&mut settings);
    } else if other & 0x40 != 0 {
        settings.buffer.shared = Bytes(60_000);
        settings.buffer.headroom = Bytes(20_000);
        settings.buffer.egress_lossy = Bytes(50_000);
        for port in &mut settings.ports {
            port.groups[P3.index()] = lossless(20_000, 10_000, 10_000);
            port.groups[P4.index()] = lossless(20_000, 10_000, 10_000);
        }
    }
    if one & 0x80 != 0 {
        settings.ports.iter_mut().for_each(|port| port.tx_window = Interval::from_micros(20));
    }
    if other & 0x80 != 0 {
        settings.ports[B.index()].notifiers.lscc = None;
    }
    settings
}

fn with_bifrost(settings: &mut Settings) {
    let rate = BitRate::gigabits(100);
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval::from_micros(10),
        round_trip: Interval::from_micros(800),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::from_micros(5),
        lateness: Interval::ZERO,
    };
    let least = bifrost.buffer_terms(rate, Bytes(9_216)).total().0;
    bifrost.buffer = WireBytes(least + rate.bytes_in(bifrost.slot));
    settings.buffer.shared = Bytes(32_000_000);
    settings.ports[B.index()].groups[P3.index()] =
        lossless(bifrost.buffer.0 + bifrost.overrun(rate, Bytes(9_216), Interval::ZERO).0, 1_000_000, 0);
    settings.ports[B.index()].flow_control = FlowControl::Bifrost(bifrost);
}

/// The kind of a message from the far end.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rate,
    /// A rate that answers the last challenge of the switch, if there was one.
    Answer,
    Challenge,
}

/// The switch, and what is known about what it may say.
struct Run {
    bench: Testbench,
    last: Template,
    /// The highest sequence number of a message to the switch.
    sequence: u64,
    /// The nonce of the last challenge of the switch.
    asked: Option<u64>,
    /// To which queue pair of a near host a far one responded.
    answered: BTreeSet<(Ipv6Addr, QueuePair, Ipv6Addr)>,
    /// The messages of hosts about connections: which side spoke, who asked, who was asked, under which name, whether
    /// it is the answer, and the queue pair.
    managed: BTreeSet<(Side, Ipv6Addr, Ipv6Addr, CommunicationId, bool, QueuePair)>,
    /// Where packets from one host to another came from.
    origins: BTreeSet<(Ipv6Addr, Ipv6Addr, PortId, MacAddress)>,
    /// The next PSN of each real connection, and those that have left and are not acknowledged yet, since when.
    real: [(u32, VecDeque<(u32, Nanos)>); 2],
    /// The highest sequence number of a message of the switch.
    told: Option<u64>,
    /// The shortest interval of direct CNPs that was ever in force.
    interval: Interval,
    /// Direct CNPs that limiters made which are gone.
    made_before: u64,
    /// Direct CNPs that have left.
    notified: u64,
    /// When no direct CNP was waiting for the last time.
    clean: Nanos,
    /// For each sender, connection and receiver, before when the last direct CNP was not made yet.
    last_cnp: BTreeMap<(Ipv6Addr, QueuePair, Ipv6Addr), Nanos>,
}

impl Run {
    fn new(settings: Settings) -> Self {
        let lscc = settings.ports[B.index()].notifiers.lscc.as_ref();
        Self {
            interval: lscc.map_or(Interval::from_secs(1), |lscc| lscc.limiting.cnp_interval),
            bench: Testbench::new(settings),
            last: Template::default(),
            sequence: 0,
            asked: None,
            answered: BTreeSet::new(),
            managed: BTreeSet::new(),
            origins: BTreeSet::new(),
            real: Default::default(),
            told: None,
            made_before: 0,
            notified: 0,
            clean: Nanos::ZERO,
            last_cnp: BTreeMap::new(),
        }
    }

    fn operate(&mut self, bytes: &mut Input) {
        let operation = bytes.next();
        match operation & 0xf {
            0..3 => {
                self.last = Template::read(bytes);
                self.inject(self.last.port(), self.last.frame());
            }
            3..5 => self.exchange(operation >> 4, bytes.next()),
            5 => self.go_on(usize::from(operation >> 4 & 1), operation >> 5, bytes.next()),
            6 => self.manage(operation >> 4, bytes.next(), bytes.next()),
            7 => self.feed_back(operation >> 4, bytes.next(), bytes.next()),
            8..10 => {
                let step = Interval(pick(bytes.next(), 0, &STEPS));
                self.run_for(step);
            }
            10 => {
                // A driver that is late.
                let step = Interval(pick(bytes.next(), 0, &STEPS));
                self.bench.run_clock_to(self.bench.now() + step);
            }
            11 => {
                let ports = self.bench.ports().count() as u16;
                let port = PortId(u16::from(operation >> 4) % ports);
                self.egress(port, usize::from(bytes.next() % 4));
            }
            12 => self.install(bytes.next(), bytes.next()),
            13 => {
                let quanta = PauseQuanta(u16::from(bytes.next()) << 8);
                let port = if operation & 0x10 == 0 { A } else { B };
                self.bench.inject_pfc(port, PrioritySet::EMPTY.with(P3), quanta);
            }
            14 => {
                let frame = TestFrame::new(bytes.take(usize::from(operation >> 4) * 16).to_vec());
                self.inject(if frame.bytes.len() & 0x10 == 0 { A } else { B }, frame);
            }
            _ => {
                self.run_for(Interval::from_micros(50));
            }
        }
    }

    /// More packets like the last one, with the PSNs that follow, and perhaps the answer to each.
    fn exchange(&mut self, times: u8, how: u8) {
        for _ in 0..=times {
            self.last.psn += 1;
            self.inject(self.last.port(), self.last.frame());
            if how & 1 != 0 {
                let answer = Template {
                    hosts: self.last.hosts ^ 1,
                    opcode: 8,
                    pairs: self.last.pairs.rotate_left(4),
                    ..self.last
                };
                self.inject(answer.port(), answer.frame());
            }
            self.run_for(Interval(pick(how, 4, &STEPS[..8])));
        }
    }

    /// A real connection sends, is acknowledged, or is made.
    fn go_on(&mut self, number: usize, what: u8, count: u8) {
        let connection = real(number);
        for _ in 0..=count % 32 {
            match what {
                0..4 => {
                    self.inject(A, connection.data(self.real[number].0, 64));
                    self.real[number].0 += 1;
                    self.run_for(Interval(400));
                }
                4..7 => {
                    let Some((psn, since)) = self.real[number].1.pop_front() else { return };
                    // A packet that takes longer than half a second is lost.
                    if self.bench.now().since(since) < Interval::from_millis(500) {
                        self.inject(B, connection.acknowledge(psn));
                    }
                }
                _ => {
                    self.inject(A, connection.request());
                    return self.inject(B, connection.reply());
                }
            }
        }
    }

    /// A message of the connection manager.
    fn manage(&mut self, which: u8, pairs: u8, damage: u8) {
        let like = Template { hosts: pairs >> 6 | which & 0x18, damage, ..self.last };
        let (local, remote) =
            (CommunicationId((pairs >> 3 & 3).into()), CommunicationId((which >> 3).into()));
        let qp = QueuePair::from_low_bits(pick(pairs, 0, &PAIRS));
        let starting_psn = Psn::from_low_bits(0);
        let message = match which & 7 {
            0 | 1 => Message::Request { local, service_id: 1, qp, starting_psn, flow_label: 0 },
            2 | 3 => Message::Reply { local, remote: local, qp, starting_psn },
            4 => Message::Reject { local, remote, rejected: 0, reason: 28 },
            5 => Message::DisconnectRequest { local, remote, remote_qp: qp },
            6 => Message::DisconnectReply { local, remote },
            _ => Message::ReadyToUse { local, remote },
        };
        let mut payload = [0; Deth::LEN + DATAGRAM_LEN];
        message.emit(7, &mut payload[Deth::LEN..]).expect("there is room");
        let header = bth::Header::new(Opcode::UD_SEND_ONLY, QueuePair::GENERAL_SERVICES);
        self.inject(like.port(), damaged(like.sent(like.flow().roce(&header, &payload)), damage));
    }

    /// A message of the far end, or of someone who would like to be it.
    fn feed_back(&mut self, rate: u8, sequence: u8, how: u8) {
        let rates = [1_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 400_000_000_000];
        let (sequence, kind) = match sequence {
            0..0xc0 => (self.sequence + u64::from(sequence) + 1, Kind::Rate),
            0xc0..0xd0 => (self.bench.now().0.max(self.sequence), Kind::Rate),
            0xd0..0xf0 => (self.sequence.saturating_sub((sequence & 0x1f).into()), Kind::Rate),
            0xf0..0xf8 => (self.sequence + 1, Kind::Answer),
            0xf8..0xff => (0, Kind::Challenge),
            0xff => (u64::MAX, Kind::Rate),
        };
        self.sequence = if sequence == u64::MAX { self.sequence } else { self.sequence.max(sequence) };
        let rate = BitRate::new(pick(rate, 0, &rates)).expect("none is zero");
        let mut message = told(sequence, rate);
        if how & 4 != 0 {
            message.source = LOCAL;
        }
        if kind == Kind::Challenge {
            message.message.content = Content::Challenge { nonce: NONCE };
        }
        let key = pick(how, 0, &[Some(KEY), None, Some(KEY), Some(Key([9; 16]))]);
        let frame = match self.asked.filter(|_| kind == Kind::Answer) {
            Some(nonce) => answer(nonce, sequence, rate),
            None => on_the_wire(&message, key.as_ref()),
        };
        self.inject(if how & 8 == 0 { B } else { A }, damaged(frame, how & 0xf0));
    }

    fn install(&mut self, one: u8, other: u8) {
        // The number of ports cannot change live.
        let one = one & !1 | u8::from(self.bench.ports().count() == 3);
        self.made_before = self.made();
        let settings = settings(one, other);
        if let Some(lscc) = &settings.ports[B.index()].notifiers.lscc {
            self.interval = self.interval.min(lscc.limiting.cnp_interval);
        }
        let program = Program::new(settings).expect("every choice makes a gateway");
        self.bench.shard.install(self.bench.now(), Arc::new(program)).expect("all of it is live");
        // The direct CNPs of a limiter that stays are still in its report.
        self.made_before -= self.bench.shard.notifiers(B).lscc.map_or(0, |it| it.limiter.direct_cnps);
    }

    fn inject(&mut self, port: PortId, frame: TestFrame) {
        if self.learn(port, &frame.bytes).is_none_or(|possible| possible) {
            self.bench.inject(port, [frame]);
        }
    }

    /// Notes what a RoCEv2 packet says, and says whether anybody can send it: not who speaks for the receiver behind the long
    /// link, or has the sender's station. `None` where it is no such packet.
    fn learn(&mut self, port: PortId, frame: &[u8]) -> Option<bool> {
        let (source, destination, bth) = transport(frame)?;
        let station = ethernet::View::parse(frame).ok()?.source();
        let (sender, receiver) = (addresses(SENDER), addresses(RECEIVER));
        let as_sender = sender.contains(&source) && station == host_mac(SENDER);
        let as_receiver = receiver.contains(&source) && port == B;
        if as_sender && !is_real(frame, port) || as_receiver && !is_real(frame, port) {
            return Some(false);
        }
        let side = if port == B { Side::Far } else { Side::Near };
        match side {
            Side::Near => drop(self.origins.insert((source, destination, port, station))),
            Side::Far if bth.opcode().is_response() => {
                self.answered.insert((destination, bth.destination_qp(), source));
            }
            Side::Far => {}
        }
        match cm::View::in_packet(&bth).map(|datagram| datagram.message()) {
            Some(Message::Request { local, qp, .. }) => {
                self.managed.insert((side, source, destination, local, false, qp));
            }
            Some(Message::Reply { remote, qp, .. }) => {
                self.managed.insert((side, destination, source, remote, true, qp));
            }
            _ => {}
        }
        Some(true)
    }

    /// Whether a near host named its queue pair to a far one, and this one its own, each in the same place.
    fn is_managed(&self, sender: Ipv6Addr, pair: QueuePair, receiver: Ipv6Addr) -> bool {
        self.managed.iter().any(|&(side, asking, asked, id, answers, qp)| {
            let own = if answers { (receiver, sender) } else { (sender, receiver) };
            let other = |it: &(Side, Ipv6Addr, Ipv6Addr, CommunicationId, bool, QueuePair)| {
                (it.0, it.1, it.2, it.3, it.4) == (Side::Far, asking, asked, id, !answers)
            };
            side == Side::Near && qp == pair && (asking, asked) == own && self.managed.iter().any(other)
        })
    }

    /// Lets time go by, with a call whenever one is due, until that is too much.
    fn run_for(&mut self, step: Interval) -> bool {
        let until = self.bench.now() + step;
        let (mut since, mut calls, mut at_once) = (self.bench.now(), 0, 0);
        while self.bench.shard.next_deadline() <= until && calls < CALLS {
            self.bench.run_clock_to(self.bench.shard.next_deadline());
            at_once = if self.bench.now() == since { at_once + 1 } else { 0 };
            assert!(at_once < CALLS_AT_ONCE, "{since}: time stands still");
            since = self.bench.now();
            calls += 1;
            for port in self.bench.ports() {
                if self.bench.shard.port_deadline(port) <= self.bench.now() {
                    self.egress(port, usize::MAX);
                }
            }
        }
        self.bench.run_clock_to(until);
        calls < CALLS
    }

    fn egress(&mut self, port: PortId, room: usize) {
        if self.made() == self.notified {
            self.clean = self.bench.now();
        }
        self.bench.egress(port, room);
        for sent in self.bench.newly_sent(port) {
            if !sent.control && port == B {
                self.note_departure(&sent.frame.bytes);
            } else if sent.control && sent.pfc().is_none() {
                self.check(port, &sent);
            }
        }
    }

    /// The receiver gets what is really sent to it.
    fn note_departure(&mut self, frame: &[u8]) {
        if is_real(frame, A)
            && let Some((_, _, bth)) = transport(frame)
            && let Some(number) = (0..2).find(|it| real(*it).destination_qp == bth.destination_qp())
        {
            self.real[number].1.push_back((bth.psn().number(), self.bench.now()));
        }
    }

    /// How many direct CNPs have been made.
    fn made(&self) -> u64 {
        self.made_before + self.bench.shard.notifiers(B).lscc.map_or(0, |it| it.limiter.direct_cnps)
    }

    /// A control frame other than PFC is a message to the far end, or a CNP.
    fn check(&mut self, port: PortId, sent: &Sent) {
        let frame = &sent.frame.bytes[..];
        let link = ethernet::View::parse(frame).expect("a frame has addresses");
        if link.destination() == MacAddress::NEAREST_NON_TPMR_BRIDGE {
            assert_eq!(port, B);
            self.check_feedback(&frame[ethernet::HEADER_LEN..]);
        } else {
            assert_ne!(port, B);
            self.check_notification(port, frame);
        }
    }

    fn check_feedback(&mut self, packet: &[u8]) {
        let received = Received::parse(packet).expect("its own message");
        assert_eq!((received.source, received.destination), (LOCAL, PEER));
        assert!(received.message.verify_checksum());
        assert!(ipv4::View::parse(packet).expect("it was parsed").verify_checksum());
        let lscc =
            self.bench.shard.program().port(B).notifiers.lscc.as_ref().expect("it has something to tell");
        match &lscc.feedback.key {
            Some(key) => assert!(received.verify_tag(key, Some(NONCE))),
            None => assert!(!received.message.is_authenticated()),
        }
        let sequence = match received.message.message().content {
            Content::Challenge { nonce } => {
                self.asked = Some(nonce);
                return;
            }
            Content::Rate { sequence, rate, .. } => {
                assert_eq!(rate_feedback::Message::carried(rate), rate);
                sequence
            }
        };
        assert!(self.told.is_none_or(|told| told < sequence), "{sequence} after {:?}", self.told);
        self.told = Some(sequence);
    }

    /// A CNP or direct INT.
    fn check_notification(&mut self, port: PortId, frame: &[u8]) {
        let stack = Stack::parse(frame).expect("a frame has a type");
        assert_eq!(icrc::verify(&frame[stack.payload_offset..]), Ok(true));
        let (receiver, sender, bth) = transport(frame).expect("a CNP is a RoCEv2 packet");
        let is_cnp = bth.opcode().is_cnp();
        assert!(bth.becn() == is_cnp && (is_cnp || DirectInt::parse(bth.payload()).is_ok()));
        let pair = bth.destination_qp();
        assert!(pair > QueuePair::GENERAL_SERVICES);
        let station = ethernet::View::parse(frame).expect("a frame has addresses").destination();
        assert!(
            self.origins.contains(&(sender, receiver, port, station)),
            "a CNP to where nothing came from"
        );
        let answered = self.answered.contains(&(sender, pair, receiver));
        assert!(
            answered || self.is_managed(sender, pair, receiver),
            "a CNP to {pair:?}, whom no one answers"
        );
        if addresses(SENDER).contains(&sender) && station == host_mac(SENDER) {
            let source_port = source_port(frame).expect("a CNP is a UDP datagram");
            let known = (0..2).map(real).find(|it| it.flow.source_port == source_port);
            let told = known.expect("the sender sends nothing else").source_qp;
            assert_eq!((pair, port), (told, A), "a CNP that is meant for another");
        }
        if !is_cnp {
            return;
        }
        self.notified += 1;
        assert!(self.notified <= self.made());
        let last = self.last_cnp.insert((sender, pair, receiver), self.clean);
        let soon = last.is_some_and(|last| self.bench.now() < last + self.interval);
        assert!(!soon, "two CNPs to {pair:?} within an interval");
    }

    /// Lets all CNPs that wait leave, and checks the sums; the bench checks those of frames.
    fn finish(&mut self) {
        if self.run_for(Interval::from_millis(10)) {
            assert_eq!(self.made(), self.notified, "no CNP is lost");
        }
        if let Some(report) = self.bench.shard.flows(B) {
            let most = self.bench.shard.program().port(B).notifiers.lscc.as_ref().map(|it| it.limiting.flows);
            assert!(most.is_some_and(|most| report.known <= most));
            assert!(report.data.resolved + report.data.unresolved <= report.known);
        }
    }
}
