//! The worker of a port, where it is late or never idle.

use super::effect::{Effect, effect};
use crate::period::{Period, PortPeriod};
use units::human::{count_of, nanos};

/// The worker of the port as a cause, if turns were longer than the buffer covers, or none was idle.
pub fn late(period: &Period<'_>, port: PortPeriod<'_>) -> Option<Effect> {
    let worker = period.worker_of(port.name())?;
    let late = period.of_worker(worker, |it| it.late_turns);
    let without_idle = period.turns_without_idle(worker);
    if late == 0 && without_idle.is_none() {
        return None;
    }
    let mut text = format!("the worker of core {}", worker.core);
    if late > 0 {
        let covered = nanos(worker.covered_lateness_ns.unwrap_or_default());
        let (late, longest) = (count_of(late, "turn"), nanos(worker.turn.max_ns));
        text += &format!(
            " was late: {late} longer than the buffer then covered, the longest ever {longest}; it now covers {covered}"
        );
    }
    if let Some(busy) = without_idle {
        let and = if late > 0 { ", and" } else { "" };
        text += &format!("{and} was never idle in {}: frames wait for it", count_of(busy, "turn"));
    }
    Some(effect("late_worker", port, None, text, Vec::new()))
}
