//! The ECN thresholds of a port that move.

use super::EgressPort;
use crate::congestion::{QueueSample, ThresholdStep, ThresholdsReport};
use units::{Nanos, Priority};

impl EgressPort {
    /// Moves the ECN thresholds that are due. `inputs` says how many ports feed the queues of a priority. Calls `report` for
    /// each step.
    pub fn adapt(
        &mut self,
        now: Nanos,
        inputs: impl Fn(Priority) -> u32,
        mut report: impl FnMut(Priority, ThresholdStep, ThresholdsReport),
    ) {
        for id in self.adapting.iter() {
            if !self.queue(id).adaptive.as_ref().is_some_and(|it| it.is_due(now)) {
                continue;
            }
            let (carried, priority) = (self.carried(), self.gate.pauses.priority(id));
            let paused = self.gate.pauses.paused_for(priority, now);
            let queue = &mut self.queues[id.index()];
            let marked = queue.counters.marked + queue.counters.already_marked;
            let seen = QueueSample { queue: queue.bytes, carried, marked, paused };
            let Some(adaptive) = &mut queue.adaptive else { continue };
            let before = adaptive.report();
            let Some(red) = adaptive.look(now, seen, || inputs(priority)) else { continue };
            queue.red = Some(red);
            let after = adaptive.report();
            if let Some(step) = after.step_since(&before) {
                report(priority, step, after);
            }
        }
    }
}
