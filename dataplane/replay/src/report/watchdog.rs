//! What the watchdogs have found.

use super::Count;
use crate::capture::CaptureSink;
use crate::driver::Gateway;
use serde::Serialize;
use switch::{WatchdogChange, WatchdogEvent};
use units::{PortId, Priority};

/// The watchdogs of all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WatchdogReport {
    /// Storms that were detected or have ended, in the order of time: the last
    /// [`switch::WatchdogLog::CAPACITY`].
    pub events: Vec<WatchdogEventReport>,
    /// How many there were before those.
    pub forgotten_events: u64,
}

/// A queue was found stormed, or restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WatchdogEventReport {
    /// When, by the clock of the replay.
    pub at_ns: u64,
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// What happened, and why.
    #[serde(flatten)]
    pub change: WatchdogChangeReport,
}

/// What happened to a queue, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WatchdogChangeReport {
    /// It is stormed from now on.
    Detected {
        /// What happens to it.
        action: &'static str,
        /// For how long it had held frames and sent none.
        stalled_ns: u64,
        /// The time over which its pauses were measured.
        measured_ns: u64,
        /// For how much of that it was paused.
        paused_ns: u64,
        /// What waited.
        waiting: Count,
    },
    /// It is not any more.
    Restored {
        /// What ended the storm: [`switch::RestorationCause::name`].
        cause: &'static str,
        /// How long ago the last frame came that paused it.
        quiet_ns: u64,
        /// How long ago the storm was detected.
        stormed_ns: u64,
    },
}

/// What the watchdog has found of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WatchdogQueueReport {
    /// Storms detected.
    pub storms: u64,
    /// Storms that have ended.
    pub restored: u64,
    /// Whether it is stormed at the end.
    pub stormed: bool,
}

impl WatchdogReport {
    pub(super) fn of<W: CaptureSink>(gateway: &Gateway<W>) -> Self {
        let log = gateway.shard.watchdog_events();
        let event = |event: &WatchdogEvent| WatchdogEventReport {
            at_ns: event.at.0,
            port: gateway.shard.program().port(event.port).name.clone(),
            priority: event.priority.number(),
            change: change(&event.change),
        };
        Self { events: log.iter().map(event).collect(), forgotten_events: log.forgotten() }
    }
}

fn change(change: &WatchdogChange) -> WatchdogChangeReport {
    match change {
        WatchdogChange::Detected(storm) => WatchdogChangeReport::Detected {
            action: storm.action.name(),
            stalled_ns: storm.stalled_for.0,
            measured_ns: storm.measured_for.0,
            paused_ns: storm.paused_for.0,
            waiting: storm.waiting.into(),
        },
        WatchdogChange::Restored(restoration) => WatchdogChangeReport::Restored {
            cause: restoration.cause.name(),
            quiet_ns: restoration.quiet_for.0,
            stormed_ns: restoration.stormed_for.0,
        },
    }
}

/// The queue of `priority` on `port`; `None` where nobody watches it.
pub(super) fn queue<W: CaptureSink>(
    gateway: &Gateway<W>,
    port: PortId,
    priority: Priority,
) -> Option<WatchdogQueueReport> {
    let settings = gateway.shard.program().port(port);
    if settings.watchdog.is_none() || !settings.pfc.obeyed().contains(priority) {
        return None;
    }
    let queue = gateway.shard.queue(gateway.now, port, priority);
    let (storms, restored) = (queue.watchdog.storms, queue.watchdog.restored);
    Some(WatchdogQueueReport { storms, restored, stormed: queue.stormed })
}
