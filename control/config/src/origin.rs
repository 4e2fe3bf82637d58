//! From what the switch refuses back to the key that asked for it.

use core::net::IpAddr;

use switch::ForwardingSettings;
use switch::program::{BifrostError, PfcSettings, Program, ProgramError, QueueSettings, Settings};
use units::{PauseQuanta, Priority, PrioritySet};

use crate::build::Built;
use crate::reader::{At, Place, Problems};
use crate::schema::{BifrostDecl, Document, LosslessDecl, LsccDecl, PortDecl, QueueDecl};

/// Checks `settings`, and notes what does not hold: the first error of the buffer, of each port,
/// and of forwarding.
pub(crate) fn check(built: &Built, document: &Document, problems: &Problems<'_>) {
    let settings = &built.settings;
    let note = |result: Result<Program, ProgramError>| {
        if let Err(error) = result {
            let place = place(&error, document);
            problems.error(&place, error);
        }
    };
    // Program::new stops at the first error. Each port by itself, and forwarding with ports that
    // promise nothing, show one from each.
    let Settings { buffer, seed, .. } = *settings;
    for port in &settings.ports {
        let forwarding = ForwardingSettings::Patch(Vec::new());
        note(Program::new(Settings { ports: vec![port.clone()], forwarding, buffer, seed }));
    }
    if !built.forwarding_resolved {
        return;
    }
    let mut plain = settings.clone();
    for port in &mut plain.ports {
        port.groups = Default::default();
        port.bifrost = None;
        port.lscc = None;
        port.queues = port.queues.map(|queue| QueueSettings { red: None, ..queue });
        port.pfc =
            PfcSettings { pause: PauseQuanta::MAX, obey: PrioritySet::EMPTY, obey_global_pause: false };
    }
    note(Program::new(plain));
}

/// Where the key at fault stands.
pub(crate) fn place(error: &ProgramError, document: &Document) -> Place {
    use ProgramError as E;
    let top = |key: &str| Place { key: key.into(), offset: 0 };
    let buffer = || document.buffer.place.clone().unwrap_or_else(|| top("buffer"));
    let found = match error {
        E::PortCount { .. } => document.ports.first().and_then(|port| port.place.clone()),
        E::DuplicateName { port } => last(port, document).and_then(|it| of(&it.name)),
        E::MaxFrame { port, .. } => last(port, document).and_then(|it| of(&it.max_frame)),
        E::GroupAddress { port } => last(port, document).and_then(|it| of(&it.mac)),
        E::XonAboveXoff { port, priority, .. } => {
            group(port, *priority, document).and_then(|it| of(&it.xon).or_else(|| of(&it.xoff)))
        }
        E::XoffWithinReserved { port, priority, .. } => {
            group(port, *priority, document).and_then(|it| of(&it.xoff).or_else(|| of(&it.reserved)))
        }
        E::XoffAbovePool { port, priority, .. } => {
            group(port, *priority, document).and_then(|it| of(&it.xoff))
        }
        E::HeadroomAbovePool { port, priority, .. } => group(port, *priority, document)
            .and_then(|it| of(&it.headroom))
            .or_else(|| of(&document.buffer.headroom)),
        E::ObeysLossy { port, priority } => last(port, document)
            .and_then(|it| it.pfc.as_ref()?.obey.as_ref())
            .and_then(|obey| obey.value.iter().find(|it| it.value == *priority))
            .map(|it| it.place.clone()),
        E::ZeroPause { port } => last(port, document).and_then(|it| of(&it.pfc.as_ref()?.pause)),
        E::Bifrost { port, error: BifrostError::Slot { .. } } => {
            bifrost(port, document).and_then(|it| of(&it.slot))
        }
        E::Bifrost { port, error: BifrostError::Buffer { .. } } => {
            bifrost(port, document).and_then(|it| of(&it.buffer))
        }
        E::RedOrder { port, priority, .. } => {
            queue(port, *priority, document).and_then(|it| Some(it.ecn.as_ref()?.kmin.place.clone()))
        }
        E::RedProbability { port, priority, .. } => {
            queue(port, *priority, document).and_then(|it| of(&it.ecn.as_ref()?.pmax))
        }
        E::ZeroWeight { port, priority } => {
            queue(port, *priority, document).and_then(|it| of(&it.scheduling))
        }
        E::LossyAboveShared { .. } => {
            of(&document.buffer.egress_lossy).or_else(|| of(&document.buffer.shared))
        }
        _ => lscc(error, document).or_else(|| forwarding(error, document)),
    };
    found.unwrap_or_else(|| match error {
        E::LossyAboveShared { .. } => buffer(),
        E::PortCount { .. } => top("port"),
        _ => of_port(error, document).unwrap_or_else(|| document.forwarding.place.clone()),
    })
}

/// The port that `error` names, where its key is not known.
fn of_port(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    match error {
        E::XonAboveXoff { port, priority, .. }
        | E::XoffWithinReserved { port, priority, .. }
        | E::XoffAbovePool { port, priority, .. }
        | E::HeadroomAbovePool { port, priority, .. } => group(port, *priority, document)?.place.clone(),
        E::RedOrder { port, priority, .. }
        | E::RedProbability { port, priority, .. }
        | E::ZeroWeight { port, priority } => queue(port, *priority, document)?.place.clone(),
        E::DuplicateName { port }
        | E::MaxFrame { port, .. }
        | E::GroupAddress { port }
        | E::ObeysLossy { port, .. }
        | E::ZeroPause { port } => last(port, document)?.place.clone(),
        E::Bifrost { port, .. } => Some(bifrost(port, document)?.place.clone()),
        E::LsccWithoutLossless { port }
        | E::LsccInterval { port, .. }
        | E::LsccInFlight { port, .. }
        | E::LsccRates { port, .. } => Some(lscc_of(port, document)?.place.clone()),
        _ => None,
    }
}

/// The key of LSCC at fault.
fn lscc(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    let on = |port: &String| lscc_of(port, document);
    match error {
        E::LsccInterval { port, .. } | E::LsccInFlight { port, .. } => {
            on(port).and_then(|it| of(&it.interval).or_else(|| of(&it.round_trip)))
        }
        E::LsccRates { port, most, rate, .. } => {
            let above = most > rate;
            on(port).and_then(|it| of(&it.most).filter(|_| above).or_else(|| of(&it.least)))
        }
        E::LsccReference { port } => on(port).and_then(|it| of(&it.reference)),
        E::LsccPseudoReference { port } => on(port).and_then(|it| of(&it.pseudo_reference)),
        E::LsccCnpInterval { port, .. } => on(port).and_then(|it| of(&it.cnp_interval)),
        E::LsccLongFlow { port, .. } => on(port).and_then(|it| of(&it.long_flow)),
        E::LsccFlows { port, .. } => on(port).and_then(|it| of(&it.flows)),
        E::LsccAgeing { port } => on(port).and_then(|it| of(&it.ageing)),
        E::LsccAddress { port, address }
        | E::LsccToItself { port, address }
        | E::LsccAddressTwice { port, address, .. } => {
            let lscc = on(port)?;
            let at = if lscc.peer.value == *address { &lscc.peer } else { &lscc.local };
            Some(at.place.clone())
        }
        E::LsccMarking { port, priority, .. } => {
            queue(port, *priority, document).and_then(|it| Some(it.ecn.as_ref()?.kmin.place.clone()))
        }
        _ => None,
    }
}

fn forwarding(error: &ProgramError, document: &Document) -> Option<Place> {
    use ProgramError as E;
    let decl = &document.forwarding;
    let route = |shown: &str| decl.routes.iter().rev().find(|it| it.prefix.value.to_string() == shown);
    let neighbour = |address: IpAddr| decl.neighbours.iter().find(|it| it.address.value == address);
    let pair = |name: &str| {
        let pairs = decl.pairs.iter().flat_map(|pairs| pairs.value.iter().rev());
        pairs.clone().find(|pair| pair.ports.0 == name || pair.ports.1 == name).map(|it| it.place.clone())
    };
    match error {
        E::PatchedToItself { port } => decl
            .pairs
            .iter()
            .flat_map(|pairs| &pairs.value)
            .find(|pair| pair.ports.0 == *port && pair.ports.1 == *port)
            .map(|pair| pair.place.clone()),
        E::PatchedTwice { port } => pair(port),
        E::Prefix { prefix } => route(prefix).map(|it| it.prefix.place.clone()),
        E::NoNextHop { prefix } => route(prefix).map(|it| it.next_hops.place.clone()),
        E::UnknownNextHop { prefix, next_hop } => route(prefix)
            .and_then(|it| it.next_hops.value.iter().find(|hop| hop.value == *next_hop))
            .map(|hop| hop.place.clone()),
        E::DuplicatePrefix { prefix } => {
            let host = || {
                let twice = decl.neighbours.iter().rev();
                let shown = |it: IpAddr| ipnet::IpNet::from(it).to_string();
                twice.clone().find(|it| shown(it.address.value) == *prefix).map(|it| it.address.place.clone())
            };
            route(prefix).map(|it| it.prefix.place.clone()).or_else(host)
        }
        E::NeighbourGroupAddress { neighbour: address } => neighbour(*address).map(|it| it.mac.place.clone()),
        E::BridgeCapacity { .. } => of(&decl.capacity),
        _ => None,
    }
}

fn of<T>(value: &Option<At<T>>) -> Option<Place> {
    value.as_ref().map(|at| at.place.clone())
}

fn last<'a>(name: &str, document: &'a Document) -> Option<&'a PortDecl> {
    document.ports.iter().rev().find(|port| port.name() == name)
}

fn group<'a>(port: &str, priority: Priority, document: &'a Document) -> Option<&'a LosslessDecl> {
    last(port, document)?.group(priority)
}

fn bifrost<'a>(port: &str, document: &'a Document) -> Option<&'a BifrostDecl> {
    last(port, document)?.bifrost.as_ref()
}

fn lscc_of<'a>(port: &str, document: &'a Document) -> Option<&'a LsccDecl> {
    last(port, document)?.lscc.as_ref()
}

fn queue<'a>(port: &str, priority: Priority, document: &'a Document) -> Option<&'a QueueDecl> {
    last(port, document)?.queue(priority)
}
