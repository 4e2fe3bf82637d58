//! The PFC watchdog on a port: its defaults, and whether there is anything for it to watch.

use switch::program::{PortSettings, Watchdog};
use units::PauseQuanta;

use crate::build::or;
use crate::defaults;
use crate::problem::ProblemKind;
use crate::reader::Problems;
use crate::schema::WatchdogDecl;

/// What `decl` asks for.
pub(crate) fn build(decl: &WatchdogDecl) -> Watchdog {
    Watchdog {
        detection: or(&decl.detection, defaults::WATCHDOG_TIME),
        restoration: or(&decl.restoration, defaults::WATCHDOG_TIME),
        action: or(&decl.action, Default::default()),
    }
}

/// Notes where the watchdog of `port` watches nothing, or takes a single pause frame for a storm.
pub(crate) fn check(
    watchdog: &Watchdog,
    port: &PortSettings,
    decl: Option<&WatchdogDecl>,
    problems: &Problems<'_>,
) {
    let Some(decl) = decl else { return };
    if port.pfc.obeyed().is_empty() {
        problems.warning(&decl.place, ProblemKind::NothingWatched { port: port.name.clone() });
        return;
    }
    let (rate, detection) = (port.rate, watchdog.detection);
    let longest = PauseQuanta::MAX.interval_at(rate);
    if longest > detection {
        let place = decl.detection.as_ref().map_or(&decl.place, |detection| &detection.place);
        problems.warning(place, ProblemKind::ShortDetection { detection, longest, rate });
    }
}
