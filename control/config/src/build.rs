//! Builds the settings of a gateway from its file, and the file from the settings. Names become numbers, and missing
//! keys get defaults.

use std::path::Path;

use switch::program::{BufferSettings, GroupSettings, PortSettings, Settings};
use switch::{BridgeSettings, ForwardingSettings, KernelPath, Neighbour, Route, RouteSettings};
use units::{Bytes, PortId};

use crate::gateway::Gateway;
use crate::keys::bundle::BundleDecl;
use crate::keys::document::{BufferDecl, Document, GatewayDecl};
use crate::keys::forwarding::{ForwardingDecl, NeighbourDecl, Pair, RouteDecl};
use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::ports::{self, Builder};
use crate::problem::ProblemKind;
use crate::runtime::Runtime;
use crate::table::{at, list, or, values};
use crate::value::{Mode, Name, SpreadWord};
use crate::{bundle, defaults, device, emulation, kernel, link_agent, memory, notifiers, runtime};

/// The settings that a file describes.
pub(crate) struct Built {
    pub settings: Settings,
    pub links: Vec<Link>,
    pub cell_occupancy: f64,
    pub seed_stated: bool,
    pub runtime: Runtime,
    /// Whether all ports in `[forwarding]` exist.
    pub forwarding_resolved: bool,
}

/// Builds the gateway called `name` from `document`, a file in `directory`. Returns `None` and notes an error if a
/// port cannot be built.
pub(crate) fn build(
    document: &Document,
    name: &str,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Built> {
    let forwarding = forwarding(document, problems);
    let forwarding_resolved = !problems.has_errors();
    let cell_occupancy = document.buffer().cell_occupancy();
    let lanes = document.dpdk().lanes().into();
    let builder = Builder { problems, name, cell_occupancy, lanes, ports: document.ports(), directory };
    let mut ports = Vec::new();
    let mut links = Vec::new();
    let mut emulations = Vec::new();
    for (index, decl) in document.ports().iter().enumerate() {
        let (mut link, emulation) = builder.link(decl)?;
        let port = builder.port(index, decl, &link)?;
        link.willing = decl.lldp.as_ref().map(|it| link_agent::willing(it, &port)).unwrap_or_default();
        ports.push(port);
        links.push(link);
        emulations.push(emulation);
    }
    notifiers::add_queues(&mut ports);
    bundle::build(document, &mut ports, &links, (&emulations, directory), problems);
    let dpdk = runtime::dpdk(document.dpdk(), name);
    let runtime = Runtime {
        devices: device::build(document, &ports, &dpdk, problems),
        dpdk,
        control: runtime::control(document.control(), name, problems),
        process: runtime::process(document.process(), problems),
        emulations,
        kernel: kernel::build(document, &ports, &links, problems),
    };
    let runs = runtime.devices.iter().any(Option::is_some);
    let mut buffer = buffer(document.buffer(), &ports);
    buffer.packing = runs.then(|| memory::packing(&buffer, &ports, &forwarding, &runtime));
    Some(Built {
        settings: Settings { ports, buffer, forwarding, seed: document.gateway().seed() },
        links,
        cell_occupancy,
        seed_stated: document.gateway().seed.is_some(),
        runtime,
        forwarding_resolved,
    })
}

fn buffer(decl: &BufferDecl, ports: &[PortSettings]) -> BufferSettings {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let wanted: Bytes = groups.map(|group| group.headroom).sum();
    let any_lossless = ports.iter().any(|port| !port.lossless().is_empty());
    let shared = decl.shared();
    BufferSettings {
        shared,
        headroom: or(&decl.headroom, wanted),
        egress_lossy: or(&decl.egress_lossy, defaults::egress_lossy(shared, any_lossless)),
        packing: None,
    }
}

fn forwarding(document: &Document, problems: &Problems<'_>) -> ForwardingSettings {
    let decl = document.forwarding();
    let names = Names { document, problems };
    match decl.mode() {
        Mode::Patch => ForwardingSettings::Patch(match &decl.pairs {
            Some(pairs) => pairs.value.iter().filter_map(|pair| names.pair(pair)).collect(),
            None if names.heads().len() == 2 => vec![(names.heads()[0], names.heads()[1])],
            None => {
                let when = "with mode = \"patch\" unless there are two ports; for example, write pairs = [[\"dc0\", \"lh0\"]]";
                problems.error(&decl.place.of_key("pairs"), ProblemKind::Needed { when });
                Vec::new()
            }
        }),
        Mode::Bridge => {
            ForwardingSettings::Bridge(BridgeSettings { capacity: decl.capacity(), ageing: decl.ageing() })
        }
        Mode::Route => ForwardingSettings::Route(RouteSettings {
            routes: decl.route.iter().flatten().filter_map(route).collect(),
            neighbours: decl.neighbour.iter().flatten().filter_map(|it| names.neighbour(it)).collect(),
            kernel: document
                .kernel
                .as_ref()
                .map(|it| KernelPath { priority: it.priority(), learned: [].into() }),
            sprays: decl.spread() == SpreadWord::Packet,
        }),
    }
}

fn route(decl: &RouteDecl) -> Option<Route> {
    let next_hops = values(&decl.next_hops).map(|hop| hop.value).collect();
    Some(Route { prefix: decl.prefix.as_ref()?.value, next_hops })
}

struct Names<'a> {
    document: &'a Document,
    problems: &'a Problems<'a>,
}

impl Names<'_> {
    /// The ports in no bundle, and the first members of bundles.
    fn heads(&self) -> Vec<PortId> {
        let behind = |port: &PortDecl| {
            let mut bundles = self.document.bundles().iter();
            bundles.any(|bundle| bundle.names().skip(1).any(|name| name.value == port.name()))
        };
        let ports = (0..).map(PortId).zip(self.document.ports());
        ports.filter(|(_, port)| !behind(port)).map(|(number, _)| number).collect()
    }

    /// The port called `name`, or the first member of the bundle of that name.
    fn port(&self, name: &str, place: &Place) -> Option<PortId> {
        let (ports, bundles) = (self.document.ports(), self.document.bundles());
        let bundle = bundles.iter().find(|bundle| bundle.name() == name);
        let first = bundle.and_then(|bundle| bundle.names().next()).map_or(name, |first| &first.value);
        if let Some(index) = ports.iter().position(|port| port.name() == first) {
            return u16::try_from(index).ok().map(PortId);
        }
        let names = ports.iter().map(PortDecl::name).chain(bundles.iter().map(BundleDecl::name));
        self.problems.error_with(place, || ProblemKind::undefined("port", name, names));
        None
    }

    fn pair(&self, At { value: Pair(one, other), place }: &At<Pair>) -> Option<(PortId, PortId)> {
        for name in [one, other] {
            let bundles = self.document.bundles();
            let bundle = bundles.iter().find(|it| it.names().any(|member| member.value == *name));
            if let Some(bundle) = bundle {
                let (member, bundle) = (name.clone(), bundle.name().into());
                self.problems.error(place, ProblemKind::PatchedMember { member, bundle });
                return None;
            }
        }
        let (one, other) = (self.port(one, place), self.port(other, place));
        Some((one?, other?))
    }

    fn neighbour(&self, decl: &NeighbourDecl) -> Option<Neighbour> {
        let At { value: name, place } = decl.port.as_ref()?;
        let port = self.port(name, place)?;
        Some(Neighbour { address: decl.address.as_ref()?.value, mac: decl.mac.as_ref()?.value, port })
    }
}

/// The file of `gateway` with every key, at the value in force.
pub(crate) fn in_force(gateway: &Gateway) -> Document {
    let settings = gateway.program.settings();
    let (runtime, buffer) = (&gateway.runtime, &settings.buffer);
    let with_links = settings.ports.iter().zip(&gateway.links).enumerate();
    let ports = with_links.map(|(index, (port, link))| PortDecl {
        device: runtime.devices[index].as_ref().map(device::in_force),
        emulation: runtime.emulations[index].as_ref().map(emulation::in_force),
        ..ports::in_force(port, &settings.ports, link)
    });
    Document {
        gateway: Some(GatewayDecl {
            name: at(Name(gateway.name.clone())),
            seed: at(settings.seed),
            place: Place::default(),
        }),
        buffer: Some(BufferDecl {
            shared: at(buffer.shared),
            headroom: at(buffer.headroom),
            egress_lossy: at(buffer.egress_lossy),
            cell_occupancy: at(gateway.cell_occupancy),
            place: Place::default(),
        }),
        forwarding: Some(forwarding_in_force(&settings.forwarding, &settings.ports)),
        dpdk: Some(runtime::dpdk_in_force(&runtime.dpdk)),
        control: Some(runtime::control_in_force(&runtime.control)),
        process: Some(runtime::process_in_force(&runtime.process)),
        kernel: runtime
            .kernel
            .as_ref()
            .zip(settings.forwarding.kernel_path())
            .map(|(it, path)| kernel::in_force(it, path)),
        profile: None,
        bundle: bundle::in_force(&settings.ports, runtime.kernel.as_ref()),
        port: Some(ports.collect()),
        place: Place::default(),
    }
}

fn forwarding_in_force(forwarding: &ForwardingSettings, ports: &[PortSettings]) -> ForwardingDecl {
    // A patch names bundles, and a neighbour behind the first member is behind its bundle.
    let name = |port: &PortId| {
        let port = &ports[port.index()];
        port.bundle.as_ref().map_or(&port.name, |it| &it.bundle).clone()
    };
    let name_of_hop = |port: &PortId| match &ports[port.index()].bundle {
        Some(bundle) if bundle.head != *port => ports[port.index()].name.clone(),
        _ => name(port),
    };
    match forwarding {
        ForwardingSettings::Patch(pairs) => ForwardingDecl {
            mode: at(Mode::Patch),
            pairs: list(pairs.iter().map(|(one, other)| Pair(name(one), name(other)))),
            ..Default::default()
        },
        ForwardingSettings::Bridge(bridge) => ForwardingDecl {
            mode: at(Mode::Bridge),
            capacity: at(bridge.capacity),
            ageing: at(bridge.ageing),
            ..Default::default()
        },
        ForwardingSettings::Route(RouteSettings { routes, neighbours, kernel: _, sprays }) => {
            let routes = routes.iter().map(|it| RouteDecl {
                prefix: at(it.prefix),
                next_hops: list(it.next_hops.iter().copied()),
                place: Place::default(),
            });
            let neighbours = neighbours.iter().map(|it| NeighbourDecl {
                address: at(it.address),
                mac: at(it.mac),
                port: at(name_of_hop(&it.port)),
                place: Place::default(),
            });
            ForwardingDecl {
                mode: at(Mode::Route),
                spread: at(if *sprays { SpreadWord::Packet } else { SpreadWord::Flow }),
                route: Some(routes.collect()),
                neighbour: Some(neighbours.collect()),
                ..Default::default()
            }
        }
    }
}
