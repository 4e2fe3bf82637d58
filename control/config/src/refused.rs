//! Finds the keys behind the errors of the switch's own checks.

use switch::ForwardingSettings;
use switch::congestion::LsccPortsError;
use switch::congestion::adaptive_ecn::AdaptiveEcnError;
use switch::congestion::red::RedError;
use switch::lanes::{LanesRefusal, Unshared};
use switch::program::{
    FlowControl, GroupError, PortError, PortSettings, Program, ProgramError, QueueError, RemapError, Settings,
};
use units::Priority;

use crate::build::Built;
use crate::flow_control;
use crate::keys::bundle::BundleDecl;
use crate::keys::document::Document;
use crate::keys::forwarding::ForwardingDecl;
use crate::keys::port::PortDecl;
use crate::keys::queueing::QueueDecl;
use crate::notes::Problems;
use crate::notifiers;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::{Table, values};

/// Checks the settings, and notes the first error of the buffer, of each port, and of forwarding.
pub(crate) fn check(built: &Built, document: &Document, problems: &Problems<'_>) {
    let settings = &built.settings;
    let note = |result: Result<Program, ProgramError>| match result {
        Ok(program) => lanes(&program, built.runtime.dpdk.lanes, document, problems),
        Err(error) => note(error, document, problems),
    };
    // Program::new stops at the first error. Checking each port by itself, and forwarding with ports that have
    // nothing lossless, shows an error of each. A relay is nothing by itself, and is checked with all the rest.
    let Settings { buffer, seed, .. } = *settings;
    for port in &settings.ports {
        let (mut port, forwarding) = (port.clone(), ForwardingSettings::Patch(Vec::new()));
        port.bundle = None;
        if port.flow_control.listens_to().is_some() {
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
    if let Err(error) = settings.validate_bundles() {
        return self::note(error, document, problems);
    }
    let ports = settings.ports.iter().map(plain).collect();
    note(Program::new(Settings { ports, ..settings.clone() }));
}

/// Notes what keeps lanes from serving the ports of `program` together.
pub(crate) fn lanes(program: &Program, lanes: usize, document: &Document, problems: &Problems<'_>) {
    if lanes > 1
        && let Err(refusal) = program.for_lanes(lanes)
    {
        let (place, remedy) = of_lanes(&refusal, document);
        problems.error(&place, ProblemKind::Lanes { refusal: Box::new(refusal), remedy });
    }
}

/// Notes an error at the key at fault.
pub(crate) fn note(error: ProgramError, document: &Document, problems: &Problems<'_>) {
    let (place, remedy) = (place(&error, document), remedy(&error));
    problems.error(&place, ProblemKind::Program { error: Box::new(error), remedy });
}

fn place(error: &ProgramError, document: &Document) -> Place {
    use ProgramError as E;
    let found = match error {
        E::PortCount { .. } => document.ports().first().map(|port| port.place.clone()),
        E::KernelPriority { .. } => document.kernel.as_ref().map(|it| it.first(&["priority"]).clone()),
        E::LossyAboveShared { .. } => Some(document.buffer().first(&["egress_lossy", "shared"]).clone()),
        _ => of_port(error, document).or_else(|| of_forwarding(error, document.forwarding())),
    };
    found.unwrap_or_else(|| document.forwarding().place.clone())
}

/// The key of a port: the first stated key among those at fault, or their table.
fn of_port(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    let found = |name: &String| document.ports().iter().rev().find(|port| port.name() == name);
    match error {
        E::DuplicateName { port } => Some(found(port)?.first(&["name"]).clone()),
        E::Port { port, error } => of_one_port(error, found(port)?),
        E::Bundle { port, .. } => {
            let mut named = document.bundles().iter().flat_map(|bundle| bundle.names());
            Some(named.find(|name| name.value == *port)?.place.clone())
        }
        E::Group { port, priority, error: GroupError::ObeysLossy } => Some(obeyed(found(port)?, *priority)),
        E::Group { port, priority, error } => {
            let group = found(port)?.group_of(*priority)?;
            let keys: &[&str] = match error {
                GroupError::XonAboveXoff { .. } => &["xon", "xoff", "dynamic_th"],
                GroupError::XoffWithinReserved { .. } => &["xoff", "dynamic_th", "reserved"],
                GroupError::XoffAbovePool { .. } => &["xoff", "dynamic_th"],
                GroupError::HeadroomAbovePool { .. } | GroupError::ObeysLossy => {
                    let stated = group.place_of("headroom").or(document.buffer().place_of("headroom"));
                    return Some(stated.unwrap_or(&group.place).clone());
                }
            };
            Some(group.first(keys).clone())
        }
        E::Queue { port, priority, error } => Some(of_queue(error, found(port)?.queue_of(*priority)?)),
        E::LsccPorts(LsccPortsError::Marking { port, priority, .. }) => {
            Some(of_ecn(found(port)?.queue_of(*priority)?, &["kmin"]))
        }
        E::LsccPorts(LsccPortsError::AddressTwice { port, address, .. }) => {
            notifiers::lscc::place_of_address(*address, found(port)?)
        }
        _ => None,
    }
}

fn of_one_port(error: &PortError, port: &PortDecl) -> Option<Place> {
    let keys: &[&str] = match error {
        PortError::MaxFrame { .. } => &["mtu", "max_frame"],
        PortError::TelemetryRate { .. } => {
            let direct = port.lscc.as_ref().filter(|_| port.int.is_none());
            return Some(direct.map_or_else(|| port.first(&["int"]), |lscc| lscc.first(&["direct"])).clone());
        }
        PortError::WatchdogTime { .. } => &["watchdog"],
        PortError::Repair(_) => &["repair"],
        PortError::LinkDelayInterval { .. } => &["link_delay"],
        PortError::LinkAgentInterval { .. } => &["lldp"],
        PortError::GroupAddress => &["mac"],
        PortError::ZeroPause => return Some(port.pfc().first(&["pause"]).clone()),
        PortError::FlowControl(error) => return flow_control::place(error, port),
        PortError::Notifiers(error) => return notifiers::place(error, port),
        PortError::Remap(_) => &["remap"],
        PortError::QueueCount { .. } | PortError::FirstQueues { .. } => return None,
    };
    Some(port.first(keys).clone())
}

fn of_queue(error: &QueueError, queue: &QueueDecl) -> Place {
    match error {
        QueueError::ZeroWeight => queue.first(&["weight"]).clone(),
        QueueError::Red(RedError::Order { .. }) => of_ecn(queue, &["kmin"]),
        QueueError::Red(RedError::Probability { .. }) => of_ecn(queue, &["pmax"]),
        QueueError::Red(RedError::Adaptive(error)) => {
            let adaptive = queue.ecn.as_ref().and_then(|ecn| ecn.adaptive.as_ref());
            let keys: &[&str] = match error {
                AdaptiveEcnError::Order { .. } => &["kmin", "kmax"],
                AdaptiveEcnError::Interval { .. } => &["interval"],
                AdaptiveEcnError::Incast { .. } => &["incast"],
            };
            adaptive.map_or(&queue.place, |it| it.first(keys)).clone()
        }
    }
}

fn of_ecn(queue: &QueueDecl, keys: &[&str]) -> Place {
    queue.ecn.as_ref().map_or(&queue.place, |ecn| ecn.first(keys)).clone()
}

/// The end of the message of `error`: the keys to write instead, where it is not clear what would be valid.
fn remedy(error: &ProgramError) -> String {
    let remedy = match error {
        ProgramError::LsccPorts(LsccPortsError::Marking { .. }) => "remove ecn from this queue".to_owned(),
        ProgramError::Port { error: PortError::Notifiers(error), .. } => notifiers::remedy(error),
        ProgramError::Port { error: PortError::Remap(error), .. } => remap_remedy(error),
        _ => String::new(),
    };
    if remedy.is_empty() { remedy } else { format!("; {remedy}") }
}

fn remap_remedy(error: &RemapError) -> String {
    match error {
        RemapError::Unoriented => "add orientation = \"uplink\", \"downlink\" or \"crosslink\"".to_owned(),
        RemapError::Default { priority } => {
            format!("choose another classify.default, or do not remap {priority}")
        }
        RemapError::NoCode { field, .. } => format!("add one to classify.{}", field.to_lowercase()),
        RemapError::Classification { .. } => "give both ports the same classify".to_owned(),
        _ => String::new(),
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
        E::Sprayed { .. } => Some(decl.first(&["spread"]).clone()),
        E::BridgeCapacity { .. } => Some(decl.first(&["capacity"]).clone()),
        _ => None,
    }
}

/// The key whose setting works with one lane only, and what to do about it.
fn of_lanes(LanesRefusal { port, what }: &LanesRefusal, document: &Document) -> (Place, &'static str) {
    use Unshared as U;
    let Some(port) = document.ports().iter().find(|it| it.name() == port) else {
        return (document.dpdk().first(&["lanes"]).clone(), "remove it");
    };
    let mut queues = port.queue.iter().flatten();
    let place = match what {
        U::FlowControl => {
            return (port.first(&["flow_control"]).clone(), flow_control::OF_LANES);
        }
        U::Jitter => return (flow_control::place_of_jitter(port), "write as much jitter as lateness"),
        U::RateLimit => {
            let of_queue = queues.find_map(|queue| queue.place_of("rate_limit"));
            port.place_of("rate_limit").or(of_queue).unwrap_or(&port.place).clone()
        }
        U::AdaptiveEcn => {
            let adaptive = queues.find_map(|queue| queue.ecn.as_ref()?.place_of("adaptive"));
            adaptive.unwrap_or(&port.place).clone()
        }
        U::Notifiers | U::Queues => notifiers::place_of_first(port).clone(),
        U::Remap => port.first(&["remap"]).clone(),
        U::Liveness => {
            let names = |decl: &&BundleDecl| decl.names().any(|name| name.value == port.name());
            let bundle = document.bundles().iter().find(names);
            let keys = ["liveness", "return_after", "hold_off", "drained"];
            bundle.map_or(&port.place, |decl| decl.first(&keys)).clone()
        }
        U::Int => port.first(&["int"]).clone(),
        U::Repair => port.first(&["repair"]).clone(),
    };
    (place, "remove it")
}
