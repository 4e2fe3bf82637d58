//! A running gateway at one instant, as data. `docs/show.md` explains every key.

use report::{DelayReport, FiguresReport, Listed, Name, PoolsReport, PortReport, WatchdogReport};
use serde::{Deserialize, Serialize};
use switch::figure::FigureList;

/// The version of the layout: it changes where a key changes its name or meaning, not where one is added.
pub const FORMAT: u32 = 1;

/// All that a running gateway shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`FORMAT`].
    pub format: u32,
    /// The name of the gateway.
    pub gateway: String,
    /// The version of Longspan that runs it.
    pub version: String,
    /// When it was looked at, Unix time.
    pub at_ns: u64,
    /// How long it has been running.
    pub uptime_ns: u64,
    /// Changes of the configuration.
    pub reloads: ReloadsReport,
    /// The workers by core.
    pub workers: Vec<WorkerReport>,
    /// The packet pools.
    pub memory: MemoryReport,
    /// The buffer, summed over the workers.
    pub pools: PoolsReport,
    /// What the watchdogs of its ports have found.
    pub watchdog: WatchdogReport,
    /// The ports in the order of the configuration.
    pub ports: Vec<WirePortReport>,
    /// The configuration as TOML, secret keys hidden; without what late workers have taken out of the shared pool.
    pub config: String,
}

/// How often the configuration was to be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadsReport {
    /// Changes that are in force, or were.
    pub applied: u64,
    /// Files that were refused, and changed nothing.
    pub refused: u64,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// The number of its core.
    pub core: usize,
    /// The names of its ports.
    pub ports: Vec<String>,
    /// Turns that have ended.
    pub turns: u64,
    /// Turns in which a frame came or went.
    pub busy_turns: u64,
    /// Their share of all turns, 0 to 1.
    pub busy_share: f64,
    /// Where in its turn it is.
    pub stage: StageReport,
    /// How long turns took.
    pub turn: DelayReport,
    /// How late deadlines of the switch were served.
    pub lateness: DelayReport,
    /// How long a turn may take before lossless frames are lost; `None` where it has no lossless port.
    pub covered_lateness_ns: Option<u64>,
    /// Turns that took longer than that.
    pub late_turns: u64,
    /// Frames that waited because another worker was behind.
    pub held_back: u64,
}

/// Where in its turn a worker is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// `idle`, `ingress`, `exchange`, `egress` or `command`.
    pub name: Name,
    /// The port of `ingress` and `egress`.
    pub port: Option<String>,
}

/// The packet pools of all devices together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Packet buffers.
    pub mbufs: u64,
    /// Those that hold a frame, or wait in a receive ring for one.
    pub mbufs_in_use: u64,
    /// What all of them take, in bytes.
    pub size_bytes: u64,
}

/// One port on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WirePortReport {
    /// What the switch has done there; its keys stand among these.
    #[serde(flatten)]
    pub port: PortReport,
    /// The device behind it.
    pub device: WireDevice,
    /// What the device has counted.
    pub counters: DeviceReport,
    /// What the emulated link behind it has done; `None` where there is none.
    pub emulation: Option<EmulationReport>,
    /// What the lists of [`switch::figure::LISTS`] have of now, among these keys; null where its owner does not run.
    #[serde(flatten, deserialize_with = "FiguresReport::read_now")]
    pub now: FiguresReport,
    /// What holds now, for the eight priorities in order.
    pub levels: Vec<LevelsReport>,
}

impl WirePortReport {
    /// The figures of `list`; `None` where its owner does not run here.
    pub fn listed(&self, list: &FigureList) -> Option<Listed<'_>> {
        self.port.figures.of(list, Some(&self.now))
    }
}

/// The device behind a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireDevice {
    /// Its name.
    pub name: String,
    /// The driver.
    pub driver: String,
    /// Whether its link is up.
    pub link_up: bool,
    /// Whether PFC frames pass it.
    pub pfc: PfcPassage,
}

/// Whether PFC frames pass a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcPassage {
    /// Whether it gives the gateway those that arrive.
    pub receive: Passage,
    /// Whether it sends those that the gateway makes.
    pub transmit: Passage,
}

/// Whether something passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Nobody can say.
    #[default]
    Unknown,
}

/// What a device has counted. The first seven are the worker's own counts, the others the hardware's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Frames received.
    pub received: u64,
    /// Data frames that the hardware took.
    pub sent: u64,
    /// Control frames that the hardware took.
    pub control: ControlReport,
    /// Times that the hardware was full and frames had to wait.
    pub full: u64,
    /// Data frames that came while the gateway drained, and were dropped.
    pub drained: u64,
    /// Data frames that were dropped, because they lay in several packet buffers and the device sends only
    /// what lies in one.
    pub unsendable: u64,
    /// The hardware's own counters.
    #[serde(flatten)]
    pub hardware: HardwareReport,
}

/// What became of control frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlReport {
    /// The hardware took them.
    pub sent: u64,
    /// They were lost, because there was no buffer or no room for long.
    pub lost: u64,
}

/// What the hardware has counted itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareReport {
    /// Frames that found no room in the receive ring.
    pub missed: u64,
    /// Frames for which there was no packet buffer.
    pub no_mbuf: u64,
    /// Frames that arrived broken.
    pub receive_errors: u64,
    /// Frames that could not be sent.
    pub transmit_errors: u64,
}

/// What an emulated link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulationReport {
    /// Frames that are on the link.
    pub in_flight: u64,
    /// The most that were.
    pub peak_in_flight: u64,
    /// Frames that were put on the link.
    pub entered: u64,
    /// Frames that arrived at the far end.
    pub delivered: u64,
    /// The most by which one arrived late.
    pub max_lateness_ns: u64,
    /// Frames that were lost on purpose.
    pub lost: u64,
    /// Frames that were delivered twice on purpose.
    pub duplicated: u64,
    /// Frames that were held back on purpose.
    pub reordered: u64,
    /// Frames for which there was no room on the link.
    pub overflowed: u64,
}

/// One priority of a port now, and the watermarks since they were last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelsReport {
    /// The priority.
    pub priority: u8,
    /// Whether the peer was told to stop.
    pub pauses_peer: bool,
    /// Whether it is stopped by the peer.
    pub paused_by_peer: bool,
    /// What its group holds of the headroom pool.
    pub headroom_bytes: u64,
    /// The most reserved and shared bytes that its group held.
    pub group_watermark_bytes: u64,
    /// The most headroom bytes that its group held.
    pub headroom_watermark_bytes: u64,
    /// The most bytes that waited in its queue.
    pub queue_watermark_bytes: u64,
}
