//! The watchdog of one queue, state by state.

use super::*;
use proptest::prelude::*;
use units::Bytes;

const Q: QueueId = QueueId::from_low_bits(3);
const MS: u64 = 1_000_000;
const DETECTION: u64 = 100 * MS;
const RESTORATION: u64 = 200 * MS;

fn settings(action: WatchdogAction) -> Watchdog {
    Watchdog { detection: Interval(DETECTION), restoration: Interval(RESTORATION), action }
}

/// A watchdog over one queue and its meter, with a clock that the test moves.
struct Bench {
    watchdog: PortWatchdog,
    meter: PauseMeter,
    stalled: Option<Nanos>,
}

impl Bench {
    fn new(action: WatchdogAction) -> Self {
        let watchdog = PortWatchdog::new(Some(settings(action)), 8);
        Self { watchdog, meter: PauseMeter::default(), stalled: None }
    }

    fn xoff(&mut self, now: u64, time: u64) {
        let Self { watchdog, meter, stalled } = self;
        watchdog.xoff(Nanos(now), Q, meter, || *stalled);
        meter.pause(Nanos(now), Interval(time));
    }

    fn xon(&mut self, now: u64) -> Option<WatchdogChange> {
        let change = self.watchdog.xon(Nanos(now), Q, &self.meter);
        self.meter.pause(Nanos(now), Interval::ZERO);
        change
    }

    fn detection(&self) -> Option<u64> {
        let at = self.watchdog.detection_at(Q, &self.meter, || self.stalled);
        (at != Nanos::NEVER).then_some(at.0)
    }

    fn restoration(&self) -> u64 {
        self.watchdog.restoration_at(Q, &self.meter).0
    }

    fn judge(&mut self, now: u64) -> Option<WatchdogChange> {
        let waiting = Volume { frames: 2, bytes: Bytes(200) };
        self.watchdog.judge(Nanos(now), Q, &self.meter, self.stalled, waiting)
    }

    fn configure(&mut self, now: u64, settings: Option<Watchdog>, obeying: QueueSet) -> Vec<WatchdogChange> {
        let mut changes = Vec::new();
        let report = |_, change| changes.push(change);
        self.watchdog.configure(Nanos(now), settings, obeying, |_| self.meter, report);
        changes
    }

    /// A bench whose queue was found stormed after one pause of `time` from zero on.
    fn stormed(action: WatchdogAction, time: u64) -> Self {
        let mut bench = Self::new(action);
        bench.stalled = Some(Nanos::ZERO);
        bench.xoff(0, time);
        assert!(matches!(bench.judge(DETECTION), Some(WatchdogChange::Detected(_))));
        bench
    }
}

fn restored(cause: RestorationCause, quiet_for: u64, stormed_for: u64) -> Option<WatchdogChange> {
    let (quiet_for, stormed_for) = (Interval(quiet_for), Interval(stormed_for));
    Some(WatchdogChange::Restored(Restoration { cause, quiet_for, stormed_for }))
}

#[test]
fn a_queue_that_holds_frames_is_found_a_detection_time_after_the_pause_began() {
    let mut bench = Bench::new(WatchdogAction::Drop);
    bench.stalled = Some(Nanos(5 * MS));
    bench.xoff(50 * MS, DETECTION + 1);
    assert_eq!(bench.detection(), Some(150 * MS));
    assert_eq!(bench.judge(150 * MS - 1), None);
    let storm = Storm {
        action: WatchdogAction::Drop,
        stalled_for: Interval(145 * MS),
        measured_for: Interval(100 * MS),
        paused_for: Interval(100 * MS),
        waiting: Volume { frames: 2, bytes: Bytes(200) },
    };
    assert_eq!(bench.judge(150 * MS), Some(WatchdogChange::Detected(storm)));
    assert_eq!(bench.watchdog.counters(Q), WatchdogCounters { storms: 1, restored: 0 });
    assert_eq!(bench.judge(150 * MS), None, "once");
}

#[test]
fn a_queue_that_sent_until_just_before_the_pause_is_measured_from_its_last_frame() {
    let mut bench = Bench::new(WatchdogAction::Drop);
    bench.stalled = Some(Nanos(49 * MS));
    bench.xoff(50 * MS, 200 * MS);
    assert_eq!(bench.detection(), Some(149 * MS), "1 % is no gap");
    bench.stalled = Some(Nanos(80 * MS));
    assert_eq!(bench.detection(), Some(180 * MS), "a frame that came later counts from its arrival");
    bench.stalled = None;
    assert_eq!(bench.detection(), None, "without packets there is no storm");
}

#[test]
fn a_pause_that_ends_before_the_detection_time_has_no_deadline() {
    let mut bench = Bench::new(WatchdogAction::Drop);
    bench.stalled = Some(Nanos::ZERO);
    bench.xoff(0, DETECTION);
    assert_eq!(bench.detection(), None, "it ends at that very instant");
    bench.xoff(99 * MS, 2 * MS);
    assert_eq!(bench.detection(), Some(DETECTION), "a refresh carries it on");
    assert_eq!(bench.judge(101 * MS), None, "whoever looks too late finds a queue that may send");
    bench.stalled = Some(Nanos(MS));
    assert_eq!(bench.detection(), None, "that of the first frame ends with the pause");
}

#[test]
fn gaps_of_one_percent_in_all_are_part_of_a_storm_and_more_begin_the_measuring_anew() {
    for (gap, expected) in [(MS / 2, 100 * MS), (MS / 2 + 1, 160 * MS + MS / 2 + 1)] {
        let mut bench = Bench::new(WatchdogAction::Drop);
        bench.stalled = Some(Nanos::ZERO);
        bench.xoff(0, 20 * MS);
        bench.xoff(20 * MS + MS / 2, 40 * MS - MS / 2);
        bench.xoff(60 * MS + gap, 200 * MS);
        assert_eq!(bench.detection(), Some(expected), "a second gap of {gap} ns");
    }
}

#[test]
fn a_gap_before_the_queue_held_anything_does_not_count() {
    let mut bench = Bench::new(WatchdogAction::Drop);
    bench.xoff(0, 10 * MS);
    bench.xoff(11 * MS, 39 * MS);
    bench.stalled = Some(Nanos(30 * MS));
    bench.xoff(50 * MS + MS / 2, 200 * MS);
    assert_eq!(bench.detection(), Some(130 * MS), "half a millisecond of gap since the first frame");
}

#[test]
fn a_stormed_queue_is_restored_when_no_pause_frame_came_for_the_restoration_time() {
    let mut bench = Bench::stormed(WatchdogAction::Drop, 101 * MS);
    assert_eq!(bench.restoration(), RESTORATION);
    bench.xoff(150 * MS, MS);
    assert_eq!(bench.restoration(), 350 * MS);
    assert_eq!(bench.judge(350 * MS - 1), None);
    assert_eq!(bench.judge(350 * MS), restored(RestorationCause::Quiet, 200 * MS, 250 * MS));
    assert_eq!(bench.watchdog.counters(Q), WatchdogCounters { storms: 1, restored: 1 });
}

#[test]
fn a_pause_longer_than_the_restoration_time_is_waited_for() {
    let bench = Bench::stormed(WatchdogAction::Drop, 335 * MS);
    assert_eq!(bench.restoration(), 335 * MS);
    assert_eq!(bench.detection(), None, "it is stormed already");
}

#[test]
fn an_xon_restores_at_once_and_the_next_storm_is_measured_from_there() {
    let mut bench = Bench::new(WatchdogAction::Alert);
    assert_eq!(bench.xon(1), None, "nothing was stormed");
    bench = Bench::stormed(WatchdogAction::Alert, 120 * MS);
    assert_eq!(bench.xon(110 * MS), restored(RestorationCause::Xon, 110 * MS, 10 * MS));
    bench.xoff(110 * MS + 1, 300 * MS);
    assert_eq!(bench.detection(), Some(210 * MS), "though it has waited since zero");
}

#[test]
fn each_action_holds_for_stormed_queues_alone_and_ends_with_the_storm() {
    for (action, dropping, forwarding) in [
        (WatchdogAction::Drop, true, false),
        (WatchdogAction::Forward, false, true),
        (WatchdogAction::Alert, false, false),
    ] {
        let only = QueueSet::EMPTY.with(Q);
        let set = |is: bool| if is { only } else { QueueSet::EMPTY };
        let mut bench = Bench::stormed(action, 101 * MS);
        assert_eq!((bench.watchdog.dropping, bench.watchdog.forwarding()), (set(dropping), set(forwarding)));
        bench.judge(RESTORATION);
        assert_eq!((bench.watchdog.dropping, bench.watchdog.forwarding()), (set(false), set(false)));
        assert_eq!(bench.watchdog.stormed, QueueSet::EMPTY);
    }
}

#[test]
fn another_action_takes_over_a_storm_and_no_watchdog_ends_it() {
    let only = QueueSet::EMPTY.with(Q);
    let mut bench = Bench::stormed(WatchdogAction::Drop, 300 * MS);
    assert!(bench.configure(110 * MS, Some(settings(WatchdogAction::Forward)), only).is_empty());
    assert_eq!((bench.watchdog.dropping, bench.watchdog.forwarding()), (QueueSet::EMPTY, only));
    assert!(bench.configure(120 * MS, Some(settings(WatchdogAction::Drop)), only).is_empty());
    assert_eq!((bench.watchdog.dropping, bench.watchdog.forwarding()), (only, QueueSet::EMPTY));

    let ended = restored(RestorationCause::Configuration, 130 * MS, 30 * MS);
    assert_eq!(bench.configure(130 * MS, None, only).into_iter().next(), ended);
    assert_eq!((bench.watchdog.dropping, bench.watchdog.stormed), Default::default());
    assert_eq!(bench.detection(), None);

    bench.configure(150 * MS, Some(settings(WatchdogAction::Drop)), only);
    assert_eq!(bench.detection(), Some(250 * MS), "what came before the watchdog was not seen");
    bench.judge(250 * MS);
    let ended = restored(RestorationCause::Configuration, 260 * MS, 10 * MS);
    let watched = Some(settings(WatchdogAction::Drop));
    assert_eq!(bench.configure(260 * MS, watched, QueueSet::EMPTY).into_iter().next(), ended);
}

#[test]
fn a_shorter_detection_time_forgives_shorter_gaps_only() {
    let mut bench = Bench::new(WatchdogAction::Drop);
    let longer = Watchdog { detection: Interval(300 * MS), ..settings(WatchdogAction::Drop) };
    let only = QueueSet::EMPTY.with(Q);
    bench.configure(0, Some(longer), only);
    bench.stalled = Some(Nanos::ZERO);
    bench.xoff(0, 10 * MS);
    bench.xoff(12 * MS, 400 * MS);
    assert_eq!(bench.detection(), Some(300 * MS), "2 ms are less than 1 % of 300");
    bench.configure(20 * MS, Some(settings(WatchdogAction::Drop)), only);
    assert_eq!(bench.detection(), Some(120 * MS));
}

#[test]
fn the_log_keeps_the_latest_events_and_counts_the_others() {
    let mut log = WatchdogLog::default();
    let reserved = log.events.capacity();
    let event = |at| WatchdogEvent {
        at: Nanos(at),
        port: PortId(0),
        queue: Q,
        priority: Priority::from_low_bits(3),
        change: WatchdogChange::Restored(Restoration {
            cause: RestorationCause::Xon,
            quiet_for: Interval::ZERO,
            stormed_for: Interval::ZERO,
        }),
    };
    let count = WatchdogLog::CAPACITY as u64 + 3;
    (0..count).for_each(|at| log.push(event(at)));
    assert_eq!(log.iter().map(|event| event.at.0).collect::<Vec<_>>(), (3..count).collect::<Vec<_>>());
    assert_eq!((log.forgotten(), log.events.capacity()), (3, reserved));
    let mut copy = WatchdogLog::default();
    copy.clone_from(&log);
    assert_eq!((&copy, &log.clone()), (&log, &log));
    assert_eq!(copy.events.capacity(), reserved);
}

#[test]
fn causes_of_a_restoration_have_names_of_their_own() {
    use RestorationCause::{Configuration, Quiet, Xon};
    assert_eq!([Quiet, Xon, Configuration].map(RestorationCause::name), ["quiet", "xon", "configuration"]);
}

#[test]
fn counters_of_several_queues_add_up() {
    let mut sum = WatchdogCounters { storms: 3, restored: 2 };
    sum += WatchdogCounters { storms: 5, restored: 4 };
    assert_eq!(sum, WatchdogCounters { storms: 8, restored: 6 });
}

proptest! {
    /// Pauses, frames and sends in steps of a millisecond, against a list of the milliseconds that
    /// were paused.
    #[test]
    fn a_storm_is_found_when_and_only_when_99_of_100_steps_were_paused(
        steps in prop::collection::vec((0_u8..100, 1_u64..130), 300..900)
    ) {
        let mut bench = Bench::new(WatchdogAction::Alert);
        let (mut paused, mut continuous) = (Vec::new(), 0);
        for (now, (event, time)) in (0_u64..).zip(steps) {
            match event {
                // Seldom enough that storms happen.
                0..4 => bench.xoff(now * MS, time * MS),
                4 if time < 40 => drop(bench.xon(now * MS)),
                5 if time < 40 => bench.stalled = None,
                6..30 => bench.stalled = bench.stalled.or(Some(Nanos(now * MS))),
                _ => {}
            }
            let in_force = bench.meter.until() > Nanos(now * MS);
            if !in_force && bench.stalled.is_some() && time % 2 == 0 {
                bench.stalled = Some(Nanos(now * MS));
            }
            let stalled = bench.stalled.map_or(now, |since| since.0 / MS);
            let due = bench.detection().is_some_and(|at| at <= now * MS);
            let of_late = paused.iter().rev().take(100).filter(|it| **it).count();
            if due && in_force {
                prop_assert!(now - stalled >= 100 && of_late >= 99, "{} ms, {of_late} paused", now - stalled);
            }
            if in_force && continuous.min(now - stalled) >= 100 {
                prop_assert!(due, "paused for {continuous} ms and stalled since {stalled} at {now}");
            }
            paused.push(in_force);
            continuous = if in_force { continuous + 1 } else { 0 };
        }
    }
}
