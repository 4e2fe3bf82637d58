//! A worker that loses its core for a while, and the room that its frames take then.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::sync::Arc;
use switch::program::Threshold;
use switch::{Program, Settings, Successor};
use units::{Bytes, Cells, Interval, Nanos, WireBytes};
use worker::{Command, Reply};

const TURN: Interval = Interval(1_000);
/// The receive ring holds what arrives meanwhile.
const AWAY: Interval = Interval::from_micros(200);
const RECEIVE_RING: usize = 1_024;
const FRAME: usize = 4_170;

/// Headroom covers three turns, a frame that crosses XOFF and one that the sender has begun. `shared` bytes are shared.
fn settings_of(xoff: u64, shared: u64) -> Settings {
    let mut settings = settings(2);
    let frame = Cells::of_frame(Bytes(FRAME as u64)).bytes();
    for port in &mut settings.ports {
        let group = port.groups[P3.index()].lossless_mut().unwrap();
        (group.xoff, group.xon) = (Threshold::Static(Bytes(xoff)), Bytes(xoff / 2));
        group.headroom = Bytes(RATE.bytes_in(TURN * 3)) + frame + frame;
    }
    (settings.buffer.shared, settings.buffer.egress_lossy) = (Bytes(shared), Bytes(shared));
    settings
}

/// A worker, and a sender at line rate into port A that hears of a pause a turn later.
struct Rig {
    bench: Bench<TestClock>,
    clock: TestClock,
    now: Nanos,
    a: Cable,
    b: Cable,
    paused_until: Nanos,
    heard: usize,
    sent_until: Nanos,
    sent: u64,
}

impl Rig {
    fn new(settings: Settings) -> Self {
        let (bench, clock, a, b) = one_worker(settings);
        Self { bench, clock, now: START, a, b, paused_until: START, heard: 0, sent_until: START, sent: 0 }
    }

    /// Lets a turn begin `after` the one before.
    fn turn(&mut self, after: Interval) {
        let pauses = self.a.outside().pauses();
        for quanta in &pauses[self.heard..] {
            self.paused_until = self.now + quanta.interval_at(RATE);
        }
        self.heard = pauses.len();
        self.now += after;
        self.clock.set(self.now);
        let each = RATE.serialization().time_of(WireBytes::of_frame(Bytes(FRAME as u64)));
        self.sent_until = self.sent_until.max(self.paused_until);
        while self.sent_until + each <= self.now {
            self.a.inject([frame(1, P3, FRAME, self.sent)]);
            self.sent += 1;
            self.sent_until += each;
        }
        assert!(self.a.outside().inbound.len() <= RECEIVE_RING);
        assert!(self.bench.worker.turn().is_continue());
    }

    fn run_for(&mut self, time: Interval) {
        (0..time.0 / TURN.0).for_each(|_| self.turn(TURN));
    }
}

/// Lossless frames that are lost while 50 reloads keep a worker from its core, each just when its receiver pauses. Turns of
/// `promised` are covered.
fn lost_to_reloads(promised: Interval, shared: u64) -> u64 {
    let mut rig = Rig::new(settings_of(400_000, shared));
    rig.bench.monitor.promise(promised);
    for reload in 0..50 {
        rig.run_for(TURN * (20 + 7 * reload % 40));
        rig.b.inject([pause(units::PauseQuanta::MAX)]);
        let settings = settings_of([200_000, 400_000][reload as usize % 2], shared);
        let successor = Successor::new(Arc::new(Program::new(settings).unwrap()));
        rig.bench.send(Command::Install(Box::new(successor)));
        rig.turn(TURN);
        assert!(matches!(rig.bench.controls.receive(), Some(Reply::Installed(Ok(_)))));
        rig.turn(AWAY);
        rig.run_for(TURN * 800);
    }
    let dropped = rig.bench.worker.shard().ingress_counters(A).dropped[P3.index()];
    dropped.iter().map(|volume| volume.frames).sum()
}

#[test]
fn reloads_that_keep_a_worker_from_its_core_cost_no_lossless_frame_while_the_shared_pool_has_room() {
    let covered = TURN * 2;
    assert_eq!(lost_to_reloads(covered, 40_000_000), 0);
    assert!(
        lost_to_reloads(Interval(u64::MAX), 40_000_000) > 10_000,
        "no one notices that the worker was away"
    );
    assert!(lost_to_reloads(covered, 1_000_000) > 10_000, "half of a small pool is not enough");
}
