//! `show roce`: whether each lossless class is healthy, and what to do where it is not.

mod class;
mod page;
mod rules;
mod verdict;

pub use class::Class;
pub use page::render;
pub(crate) use rules::kept_pauses;
pub use rules::{RULES, Rule};
pub use verdict::{ClassHealth, Finding, Health, HealthVerdict};

use crate::period::{Period, PortPeriod};

/// The rule that the gateway, or the port in question, has a lossless class at all.
pub const NO_LOSSLESS_CLASS: &str = "no_lossless_class";

impl Health {
    /// The health of the lossless classes of a gateway over `period`, or those of `port` alone.
    pub fn of(period: &Period<'_>, port: Option<&str>) -> Self {
        let wanted = |it: &PortPeriod<'_>| port.is_none_or(|name| it.name() == name);
        let classes: Vec<_> =
            period.ports().filter(wanted).flat_map(|port| classes(*period, port)).map(judge).collect();
        let findings: Vec<_> = classes.is_empty().then(|| no_lossless_class(port)).into_iter().collect();
        let verdicts = classes.iter().map(|it| it.verdict).chain(findings.iter().map(|it| it.verdict));
        Self {
            gateway: period.now.gateway.clone(),
            over_ns: period.elapsed_ns,
            since_start: period.is_since_start(),
            verdict: verdicts.max().unwrap_or(HealthVerdict::Healthy),
            findings,
            classes,
        }
    }
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

/// The lossless priorities of `port`, with those that a neighbour has turned off.
fn classes<'a>(gateway: Period<'a>, port: PortPeriod<'a>) -> impl Iterator<Item = Class<'a>> {
    let all = port.priorities().map(move |priority| Class { gateway, port, priority });
    all.filter(|it| it.priority.now.ingress.lossless || it.is_turned_off())
}

fn judge(class: Class<'_>) -> ClassHealth {
    let mut findings: Vec<_> = RULES.iter().filter_map(|rule| rule.judge(&class)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
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
