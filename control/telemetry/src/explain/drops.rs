//! Drops, and the findings that name their cause.

use super::effect::{Effect, effect};
use super::worker;
use crate::health::{Class, OF_LATE_WORKERS, RULES};
use crate::period::{Dropped, Period, PortPeriod, PriorityPeriod};
use crate::snapshot::Passage;
use units::human::{bytes, count_of};

/// Rules of `show roce` that name the cause of drops, by the reasons that they explain.
const CAUSES: [(&[&str], &[&str]); 4] = [
    (
        &["headroom_exceeded", "headroom_pool_full"],
        &[
            "pfc_not_passed",
            "link_delay_refused",
            "peer_ignores_pauses",
            "pause_frames_lost",
            "headroom_short",
        ],
    ),
    (&["pfc_watchdog"], &["pause_storm"]),
    (&["memory_low", "no_buffer"], &["buffers_low"]),
    (&["oversize"], &["short_mtu"]),
];
/// The drops, reason by reason, with the state that each depends on.
pub fn drops(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Vec<Effect> {
    let of_reason = |dropped: Dropped| {
        let place = if dropped.at == "in" { "on the way in" } else { "at its queue" };
        let now = condition(&dropped.reason, priority).map_or_else(String::new, |it| format!("; {it}"));
        let text = format!("dropped {} {place}: {}{now}", amount(&dropped), dropped.reason);
        let causes = causes(period, port, priority, &dropped.reason);
        effect("drops", port, Some(priority.now.priority), text, causes)
    };
    priority.drops().into_iter().map(of_reason).collect()
}

/// The drops and their surest cause: a sentence for each reason whose cause is known.
pub fn sentences(port: PortPeriod<'_>, priority: PriorityPeriod<'_>, effects: &[Effect]) -> Vec<String> {
    let dropped = priority.drops();
    let told = dropped.iter().zip(effects).filter_map(|(dropped, effect)| {
        let (amount, reason, cause) = (amount(dropped), &dropped.reason, effect.causes.first()?);
        let (name, number) = (port.name(), priority.now.priority);
        Some(format!("{name} dropped {amount} at priority {number} for {reason}: {}.", cause.text))
    });
    told.collect()
}

fn amount(dropped: &Dropped) -> String {
    format!("{} ({})", count_of(dropped.frames, "frame"), bytes(dropped.bytes))
}

/// The findings that name the cause of drops for `reason`.
fn causes(
    period: &Period<'_>,
    port: PortPeriod<'_>,
    priority: PriorityPeriod<'_>,
    reason: &str,
) -> Vec<Effect> {
    let names = CAUSES.iter().find(|(reasons, _)| reasons.contains(&reason)).map_or(&[][..], |it| it.1);
    let class = Class { gateway: *period, port, priority };
    let pauses_leave = port.now.device.pfc.transmit != Passage::No;
    let bears = |name: &str| name != "pfc_not_passed" || !pauses_leave;
    let rules = RULES.iter().filter(|it| names.contains(&it.name) && bears(it.name));
    let mut causes: Vec<_> = rules
        .filter_map(|rule| {
            let text = format!("{} ({})", phrase(&rule.judge(&class)?.found), rule.name);
            Some(effect(rule.name, port, Some(priority.now.priority), text, Vec::new()))
        })
        .collect();
    if OF_LATE_WORKERS.contains(&reason) {
        causes.extend(worker::late(period, port));
    }
    causes
}

/// A sentence as a part of another one.
pub fn phrase(sentence: &str) -> String {
    let mut text = sentence.trim_end_matches('.').to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}

/// The state of what a reason for drops depends on.
fn condition(reason: &str, priority: PriorityPeriod<'_>) -> Option<String> {
    let group = &priority.now.ingress;
    match reason {
        "headroom_exceeded" => {
            let (held, size) = (priority.levels.headroom_bytes, group.limits?.headroom_bytes);
            let most = bytes(group.headroom_watermark_bytes);
            let now = format!("its group uses {} of {} headroom now", bytes(held), bytes(size));
            Some(format!("{now} (watermark {most} since the start)"))
        }
        "queue_threshold" | "egress_pool_full" => {
            Some(format!("{} wait in the queue now", bytes(priority.now.egress.queued.bytes.0)))
        }
        "pfc_watchdog" => {
            let stormed = priority.now.egress.watchdog?.stormed;
            Some(if stormed { "the queue is stormed now" } else { "the storm has ended" }.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_that_names_a_cause_is_one() {
        for name in CAUSES.iter().flat_map(|(_, names)| *names) {
            assert!(RULES.iter().any(|rule| rule.name == *name), "{name}");
        }
    }
}
