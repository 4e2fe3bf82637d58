//! One priority of a port: its group and its queue, and the pauses of either.

use crate::{ByReason, Count, DelayReport, Name, WatchdogQueueReport, dropped};
use serde::{Deserialize, Serialize};
use switch::program::{PortSettings, Threshold};
use switch::{PauseCause, PortInspection};
use units::Priority;

/// One priority of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityReport {
    /// Its number.
    pub priority: u8,
    /// The frames that came in, and the group that held them.
    pub ingress: GroupReport,
    /// PFC frames that the gateway sent for it.
    pub pauses_sent: PausesSentReport,
    /// The frames that went out, and the queue that held them.
    pub egress: QueueReport,
    /// PFC and PAUSE frames that were received for it.
    pub pauses_received: PausesReceivedReport,
}

/// A priority group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Whether it is lossless.
    pub lossless: bool,
    /// Frames that came to be forwarded, dropped ones included.
    pub received: Count,
    /// Copies that flooding made and that are charged to the group: with copies of lossless frames in the first lossy one.
    pub copies: Count,
    /// Answers of the gateway itself.
    pub answers: Count,
    /// Frames that were dropped before they were admitted.
    pub dropped: ByReason,
    /// The settings of a lossless group.
    pub limits: Option<LimitsReport>,
    /// The bytes that it holds, headroom included.
    pub occupancy_bytes: u64,
    /// The most reserved and shared bytes that it held.
    pub watermark_bytes: u64,
    /// The most headroom bytes that it held.
    pub headroom_watermark_bytes: u64,
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
    /// Frames that stopped the sender.
    pub xoff: u64,
    /// Frames that kept it stopped.
    pub refresh: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames that gave it the pause of a slot, zero included.
    pub slot: u64,
    /// Frames that stopped the sender for a time that another scheme chose.
    #[serde(default)]
    pub timed: u64,
    /// How long it was stopped, as the frames said.
    pub paused_ns: u64,
    /// The same by cause.
    pub paused_by_cause_ns: PausedByCause,
    /// Why it is stopped at the instant of the look, if it is.
    pub paused_at_end: Option<Name>,
}

/// Time by [`switch::PauseCause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedByCause {
    /// The group had reached its threshold.
    pub threshold: u64,
    /// The shared pool was full.
    pub pool_full: u64,
    /// A slot of Bifrost was not granted entirely.
    pub slot: u64,
    /// Memory for received frames ran low.
    #[serde(default)]
    pub memory_low: u64,
    /// P-PFC predicted a full pool.
    #[serde(default)]
    pub predicted: u64,
    /// CaPFC found an egress queue above its warning threshold.
    #[serde(default)]
    pub egress_warning: u64,
    /// A relay passed on a pause that another port had received.
    #[serde(default)]
    pub relayed: u64,
    /// The receive ring was deep, because the core was too slow.
    #[serde(default)]
    pub receive_ring: u64,
}

/// An egress queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueReport {
    /// Frames sent.
    pub transmitted: Count,
    /// Frames that wait.
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
    /// The findings of the watchdog; `None` where the queue is not watched.
    pub watchdog: Option<WatchdogQueueReport>,
}

/// Pauses received for one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl PriorityReport {
    /// `priority` of the port with `settings`, as `look` found it.
    pub(crate) fn new(settings: &PortSettings, look: &PortInspection, priority: Priority) -> Self {
        let queue = &look.queues[priority.index()];
        Self {
            priority: priority.number(),
            ingress: GroupReport::new(settings, look, priority),
            pauses_sent: PausesSentReport::new(&look.groups[priority.index()]),
            egress: QueueReport {
                transmitted: queue.counters.transmitted.into(),
                queued: queue.waiting.into(),
                dropped: dropped(&queue.dropped),
                watermark_bytes: queue.watermark.persistent().0,
                ecn_marked: queue.counters.marked,
                ecn_already_marked: queue.counters.already_marked,
                delay: DelayReport::from(&look.delays[priority.index()]),
                watchdog: WatchdogQueueReport::new(settings, queue, priority),
            },
            pauses_received: PausesReceivedReport {
                xoff: queue.pauses.xoff,
                xon: queue.pauses.xon,
                ignored: queue.pauses.ignored,
                paused_ns: queue.paused_for.0,
            },
        }
    }
}

impl GroupReport {
    fn new(settings: &PortSettings, look: &PortInspection, priority: Priority) -> Self {
        let (counters, group) = (&look.ingress, &look.groups[priority.index()]);
        Self {
            lossless: group.lossless,
            received: counters.received[priority.index()].into(),
            copies: counters.copies[priority.index()].into(),
            answers: counters.answers[priority.index()].into(),
            dropped: dropped(&counters.dropped[priority.index()]),
            limits: LimitsReport::new(settings, priority),
            occupancy_bytes: group.occupancy.0,
            watermark_bytes: group.watermark.persistent().0,
            headroom_watermark_bytes: group.headroom_watermark.persistent().0,
        }
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
        let paused_for = |cause: PauseCause| {
            let place = PauseCause::ALL.iter().position(|other| *other == cause);
            place.map_or(0, |place| group.paused_for[place].0)
        };
        Self {
            xoff: group.pauses.xoff,
            refresh: group.pauses.refresh,
            xon: group.pauses.xon,
            slot: group.pauses.slot,
            timed: group.pauses.timed,
            paused_ns: group.paused_for.iter().map(|time| time.0).sum(),
            paused_by_cause_ns: PausedByCause {
                threshold: paused_for(PauseCause::Threshold),
                pool_full: paused_for(PauseCause::PoolFull),
                slot: paused_for(PauseCause::Slot),
                memory_low: paused_for(PauseCause::MemoryLow),
                predicted: paused_for(PauseCause::Predicted),
                egress_warning: paused_for(PauseCause::EgressWarning),
                relayed: paused_for(PauseCause::Relayed),
                receive_ring: paused_for(PauseCause::ReceiveRing),
            },
            paused_at_end: group.paused.map(|cause| cause.name().into()),
        }
    }
}
