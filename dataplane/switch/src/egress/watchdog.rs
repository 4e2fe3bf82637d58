//! The PFC watchdog of a port: it finds the queues that a peer pauses without end, and restores them.
//!
//! A queue is stormed when for the detection time it held frames, sent none and was paused for at
//! least 99 % of it. The time is measured in a window. It begins where the queue began to wait (its
//! last frame was sent, or its first one came), or else with a pause; once the pauses have left a
//! gap of more than 1 % of the detection time in it, the next pause begins another. Where the window
//! is as long as the detection time and a pause is in force, that is a storm.
//!
//! Nothing is polled. What changes a window is looked at when a pause frame arrives, and the end of
//! a window is a deadline only where the pause that is in force reaches beyond it.

use crate::flow_control::pause_time::PauseMeter;
use crate::ledger::Volume;
use crate::program::{Watchdog, WatchdogAction};
use std::collections::VecDeque;
use units::{Interval, Nanos, PortId, Priority, QueueId, QueueSet};

/// What the watchdog has found of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchdogCounters {
    /// Storms detected.
    pub storms: u64,
    /// Storms that have ended.
    pub restored: u64,
}

impl core::ops::AddAssign for WatchdogCounters {
    fn add_assign(&mut self, other: Self) {
        self.storms += other.storms;
        self.restored += other.restored;
    }
}

/// A queue was found stormed, or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogEvent {
    /// When.
    pub at: Nanos,
    /// Whose queue it is.
    pub port: PortId,
    /// Which of its queues.
    pub queue: QueueId,
    /// The priority to which that belongs.
    pub priority: Priority,
    /// What happened, and why.
    pub change: WatchdogChange,
}

/// What happened to a queue, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogChange {
    /// It is stormed from now on.
    Detected(Storm),
    /// It is not any more.
    Restored(Restoration),
}

/// Why a queue was found stormed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    /// What happens to it.
    pub action: WatchdogAction,
    /// For how long it had held frames and sent none.
    pub stalled_for: Interval,
    /// The time over which its pauses were measured: the detection time, and what a turn was late; where it ended in
    /// a gap, up to the next pause.
    pub measured_for: Interval,
    /// For how much of that it was paused.
    pub paused_for: Interval,
    /// What waited.
    pub waiting: Volume,
}

/// Why a queue was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restoration {
    /// What ended the storm.
    pub cause: RestorationCause,
    /// How long ago the last pause frame came for it, XON left out.
    pub quiet_for: Interval,
    /// How long ago the storm was detected.
    pub stormed_for: Interval,
}

/// What ended a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorationCause {
    /// No pause frame came for the restoration time.
    Quiet,
    /// The peer resumed the queue: a pause of time zero.
    Xon,
    /// By a new configuration the watchdog is off, or the priority obeys no pauses.
    Configuration,
}

impl RestorationCause {
    /// The name in reports; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Xon => "xon",
            Self::Configuration => "configuration",
        }
    }
}

/// The latest events of a shard, oldest first.
#[derive(Debug, PartialEq, Eq)]
pub struct WatchdogLog {
    events: VecDeque<WatchdogEvent>,
    forgotten: u64,
}

impl Default for WatchdogLog {
    /// An empty one, with room for all the events that are ever kept.
    fn default() -> Self {
        Self { events: VecDeque::with_capacity(Self::CAPACITY), forgotten: 0 }
    }
}

impl Clone for WatchdogLog {
    fn clone(&self) -> Self {
        let mut log = Self::default();
        log.clone_from(self);
        log
    }

    /// Nothing is allocated.
    fn clone_from(&mut self, source: &Self) {
        self.events.clone_from(&source.events);
        self.forgotten = source.forgotten;
    }
}

impl WatchdogLog {
    /// How many events are kept.
    pub const CAPACITY: usize = 256;

    /// The events that are kept, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WatchdogEvent> {
        self.events.iter()
    }

    /// How many events there were before those.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn push(&mut self, event: WatchdogEvent) {
        if self.events.len() == Self::CAPACITY {
            self.events.pop_front();
            self.forgotten += 1;
        }
        self.events.push_back(event);
    }
}

/// Where the measuring of a queue's pauses began.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: Nanos,
    /// [`PauseMeter::total`] at the start.
    paused: Interval,
}

impl Window {
    /// `start` is not before the pause that `meter` counts, or lies behind its end.
    fn starting(start: Nanos, meter: &PauseMeter) -> Self {
        Self { start, paused: meter.total(start) }
    }

    /// This window, or the one that starts at `since` if that is later.
    fn not_before(self, since: Nanos, meter: &PauseMeter) -> Self {
        if since > self.start { Self::starting(since, meter) } else { self }
    }

    fn paused_for(&self, now: Nanos, meter: &PauseMeter) -> Interval {
        meter.total(now) - self.paused
    }

    /// Whether the pauses have left a gap of more than 1 % of `detection` in it.
    fn is_broken(&self, now: Nanos, meter: &PauseMeter, detection: Interval) -> bool {
        let gap = now.since(self.start) - self.paused_for(now, meter);
        gap * 100 > detection
    }
}

/// What is known of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    window: Window,
    last_xoff: Nanos,
    detected: Nanos,
    counters: WatchdogCounters,
}

/// The watchdog of one port. What it needs of queues and pauses it is given.
#[derive(Debug)]
pub(crate) struct PortWatchdog {
    settings: Option<Watchdog>,
    /// Queues that are stormed.
    stormed: QueueSet,
    /// Those of them whose frames are dropped.
    dropping: QueueSet,
    watches: Vec<Watch>,
}

impl PortWatchdog {
    /// A watchdog over so many queues.
    pub fn new(settings: Option<Watchdog>, queues: usize) -> Self {
        let stormed = QueueSet::EMPTY;
        Self { settings, stormed, dropping: stormed, watches: vec![Watch::default(); queues] }
    }

    /// Whether there is one.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// The queues that are stormed.
    #[inline]
    pub fn stormed(&self) -> QueueSet {
        self.stormed
    }

    /// The queues whose frames are dropped, those that wait and those that come.
    #[inline]
    pub fn dropping(&self) -> QueueSet {
        self.dropping
    }

    /// The queues that send in spite of a pause.
    pub fn forwarding(&self) -> QueueSet {
        self.under(WatchdogAction::Forward)
    }

    /// The stormed queues to which `action` happens.
    fn under(&self, action: WatchdogAction) -> QueueSet {
        match &self.settings {
            Some(settings) if settings.action == action => self.stormed,
            _ => QueueSet::EMPTY,
        }
    }

    pub fn counters(&self, queue: QueueId) -> WatchdogCounters {
        self.watches[queue.index()].counters
    }

    /// An XOFF that is obeyed arrived at `now`. `meter` does not know of it yet; the queue holds
    /// frames and has sent none since `stalled`, if it holds any.
    pub fn xoff(
        &mut self,
        now: Nanos,
        queue: QueueId,
        meter: &PauseMeter,
        stalled: impl FnOnce() -> Option<Nanos>,
    ) {
        let watch = &mut self.watches[queue.index()];
        watch.last_xoff = now;
        let Some(Watchdog { detection, .. }) = self.settings else { return };
        if meter.until() > now {
            // A refresh leaves no gap.
            return;
        }
        watch.window = watch.window.not_before(stalled().unwrap_or(now), meter);
        if watch.window.is_broken(now, meter, detection) {
            watch.window = Window::starting(now, meter);
        }
    }

    /// An XON that is obeyed arrived at `now`.
    pub fn xon(&mut self, now: Nanos, queue: QueueId, meter: &PauseMeter) -> Option<WatchdogChange> {
        let stormed = self.stormed.contains(queue);
        stormed.then(|| self.restore(now, queue, meter, RestorationCause::Xon))
    }

    /// When `queue`, which has waited since `stalled` and is paused, is to be found
    /// stormed; never if the pause ends before.
    #[inline]
    pub fn detection_at(
        &self,
        queue: QueueId,
        meter: &PauseMeter,
        stalled: impl FnOnce() -> Option<Nanos>,
    ) -> Nanos {
        let Some(Watchdog { detection, .. }) = self.settings else { return Nanos::NEVER };
        let start = self.watches[queue.index()].window.start;
        if self.stormed.contains(queue) || start + detection >= meter.until() {
            return Nanos::NEVER;
        }
        let Some(stalled) = stalled() else { return Nanos::NEVER };
        let deadline = start.max(stalled) + detection;
        if deadline < meter.until() { deadline } else { Nanos::NEVER }
    }

    /// When `queue`, which is stormed, is to be restored: when no XOFF came for the
    /// restoration time, and the last one is over.
    #[inline]
    pub fn restoration_at(&self, queue: QueueId, meter: &PauseMeter) -> Nanos {
        let Some(Watchdog { restoration, .. }) = self.settings else { return Nanos::NEVER };
        (self.watches[queue.index()].last_xoff + restoration).max(meter.until())
    }

    /// Detects or ends a storm of `queue`, if that is due at `now`. `waiting` has
    /// waited since `stalled`, and is paused or not.
    pub fn judge(
        &mut self,
        now: Nanos,
        queue: QueueId,
        meter: &PauseMeter,
        stalled: Option<Nanos>,
        waiting: Volume,
    ) -> Option<WatchdogChange> {
        if self.stormed.contains(queue) {
            let due = self.restoration_at(queue, meter) <= now;
            return due.then(|| self.restore(now, queue, meter, RestorationCause::Quiet));
        }
        let paused = meter.until() > now;
        if !paused || self.detection_at(queue, meter, || stalled) > now {
            return None;
        }
        let (settings, stalled) = (self.settings?, stalled?);
        let watch = &mut self.watches[queue.index()];
        watch.window = watch.window.not_before(stalled, meter);
        watch.detected = now;
        watch.counters.storms += 1;
        let window = watch.window;
        self.stormed = self.stormed.with(queue);
        self.dropping = self.under(WatchdogAction::Drop);
        Some(WatchdogChange::Detected(Storm {
            action: settings.action,
            stalled_for: now.since(stalled),
            measured_for: now.since(window.start),
            paused_for: window.paused_for(now, meter),
            waiting,
        }))
    }

    /// Other settings. Storms go on under them, but for those of queues that are watched no more:
    /// `report` is told of their end. `obeying` are the queues that obey pauses.
    pub fn configure(
        &mut self,
        now: Nanos,
        settings: Option<Watchdog>,
        obeying: QueueSet,
        meter: impl Fn(QueueId) -> PauseMeter,
        mut report: impl FnMut(QueueId, WatchdogChange),
    ) {
        let was_on = core::mem::replace(&mut self.settings, settings).is_some();
        let watched = if self.is_on() { obeying } else { QueueSet::EMPTY };
        for queue in self.stormed.difference(watched).iter() {
            report(queue, self.restore(now, queue, &meter(queue), RestorationCause::Configuration));
        }
        self.dropping = self.under(WatchdogAction::Drop);
        let Some(Watchdog { detection, .. }) = settings else { return };
        for (queue, watch) in QueueSet::first(self.watches.len()).iter().zip(&mut self.watches) {
            let meter = meter(queue);
            // What came before the watchdog was not seen.
            if !was_on || watch.window.is_broken(now, &meter, detection) {
                watch.window = Window::starting(now, &meter);
            }
        }
    }

    /// Ends a storm. What comes next is measured anew.
    fn restore(
        &mut self,
        now: Nanos,
        queue: QueueId,
        meter: &PauseMeter,
        cause: RestorationCause,
    ) -> WatchdogChange {
        self.stormed = self.stormed.without(queue);
        self.dropping = self.under(WatchdogAction::Drop);
        let watch = &mut self.watches[queue.index()];
        watch.window = Window::starting(now, meter);
        watch.counters.restored += 1;
        WatchdogChange::Restored(Restoration {
            cause,
            quiet_for: now.since(watch.last_xoff),
            stormed_for: now.since(watch.detected),
        })
    }
}

#[cfg(test)]
mod tests;
