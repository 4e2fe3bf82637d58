//! A link that loses frames and brings them again a round trip and a slot later, slot by slot.

use super::super::Unrepaired;
use super::model::{HISTORY, Link, Model, drains, links};
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Nanos, WireBytes};

struct Repaired {
    model: Model,
    /// Bytes that come again, for each of the next slots.
    due: VecDeque<u64>,
    missing: u64,
    /// Whether Bifrost knows of it.
    tells: bool,
}

impl Repaired {
    fn new(link: Link, tells: bool) -> Self {
        let due = (0..=link.slots_per_round_trip).map(|_| 0).collect();
        Self { model: Model::new(link, HISTORY), due, missing: 0, tells }
    }

    /// Plays a slot in which `lost` thousandths do not arrive. What comes again may be lost again.
    fn step(&mut self, drain: u64, lost: u64) {
        let (granted, back) = (self.model.grants[0], self.due.pop_front().unwrap());
        let (lost, again) = (granted * lost / 1_000, back * lost / 1_000);
        self.missing = self.missing + lost + again - back;
        self.due.push_back(lost + again);
        if self.tells {
            self.note(Nanos::NEVER);
        }
        self.model.end_slot(granted - lost + back - again, drain);
    }

    fn note(&mut self, blind_from: Nanos) {
        let missing = WireBytes(self.missing);
        self.model.bifrost.note_unrepaired(Unrepaired { missing, blind_from });
    }
}

proptest! {
    #[test]
    fn what_waits_and_what_is_missing_stay_within_the_buffer_whatever_is_lost(
        link in links(),
        drains in drains(),
        losses in proptest::collection::vec(prop_oneof![2 => Just(0), 1 => 0_u64..=1_000], 1..50),
    ) {
        let mut link = Repaired::new(link, true);
        for (drain, lost) in drains.into_iter().zip(losses.into_iter().cycle()) {
            link.step(drain, lost);
            let sum = link.model.sum() + link.missing;
            prop_assert!(sum <= link.model.link.least_buffer(), "{sum}");
        }
    }
}

/// A receiver stands still while half of what comes is lost, for two round trips.
#[test]
fn the_buffer_runs_over_if_the_room_of_what_is_missing_is_granted() {
    let longest_queue = |tells| {
        let mut link = Repaired::new(Link::DEPLOYED, tells);
        for _ in 0..2 * Link::DEPLOYED.slots_per_round_trip {
            link.step(0, 500);
        }
        for _ in 0..4 * Link::DEPLOYED.slots_per_round_trip {
            link.step(0, 0);
        }
        assert_eq!(link.missing, 0, "all came in the end");
        link.model.queue
    };
    let most = Link::DEPLOYED.least_buffer();
    assert!(longest_queue(true) <= most);
    assert!(longest_queue(false) > most, "{}", longest_queue(false));
}

#[test]
fn nothing_is_granted_while_nobody_knows_what_is_missing() {
    let mut link = Repaired::new(Link::DEPLOYED, true);
    link.step(1_000, 0);
    assert!(link.model.last_grant() > 0);
    link.tells = false;
    link.note(link.model.now);
    link.step(1_000, 0);
    assert_eq!(link.model.last_grant(), 0);
    link.note(Nanos::NEVER);
    link.step(1_000, 0);
    assert!(link.model.last_grant() > 0);
}
