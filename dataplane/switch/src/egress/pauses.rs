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
    /// Priorities that send in spite of a pause.
    ignoring: PrioritySet,
    meters: [PauseMeter; Priority::COUNT],
    received: [PausesReceived; Priority::COUNT],
}

impl ReceivedPauses {
    pub fn new(obey: PrioritySet, rate: BitRate) -> Self {
        Self {
            obey,
            rate,
            paused: PrioritySet::EMPTY,
            ignoring: PrioritySet::EMPTY,
            meters: Default::default(),
            received: Default::default(),
        }
    }

    /// New settings. A priority that no longer obeys is resumed at once, unless an 802.3x PAUSE
    /// may have stopped it and the port still obeys those.
    pub fn configure(&mut self, now: Nanos, pfc: &PfcSettings, rate: BitRate) {
        let obey = pfc.obeyed();
        for priority in PrioritySet::ALL.difference(obey).iter() {
            self.meters[priority.index()].pause(now, Interval::ZERO);
        }
        self.paused = self.paused.intersection(obey);
        (self.obey, self.rate) = (pfc.obey, rate);
    }

    /// Whether `priority` obeys PFC frames. One that came in vain is counted.
    pub fn obeys(&mut self, priority: Priority) -> bool {
        let obeys = self.obey.contains(priority);
        self.received[priority.index()].ignored += u64::from(!obeys);
        obeys
    }

    /// Pauses `priority` for `time`: a PFC frame that it obeys, or an 802.3x PAUSE that is honoured.
    pub fn stop(&mut self, now: Nanos, priority: Priority, time: PauseQuanta) {
        let received = &mut self.received[priority.index()];
        self.meters[priority.index()].pause(now, time.interval_at(self.rate));
        if time == PauseQuanta::ZERO {
            received.xon += 1;
            self.paused = self.paused.without(priority);
        } else {
            received.xoff += 1;
            self.paused = self.paused.with(priority).difference(self.ignoring);
        }
    }

    /// From now on, `ignoring` send in spite of a pause, and no others do.
    pub fn ignore(&mut self, now: Nanos, ignoring: PrioritySet) {
        for priority in self.ignoring.difference(ignoring).iter() {
            if self.meters[priority.index()].until() > now {
                self.paused = self.paused.with(priority);
            }
        }
        self.ignoring = ignoring;
        self.paused = self.paused.difference(ignoring);
    }

    /// The meters of received pauses, whether or not they are ignored.
    pub fn meters(&self) -> &[PauseMeter; Priority::COUNT] {
        &self.meters
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

    /// The priorities that were paused when this was last looked at: all that are, and maybe some
    /// whose pause has run out.
    #[inline]
    pub fn stopped(&self) -> PrioritySet {
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
