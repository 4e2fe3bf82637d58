//! The events that wait to be taken.

use super::{Event, Happening};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The interval at which counts are read and pauses that ran out are found. An event is at most this late, and its
/// instant is exact all the same, except for that of drops.
const LOOK: Interval = Interval::from_millis(1);

/// A bounded list of events with one owner. Events that find no room are counted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Events {
    waiting: Vec<Event>,
    lost: u64,
    /// The next time to look; never while nothing is recorded.
    next_look: Nanos,
    /// When events are to be taken: [`Nanos::ZERO`] while there are any, otherwise the next look.
    due: Nanos,
}

impl Default for Events {
    /// Records nothing.
    fn default() -> Self {
        Self { waiting: Vec::new(), lost: 0, next_look: Nanos::NEVER, due: Nanos::NEVER }
    }
}

impl Events {
    /// The number of events that may wait.
    const CAPACITY: usize = 1_024;
    /// The number of events up to which frequent ones are noted: the rest is kept for others.
    const FREQUENT: usize = Self::CAPACITY / 4 * 3;

    /// Records events from now on.
    pub fn start(&mut self) {
        self.waiting.reserve_exact(Self::CAPACITY);
        (self.next_look, self.due) = (Nanos::ZERO, Nanos::ZERO);
    }

    /// Whether events are recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.next_look != Nanos::NEVER
    }

    /// Whether there are events to take at `now`, or a look is due.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.due <= now
    }

    /// Makes a look due at once, if events are recorded.
    pub fn hurry(&mut self) {
        if self.is_on() {
            self.next_look = Nanos::ZERO;
        }
    }

    /// Whether a look is due at `now`; if so, the next one is in [`LOOK`].
    pub fn takes_look(&mut self, now: Nanos) -> bool {
        let due = self.next_look <= now;
        if due {
            self.next_look = now + LOOK;
        }
        due
    }

    /// Notes an event, or counts it as lost.
    #[cold]
    pub fn note(&mut self, event: Event) {
        if !self.is_on() {
            return;
        }
        let room = if event.what.is_frequent() { Self::FREQUENT } else { Self::CAPACITY };
        if self.waiting.len() < room {
            self.waiting.push(event);
            self.due = Nanos::ZERO;
        } else {
            self.lose(1);
        }
    }

    /// Counts events that found no room elsewhere.
    pub fn lose(&mut self, events: u64) {
        self.lost += events;
    }

    /// Lets `take` remove events from the front of the list. After those left behind, it is told at `now` how many were
    /// lost.
    pub fn give(&mut self, now: Nanos, mut take: impl FnMut(&mut Vec<Event>)) {
        take(&mut self.waiting);
        if self.lost > 0 {
            self.tell_losses(now);
            take(&mut self.waiting);
        }
        // Events that were left behind are offered again at the next look.
        self.due = self.next_look;
    }

    /// Appends the number of lost events. A flood whose events no one takes has one record: more would fill the room kept
    /// for other events.
    fn tell_losses(&mut self, now: Nanos) {
        if let Some(Event { what: Happening::Lost { events }, .. }) = self.waiting.last_mut() {
            *events += core::mem::take(&mut self.lost);
        } else if self.waiting.len() < Self::CAPACITY {
            let what = Happening::Lost { events: core::mem::take(&mut self.lost) };
            self.waiting.push(Event { at: now, port: None, priority: None, what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::PauseDirection;
    use units::PortId;

    fn resumed(at: u64) -> Event {
        let what =
            Happening::Resumed { direction: PauseDirection::Received, since: Nanos(0), ran_out: false };
        Event { at: Nanos(at), port: Some(PortId(0)), priority: None, what }
    }

    fn ecn(at: u64) -> Event {
        let step = crate::congestion::ThresholdStep::Growth;
        let (kmin, kmax) = (units::Bytes(1), units::Bytes(2));
        Event { what: Happening::EcnThresholds { step, kmin, kmax }, ..resumed(at) }
    }

    #[test]
    fn nothing_is_noted_and_nothing_is_due_unless_events_are_recorded() {
        let mut events = Events::default();
        events.note(resumed(1));
        assert!(!events.is_on() && !events.is_due(Nanos(u64::MAX - 1)));
        events.give(Nanos(1), |waiting| assert!(waiting.is_empty()));
    }

    #[test]
    fn a_flood_of_pauses_leaves_room_for_other_events_and_what_is_lost_is_counted_in_its_place() {
        let mut events = Events::default();
        events.start();
        (0..5_000).for_each(|at| events.note(resumed(at)));
        (0..256).for_each(|at| events.note(ecn(at)));
        let mut taken = Vec::new();
        events.give(Nanos(9), |waiting| taken.append(waiting));
        assert_eq!(taken.len(), 1_024 + 1);
        assert_eq!(taken[..768], (0..768).map(resumed).collect::<Vec<_>>());
        assert_eq!(taken[768..1_024], (0..256).map(ecn).collect::<Vec<_>>());
        let lost = Happening::Lost { events: 5_000 - 768 };
        assert_eq!(taken[1_024], Event { at: Nanos(9), port: None, priority: None, what: lost });
        events.note(resumed(7));
        taken.clear();
        events.give(Nanos(10), |waiting| taken.append(waiting));
        assert_eq!(taken, [resumed(7)], "a loss is told once");
    }

    #[test]
    fn losses_that_nobody_takes_are_one_record_and_leave_room_for_other_events() {
        let mut events = Events::default();
        events.start();
        (0..768).for_each(|at| events.note(resumed(at)));
        for look in 0..300 {
            events.note(resumed(look));
            events.give(Nanos(look), |_| {});
        }
        events.note(ecn(300));
        let mut taken = Vec::new();
        events.give(Nanos(301), |waiting| taken.append(waiting));
        let lost = Event { at: Nanos(0), port: None, priority: None, what: Happening::Lost { events: 300 } };
        assert_eq!(taken[768..], [lost, ecn(300)]);
    }

    #[test]
    fn what_is_not_taken_waits_and_is_offered_again_at_the_next_look() {
        let mut events = Events::default();
        events.start();
        assert!(events.takes_look(Nanos(5)));
        events.note(resumed(1));
        assert!(events.is_due(Nanos(5)));
        events.give(Nanos(5), |_| {});
        assert!(!events.is_due(Nanos(5) + Interval(LOOK.0 - 1)) && events.is_due(Nanos(5) + LOOK));
        let mut taken = Vec::new();
        events.give(Nanos(6), |waiting| taken.append(waiting));
        assert_eq!(taken, [resumed(1)]);
    }
}
