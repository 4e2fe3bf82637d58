//! Sends a million frames through the core, for a profiler: instructions per packet are
//! repeatable where times are not.
//!
//! `valgrind --tool=callgrind target/release/examples/core_turns 64 2 32`

use benches::core::{Core, Load};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let load = Load { frame_bytes: next(64), ports: next(2) as u16, burst: next(32) as usize };
    let mut core = Core::new(load);
    let (mut frames, total) = (0, next(1_000_000) as usize);
    let start = std::time::Instant::now();
    while frames < total {
        frames += core.turn();
    }
    let nanos = start.elapsed().as_nanos() as f64;
    println!("{load:?}: {frames} frames, {:.2} ns each", nanos / frames as f64);
}
