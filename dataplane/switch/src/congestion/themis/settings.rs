//! The settings of THEMIS on a long-haul port.

use crate::program::{Notifier, NotifierError};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Priority, PrioritySet, QueueId};

/// THEMIS on the long port of a gateway ("THEMIS: Addressing Congestion-Induced Unfairness in Long-Haul RDMA
/// Networks", ICNP 2025; its abstract and its public code, because the paper itself was not at hand).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Proactive notification: the least interval between two CNPs to a flow whose outgoing packets carry congestion
    /// marks. `None` leaves the marks alone.
    pub cnp_interval: Option<Interval>,
    /// Temporary reaction: how flows from the far side are slowed down. `None` slows none down.
    pub slowing: Option<Slowing>,
    /// Its flows and its CNPs.
    pub notifier: Notifier,
}

/// The slowing of flows whose receivers ask their senders to slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowing {
    /// The time for which a flow is slowed down after a CNP to its sender: until the sender can have reacted.
    pub hold: Interval,
    /// The rate of all slow flows of a priority together at one port.
    pub rate: BitRate,
    /// The bytes that wait in one slow queue at most before its rate no longer applies.
    pub limit: Bytes,
}

/// The slow queues of a port toward the data center.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowQueues {
    /// The slow queue of each priority that has one. It is no queue of the first eight, and has a rate limit.
    pub queues: [Option<QueueId>; Priority::COUNT],
    /// The bytes above which the rate limit of a slow queue does not apply.
    pub limit: Bytes,
}

impl SlowQueues {
    /// The limit of `queue`, if it is a slow one.
    pub fn limit_of(&self, queue: QueueId) -> Option<Bytes> {
        self.queues.contains(&Some(queue)).then_some(self.limit)
    }
}

/// An error in the settings of THEMIS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum ThemisError {
    #[error("THEMIS neither answers marks nor slows flows down")]
    Idle,
    #[error("CNPs of a flow every {interval} are too frequent; expected at least {least}")]
    CnpInterval { interval: Interval, least: Interval },
    #[error("a hold of 0 slows no flow down")]
    Hold,
    #[error("a slow queue without room slows no flow down")]
    Limit,
    #[error("THEMIS can slow flows down in lossless priorities only, and the port has none")]
    WithoutLossless,
    #[error(transparent)]
    Notifier(#[from] NotifierError),
    #[error(
        "port {other} slows flows down already, and the slow queues of a gateway belong to one long port"
    )]
    SecondPort { other: String },
    #[error(
        "the flow control of this port chooses the queues of its frames, and slow queues would reorder their flows"
    )]
    QueuesChosen,
    #[error(
        "the slow queue {queue} of priority {priority} is not one of the port's additional queues, or has no rate limit"
    )]
    SlowQueue { queue: QueueId, priority: Priority },
}

/// The shortest interval of CNPs.
const LEAST: Interval = Interval::from_micros(1);

impl Settings {
    /// Checks THEMIS on a port with these `lossless` priorities.
    ///
    /// # Errors
    /// [`ThemisError`] for what is out of range or has no effect.
    pub(crate) fn validate(&self, lossless: PrioritySet) -> Result<(), ThemisError> {
        let Self { cnp_interval, slowing, notifier } = *self;
        if let Some(interval) = cnp_interval.filter(|it| *it < LEAST) {
            return Err(ThemisError::CnpInterval { interval, least: LEAST });
        }
        match slowing {
            None if cnp_interval.is_none() => return Err(ThemisError::Idle),
            Some(_) if lossless.is_empty() => return Err(ThemisError::WithoutLossless),
            Some(Slowing { hold: Interval::ZERO, .. }) => return Err(ThemisError::Hold),
            Some(Slowing { limit: Bytes::ZERO, .. }) => return Err(ThemisError::Limit),
            _ => {}
        }
        Ok(notifier.validate()?)
    }
}

/// Checks THEMIS among the ports that have it, each with its name. Returns the name of the port at fault.
///
/// # Errors
/// [`ThemisError::SecondPort`] where two ports slow flows down.
pub(crate) fn validate_together<'a>(
    ports: impl Iterator<Item = (&'a str, Settings)>,
) -> Result<(), (&'a str, ThemisError)> {
    let mut slowing = ports.filter(|(_, it)| it.slowing.is_some());
    match (slowing.next(), slowing.next()) {
        (Some((first, _)), Some((second, _))) => {
            Err((second, ThemisError::SecondPort { other: first.into() }))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
impl Settings {
    /// Settings for tests: proactive notification alone.
    pub(crate) const PLAIN: Self =
        Self { cnp_interval: Some(Interval::from_micros(5)), slowing: None, notifier: Notifier::PLAIN };
}
