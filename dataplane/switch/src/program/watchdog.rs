//! The settings of the PFC watchdog.

use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};
use units::Interval;

/// The PFC watchdog of a port (`pfcwd` of SONiC): it watches all queues whose priority obeys pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watchdog {
    /// A queue that held packets, sent none and was paused for 99 % of this time is stormed.
    pub detection: Interval,
    /// A stormed queue is restored when no pause frame came for this time.
    pub restoration: Interval,
    /// The action on a stormed queue.
    pub action: WatchdogAction,
}

impl Watchdog {
    /// The valid range of the detection time.
    pub const DETECTION: RangeInclusive<Interval> = Interval::from_millis(100)..=Interval::from_millis(5_000);
    /// The valid range of the restoration time.
    pub const RESTORATION: RangeInclusive<Interval> =
        Interval::from_millis(100)..=Interval::from_millis(60_000);
}

units::named! {
    /// The action on a stormed queue.
    #[derive(Default)]
    WatchdogAction [serde] {
        /// Drops its waiting and new frames.
        Drop = "drop",
        /// Lets it send in spite of the pause.
        Forward = "forward",
        /// Only reports it. The default, because dropping lossless frames is a choice.
        Alert = "alert" default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_names_of_their_own() {
        use WatchdogAction::{Alert, Drop, Forward};
        assert_eq!([Drop, Forward, Alert].map(WatchdogAction::name), ["drop", "forward", "alert"]);
    }
}
