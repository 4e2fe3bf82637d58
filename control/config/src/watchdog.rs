//! The PFC watchdog on a port: its defaults, and whether there is anything for it to watch.

use switch::program::{PortSettings, Watchdog};
use units::{Interval, PauseQuanta};

use crate::bifrost;
use crate::keys::long_haul::{WatchdogDecl, WatchdogWish};
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::at;

/// The shortest detection time that is not stated, as `pfcwd start_default` of SONiC has it.
const LEAST_DETECTION: Interval = Interval::from_millis(200);
/// In how many round trips a distant peer resumes what it paused, unless something is wrong with it: it has drained
/// what was on its way, and that of those which paused it in turn.
const ROUND_TRIPS: u64 = 4;

/// What `wish` asks for on a port whose pauses are known. Where nothing is said, a port that obeys pauses has a
/// watchdog that changes nothing and tells.
pub(crate) fn build(wish: Option<&WatchdogWish>, port: &PortSettings, link: &Link) -> Option<Watchdog> {
    let unstated = WatchdogDecl::default();
    let decl = match wish {
        Some(WatchdogWish::Off(_)) => return None,
        Some(WatchdogWish::On(decl)) => decl,
        None if port.pfc.obeyed().is_empty() => return None,
        None => &unstated,
    };
    Some(Watchdog {
        detection: decl.detection.as_ref().map_or_else(|| detection(port, link), |it| it.value),
        restoration: decl.restoration(),
        action: decl.action(),
    })
}

/// The keys with which [`build`] makes the same.
pub(crate) fn in_force(port: &PortSettings) -> Option<WatchdogWish> {
    match port.watchdog {
        None if port.pfc.obeyed().is_empty() => None,
        None => Some(WatchdogWish::Off(Place::default())),
        Some(Watchdog { detection, restoration, action }) => Some(WatchdogWish::On(WatchdogDecl {
            detection: at(detection),
            restoration: at(restoration),
            action: at(action),
            place: Place::default(),
        })),
    }
}

/// The detection time of a watchdog that is told none. Neither a pause of a distant peer that does what it should
/// nor a single pause frame is a storm.
fn detection(port: &PortSettings, link: &Link) -> Interval {
    let stated = port.lscc.as_ref().map(|lscc| lscc.round_trip);
    let stated = stated.max(port.bifrost().map(|bifrost| bifrost.round_trip));
    let round_trip = stated.max(bifrost::from_distance(port, link)).unwrap_or_default();
    let longest = PauseQuanta::MAX.interval_at(port.rate);
    let wanted = LEAST_DETECTION.max(round_trip * ROUND_TRIPS).max(longest);
    wanted.min(*Watchdog::DETECTION.end())
}

/// Notes where `port` has no watchdog, where that watches nothing, and where it takes a single pause frame for a
/// storm.
pub(crate) fn check(wish: &WatchdogWish, port: &PortSettings, problems: &Problems<'_>) {
    let (name, idle) = (|| port.name.clone(), port.pfc.obeyed().is_empty());
    let decl = match wish {
        WatchdogWish::Off(_) if idle => return,
        WatchdogWish::Off(place) => return problems.warning(place, ProblemKind::Unwatched { port: name() }),
        WatchdogWish::On(decl) if idle => {
            return problems.warning(&decl.place, ProblemKind::NothingWatched { port: name() });
        }
        WatchdogWish::On(decl) => decl,
    };
    let Some(detection) = &decl.detection else { return };
    let (rate, longest) = (port.rate, PauseQuanta::MAX.interval_at(port.rate));
    if longest > detection.value {
        let kind = ProblemKind::ShortDetection { detection: detection.value, longest, rate };
        problems.warning(&detection.place, kind);
    }
}
