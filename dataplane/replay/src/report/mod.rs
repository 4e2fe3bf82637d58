//! The report of a replay, as data. `docs/report.md` explains every key; names and units are a stable
//! interface.
//!
//! The report depends only on the frames, the program and its seed: it has no paths, and no instants other
//! than those of the captures. All lengths are in bytes without FCS, all times in nanoseconds.

mod build;
mod conservation;

pub use conservation::{Conservation, Leaving, PortConservation, WhereFramesWent};

use report::{Count, PoolsReport, PortReport, WatchdogReport};
use serde::Serialize;

/// The version of the layout. It changes when a key changes its name or meaning, not when one is added.
pub const FORMAT: u32 = 1;

/// The report of a whole replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// The configuration.
    pub program: ProgramReport,
    /// The frames read.
    pub input: InputReport,
    /// The replay clock, which timestamps the outputs.
    pub clock: ClockReport,
    /// The ending.
    pub ending: EndingReport,
    /// Whether every frame is accounted for.
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
    /// Its name.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The frames read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// Whether all captures were read to their end. False if one was truncated or corrupt.
    pub complete: bool,
    /// All frames, assigned or not.
    pub read: Count,
    /// The earliest instant of a frame, in Unix time; `None` without frames.
    pub first_ns: Option<u64>,
    /// The latest instant.
    pub last_ns: Option<u64>,
    /// Frames whose instant went back and was raised.
    pub clamped_timestamps: u64,
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
    /// The first source addresses of these frames.
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
    /// First arrival; `None` without frames.
    pub first_arrival_ns: Option<u64>,
    /// Last arrival.
    pub last_arrival_ns: Option<u64>,
    /// The end of the replay, when its last frame had left.
    pub end_ns: Option<u64>,
}

/// The ending of the replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndingReport {
    /// [`crate::Ending::name`].
    pub state: &'static str,
    /// Frames still queued.
    pub queued: Count,
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
