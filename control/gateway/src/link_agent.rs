//! Neighbours of ports: differences are told, and what the file lists is taken over.
//!
//! The switch remembers what neighbours announce; here it is judged. By default nothing of it is applied. A neighbour moves
//! the PFC of a port only between the priorities that the file lists, only after it has said the same for a while, and not often.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use config::Gateway;
use switch::link_agent::{LinkAgentReport, Mismatch, Mismatches, Neighbour};
use telemetry::events::What;
use telemetry::{NegotiatedReport, numbers};
use units::{PortId, PrioritySet};

/// The interval of looks at what the workers have heard.
const LOOK: Duration = Duration::from_millis(500);
/// How long a neighbour must ask for the same PFC until it is applied.
const SETTLE: Duration = Duration::from_secs(5);
/// The least time between two changes of the PFC of a port.
const APART: Duration = Duration::from_secs(30);
/// The least time between two lines about the neighbours of a port, except for a mismatch that lasts.
const QUIET: Duration = Duration::from_secs(10);

/// Why the PFC of a neighbour is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It has PFC for priorities for which the file reserves no memory.
    NoMemory(PrioritySet),
    /// It has no PFC for lossless priorities that it may not turn off.
    NotListed(PrioritySet),
    /// More than one neighbour speaks DCBX.
    SeveralNeighbours,
    /// The rest of the configuration needs a priority to be lossless.
    Needed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory(them) => {
                write!(out, "the file reserves no memory for lossless priority {}", list(*them))
            }
            Self::NotListed(them) => {
                write!(out, "port.lldp.willing does not list lossless priority {}", list(*them))
            }
            Self::SeveralNeighbours => write!(out, "several neighbours speak DCBX"),
            Self::Needed => write!(out, "other settings of the port need these priorities to be lossless"),
        }
    }
}

/// The request in the announcements on a port.
type Request = Result<Option<PrioritySet>, Refusal>;

/// The neighbours of one port.
#[derive(Clone, Debug, Default)]
struct OfPort {
    /// The PFC that a neighbour has negotiated; `None` for that of the file.
    enabled: Option<PrioritySet>,
    /// The neighbour that has negotiated it.
    negotiated_by: Option<String>,
    /// The priorities of the file that were off when that was told last.
    told_off: PrioritySet,
    /// The PFC that a neighbour asks for now, and since when.
    request: Option<(Request, Instant)>,
    /// The last change of `enabled`.
    changed: Option<Instant>,
    /// The refusal that was counted last.
    refusal: Option<Refusal>,
    applied: u64,
    refused: u64,
    /// The last line about differences, and its time.
    told: Option<(Mismatches, Instant)>,
    /// The neighbours that the last line named, and when.
    named: Option<(Vec<String>, Instant)>,
}

/// The neighbours of all ports.
pub struct LinkAgents {
    ports: Vec<OfPort>,
    next_look: Option<Instant>,
}

impl LinkAgents {
    /// No one heard yet, for `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self { ports: vec![OfPort::default(); ports], next_look: None }
    }

    /// Whether it is time to look at the ports of `configured`; never if none has a link agent.
    pub fn is_due(&mut self, configured: &Gateway, now: Instant) -> bool {
        let mut ports = configured.program.settings().ports.iter();
        if !ports.any(|port| port.link_agent.is_some()) || self.next_look.is_some_and(|next| now < next) {
            return false;
        }
        self.next_look = Some(now + LOOK);
        true
    }

    /// Judges what the ports of `configured` have `heard`, of which `None` is unknown and changes nothing. Returns whether the
    /// PFC of a port is to change.
    pub fn see(&mut self, heard: &[Option<LinkAgentReport>], configured: &Gateway, now: Instant) -> bool {
        let mut changes = false;
        for (port, (it, heard)) in (0..).map(PortId).zip(self.ports.iter_mut().zip(heard)) {
            if configured.willing(port).is_empty() {
                continue;
            }
            let Some(heard) = heard else { continue };
            let request = judge(heard, port, configured);
            if it.follow(request, now) {
                let speaking = heard.neighbours.iter().find(|it| it.message.pfc.is_some());
                it.negotiated_by = speaking.filter(|_| it.enabled.is_some()).map(name);
                changes = true;
            }
        }
        changes
    }

    /// `configured`, with the PFC that neighbours have negotiated.
    pub fn apply(&self, configured: &Gateway) -> Gateway {
        let mut gateway = configured.clone();
        for (port, it) in (0..).map(PortId).zip(&self.ports) {
            // The file may have changed since: then it is judged anew.
            if let Some(enabled) = it.enabled.filter(|enabled| refusal(*enabled, port, configured).is_none())
                && let Some(negotiated) = gateway.with_pfc(port, enabled)
            {
                gateway = negotiated;
            }
        }
        gateway
    }

    /// Logs where `gateway`, which is in force now, has PFC for other priorities of `configured` than when this was called last.
    /// Returns the event of each such port.
    pub fn tell_negotiated(&mut self, configured: &Gateway, gateway: &Gateway) -> Vec<(PortId, What)> {
        let mut told = Vec::new();
        for (port, it) in (0..).map(PortId).zip(&mut self.ports) {
            let (file, now) =
                (configured.program.port(port).lossless(), gateway.program.port(port).lossless());
            let off = file.difference(now);
            let before = core::mem::replace(&mut it.told_off, off);
            // A reload that makes a priority lossy tells of that itself.
            if before == off || off.is_empty() && before.intersection(now) != before {
                continue;
            }
            let neighbour = it.negotiated_by.clone().filter(|_| !off.is_empty());
            let text = negotiated(off, now, neighbour.as_deref());
            match off.is_empty() {
                true => tracing::info!("port {}: {text}", gateway.program.port(port).name),
                false => tracing::warn!("port {}: {text}", gateway.program.port(port).name),
            }
            told.push((
                port,
                What::Negotiated { enabled: numbers(now), configured: numbers(file), neighbour },
            ));
        }
        told
    }

    /// Logs who is there, and differences between `gateway` and what was `heard`, those that last once per `control.repeat`.
    /// Returns what it logged of differences, for each port; nothing where there are none any more.
    pub fn tell(
        &mut self,
        heard: &[Option<LinkAgentReport>],
        gateway: &Gateway,
        now: Instant,
    ) -> Vec<(PortId, Vec<String>)> {
        let mut told = Vec::new();
        let repeat = Duration::from_nanos(gateway.runtime.control.repeat.0);
        for (port, (it, heard)) in (0..).map(PortId).zip(self.ports.iter_mut().zip(heard)) {
            let settings = gateway.program.port(port);
            if let (Some(heard), Some(agent)) = (heard, &settings.link_agent) {
                it.tell_names(heard, &settings.name, now);
                let found = Mismatches::among(&agent.message, &heard.neighbours);
                if let Some(over) = it.note_if_due(found, repeat, now) {
                    let lines = differences(found, heard, gateway, port);
                    for line in &lines {
                        tracing::warn!("port {}: {line}", settings.name);
                    }
                    for line in no_longer(over, found) {
                        tracing::info!("port {}: {line}", settings.name);
                    }
                    told.push((port, lines));
                }
            }
        }
        told
    }

    /// The changes of neighbours to each port of `configured`, where they may: `gateway` is in force.
    pub fn reports(&self, configured: &Gateway, gateway: &Gateway) -> Vec<Option<NegotiatedReport>> {
        let report = |(port, it): (PortId, &OfPort)| {
            (!configured.willing(port).is_empty()).then(|| NegotiatedReport {
                enabled: numbers(gateway.program.port(port).lossless()),
                configured: numbers(configured.program.port(port).lossless()),
                applied: it.applied,
                refused: it.refused,
                refusal: it.refusal.map(|refusal| refusal.to_string()),
            })
        };
        (0..).map(PortId).zip(&self.ports).map(report).collect()
    }
}

impl OfPort {
    /// Follows `request` once it has lasted. Returns whether the PFC changes.
    fn follow(&mut self, request: Request, now: Instant) -> bool {
        let since = match self.request {
            Some((before, since)) if before == request => since,
            _ => {
                self.request = Some((request, now));
                now
            }
        };
        let has_lasted = now.duration_since(since) >= SETTLE;
        let may_change = self.changed.is_none_or(|changed| now.duration_since(changed) >= APART);
        match request {
            Ok(enabled) if enabled == self.enabled => self.refusal = None,
            Ok(enabled) if has_lasted && may_change => {
                (self.enabled, self.changed, self.refusal) = (enabled, Some(now), None);
                self.applied += 1;
                return true;
            }
            Err(refusal) if has_lasted => {
                self.refused += u64::from(self.refusal != Some(refusal));
                self.refusal = Some(refusal);
            }
            _ => {}
        }
        false
    }

    /// Names the neighbours if they are others than before.
    fn tell_names(&mut self, heard: &LinkAgentReport, port: &str, now: Instant) {
        let names: Vec<_> = heard.neighbours.iter().map(name).collect();
        let (before, at) = self.named.clone().unzip();
        if before.unwrap_or_default() == names || at.is_some_and(|at| now.duration_since(at) < QUIET) {
            return;
        }
        match names.is_empty() {
            true => tracing::info!("port {port}: no neighbour announces itself any more"),
            false => tracing::info!("port {port}: the neighbour is {}", names.join(", and ")),
        }
        self.named = Some((names, now));
    }

    /// If `found` is due to be told, notes that it is. Returns what was told before and is over.
    fn note_if_due(&mut self, found: Mismatches, repeat: Duration, now: Instant) -> Option<Mismatches> {
        let is_to_tell = match self.told {
            None => found != Mismatches::default(),
            Some((before, at)) if before == found => {
                found != Mismatches::default() && now.duration_since(at) >= repeat
            }
            Some((_, at)) => now.duration_since(at) >= QUIET,
        };
        if !is_to_tell {
            return None;
        }
        let before = self.told.replace((found, now)).unzip().0.unwrap_or_default();
        Some(before.without(found))
    }
}

/// The PFC that the neighbours of `port` of `configured` ask for: `None` where no one speaks DCBX, or the neighbour
/// follows the port.
fn judge(heard: &LinkAgentReport, port: PortId, configured: &Gateway) -> Request {
    let mut speaking = heard.neighbours.iter().filter_map(|it| Some((it, it.message.pfc?)));
    let Some((neighbour, theirs)) = speaking.next() else { return Ok(None) };
    if speaking.next().is_some() {
        return Err(Refusal::SeveralNeighbours);
    }
    // Of two willing ends, the one with the lower address is followed (IEEE 802.1Q clause D.4.3). If both have the same one,
    // neither follows, or they would exchange their configurations for ever.
    if theirs.willing && configured.program.port(port).mac <= neighbour.source {
        return Ok(None);
    }
    refusal(theirs.enabled, port, configured).map_or(Ok(Some(theirs.enabled)), Err)
}

/// Why `port` cannot have PFC for the `enabled` priorities; `None` if it can.
fn refusal(enabled: PrioritySet, port: PortId, configured: &Gateway) -> Option<Refusal> {
    let lossless = configured.program.port(port).lossless();
    let beyond = enabled.difference(lossless);
    let fixed = lossless.difference(configured.willing(port)).difference(enabled);
    match (beyond.is_empty(), fixed.is_empty()) {
        (false, _) => Some(Refusal::NoMemory(beyond)),
        (_, false) => Some(Refusal::NotListed(fixed)),
        _ => configured.with_pfc(port, enabled).is_none().then_some(Refusal::Needed),
    }
}

/// A line for each mismatch.
fn differences(found: Mismatches, heard: &LinkAgentReport, gateway: &Gateway, port: PortId) -> Vec<String> {
    let settings = gateway.program.port(port);
    let Some(agent) = &settings.link_agent else { return Vec::new() };
    let line = |mismatch: Mismatch| {
        let differs = |it: &&Neighbour| Mismatches::between(&agent.message, &it.message).contains(mismatch);
        match heard.neighbours.iter().find(differs) {
            Some(it) => {
                let (name, sides) = (name(it), mismatch.sides(&agent.message, &it.message));
                format!("the neighbour {name} {} ({}): {sides}", mismatch.predicate(), mismatch.name())
            }
            // That of several neighbours is not about one of them.
            None => format!("{} ({})", mismatch.sides(&agent.message, &agent.message), mismatch.name()),
        }
    };
    found.iter().map(line).collect()
}

/// A line for each kind of mismatch that is `over` while those `found` last: one for all settings.
fn no_longer(over: Mismatches, found: Mismatches) -> Vec<String> {
    let (settings, others): (Vec<_>, Vec<_>) = over.iter().partition(|it| it.is_of_settings());
    let mut lines = Vec::new();
    if !settings.is_empty() {
        let names: Vec<_> = settings.into_iter().map(Mismatch::name).collect();
        lines.push(match found.iter().any(Mismatch::is_of_settings) {
            true => format!("the two ends of the link no longer differ in {}", names.join(", ")),
            false => "the two ends of the link no longer differ".into(),
        });
    }
    lines.extend(others.into_iter().map(|it| match it {
        Mismatch::SameChassis => "no neighbour has the identity of this gateway any more".into(),
        Mismatch::Cee => "no neighbour speaks only the older form of DCBX any more".into(),
        _ => "no more than one neighbour speaks DCBX now".into(),
    }));
    lines
}

/// The PFC of a port of which `neighbour` has turned these priorities `off`, while those that are `now` lossless have it.
fn negotiated(off: PrioritySet, now: PrioritySet, neighbour: Option<&str>) -> String {
    if off.is_empty() {
        return format!("PFC is on again for {}, as in the file", named(now));
    }
    let left = if now.is_empty() { "none".into() } else { list(now) };
    format!(
        "PFC is off for {} (lossy now) and on for {left}: the neighbour {} asks for that, and port.lldp.willing allows it",
        named(off),
        neighbour.unwrap_or("on the link")
    )
}

/// `priorities`, with the word.
fn named(priorities: PrioritySet) -> String {
    let word = if priorities.bits().count_ones() == 1 { "priority" } else { "priorities" };
    format!("{word} {}", list(priorities))
}

/// The numbers of `priorities`.
fn list(priorities: PrioritySet) -> String {
    let numbers: Vec<_> = priorities.iter().map(|it| it.to_string()).collect();
    numbers.join(", ")
}

/// A neighbour, in printable ASCII.
fn name(neighbour: &Neighbour) -> String {
    let it = &neighbour.message;
    let system = match it.system_name.is_empty() {
        true => it.chassis.chassis_text().to_string(),
        false => it.system_name.to_string(),
    };
    format!("{system} (port {})", it.port.port_text())
}

#[cfg(test)]
mod tests;
