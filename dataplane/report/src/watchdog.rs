//! The findings of the watchdogs.

use crate::{Count, Name};
use serde::{Deserialize, Serialize};
use switch::program::{PortSettings, Settings};
use switch::{WatchdogChange, WatchdogEvent, WatchdogLog};
use units::Priority;

/// The watchdogs of all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogReport {
    /// Storms that were detected or have ended, in the order of time: the last
    /// [`switch::WatchdogLog::CAPACITY`].
    pub events: Vec<WatchdogEventReport>,
    /// How many there were before those.
    pub discarded_events: u64,
}

/// A queue was found stormed, or restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogEventReport {
    /// When.
    pub at_ns: u64,
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The change, and its reason.
    #[serde(flatten)]
    pub change: WatchdogChangeReport,
}

/// A change of a queue, and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WatchdogChangeReport {
    /// It is stormed from now on.
    Detected {
        /// The action of the watchdog.
        action: Name,
        /// For how long it had held frames and sent none.
        stalled_ns: u64,
        /// The time over which its pauses were measured.
        measured_ns: u64,
        /// For how much of that it was paused.
        paused_ns: u64,
        /// The frames that waited.
        waiting: Count,
    },
    /// It is not any more.
    Restored {
        /// The cause of its end: [`switch::RestorationCause::name`].
        cause: Name,
        /// How long ago the last frame came that paused it.
        quiet_ns: u64,
        /// How long ago the storm was detected.
        stormed_ns: u64,
    },
}

/// The findings of the watchdog about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogQueueReport {
    /// Storms detected.
    pub storms: u64,
    /// Storms that have ended.
    pub restored: u64,
    /// Whether it is stormed.
    pub stormed: bool,
}

impl WatchdogReport {
    /// The watchdogs of the ports in `settings`. Each of `logs` is that of one shard; of all together no
    /// more is kept than of one.
    pub fn new<'a>(settings: &Settings, logs: impl IntoIterator<Item = &'a WatchdogLog>) -> Self {
        let (mut found, mut discarded_events) = (Vec::<&WatchdogEvent>::new(), 0);
        for log in logs {
            found.extend(log.iter());
            discarded_events += log.forgotten();
        }
        found.sort_by_key(|event| event.at);
        let surplus = found.len().saturating_sub(WatchdogLog::CAPACITY);
        let event = |event: &WatchdogEvent| WatchdogEventReport {
            at_ns: event.at.0,
            port: settings.ports[event.port.index()].name.clone(),
            priority: event.priority.number(),
            change: change(&event.change),
        };
        Self {
            events: found[surplus..].iter().copied().map(event).collect(),
            discarded_events: discarded_events + surplus as u64,
        }
    }
}

fn change(change: &WatchdogChange) -> WatchdogChangeReport {
    match change {
        WatchdogChange::Detected(storm) => WatchdogChangeReport::Detected {
            action: storm.action.name().into(),
            stalled_ns: storm.stalled_for.0,
            measured_ns: storm.measured_for.0,
            paused_ns: storm.paused_for.0,
            waiting: storm.waiting.into(),
        },
        WatchdogChange::Restored(restoration) => WatchdogChangeReport::Restored {
            cause: restoration.cause.name().into(),
            quiet_ns: restoration.quiet_for.0,
            stormed_ns: restoration.stormed_for.0,
        },
    }
}

impl WatchdogQueueReport {
    /// `None` where nobody watches the queue of `priority`.
    pub(crate) fn new(
        settings: &PortSettings,
        queue: &switch::QueueReport,
        priority: Priority,
    ) -> Option<Self> {
        if settings.watchdog.is_none() || !settings.pfc.obeyed().contains(priority) {
            return None;
        }
        let (storms, restored) = (queue.watchdog.storms, queue.watchdog.restored);
        Some(Self { storms, restored, stormed: queue.stormed })
    }
}
