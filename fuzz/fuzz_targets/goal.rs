//! Any text as a job in the form of GOAL: read, or refused with a line of it, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use simulation::NodeId;
use simulation::job::{Job, read_goal};
use units::{Nanos, Priority};

fuzz_target!(|bytes: &[u8]| {
    let hosts: Vec<NodeId> = (0..8).map(NodeId).collect();
    let (priority, start) = (Priority::from_low_bits(3), Nanos::ZERO);
    let job = Job { group: 0, priority, start, iterations: 1, ranks: Vec::new() };
    if let Err(error) = read_goal(bytes, &hosts, job) {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!((1..=lines + 1).contains(&(error.line as usize)), "{error}");
    }
});
