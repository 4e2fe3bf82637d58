//! Sends a million frames through the core, for a profiler: instructions per packet are
//! repeatable where times are not.
//!
//! `valgrind --tool=callgrind target/release/examples/core_turns 64 2 32`: frames of 64 bytes, two ports,
//! bursts of 32, one million in all. A fourth figure is the number of frames, a fifth that of flows
//! with everything on, and a sixth that of packets after which they start again, their senders unknown (0 is never). A
//! seventh is the rate in Gb/s that the far end asks for: with 200 the link is quiet, with 195 it is awake, with 100
//! senders are told. An eighth is `learn` of LSCC; with 1, all packets are looked up. A ninth is the number of lanes; with
//! 0 there are none. With the feature `dpdk`, tables
//! have the memory that they have in a gateway, unless `ORDINARY_MEMORY` is in the environment.

use benches::core::{Core, Load};
use core::num::NonZeroU32;
use units::BitRate;

#[cfg(feature = "dpdk")]
#[global_allocator]
static MEMORY: dpdk::ResidentMemory = dpdk::ResidentMemory;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (frame_bytes, ports, burst) = (next(64), next(2) as u16, next(32) as usize);
    let (mut frames, total) = (0, next(1_000_000) as usize);
    let flows = Some(next(0) as u32).filter(|flows| *flows > 0);
    let restart_after = NonZeroU32::new(next(0) as u32);
    let far_rate = BitRate::new(next(200) * 1_000_000_000).unwrap_or(Load::FAR_RATE);
    let learn = next(u64::from(Load::LEARN)) as u32;
    let lanes = next(0) as usize;
    let load = Load { frame_bytes, ports, burst, flows, restart_after, far_rate, learn, lanes };
    let mut core = core_under(load);
    // Flows are entered before the clock starts.
    let entered = flows.unwrap_or(0) as usize * usize::from(restart_after.is_some());
    while frames < entered {
        frames += core.turn();
    }
    frames = 0;
    let start = processor_time_ns();
    while frames < total {
        frames += core.turn();
    }
    let nanos = (processor_time_ns() - start) as f64;
    println!("{load:?}: {frames} frames, {:.2} ns each", nanos / frames as f64);
}

fn core_under(load: Load) -> Core {
    #[cfg(feature = "dpdk")]
    if std::env::var_os("ORDINARY_MEMORY").is_none() {
        return dpdk::ResidentMemory::around(|| Core::new(load));
    }
    Core::new(load)
}

/// For how long this process has had a processor: what others do on the machine counts less.
fn processor_time_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells what a process has used");
    let first = times.split(' ').next().and_then(|nanos| nanos.parse().ok());
    first.expect("the first figure is the time on a processor")
}
