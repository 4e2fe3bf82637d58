//! The pauses that a port obeys: IEEE 802.1Q clause 36.1.3.3.

use crate::flow_control::pause_time::PauseMeter;
use crate::program::PfcSettings;
use units::{BitRate, Interval, Nanos, PauseQuanta, Priority, PrioritySet};

/// What was received for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausesReceived {
    /// Frames that paused it, refreshes included.
    pub xoff: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames for a priority that does not obey.
    pub ignored: u64,
}

/// The receiving half of flow control on one port.
#[derive(Debug)]
pub(crate) struct ReceivedPauses {
    obey: PrioritySet,
    rate: BitRate,
    paused: PrioritySet,
    meters: [PauseMeter; Priority::COUNT],
    received: [PausesReceived; Priority::COUNT],
}

impl ReceivedPauses {
    pub fn new(obey: PrioritySet, rate: BitRate) -> Self {
        Self {
            obey,
            rate,
            paused: PrioritySet::EMPTY,
            meters: Default::default(),
            received: Default::default(),
        }
    }

    /// New settings. A priority that no longer obeys is resumed at once, unless an 802.3x PAUSE
    /// may have stopped it and the port still obeys those.
    pub fn configure(&mut self, now: Nanos, pfc: &PfcSettings, rate: BitRate) {
        let obey = if pfc.obey_global_pause { PrioritySet::ALL } else { pfc.obey };
        for priority in self.paused.difference(obey).iter() {
            self.meters[priority.index()].pause(now, Interval::ZERO);
        }
        self.paused = self.paused.intersection(obey);
        (self.obey, self.rate) = (pfc.obey, rate);
    }

    /// A frame that arrived at `now` asks `priority` to pause for `time`.
    pub fn receive(&mut self, now: Nanos, priority: Priority, time: PauseQuanta) {
        let received = &mut self.received[priority.index()];
        if !self.obey.contains(priority) {
            received.ignored += 1;
            return;
        }
        self.stop(now, priority, time);
    }

    /// Pauses `priority` whether or not it obeys PFC: an 802.3x PAUSE that is honoured.
    pub fn stop(&mut self, now: Nanos, priority: Priority, time: PauseQuanta) {
        let received = &mut self.received[priority.index()];
        self.meters[priority.index()].pause(now, time.interval_at(self.rate));
        if time == PauseQuanta::ZERO {
            received.xon += 1;
            self.paused = self.paused.without(priority);
        } else {
            received.xoff += 1;
            self.paused = self.paused.with(priority);
        }
    }

    /// The priorities that are paused at `now`.
    #[inline]
    pub fn paused(&mut self, now: Nanos) -> PrioritySet {
        if !self.paused.is_empty() {
            for priority in self.paused.iter() {
                if self.meters[priority.index()].until() <= now {
                    self.paused = self.paused.without(priority);
                }
            }
        }
        self.paused
    }

    /// When `priority` may send again: in the past where it is not paused.
    #[inline]
    pub fn paused_until(&self, priority: Priority) -> Nanos {
        if self.paused.contains(priority) { self.meters[priority.index()].until() } else { Nanos::ZERO }
    }

    pub fn received(&self, priority: Priority) -> PausesReceived {
        self.received[priority.index()]
    }

    pub fn paused_for(&self, priority: Priority, now: Nanos) -> Interval {
        self.meters[priority.index()].total(now)
    }
}
