//! Clocks.

use std::time::Instant;
use units::Nanos;

/// A clock that never goes back, not even across a restart of the gateway: Unix time in nanoseconds at the
/// start, then advanced by a counter that no one sets.
pub trait Clock {
    /// The current instant.
    fn now(&mut self) -> Nanos;
}

/// The operating system's monotonic clock, offset to Unix time. A read may be a system call, so use it only
/// on machines without a better clock.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    started: Instant,
    at: Nanos,
}

impl MonotonicClock {
    /// A clock that reads `now` at this moment.
    pub fn starting_at(now: Nanos) -> Self {
        Self { started: Instant::now(), at: now }
    }
}

impl Clock for MonotonicClock {
    fn now(&mut self) -> Nanos {
        let elapsed = self.started.elapsed().as_nanos();
        self.at + units::Interval(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}
