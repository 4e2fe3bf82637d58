//! `[port.watchdog]`.

use switch::program::{Watchdog, WatchdogAction};
use units::Interval;

use super::bifrost::time;
use crate::reader::{At, Place, Section};

/// The PFC watchdog of a port.
#[derive(Clone)]
pub(crate) struct WatchdogDecl {
    pub place: Place,
    pub detection: Option<At<Interval>>,
    pub restoration: Option<At<Interval>>,
    pub action: Option<At<WatchdogAction>>,
}

impl WatchdogDecl {
    pub fn read(watchdog: &mut Section<'_, '_>) -> Self {
        Self {
            place: watchdog.place.clone(),
            detection: time(watchdog, "detection", Watchdog::DETECTION, "100ms to 5s"),
            restoration: time(watchdog, "restoration", Watchdog::RESTORATION, "100ms to 60s"),
            action: watchdog.optional("action"),
        }
    }
}
