//! The run-time profile of a worker: how long its turns take, and for which stages.
//!
//! A turn is busy if a frame arrived or left in it, and idle otherwise, as in Open vSwitch
//! (`dpif-netdev/pmd-perf-show`) and testpmd (`record-core-cycles`). Every turn is timed, at no further reading of the
//! clock: it lasts until the next one starts. The stages of a turn are timed in a sample of the turns, because
//! a reading of the clock takes as long as a good part of a turn with a single frame.

use crate::Clock;
use units::{Interval, Nanos};

/// One turn in this many is timed stage by stage. The number is prime, so a traffic pattern that repeats after some
/// turns does not always show the same of them.
pub const SAMPLED_TURNS: u32 = 61;

units::named! {
    /// A stage of a turn.
    ProfileStage [ALL] {
        /// Receiving from devices, with the polls that found nothing.
        Receive = "receive",
        /// Admitting received frames and queueing them. A frame that finds its port idle is sent within this stage.
        Ingress = "ingress",
        /// Scheduling frames and sending them.
        Egress = "egress",
        /// All else: watching memory, following commands, and recording how long the turn took.
        Housekeeping = "housekeeping",
    }
}

impl ProfileStage {
    /// The number of stages.
    pub const COUNT: usize = Self::ALL.len();
}

/// Totals of all turns that have ended, by the clock of the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Turns.
    pub turns: u64,
    /// Turns in which a frame arrived or left.
    pub busy_turns: u64,
    /// The time since the first turn began.
    pub elapsed: Interval,
    /// The duration of busy turns.
    pub busy: Interval,
    /// Sleep between turns ([`crate::Idle::Sleep`]). The rest of `elapsed` is the duration of idle turns.
    pub asleep: Interval,
    /// Bursts of at least one frame that a device delivered, those of the current turn included.
    pub bursts: u64,
    /// The frames of these bursts.
    pub frames: u64,
    /// Busy turns that were timed stage by stage.
    pub sampled_turns: u64,
    /// The duration of each stage in these turns, in the order of [`ProfileStage::ALL`].
    pub sampled: [Interval; ProfileStage::COUNT],
}

/// Measures turns.
#[derive(Debug)]
pub(crate) struct Profiler {
    /// The start of the first turn.
    started: Nanos,
    /// The start of the current turn.
    began: Nanos,
    /// The totals that it keeps itself; the worker knows the rest.
    counted: Profile,
    /// Whether a frame arrived or left in the current turn.
    is_busy: bool,
    /// Turns until the next sample; zero in a turn that is one.
    until_sample: u32,
    /// In a sample, when its last stage ended.
    stage_ended: Nanos,
    /// In a sample, the duration of each stage.
    stages: [Interval; ProfileStage::COUNT],
}

impl Default for Profiler {
    /// No turn yet. The first turns, which find caches cold, are no samples.
    fn default() -> Self {
        Self {
            started: Nanos::ZERO,
            began: Nanos::ZERO,
            counted: Profile::default(),
            is_busy: false,
            until_sample: SAMPLED_TURNS,
            stage_ended: Nanos::ZERO,
            stages: Default::default(),
        }
    }
}

impl Profiler {
    /// The totals of `turns` turns that have ended, of which `busy_turns` were busy.
    pub fn profile(&self, turns: u64, busy_turns: u64) -> Profile {
        Profile { turns, busy_turns, elapsed: self.began.since(self.started), ..self.counted }
    }

    /// The first turn is about to begin.
    #[cold]
    pub fn start(&mut self, now: Nanos) {
        self.started = now;
    }

    /// A turn begins.
    #[inline]
    pub fn begin(&mut self, now: Nanos) {
        self.began = now;
        self.until_sample = self.until_sample.checked_sub(1).unwrap_or(SAMPLED_TURNS - 1);
        if self.is_sample() {
            self.begin_sample();
        }
    }

    /// The turn, which took this long, has ended, because the next one begins now.
    #[inline]
    pub fn end(&mut self, now: Nanos, took: Interval) {
        if self.is_busy {
            self.counted.busy += took;
            if self.is_sample() {
                self.end_sample(now);
            }
        }
    }

    /// A stage of the turn ends now.
    #[inline]
    pub fn end_stage_at(&mut self, stage: ProfileStage, now: Nanos) {
        if self.is_sample() {
            self.note_stage(stage, now);
        }
    }

    /// A stage of the turn ends. Reads the clock in a sample.
    #[inline]
    pub fn end_stage(&mut self, stage: ProfileStage, clock: &mut impl Clock) {
        if self.is_sample() {
            self.note_stage(stage, clock.now());
        }
    }

    /// A device has delivered this many frames, at least one.
    #[inline]
    pub fn count_burst(&mut self, frames: usize) {
        self.counted.bursts += 1;
        self.counted.frames += frames as u64;
    }

    /// Whether a frame arrived or left in the turn.
    #[inline]
    pub fn note_busy(&mut self, is_busy: bool) {
        self.is_busy = is_busy;
    }

    /// The worker has slept this long, after a turn that was idle.
    pub fn note_sleep(&mut self, asleep: Interval) {
        self.counted.asleep += asleep;
    }

    #[inline]
    fn is_sample(&self) -> bool {
        self.until_sample == 0
    }

    #[cold]
    fn begin_sample(&mut self) {
        self.stages = Default::default();
        self.stage_ended = self.began;
    }

    #[cold]
    fn note_stage(&mut self, stage: ProfileStage, now: Nanos) {
        self.stages[stage as usize] += now.since(self.stage_ended);
        self.stage_ended = now;
    }

    #[cold]
    fn end_sample(&mut self, now: Nanos) {
        self.note_stage(ProfileStage::Housekeeping, now);
        self.counted.sampled_turns += 1;
        for (total, stage) in self.counted.sampled.iter_mut().zip(self.stages) {
            *total += stage;
        }
    }
}
