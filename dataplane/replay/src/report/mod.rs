//! What happened in a replay, as data. `docs/report.md` explains every key; the names and units
//! are an interface.
//!
//! The report depends on the frames, the program and its seed, and on nothing else: it holds no
//! path, and no instant but those of the captures. All lengths are bytes without FCS, all times
//! nanoseconds.

mod build;
mod conservation;

pub use conservation::{Conservation, Leaving, PortConservation, WhereFramesWent};

use report::{Count, PoolsReport, PortReport, WatchdogReport};
use serde::Serialize;

/// The version of the layout: it changes where a key changes its name or meaning, not where one is
/// added.
pub const FORMAT: u32 = 1;

/// A whole replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// Whose replay it was.
    pub program: ProgramReport,
    /// What was read.
    pub input: InputReport,
    /// The clock of the replay, by which the outputs are stamped.
    pub clock: ClockReport,
    /// How it ended.
    pub ending: EndingReport,
    /// Whether every frame is accounted for.
    pub conservation: Conservation,
    /// The buffer.
    pub pools: PoolsReport,
    /// What the watchdogs of its ports have found.
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

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// Whether all captures were read to their end; not so where one was cut off or corrupt.
    pub complete: bool,
    /// All frames, assigned or not.
    pub read: Count,
    /// The earliest instant of a frame, Unix time; `None` without frames.
    pub first_ns: Option<u64>,
    /// The latest.
    pub last_ns: Option<u64>,
    /// Frames whose instant lay before that of a frame before them, and was raised.
    pub clamped_timestamps: u64,
    /// Frames of a capture with both directions that match no side.
    pub unassigned: UnassignedReport,
}

/// Frames that came in nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnassignedReport {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first source addresses among them.
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

/// The clock of the replay: Unix time from the first frame on, at the pace that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    /// First arrival; `None` without frames.
    pub first_arrival_ns: Option<u64>,
    /// Last arrival.
    pub last_arrival_ns: Option<u64>,
    /// When the replay ended, its last frame handed out.
    pub end_ns: Option<u64>,
}

/// How the replay ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndingReport {
    /// [`crate::Ending::name`].
    pub state: &'static str,
    /// Frames that are still inside.
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
    /// Why.
    pub cause: &'static str,
    /// What the group holds, in bytes.
    pub occupancy_bytes: u64,
}

impl Report {
    /// The report as it is written to a file: JSON with a line per key, and a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a report has no map with keys other than strings, and nothing that fails");
        text.push('\n');
        text
    }
}
