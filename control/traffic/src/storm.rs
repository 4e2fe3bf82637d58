//! Pauses at exact intervals, as from a NIC that has gone wrong.

use crate::report::StormReport;
#[cfg(feature = "dpdk")]
use units::{Bytes, WireBytes};
use units::{Interval, Nanos, PauseQuanta, PrioritySet};
use wire::ethernet::MacAddress;
use wire::pfc;

/// The length of a PFC frame, without FCS.
const LENGTH: usize = 60;

/// What a pause takes on the wire.
#[cfg(feature = "dpdk")]
pub(crate) const fn on_wire() -> WireBytes {
    WireBytes::of_frame(Bytes(LENGTH as u64))
}

/// A sender of pauses, sans-IO. Its pauses are due at `begin`, `begin + every` and so on, before `end`; one that was missed
/// is counted and not made up for, so that the spacing of the others stays exact.
#[derive(Debug)]
pub struct Storm {
    frame: [u8; LENGTH],
    every: Interval,
    next: Nanos,
    end: Nanos,
    report: StormReport,
}

impl Storm {
    /// A storm that pauses `priorities` for `quanta` with each frame, from `begin` until before `end`. `every` is above
    /// zero.
    pub fn new(
        source: MacAddress,
        priorities: PrioritySet,
        quanta: PauseQuanta,
        every: Interval,
        begin: Nanos,
        end: Nanos,
    ) -> Self {
        let mut frame = [0; LENGTH];
        let pause = pfc::Frame::uniform(source, priorities, quanta);
        pause.emit(&mut frame).expect("a PFC frame is this long");
        Self { frame, every: Interval(every.0.max(1)), next: begin, end, report: StormReport::default() }
    }

    /// The frame to send, if one is due at `now`. After the end all that were not sent are missed.
    pub fn due(&mut self, now: Nanos) -> Option<&[u8]> {
        if now < self.next {
            return None;
        }
        if now >= self.end {
            self.report.missed += self.end.since(self.next).0.div_ceil(self.every.0);
            self.next = Nanos::NEVER;
            return None;
        }
        let late = now.since(self.next);
        let missed = late.0 / self.every.0;
        self.report.sent += 1;
        self.report.missed += missed;
        self.report.latest_ns = self.report.latest_ns.max(late.0 % self.every.0);
        self.next += self.every * (missed + 1);
        if self.next >= self.end {
            self.next = Nanos::NEVER;
        }
        Some(&self.frame)
    }

    /// The instant of the next pause; never after the last one.
    pub fn next_deadline(&self) -> Nanos {
        self.next
    }

    /// Its figures.
    pub fn report(&self) -> StormReport {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    const EVERY: Interval = Interval::from_micros(50);
    /// A hundred pauses fit.
    const END: Nanos = Nanos(1_000 + 100 * 50_000);

    fn storm() -> Storm {
        let priorities = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        Storm::new(MacAddress([2, 0, 0, 0, 0, 1]), priorities, PauseQuanta::MAX, EVERY, Nanos(1_000), END)
    }

    #[test]
    fn pauses_are_due_at_exact_intervals_whenever_somebody_looks() {
        let mut storm = storm();
        let mut sent = Vec::new();
        let mut now = Nanos(0);
        while sent.len() < 100 {
            // An odd step: the looks drift against the interval.
            now += Interval(7_777);
            if storm.due(now).is_some() {
                sent.push(now);
            }
        }
        for (number, at) in (0..).zip(sent) {
            let due = Nanos(1_000) + EVERY * number;
            assert!(at >= due && at.since(due) < Interval(7_777));
        }
        assert_eq!((storm.report().sent, storm.report().missed), (100, 0));
    }

    #[test]
    fn missed_pauses_are_counted_and_move_no_other() {
        let mut storm = storm();
        assert!(storm.due(Nanos(1_000)).is_some());
        let late = Nanos(1_000) + EVERY * 3 + Interval(20);
        assert!(storm.due(late).is_some() && storm.due(late).is_none());
        assert_eq!(storm.next_deadline(), Nanos(1_000) + EVERY * 4);
        assert_eq!(storm.report(), StormReport { sent: 2, missed: 2, unsent: 0, latest_ns: 20 });
    }

    #[test]
    fn no_more_pauses_are_counted_than_fit_however_late_somebody_looks() {
        let looks = [&[END + Interval(3_500_000)][..], &[Nanos(1_000), END, END + EVERY], &[Nanos(9_000)]];
        for (looks, all) in looks.into_iter().zip([100, 100, 1]) {
            let mut storm = storm();
            for now in looks {
                storm.due(*now);
            }
            assert_eq!(storm.report().sent + storm.report().missed, all);
        }
    }

    #[test]
    fn the_frame_is_a_pause_of_the_priorities() {
        let mut storm = storm();
        let frame = storm.due(Nanos(1_000)).unwrap();
        let message = pfc::View::parse(&frame[14..]).unwrap();
        assert_eq!(message.time(Priority::from_low_bits(3)), Some(PauseQuanta::MAX));
        assert_eq!(message.enabled().iter().count(), 1);
    }
}
