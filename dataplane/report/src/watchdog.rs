//! The findings of the watchdogs.

use serde::{Deserialize, Serialize};
use switch::program::Settings;
use switch::{Restoration, Storm, WatchdogChange, WatchdogEvent, WatchdogLog};

/// The watchdogs of all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogReport {
    /// Storms that were detected or have ended, in the order of time: the last 256.
    pub events: Vec<WatchdogEventReport>,
    /// How many there were before those.
    pub discarded_events: u64,
}

/// A queue was found stormed, or restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogEventReport {
    /// When it happened.
    pub at_ns: u64,
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The change, and its reason.
    #[serde(flatten, with = "Change")]
    pub change: WatchdogChange,
}

/// [`WatchdogChange`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(remote = "WatchdogChange", tag = "event", rename_all = "snake_case")]
enum Change {
    Detected(Storm),
    Restored(Restoration),
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
            change: event.change,
        };
        Self {
            events: found[surplus..].iter().copied().map(event).collect(),
            discarded_events: discarded_events + surplus as u64,
        }
    }
}
