//! A whole gateway between two hosts that obey it: the first bytes choose its configuration, the rest is frames, pauses,
//! time, and other configurations that are put in force meanwhile. Nothing panics, every frame is accounted for, nothing
//! lossless is dropped, what the gateway says of its own is well-formed, and every pause ends.

#![no_main]

mod gateway_configuration;
mod gateway_hosts;
mod input;

use conformance::long_haul::{SESSION, nonce_in};
use conformance::{A, B, P3, Sent, TestFrame, Testbench};
use gateway_configuration::{BOUNCES, configuration, program};
use gateway_hosts::Credits;
use input::Input;
use libfuzzer_sys::fuzz_target;
use switch::DropReason;
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, PrioritySet, WireBytes};
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::rate_feedback::{Content, FRAME_LEN, Frame, Key, Message, Received};
use wire::roce::{Opcode, bth, direct_int, icrc};
use wire::vlan::Stack;
use wire::{grants, ipv4, ipv6, udp};

/// Bytes that choose a configuration.
const CHOICES: usize = 4;
/// Operations of one input.
const OPERATIONS: usize = 200;
/// Frames that follow each other at line rate.
const BURST: u8 = 32;
/// Calls at one instant, after which time is said to stand still.
const CALLS_AT_ONCE: usize = 64;
/// Steps of time, in nanoseconds.
const STEPS: [u64; 8] = [0, 1, 90, 1_000, 10_000, 50_000, 200_000, 1_000_000];
/// How long the storm of an input lasts: beyond the detection of the watchdog.
const STORM: Interval = Interval::from_millis(250);
/// In which everything has left, and every pause has ended.
const LONG_ENOUGH: Interval = Interval::from_millis(20);
/// Of both ends of the long link.
const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
/// The longest frame, without FCS.
const LONGEST: u64 = 9_216;

fuzz_target!(|data: &[u8]| {
    let Some((choices, rest)) = data.split_first_chunk::<CHOICES>() else { return };
    let mut bytes = Input(rest);
    let mut run = Run::new(*choices);
    for _ in 0..OPERATIONS {
        if bytes.0.is_empty() {
            break;
        }
        run.operate(&mut bytes);
    }
    run.finish();
});

/// A host, which sends nothing while it is paused, and hears of a pause when its frame leaves the gateway.
#[derive(Clone, Copy, Default)]
struct Host {
    paused_until: Nanos,
}

struct Run {
    bench: Testbench,
    choices: [u8; CHOICES],
    hosts: [Host; 2],
    /// The frame that came last, to come again.
    last: (PortId, Vec<u8>, u64),
    /// The number of the next message of the far end.
    sequence: u64,
    /// The nonce of the gateway's last challenge that is not answered.
    asked: Option<u64>,
    credits: Credits,
    /// The PSN of the last packet of a connection.
    psn: u32,
    stormed: bool,
}

impl Run {
    fn new(choices: [u8; CHOICES]) -> Self {
        Self {
            bench: Testbench::new(program(choices).settings().clone()),
            choices,
            hosts: [Host::default(); 2],
            last: (A, Vec::new(), 0),
            sequence: 0,
            asked: None,
            credits: Credits::default(),
            psn: 0,
            stormed: false,
        }
    }

    fn operate(&mut self, bytes: &mut Input) {
        let operation = bytes.next();
        let more = operation >> 3;
        let port = if more & 1 == 0 { A } else { B };
        match operation & 7 {
            0..3 => {
                let length = u16::from_le_bytes([bytes.next(), bytes.next()]);
                let frame = bytes.take(length.into()).to_vec();
                // The rest of a payload need not be there.
                let length = [frame.len() as u64, 1_500, 4_200, LONGEST][usize::from(more >> 1 & 3)];
                self.last = (port, frame, length);
                self.send(1);
            }
            3 => self.send(1 + bytes.next() % BURST),
            4 => self.run_for(Interval(STEPS[usize::from(more) % STEPS.len()])),
            5 => {
                let priorities = PrioritySet::from_bits(bytes.next());
                self.bench.inject_pfc(port, priorities, PauseQuanta(u16::from(bytes.next()) << 8));
            }
            6 => self.install([bytes.next(), bytes.next(), bytes.next()]),
            _ => match more & 3 {
                0 if !self.stormed => self.storm(),
                2 => self.tell_destinations(bytes.next(), bytes.next()),
                3 => self.converse(bytes.next(), bytes.next()),
                _ => self.feed_back(bytes.next()),
            },
        }
    }

    /// The last frame, so many times at line rate, unless its host is paused meanwhile.
    fn send(&mut self, times: u8) {
        let (port, bytes, length) = self.last.clone();
        for _ in 0..times {
            if self.bench.now() < self.hosts[port.index()].paused_until {
                return;
            }
            let frame = TestFrame { length: length.max(bytes.len() as u64), ..TestFrame::new(bytes.clone()) };
            let on_wire = WireBytes::of_frame(Bytes(frame.length));
            if port == B && !self.has_credits(on_wire) {
                return;
            }
            self.bench.inject(port, [frame]);
            self.run_for(self.rate(port).serialization().time_of(on_wire));
        }
    }

    fn rate(&self, port: PortId) -> BitRate {
        self.bench.shard.program().port(port).rate
    }

    /// Puts another configuration in force, of which what may cost frames stays as it is.
    fn install(&mut self, changed: [u8; CHOICES - 1]) {
        let [forwarding, thresholds, schemes] = changed;
        // The sums that the bench checks hold while frames of a group wait in the same queues.
        let schemes = schemes & !BOUNCES | self.choices[CHOICES - 1] & BOUNCES;
        let choices = [self.choices[0], forwarding, thresholds, schemes];
        let installed = self.bench.shard.install(self.bench.now(), program(choices)).map(|_old| ());
        assert_eq!(installed, Ok(()), "ports and their names are the same");
        self.choices = choices;
        self.bench.assert_conserved();
    }

    /// Behind the long link someone pauses without end.
    fn storm(&mut self) {
        self.stormed = true;
        let end = self.bench.now() + STORM;
        while self.bench.now() < end {
            self.bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
            self.run_for(Interval::from_micros(300));
        }
    }

    /// The far end of LSCC tells a rate, and so answers the challenge if there is one.
    fn feed_back(&mut self, rate: u8) {
        self.sequence += 1;
        let rate = BitRate::new(1_000_000 << (rate % 18)).expect("none is zero");
        // The far end's clock.
        let sequence = self.bench.now().0 + self.sequence;
        let message = Message { port: 1, content: Content::Rate { rate, sequence, session: SESSION } };
        let frame = Frame {
            source_mac: MacAddress([2, 0, 0, 0, 9, 2]),
            source: "10.255.0.2".parse().expect("it is an address"),
            destination: "10.255.0.1".parse().expect("it is an address"),
            dscp: wire::ip::Dscp::from_low_bits(48),
            identification: self.sequence as u16,
            message,
        };
        let mut bytes = vec![0; FRAME_LEN];
        match self.asked.take() {
            Some(nonce) => frame.emit_answer(&KEY, nonce, &mut bytes).expect("there is room"),
            None => frame.emit(Some(&KEY), &mut bytes).expect("there is room"),
        };
        self.bench.inject(B, [TestFrame::new(bytes)]);
    }

    /// Lets time go by, with a call whenever one is due, as a driver does that is never late.
    fn run_for(&mut self, step: Interval) {
        let until = self.bench.now() + step;
        let (mut since, mut at_once) = (self.bench.now(), 0);
        while self.bench.shard.next_deadline() <= until {
            self.bench.run_clock_to(self.bench.shard.next_deadline());
            at_once = if self.bench.now() == since { at_once + 1 } else { 0 };
            assert!(at_once < CALLS_AT_ONCE, "{since}: time stands still");
            since = self.bench.now();
            for port in [A, B] {
                if self.bench.shard.port_deadline(port) <= self.bench.now() {
                    self.bench.egress(port, usize::MAX);
                    self.hear(port);
                }
            }
        }
        self.bench.run_clock_to(until);
    }

    /// The host behind `port` hears its pauses, and what else the gateway made is looked at.
    fn hear(&mut self, port: PortId) {
        let rate = self.rate(port);
        for sent in self.bench.newly_sent(port).iter().filter(|sent| sent.control) {
            match sent.pfc() {
                Some(times) => {
                    assert!(times.iter().flatten().count() > 0, "a pause for no one");
                    if let Some(quanta) = times[P3.index()] {
                        self.hosts[port.index()].paused_until = sent.start + quanta.interval_at(rate);
                    }
                }
                None if grants::is_frame(&sent.frame.bytes) => {
                    let message = grants::Message::parse(&sent.frame.bytes[HEADER_LEN..]);
                    self.hear_credits(&message.expect("the gateway made it"));
                }
                None => {
                    check_made(sent);
                    self.asked = nonce_in(&sent.frame).or(self.asked);
                }
            }
        }
    }

    /// Nothing lossless was dropped, and once no one sends any more, everything leaves and all pauses end.
    fn finish(&mut self) {
        self.run_for(LONG_ENOUGH);
        for port in [A, B] {
            for reason in DropReason::ALL.into_iter().filter(|reason| is_loss(*reason)) {
                let dropped = self.bench.dropped(port, P3, reason);
                assert_eq!(dropped.frames, 0, "{port}: {reason:?}\n{}", configuration(self.choices));
            }
            let queue = self.bench.shard.queue(self.bench.now(), port, P3);
            assert_eq!(queue.waiting.frames, 0, "{port} is stuck");
            let group = self.bench.shard.group(self.bench.now(), port, P3);
            assert_eq!(
                (group.occupancy, group.paused),
                (Bytes::ZERO, None),
                "{port} still pauses its sender"
            );
            assert!(
                self.hosts[port.index()].paused_until <= self.bench.now(),
                "{port}: a host was never resumed"
            );
        }
    }
}

/// Whether frames of a lossless priority must never be dropped for it, as long as their senders obey.
fn is_loss(reason: DropReason) -> bool {
    use DropReason::{
        EgressPoolFull, HeadroomExceeded, HeadroomPoolFull, MemoryLow, NoBuffer, QueueThreshold, ReceiveRing,
        SharedPoolFull,
    };
    matches!(
        reason,
        EgressPoolFull
            | HeadroomExceeded
            | HeadroomPoolFull
            | MemoryLow
            | NoBuffer
            | QueueThreshold
            | ReceiveRing
            | SharedPoolFull
    )
}

/// A control frame that is no pause is a message to the far end, or a notification to a sender: a CNP or direct INT.
fn check_made(sent: &Sent) {
    let frame = &sent.frame.bytes[..];
    let stack = Stack::parse(frame).expect("a frame has a type");
    let packet = &frame[stack.payload_offset..];
    if let Ok(received) = Received::parse(packet) {
        assert!(received.message.verify_checksum() && received.verify_tag(&KEY, None));
        return;
    }
    assert_eq!(icrc::verify(packet), Ok(true));
    let upper = match ipv4::View::parse(packet) {
        Ok(ip) => {
            assert!(ip.verify_checksum());
            &packet[ip.header_len()..]
        }
        Err(_) => &packet[ipv6::HEADER_LEN..],
    };
    let bth = bth::View::parse(&upper[udp::HEADER_LEN..]).expect("a notification is a RoCEv2 packet");
    if bth.opcode() == Opcode::DIRECT_INT {
        direct_int::Content::parse(bth.payload()).expect("the gateway made it");
        return;
    }
    assert!(bth.opcode().is_cnp() && bth.becn());
}
