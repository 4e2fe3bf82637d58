//! The cost of a replay does not depend on its length: no allocation per frame, constant memory.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use replay::capture::{CaptureError, CaptureSink, CaptureWriter, Captured, FrameSource, Interface, Pace};
use replay::series::Sampling;
use replay::{Input, Outputs, Replay, Side};
use std::io::{self, Write};
use std::process::Stdio;
use std::sync::Arc;
use switch::Program;
use units::{Interval, Nanos, PortId};

/// Repeats one frame: bursts of 40 at the link rate, with gaps between them.
struct Generated {
    frame: Vec<u8>,
    left: u64,
    count: u64,
}

impl FrameSource for Generated {
    fn advance(&mut self) -> Result<bool, CaptureError> {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.count += u64::from(more);
        Ok(more)
    }

    fn current(&self) -> Option<Captured<'_>> {
        let number = self.count.checked_sub(1)?;
        let at = Nanos(1_000_000_000 + number / 40 * 10_000_000 + number % 40 * 100);
        let (data, interface) = (&self.frame, Interface::default());
        Some(Captured { at, data, original_length: data.len() as u32, interface })
    }
}

/// A sink that discards everything.
struct Nowhere;

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CaptureSink for Nowhere {
    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

fn program(text: &str) -> Arc<Program> {
    config::parse(text, "cost.toml").unwrap().program
}

/// The maximum number of rows of the series.
const ROWS: u32 = 100;

/// Counts the allocations of a replay of `frames` at each end of the link, with or without a series.
fn allocations(program: &Arc<Program>, frames: u64, length: usize, sampled: bool) -> u64 {
    let counted = allocation_counter::measure(|| {
        let inputs = [PortId(0), PortId(1)].map(|port| Input {
            source: Generated { frame: udp_frame(length, 26), left: frames, count: 0 },
            pace: Pace::AsCaptured,
            side: Side::Port(port),
        });
        let ports = program.settings().ports.len();
        let outputs = Outputs::new((0..ports).map(|_| Some(CaptureWriter::new(Nowhere, "nowhere"))));
        let mut replay = Replay::new(program.clone(), inputs.into()).unwrap();
        if sampled {
            replay = replay.sample(Sampling { interval: Interval::from_micros(1), rows: ROWS });
        }
        let outcome = replay.run("cost", outputs, |_| core::ops::ControlFlow::Continue(())).unwrap();
        assert!(outcome.report.conservation.holds);
        assert_eq!(outcome.report.input.read.frames, 2 * frames);
        let rows = outcome.series.map(|series| series.times().len());
        assert!(rows.is_some() == sampled && rows.is_none_or(|rows| rows <= ROWS as usize), "{rows:?}");
    });
    counted.count_total
}

#[test]
fn no_frame_costs_an_allocation_once_the_replay_is_warm() {
    let bridge =
        SLOW_HAUL.to_owned() + "[[port]]\nname = \"lh1\"\nrate = \"1G\"\n[forwarding]\nmode = \"bridge\"\n";
    for (name, text) in [("patch", SLOW_HAUL), ("bridge", &bridge)] {
        let program = program(text);
        for (length, sampled) in [(60, false), (976, false), (976, true)] {
            // The report depends on the events: the same bursts give the same buckets.
            let [short, long] = [4_000, 40_000].map(|frames| allocations(&program, frames, length, sampled));
            // Shows that allocations are counted: the report has each port's name twice, and a list of priorities.
            let least = 3 * program.settings().ports.len() as u64;
            assert!(short >= least, "{short}, and {least} for the report alone");
            assert_eq!(short, long, "{name}, {length} bytes, looked at over time: {sampled}");
        }
    }
}

/// The memory in KiB that a replay of `frames` holds while it waits for the end of its input. Pages of the program's file
/// are left out: the kernel brings them in around what runs, and may bring in more of them for a run that takes longer.
fn own_memory_kib(frames: u64) -> u64 {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL.replace("100M", "100G"));
    let mut child = longspan()
        .args(["replay", "--config", &config, "--in", "dc0=-", "--out-dir", &scratch.path("out")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&pcap_header(1)).unwrap();
    for chunk in 0..frames / 1_000 {
        let frames: Vec<_> = stream(1_000, 1_082, 1_000)
            .into_iter()
            .map(|(at, data, n)| (at + chunk * 1_000_000, data, n))
            .collect();
        let records: Vec<_> = frames.iter().map(pcap_record).collect();
        input.write_all(&records.concat()).unwrap();
    }
    let sums = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", child.id())).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let own = sums.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    own.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs Linux's /proc")]
fn memory_is_constant_in_the_length_of_the_capture() {
    let [short, long] = [10_000, 100_000].map(own_memory_kib);
    assert!(long < short + 64, "{short} KiB for 10,000 frames, {long} KiB for 100,000");
}
