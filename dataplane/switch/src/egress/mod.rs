//! The egress half of a port: queues, scheduler, shapers, link clock, and the pauses it obeys.

mod pauses;
mod port;
mod scheduler;
mod shaper;

pub use pauses::PausesReceived;
pub use port::QueueCounters;

pub(crate) use pauses::ReceivedPauses;
pub(crate) use port::{Departure, EgressPort, Turn};
