//! Run-time profiles of workers, in snapshots and tables.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{PROFILE, assert_golden, snapshot};
use proptest::prelude::*;
use telemetry::metrics::{self, Format};
use telemetry::{Period, ProfileReport, Restarted, RuntimeReport, Snapshot, View, render};
use units::Interval;
use worker::{Profile, ProfileStage};

/// The rate of the time stamp counter.
const TSC_HZ: u64 = 2_500_000_000;

/// A gateway whose workers have this profile, `later_ns` after [`snapshot`].
fn later(later_ns: u64, profile: &Profile) -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.at_ns += later_ns;
    snapshot.uptime_ns += later_ns;
    for worker in &mut snapshot.workers {
        worker.runtime = RuntimeReport::new(profile, TSC_HZ);
    }
    snapshot
}

/// [`PROFILE`] after one more busy turn with two frames, which was a sample, and one more idle turn.
fn two_turns_later() -> Profile {
    let mut profile = PROFILE;
    (profile.turns, profile.busy_turns) = (PROFILE.turns + 2, PROFILE.busy_turns + 1);
    profile.elapsed += Interval(1_200);
    profile.busy += Interval(1_000);
    (profile.bursts, profile.frames) = (PROFILE.bursts + 1, PROFILE.frames + 2);
    profile.sampled_turns += 1;
    for (total, ns) in profile.sampled.iter_mut().zip([100, 500, 300, 100]) {
        *total += Interval(ns);
    }
    profile
}

#[test]
fn the_profile_of_a_worker_is_the_golden_one() {
    let after = later(1_200, &two_turns_later()).since(&snapshot()).unwrap();
    let json = serde_json::to_string_pretty(&after.workers[0].runtime).unwrap();
    assert_golden("runtime.json", &(json + "\n"));
    assert_golden("show-runtime-interval.txt", &render(&after, View::Runtime, Some("dc0")).unwrap());
}

#[test]
fn an_interval_counts_what_came_between_two_snapshots_and_nothing_else() {
    let after = later(1_200, &two_turns_later()).since(&snapshot()).unwrap();
    let runtime = &after.workers[1].runtime;
    let interval = runtime.interval.as_ref().unwrap();
    let counts = &interval.counts;
    assert_eq!((counts.busy_turns, counts.idle_turns, counts.bursts, counts.frames), (1, 1, 1, 2));
    assert_eq!(
        (counts.elapsed_ns(), counts.busy_ns, counts.idle_ns, counts.asleep_ns),
        (1_200, 1_000, 200, 0)
    );
    assert_eq!((interval.idle_share, interval.load), (Some(0.5), Some(0.833333)));
    // 1,000 ns for two frames, at 2.5 cycles each.
    assert_eq!(interval.per_frame.ns_per_frame, Some(500.0));
    assert_eq!(interval.per_frame.cycles_per_frame, Some(1_250.0));
    assert_eq!((interval.ns_per_idle_turn, interval.cycles_per_idle_turn), (Some(200.0), Some(500.0)));
    let stages: Vec<_> = interval.stages.iter().map(|stage| stage.per_frame.ns_per_frame.unwrap()).collect();
    assert_eq!(stages, [50.0, 250.0, 150.0, 50.0]);
    assert_eq!(runtime.since_start, RuntimeReport::new(&two_turns_later(), TSC_HZ).since_start);
}

#[test]
fn nothing_is_said_of_an_interval_in_which_the_gateway_started_again() {
    let mut restarted = later(5_000, &PROFILE);
    restarted.uptime_ns = 1_000;
    assert_eq!(restarted.since(&snapshot()).unwrap_err(), Restarted);
}

#[test]
fn a_worker_without_frames_has_no_figures_by_frame() {
    let idle = Profile { turns: 10, elapsed: Interval(1_000), ..Profile::default() };
    for profile in [Profile::default(), idle] {
        let report = RuntimeReport::new(&profile, TSC_HZ).since_start;
        assert_eq!((report.frames_per_burst, report.per_frame), (None, Default::default()));
        assert!(report.stages.iter().all(|stage| stage.share.is_none()));
        let page = render(&later(0, &profile), View::Runtime, None).unwrap();
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}

#[test]
fn a_page_of_one_port_has_the_worker_of_that_port() {
    let page = render(&snapshot(), View::Runtime, Some("lh0")).unwrap();
    let cores = page.lines().filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    assert!(cores.clone().count() > 0 && cores.into_iter().all(|core| core == 3), "{page}");
}

#[test]
fn the_metrics_of_a_worker_add_up_to_the_time_since_its_first_turn() {
    let page = metrics::encode(&Period::since_start(&snapshot()), Format::OpenMetrics);
    let sum = |name: &str| -> f64 {
        let start = format!("longspan_worker_{name}_seconds_total{{core=\"2\",");
        let lines = page.lines().filter(|line| line.starts_with(&start));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    assert!((sum("time") - 0.205).abs() < 1e-9, "{page}");
    assert!((sum("sampled_stage") - 0.002).abs() < 1e-9, "{page}");
}

fn profiles() -> impl Strategy<Value = Profile> {
    let turns = (0..1_000_000_u64, 0..1_000_000_u64, 0..1_000_u64);
    let times = (0..1_000_000_000_u64, 0..1_000_000_000_u64, 0..1_000_000_000_u64);
    let sampled = prop::array::uniform4(0..1_000_000_u64);
    (turns, times, 0..1_000_000_u64, sampled).prop_map(
        |((busy, idle, sampled_turns), times, frames, sampled)| Profile {
            turns: busy + idle,
            busy_turns: busy,
            elapsed: Interval(times.0 + times.1 + times.2),
            busy: Interval(times.0),
            asleep: Interval(times.1),
            bursts: frames.div_ceil(7),
            frames,
            sampled_turns,
            sampled: sampled.map(Interval),
        },
    )
}

proptest! {
    #[test]
    fn stages_add_up_to_the_time_of_busy_turns_and_shares_to_one(profile in profiles()) {
        let report: ProfileReport = RuntimeReport::new(&profile, TSC_HZ).since_start;
        prop_assert_eq!(report.counts.elapsed_ns(), profile.elapsed.0);
        prop_assert_eq!(report.counts.busy_turns + report.counts.idle_turns, profile.turns);
        let shares = report.stages.iter().filter_map(|stage| stage.share);
        if profile.sampled.iter().any(|stage| stage.0 > 0) {
            prop_assert!((shares.sum::<f64>() - 1.0).abs() < 1e-5);
            if let Some(all) = report.per_frame.ns_per_frame {
                let stages = report.stages.iter().filter_map(|stage| stage.per_frame.ns_per_frame);
                // Each is rounded to a thousandth.
                prop_assert!((stages.sum::<f64>() - all).abs() < 0.001 * ProfileStage::COUNT as f64);
            }
        }
        let json = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(serde_json::from_str::<ProfileReport>(&json).unwrap(), report);
    }
}
