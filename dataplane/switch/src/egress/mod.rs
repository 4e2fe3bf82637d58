//! The egress half of a port: queues, scheduler, shapers, link clock, and the pauses it obeys.

mod gate;
mod pauses;
mod port;
mod queue;
mod scheduler;
mod shaper;
mod watchdog;

pub use pauses::PausesReceived;
pub use queue::QueueCounters;
pub use watchdog::{
    Restoration, RestorationCause, Storm, WatchdogChange, WatchdogCounters, WatchdogEvent, WatchdogLog,
};

pub(crate) use pauses::ReceivedPauses;
pub(crate) use port::{EgressPort, Turn};
pub(crate) use queue::Queue;
