//! The clock of workers.

use dpdk::Tsc;
use units::Nanos;
use worker::Clock;

/// The time stamp counter, offset to Unix time at the start.
#[derive(Clone, Copy, Debug)]
pub struct WireClock(pub Tsc);

impl Clock for WireClock {
    #[inline]
    fn now(&mut self) -> Nanos {
        self.0.now()
    }
}
