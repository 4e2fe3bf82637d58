//! The delay of a link: its keys, the bounds within which a measured one sets headroom, and how it does.

mod apply;
pub(crate) mod keys;

use switch::link_delay::LinkDelay;
use switch::program::PortSettings;
use units::{Distance, Interval, PortId};

use crate::gateway::Gateway;
use crate::keys::port::PortDecl;
use crate::link::{DelayBounds, Link};
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::table::{Table, at};
use keys::LinkDelayDecl;

/// The settings of the measurement on a port with that `link`.
pub(crate) fn build(decl: &LinkDelayDecl, link: &Link) -> LinkDelay {
    let covered = link.delay.map(|it| it.most).or(link.distance.map(Distance::propagation));
    // A turn that is late makes a delay longer.
    let returns_up_to = covered.map(|it| it + DelayBounds::margin(it));
    LinkDelay { interval: decl.measure().then(|| decl.interval()), returns_up_to }
}

/// The bounds of a measured delay on a port of that `distance`; `None` if none is applied. Notes an error if they are
/// unknown, or leave out the delay of the distance.
pub(crate) fn bounds(
    decl: &LinkDelayDecl,
    distance: Option<Distance>,
    problems: &Problems<'_>,
) -> Option<DelayBounds> {
    if !decl.measure() || !decl.apply() {
        return None;
    }
    let known = distance.map(Distance::propagation);
    let needed = |key: &str| {
        let when = "because the port has no distance to start from; for example, write least = \"5us\" and most = \"500us\" here, distance = \"80km\" on the port, or apply = false";
        problems.error(&decl.place.of_key(key), ProblemKind::Needed { when });
    };
    let stated = |it: &Option<At<Interval>>| it.as_ref().map(|it| it.value);
    let most = stated(&decl.most).or(known).or_else(|| {
        needed("most");
        None
    });
    let least = stated(&decl.least).or(known.map(|delay| Interval(delay.0 / 10 * 9))).or_else(|| {
        needed("least");
        None
    });
    let (least, most) = (least?, most?);
    let (above, below) = (known.unwrap_or(most), known.unwrap_or(least));
    if least > above {
        let valid = format!("at most {above}");
        problems.error(decl.first(&["least"]), ProblemKind::out_of_range(least, valid));
    }
    if most < below {
        let valid = format!("at least {below}");
        problems.error(decl.first(&["most"]), ProblemKind::out_of_range(most, valid));
    }
    Some(DelayBounds { least, most })
}

/// Checks that the shared pool has room for the headroom of the longest links, and that a port whose measured delay is
/// to set headroom has any.
pub(crate) fn check(gateway: &Gateway, ports: &[PortDecl], problems: &Problems<'_>) {
    let (needed, spare) = gateway.most_for_links();
    for (number, port) in (0..).map(PortId).zip(ports) {
        let Some(decl) = &port.link_delay else { continue };
        match gateway.delay_bounds(number) {
            Some(_) if needed > spare => {
                problems.error(decl.first(&["most"]), ProblemKind::LinkDelayRoom { needed, spare });
                return;
            }
            None if decl.measure() && decl.apply() => {
                let with = "a flow control or priorities without headroom".into();
                problems.warning(decl.first(&["apply"]), ProblemKind::Meaningless { with });
            }
            _ => {}
        }
    }
}

/// The keys from which [`build`] and [`bounds`] build the same.
pub(crate) fn in_force(port: &PortSettings, link: &Link) -> Option<LinkDelayDecl> {
    let LinkDelay { interval, returns_up_to: _ } = port.link_delay?;
    Some(LinkDelayDecl {
        measure: at(interval.is_some()),
        interval: interval.and_then(at),
        apply: at(link.delay.is_some()),
        least: link.delay.and_then(|bounds| at(bounds.least)),
        most: link.delay.and_then(|bounds| at(bounds.most)),
        place: Place::default(),
    })
}
