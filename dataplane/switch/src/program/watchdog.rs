//! The settings of the PFC watchdog.

use units::Interval;

/// The PFC watchdog of a port (`pfcwd` of SONiC): it watches all queues whose priority obeys pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// A queue that held packets, sent none and was paused for 99 % of this time is stormed.
    pub detection: Interval,
    /// A stormed queue is restored when no pause frame came for this time.
    pub restoration: Interval,
    /// What happens to a stormed queue.
    pub action: WatchdogAction,
}

/// What happens to a stormed queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchdogAction {
    /// What waits is dropped, and so is what comes.
    #[default]
    Drop,
    /// It sends in spite of the pause.
    Forward,
    /// It is only reported.
    Alert,
}
