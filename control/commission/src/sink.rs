//! The sink of the test device, which stops while a gateway sends at the rate of the link, and what still arrives
//! then.

use units::{Interval, Nanos};

/// How long the sink takes frames between two stops.
const OPEN: Interval = Interval::from_millis(20);
/// How long it waits for frames, and then for the gateway's own XOFF.
const PATIENCE: Interval = Interval::from_secs(10);
/// A link without frames for this long, and four of its delays, is quiet.
const QUIET: Interval = Interval::from_millis(5);
/// An end that has not stopped after this, and four delays, does not obey.
const LIMIT: Interval = Interval::from_secs(1);

/// The sink of one obedience step.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The delay of the link, one way.
    delay: Interval,
    /// Stops still to come.
    left: u64,
    is_stopped: bool,
    since: Nanos,
    /// Whether a frame has arrived since it took frames again.
    has_seen: bool,
    /// When the gateway asked the link to stop.
    xoff: Option<Nanos>,
    last: Nanos,
    /// Stops that the other end obeyed.
    pub obeyed: u64,
    /// Stops that it did not.
    pub ignored: u64,
    /// The longest time from XOFF to the last frame, less twice the delay.
    pub worst: Interval,
}

impl Sink {
    /// A sink that is going to stop so often on a link of this delay.
    pub fn new(now: Nanos, stops: u64, delay: Interval) -> Self {
        Self {
            delay,
            left: stops,
            is_stopped: false,
            since: now,
            has_seen: false,
            xoff: None,
            last: now,
            obeyed: 0,
            ignored: 0,
            worst: Interval::ZERO,
        }
    }

    /// Whether it takes no frames.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether it is not going to stop again.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Notes a frame that the link has brought.
    pub fn see_frame(&mut self, now: Nanos) {
        (self.has_seen, self.last) = (true, now);
    }

    /// Notes that the gateway asks the link to stop.
    pub fn see_xoff(&mut self, now: Nanos) {
        if self.is_stopped {
            self.xoff.get_or_insert(now);
        }
    }

    /// Stops, or takes frames again, when it is time.
    pub fn poll(&mut self, now: Nanos) {
        let away = self.delay * 4;
        match self.xoff {
            None if self.is_stopped => {
                if now.since(self.since) > PATIENCE {
                    (self.left, self.is_stopped) = (0, false);
                }
            }
            None => {
                if self.left > 0 && self.has_seen && now.since(self.since) >= OPEN {
                    (self.is_stopped, self.since) = (true, now);
                } else if now.since(self.since) > PATIENCE {
                    self.left = 0;
                }
            }
            Some(xoff) => {
                let is_quiet = now.since(self.last.max(xoff)) > QUIET + away;
                let ignores = now.since(xoff) > LIMIT + away;
                if !is_quiet && !ignores {
                    return;
                }
                let after = self.last.since(xoff + self.delay * 2);
                self.worst = self.worst.max(after);
                self.obeyed += u64::from(is_quiet);
                self.ignored += u64::from(!is_quiet);
                (self.left, self.is_stopped, self.since) = (self.left - 1, false, now);
                (self.xoff, self.has_seen) = (None, false);
            }
        }
    }
}
