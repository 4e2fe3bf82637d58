//! `show roce`: whether each lossless class is healthy, and what to do where it is not.

mod class;
mod page;
mod rules;
mod verdict;

pub use class::Class;
pub use page::{render, write_cause};
pub(crate) use rules::kept_pauses;
pub use rules::{OF_LATE_WORKERS, RULES, Rule};
pub use verdict::{Cause, ClassHealth, Finding, Health, HealthVerdict};

use crate::period::{Period, PortPeriod};

/// The rule that the gateway, or the port in question, has a lossless class at all.
pub const NO_LOSSLESS_CLASS: &str = "no_lossless_class";

impl Health {
    /// The health of the lossless classes of a gateway over `period`, or those of `port` alone.
    pub fn of(period: &Period<'_>, port: Option<&str>) -> Self {
        let classes = judged(period, |name| port.is_none_or(|port| name == port));
        let findings: Vec<_> = classes.is_empty().then(|| no_lossless_class(port)).into_iter().collect();
        let mut health = Self {
            gateway: period.now.gateway.clone(),
            over_ns: period.elapsed_ns,
            since_start: period.is_since_start(),
            verdict: HealthVerdict::Healthy,
            cause: None,
            findings,
            classes,
        };
        health.cause = health.ranked().first().map(|(finding, classes)| Cause::new(finding, classes));
        health.verdict = health.cause.as_ref().map_or(HealthVerdict::Healthy, |it| it.finding.verdict);
        health
    }

    /// Each finding once, with the classes that have it, in the order of [`RULES`]: the first one is the cause.
    pub fn ranked(&self) -> Vec<(&Finding, Vec<&ClassHealth>)> {
        ranked(&self.findings, &self.classes)
    }
}

/// The cause of what happens at `port`: the first finding about its classes and those of the ports for which its frames
/// wait.
pub fn cause(period: &Period<'_>, port: &str) -> Option<Cause> {
    let waiting = || period.now.waiting.iter().filter(|it| it.came_in == port);
    let classes = judged(period, |name| name == port || waiting().any(|it| it.leaves_by == name));
    let ranked = ranked(&[], &classes);
    ranked.first().map(|(finding, classes)| Cause::new(finding, classes))
}

/// Each finding once, with the classes that have it, in the order of [`RULES`].
fn ranked<'a>(
    findings: &'a [Finding],
    classes: &'a [ClassHealth],
) -> Vec<(&'a Finding, Vec<&'a ClassHealth>)> {
    let mut ranked: Vec<(&Finding, Vec<_>)> = findings.iter().map(|it| (it, Vec::new())).collect();
    for class in classes {
        for finding in &class.findings {
            match ranked.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, classes)) => classes.push(class),
                None => ranked.push((finding, vec![class])),
            }
        }
    }
    ranked.sort_by_key(|(finding, _)| RULES.iter().position(|rule| rule.name == finding.rule));
    ranked
}

/// A gateway that has lost its lossless classes must not look like one whose classes are healthy.
fn no_lossless_class(port: Option<&str>) -> Finding {
    let of = port.map_or_else(|| "the gateway".to_owned(), |name| format!("port {name}"));
    Finding {
        rule: NO_LOSSLESS_CLASS.into(),
        verdict: HealthVerdict::Watch,
        found: format!("No priority of {of} is lossless."),
        next: "If RoCE is to pass here, give its ports [[port.lossless]] (docs/configuration.md).".into(),
    }
}

/// The lossless classes of the ports whose names `is_wanted` selects.
fn judged(period: &Period<'_>, is_wanted: impl Fn(&str) -> bool) -> Vec<ClassHealth> {
    let ports = period.ports().filter(|it| is_wanted(it.name()));
    ports.flat_map(|port| classes(*period, port)).map(judge).collect()
}

/// The lossless priorities of `port`, with those that a neighbour has turned off.
fn classes<'a>(gateway: Period<'a>, port: PortPeriod<'a>) -> impl Iterator<Item = Class<'a>> {
    let all = port.priorities().map(move |priority| Class { gateway, port, priority });
    all.filter(|it| it.priority.now.ingress.lossless || it.is_turned_off())
}

fn judge(class: Class<'_>) -> ClassHealth {
    let findings: Vec<_> = RULES.iter().filter_map(|rule| rule.judge(&class)).collect();
    let priority = &class.priority;
    ClassHealth {
        port: class.port.name().into(),
        priority: priority.now.priority,
        verdict: findings.iter().map(|it| it.verdict).max().unwrap_or(HealthVerdict::Healthy),
        in_bytes: priority.count(|it| it.ingress.received.bytes.0),
        out_bytes: priority.count(|it| it.egress.transmitted.bytes.0),
        occupancy_bytes: priority.now.ingress.occupancy_bytes,
        headroom_used_bytes: class.headroom_used(),
        headroom_bytes: class.headroom_size(),
        pauses_sent_share: rounded(priority.share(|it| it.pauses_sent.paused_ns)),
        pauses_received_share: rounded(priority.share(|it| it.pauses_received.paused_ns)),
        marked: priority.count(|it| it.egress.ecn_marked),
        findings,
    }
}

/// To six decimals.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
