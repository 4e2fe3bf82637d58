//! A gateway with LSCC on port B, and what its far end says.

use crate::frame::TestFrame;
use crate::settings::{port_mac, two_ports};
use crate::{A, B, Testbench};
use core::net::Ipv4Addr;
use switch::program::{Feedback, Lscc, RateCalculation, RateLimiting, Settings};
use units::{BitRate, Interval, Priority, WireBytes};
use wire::ip::Dscp;
use wire::rate_feedback::{Content, FRAME_LEN, Frame, Key, Message, Received};

/// The address of the gateway on its long link.
pub const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
/// The address of the far end.
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 2);
/// The key that both ends share.
pub const KEY: Key = Key(*b"sixteen byte key");
/// The interval of direct CNPs.
pub const CNP_INTERVAL: Interval = Interval::from_micros(50);
/// The round trip of the long link.
pub const ROUND_TRIP: Interval = Interval::from_millis(1);
/// The interval of rates.
pub const INTERVAL: Interval = Interval::from_micros(100);
/// The pseudo-queue above which CNPs are sent.
pub const PSEUDO_REFERENCE: WireBytes = WireBytes(20_000);

/// LSCC as the tests have it, on a link of `rate`.
pub fn lscc(rate: BitRate) -> Lscc {
    Lscc {
        interval: INTERVAL,
        round_trip: ROUND_TRIP,
        calculation: RateCalculation {
            reference: WireBytes(1_000_000),
            step: None,
            least: BitRate::gigabits(1),
            most: rate,
        },
        limiting: RateLimiting {
            reference: PSEUDO_REFERENCE,
            limit: Some(RateLimiting::default_limit(PSEUDO_REFERENCE)),
            cnp_interval: CNP_INTERVAL,
            direct_int: None,
            long_flow: Some(WireBytes(rate.bytes_in(ROUND_TRIP))),
            far_cnp_interval: None,
            flows: 1_024,
            ageing: Interval::from_secs(10),
            learn: 1,
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
        feedback: Feedback { local: LOCAL, peer: PEER, key: Some(KEY), dscp: Dscp::from_low_bits(48) },
    }
}

/// Two patched ports at 100G: a data center behind A, the long link behind B.
pub fn gateway() -> Settings {
    let mut settings = two_ports();
    settings.ports[B.index()].notifiers.lscc = Some(lscc(settings.ports[B.index()].rate));
    settings
}

/// The settings of LSCC on port B, to change them.
///
/// # Panics
/// Where it has none.
pub fn lscc_of(settings: &mut Settings) -> &mut Lscc {
    settings.ports[B.index()].notifiers.lscc.as_mut().expect("port B has LSCC")
}

/// The session in which the far end speaks.
pub const SESSION: u64 = 1;

/// A message of the far end: send at `rate`.
pub fn told(sequence: u64, rate: BitRate) -> Frame {
    Frame {
        source_mac: port_mac(A),
        source: PEER,
        destination: LOCAL,
        dscp: Dscp::from_low_bits(48),
        identification: sequence as u16,
        message: Message { port: 1, content: Content::Rate { rate, sequence, session: SESSION } },
    }
}

/// The message on the wire.
pub fn on_the_wire(frame: &Frame, key: Option<&Key>) -> TestFrame {
    let mut bytes = vec![0; FRAME_LEN];
    frame.emit(key, &mut bytes).expect("there is room");
    TestFrame::new(bytes)
}

/// [`told`], with its tag.
pub fn feedback(sequence: u64, rate: BitRate) -> TestFrame {
    on_the_wire(&told(sequence, rate), Some(&KEY))
}

/// [`told`], as an answer to the challenge with `nonce`.
pub fn answer(nonce: u64, sequence: u64, rate: BitRate) -> TestFrame {
    let mut bytes = vec![0; FRAME_LEN];
    told(sequence, rate).emit_answer(&KEY, nonce, &mut bytes).expect("there is room");
    TestFrame::new(bytes)
}

/// The content of `frame`, where that is a feedback message of a gateway.
pub fn said_in(frame: &TestFrame) -> Option<Content> {
    let received = Received::parse(frame.bytes.get(14..)?).ok()?;
    Some(received.message.message().content)
}

/// The rate that a gateway tells in `frame`.
pub fn rate_in(frame: &TestFrame) -> Option<BitRate> {
    match said_in(frame)? {
        Content::Rate { rate, .. } => Some(rate),
        Content::Challenge { .. } => None,
    }
}

/// The nonce of the challenge in `frame`.
pub fn nonce_in(frame: &TestFrame) -> Option<u64> {
    match said_in(frame)? {
        Content::Challenge { nonce } => Some(nonce),
        Content::Rate { .. } => None,
    }
}

/// The far end tells the gateway `rate`, and answers its challenge where it has a key.
///
/// # Panics
/// Where the gateway does not adopt the rate.
pub fn introduce(bench: &mut Testbench, sequence: u64, rate: BitRate) {
    let key = bench.shard.program().port(B).notifiers.lscc.as_ref().and_then(|lscc| lscc.feedback.key);
    bench.inject_singly(B, [on_the_wire(&told(sequence, rate), key.as_ref())]);
    if let Some(nonce) = bench.sent(B).iter().rev().find_map(|sent| nonce_in(&sent.frame)) {
        bench.inject_singly(B, [answer(nonce, sequence, rate)]);
    }
    let adopted = bench.shard.notifiers(B).lscc.and_then(|lscc| lscc.received_rate);
    assert_eq!(adopted, Some(Message::carried(rate)), "the gateway hears its far end");
}
