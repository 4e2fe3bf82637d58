//! Sends a million frames through the core, for a profiler: instructions per packet are
//! repeatable where times are not.
//!
//! `valgrind --tool=callgrind target/release/examples/core_turns 64 2 32`: frames of 64 bytes, two ports,
//! bursts of 32, one million in all. A fourth figure is the number of frames, and a fifth that of flows
//! with everything on.

use benches::core::{Core, Load};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (frame_bytes, ports, burst) = (next(64), next(2) as u16, next(32) as usize);
    let (mut frames, total) = (0, next(1_000_000) as usize);
    let flows = Some(next(0) as u32).filter(|flows| *flows > 0);
    let load = Load { frame_bytes, ports, burst, flows };
    let mut core = Core::new(load);
    let start = std::time::Instant::now();
    while frames < total {
        frames += core.turn();
    }
    let nanos = start.elapsed().as_nanos() as f64;
    println!("{load:?}: {frames} frames, {:.2} ns each", nanos / frames as f64);
}
