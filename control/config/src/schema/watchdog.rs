//! `watchdog` of a port.

use switch::program::{Watchdog, WatchdogAction};
use units::Interval;

use super::bifrost::time;
use crate::reader::{At, Place, Section};
use crate::value::NoWatchdog;

/// The PFC watchdog of a port, as the file states it.
#[derive(Clone)]
pub(crate) enum WatchdogWish {
    /// There shall be none.
    Off(Place),
    On(WatchdogDecl),
}

impl WatchdogWish {
    pub fn read(port: &mut Section<'_, '_>) -> Option<Self> {
        if port.is_single("watchdog") {
            return port.optional::<NoWatchdog>("watchdog").map(|off| Self::Off(off.place));
        }
        port.table("watchdog", WatchdogDecl::read).map(Self::On)
    }
}

/// The PFC watchdog of a port.
#[derive(Clone)]
pub(crate) struct WatchdogDecl {
    pub place: Place,
    pub detection: Option<At<Interval>>,
    pub restoration: Option<At<Interval>>,
    pub action: Option<At<WatchdogAction>>,
}

impl WatchdogDecl {
    fn read(watchdog: &mut Section<'_, '_>) -> Self {
        Self {
            place: watchdog.place.clone(),
            detection: time(watchdog, "detection", Watchdog::DETECTION, "100ms to 5s"),
            restoration: time(watchdog, "restoration", Watchdog::RESTORATION, "100ms to 60s"),
            action: watchdog.optional("action"),
        }
    }
}
