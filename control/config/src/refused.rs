//! Finds the keys behind the errors of the switch's own checks.

use switch::ForwardingSettings;
use switch::program::{FlowControl, PortSettings, Program, ProgramError, Settings};
use units::Priority;

use crate::build::Built;
use crate::flow_control;
use crate::keys::document::Document;
use crate::keys::forwarding::ForwardingDecl;
use crate::keys::port::PortDecl;
use crate::keys::queueing::QueueDecl;
use crate::notes::Problems;
use crate::notifiers;
use crate::place::Place;
use crate::table::{Table, values};

/// Checks the settings, and notes the first error of the buffer, of each port, and of forwarding.
pub(crate) fn check(built: &Built, document: &Document, problems: &Problems<'_>) {
    let settings = &built.settings;
    let note = |result: Result<Program, ProgramError>| {
        if let Err(error) = result {
            let place = place(&error, document);
            problems.error(&place, error);
        }
    };
    // Program::new stops at the first error. Checking each port by itself, and forwarding with ports that have
    // nothing lossless, shows an error of each. A relay is nothing by itself, and is checked with all the rest.
    let Settings { buffer, seed, .. } = *settings;
    for port in &settings.ports {
        let (mut port, forwarding) = (port.clone(), ForwardingSettings::Patch(Vec::new()));
        if port.flow_control.relay().is_some() {
            port.flow_control = FlowControl::Pfc;
        }
        note(Program::new(Settings { ports: vec![port], forwarding, buffer, seed }));
    }
    if !built.forwarding_resolved {
        return;
    }
    let plain = |port: &PortSettings| PortSettings {
        addresses: port.addresses.clone(),
        ..PortSettings::lossy(port.name.as_str(), port.mac, port.rate)
    };
    let ports = settings.ports.iter().map(plain).collect();
    note(Program::new(Settings { ports, ..settings.clone() }));
}

/// The place of the key at fault.
pub(crate) fn place(error: &ProgramError, document: &Document) -> Place {
    use ProgramError as E;
    let found = match error {
        E::PortCount { .. } => document.ports().first().map(|port| port.place.clone()),
        E::LossyAboveShared { .. } => Some(document.buffer().first(&["egress_lossy", "shared"]).clone()),
        _ => of_port(error, document)
            .or_else(|| of_senders(error, document))
            .or_else(|| of_forwarding(error, document.forwarding())),
    };
    found.unwrap_or_else(|| document.forwarding().place.clone())
}

/// The key of a port: the first stated key among those at fault, or their table.
fn of_port(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    let found = |name: &String| document.ports().iter().rev().find(|port| port.name() == name);
    let key = |name, keys: &[&str]| Some(found(name)?.first(keys).clone());
    let group = |name, priority: &Priority, keys: &[&str]| {
        Some(found(name)?.group_of(*priority)?.first(keys).clone())
    };
    let queue = |name, priority: &Priority| found(name)?.queue_of(*priority);
    let marks = |name, priority, keys: &[&str]| {
        let queue: &QueueDecl = queue(name, priority)?;
        Some(queue.ecn.as_ref().map_or(&queue.place, |ecn| ecn.first(keys)).clone())
    };
    let adaptive = |name, priority, keys: &[&str]| {
        let ecn = queue(name, priority)?.ecn.as_ref()?;
        Some(ecn.adaptive.as_ref()?.first(keys).clone())
    };
    match error {
        E::DuplicateName { port } => key(port, &["name"]),
        E::MaxFrame { port, .. } => key(port, &["mtu", "max_frame"]),
        E::TelemetryRate { port, .. } => {
            let port = found(port)?;
            let direct = port.lscc.as_ref().filter(|_| port.int.is_none());
            Some(direct.map_or_else(|| port.first(&["int"]), |lscc| lscc.first(&["direct"])).clone())
        }
        E::WatchdogTime { port, .. } => key(port, &["watchdog"]),
        E::LinkDelayInterval { port, .. } => key(port, &["link_delay"]),
        E::LinkAgentTimes { port, .. } => key(port, &["lldp"]),
        E::GroupAddress { port } => key(port, &["mac"]),
        E::XonAboveXoff { port, priority, .. } => group(port, priority, &["xon", "xoff", "dynamic_th"]),
        E::XoffWithinReserved { port, priority, .. } => {
            group(port, priority, &["xoff", "dynamic_th", "reserved"])
        }
        E::XoffAbovePool { port, priority, .. } => group(port, priority, &["xoff", "dynamic_th"]),
        E::HeadroomAbovePool { port, priority, .. } => {
            let group = found(port)?.group_of(*priority)?;
            let stated = group.place_of("headroom").or(document.buffer().place_of("headroom"));
            Some(stated.unwrap_or(&group.place).clone())
        }
        E::ObeysLossy { port, priority } => found(port).map(|port| obeyed(port, *priority)),
        E::ZeroPause { port } => Some(found(port)?.pfc().first(&["pause"]).clone()),
        E::FlowControl { port, error } => flow_control::place(error, found(port)?),
        E::RedOrder { port, priority, .. } | E::LsccMarking { port, priority, .. } => {
            marks(port, priority, &["kmin"])
        }
        E::AdaptiveEcnOrder { port, priority, .. } => adaptive(port, priority, &["kmin", "kmax"]),
        E::AdaptiveEcnInterval { port, priority, .. } => adaptive(port, priority, &["interval"]),
        E::AdaptiveEcnIncast { port, priority, .. } => adaptive(port, priority, &["incast"]),
        E::RedProbability { port, priority, .. } => marks(port, priority, &["pmax"]),
        E::ZeroWeight { port, priority } => Some(queue(port, priority)?.first(&["weight"]).clone()),
        E::Remap { port, .. } => key(port, &["remap"]),
        _ => None,
    }
}

/// The key of a scheme that notifies senders: the first stated key among those at fault, or its table.
fn of_senders(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    let found = |name: &String| document.ports().iter().rev().find(|port| port.name() == name);
    let lscc = |name, keys: &[&str]| Some(found(name)?.lscc.as_ref()?.first(keys).clone());
    match error {
        E::Notifiers { port, error } => notifiers::place(error, found(port)?),
        E::LsccWithoutLossless { port } => lscc(port, &[]),
        E::LsccInterval { port, .. } | E::LsccInFlight { port, .. } => {
            lscc(port, &["interval", "round_trip"])
        }
        E::LsccRates { port, most, rate, .. } if most > rate => lscc(port, &["most", "least"]),
        E::LsccRates { port, .. } => lscc(port, &["least"]),
        E::LsccReference { port } => lscc(port, &["reference"]),
        E::LsccPseudoReference { port } => lscc(port, &["pseudo_reference"]),
        E::LsccPseudoLimit { port, .. } => lscc(port, &["pseudo_limit", "pseudo_reference"]),
        E::LsccCnpInterval { port, .. } => lscc(port, &["cnp_interval"]),
        E::LsccLongFlow { port, .. } => lscc(port, &["long_flow"]),
        E::LsccFlows { port, .. } => lscc(port, &["flows"]),
        E::LsccAgeing { port } => lscc(port, &["ageing"]),
        E::LsccAddress { port, address }
        | E::LsccToItself { port, address }
        | E::LsccAddressTwice { port, address, .. } => {
            let peer = found(port)?.lscc.as_ref()?.peer.as_ref().is_some_and(|peer| peer.value == *address);
            lscc(port, if peer { &["peer"] } else { &["local"] })
        }
        _ => None,
    }
}

/// The place where the port lists `priority` in `obey`.
fn obeyed(port: &PortDecl, priority: Priority) -> Place {
    let stated = values(&port.pfc().obey).find(|it| it.value == priority);
    stated.map_or(&port.place, |it| &it.place).clone()
}

fn of_forwarding(error: &ProgramError, decl: &ForwardingDecl) -> Option<Place> {
    use ProgramError as E;
    let routes = decl.route.iter().flatten().rev();
    let route = |shown: &str| {
        routes.clone().find(|it| it.prefix.as_ref().is_some_and(|at| at.value.to_string() == shown))
    };
    let neighbours = decl.neighbour.iter().flatten();
    match error {
        E::PatchedToItself { port } => values(&decl.pairs)
            .find(|it| it.value.0 == *port && it.value.1 == *port)
            .map(|it| it.place.clone()),
        E::PatchedTwice { port } => {
            let mut pairs = values(&decl.pairs).rev();
            pairs.find(|it| it.value.0 == *port || it.value.1 == *port).map(|it| it.place.clone())
        }
        E::Prefix { prefix } => Some(route(prefix)?.first(&["prefix"]).clone()),
        E::NoNextHop { prefix } => Some(route(prefix)?.first(&["next_hops"]).clone()),
        E::UnknownNextHop { prefix, next_hop } => {
            values(&route(prefix)?.next_hops).find(|it| it.value == *next_hop).map(|it| it.place.clone())
        }
        E::DuplicatePrefix { prefix } => {
            let of_host = |at: &crate::place::At<core::net::IpAddr>| {
                ipnet::IpNet::from(at.value).to_string() == *prefix
            };
            let host = || neighbours.clone().rev().find(|it| it.address.as_ref().is_some_and(of_host));
            let route = route(prefix).map(|it| it.first(&["prefix"]));
            route.or_else(|| Some(host()?.first(&["address"]))).cloned()
        }
        E::NeighbourGroupAddress { neighbour } => {
            let at_fault = |it: &&crate::keys::forwarding::NeighbourDecl| {
                it.address.as_ref().is_some_and(|at| at.value == *neighbour)
            };
            Some(neighbours.clone().find(at_fault)?.first(&["mac"]).clone())
        }
        E::BridgeCapacity { .. } => Some(decl.first(&["capacity"]).clone()),
        _ => None,
    }
}
