//! One priority of a port: its group and its queue, and the pauses of either.

use crate::{ByReason, DelayReport, Name, dropped};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use switch::program::{PortSettings, Threshold};
use switch::{PauseCause, PausesReceived, PausesSent, PortInspection, Stops, Volume, WatchdogCounters};
use units::Priority;

/// One priority of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityReport {
    /// The number of the priority.
    pub priority: u8,
    /// The frames that came in, and the group that held them.
    pub ingress: GroupReport,
    /// PFC frames that the gateway sent for it.
    pub pauses_sent: PausesSentReport,
    /// The frames that went out, and the queue that held them.
    pub egress: QueueReport,
    /// PFC and PAUSE frames that were received for it.
    pub pauses_received: PausesReceivedReport,
    /// RoCEv2 frames that found no room in it while it was lossy, on the way in or at its queue: they may bear the wrong DSCP.
    #[serde(default)]
    pub dropped_roce: u64,
}

/// A priority group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Whether it is lossless.
    pub lossless: bool,
    /// Frames that came to be forwarded, dropped ones included.
    pub received: Volume,
    /// Copies that flooding made and that are charged to the group: with copies of lossless frames in the first lossy one.
    pub copies: Volume,
    /// Answers of the gateway itself.
    pub answers: Volume,
    /// Frames that were dropped before they were admitted, by reason.
    pub dropped: ByReason,
    /// The settings of a lossless group; `None` of a lossy one.
    pub limits: Option<LimitsReport>,
    /// The bytes of buffer that it holds, headroom included: whole [cells](configuration.md#cells).
    pub occupancy_bytes: u64,
    /// The most reserved and shared bytes that it held.
    pub watermark_bytes: u64,
    /// The most headroom bytes that it held.
    pub headroom_watermark_bytes: u64,
    /// How the sender obeyed its pauses; `None` of a lossy group.
    #[serde(default)]
    pub stops: Option<StopsReport>,
}

/// How the sender of a lossless group obeyed the pauses that have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopsReport {
    /// The time from the start of an XOFF frame to the last frame that came before the pause ended, of each pause during
    /// which a frame came.
    pub time: DelayReport,
    /// Pauses by the headroom that they used: up to one sixteenth of it, up to two, and so on.
    pub headroom_sixteenths: Vec<u64>,
    /// Frames that came later after an XOFF than the headroom lasts at the rate of the link.
    pub disobeyed: u64,
}

/// The settings of a lossless group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausesSentReport {
    /// The frames by kind.
    #[serde(flatten)]
    pub frames: PausesSent,
    /// Time for which the frames stopped the sender.
    pub paused_ns: u64,
    /// The same by cause.
    pub paused_by_cause_ns: IndexMap<Name, u64>,
    /// Cause of the pause in force at the instant of the look; `null` for none.
    pub paused_at_end: Option<Name>,
}

/// An egress queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueReport {
    /// Frames sent.
    pub transmitted: Volume,
    /// Frames that wait.
    pub queued: Volume,
    /// Frames that were admitted and dropped here, by reason.
    pub dropped: ByReason,
    /// The most bytes that waited.
    pub watermark_bytes: u64,
    /// Frames marked with congestion experienced.
    pub ecn_marked: u64,
    /// Frames that were to be marked and came marked already.
    pub ecn_already_marked: u64,
    /// How long frames waited.
    pub delay: DelayReport,
    /// The findings of the watchdog; `None` where the queue is not watched.
    pub watchdog: Option<WatchdogQueueReport>,
}

/// The findings of the watchdog about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogQueueReport {
    /// Its counters.
    #[serde(flatten)]
    pub counters: WatchdogCounters,
    /// Whether the queue is stormed.
    pub stormed: bool,
}

/// Pauses received for one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausesReceivedReport {
    /// The frames by kind.
    #[serde(flatten)]
    pub frames: PausesReceived,
    /// Time for which the queue was stopped.
    pub paused_ns: u64,
}

impl PriorityReport {
    /// `priority` of the port with `settings`, as `look` found it.
    pub(crate) fn new(settings: &PortSettings, look: &PortInspection, priority: Priority) -> Self {
        let queue = &look.queues[priority.index()];
        let is_watched = settings.watchdog.is_some() && settings.pfc.obeyed().contains(priority);
        Self {
            priority: priority.number(),
            ingress: GroupReport::new(settings, look, priority),
            pauses_sent: PausesSentReport::new(&look.groups[priority.index()]),
            egress: QueueReport {
                transmitted: queue.counters.transmitted,
                queued: queue.waiting,
                dropped: dropped(&queue.dropped),
                watermark_bytes: queue.watermark.persistent().0,
                ecn_marked: queue.counters.marked,
                ecn_already_marked: queue.counters.already_marked,
                delay: DelayReport::from(&look.delays[priority.index()]),
                watchdog: is_watched
                    .then_some(WatchdogQueueReport { counters: queue.watchdog, stormed: queue.stormed }),
            },
            pauses_received: PausesReceivedReport { frames: queue.pauses, paused_ns: queue.paused_for.0 },
            dropped_roce: look.ingress.dropped_roce[priority.index()],
        }
    }
}

impl GroupReport {
    fn new(settings: &PortSettings, look: &PortInspection, priority: Priority) -> Self {
        let (counters, group) = (&look.ingress, &look.groups[priority.index()]);
        Self {
            lossless: group.lossless,
            received: counters.received[priority.index()],
            copies: counters.copies[priority.index()],
            answers: counters.answers[priority.index()],
            dropped: dropped(&counters.dropped[priority.index()]),
            limits: LimitsReport::new(settings, priority),
            occupancy_bytes: group.occupancy.0,
            watermark_bytes: group.watermark.persistent().0,
            headroom_watermark_bytes: group.headroom_watermark.persistent().0,
            stops: group.lossless.then(|| StopsReport::from(&look.stops[priority.index()])),
        }
    }
}

impl StopsReport {
    /// The most sixteenths of the headroom that a pause used; 0 before the first one has ended.
    pub fn most_sixteenths(&self) -> usize {
        self.headroom_sixteenths.iter().rposition(|pauses| *pauses > 0).map_or(0, |index| index + 1)
    }
}

impl From<&Stops> for StopsReport {
    fn from(stops: &Stops) -> Self {
        let Stops { times, headroom, disobeyed } = stops;
        Self { time: times.into(), headroom_sixteenths: headroom.to_vec(), disobeyed: *disobeyed }
    }
}

impl LimitsReport {
    fn new(settings: &PortSettings, priority: Priority) -> Option<Self> {
        let lossless = settings.groups[priority.index()].lossless()?;
        let (xoff_bytes, xoff_dynamic_th) = match lossless.xoff {
            Threshold::Static(xoff) => (Some(xoff.0), None),
            Threshold::Dynamic(alpha) => (None, Some(alpha.exponent())),
        };
        Some(Self {
            reserved_bytes: lossless.reserved.0,
            xoff_bytes,
            xoff_dynamic_th,
            xon_bytes: lossless.xon.0,
            headroom_bytes: lossless.headroom.0,
        })
    }
}

impl PausesSentReport {
    fn new(group: &switch::GroupReport) -> Self {
        let times = PauseCause::ALL.into_iter().zip(group.paused_for);
        Self {
            frames: group.pauses,
            paused_ns: group.paused_for.iter().map(|time| time.0).sum(),
            paused_by_cause_ns: times.map(|(cause, time)| (cause.name().into(), time.0)).collect(),
            paused_at_end: group.paused.map(|cause| cause.name().into()),
        }
    }

    /// How long the sender was stopped for `cause`, in nanoseconds.
    pub fn paused_by(&self, cause: PauseCause) -> u64 {
        self.paused_by_cause_ns.get(cause.name()).copied().unwrap_or(0)
    }
}
