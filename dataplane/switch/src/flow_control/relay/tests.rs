//! A relay that is told the pauses of another port, against a sender of pauses.

use super::settings::Relay as Settings;
use super::*;
use crate::flow_control::PauseSender;
use crate::ledger::{Ledger, Volume};
use proptest::prelude::*;
use units::{BitRate, Bytes, PauseQuanta, PortId};

const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
const SETTINGS: Settings = Settings { from: PortId(1) };

struct Bench {
    relay: Relay,
    sender: PauseSender,
    lossless: PrioritySet,
}

impl Bench {
    fn new() -> Self {
        let sender = PauseSender::new(PauseQuanta::MAX, BitRate::gigabits(100));
        Self { relay: Relay::new(SETTINGS), sender, lossless: PrioritySet::EMPTY.with(P3).with(P4) }
    }

    /// The other port has pauses until these times.
    fn hear(&mut self, now: u64, ends: &[(Priority, u64)]) {
        let mut heard = PauseEnds::default();
        ends.iter().for_each(|(priority, end)| heard[priority.index()] = Nanos(*end));
        self.relay.hear_pauses(Nanos(now), &heard);
    }

    /// Calls it if it is due, and returns the frame that leaves then.
    fn turn(&mut self, now: u64) -> Vec<(Priority, bool)> {
        let (now, ledger) = (Nanos(now), Ledger::new(2, 1));
        let look = Look {
            port: PortId(0),
            lossless: self.lossless,
            received: &[Volume::ZERO; Priority::COUNT],
            accounts: (&ledger).into(),
            shared_free: Bytes::ZERO,
            shared_held: Bytes::ZERO,
            holding: PrioritySet::EMPTY,
        };
        if self.relay.next <= now {
            self.sender.follow(self.relay.on_deadline(now, look));
        }
        if self.sender.deadline() > now {
            return Vec::new();
        }
        let times = self.sender.take_due(now, now);
        let each = Priority::all().filter_map(|it| Some((it, times[it.index()]? != PauseQuanta::ZERO)));
        each.collect()
    }
}

#[test]
fn a_pause_is_passed_on_in_the_turn_in_which_it_comes_and_so_is_its_end() {
    let mut bench = Bench::new();
    assert_eq!((bench.relay.next, bench.relay.settings.from), (Nanos::NEVER, PortId(1)));
    bench.hear(100, &[(P3, 5_000)]);
    assert_eq!(bench.turn(100), [(P3, true)]);
    bench.hear(200, &[(P3, 5_100), (P4, 5_100)]);
    assert_eq!(bench.turn(200), [(P4, true)], "a refresh there is none here");
    bench.hear(300, &[(P4, 5_100)]);
    assert_eq!(bench.turn(300), [(P3, false)]);
    assert_eq!(bench.relay.report, RelayReport { passed_on: 2, expired: 0 });
}

#[test]
fn a_pause_that_runs_out_ends_at_that_instant_and_is_counted() {
    let mut bench = Bench::new();
    bench.hear(100, &[(P3, 5_000), (P4, 6_000)]);
    assert_eq!(bench.turn(100), [(P3, true), (P4, true)]);
    assert_eq!(bench.relay.next, Nanos(5_000));
    assert!(bench.turn(4_999).is_empty());
    assert_eq!(bench.turn(5_000), [(P3, false)]);
    assert_eq!(bench.turn(6_000), [(P4, false)]);
    assert_eq!((bench.relay.next, bench.relay.report.expired), (Nanos::NEVER, 2));
}

#[test]
fn a_short_pause_that_is_refreshed_for_ever_is_one_long_pause_with_refreshes_of_its_own() {
    let mut bench = Bench::new();
    let half = PauseQuanta::MAX.interval_at(BitRate::gigabits(100)).0 / 2;
    let mut sent = Vec::new();
    for now in (0..half * 3).step_by(1_000) {
        bench.hear(now, &[(P3, now + 2_000)]);
        sent.extend(bench.turn(now).into_iter().map(|it| (now, it)));
    }
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert!(sent.iter().all(|(_, it)| *it == (P3, true)));
    assert_eq!(bench.relay.report.passed_on, 1);
}

#[test]
fn a_priority_that_is_or_becomes_lossy_is_not_paused() {
    let mut bench = Bench::new();
    bench.lossless = PrioritySet::EMPTY.with(P3);
    bench.hear(100, &[(P3, 5_000), (P4, 5_000)]);
    assert_eq!(bench.turn(100), [(P3, true)]);
    bench.lossless = PrioritySet::EMPTY;
    bench.relay.configure(SETTINGS);
    assert_eq!(bench.turn(200), [(P3, false)]);
}

#[test]
fn a_relay_that_listens_to_another_port_forgets_the_pauses_of_the_first() {
    let mut bench = Bench::new();
    bench.hear(100, &[(P3, 5_000)]);
    assert_eq!(bench.turn(100), [(P3, true)]);
    bench.relay.configure(SETTINGS);
    assert!(bench.turn(150).is_empty(), "the same settings change nothing");
    bench.relay.configure(Settings { from: PortId(2) });
    assert_eq!(bench.turn(200), [(P3, false)]);
}

/// The end of the pause of each priority, or a wait.
fn step() -> impl Strategy<Value = (u64, [Option<u64>; 2])> {
    let end = || proptest::option::of(1_u64..400);
    (0_u64..300, [end(), end()])
}

proptest! {
    #[test]
    fn the_upstream_is_paused_exactly_while_a_pause_is_in_force(steps in proptest::collection::vec(step(), 1..40)) {
        let (mut bench, mut now, mut ends) = (Bench::new(), 0, [0; 2]);
        for (wait, new) in steps {
            for at in now..now + wait {
                bench.turn(at);
                for (priority, end) in [P3, P4].into_iter().zip(ends) {
                    // The pauses that it sends are far longer than this test.
                    let paused = bench.sender.is_paused(priority, Nanos(at));
                    prop_assert_eq!(paused, end > at, "{} at {}", priority.number(), at);
                }
            }
            now += wait;
            ends = new.map(|it| it.map_or(0, |lasts| now + lasts));
            bench.hear(now, &[(P3, ends[0]), (P4, ends[1])]);
        }
    }
}
