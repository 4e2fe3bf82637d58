//! The totals and the levels of a switch, as plain data with stable names.
//!
//! A replay at its end and a running gateway at any time show the same figures, so both build them here,
//! from what [`switch::Shard::inspect`] copies out of a shard and the settings in force. Each type is
//! JSON by way of serde, and can be read back: `docs/report.md` explains every key, and names and units are
//! an interface.
//!
//! All lengths are bytes without FCS where the name does not say wire bytes, all times nanoseconds. A level
//! is that of the instant of the look.

mod delay;
mod figures;
mod pools;
mod port;
mod priority;
mod stalled;
mod watchdog;

pub use delay::{BucketReport, DelayReport};
pub use figures::{FiguresReport, Listed};
pub use pools::{PoolReport, PoolsReport};
pub use port::PortReport;
pub use priority::{
    GroupReport, LimitsReport, PausesReceivedReport, PausesSentReport, PriorityReport, QueueReport,
    StopsReport, WatchdogQueueReport,
};
pub use stalled::{SourceReport, StalledQueueReport};
pub use watchdog::{WatchdogEventReport, WatchdogReport};

use std::borrow::Cow;
use std::collections::BTreeMap;
use switch::{DropReason, Volume};

/// A stable name: borrowed where it was built, owned where it was read back.
pub type Name = Cow<'static, str>;

/// Frames by the stable name of a reason. Reasons that did not occur are left out.
pub type ByReason = BTreeMap<Name, Volume>;

fn dropped(volumes: &[Volume; DropReason::COUNT]) -> ByReason {
    by_reason(DropReason::ALL.map(DropReason::name), volumes)
}

fn by_reason<const N: usize>(names: [&'static str; N], volumes: &[Volume; N]) -> ByReason {
    let occurred = names.into_iter().zip(volumes).filter(|(_, volume)| volume.frames > 0);
    occurred.map(|(name, volume)| (name.into(), *volume)).collect()
}
