//! What happens at a priority and the end of its chain, in one sentence each.

use super::effect::Effect;
use crate::period::PriorityPeriod;
use units::human::bytes;

/// The chain from a pause that the gateway sends to its end.
pub fn of_pause(effect: &Effect) -> Option<String> {
    let (port, priority) = (&effect.port, effect.priority?);
    let Some(waits) = effect.causes.iter().find(|it| it.kind == "waits") else {
        return Some(format!("{port} {} at priority {priority}; none of its frames wait now.", effect.text));
    };
    let bytes = waits.text.split(" (").next().unwrap_or_default();
    let verb = if effect.text.starts_with("pauses") { "pauses" } else { "has paused" };
    let far = &waits.port;
    let end = waits.causes.first().map_or_else(String::new, |cause| match &*cause.kind {
        "paused_by_peer" | "sends" => format!(", which {}", cause.text),
        "link_down" => ", whose link is down".into(),
        _ => format!(": {}", cause.text),
    });
    Some(format!("{port} {verb} its peer at priority {priority} because {bytes} wait for {far}{end}."))
}

/// Why the queue of the port itself holds frames or was paused; `None` where nothing but its rate is behind that.
pub fn of_queue(priority: PriorityPeriod<'_>, effect: &Effect) -> Option<String> {
    let (port, number) = (&effect.port, priority.now.priority);
    let queued = priority.now.egress.queued;
    if queued.frames == 0 {
        let pause = effect.causes.iter().find(|it| it.kind == "paused_by_peer")?;
        return Some(format!("{port} {} at priority {number}; none of its frames wait now.", pause.text));
    }
    let cause = effect.causes.first()?;
    let end = match &*cause.kind {
        "link_down" => "its link is down".into(),
        "paused_by_peer" => format!("it {}", cause.text),
        "stormed" | "late_worker" => cause.text.clone(),
        _ => return None,
    };
    let waiting = bytes(queued.bytes.0);
    Some(format!("{waiting} of {port}'s frames wait at priority {number} because {end}."))
}
