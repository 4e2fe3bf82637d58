//! Checks that need rates, distances and the whole file. They find configurations that would run but fail their
//! purpose.

use switch::ForwardingSettings;
use switch::liveness::Liveness;
use switch::program::{
    GroupSettings, LosslessGroup, PortSettings, RateLimit, Red, Scheduling, Settings, Threshold, Trust,
};
use units::{Bytes, PortId, Priority};

use crate::build::Built;
use crate::bundle;
use crate::cores;
use crate::flow_control::{self, bifrost};
use crate::headroom::{HeadroomSum, frame_time};
use crate::keys::classify::Codes;
use crate::keys::document::Document;
use crate::keys::port::{FARTHEST, PortDecl};
use crate::keys::queueing::{LosslessDecl, QueueDecl, RateLimitDecl};
use crate::keys::running::DeviceDecl;
use crate::lateness;
use crate::link::Link;
use crate::lscc_sum::LsccSum;
use crate::notes::Problems;
use crate::notifiers::lscc;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::runtime::Runtime;
use crate::table::{Shape, Table, values};
use crate::thresholds::{alone, capacity, highest_xoff};
use crate::value::{LivenessWord, SizeChoice};
use crate::watchdog;

/// Notes the errors and warnings of all checks.
pub(crate) fn check(built: &Built, document: &Document, problems: &Problems<'_>) {
    let check = Check { built, settings: &built.settings, document, problems };
    check_cores(built, document, problems);
    check_teams(&built.settings, &built.runtime, document, problems);
    check.headroom_pool();
    check_hellos(built, document, problems);
    for (index, decl) in document.ports().iter().enumerate() {
        let port = &built.settings.ports[index];
        check.pause(index, port, decl);
        check.classes(port, decl);
        check.limit(port.rate_limit, port, decl.rate_limit.as_ref());
        for declared in decl.lossless.iter().flatten() {
            check.group(index, port, declared);
        }
        flow_control::check(port, check.settings, decl, problems);
        if flow_control::lateness(&port.flow_control).is_none()
            && !port.lossless().is_empty()
            && built.links[index].distance.is_none()
        {
            problems.warning(&decl.place, ProblemKind::HeadroomUnchecked { port: port.name.clone() });
        }
        let sum = LsccSum::new(port, &built.links[index], &built.settings.buffer);
        if let (Some(lscc), Some(sum), Some(declared)) = (&port.notifiers.lscc, sum, &decl.lscc) {
            lscc::check(lscc, port, &sum, (declared, bifrost::declared(decl).as_ref()), problems);
        }
        check.obedience(index, decl);
        if let Some(choice) = &decl.watchdog {
            watchdog::check(choice, port, problems);
        }
        for declared in decl.queue.iter().flatten() {
            check.queue(index, port, declared);
        }
    }
}

/// Warns about members that a core which is as late as the buffer covers may take for dead.
fn check_hellos(built: &Built, document: &Document, problems: &Problems<'_>) {
    for decl in document.bundles().iter().filter(|decl| decl.liveness() == LivenessWord::Hello) {
        let members = bundle::members(decl, document.ports(), problems).into_iter();
        let covered = |port: PortId| {
            lateness::covered(
                &built.settings.ports[port.index()],
                &built.links[port.index()],
                built.cell_occupancy,
            )
        };
        let detection = decl.interval() * Liveness::MULTIPLIER.into();
        if let Some(covered) = members.filter_map(covered).max().filter(|covered| *covered > detection) {
            problems.warning(
                decl.first(&["interval", "liveness"]),
                ProblemKind::HelloLateness { detection, covered },
            );
        }
    }
}

/// Warns about each core that cannot carry its ports at any frame length.
fn check_cores(built: &Built, document: &Document, problems: &Problems<'_>) {
    let Built { settings, links, runtime, .. } = built;
    if runtime.devices.iter().all(Option::is_none) {
        return;
    }
    let lanes = document.dpdk().place_of("lanes").filter(|_| runtime.dpdk.lanes > 1);
    // All lanes are alike.
    let told = if lanes.is_some() { 1 } else { usize::MAX };
    for load in cores::loads(settings, links, runtime).iter().filter(|load| !load.keeps_up()).take(told) {
        let kind = ProblemKind::CoreBehind { load: Box::new(load.clone()) };
        problems.warning(lanes.unwrap_or(&place_of_core(load.first, document)), kind);
    }
}

/// Refuses different cores for ports that exchange frames.
fn check_teams(settings: &Settings, runtime: &Runtime, document: &Document, problems: &Problems<'_>) {
    if let Some((port, other, core)) = cores::first_team_apart(settings, runtime) {
        let other = settings.ports[other].name.clone();
        problems.error(&place_of_core(port, document), ProblemKind::TeamApart { other, core });
    }
}

/// The key that puts port `first` on its core: that of its device, the list of cores, or none.
fn place_of_core(first: usize, document: &Document) -> Place {
    let port = document.ports().get(first);
    let device = port.and_then(|port| port.device.as_ref());
    let stated = device.and_then(|device| device.place_of("core")).or(document.dpdk().place_of("cores"));
    let unsaid = device.map(DeviceDecl::place_of_kind).or(port.map(|port| &port.place));
    let offset = unsaid.map_or(0, |it| it.offset);
    stated.cloned().unwrap_or(Place { key: "port.device.core".into(), offset })
}

struct Check<'a> {
    built: &'a Built,
    settings: &'a Settings,
    document: &'a Document,
    problems: &'a Problems<'a>,
}

impl Check<'_> {
    fn headroom_pool(&self) {
        let groups =
            || self.settings.ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
        let sum: Bytes = groups().map(|group| group.headroom).sum();
        let pool = self.settings.buffer.headroom;
        // A single group that does not fit is an error elsewhere.
        if sum > pool && !groups().any(|group| group.headroom > pool) {
            let place = self.document.buffer().first(&["headroom"]);
            self.problems.warning(place, ProblemKind::HeadroomOversubscribed { sum, pool });
        }
    }

    /// A pause is refreshed when half of it has passed. The distance does not matter, because it delays every frame
    /// equally; delays of the refresh at this end do.
    fn pause(&self, index: usize, port: &PortSettings, decl: &PortDecl) {
        let given = port.pfc.pause.interval_at(port.rate);
        let waits =
            frame_time(port.rate, port.max_frame) + port.tx_window + self.built.links[index].interface_delay;
        let least = waits * 2;
        if port.pfc.pause.0 > 0 && given < least && !port.lossless().is_empty() {
            let place = decl.pfc().place_of("pause").unwrap_or(&decl.place);
            self.problems.error(place, ProblemKind::PauseTooShort { given, least });
        }
    }

    /// A lossless priority that no frame can get is probably a mistake.
    fn classes(&self, port: &PortSettings, decl: &PortDecl) {
        let class = &port.classification;
        let by_dscp = class.trust == Trust::Dscp;
        let by_pcp = class.trust != Trust::Nothing;
        for declared in decl.lossless.iter().flatten().flat_map(|group| values(&group.priorities)) {
            let priority = declared.value;
            let reached = class.default == priority
                || (by_dscp && class.dscp.contains(&priority))
                || (by_pcp && class.pcp.contains(&priority));
            if !reached {
                self.problems.warning(&declared.place, ProblemKind::NeverClassified { priority });
            }
        }
        if decl.classify().default.is_none() {
            self.unnamed("DSCP", decl.classify().dscp.as_ref(), &class.dscp, port);
            self.unnamed("PCP", decl.classify().pcp.as_ref(), &class.pcp, port);
        }
    }

    /// A map that leaves code points where they were gives the traffic of others what it was written for: headroom,
    /// and precedence over all weighted queues.
    fn unnamed<const N: usize>(
        &self,
        field: &'static str,
        codes: Option<&Codes<N>>,
        priorities: &[Priority; N],
        port: &PortSettings,
    ) {
        let Some(codes) = codes else { return };
        let is_strict = |priority: Priority| {
            let queues = self.settings.ports.iter().flat_map(|port| &port.queues);
            let mut queues = queues.filter(|queue| queue.priority == priority);
            queues.any(|queue| queue.scheduling == Scheduling::Strict)
        };
        let kept = Priority::all().filter_map(|priority| {
            let is_lossless = port.lossless().contains(priority);
            let what = if is_lossless { "lossless" } else { "strict" };
            let unnamed = codes.unnamed(|code| priorities[code] == priority)?;
            (is_lossless || is_strict(priority))
                .then(|| format!("{unnamed} in priority {priority}, which is {what}"))
        });
        let kept: Vec<_> = kept.collect();
        if let Some(place) = codes.place().filter(|_| !kept.is_empty()) {
            self.problems.warning(place, ProblemKind::UnnamedCodes { field, kept: kept.join("; ") });
        }
    }

    /// A priority that is lossless at its ingress port loses frames at an egress port that ignores pauses for it.
    /// No lossless priority at all on an egress port is taken as intended.
    fn obedience(&self, ingress: usize, decl: &PortDecl) {
        let ports = &self.settings.ports;
        for declared in decl.lossless.iter().flatten().flat_map(|group| values(&group.priorities)) {
            let priority = declared.value;
            let leaves = |egress: &usize| self.ingress_of(*egress).contains(&ingress) && *egress != ingress;
            let ignores = |egress: &usize| {
                let port = &ports[*egress];
                !port.lossless().is_empty() && !port.pfc.obey.contains(priority)
            };
            if let Some(egress) = (0..ports.len()).filter(leaves).find(ignores) {
                let (ingress, egress) = (ports[ingress].name.clone(), ports[egress].name.clone());
                let kind = ProblemKind::EgressIgnoresPauses { priority, ingress, egress };
                self.problems.warning(&declared.place, kind);
            }
        }
    }

    fn limit(&self, limit: Option<RateLimit>, port: &PortSettings, decl: Option<&RateLimitDecl>) {
        if let (Some(limit), Some(decl)) = (limit, decl)
            && limit.rate > port.rate
        {
            let kind = ProblemKind::LimitAboveRate { limit: limit.rate, rate: port.rate };
            self.problems.warning(decl.0.first(&["rate"]), kind);
        }
    }

    fn group(&self, index: usize, port: &PortSettings, decl: &LosslessDecl) {
        let Some(priority) = values(&decl.priorities).next() else { return };
        let Some(group) = port.groups[priority.value.index()].lossless() else { return };
        self.unit_of_headroom(index, port, decl);
        if flow_control::lateness(&port.flow_control).is_none() {
            self.headroom(index, port, group, decl);
        } else {
            flow_control::check_group(port, (priority.value, group), decl, self.problems);
        }
        self.flapping(group, decl);
    }

    /// No link needs more than the longest one, so a headroom beyond that is probably in the wrong unit.
    fn unit_of_headroom(&self, index: usize, port: &PortSettings, decl: &LosslessDecl) {
        let Some(At { value: SizeChoice::Given(given), place }) = &decl.headroom else { return };
        let (given, rate, distance) = (*given, port.rate, FARTHEST);
        let longest = Link { distance: Some(distance), ..self.built.links[index] };
        if let Some(sum) = longest.headroom(port, self.built.cell_occupancy)
            && given > sum.total()
        {
            let kind = ProblemKind::HeadroomTooLarge { given, most: sum.total(), rate, distance };
            self.problems.warning(place, kind);
        }
    }

    fn headroom(&self, index: usize, port: &PortSettings, group: &LosslessGroup, decl: &LosslessDecl) {
        let Some(At { value: choice, place }) = &decl.headroom else { return };
        let (name, given) = (port.name.clone(), group.headroom);
        let kind = match self.built.headroom_sum(index) {
            None if given < port.max_frame => {
                ProblemKind::HeadroomBelowFrame { port: name, given, least: port.max_frame }
            }
            Some((distance, sum)) if *choice != SizeChoice::Auto && given < sum.total() => {
                ProblemKind::HeadroomTooSmall {
                    port: name,
                    given,
                    rate: port.rate,
                    distance,
                    sum: Box::new(sum),
                }
            }
            _ => return,
        };
        self.problems.error(place, kind);
    }

    fn flapping(&self, group: &LosslessGroup, decl: &LosslessDecl) {
        match (group.xoff, &decl.xon, &decl.xon_offset) {
            (Threshold::Static(_), _, Some(offset)) => {
                let kind = ProblemKind::Meaningless { with: "a fixed xoff".into() };
                self.problems.warning(&offset.place, kind);
            }
            (Threshold::Static(xoff), Some(xon), None) if xon.value == xoff => {
                self.problems.warning(&xon.place, ProblemKind::Flapping);
            }
            (Threshold::Dynamic(_), _, Some(offset)) if offset.value == Bytes::ZERO => {
                self.problems.warning(&offset.place, ProblemKind::Flapping);
            }
            _ => {}
        }
    }

    fn queue(&self, index: usize, port: &PortSettings, decl: &QueueDecl) {
        for priority in values(&decl.priorities) {
            let queue = &port.queues[priority.value.index()];
            self.limit(queue.rate_limit, port, decl.rate_limit.as_ref());
            if let (Some(red), Some(ecn)) = (&queue.red, &decl.ecn) {
                self.kmin(index, priority.value, red, ecn.first(&["kmin"]));
                let buffer = capacity(&self.settings.buffer, &self.settings.ports);
                if red.kmax > buffer {
                    let kmax = red.kmax;
                    self.problems
                        .warning(ecn.first(&["kmax"]), ProblemKind::KmaxAboveBuffer { kmax, buffer });
                }
            }
        }
    }

    /// ECN should slow senders down before PFC pauses them, or before a full queue drops their frames.
    fn kmin(&self, egress: usize, priority: Priority, red: &Red, place: &Place) {
        let kmin = red.kmin;
        for ingress in self.ingress_of(egress) {
            let port = &self.settings.ports[ingress];
            let kind = match &port.groups[priority.index()] {
                GroupSettings::Lossless(group) => {
                    let xoff = highest_xoff(group, &self.settings.buffer);
                    (kmin >= xoff).then(|| ProblemKind::EcnAfterPfc {
                        priority,
                        port: port.name.clone(),
                        kmin,
                        xoff,
                    })
                }
                GroupSettings::Lossy => {
                    let lossy = self.settings.ports[egress].queues[priority.index()].lossy;
                    let pool = self.settings.buffer.egress_lossy;
                    let limit = match lossy.threshold {
                        Threshold::Static(level) => level,
                        share @ Threshold::Dynamic(_) => lossy.reserved + Bytes(alone(share, pool)),
                    };
                    (kmin >= limit).then_some(ProblemKind::EcnAfterDrop { priority, kmin, limit })
                }
            };
            if let Some(kind) = kind {
                self.problems.warning(place, kind);
                return;
            }
        }
    }

    /// The ports whose frames can leave through `egress`.
    fn ingress_of(&self, egress: usize) -> Vec<usize> {
        let PortId(number) = PortId(egress as u16);
        match &self.settings.forwarding {
            ForwardingSettings::Patch(pairs) => pairs
                .iter()
                .filter_map(|(one, other)| match (one.0 == number, other.0 == number) {
                    (true, _) => Some(other.index()),
                    (_, true) => Some(one.index()),
                    _ => None,
                })
                .collect(),
            ForwardingSettings::Bridge(_) => {
                (0..self.settings.ports.len()).filter(|port| *port != egress).collect()
            }
            ForwardingSettings::Route(_) => (0..self.settings.ports.len()).collect(),
        }
    }
}

impl Built {
    /// The distance of port `index` and the headroom that it needs, if the distance is known.
    fn headroom_sum(&self, index: usize) -> Option<(units::Distance, HeadroomSum)> {
        let link = &self.links[index];
        Some((link.distance?, link.headroom(&self.settings.ports[index], self.cell_occupancy)?))
    }
}
