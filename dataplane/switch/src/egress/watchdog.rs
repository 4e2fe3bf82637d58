//! The PFC watchdog of a port: it detects queues that a peer pauses without end, and restores them.
//!
//! A queue is stormed if, for the detection time, it held frames, sent none and was paused for at least 99 % of it.
//! The time is measured in a window. The window begins when the queue begins to wait (its last frame was sent, or
//! its first one came) or with a pause. Once the pauses leave a gap of more than 1 % of the detection time in it,
//! the next pause begins a new window. A window as long as the detection time, with a pause in force, is a storm.
//!
//! Nothing is polled. A window is checked when a pause frame arrives, and its end is a deadline only if the pause
//! in force lasts beyond it.

use crate::flow_control::pause_time::PauseMeter;
use crate::ledger::Volume;
use crate::program::{Watchdog, WatchdogAction};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Interval, Nanos, PortId, Priority, QueueId, QueueSet};

/// The watchdog's counters of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogCounters {
    /// Storms detected.
    pub storms: u64,
    /// Storms that have ended.
    pub restored: u64,
}

impl WatchdogCounters {
    /// Counts the storms of a queue with frames on several lanes once: the lanes hear the same pauses.
    pub(crate) fn join(&mut self, lane: Self) {
        self.storms = self.storms.max(lane.storms);
        self.restored = self.restored.max(lane.restored);
    }
}

impl core::ops::AddAssign for WatchdogCounters {
    fn add_assign(&mut self, other: Self) {
        self.storms += other.storms;
        self.restored += other.restored;
    }
}

/// A queue was found stormed, or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogEvent {
    /// The time of the change.
    pub at: Nanos,
    /// The port of the queue.
    pub port: PortId,
    /// The queue.
    pub queue: QueueId,
    /// The priority of the queue.
    pub priority: Priority,
    /// The change and its reason.
    pub change: WatchdogChange,
}

/// A change of a queue, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WatchdogChange {
    /// The queue is stormed from now on.
    Detected(Storm),
    /// The queue is no longer stormed.
    Restored(Restoration),
}

/// The evidence for a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// The action taken: `drop`, `forward` or `alert`.
    pub action: WatchdogAction,
    /// The time for which the queue had held frames and sent none.
    #[serde(rename = "stalled_ns")]
    pub stalled_for: Interval,
    /// The time over which its pauses were measured: the detection time plus the lateness of the turn; if it ended
    /// in a gap, up to the next pause.
    #[serde(rename = "measured_ns")]
    pub measured_for: Interval,
    /// The part of that time for which it was paused.
    #[serde(rename = "paused_ns")]
    pub paused_for: Interval,
    /// Frames that waited.
    pub waiting: Volume,
}

/// The end of a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restoration {
    /// The cause of the end: `quiet`, `xon` or `configuration`.
    pub cause: RestorationCause,
    /// The time since the last pause frame for it, XON left out.
    #[serde(rename = "quiet_ns")]
    pub quiet_for: Interval,
    /// The time since the storm was detected.
    #[serde(rename = "stormed_ns")]
    pub stormed_for: Interval,
}

units::named! {
    /// The cause that ended a storm.
    RestorationCause [serde] {
        /// No pause frame came for the restoration time.
        Quiet = "quiet",
        /// The peer resumed the queue: a pause of time zero.
        Xon = "xon",
        /// A new configuration turned the watchdog off, or the priority no longer obeys pauses.
        Configuration = "configuration",
    }
}

/// The latest events of a shard, oldest first.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogLog {
    events: VecDeque<WatchdogEvent>,
    forgotten: u64,
}

impl Default for WatchdogLog {
    /// An empty log, with room for [`WatchdogLog::CAPACITY`] events.
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

    /// Does not allocate.
    fn clone_from(&mut self, source: &Self) {
        self.events.clone_from(&source.events);
        self.forgotten = source.forgotten;
    }
}

impl WatchdogLog {
    /// The number of events that are kept.
    pub const CAPACITY: usize = 256;

    /// The events that are kept, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WatchdogEvent> {
        self.events.iter()
    }

    /// The number of earlier events, no longer kept.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds the events of another lane, in the order of their times.
    pub(crate) fn add_lane(&mut self, lane: &Self) {
        self.forgotten += lane.forgotten;
        self.events.extend(&lane.events);
        self.events.make_contiguous().sort_by_key(|event| event.at);
        while self.events.len() > Self::CAPACITY {
            self.events.pop_front();
            self.forgotten += 1;
        }
    }

    pub(crate) fn push(&mut self, event: WatchdogEvent) {
        if self.events.len() == Self::CAPACITY {
            self.events.pop_front();
            self.forgotten += 1;
        }
        self.events.push_back(event);
    }
}

/// The start of the measurement of a queue's pauses.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Window {
    start: Nanos,
    /// [`PauseMeter::total`] at the start.
    paused: Interval,
}

impl Window {
    /// `start` must not be before the pause that `meter` counts, unless it lies behind its end.
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

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Watch {
    window: Window,
    last_xoff: Nanos,
    detected: Nanos,
    counters: WatchdogCounters,
}

/// The watchdog of one port. Its caller supplies the state of queues and pauses.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PortWatchdog {
    settings: Option<Watchdog>,
    /// Queues that are stormed.
    pub stormed: QueueSet,
    /// Stormed queues whose frames are dropped, waiting and new ones.
    pub dropping: QueueSet,
    watches: Vec<Watch>,
}

impl PortWatchdog {
    /// A watchdog over `queues` queues.
    pub fn new(settings: Option<Watchdog>, queues: usize) -> Self {
        let stormed = QueueSet::EMPTY;
        Self { settings, stormed, dropping: stormed, watches: vec![Watch::default(); queues] }
    }

    /// Whether it is on.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// The queues that send in spite of a pause.
    pub fn forwarding(&self) -> QueueSet {
        self.under(WatchdogAction::Forward)
    }

    /// The stormed queues under `action`.
    fn under(&self, action: WatchdogAction) -> QueueSet {
        match &self.settings {
            Some(settings) if settings.action == action => self.stormed,
            _ => QueueSet::EMPTY,
        }
    }

    pub fn counters(&self, queue: QueueId) -> WatchdogCounters {
        self.watches[queue.index()].counters
    }

    /// Takes an XOFF that arrived at `now` and is obeyed. `meter` does not include it yet. The queue holds frames
    /// and has sent none since `stalled`, if it holds any.
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

    /// Takes an XON that arrived at `now` and is obeyed.
    pub fn xon(&mut self, now: Nanos, queue: QueueId, meter: &PauseMeter) -> Option<WatchdogChange> {
        let stormed = self.stormed.contains(queue);
        stormed.then(|| self.restore(now, queue, meter, RestorationCause::Xon))
    }

    /// The time at which `queue`, which is paused and has waited since `stalled`, is to be detected as stormed;
    /// never if the pause ends before.
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

    /// The time at which `queue`, which is stormed, is to be restored: no XOFF has come for the restoration time,
    /// and the last one is over.
    #[inline]
    pub fn restoration_at(&self, queue: QueueId, meter: &PauseMeter) -> Nanos {
        let Some(Watchdog { restoration, .. }) = self.settings else { return Nanos::NEVER };
        (self.watches[queue.index()].last_xoff + restoration).max(meter.until())
    }

    /// Detects or ends a storm of `queue`, if that is due at `now`. `waiting` has waited since `stalled`; the queue
    /// may be paused or not.
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

    /// Applies new settings. Storms continue, except for those of queues that are no longer watched: calls `report`
    /// for their end. `obeying` are the queues that obey pauses.
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
            // The watchdog has not seen earlier pauses.
            if !was_on || watch.window.is_broken(now, &meter, detection) {
                watch.window = Window::starting(now, &meter);
            }
        }
    }

    /// Ends a storm. The measurement starts afresh.
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
