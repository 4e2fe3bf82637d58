//! The PFC watchdog against someone who looks every millisecond.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::two_ports;
use conformance::{A, B, Flow, P3, Testbench};
use proptest::prelude::*;
use switch::program::{RateLimit, Settings, Watchdog, WatchdogAction};
use switch::{Restoration, RestorationCause, Storm, WatchdogChange};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PrioritySet};

const MS: u64 = 1_000_000;
/// In milliseconds.
const DETECTION: u64 = 100;
/// In milliseconds.
const RESTORATION: u64 = 130;

/// Two ports with a watchdog. At 512 Mb/s a quantum is a microsecond.
fn watched(action: WatchdogAction) -> Settings {
    let mut settings = two_ports();
    for port in &mut settings.ports {
        port.rate = BitRate::new(512_000_000).unwrap();
        port.watchdog = Some(Watchdog {
            detection: Interval::from_millis(DETECTION),
            restoration: Interval::from_millis(RESTORATION),
            action,
        });
    }
    settings
}

fn flow() -> Flow {
    Flow::new(A, B).at(P3)
}

fn stormed(bench: &Testbench) -> bool {
    bench.shard.queue(bench.now(), B, P3).stormed
}

/// A phase of the same traffic, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Phase {
    lasts: u64,
    /// A pause frame every so often, and for how long it pauses.
    pause: Option<(u64, u64)>,
    /// Two frames every so often.
    arrivals: Option<u64>,
    /// Whether the peer resumes the queue first.
    xon: bool,
}

fn phase() -> impl Strategy<Value = Phase> {
    let every = || prop_oneof![1_u64..70, 20_u64..60];
    let pause = prop_oneof![
        Just(None),
        every().prop_map(|every| Some((every, (every + 3).min(65)))),
        (60_u64..66).prop_map(|every| Some((every, every - 1))),
        (every(), 1_u64..65).prop_map(Some),
    ];
    (1_u64..350, pause, prop::option::of(1_u64..200), prop::bool::weighted(0.1))
        .prop_map(|(lasts, pause, arrivals, xon)| Phase { lasts, pause, arrivals, xon })
}

/// The state in each millisecond, and the findings of the watchdog; a second opinion on the latter.
#[derive(Default)]
struct Witness {
    paused: Vec<bool>,
    held: Vec<bool>,
    pause_until: u64,
    last_xoff: u64,
    last_xon: Option<u64>,
    /// Milliseconds in a row in which the queue was paused, held frames, sent none and was not stormed; since it was last
    /// restored.
    suspicious: u64,
    heard: usize,
    arrived: u64,
    lost: u64,
    action: WatchdogAction,
}

impl Witness {
    /// Checks what the watchdog has said since this was last called.
    fn listen(&mut self, bench: &Testbench) {
        for event in bench.shard.watchdog_events().iter().skip(self.heard) {
            self.heard += 1;
            // A storm that was found and ended within a millisecond is not seen by looking.
            self.suspicious = 0;
            match event.change {
                WatchdogChange::Detected(storm) => self.check_storm(bench, event.at.0, &storm),
                WatchdogChange::Restored(Restoration { cause: RestorationCause::Xon, .. }) => {
                    assert_eq!(Some(event.at.0), self.last_xon.map(|at| at * MS));
                }
                WatchdogChange::Restored(_) => {
                    let due = (self.last_xoff + RESTORATION).max(self.pause_until);
                    assert_eq!(event.at.0, due * MS);
                }
            }
        }
    }

    /// Looks at the millisecond that begins at `now`, before which `sends` frames were sent.
    fn look(&mut self, bench: &Testbench, now: u64, sends: usize) {
        let (paused, waiting) = (self.pause_until > now, bench.shard.queue(bench.now(), B, P3).waiting);
        self.paused.push(paused);
        self.held.push(waiting.frames > 0);
        let stormed = stormed(bench);
        assert!(!stormed || now < self.last_xoff + RESTORATION || paused, "stormed for too long");
        let suspicious = paused && waiting.frames > 0 && sends == 0 && !stormed;
        self.suspicious = if suspicious { self.suspicious + 1 } else { 0 };
        assert!(self.suspicious <= DETECTION + 1, "a storm at {now} ms was not detected");
    }

    fn check_storm(&mut self, bench: &Testbench, at: u64, storm: &Storm) {
        let since = at - DETECTION * MS;
        assert!(bench.data(B).all(|sent| sent.start.0 <= since || sent.start.0 >= at), "it sent at {at} ns");
        let range = since.div_ceil(MS) as usize..at.div_ceil(MS) as usize;
        assert!(self.held[range.clone()].iter().all(|held| *held), "it was empty before {at} ns");
        let gaps = self.paused[range].iter().filter(|paused| !**paused).count();
        assert!(gaps <= 1, "{gaps} ms without pause before {at} ns");
        // It may end in a gap, and is then as much longer.
        let measured = storm.measured_for.0;
        assert!((DETECTION * MS..=(DETECTION + 1) * MS).contains(&measured), "{storm:?} at {at} ns");
        assert!(measured - storm.paused_for.0 <= MS, "{storm:?} at {at} ns");
        let waiting = self.arrived - bench.labels(B).len() as u64 - self.lost;
        let left = bench.data(B).filter(|sent| sent.start.0 >= at).count() as u64;
        assert_eq!(storm.waiting.frames, waiting + left, "at {at} ns");
        if self.action == WatchdogAction::Drop {
            self.lost += storm.waiting.frames;
        }
    }
}

/// Lets `phases` go by, with someone who looks every millisecond.
fn watch(phases: &[Phase], action: WatchdogAction, limited: bool) {
    let mut settings = watched(action);
    if limited {
        // A frame in 124 ms: gaps between pauses pass unused.
        let limit = RateLimit { rate: BitRate::new(8_000).unwrap(), burst: Bytes(1) };
        settings.ports[1].queues[3].rate_limit = Some(limit);
    }
    let mut bench = Testbench::new(settings);
    let mut witness = Witness { action, ..Witness::default() };
    let mut now = 0;
    for Phase { lasts, pause, arrivals, xon } in phases {
        for step in 0..*lasts {
            let before = bench.labels(B).len();
            bench.run_until(Nanos(now * MS));
            witness.listen(&bench);
            if *xon && step == 0 {
                bench.release(B, P3);
                (witness.pause_until, witness.last_xon) = (now, Some(now));
            }
            if let Some((_, time)) = pause.filter(|(every, _)| step.is_multiple_of(*every)) {
                bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta(1_000 * time as u16));
                (witness.pause_until, witness.last_xoff) = (now + time, now);
            }
            if arrivals.is_some_and(|every| step.is_multiple_of(every)) {
                let dropping = action == WatchdogAction::Drop && stormed(&bench);
                bench.inject(A, flow().udps(2, 100));
                witness.arrived += 2;
                witness.lost += if dropping { 2 } else { 0 };
            }
            bench.turn();
            witness.listen(&bench);
            witness.look(&bench, now, bench.labels(B).len() - before);
            now += 1;
        }
    }
    assert_eq!(bench.dropped_in_all().frames, witness.lost);
}

/// Found by the property below.
#[test]
fn an_xon_at_the_very_instant_of_a_detection_lets_the_next_storm_be_measured_from_there() {
    let paused = Phase { lasts: DETECTION, pause: Some((50, 53)), arrivals: Some(200), xon: false };
    let resumed = Phase { lasts: 2 * DETECTION, xon: true, ..paused };
    watch(&[paused, resumed], WatchdogAction::Alert, false);
}

/// Found by the property below: a frame is sent at 28 ms, and the pause in force ends at 128 ms, for a millisecond.
#[test]
fn a_storm_whose_detection_time_ends_in_a_gap_is_found_with_the_next_pause() {
    let paused = Phase { lasts: 65, pause: Some((28, 28)), arrivals: Some(1), xon: false };
    let with_gap = Phase { lasts: 65, pause: Some((64, 63)), arrivals: None, xon: false };
    watch(&[paused, with_gap], WatchdogAction::Drop, true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_sequence_of_pauses_and_frames_is_judged_as_by_somebody_who_looks_every_millisecond(
        phases in prop::collection::vec(phase(), 1..10),
        action in prop::sample::select(vec![WatchdogAction::Drop, WatchdogAction::Forward, WatchdogAction::Alert]),
        limited in any::<bool>(),
    ) {
        watch(&phases, action, limited);
    }
}
