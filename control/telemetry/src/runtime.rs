//! The run-time profile of a worker.

use report::Name;
use serde::{Deserialize, Serialize};
use worker::{Profile, ProfileStage};

/// The run-time profile of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuntimeReport {
    /// Since the worker's first turn.
    pub since_start: ProfileReport,
    /// Since an earlier snapshot; `None` unless there was one.
    pub interval: Option<ProfileReport>,
}

/// A profile: what the worker counted, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// The counts of the worker.
    #[serde(flatten)]
    pub counts: ProfileCounts,
    /// The share of turns that were idle, 0 to 1; `None` without turns.
    pub idle_share: Option<f64>,
    /// The share of the time that busy turns took, 0 to 1; `None` without turns.
    pub load: Option<f64>,
    /// Frames by burst; `None` without bursts.
    pub frames_per_burst: Option<f64>,
    /// The time of busy turns by frame.
    #[serde(flatten)]
    pub per_frame: PerFrame,
    /// The time of an idle turn, without sleep; `None` without idle turns.
    pub ns_per_idle_turn: Option<f64>,
    /// The same in cycles.
    pub cycles_per_idle_turn: Option<f64>,
    /// The stages of busy turns, in the order of a turn.
    pub stages: Vec<ProfileStageReport>,
}

/// The counts of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileCounts {
    /// Completed turns in which a frame arrived or left.
    pub busy_turns: u64,
    /// Completed turns in which none did.
    pub idle_turns: u64,
    /// The duration of busy turns.
    pub busy_ns: u64,
    /// The duration of idle turns, without sleep.
    pub idle_ns: u64,
    /// Sleep between turns.
    pub asleep_ns: u64,
    /// Bursts of at least one frame that a device or another worker delivered.
    pub bursts: u64,
    /// The frames of these bursts.
    pub frames: u64,
    /// Busy turns that were timed stage by stage.
    pub sampled_turns: u64,
    /// The duration of each stage in these turns.
    pub sampled_ns: [u64; ProfileStage::COUNT],
}

/// Time by frame; `None` without frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerFrame {
    /// The time of busy turns by frame, in nanoseconds; `None` without frames.
    pub ns_per_frame: Option<f64>,
    /// The same in cycles of the time stamp counter.
    pub cycles_per_frame: Option<f64>,
}

/// A stage of busy turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileStageReport {
    /// `receive`, `ingress`, `egress` or `housekeeping`.
    pub name: Name,
    /// Its share of the time of sampled turns, 0 to 1; `None` without a sample.
    pub share: Option<f64>,
    /// This share of the time of all busy turns, by frame. The stages add up to that of the profile.
    #[serde(flatten)]
    pub per_frame: PerFrame,
}

impl RuntimeReport {
    /// The report of `profile`, whose clock is a counter of `tsc_hz`.
    pub fn new(profile: &Profile, tsc_hz: u64) -> Self {
        Self { since_start: ProfileReport::new(profile.into(), tsc_hz), interval: None }
    }

    /// The same, with the interval since `earlier`, a report of the same worker.
    pub(crate) fn since(self, earlier: &Self, tsc_hz: u64) -> Self {
        let counts = self.since_start.counts.since(&earlier.since_start.counts);
        Self { interval: Some(ProfileReport::new(counts, tsc_hz)), ..self }
    }
}

impl ProfileReport {
    fn new(counts: ProfileCounts, tsc_hz: u64) -> Self {
        let elapsed_ns = counts.elapsed_ns();
        let cycles = |ns: Option<f64>| cost(ns? * tsc_hz as f64, 1e9);
        let ns_per_frame = cost(counts.busy_ns as f64, counts.frames as f64);
        let ns_per_idle_turn = cost(counts.idle_ns as f64, counts.idle_turns as f64);
        let sampled_ns: u64 = counts.sampled_ns.iter().sum();
        let stages = ProfileStage::ALL.into_iter().zip(counts.sampled_ns).map(|(stage, ns)| {
            let part = (sampled_ns > 0).then(|| ns as f64 / sampled_ns as f64);
            let ns_per_frame = part.and_then(|part| cost(counts.busy_ns as f64 * part, counts.frames as f64));
            let per_frame = PerFrame { ns_per_frame, cycles_per_frame: cycles(ns_per_frame) };
            ProfileStageReport { name: stage.name().into(), share: share(ns, sampled_ns), per_frame }
        });
        Self {
            counts,
            idle_share: share(counts.idle_turns, counts.idle_turns + counts.busy_turns),
            load: share(counts.busy_ns, elapsed_ns),
            frames_per_burst: cost(counts.frames as f64, counts.bursts as f64),
            per_frame: PerFrame { ns_per_frame, cycles_per_frame: cycles(ns_per_frame) },
            ns_per_idle_turn,
            cycles_per_idle_turn: cycles(ns_per_idle_turn),
            stages: stages.collect(),
        }
    }
}

/// `part` of `whole` to six decimals.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e6).round() / 1e6)
}

/// `total` by `number` to three decimals.
fn cost(total: f64, number: f64) -> Option<f64> {
    (number > 0.0).then(|| (total / number * 1e3).round() / 1e3)
}

impl From<&Profile> for ProfileCounts {
    fn from(profile: &Profile) -> Self {
        Self {
            busy_turns: profile.busy_turns,
            idle_turns: profile.turns.saturating_sub(profile.busy_turns),
            busy_ns: profile.busy.0,
            idle_ns: (profile.elapsed - profile.busy - profile.asleep).0,
            asleep_ns: profile.asleep.0,
            bursts: profile.bursts,
            frames: profile.frames,
            sampled_turns: profile.sampled_turns,
            sampled_ns: profile.sampled.map(|stage| stage.0),
        }
    }
}

impl ProfileCounts {
    /// The duration of all turns, and sleep.
    pub fn elapsed_ns(&self) -> u64 {
        self.busy_ns.saturating_add(self.idle_ns).saturating_add(self.asleep_ns)
    }

    /// The counts since `earlier`.
    fn since(&self, earlier: &Self) -> Self {
        let less = |read: fn(&Self) -> u64| read(self).saturating_sub(read(earlier));
        let mut sampled_ns = self.sampled_ns;
        for (ns, before) in sampled_ns.iter_mut().zip(earlier.sampled_ns) {
            *ns = ns.saturating_sub(before);
        }
        Self {
            busy_turns: less(|it| it.busy_turns),
            idle_turns: less(|it| it.idle_turns),
            busy_ns: less(|it| it.busy_ns),
            idle_ns: less(|it| it.idle_ns),
            asleep_ns: less(|it| it.asleep_ns),
            bursts: less(|it| it.bursts),
            frames: less(|it| it.frames),
            sampled_turns: less(|it| it.sampled_turns),
            sampled_ns,
        }
    }
}
