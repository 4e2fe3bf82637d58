//! The flow control of a port: from the keys of each scheme to its settings, and back.
//!
//! Each scheme has a folder here, with its table of keys and the code that builds its settings. All other code
//! calls this module and names no scheme, except LSCC, which depends on the Bifrost beneath it.

mod beneath;
pub(crate) mod bifrost;
mod bifrostx;
pub(crate) mod capfc;
pub(crate) mod cbfc;
pub(crate) mod p_pfc;
pub(crate) mod pfc;
pub(crate) mod port_grants;
pub(crate) mod relay;

use switch::program::{Bifrost, FlowControl, FlowControlError, LosslessGroup, PortSettings, Settings};
use units::{Interval, Priority, WireBytes};

use crate::headroom::HeadroomSum;
use crate::keys::long_haul::LONGEST;
use crate::keys::port::{FlowControlWord, PortDecl};
use crate::keys::queueing::LosslessDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::plan::planned::Planned;
use crate::table::{Table, at};

/// The schemes for a long link, by their words, in the order of their comparison.
pub(crate) static PLANNED: [(&str, &dyn Planned); 6] = [
    ("pfc", &pfc::Plain),
    ("bifrost", &bifrost::plan::BIFROST),
    ("bifrostx", &bifrostx::PLANNED),
    ("port-grants", &port_grants::PLANNED),
    ("cbfc", &cbfc::plan::Credits),
    ("relay", &relay::plan::Relayed),
];

/// The flow control that `decl` chooses for a port that is otherwise incomplete, one of `ports`; `None` if a setting is
/// missing, after an error was noted.
pub(crate) fn build(
    decl: &PortDecl,
    port: &PortSettings,
    link: &Link,
    ports: &[PortDecl],
    problems: &Problems<'_>,
) -> Option<FlowControl> {
    match decl.flow_control() {
        FlowControlWord::Pfc => Some(FlowControl::Pfc),
        word @ (FlowControlWord::Bifrost | FlowControlWord::BifrostX | FlowControlWord::PortGrants) => {
            let declared = bifrost::declared(decl)?;
            let settings = bifrost::build(&declared, port, link, problems)?;
            Some(match word {
                FlowControlWord::BifrostX => FlowControl::BifrostX(settings),
                FlowControlWord::PortGrants => {
                    FlowControl::PortGrants(port_grants::build(decl.port_grants(), settings))
                }
                _ => FlowControl::Bifrost(settings),
            })
        }
        FlowControlWord::Cbfc => Some(FlowControl::Cbfc(cbfc::build(decl, port, link, problems)?)),
        FlowControlWord::PPfc => Some(FlowControl::PPfc(p_pfc::build(decl.p_pfc(), port))),
        FlowControlWord::CaPfc => Some(FlowControl::CaPfc(capfc::build(decl.capfc(), port))),
        FlowControlWord::Relay => Some(FlowControl::Relay(relay::build(decl, port, ports, problems)?)),
    }
}

/// Lets the table of a port name no other port, where only one other is left.
pub(crate) fn forget_other_ports(port: &mut toml::Table) {
    // Of two ports, a relay speaks for the other one.
    if let Some(relay) = port.get_mut("relay").and_then(toml::Value::as_table_mut) {
        relay.remove("from");
    }
}

/// The keys from which [`build`] builds the same flow control on one of `ports`.
pub(crate) fn in_force(flow_control: &FlowControl, ports: &[PortSettings]) -> PortDecl {
    match flow_control {
        FlowControl::Pfc => PortDecl { flow_control: at(FlowControlWord::Pfc), ..PortDecl::default() },
        FlowControl::Bifrost(settings) => slots_in_force(FlowControlWord::Bifrost, settings),
        FlowControl::BifrostX(settings) => slots_in_force(FlowControlWord::BifrostX, settings),
        FlowControl::PortGrants(settings) => PortDecl {
            port_grants: Some(port_grants::in_force(settings)),
            ..slots_in_force(FlowControlWord::PortGrants, &settings.slots)
        },
        FlowControl::Cbfc(settings) => PortDecl {
            flow_control: at(FlowControlWord::Cbfc),
            cbfc: Some(cbfc::in_force(settings)),
            ..PortDecl::default()
        },
        FlowControl::PPfc(settings) => PortDecl {
            flow_control: at(FlowControlWord::PPfc),
            p_pfc: Some(p_pfc::in_force(settings)),
            ..PortDecl::default()
        },
        FlowControl::CaPfc(settings) => PortDecl {
            flow_control: at(FlowControlWord::CaPfc),
            capfc: Some(capfc::in_force(settings)),
            ..PortDecl::default()
        },
        FlowControl::Relay(settings) => PortDecl {
            flow_control: at(FlowControlWord::Relay),
            relay: Some(relay::in_force(settings, ports)),
            ..PortDecl::default()
        },
    }
}

fn slots_in_force(word: FlowControlWord, settings: &Bifrost) -> PortDecl {
    PortDecl { flow_control: at(word), bifrost: Some(bifrost::in_force(settings)), ..PortDecl::default() }
}

/// The group of a scheme that bounds its own arrivals; `None` if headroom and thresholds bound them. `sum` is the
/// headroom of the link, if its distance is known.
pub(crate) fn group(
    decl: &LosslessDecl,
    port: &PortSettings,
    sum: Option<&HeadroomSum>,
) -> Option<LosslessGroup> {
    match &port.flow_control {
        FlowControl::Cbfc(settings) => Some(cbfc::group(decl, settings, port)),
        FlowControl::Relay(_) => relay::group(decl, port, sum),
        it => Some(bifrost::group(decl, it.bifrost()?, port)),
    }
}

/// The key with which no flow control chooses among several queues of a priority.
pub(crate) const CHOOSES_NO_QUEUES: &str = "far_ports = 0 in [port.port_grants]";

/// Adds the queues that a scheme needs to a port whose groups are known.
pub(crate) fn add_queues(port: &mut PortSettings) {
    if let FlowControl::PortGrants(settings) = port.flow_control {
        port_grants::add_queues(&settings, port);
    }
}

/// The place of the key that caused `error`.
pub(crate) fn place(error: &FlowControlError, decl: &PortDecl) -> Option<Place> {
    match error {
        FlowControlError::Bifrost(error) => bifrost::place(error, decl),
        FlowControlError::Cbfc(error) => cbfc::place(error, decl),
        FlowControlError::PPfc(error) => Some(p_pfc::place(error, decl)),
        FlowControlError::CaPfc(error) => Some(capfc::place(error, decl)),
        FlowControlError::Relay(error) => Some(relay::place(error, decl)),
    }
}

/// Warns if a scheme does not suit its link, or the gateway with these `settings`.
pub(crate) fn check(port: &PortSettings, settings: &Settings, decl: &PortDecl, problems: &Problems<'_>) {
    if let Some(slots) = port.flow_control.bifrost() {
        bifrost::check_slot(slots, port, decl, problems);
    } else if let FlowControl::PPfc(p_pfc) = &port.flow_control {
        p_pfc::check_horizon(p_pfc, settings, decl, problems);
    }
}

/// Notes errors and warnings if a group does not suit the scheme.
pub(crate) fn check_group(
    port: &PortSettings,
    group: (Priority, &LosslessGroup),
    decl: &LosslessDecl,
    problems: &Problems<'_>,
) {
    if let Some(slots) = port.flow_control.bifrost() {
        bifrost::check_group(slots, port, group, decl, problems);
    }
}

/// The round trip of a scheme that needs one.
pub(crate) fn round_trip(flow_control: &FlowControl) -> Option<Interval> {
    Some(flow_control.bifrost()?.round_trip)
}

/// The lateness of workers that a scheme covers; `None` if the headroom covers it.
pub(crate) fn lateness(flow_control: &FlowControl) -> Option<Interval> {
    match flow_control {
        // Without new credits the upstream stops.
        FlowControl::Cbfc(_) => Some(LONGEST),
        it => Some(it.bifrost()?.lateness),
    }
}

/// The keys with which a scheme covers `lateness`; `None` if the headroom covers it.
pub(crate) fn keys_for_lateness(port: &PortSettings, lateness: Interval) -> Option<String> {
    Some(bifrost::keys_for_lateness(port.flow_control.bifrost()?, port.rate, lateness))
}

/// What to do with a scheme that one lane alone cannot run for all.
pub(crate) const OF_LANES: &str = "write flow_control = \"pfc\" or \"bifrost\"";

/// Where the jitter of a history of grants is stated, or its lateness.
pub(crate) fn place_of_jitter(port: &PortDecl) -> Place {
    port.bifrost.as_ref().map_or(&port.place, |it| it.first(&["jitter", "lateness"])).clone()
}

/// Makes the scheme of `port`, which several `lanes` may serve, cover workers that are later by `more`, while `arriving` bytes
/// come in.
pub(crate) fn provide(port: &mut PortSettings, more: Interval, arriving: WireBytes, lanes: bool) {
    let rate = port.rate;
    if let Some(slots) = port.flow_control.bifrost_mut() {
        bifrost::provide(slots, rate, more, arriving, lanes);
    }
}
