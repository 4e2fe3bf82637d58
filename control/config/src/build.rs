//! From the file as it is written to the settings of a switch: names become numbers, and defaults
//! fill what is not there.

use std::path::Path;

use switch::program::{
    BufferSettings, GroupSettings, LosslessGroup, LossyQueue, PfcSettings, PortSettings, QueueSettings,
    RateLimit, Red, Settings, Threshold,
};
use switch::{BridgeSettings, ForwardingSettings, Neighbour, Route, RouteSettings};
use units::{BitRate, Bytes, Interval, PauseQuanta, PortId, Priority};
use wire::ethernet::MacAddress;

use crate::bifrost;
use crate::defaults;
use crate::emulation;
use crate::gateway::Link;
use crate::headroom::HeadroomSum;
use crate::lscc;
use crate::memory;
use crate::problem::{ProblemKind, nearest};
use crate::reader::{At, Place, Problems};
use crate::runtime::{self, Emulation, Runtime};
use crate::schema::{
    BufferDecl, Document, LosslessDecl, NeighbourDecl, PairDecl, PfcDecl, PortDecl, QueueDecl, RateLimitDecl,
    RouteDecl,
};
use crate::value::{Mode, PauseWish, SizeWish};
use crate::watchdog;

/// What a file asks for.
pub(crate) struct Built {
    pub settings: Settings,
    pub links: Vec<Link>,
    pub cell_occupancy: f64,
    pub seed_stated: bool,
    pub runtime: Runtime,
    /// Whether all ports that forwarding names exist.
    pub forwarding_resolved: bool,
}

/// `value`'s, or `default`.
pub(crate) fn or<T>(value: &Option<At<T>>, default: T) -> T
where
    T: Copy,
{
    value.as_ref().map_or(default, |at| at.value)
}

/// Builds the gateway called `name` that `document` describes, which stands in `directory`; `None`
/// where a port could not be built, which has been said.
pub(crate) fn build(
    document: &Document,
    name: &str,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Built> {
    let forwarding = forwarding(document, problems);
    let forwarding_resolved = !problems.has_errors();
    let cell_occupancy = or(&document.buffer.cell_occupancy, defaults::CELL_OCCUPANCY);
    let builder = Builder { problems, cell_occupancy, directory };
    let mut ports = Vec::new();
    let mut links = Vec::new();
    let mut emulations = Vec::new();
    for (index, decl) in document.ports.iter().enumerate() {
        let (link, emulation) = builder.link(decl)?;
        ports.push(builder.port(index, decl, &link)?);
        links.push(link);
        emulations.push(emulation);
    }
    let runtime = runtime::build(document, name, &ports, emulations, problems);
    let runs = runtime.devices.iter().any(Option::is_some);
    let mut buffer = buffer(&document.buffer, &ports);
    buffer.packing = runs.then(|| memory::packing(&buffer, &ports, &runtime));
    let seed = or(&document.seed, defaults::SEED);
    Some(Built {
        settings: Settings { ports, buffer, forwarding, seed },
        links,
        cell_occupancy,
        seed_stated: document.seed.is_some(),
        runtime,
        forwarding_resolved,
    })
}

/// All that the buffer can hold, in whole cells: pools, and what is reserved beside them.
pub(crate) fn capacity(buffer: &BufferSettings, ports: &[PortSettings]) -> Bytes {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let reserved: Bytes = groups.map(|group| group.reserved).sum();
    buffer.shared + buffer.headroom + reserved
}

fn buffer(decl: &BufferDecl, ports: &[PortSettings]) -> BufferSettings {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let wanted: Bytes = groups.map(|group| group.headroom).sum();
    let any_lossless = ports.iter().any(|port| !port.lossless().is_empty());
    let shared = or(&decl.shared, defaults::SHARED);
    BufferSettings {
        shared,
        headroom: or(&decl.headroom, wanted),
        egress_lossy: or(&decl.egress_lossy, defaults::egress_lossy(shared, any_lossless)),
        packing: None,
    }
}

struct Builder<'a> {
    problems: &'a Problems<'a>,
    cell_occupancy: f64,
    directory: Option<&'a Path>,
}

impl Builder<'_> {
    /// What is known of the link of a port, and what is emulated of it: a delay that stands alone is
    /// a distance to all that depends on one.
    fn link(&self, decl: &PortDecl) -> Option<(Link, Option<Emulation>)> {
        let stated = decl.distance.as_ref().map(|distance| distance.value);
        let emulation = match &decl.emulation {
            Some(declared) => Some(emulation::build(declared, stated, self.problems)?),
            None => None,
        };
        let distance = stated.or(emulation.map(|emulation| emulation::reach(emulation.delay)));
        let interface_delay = or(&decl.interface_delay, defaults::INTERFACE_DELAY);
        Some((Link { distance, interface_delay }, emulation))
    }

    fn port(&self, index: usize, decl: &PortDecl, link: &Link) -> Option<PortSettings> {
        let rate = decl.rate.as_ref()?.value;
        let max_frame = or(&decl.max_frame, defaults::MAX_FRAME);
        let tx_window = or(&decl.tx_window, defaults::TX_WINDOW);
        let queues = core::array::from_fn(|index| {
            let priority = Priority::from_low_bits(index as u8);
            queue(decl.queue(priority), priority, max_frame)
        });
        let mut port = PortSettings {
            name: decl.name().into(),
            mac: decl.mac.as_ref().map_or_else(|| default_mac(index), |mac| mac.value),
            addresses: decl.addresses.iter().flat_map(|list| &list.value).map(|it| it.value).collect(),
            rate,
            max_frame,
            tx_window,
            classification: decl.classify.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
            groups: Default::default(),
            queues,
            rate_limit: decl.rate_limit.as_ref().map(|limit| rate_limit(limit, max_frame)),
            pfc: PfcSettings { pause: defaults::PAUSE, obey: Default::default(), obey_global_pause: false },
            bifrost: None,
            lscc: None,
            watchdog: None,
            int: or(&decl.int, false),
        };
        if let Some(declared) = &decl.bifrost {
            port.bifrost = Some(bifrost::build(declared, &port, link, self.problems)?);
        }
        if let Some(declared) = &decl.lscc {
            let lscc = lscc::build(declared, &port, link, self.directory, self.problems)?;
            if let Some(bifrost) = &mut port.bifrost {
                lscc::make_room(bifrost, &lscc, decl);
            }
            port.lscc = Some(lscc);
        }
        self.groups(decl, &mut port, link)?;
        port.pfc.obey = port.lossless();
        if let Some(pfc) = &decl.pfc {
            self.pfc(pfc, &mut port);
        }
        port.watchdog = watchdog::build(decl.watchdog.as_ref(), &port, link);
        Some(port)
    }

    fn groups(&self, decl: &PortDecl, port: &mut PortSettings, link: &Link) -> Option<()> {
        let sum = link.terms(port, self.cell_occupancy).map(|terms| HeadroomSum::new(&terms));
        for declared in decl.lossless.iter().flatten() {
            let group = match &port.bifrost {
                Some(bifrost) => bifrost::group(declared, bifrost, port),
                None => self.group(declared, decl, port.max_frame, sum.as_ref())?,
            };
            for priority in &declared.priorities {
                port.groups[priority.value.index()] = GroupSettings::Lossless(group);
            }
        }
        Some(())
    }

    fn group(
        &self,
        decl: &LosslessDecl,
        port: &PortDecl,
        max_frame: Bytes,
        sum: Option<&HeadroomSum>,
    ) -> Option<LosslessGroup> {
        let xoff = or(&decl.xoff, const { defaults::share(defaults::XOFF_DYNAMIC_TH) });
        let wish = decl.headroom.as_ref().map_or(SizeWish::Auto, |wish| wish.value);
        let headroom = match (wish, sum) {
            (SizeWish::Given(bytes), _) => bytes,
            (SizeWish::Auto, Some(sum)) => sum.total(),
            (SizeWish::Auto, None) => {
                let asked = decl.headroom.as_ref().map(|wish| &wish.place);
                let place = asked.or(decl.place.as_ref()).or(port.place.as_ref())?;
                let when = "with headroom = \"auto\", which is the default: add distance = \"80km\" or the like to the port, or state the headroom";
                let key = "port.distance".into();
                self.problems.error(&Place { key, ..place.clone() }, ProblemKind::Needed { when });
                return None;
            }
        };
        let offset = or(&decl.xon_offset, max_frame + max_frame);
        let (xon, xon_offset) = defaults::resume(xoff, offset, max_frame);
        Some(LosslessGroup {
            reserved: or(&decl.reserved, reserved_below(xoff, max_frame)),
            xoff,
            xon: or(&decl.xon, xon),
            xon_offset,
            headroom,
        })
    }

    fn pfc(&self, decl: &PfcDecl, port: &mut PortSettings) {
        if let Some(pause) = &decl.pause {
            port.pfc.pause = match pause.value {
                PauseWish::Quanta(quanta) => PauseQuanta(quanta),
                PauseWish::Time(given) => {
                    let rate = port.rate;
                    let most = PauseQuanta::MAX.interval_at(rate);
                    if given > most {
                        let kind = ProblemKind::PauseTooLong { given, rate, most };
                        self.problems.error(&pause.place, kind);
                    }
                    PauseQuanta::covering(given, rate)
                }
            };
        }
        if let Some(obey) = &decl.obey {
            let priorities = obey.value.iter();
            port.pfc.obey =
                priorities.fold(Default::default(), |set: units::PrioritySet, it| set.with(it.value));
        }
        port.pfc.obey_global_pause = or(&decl.global_pause, false);
    }
}

/// One frame, so that a group always takes one; less where a fixed XOFF leaves no room for it.
fn reserved_below(xoff: Threshold, max_frame: Bytes) -> Bytes {
    match xoff {
        Threshold::Static(level) if level <= max_frame => Bytes(level.0 / 2),
        _ => max_frame,
    }
}

/// Locally administered: 02:00:00:00:00:01 for the first port.
fn default_mac(index: usize) -> MacAddress {
    let [.., high, low] = (index as u64 + 1).to_be_bytes();
    MacAddress([0x02, 0, 0, 0, high, low])
}

fn queue(decl: Option<&QueueDecl>, priority: Priority, max_frame: Bytes) -> QueueSettings {
    let mut queue = defaults::queue(priority, max_frame);
    let Some(decl) = decl else { return queue };
    queue.scheduling = or(&decl.scheduling, queue.scheduling);
    queue.rate_limit = decl.rate_limit.as_ref().map(|limit| rate_limit(limit, max_frame));
    queue.red = decl.ecn.as_ref().map(|ecn| Red {
        kmin: ecn.kmin.value,
        kmax: ecn.kmax.value,
        pmax: or(&ecn.pmax, defaults::PMAX),
        mark_at: or(&ecn.mark_at, Default::default()),
    });
    if let Some(lossy) = &decl.lossy {
        queue.lossy = LossyQueue {
            reserved: or(&lossy.reserved, queue.lossy.reserved),
            threshold: or(&lossy.threshold, queue.lossy.threshold),
        };
    }
    queue
}

fn rate_limit(decl: &RateLimitDecl, max_frame: Bytes) -> RateLimit {
    let rate: BitRate = decl.rate.value;
    RateLimit { rate, burst: or(&decl.burst, defaults::burst(rate, max_frame)) }
}

fn forwarding(document: &Document, problems: &Problems<'_>) -> ForwardingSettings {
    let decl = &document.forwarding;
    let names = Names { ports: &document.ports, problems };
    match decl.mode {
        Mode::Patch => ForwardingSettings::Patch(match &decl.pairs {
            Some(pairs) => pairs.value.iter().filter_map(|pair| names.pair(pair)).collect(),
            None if document.ports.len() == 2 => vec![(PortId(0), PortId(1))],
            None => {
                let place = Place { key: "forwarding.pairs".into(), ..decl.place.clone() };
                let when = "with mode = \"patch\" unless there are two ports; write for example pairs = [[\"dc0\", \"lh0\"]]";
                problems.error(&place, ProblemKind::Needed { when });
                Vec::new()
            }
        }),
        Mode::Bridge => {
            let default = BridgeSettings::default();
            let ageing: Interval = or(&decl.ageing, default.ageing);
            ForwardingSettings::Bridge(BridgeSettings {
                capacity: or(&decl.capacity, default.capacity),
                ageing,
            })
        }
        Mode::Route => ForwardingSettings::Route(RouteSettings {
            routes: decl.routes.iter().map(route).collect(),
            neighbours: decl.neighbours.iter().filter_map(|it| names.neighbour(it)).collect(),
        }),
    }
}

fn route(decl: &RouteDecl) -> Route {
    let next_hops = decl.next_hops.value.iter().map(|hop| hop.value).collect();
    Route { prefix: decl.prefix.value, next_hops }
}

struct Names<'a> {
    ports: &'a [PortDecl],
    problems: &'a Problems<'a>,
}

impl Names<'_> {
    fn port(&self, name: &str, place: &Place) -> Option<PortId> {
        if let Some(index) = self.ports.iter().position(|port| port.name() == name) {
            return u16::try_from(index).ok().map(PortId);
        }
        let names = || self.ports.iter().map(PortDecl::name);
        let kind = ProblemKind::Undefined {
            what: "port",
            got: name.into(),
            nearest: nearest(name, names()),
            valid: names().map(Into::into).collect(),
        };
        self.problems.error(place, kind);
        None
    }

    fn pair(&self, pair: &PairDecl) -> Option<(PortId, PortId)> {
        let (one, other) = &pair.ports;
        let (one, other) = (self.port(one, &pair.place), self.port(other, &pair.place));
        Some((one?, other?))
    }

    fn neighbour(&self, decl: &NeighbourDecl) -> Option<Neighbour> {
        let port = self.port(&decl.port.value, &decl.port.place)?;
        Some(Neighbour { address: decl.address.value, mac: decl.mac.value, port })
    }
}
