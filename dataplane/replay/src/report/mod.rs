//! The report of a replay, as data. `docs/report.md` explains every key; names and units are a stable
//! interface.
//!
//! The report depends only on the frames, the program and its seed: it has no paths, and no instants other
//! than those of the captures. All lengths are in bytes without FCS, all times in nanoseconds.

mod build;
mod conservation;

pub use conservation::{Conservation, Leaving, PortConservation, WhereFramesWent};

use report::{PoolsReport, PortReport, WatchdogReport};
use serde::Serialize;
use switch::Volume;

/// The version of the layout. It changes when a key changes its name or meaning, not when one is added.
pub const FORMAT: u32 = 1;

/// The report of a whole replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The version of this layout: 1.
    pub format: u32,
    /// The configuration in force.
    pub program: ProgramReport,
    /// The frames read.
    pub input: InputReport,
    /// The replay clock, which timestamps the outputs.
    pub clock: ClockReport,
    /// How the replay ended.
    pub ending: EndingReport,
    /// Whether every frame is accounted for: the check of each port.
    pub conservation: Conservation,
    /// The buffer.
    pub pools: PoolsReport,
    /// The findings of the ports' watchdogs.
    pub watchdog: WatchdogReport,
    /// The ports in the order of the configuration.
    pub ports: Vec<PortReport>,
}

/// The configuration in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramReport {
    /// The name of the gateway.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The frames read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// Whether all captures were read to their end. False if one was truncated or corrupt.
    pub complete: bool,
    /// All frames, assigned or not, every loop counted.
    pub read: Volume,
    /// The earliest instant of a frame in the captures, later loops shifted; `None` without frames.
    pub first_ns: Option<u64>,
    /// The latest instant of a frame.
    pub last_ns: Option<u64>,
    /// Frames whose instant was up to a millisecond before that of an earlier frame, and was raised.
    pub clamped_timestamps: u64,
    /// Frames whose instant alone was far off, and which were played with the one before.
    pub stray_timestamps: u64,
    /// Times that the clock of a capture was set back. Frames kept their gaps.
    pub clock_steps: u64,
    /// Frames of captures with both directions that match no side.
    pub unassigned: UnassignedReport,
}

/// Frames that match no side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnassignedReport {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first eight source addresses of these frames.
    pub sources: Vec<SourceReport>,
    /// Frames of other addresses, or too short to have one.
    pub other_sources: u64,
}

/// A source address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceReport {
    /// The MAC address.
    pub mac: String,
    /// Frames from it.
    pub frames: u64,
}

/// The replay clock: Unix time from the first frame on, at the requested pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    /// When the first frame arrived, after `--speed`; `None` without frames.
    pub first_arrival_ns: Option<u64>,
    /// When the last frame arrived.
    pub last_arrival_ns: Option<u64>,
    /// When the replay ended: the last frame was handed out, and no storm was left to end.
    pub end_ns: Option<u64>,
}

/// The ending of the replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndingReport {
    /// `drained`: nothing is due. `deadlock`: nothing can ever leave, though frames are inside or groups are paused. `drain_limit`: frames waited 60 s after the last arrival.
    pub state: &'static str,
    /// Frames that are still inside.
    pub queued: Volume,
    /// Groups whose sender is still paused.
    pub paused: Vec<PausedReport>,
}

/// A group whose sender is paused at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PausedReport {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The cause of the pause.
    pub cause: &'static str,
    /// The occupancy of the group in bytes.
    pub occupancy_bytes: u64,
}

impl Report {
    /// The report as JSON for a file: one line per key, with a final newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a report has no map with keys other than strings, and nothing that fails");
        text.push('\n');
        text
    }
}
