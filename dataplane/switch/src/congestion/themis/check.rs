//! The slow queues of ports, and their check.

use super::settings::{SlowQueues, Slowing, ThemisError};
use crate::program::{PortSettings, QueueSettings, RateLimit};
use units::{Bytes, Priority, PrioritySet, QueueId, QueueSet};

impl PortSettings {
    /// Adds a slow queue for each of `priorities`, as [`Slowing`] of the long port wants it. It has the turn and the
    /// limit of the priority's first queue. It marks nothing, because its frames wait on purpose. Nothing is added
    /// where there is no room for another queue, which the check of the port reports.
    pub fn add_slow_queues(&mut self, priorities: PrioritySet, slowing: &Slowing) {
        let mut queues = [None; Priority::COUNT];
        for priority in priorities.iter() {
            queues[priority.index()] = QueueId::new(self.queues.len());
            let first = self.queues[priority.index()];
            let burst = Bytes(self.max_frame.0);
            let rate_limit = Some(RateLimit { rate: slowing.rate, burst });
            self.queues.push(QueueSettings { rate_limit, red: None, ..first });
        }
        self.slow = Some(SlowQueues { queues, limit: slowing.limit });
    }
}

impl SlowQueues {
    /// Checks the slow queues of `port`.
    ///
    /// # Errors
    /// [`ThemisError::QueuesChosen`] where the flow control of the port chooses the queues, and
    /// [`ThemisError::SlowQueue`] for one that is not there, or belongs elsewhere.
    pub fn validate(&self, port: &PortSettings) -> Result<(), ThemisError> {
        if port.flow_control.chooses_queues() {
            return Err(ThemisError::QueuesChosen);
        }
        for (priority, queue) in Priority::all().zip(self.queues) {
            let Some(queue) = queue else { continue };
            let fits = |it: &QueueSettings| it.priority == priority && it.rate_limit.is_some();
            let further =
                QueueSet::first(port.queues.len()).contains(queue) && queue.index() >= Priority::COUNT;
            if !further || !fits(&port.queues[queue.index()]) {
                return Err(ThemisError::SlowQueue { queue, priority });
            }
        }
        Ok(())
    }
}
