//! The causes that hold the frames of an egress queue.

use super::effect::{Effect, effect};
use super::{terms, worker};
use crate::period::{Period, PortPeriod, PriorityPeriod};
use units::human::{bytes, count_of, duration, rate, speed, thousands};

/// Why frames wait in a queue of the port that is to be explained, if any do, or its peer pauses it.
pub fn holding(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Option<Effect> {
    let (queued, paused) = (priority.now.egress.queued, priority.count(|it| it.pauses_received.paused_ns));
    if queued.frames == 0 && paused == 0 && !priority.levels.paused_by_peer {
        return None;
    }
    let text = format!("{} ({}) wait in its queue", bytes(queued.bytes.0), count_of(queued.frames, "frame"));
    Some(effect("waits", port, Some(priority.now.priority), text, causes(period, port, priority)))
}

/// The causes that hold the queue, the hardest first.
pub fn causes(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Vec<Effect> {
    let number = Some(priority.now.priority);
    let mut causes = Vec::new();
    let mut cause = |kind, text| causes.push(effect(kind, port, number, text, Vec::new()));
    if !port.now.device.link_up {
        cause("link_down", "its link is down, which holds all frames".into());
    }
    if let Some(text) = paused_by_peer(priority) {
        cause("paused_by_peer", text);
    }
    if priority.now.egress.watchdog.is_some_and(|it| it.stormed) {
        cause("stormed", "its watchdog holds the queue for stormed".into());
    }
    for text in terms::of_sender(port) {
        cause("scheme", text);
    }
    cause("sends", sends(period, port, priority));
    // A worker holds nothing back that its link could not have sent.
    let place = causes.len() - usize::from(!port.is_full());
    causes.splice(place..place, worker::late(period, port));
    causes
}

/// The peer that pauses the queue, and for how long.
pub fn paused_by_peer(priority: PriorityPeriod<'_>) -> Option<String> {
    let paused_ns = priority.time_ns(|it| it.pauses_received.paused_ns);
    let now = priority.levels.paused_by_peer;
    let reason = if now { "is paused by its peer now," } else { "was paused by its peer" };
    let frames = thousands(priority.count(|it| it.pauses_received.frames.xoff));
    (paused_ns > 0 || now).then(|| {
        let (paused, elapsed) = (duration(paused_ns), duration(priority.elapsed_ns()));
        format!("{reason} for {paused} of {elapsed} ({frames} XOFF)")
    })
}

/// How fast the queue and its port send, or did on average where that is no rate of now.
fn sends(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> String {
    let own = bits_per_second(priority.per_second(|it| it.egress.transmitted.bytes.0));
    let all = bits_per_second(port.per_second(|it| it.port.out.bytes.0));
    let full = if port.is_full() { ", the rate of its link" } else { "" };
    let is_past = period.is_since_start() || !port.now.device.link_up;
    let (verb, average) = if is_past { ("sent", " on average") } else { ("sends", "") };
    format!("{verb} {own}{average}, the port {all} of {}{full}", rate(port.now.port.rate_bits_per_second))
}

fn bits_per_second(bytes_per_second: f64) -> String {
    speed((bytes_per_second * 8.0).round() as u64)
}
