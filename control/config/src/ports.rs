//! Builds the settings of a port from its keys, and the keys from the settings.

use std::path::Path;

use switch::congestion::adaptive_ecn::Settings as AdaptiveEcn;
use switch::program::{
    Classification, DynamicThreshold, FlowControl, GroupSettings, LosslessGroup, LossyQueue, PfcSettings,
    PortSettings, QueueSettings, RateLimit, Red, Scheduling, Threshold, Trust,
};
use units::{Bytes, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::MacAddress;

use crate::headroom::{HeadroomSum, default_tx_window};
use crate::keys::classify::{ClassifyDecl, Codes, RemapDecl};
use crate::keys::port::PortDecl;
use crate::keys::queueing::{
    AdaptiveEcnDecl, BucketDecl, EcnDecl, LosslessDecl, LossyDecl, PfcDecl, QueueDecl, RateLimitDecl,
};
use crate::link::{Link, Senders};
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::runtime::Emulation;
use crate::table::{Table, at, list, or, values};
use crate::value::{Length, Name, PauseChoice, SchedulingWord, SizeChoice};
use crate::{defaults, emulation, flow_control, link_agent, link_delay, notifiers, repair, watchdog};

/// Builds ports.
pub(crate) struct Builder<'a> {
    pub problems: &'a Problems<'a>,
    /// The name of the gateway.
    pub name: &'a str,
    pub cell_occupancy: f64,
    /// Lanes of the gateway.
    pub lanes: usize,
    /// All ports of the file.
    pub ports: &'a [PortDecl],
    /// The directory in which paths of key files begin.
    pub directory: Option<&'a Path>,
}

impl Builder<'_> {
    /// The port's link and its emulation. Without a `distance`, the emulated delay determines one.
    pub fn link(&self, decl: &PortDecl) -> Option<(Link, Option<Emulation>)> {
        let stated = decl.distance.as_ref().map(|distance| distance.value);
        let emulation = match &decl.emulation {
            Some(declared) => Some(emulation::build(declared, stated, self.problems)?),
            None => None,
        };
        let distance = stated.or(emulation.map(|emulation| emulation::reach(emulation.delay)));
        let senders = decl
            .lscc
            .as_ref()
            .map_or_else(Senders::default, |lscc| lscc.senders().settings(Senders::default()));
        let delay = decl.link_delay.as_ref().and_then(|it| link_delay::bounds(it, distance, self.problems));
        // Until the link is measured, it may be as long as the bounds allow.
        let distance = distance.or(delay.map(|bounds| emulation::reach(bounds.most)));
        Some((
            Link {
                distance,
                interface_delay: decl.interface_delay(),
                senders,
                delay,
                willing: PrioritySet::EMPTY,
                lanes: self.lanes,
            },
            emulation,
        ))
    }

    /// Builds the port, and notes its problems.
    pub fn port(&self, index: usize, decl: &PortDecl, link: &Link) -> Option<PortSettings> {
        let rate = decl.rate.as_ref()?.value;
        let max_frame = decl.longest_frame();
        let mut port = PortSettings {
            name: decl.name().into(),
            mac: decl.mac.as_ref().map_or_else(|| default_mac(index), |mac| mac.value),
            addresses: values(&decl.addresses).map(|it| it.value).collect(),
            rate,
            max_frame,
            device_mtu: None,
            tx_window: decl.tx_window.as_ref().map_or_else(|| default_tx_window(rate), |it| it.value),
            bundle: None,
            classification: classification(decl.classify()),
            orientation: decl.orientation.as_ref().map(|it| it.value),
            remap: decl.remap.as_ref().map(|it| it.remap).unwrap_or_default(),
            groups: Default::default(),
            queues: Priority::all().map(|it| queue(decl.queue_of(it), it, max_frame)).collect(),
            rate_limit: decl.rate_limit.as_ref().and_then(|limit| rate_limit(limit, max_frame)),
            pfc: PfcSettings { pause: defaults::PAUSE, obey: Default::default(), obey_global_pause: false },
            flow_control: FlowControl::Pfc,
            notifiers: Default::default(),
            slow: None,
            watchdog: None,
            repair: None,
            link_delay: decl.link_delay.as_ref().map(|it| link_delay::build(it, link)),
            link_agent: None,
            int: decl.int(),
        };
        if let Some(declared) = &decl.repair {
            port.repair = Some(repair::build((declared, decl), &port, link, self.directory, self.problems)?);
        }
        port.flow_control = flow_control::build(decl, &port, link, self.ports, self.problems)?;
        port.notifiers = notifiers::build(decl, &mut port, link, self.directory, self.problems)?;
        self.groups(decl, &mut port, link)?;
        flow_control::add_queues(&mut port);
        port.pfc.obey = port.lossless();
        self.pfc(decl.pfc(), &mut port);
        port.watchdog = watchdog::build(decl.watchdog.as_ref(), &port, link);
        if let Some(declared) = &decl.lldp {
            link_agent::check(declared, &port, self.problems);
            let first = self.ports.first().and_then(|it| it.mac.as_ref());
            let first = first.map_or_else(|| default_mac(0), |mac| mac.value);
            port.link_agent = Some(Box::new(link_agent::build(declared, &port, self.name, first)));
        }
        Some(port)
    }

    fn groups(&self, decl: &PortDecl, port: &mut PortSettings, link: &Link) -> Option<()> {
        let sum = link.headroom(port, self.cell_occupancy);
        for declared in decl.lossless.iter().flatten() {
            let group = match flow_control::group(declared, port, sum.as_ref()) {
                Some(group) => group,
                None => self.group(declared, port.max_frame, sum.as_ref())?,
            };
            for priority in values(&declared.priorities) {
                port.groups[priority.value.index()] = GroupSettings::Lossless(group);
            }
        }
        Some(())
    }

    fn group(
        &self,
        decl: &LosslessDecl,
        max_frame: Bytes,
        sum: Option<&HeadroomSum>,
    ) -> Option<LosslessGroup> {
        let xoff = or(&decl.threshold(), const { defaults::share(defaults::XOFF_DYNAMIC_TH) });
        let choice = decl.headroom.as_ref().map_or(SizeChoice::Auto, |choice| choice.value);
        let headroom = match (choice, sum) {
            (SizeChoice::Given(bytes), _) => bytes,
            (SizeChoice::Auto, Some(sum)) => sum.total(),
            (SizeChoice::Auto, None) => {
                let place = decl.first(&["headroom"]);
                let when = "for headroom = \"auto\", which is the default; for example, write distance = \"80km\" on the port, or set headroom";
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
                PauseChoice::Quanta(quanta) => PauseQuanta(quanta),
                PauseChoice::Time(given) => {
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
            port.pfc.obey = obey.value.iter().map(|it| it.value).collect();
        }
        port.pfc.obey_global_pause = decl.global_pause();
    }
}

/// One frame, so that a group can always take one; less if a fixed XOFF leaves no room for it.
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
    queue.scheduling = or(&decl.turn(), queue.scheduling);
    queue.rate_limit = decl.rate_limit.as_ref().and_then(|limit| rate_limit(limit, max_frame));
    queue.red = decl.ecn.as_ref().and_then(|ecn| {
        let (kmin, kmax) = (ecn.kmin.as_ref()?.value, ecn.kmax.as_ref()?.value);
        let adaptive = match &ecn.adaptive {
            Some(decl) => Some(adaptive_ecn(decl)?),
            None => None,
        };
        Some(Red { kmin, kmax, pmax: ecn.pmax(), mark_at: ecn.mark_at(), adaptive })
    });
    let lossy = decl.lossy();
    queue.lossy = LossyQueue {
        reserved: or(&lossy.reserved, queue.lossy.reserved),
        threshold: or(&lossy.threshold(), queue.lossy.threshold),
    };
    queue
}

fn adaptive_ecn(decl: &AdaptiveEcnDecl) -> Option<AdaptiveEcn> {
    let (kmin, kmax) = (decl.kmin.as_ref()?.value, decl.kmax.as_ref()?.value);
    Some(AdaptiveEcn { kmin, kmax, interval: decl.interval(), incast: decl.incast() })
}

fn rate_limit(RateLimitDecl(decl): &RateLimitDecl, max_frame: Bytes) -> Option<RateLimit> {
    let rate = decl.rate.as_ref()?.value;
    Some(RateLimit { rate, burst: or(&decl.burst, defaults::burst(rate, max_frame)) })
}

fn classification(decl: &ClassifyDecl) -> Classification {
    let mut classification = Classification { trust: decl.trust(), ..Classification::default() };
    classification.default = or(&decl.default, classification.default);
    let others = decl.default.as_ref().map(|at| at.value);
    if let Some(codes) = &decl.dscp {
        codes.apply(&mut classification.dscp, others);
    }
    if let Some(codes) = &decl.pcp {
        codes.apply(&mut classification.pcp, others);
    }
    classification
}

/// The keys from which [`Builder::port`] builds the same port, one of `ports`, without its device and its emulated link.
pub(crate) fn in_force(port: &PortSettings, ports: &[PortSettings], link: &Link) -> PortDecl {
    let lossless =
        |priority: Priority| Some(group_in_force(priority, port.groups[priority.index()].lossless()?));
    let class = &port.classification;
    PortDecl {
        name: at(Name(port.name.clone())),
        rate: at(port.rate),
        profile: None,
        mac: at(port.mac),
        addresses: list(port.addresses.iter().copied()),
        mtu: None,
        max_frame: at(Length(port.max_frame)),
        distance: link.distance.and_then(at),
        interface_delay: at(link.interface_delay),
        tx_window: at(port.tx_window),
        int: at(port.int),
        orientation: port.orientation.and_then(at),
        remap: RemapDecl::of(port.remap),
        classify: Some(ClassifyDecl {
            trust: at(class.trust),
            default: at(class.default),
            dscp: (class.trust == Trust::Dscp).then(|| Codes::new(&class.dscp)),
            pcp: (class.trust != Trust::Nothing).then(|| Codes::new(&class.pcp)),
            place: Place::default(),
        }),
        lossless: Some(Priority::all().filter_map(lossless).collect()),
        queue: Some(port.queues.iter().take(Priority::COUNT).map(queue_in_force).collect()),
        rate_limit: port.rate_limit.map(limit_in_force),
        pfc: Some(PfcDecl {
            pause: at(PauseChoice::Quanta(port.pfc.pause.0)),
            obey: list(port.pfc.obey.iter()),
            global_pause: at(port.pfc.obey_global_pause),
            place: Place::default(),
        }),
        repair: repair::in_force(port),
        link_delay: link_delay::in_force(port, link),
        lldp: link_agent::in_force(port, link),
        watchdog: watchdog::in_force(port),
        device: None,
        emulation: None,
        ..notifiers::in_force(&port.notifiers, link, flow_control::in_force(&port.flow_control, ports))
    }
}

/// The keys of a threshold: a fixed level, or a share of the pool.
fn threshold_in_force(threshold: Threshold) -> (Option<At<Bytes>>, Option<At<DynamicThreshold>>) {
    match threshold {
        Threshold::Static(level) => (at(level), None),
        Threshold::Dynamic(share) => (None, at(share)),
    }
}

fn group_in_force(priority: Priority, group: &LosslessGroup) -> LosslessDecl {
    let (xoff, dynamic_th) = threshold_in_force(group.xoff);
    LosslessDecl {
        priorities: list([priority]),
        profile: None,
        reserved: at(group.reserved),
        xon: at(group.xon),
        // A fixed level has no offset.
        xon_offset: dynamic_th.as_ref().and_then(|_| at(group.xon_offset)),
        xoff,
        dynamic_th,
        headroom: at(SizeChoice::Given(group.headroom)),
        place: Place::default(),
    }
}

fn queue_in_force(queue: &QueueSettings) -> QueueDecl {
    let (scheduling, weight) = match queue.scheduling {
        Scheduling::Strict => (at(SchedulingWord::Strict), None),
        Scheduling::Weighted(weight) => (None, at(weight)),
    };
    let adaptive = |it: AdaptiveEcn| AdaptiveEcnDecl {
        kmin: at(it.kmin),
        kmax: at(it.kmax),
        interval: at(it.interval),
        incast: at(it.incast),
        place: Place::default(),
    };
    let ecn = |red: Red| EcnDecl {
        kmin: at(red.kmin),
        kmax: at(red.kmax),
        pmax: at(red.pmax),
        mark_at: at(red.mark_at),
        adaptive: red.adaptive.map(adaptive),
        place: Place::default(),
    };
    let LossyQueue { reserved, threshold: limit } = queue.lossy;
    let (r#static, dynamic_th) = threshold_in_force(limit);
    QueueDecl {
        priorities: list([queue.priority]),
        profile: None,
        scheduling,
        weight,
        rate_limit: queue.rate_limit.map(limit_in_force),
        ecn: queue.red.map(ecn),
        lossy: Some(LossyDecl { reserved: at(reserved), r#static, dynamic_th, place: Place::default() }),
        place: Place::default(),
    }
}

fn limit_in_force(RateLimit { rate, burst }: RateLimit) -> RateLimitDecl {
    RateLimitDecl(BucketDecl { rate: at(rate), burst: at(burst), place: Place::default() })
}
