//! PFC toward the upstream: which priorities are stopped, and the frames that say so.
//!
//! IEEE 802.1Q clause 36. The generator holds what should be (`xoff`) and what the neighbour was
//! told (`announced`); a frame is due where they differ, or where an announced pause must be
//! refreshed. A state that came and went within one turn is never announced.

use super::pause_time::PauseMeter;
use units::{BitRate, Interval, Nanos, PauseQuanta, Priority, PrioritySet};

/// Why a priority was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseCause {
    /// Its group reached its XOFF threshold.
    #[default]
    Threshold,
    /// The shared pool had no room left.
    PoolFull,
    /// A slot of Bifrost was not granted entirely.
    Slot,
    /// Memory for received frames ran low.
    MemoryLow,
}

impl PauseCause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Threshold, Self::PoolFull, Self::Slot, Self::MemoryLow];

    /// The name in reports; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::PoolFull => "pool_full",
            Self::Slot => "slot",
            Self::MemoryLow => "memory_low",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// What was sent for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausesSent {
    /// Frames that stopped it.
    pub xoff: u64,
    /// Frames that kept it stopped.
    pub refresh: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames that gave it the pause of a slot, zero included.
    pub slot: u64,
}

/// A pause for the rest of a slot, to be announced at once.
#[derive(Clone, Copy, Debug)]
struct SlotPause {
    priorities: PrioritySet,
    quanta: PauseQuanta,
    time: Interval,
}

/// The times that one PFC frame carries: `None` for a priority that it does not concern.
pub(crate) type PauseTimes = [Option<PauseQuanta>; Priority::COUNT];

/// The sending half of PFC on one port.
#[derive(Debug)]
pub(crate) struct Generator {
    pause: PauseQuanta,
    pause_time: Interval,
    xoff: PrioritySet,
    announced: PrioritySet,
    cause: [PauseCause; Priority::COUNT],
    refresh_at: [Nanos; Priority::COUNT],
    slot: Option<SlotPause>,
    meters: [[PauseMeter; PauseCause::ALL.len()]; Priority::COUNT],
    sent: [PausesSent; Priority::COUNT],
}

impl Generator {
    pub fn new(pause: PauseQuanta, rate: BitRate) -> Self {
        Self {
            pause,
            pause_time: pause.interval_at(rate),
            xoff: PrioritySet::EMPTY,
            announced: PrioritySet::EMPTY,
            cause: Default::default(),
            refresh_at: [Nanos::NEVER; Priority::COUNT],
            slot: None,
            meters: Default::default(),
            sent: Default::default(),
        }
    }

    /// New settings, from the next frame on.
    pub fn configure(&mut self, pause: PauseQuanta, rate: BitRate) {
        (self.pause, self.pause_time) = (pause, pause.interval_at(rate));
    }

    pub fn stop(&mut self, priority: Priority, cause: PauseCause) {
        // Who was not told of the end of a pause is still in it: it goes on for its first cause.
        if !self.xoff.contains(priority) && !self.announced.contains(priority) {
            self.cause[priority.index()] = cause;
        }
        self.xoff = self.xoff.with(priority);
    }

    pub fn resume(&mut self, priority: Priority) {
        self.xoff = self.xoff.without(priority);
    }

    /// Pauses `priorities` for `time` from the next frame on, whatever their thresholds say; zero
    /// ends such a pause. A priority that a threshold has stopped stays so.
    pub fn pause_slot(&mut self, priorities: PrioritySet, time: Interval, rate: BitRate) {
        let quanta = PauseQuanta::covering(time, rate);
        self.slot = Some(SlotPause { priorities, quanta, time: quanta.interval_at(rate) });
    }

    /// When the next frame is due: at once ([`Nanos::ZERO`]), at the next refresh, or never.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        if self.xoff == self.announced && self.slot.is_none() {
            if self.announced.is_empty() {
                return Nanos::NEVER;
            }
            let refreshes = self.announced.iter().map(|priority| self.refresh_at[priority.index()]);
            return refreshes.min().unwrap_or(Nanos::NEVER);
        }
        Nanos::ZERO
    }

    /// The frame that is due at `now` and will be on the wire from `start`. Before the deadline
    /// it concerns no priority.
    pub fn take_due(&mut self, now: Nanos, start: Nanos) -> PauseTimes {
        let mut times = PauseTimes::default();
        for priority in Priority::all() {
            times[priority.index()] = self.due(priority, now, start);
        }
        self.announced = self.xoff;
        self.slot = None;
        times
    }

    fn due(&mut self, priority: Priority, now: Nanos, start: Nanos) -> Option<PauseQuanta> {
        let index = priority.index();
        let sent = &mut self.sent[index];
        match (self.xoff.contains(priority), self.announced.contains(priority)) {
            (true, false) => sent.xoff += 1,
            (true, true) if self.refresh_at[index] <= now => sent.refresh += 1,
            (false, true) if self.slot.is_some_and(|slot| slot.priorities.contains(priority)) => {
                // What the threshold ends, the slot goes on with.
                sent.xon += 1;
                self.meters[index][self.cause[index].index()].pause(start, Interval::ZERO);
                return self.due_for_slot(priority, start);
            }
            (false, true) => sent.xon += 1,
            (false, false) => return self.due_for_slot(priority, start),
            _ => return None,
        }
        let stopped = self.xoff.contains(priority);
        let (quanta, time) =
            if stopped { (self.pause, self.pause_time) } else { (PauseQuanta::ZERO, Interval::ZERO) };
        // A pause has one cause: that of a slot ends where a threshold takes over.
        self.meters[index][PauseCause::Slot.index()].pause(start, Interval::ZERO);
        self.meters[index][self.cause[index].index()].pause(start, time);
        // Half of the time leaves room for a frame that is late or lost.
        self.refresh_at[index] = if stopped { start + Interval(time.0 / 2) } else { Nanos::NEVER };
        Some(quanta)
    }

    fn due_for_slot(&mut self, priority: Priority, start: Nanos) -> Option<PauseQuanta> {
        let slot = self.slot.filter(|slot| slot.priorities.contains(priority))?;
        self.sent[priority.index()].slot += 1;
        self.meters[priority.index()][PauseCause::Slot.index()].pause(start, slot.time);
        Some(slot.quanta)
    }

    /// What was sent for `priority`.
    pub fn sent(&self, priority: Priority) -> PausesSent {
        self.sent[priority.index()]
    }

    /// Until when the neighbour was told to stop `priority`: in the past where it may send.
    pub fn paused_until(&self, priority: Priority) -> Nanos {
        self.meters[priority.index()].iter().map(PauseMeter::until).max().unwrap_or(Nanos::ZERO)
    }

    /// For how long `priority` was stopped for `cause` up to `now`, as the frames said.
    pub fn paused_for(&self, priority: Priority, cause: PauseCause, now: Nanos) -> Interval {
        self.meters[priority.index()][cause.index()].total(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::gigabits(100);
    const P3: Priority = Priority::from_low_bits(3);
    const P4: Priority = Priority::from_low_bits(4);

    fn generator() -> Generator {
        Generator::new(PauseQuanta(1_000), RATE)
    }

    #[test]
    fn a_stop_is_announced_once_refreshed_at_half_time_and_cancelled_with_time_zero() {
        let mut pfc = generator();
        assert_eq!(pfc.deadline(), Nanos::NEVER);
        pfc.stop(P3, PauseCause::Threshold);
        assert_eq!(pfc.deadline(), Nanos::ZERO);
        let times = pfc.take_due(Nanos(100), Nanos(110));
        assert_eq!(times[3], Some(PauseQuanta(1_000)));
        assert_eq!(times.iter().flatten().count(), 1, "it concerns priority 3 alone");

        assert_eq!(pfc.deadline(), Nanos(110 + 2_560), "1000 quanta are 5120 ns at 100G");
        assert_eq!(pfc.take_due(Nanos(2_669), Nanos(2_669)), PauseTimes::default());
        assert_eq!(pfc.take_due(Nanos(2_670), Nanos(2_670))[3], Some(PauseQuanta(1_000)));

        pfc.resume(P3);
        assert_eq!(pfc.take_due(Nanos(3_000), Nanos(3_000))[3], Some(PauseQuanta::ZERO));
        assert_eq!(pfc.deadline(), Nanos::NEVER);
        assert_eq!(pfc.sent(P3), PausesSent { xoff: 1, refresh: 1, xon: 1, slot: 0 });
        assert_eq!(pfc.paused_for(P3, PauseCause::Threshold, Nanos(9_000)), Interval(3_000 - 110));
        assert_eq!(pfc.paused_until(P3), Nanos(3_000));
    }

    #[test]
    fn what_came_and_went_before_a_frame_could_leave_is_not_announced() {
        let mut pfc = generator();
        pfc.stop(P3, PauseCause::PoolFull);
        pfc.resume(P3);
        assert_eq!(pfc.deadline(), Nanos::NEVER);
    }

    #[test]
    fn one_frame_carries_all_changes_and_leaves_running_pauses_alone() {
        let mut pfc = generator();
        pfc.stop(P3, PauseCause::Threshold);
        pfc.take_due(Nanos(0), Nanos(0));
        pfc.stop(P4, PauseCause::Threshold);
        let times = pfc.take_due(Nanos(1), Nanos(1));
        assert_eq!((times[3], times[4]), (None, Some(PauseQuanta(1_000))));
    }

    #[test]
    fn a_slot_is_announced_once_and_leaves_a_priority_alone_that_a_threshold_has_stopped() {
        let mut pfc = generator();
        pfc.stop(P3, PauseCause::Threshold);
        pfc.take_due(Nanos(0), Nanos(0));
        pfc.pause_slot(PrioritySet::EMPTY.with(P3).with(P4), Interval(512), RATE);
        assert_eq!(pfc.deadline(), Nanos::ZERO);
        let times = pfc.take_due(Nanos(10), Nanos(10));
        assert_eq!((times[3], times[4]), (None, Some(PauseQuanta(100))));
        assert_ne!(pfc.deadline(), Nanos::ZERO);
        assert_eq!(pfc.paused_for(P4, PauseCause::Slot, Nanos(1_000)), Interval(512));
        assert_eq!((pfc.sent(P3).slot, pfc.sent(P4).slot), (0, 1));

        pfc.resume(P3);
        pfc.pause_slot(PrioritySet::EMPTY.with(P3), Interval(512), RATE);
        assert_eq!(pfc.take_due(Nanos(500), Nanos(500))[3], Some(PauseQuanta(100)), "not resumed within it");
        assert_eq!(pfc.paused_for(P3, PauseCause::Threshold, Nanos(9_000)), Interval(500));
        assert_eq!(pfc.paused_for(P3, PauseCause::Slot, Nanos(9_000)), Interval(512));
        assert_eq!(pfc.deadline(), Nanos::NEVER, "and nothing is left to refresh");
    }
}
