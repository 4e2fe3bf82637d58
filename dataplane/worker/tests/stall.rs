//! A worker that stalls for 50 ms under load: slots and rates follow elapsed time, and the effects are
//! counted by name.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use switch::program::{Bifrost, Feedback, FlowControl, Lscc, RateCalculation, RateLimiting, VirtualIncoming};
use switch::{DropReason, Settings, Shard, SlotCounters};
use units::{Bytes, Interval, Nanos, PauseQuanta, Priority, WireBytes};
use wire::ip::Dscp;
use worker::Clock;

const TURN: Interval = Interval(1_000);
const SLOT: Interval = Interval(10_000);
const ROUND_TRIP: Interval = Interval(100_000);
const STALL: Interval = Interval::from_millis(50);
const FRAME: usize = 4_170;
/// The capacity of the receive ring in frames.
const RECEIVE_RING: usize = 1_024;

fn bifrost() -> Bifrost {
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        round_trip: ROUND_TRIP,
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval(1_000) },
        holdover: Interval(5_000),
        lateness: Interval(5_000),
    };
    bifrost.buffer = bifrost.buffer_terms(RATE, Bytes(9_216)).total();
    bifrost
}

fn slots_of(shard: &Shard<TestFrame>) -> SlotCounters {
    shard.flow_control(A).bifrost().unwrap().slots.clone()
}

fn lscc() -> Lscc {
    Lscc {
        interval: SLOT,
        round_trip: ROUND_TRIP,
        calculation: RateCalculation {
            reference: WireBytes(1_000_000),
            step: None,
            least: units::BitRate::gigabits(1),
            most: RATE,
        },
        limiting: RateLimiting {
            reference: WireBytes(1_000_000),
            limit: None,
            cnp_interval: Interval::from_micros(50),
            direct_int: None,
            long_flow: Some(WireBytes(RATE.bytes_in(ROUND_TRIP))),
            far_cnp_interval: None,
            flows: 16,
            ageing: Interval::from_secs(10),
            learn: 1,
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
        feedback: Feedback {
            local: Ipv4Addr::new(10, 255, 0, 1),
            peer: Ipv4Addr::new(10, 255, 0, 2),
            key: None,
            dscp: Dscp::from_low_bits(48),
        },
    }
}

/// Port A has the long link with Bifrost and LSCC.
fn gateway() -> Settings {
    let mut settings = settings(2);
    settings.ports[A.index()].flow_control = FlowControl::Bifrost(bifrost());
    settings.ports[A.index()].notifiers.lscc = Some(lscc());
    settings
}

/// A sender at line rate into port A that obeys pauses.
struct Sender {
    paused_until: Nanos,
    /// When its link is free.
    free_at: Nanos,
    /// PFC frames that it has received.
    heard: usize,
    sent: u64,
    missed: u64,
}

impl Sender {
    fn send_until(&mut self, now: Nanos, cable: &Cable) {
        let pauses = cable.outside().pauses();
        for pause in pauses[self.heard..].iter().copied() {
            // A pause of the last turn counts from its beginning.
            self.paused_until = self.free_at + PauseQuanta::interval_at(pause, RATE);
        }
        self.heard = pauses.len();
        let each = RATE.serialization().time_of(WireBytes::of_frame(Bytes(FRAME as u64)));
        while self.free_at.max(self.paused_until) < now {
            self.free_at = self.free_at.max(self.paused_until) + each;
            if cable.outside().inbound.len() < RECEIVE_RING {
                cable.inject([frame(1, P3, FRAME, self.sent)]);
                self.sent += 1;
            } else {
                self.missed += 1;
            }
        }
    }
}

struct Rig {
    bench: Bench<TestClock>,
    clock: TestClock,
    a: Cable,
    b: Cable,
    sender: Sender,
}

impl Rig {
    fn new() -> Self {
        let (bench, clock, a, b) = one_worker(gateway());
        let sender = Sender { paused_until: START, free_at: START, heard: 0, sent: 0, missed: 0 };
        Self { bench, clock, a, b, sender }
    }

    fn turn(&mut self, after: Interval) {
        self.clock.advance(after);
        self.sender.send_until(self.clock.now(), &self.a);
        assert!(self.bench.worker.turn().is_continue());
    }

    /// Frames that left through B in `time`.
    fn run_for(&mut self, time: Interval) -> u64 {
        let before = self.b.outside().outbound.len();
        for _ in 0..time.0 / TURN.0 {
            self.turn(TURN);
        }
        (self.b.outside().outbound.len() - before) as u64
    }
}

#[test]
fn a_worker_that_stood_still_charges_what_was_sent_meanwhile_and_goes_on() {
    let mut rig = Rig::new();
    let at_line_rate = RATE.bytes_in(Interval::from_millis(1)) / WireBytes::of_frame(Bytes(FRAME as u64)).0;
    let before = rig.run_for(Interval::from_millis(1));
    assert!(before + 20 > at_line_rate, "{before} of {at_line_rate} frames");
    let slots = slots_of(rig.bench.worker.shard());
    assert!(slots.late_charge < WireBytes(RATE.bytes_in(TURN) * slots.slots), "late by a turn at most");
    assert_eq!(rig.sender.missed, 0);

    rig.turn(STALL);
    let of_a = rig.bench.inspect(A);
    let least = STALL - SLOT;
    assert!(of_a.lateness.longest() >= least && of_a.lateness.longest() <= STALL);
    assert!(of_a.turns.longest() == STALL);
    let shard = rig.bench.worker.shard();
    let slots = slots_of(shard);
    assert!(slots.lateness.longest() >= least);
    assert!(slots.late_charge >= WireBytes(RATE.bytes_in(least)), "{:?}", slots.late_charge);
    assert!(shard.advertiser_lateness(A).unwrap().longest() >= least);
    // Frames beyond the receive ring are lost before the switch: everything sent during the stall, except
    // during the slot's pause in force, which ends within a round trip.
    let frames_in = |time| RATE.bytes_in(time) / WireBytes::of_frame(Bytes(FRAME as u64)).0;
    let most = frames_in(STALL) - RECEIVE_RING as u64;
    assert!((most - frames_in(ROUND_TRIP)..=most).contains(&rig.sender.missed), "{}", rig.sender.missed);

    // The frames in the receive ring exceed the buffer and are counted so. Pauses last until they have left;
    // then the line is full again.
    rig.run_for(Interval::from_millis(2));
    let slots = slots_of(rig.bench.worker.shard());
    let ring = RECEIVE_RING as u64 * WireBytes::of_frame(Bytes(FRAME as u64)).0;
    assert!(slots.peak > bifrost().buffer, "{slots:?}");
    // The excess leaves at line rate, and nothing is granted until then.
    let beyond = (slots.peak.0 - bifrost().buffer.0) / RATE.bytes_in(SLOT);
    assert!(slots.fully_paused_slots >= beyond && beyond > 0, "{beyond} of {slots:?}");
    assert!(slots.longest_queue.0 <= bifrost().buffer.0 + ring, "{slots:?}");
    let missed = rig.sender.missed;
    let after = rig.run_for(Interval::from_millis(1));
    assert!(after + 20 > at_line_rate, "{after} of {at_line_rate} frames");
    assert_eq!(rig.sender.missed, missed, "and it is heard in time again");

    rig.sender.paused_until = Nanos::NEVER;
    rig.run_for(Interval::from_millis(1));
    let shard = rig.bench.worker.shard();
    assert_nothing_inside(shard.ledger());
    let dropped = shard.ingress_counters(A).dropped[P3.index()];
    assert!(DropReason::ALL.iter().all(|reason| dropped[reason.index()].frames == 0));
    let numbers = rig.b.outside().numbers().remove(&1).unwrap();
    assert!(numbers.into_iter().eq(0..rig.sender.sent), "the switch lost nothing");
}
