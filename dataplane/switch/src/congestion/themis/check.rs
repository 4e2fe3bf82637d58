//! The slow queues of ports, and the check of THEMIS on a port and among them.

use super::settings::{SlowQueues, Slowing, Themis, ThemisError};
use crate::program::{PortSettings, QueueSettings, RateLimit};
use units::{Bytes, Interval, Priority, PrioritySet, QueueId, QueueSet};

/// The shortest interval of CNPs.
const LEAST: Interval = Interval::from_micros(1);

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

impl Themis {
    /// Checks THEMIS on `port`.
    ///
    /// # Errors
    /// [`ThemisError`] for what is out of range or has no effect, and beside another scheme that answers the same marks.
    pub fn validate(&self, port: &PortSettings) -> Result<(), ThemisError> {
        let Self { cnp_interval, slowing, notifier } = *self;
        if let Some(interval) = cnp_interval {
            if interval < LEAST {
                return Err(ThemisError::CnpInterval { interval, least: LEAST });
            }
            if port.lscc.is_some() {
                return Err(ThemisError::BesideLscc);
            }
            if port.supplement.is_some_and(|it| it.threshold.is_some()) {
                return Err(ThemisError::BesideSupplement);
            }
        }
        match slowing {
            None if cnp_interval.is_none() => return Err(ThemisError::Idle),
            Some(_) if port.lossless().is_empty() => return Err(ThemisError::WithoutLossless),
            Some(Slowing { hold: Interval::ZERO, .. }) => return Err(ThemisError::Hold),
            Some(Slowing { limit: Bytes::ZERO, .. }) => return Err(ThemisError::Limit),
            _ => {}
        }
        Ok(notifier.validate()?)
    }
}

impl SlowQueues {
    /// Checks the slow queues of `port`.
    ///
    /// # Errors
    /// [`ThemisError::BesideFarPorts`] where the queues of far ports would share its flows, and
    /// [`ThemisError::SlowQueue`] for one that is not there, or belongs elsewhere.
    pub fn validate(&self, port: &PortSettings) -> Result<(), ThemisError> {
        if port.flow_control.chooses_queues() {
            return Err(ThemisError::BesideFarPorts);
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

/// Checks THEMIS among the ports. Returns the port at fault.
///
/// # Errors
/// [`ThemisError::SecondPort`] where two ports slow flows down.
pub(crate) fn validate_together(ports: &[PortSettings]) -> Result<(), (&PortSettings, ThemisError)> {
    let mut slowing = ports.iter().filter(|port| port.themis.is_some_and(|it| it.slowing.is_some()));
    match (slowing.next(), slowing.next()) {
        (Some(first), Some(second)) => Err((second, ThemisError::SecondPort { other: first.name.clone() })),
        _ => Ok(()),
    }
}
