//! What time it is.

use std::time::Instant;
use units::Nanos;

/// A clock that never goes back, not even where the gateway starts again: nanoseconds of Unix time,
/// counted on from the start by a counter that nobody sets.
pub trait Clock {
    /// The present instant.
    fn now(&mut self) -> Nanos;
}

/// The operating system's monotonic clock, counted on from an instant of Unix time. Reading it may be a
/// system call: it is for machines without a better one.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    started: Instant,
    at: Nanos,
}

impl MonotonicClock {
    /// A clock that shows `now` now.
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
