//! What happened in a replay, as data. `docs/report.md` explains every key; the names and units
//! are an interface.
//!
//! The report depends on the frames, the program and its seed, and on nothing else: it holds no
//! path, and no instant but those of the captures. All lengths are bytes without FCS, all times
//! nanoseconds.

mod build;
mod conservation;
mod lscc;
mod watchdog;

pub use conservation::{Conservation, Leaving, PortConservation, WhereFramesWent};
pub use lscc::{CnpReport, FeedbackReport, FlowsReport, LsccReport, PseudoQueueReport, RatesReport};
pub use watchdog::{WatchdogChangeReport, WatchdogEventReport, WatchdogQueueReport, WatchdogReport};

use serde::Serialize;
use std::collections::BTreeMap;
use switch::Volume;

/// The version of the layout: it changes where a key changes its name or meaning, not where one is
/// added.
pub const FORMAT: u32 = 1;

/// Frames by the stable name of a reason. Reasons that did not occur are left out.
pub type ByReason = BTreeMap<&'static str, Count>;

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

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Frames.
    pub frames: u64,
    /// Their length on the link in bytes, without FCS.
    pub bytes: u64,
}

impl From<Volume> for Count {
    fn from(volume: Volume) -> Self {
        Self { frames: volume.frames, bytes: volume.bytes.0 }
    }
}

impl core::ops::Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

impl core::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| sum + count)
    }
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

/// The pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolsReport {
    /// Shared part of the ingress pool.
    pub shared: PoolReport,
    /// Headroom pool.
    pub headroom: PoolReport,
    /// Egress pool of lossy queues.
    pub egress_lossy: PoolReport,
}

/// One pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolReport {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What is held at the end.
    pub held_bytes: u64,
    /// The most that was held.
    pub watermark_bytes: u64,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Rate of its link.
    pub rate_bits_per_second: u64,
    /// Frames that came in.
    #[serde(rename = "in")]
    pub arrived: Count,
    /// Data frames that went out.
    pub out: Count,
    /// Control frames that the gateway sent.
    pub control_out: Count,
    /// Frames that the gateway kept, by kind.
    pub consumed: ByReason,
    /// Frames from this port that were dropped before they were admitted.
    pub dropped_at_ingress: ByReason,
    /// Frames for this port that were dropped at its queues.
    pub dropped_at_egress: ByReason,
    /// What the slots of Bifrost came to; `None` where it does not run.
    pub bifrost: Option<BifrostReport>,
    /// What LSCC did; `None` where it does not run.
    pub lscc: Option<LsccReport>,
    /// The eight priorities in order.
    pub priorities: Vec<PriorityReport>,
}

/// Bifrost on one port. All bytes are bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BifrostReport {
    /// T.
    pub slot_ns: u64,
    /// H.
    pub buffer_wire_bytes: u64,
    /// Slots that have ended.
    pub slots: u64,
    /// Slots for part of which the upstream was paused, or all of which.
    pub paused_slots: u64,
    /// Slots that were paused entirely.
    pub fully_paused_slots: u64,
    /// What was granted.
    pub granted_wire_bytes: u64,
    /// What was charged because slots ended late.
    pub granted_late_wire_bytes: u64,
    /// The longest queue at the end of a slot.
    pub longest_queue_wire_bytes: u64,
    /// The most that queue and virtual incoming bytes came to: above the buffer, something leaked.
    pub fullest_wire_bytes: u64,
    /// How late slots ended.
    pub lateness: DelayReport,
}

/// One priority of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriorityReport {
    /// Its number.
    pub priority: u8,
    /// What came in, and the group that held it.
    pub ingress: GroupReport,
    /// PFC frames that the gateway sent for it.
    pub pauses_sent: PausesSentReport,
    /// What went out, and the queue that held it.
    pub egress: QueueReport,
    /// PFC and PAUSE frames that were received for it.
    pub pauses_received: PausesReceivedReport,
}

/// A priority group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupReport {
    /// Whether it is lossless.
    pub lossless: bool,
    /// Frames that came to be forwarded, dropped ones included.
    pub received: Count,
    /// Further copies that flooding made of them.
    pub copies: Count,
    /// Answers of the gateway itself.
    pub answers: Count,
    /// Frames that were dropped before they were admitted.
    pub dropped: ByReason,
    /// The settings of a lossless group.
    pub limits: Option<LimitsReport>,
    /// What it holds at the end, headroom included.
    pub occupancy_bytes: u64,
    /// The most reserved and shared bytes that it held.
    pub watermark_bytes: u64,
    /// The most headroom bytes that it held.
    pub headroom_watermark_bytes: u64,
}

/// The settings of a lossless group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LimitsReport {
    /// Reserved bytes.
    pub reserved_bytes: u64,
    /// Static XOFF threshold, reserved bytes included; `None` where it is dynamic.
    pub xoff_bytes: Option<u64>,
    /// n of a dynamic threshold of alpha = 2^n; `None` where it is static.
    pub xoff_dynamic_th: Option<i8>,
    /// XON threshold.
    pub xon_bytes: u64,
    /// Headroom.
    pub headroom_bytes: u64,
}

/// PFC frames sent for one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PausesSentReport {
    /// Frames that stopped the sender.
    pub xoff: u64,
    /// Frames that kept it stopped.
    pub refresh: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames that gave it the pause of a slot, zero included.
    pub slot: u64,
    /// How long it was stopped, as the frames said.
    pub paused_ns: u64,
    /// The same by cause.
    pub paused_by_cause_ns: PausedByCause,
    /// Why it is still stopped at the end, if it is.
    pub paused_at_end: Option<&'static str>,
}

/// Time by [`switch::PauseCause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PausedByCause {
    /// The group had reached its threshold.
    pub threshold: u64,
    /// The shared pool was full.
    pub pool_full: u64,
    /// A slot of Bifrost was not granted entirely.
    pub slot: u64,
}

/// An egress queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    /// Frames sent.
    pub transmitted: Count,
    /// Frames that still wait at the end.
    pub queued: Count,
    /// Frames that were dropped here after they had been admitted.
    pub dropped: ByReason,
    /// The most bytes that waited.
    pub watermark_bytes: u64,
    /// Frames marked with congestion experienced.
    pub ecn_marked: u64,
    /// Frames that were to be marked and came marked already.
    pub ecn_already_marked: u64,
    /// How long frames waited.
    pub delay: DelayReport,
    /// What the watchdog has found of it; `None` where it is not watched.
    pub watchdog: Option<WatchdogQueueReport>,
}

/// Pauses received for one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PausesReceivedReport {
    /// Frames that stopped it, refreshes included.
    pub xoff: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames that it does not obey.
    pub ignored: u64,
    /// How long it was stopped.
    pub paused_ns: u64,
}

/// How long frames waited between arrival and the start of transmission, to within a bucket of
/// 1/8. All zero where no frame was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DelayReport {
    /// Half of the frames waited no longer.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// All.
    pub max_ns: u64,
    /// The buckets that hold frames, shortest first.
    pub buckets: Vec<BucketReport>,
}

/// One bucket of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BucketReport {
    /// Its upper bound, included.
    pub up_to_ns: u64,
    /// Frames in it.
    pub frames: u64,
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
