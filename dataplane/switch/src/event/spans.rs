//! The pauses in force, from their first frame to their end.

use super::{Event, Happening, PauseDirection};
use crate::flow_control::PauseCause;
use serde::{Deserialize, Serialize};
use units::{Nanos, PortId, Priority, PrioritySet};

/// A pause in force.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Span {
    since: Nanos,
    until: Nanos,
}

/// The pauses of one port in one direction. Frames that refresh a pause extend it and cause no event.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spans {
    port: PortId,
    direction: PauseDirection,
    open: PrioritySet,
    spans: [Span; Priority::COUNT],
}

impl Spans {
    /// No pauses.
    pub fn new(port: PortId, direction: PauseDirection) -> Self {
        Self { port, direction, open: PrioritySet::EMPTY, spans: Default::default() }
    }

    /// Takes a frame that pauses `priority` from `start` until `until`, or ends its pause (`until` is not later). Calls
    /// `note` for each event.
    pub fn take(
        &mut self,
        priority: Priority,
        cause: Option<PauseCause>,
        (start, until): (Nanos, Nanos),
        mut note: impl FnMut(Event),
    ) {
        if let Some(ended) = self.end_before(priority, start) {
            note(ended);
        }
        match (self.open.contains(priority), until > start) {
            (true, true) => self.spans[priority.index()].until = until,
            (true, false) => note(self.end(priority, start, false)),
            (false, true) => {
                self.open = self.open.with(priority);
                self.spans[priority.index()] = Span { since: start, until };
                note(self.event(
                    priority,
                    start,
                    Happening::Paused { direction: self.direction, cause, until },
                ));
            }
            (false, false) => {}
        }
    }

    /// Ends the pauses whose time ran out by `now`.
    pub fn end_those_over(&mut self, now: Nanos, note: impl FnMut(Event)) {
        let open = self.open;
        open.iter().filter_map(|priority| self.end_before(priority, now)).for_each(note);
    }

    /// Ends the pause of `priority` if its time ran out before `at`.
    fn end_before(&mut self, priority: Priority, at: Nanos) -> Option<Event> {
        let until = self.spans[priority.index()].until;
        (self.open.contains(priority) && until < at).then(|| self.end(priority, until, true))
    }

    fn end(&mut self, priority: Priority, at: Nanos, ran_out: bool) -> Event {
        self.open = self.open.without(priority);
        let since = self.spans[priority.index()].since;
        self.event(priority, at, Happening::Resumed { direction: self.direction, since, ran_out })
    }

    fn event(&self, priority: Priority, at: Nanos, what: Happening) -> Event {
        Event { at, port: Some(self.port), priority: Some(priority), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P3: Priority = Priority::from_low_bits(3);

    fn spans() -> Spans {
        Spans::new(PortId(1), PauseDirection::Received)
    }

    /// The events of frames that pause for a time at an instant, and of a last look.
    fn events(frames: &[(u64, u64)], last: u64) -> Vec<(u64, Happening)> {
        let (mut spans, mut events) = (spans(), Vec::new());
        for (at, time) in frames {
            spans.take(P3, None, (Nanos(*at), Nanos(at + time)), |event| {
                events.push((event.at.0, event.what))
            });
        }
        spans.end_those_over(Nanos(last), |event| events.push((event.at.0, event.what)));
        events
    }

    fn paused(until: u64) -> Happening {
        Happening::Paused { direction: PauseDirection::Received, cause: None, until: Nanos(until) }
    }

    fn resumed(since: u64, ran_out: bool) -> Happening {
        Happening::Resumed { direction: PauseDirection::Received, since: Nanos(since), ran_out }
    }

    #[test]
    fn a_pause_lasts_from_its_first_frame_to_the_frame_that_ends_it() {
        let frames = [(10, 100), (60, 100), (70, 0), (80, 0)];
        assert_eq!(events(&frames, 1_000), [(10, paused(110)), (70, resumed(10, false))]);
    }

    #[test]
    fn a_pause_that_is_not_refreshed_ends_when_its_time_runs_out_however_late_that_is_seen() {
        assert_eq!(events(&[(10, 100)], 110), [(10, paused(110))], "it lasts until then");
        assert_eq!(events(&[(10, 100)], 9_999), [(10, paused(110)), (110, resumed(10, true))]);
        let frames = [(10, 100), (500, 5)];
        let expected = [(10, paused(110)), (110, resumed(10, true)), (500, paused(505))];
        assert_eq!(events(&frames, 505), expected);
    }

    #[test]
    fn a_refresh_at_the_very_end_of_a_pause_continues_it() {
        assert_eq!(events(&[(10, 100), (110, 50)], 161), [(10, paused(110)), (160, resumed(10, true))]);
    }

    proptest! {
        #[test]
        fn the_paused_time_is_that_of_the_meter_whatever_comes(
            steps in proptest::collection::vec((0..200_u64, 0..300_u64), 1..50),
        ) {
            let (mut now, mut frames) = (0, Vec::new());
            let mut meter = crate::flow_control::pause_time::PauseMeter::default();
            for (step, time) in steps {
                now += step;
                let time = if time < 50 { 0 } else { time };
                frames.push((now, time));
                meter.pause(Nanos(now), units::Interval(time));
            }
            let sum: u64 = events(&frames, now + 1_000).iter().map(|(at, what)| match what {
                Happening::Resumed { since, .. } => at - since.0,
                _ => 0,
            }).sum();
            prop_assert_eq!(sum, meter.total(Nanos(now + 1_000)).0);
        }
    }
}
