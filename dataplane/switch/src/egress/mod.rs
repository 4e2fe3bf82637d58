//! The egress half of a port: queues, scheduler, shapers, link clock, and the pauses it obeys.

mod pauses;
mod port;
mod scheduler;
mod shaper;
mod watchdog;

pub use pauses::PausesReceived;
pub use port::QueueCounters;
pub use watchdog::{
    Restoration, RestorationCause, Storm, WatchdogChange, WatchdogCounters, WatchdogEvent, WatchdogLog,
};

pub(crate) use pauses::ReceivedPauses;
pub(crate) use port::{EgressPort, Turn};
