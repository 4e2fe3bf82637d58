//! The state of a running gateway at one instant, as plain data. `docs/show.md` explains every key.

use crate::neighbours::{NegotiatedReport, NeighbourReport};
use crate::runtime::RuntimeReport;
use report::{
    DelayReport, FiguresReport, Listed, Name, PoolsReport, PortReport, StalledQueueReport, WatchdogReport,
};
use serde::{Deserialize, Serialize};
use switch::Volume;
use switch::figure::FigureList;

/// The version of the layout. It changes when a key changes its name or meaning, but not when a key is added.
pub const FORMAT: u32 = 1;

/// The state of a running gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The version of this layout: 1.
    pub format: u32,
    /// The name of the gateway.
    pub gateway: String,
    /// The version of Longspan that it runs.
    pub version: String,
    /// When the snapshot was taken, in Unix time.
    pub at_ns: u64,
    /// When the workers were looked at, by their clock, which also timed `watchdog.events`. It was set to Unix time at the
    /// start, and follows no later change of that. `None` if none has answered, or the gateway is of an older version.
    #[serde(default)]
    pub workers_at_ns: Option<u64>,
    /// How long the gateway has been running.
    pub uptime_ns: u64,
    /// The rate of the time stamp counter, by which cycles are counted; zero if the gateway is of a version that keeps no
    /// run-time profile.
    #[serde(default)]
    pub tsc_hz: u64,
    /// Reloads of the configuration.
    pub reloads: ReloadsReport,
    /// Frames for the gateway itself that were given to a [kernel](kernel.md) and that it did not take.
    #[serde(default)]
    pub refused_by_kernel: u64,
    /// The workers, ordered by core.
    pub workers: Vec<WorkerReport>,
    /// The packet pools.
    pub memory: MemoryReport,
    /// The buffer, summed over the workers, as in the [report](report.md#pools).
    pub pools: PoolsReport,
    /// Events of the ports' watchdogs, as in the [report](report.md#watchdog).
    pub watchdog: WatchdogReport,
    /// The queues that a watchdog holds for stormed, and where their frames came in.
    #[serde(default)]
    pub stalled: Vec<StalledQueueReport>,
    /// Where the frames that are inside came in, and where they wait: the accounts of the ledger that are not empty, without
    /// what repair holds.
    #[serde(default)]
    pub waiting: Vec<WaitingReport>,
    /// The ports, in the order of the configuration.
    pub ports: Vec<WirePortReport>,
    /// The configuration as `show config` prints it, with secret keys hidden. It leaves out the room that late workers
    /// and measured links have taken from the shared pool.
    pub config: String,
}

/// Frames of one priority group that wait for one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingReport {
    /// The port through which they came in.
    pub came_in: String,
    /// The priority of their group.
    pub priority: u8,
    /// The port through which they will leave.
    pub leaves_by: String,
    /// The priority of the queue in which they wait: another one if they bounced.
    pub queue: u8,
    /// Their number and length.
    pub waiting: Volume,
}

/// Counts of reloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadsReport {
    /// Reloads that took effect.
    pub applied: u64,
    /// Reloads that were refused and changed nothing.
    pub refused: u64,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// The number of its core.
    pub core: usize,
    /// The names of its ports.
    pub ports: Vec<String>,
    /// Completed turns.
    pub turns: u64,
    /// Turns in which the worker received or sent a frame.
    pub busy_turns: u64,
    /// The share of all turns in which it did, 0 to 1.
    pub busy_share: f64,
    /// The stage of its current turn.
    pub stage: StageReport,
    /// Durations of turns, in the form of [delays](report.md#delays).
    pub turn: DelayReport,
    /// How late the worker served deadlines of the switch, in the form of [delays](report.md#delays).
    pub lateness: DelayReport,
    /// How long a turn may take before lossless frames are lost; `None` if the worker has no lossless port.
    pub covered_lateness_ns: Option<u64>,
    /// Turns that took longer than `covered_lateness_ns`.
    pub late_turns: u64,
    /// The run-time profile; empty if the gateway keeps none.
    #[serde(default)]
    pub runtime: RuntimeReport,
}

/// The stage of a worker's turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// `idle`, `ingress`, `egress` or `command`.
    pub name: Name,
    /// The port of `ingress` and `egress`; otherwise `None`.
    pub port: Option<String>,
}

/// The packet pools of all devices, added up, and the other memory of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Packet buffers.
    pub mbufs: u64,
    /// Packet buffers that hold a frame, or wait for one in a receive ring.
    pub mbufs_in_use: u64,
    /// Memory of all packet buffers, in bytes.
    pub size_bytes: u64,
    /// Memory of the process at its start that belongs to no file, in bytes: the tables of the switch, and whatever else it allocates.
    /// Packet buffers are not in it.
    #[serde(default)]
    pub resident_bytes: u64,
    /// The part of it that is on transparent huge pages, in bytes.
    #[serde(default)]
    pub huge_page_bytes: u64,
}

/// One port on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WirePortReport {
    /// The switch's report of the port. Its keys stand beside the others.
    #[serde(flatten)]
    pub port: PortReport,
    /// The device behind it.
    pub device: WireDevice,
    /// The counters of the device.
    pub counters: DeviceReport,
    /// The longest packet that its device sends, in bytes, if the port promises longer ones; `None` if it does not.
    #[serde(default)]
    pub short_mtu: Option<u64>,
    /// Notifications to senders that waited in a scheme of the port when a reload turned it off, and for which the ports to
    /// these senders had no room.
    #[serde(default)]
    pub lost_notifications: u64,
    /// The delay that its headroom covers; `None` unless a measured one may set it.
    pub covered_delay: Option<CoveredDelayReport>,
    /// Its PFC, as the neighbour has changed it; `None` unless a neighbour may.
    #[serde(default)]
    pub negotiated: Option<NegotiatedReport>,
    /// Its neighbours, as LLDP knows them.
    #[serde(default)]
    pub neighbours: Vec<NeighbourReport>,
    /// The counters of the emulated link behind the port; `None` without one.
    pub emulation: Option<EmulationReport>,
    /// The current figures of [`switch::figure::LISTS`], beside the other keys. A list whose owner does not run on
    /// the port is null.
    #[serde(flatten, deserialize_with = "FiguresReport::read_now")]
    pub now: FiguresReport,
    /// Current levels of the eight priorities, in order.
    pub levels: Vec<LevelsReport>,
}

impl WirePortReport {
    /// The figures of `list`; `None` if its owner does not run on this port.
    pub fn listed(&self, list: &FigureList) -> Option<Listed<'_>> {
        self.port.figures.of(list, Some(&self.now))
    }
}

/// The device behind a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireDevice {
    /// The name of the device.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// Whether its link is up.
    pub link_up: bool,
    /// Whether it passes PFC frames.
    pub pfc: PfcPassage,
}

/// Whether a device passes PFC frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcPassage {
    /// Whether it passes received PFC frames to the gateway.
    pub receive: Passage,
    /// Whether it sends the gateway's PFC frames.
    pub transmit: Passage,
}

/// Whether frames pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// They do.
    Yes,
    /// They do not.
    No,
    /// This cannot be determined.
    #[default]
    Unknown,
}

/// Counters of a device. The worker counts the first seven, the hardware the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Frames received.
    pub received: u64,
    /// Data frames that the hardware accepted.
    pub sent: u64,
    /// Control frames, which are not among these.
    pub control: ControlReport,
    /// How often the hardware was full and frames had to wait.
    pub full: u64,
    /// Data frames that were dropped because they arrived while the gateway was draining.
    pub drained: u64,
    /// Data frames that were dropped because they span several packet buffers and the device can send only one.
    pub unsendable: u64,
    /// The hardware's own counters.
    #[serde(flatten)]
    pub hardware: HardwareReport,
}

/// Counters of control frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlReport {
    /// Control frames that the hardware accepted.
    pub sent: u64,
    /// Control frames that were lost, because there was no packet buffer, or no room for too long.
    pub lost: u64,
}

/// The hardware's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareReport {
    /// Frames that found no room in the receive ring.
    pub missed: u64,
    /// Frames that were lost for lack of a packet buffer.
    pub no_mbuf: u64,
    /// Frames received with errors.
    pub receive_errors: u64,
    /// Frames that could not be sent; with af_xdp also those that the kernel dropped on the way out.
    pub transmit_errors: u64,
    /// Received pauses that the device counted and kept to itself, as far as its driver counts them.
    #[serde(default)]
    pub kept_pauses: u64,
}

/// The delay of a link that the headroom of its port covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredDelayReport {
    /// The delay, one way: the configured one, or a measured one with its margin.
    pub covered_ns: u64,
    /// How often a measured delay was applied.
    pub applied: u64,
    /// How often a measured delay was refused, because it is not within the bounds of the port.
    pub refused: u64,
}

/// Counters of an emulated link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulationReport {
    /// Frames currently on the link.
    pub in_flight: u64,
    /// The most frames that were on the link at a time.
    pub peak_in_flight: u64,
    /// Frames that were put on the link.
    pub entered: u64,
    /// Frames that arrived at the far end.
    pub delivered: u64,
    /// The longest delay of an arrival beyond the link's own.
    pub max_lateness_ns: u64,
    /// Frames that were lost on purpose.
    pub lost: u64,
    /// Frames that were delivered twice on purpose.
    pub duplicated: u64,
    /// Frames that were held back on purpose.
    pub reordered: u64,
    /// Frames that were lost because the link was full.
    pub overflowed: u64,
}

/// Current levels of a priority of a port, and its watermarks since they were last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelsReport {
    /// The number of the priority.
    pub priority: u8,
    /// Whether the gateway pauses the peer.
    pub pauses_peer: bool,
    /// Whether the peer pauses the queue.
    pub paused_by_peer: bool,
    /// Headroom that its group uses.
    pub headroom_bytes: u64,
    /// Highest occupancy of its group, in reserved and shared bytes.
    pub group_watermark_bytes: u64,
    /// Most headroom that its group has used.
    pub headroom_watermark_bytes: u64,
    /// Most bytes that have waited in its queue.
    pub queue_watermark_bytes: u64,
    /// Whether the port obeys pauses of the priority.
    #[serde(default)]
    pub obeys_pauses: bool,
    /// The thresholds by which its queue marks; `None` if it marks nothing. With adaptive thresholds, those of the
    /// configuration. Where a priority has several queues, those of the queue that marks first.
    #[serde(default)]
    pub ecn: Option<EcnReport>,
}

/// The thresholds by which a queue marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcnReport {
    /// The length up to which it marks nothing.
    pub kmin_bytes: u64,
    /// The length above which it marks every frame.
    pub kmax_bytes: u64,
}
