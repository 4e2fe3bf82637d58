//! One queue of a port.

use crate::admission::LossyAccount;
use crate::congestion::Thresholds;
use crate::congestion::mark::{Marking, mark_congestion};
use crate::congestion::red::Red;
use crate::frame::Frame;
use crate::histogram::DelayHistogram;
use crate::ledger::Volume;
use crate::program::QueueSettings;
use crate::queue::{Fifo, Queued, Store};
use crate::reason::PerReason;
use crate::watermark::Watermark;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Nanos};

/// Counters of one egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounters {
    /// Frames sent.
    pub transmitted: Volume,
    /// Frames marked with congestion experienced.
    pub marked: u64,
    /// Frames to be marked that arrived with the mark already.
    pub already_marked: u64,
}

impl core::ops::AddAssign for QueueCounters {
    fn add_assign(&mut self, other: Self) {
        self.transmitted += other.transmitted;
        self.marked += other.marked;
        self.already_marked += other.already_marked;
    }
}

impl QueueCounters {
    pub(super) fn count(&mut self, marking: Marking) {
        match marking {
            Marking::Marked => self.marked += 1,
            Marking::Already => self.already_marked += 1,
        }
    }
}

/// Marks a frame that understands ECN.
pub(super) fn mark<F: Frame>(queued: &mut Queued<F>) -> Marking {
    mark_congestion(queued.frame.headers_mut(), queued.ip_offset)
}

/// The state that a slow queue has beyond others.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Slow {
    /// The bytes above which its rate limit does not apply.
    pub limit: u64,
    /// Frames that have entered it so far.
    pub entered: u64,
    /// The frames that the first queue of its priority must have sent before it sends any, unless that is empty.
    pub behind: u64,
}

/// One queue.
#[derive(Serialize, Deserialize)]
pub(crate) struct Queue {
    pub fifo: Fifo,
    pub bytes: u64,
    /// Bytes that wait in the queue on other lanes, as they last showed them.
    others: u64,
    pub lossy: LossyAccount,
    pub red: Option<Red>,
    /// The thresholds of `red`, where they move.
    pub adaptive: Option<Box<Thresholds>>,
    pub counters: QueueCounters,
    pub watermark: Watermark,
    pub delay: DelayHistogram,
    /// The time when a frame was last handed over.
    pub last_sent: Nanos,
    /// The further state of a slow queue.
    pub slow: Option<Slow>,
    /// Frames that were admitted and then dropped here.
    pub dropped: PerReason<Volume>,
}

impl Queue {
    pub fn new(settings: &QueueSettings, rate: BitRate) -> Self {
        Self {
            adaptive: adaptive(settings, rate),
            fifo: Fifo::default(),
            bytes: 0,
            others: 0,
            lossy: LossyAccount::new(settings.lossy),
            red: settings.red.as_ref().map(Red::new),
            last_sent: Nanos::ZERO,
            counters: QueueCounters::default(),
            watermark: Watermark::default(),
            delay: DelayHistogram::default(),
            slow: None,
            dropped: PerReason::default(),
        }
    }

    /// Notes the bytes that wait in it on other lanes.
    pub fn note_others(&mut self, waiting: Bytes) {
        self.others = waiting.0;
        self.lossy.note_others(waiting);
        self.watermark.note(self.joint_bytes());
    }

    /// The bytes that wait in it on all lanes.
    #[inline]
    pub fn joint_bytes(&self) -> u64 {
        self.bytes + self.others
    }

    /// Sets the bytes that wait in it on all lanes.
    #[inline]
    pub fn set_joint_bytes(&mut self, bytes: u64) {
        self.bytes = bytes - self.others;
    }

    /// Restarts the cleared watermark at the present length.
    pub fn clear_watermark(&mut self) {
        self.watermark.clear(self.bytes);
    }

    /// Applies new settings; waiting frames stay.
    pub fn configure(&mut self, old: &QueueSettings, new: &QueueSettings, rate: BitRate) {
        self.lossy.configure(new.lossy);
        // Thresholds that have moved stay where they are if a reload says nothing else.
        let is_same = self.adaptive.as_ref().is_some_and(|it| old.red == new.red && it.is_at(rate));
        if !is_same {
            self.adaptive = adaptive(new, rate);
            self.red = new.red.as_ref().map(Red::new);
        }
    }

    /// The time since which it holds frames and has sent none; `None` if it holds none.
    pub fn stalled_since<F: Frame>(&self, store: &Store<F>) -> Option<Nanos> {
        store.front(&self.fifo).map(|(since, _)| since.max(self.last_sent))
    }

    /// Frames that wait now.
    pub fn waiting(&self) -> Volume {
        Volume { frames: self.fifo.length() as u64, bytes: Bytes(self.bytes) }
    }
}

fn adaptive(settings: &QueueSettings, rate: BitRate) -> Option<Box<Thresholds>> {
    settings.red.as_ref().and_then(|red| Thresholds::new(red, rate)).map(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_several_queues_add_up() {
        let volume = |frames| Volume { frames, bytes: Bytes(100 * frames) };
        let counters = |frames| QueueCounters {
            transmitted: volume(frames),
            marked: 10 * frames,
            already_marked: 20 * frames,
        };
        let mut sum = counters(2);
        sum += counters(3);
        assert_eq!(sum, counters(5));
    }

    #[test]
    fn marks_count_by_whether_the_frame_had_one() {
        let mut counters = QueueCounters::default();
        [Marking::Marked, Marking::Already, Marking::Already, Marking::Already]
            .into_iter()
            .for_each(|marking| counters.count(marking));
        assert_eq!((counters.marked, counters.already_marked), (1, 3));
    }
}
