//! Builds the PFC watchdog of a port, and checks that it watches something.

use switch::program::{PortSettings, Watchdog};
use units::{Interval, PauseQuanta};

use crate::flow_control;
use crate::keys::long_haul::{WatchdogChoice, WatchdogDecl};
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::round_trip;
use crate::table::at;

/// The shortest default of the detection time, as in SONiC's `pfcwd start_default`.
pub(crate) const LEAST_DETECTION: Interval = Interval::from_millis(200);
/// The number of round trips within which a distant peer normally resumes what it paused. By then it has drained the
/// frames in flight, and so have the devices that paused it.
const ROUND_TRIPS: u64 = 4;

/// Builds the watchdog of a port whose pauses are known. By default, a port that obeys pauses has a watchdog that
/// only reports.
pub(crate) fn build(choice: Option<&WatchdogChoice>, port: &PortSettings, link: &Link) -> Option<Watchdog> {
    let unstated = WatchdogDecl::default();
    let decl = match choice {
        Some(WatchdogChoice::Off(_)) => return None,
        Some(WatchdogChoice::On(decl)) => decl,
        None if port.pfc.obeyed().is_empty() => return None,
        None => &unstated,
    };
    Some(Watchdog {
        detection: decl.detection.as_ref().map_or_else(|| detection(port, link), |it| it.value),
        restoration: decl.restoration(),
        action: decl.action(),
    })
}

/// The keys from which [`build`] builds the same watchdog.
pub(crate) fn in_force(port: &PortSettings) -> Option<WatchdogChoice> {
    match port.watchdog {
        None if port.pfc.obeyed().is_empty() => None,
        None => Some(WatchdogChoice::Off(Place::default())),
        Some(Watchdog { detection, restoration, action }) => Some(WatchdogChoice::On(WatchdogDecl {
            detection: at(detection),
            restoration: at(restoration),
            action: at(action),
            place: Place::default(),
        })),
    }
}

/// The default detection time. Neither the pause of a distant peer that works as it should nor a single pause frame
/// counts as a storm.
fn detection(port: &PortSettings, link: &Link) -> Interval {
    let stated = port.notifiers.lscc.as_ref().map(|lscc| lscc.round_trip);
    let stated = stated.max(flow_control::round_trip(&port.flow_control));
    let round_trip = stated.max(round_trip::from_distance(port, link)).unwrap_or_default();
    let longest = PauseQuanta::MAX.interval_at(port.rate);
    let wanted = LEAST_DETECTION.max(round_trip * ROUND_TRIPS).max(longest);
    wanted.min(*Watchdog::DETECTION.end())
}

/// Warns if `port` has no watchdog and could have one, if its watchdog has nothing to watch, and if it would take a single pause frame
/// for a storm.
pub(crate) fn check(choice: &WatchdogChoice, port: &PortSettings, problems: &Problems<'_>) {
    let (name, idle) = (|| port.name.clone(), port.pfc.obeyed().is_empty());
    let decl = match choice {
        WatchdogChoice::Off(_) if idle => return,
        WatchdogChoice::Off(place) => {
            return problems.warning(place, ProblemKind::Unwatched { port: name() });
        }
        WatchdogChoice::On(decl) if idle => {
            return problems.warning(&decl.place, ProblemKind::NothingWatched { port: name() });
        }
        WatchdogChoice::On(decl) => decl,
    };
    let Some(detection) = &decl.detection else { return };
    let (rate, longest) = (port.rate, PauseQuanta::MAX.interval_at(port.rate));
    if longest > detection.value {
        let kind = ProblemKind::ShortDetection { detection: detection.value, longest, rate };
        problems.warning(&detection.place, kind);
    }
}
