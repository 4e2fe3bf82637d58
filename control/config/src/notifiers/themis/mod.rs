//! Builds THEMIS on a port, and the slow queues of the others.

pub(crate) mod keys;

use keys::ThemisDecl;
use switch::congestion::themis::{Settings as Themis, Slowing, ThemisError};
use switch::program::{NotifierError, PortSettings};
use units::BitRate;

use crate::flow_control;
use crate::keys::long_haul::CnpDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::round_trip;
use crate::table::{at, or};
use crate::value::Spacing;

/// The part of the port's rate that slow flows have by default.
const SLOW_PART: u64 = 16;

/// Builds THEMIS on a port whose flow control is known. Returns `None` and notes an error if the round trip is unknown.
pub(crate) fn build(
    decl: &ThemisDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<Themis> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let stated = stated.or(flow_control::round_trip(&port.flow_control));
    let round_trip = stated.or_else(|| round_trip::needed(port, link, &decl.place, problems))?;
    let part = BitRate::new((port.rate.bits_per_second() / SLOW_PART).max(1));
    let rate = decl.slow_rate.as_ref().map_or(part, |rate| rate.value);
    let (hold, limit) = (or(&decl.slow_hold, round_trip), decl.slow_limit());
    Some(Themis {
        cnp_interval: decl.cnp_interval().0,
        slowing: rate.map(|rate| Slowing { hold, rate, limit }),
        notifier: decl.cnp().notifier(decl.flows(), decl.ageing(), round_trip),
    })
}

/// Adds the slow queues that THEMIS on one port wants at all others.
pub(crate) fn add_slow_queues(ports: &mut [PortSettings]) {
    let wanting = ports.iter().position(|port| port.notifiers.themis.is_some_and(|it| it.slowing.is_some()));
    let Some(wanting) = wanting else { return };
    let Some(slowing) = ports[wanting].notifiers.themis.and_then(|it| it.slowing) else { return };
    let priorities = ports[wanting].lossless();
    let others = ports.iter_mut().enumerate().filter(|(index, _)| *index != wanting);
    others.for_each(|(_, port)| port.add_slow_queues(priorities, &slowing));
}

/// The keys from which [`build`] builds the same THEMIS.
pub(crate) fn in_force(themis: &Themis) -> ThemisDecl {
    ThemisDecl {
        cnp_interval: at(Spacing(themis.cnp_interval)),
        slow_rate: at(themis.slowing.map(|it| it.rate)),
        slow_hold: themis.slowing.and_then(|it| at(it.hold)),
        slow_limit: themis.slowing.and_then(|it| at(it.limit)),
        round_trip: at(themis.notifier.round_trip),
        flows: at(themis.notifier.flows),
        ageing: at(themis.notifier.ageing),
        cnp: CnpDecl::in_force(themis.notifier.cnp_dscp, themis.notifier.cnp_priority),
        place: Place::default(),
    }
}

/// The keys at fault, the likeliest first.
pub(crate) const fn keys_at_fault(error: &ThemisError) -> &'static [&'static str] {
    match error {
        ThemisError::Idle | ThemisError::CnpInterval { .. } => &["cnp_interval"],
        ThemisError::Hold => &["slow_hold"],
        ThemisError::Limit => &["slow_limit"],
        ThemisError::Notifier(NotifierError::Flows { .. }) => &["flows"],
        ThemisError::Notifier(NotifierError::Ageing) => &["ageing"],
        ThemisError::WithoutLossless
        | ThemisError::SecondPort { .. }
        | ThemisError::QueuesChosen
        | ThemisError::SlowQueue { .. } => &["slow_rate"],
    }
}

/// The keys to write instead.
pub(crate) fn remedy(error: &ThemisError) -> String {
    match error {
        ThemisError::Idle => "set cnp_interval or slow_rate, or remove the table".to_owned(),
        ThemisError::Hold => "set slow_rate = \"none\" to slow none down on purpose".to_owned(),
        ThemisError::Limit => "expected slow_limit above 0".to_owned(),
        ThemisError::SecondPort { .. } => "set slow_rate = \"none\" on one of them".to_owned(),
        ThemisError::QueuesChosen => {
            format!("set {}, or slow_rate = \"none\" in THEMIS", flow_control::CHOOSES_NO_QUEUES)
        }
        _ => String::new(),
    }
}
