//! Runs turns of a worker with two ports whose devices are queues in memory, for a profiler.
//!
//! `valgrind --tool=callgrind target/release/examples/worker_turns 32 20000`: bursts of 32 frames of 128 bytes at
//! each port, 20,000 turns. With bursts of 0, all turns are idle. The clock is a counter, so runs are repeatable;
//! instructions do not show what a read of a real clock takes.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{A, B, P3, START, frame, settings, workers};
use units::Nanos;
use worker::Clock;

/// Advances by a microsecond with each reading.
struct Counter(Nanos);

impl Clock for Counter {
    fn now(&mut self) -> Nanos {
        self.0 = Nanos(self.0.0 + 1_000);
        self.0
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (burst, turns) = (next(32), next(100_000));
    let (mut benches, cables) = workers(settings(2), 1, || Counter(START));
    for (port, cable) in [A, B].into_iter().zip(&cables) {
        cable.inject((0..burst).map(|number| frame(u32::from(port.0), P3, 128, number)));
    }
    let mut frames = 0;
    for _ in 0..turns {
        let flow = benches[0].worker.turn();
        assert!(flow.is_continue(), "no one stops the worker");
        for cable in &cables {
            let outside = &mut *cable.outside();
            frames += outside.outbound.len();
            outside.inbound.extend(outside.outbound.drain(..));
        }
    }
    println!("bursts of {burst}: {frames} frames in {turns} turns");
}
