//! A source whose clock never goes back.

use super::CaptureError;
use super::source::{Captured, FrameSource, Interface};
use units::{Interval, Nanos};

/// Frames of several queues of an interface are out of order by less. A clock that is set back by more was stepped.
const REORDERED: Interval = Interval::from_millis(1);
/// A frame so long after the one before may have a wrong timestamp.
const SUSPECT: Interval = Interval::from_secs(1);
/// It has one if the frame after it is so long before it.
const FAR: Interval = Interval::from_millis(500);

/// Faults of the timestamps of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockFaults {
    /// Frames that were less than a millisecond out of order among those of their interface, and were raised to the instant
    /// of the one before.
    pub raised: u64,
    /// Frames that alone were far off, and were given the instant of the one before.
    pub strays: u64,
    /// How often the clock was set back. The frames went on with their gaps from there.
    pub steps: u64,
}

impl core::ops::AddAssign for ClockFaults {
    fn add_assign(&mut self, other: Self) {
        self.raised += other.raised;
        self.strays += other.strays;
        self.steps += other.steps;
    }
}

/// A source, with instants that never go back. It looks one frame ahead where a timestamp is suspect.
pub(super) struct Steady<S> {
    source: S,
    /// The current frame, if it is no longer that of the source, and what the source said when it moved on.
    held: Option<(Held, Result<bool, CaptureError>)>,
    /// The latest timestamp since the clock was last set back.
    latest: Option<Nanos>,
    /// The latest timestamp of each interface since then. The frames of several come in batches, so those of one may be far
    /// behind those of another.
    of_interface: Vec<Nanos>,
    /// By how much the clock has been set back.
    behind: Interval,
    pub(super) faults: ClockFaults,
}

/// A copy of a frame.
struct Held {
    at: Nanos,
    data: Vec<u8>,
    original_length: u32,
    number: u32,
    name: String,
}

impl<S: FrameSource> Steady<S> {
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            held: None,
            latest: None,
            of_interface: Vec::new(),
            behind: Interval::ZERO,
            faults: ClockFaults::default(),
        }
    }

    /// Moves to the next frame, and returns its instant; `None` at the end.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Nanos>, CaptureError> {
        let more = match self.held.take() {
            None => self.source.advance(),
            Some((_, more)) => more,
        };
        if !more? {
            return Ok(None);
        }
        let now = self.source.current().map(|frame| (frame.at, frame.interface.number as usize));
        let (at, interface) = now.unwrap_or_default();
        let latest = *self.latest.get_or_insert(at);
        if at < latest || at.since(latest) > SUSPECT {
            self.judge(at, latest, interface);
        } else {
            self.follow(at, interface);
        }
        Ok(self.latest.map(|latest| latest + self.behind))
    }

    /// Decides what the timestamp `at` means, which is before `latest` or long after it.
    #[cold]
    fn judge(&mut self, at: Nanos, latest: Nanos, interface: usize) {
        let own = self.of_interface.get(interface).copied().unwrap_or_default();
        if at < latest && own <= at + REORDERED {
            self.faults.raised += 1;
            return;
        }
        let held = self.source.current().map(Held::new);
        let more = self.source.advance();
        let next = self.source.current().map(|frame| frame.at).filter(|_| matches!(more, Ok(true)));
        self.held = held.map(|held| (held, more));
        let goes_back = |next: Nanos| at < latest || next + FAR < at;
        if next.is_some_and(|next| next + REORDERED >= latest && goes_back(next)) {
            self.faults.strays += 1;
            return;
        }
        if at < latest {
            self.faults.steps += 1;
            self.behind += latest.since(at);
            self.of_interface.clear();
        }
        self.follow(at, interface);
    }

    /// Takes the timestamp of an interface as the latest.
    #[inline]
    fn follow(&mut self, at: Nanos, interface: usize) {
        self.latest = Some(at);
        if self.of_interface.len() <= interface {
            self.of_interface.resize(interface + 1, Nanos::ZERO);
        }
        self.of_interface[interface] = at;
    }

    /// The frame that the last call of [`Steady::advance`] moved to.
    #[inline]
    pub(super) fn current(&self) -> Option<Captured<'_>> {
        match &self.held {
            None => self.source.current(),
            Some((held, _)) => Some(held.lend()),
        }
    }
}

impl Held {
    fn new(frame: Captured<'_>) -> Self {
        let Captured { at, data, original_length, interface: Interface { number, name } } = frame;
        Self { at, data: data.to_vec(), original_length, number, name: name.to_owned() }
    }

    fn lend(&self) -> Captured<'_> {
        let Self { at, ref data, original_length, number, ref name } = *self;
        Captured { at, data, original_length, interface: Interface { number, name } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CaptureReader;
    use super::super::testing::*;
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::io::Cursor;

    /// A capture with a frame at each of these milliseconds.
    fn capture(millis: &[u64]) -> Vec<u8> {
        let record = |(number, at): (u8, &u64)| {
            LITTLE.record((at / 1_000) as u32, (at % 1_000) as u32 * 1_000_000, &[number], 60)
        };
        [LITTLE.pcap(NANOSECONDS, 1), (0..).zip(millis).flat_map(record).collect()].concat()
    }

    /// The millisecond at which each frame is played, in order, and the faults that were found.
    fn played(millis: &[u64]) -> (Vec<u64>, ClockFaults) {
        let source = CaptureReader::new(Cursor::new(capture(millis)), "made-up").unwrap();
        let (mut steady, mut instants) = (Steady::new(source), Vec::new());
        while let Some(at) = steady.advance().unwrap() {
            assert_eq!(steady.current().unwrap().data, [instants.len() as u8]);
            instants.push(at.0 / 1_000_000);
        }
        (instants, steady.faults)
    }

    fn faults(raised: u64, strays: u64, steps: u64) -> ClockFaults {
        ClockFaults { raised, strays, steps }
    }

    #[test]
    fn frames_go_on_with_their_gaps_after_the_clock_was_set_back() {
        assert_eq!(
            played(&[1_000, 1_010, 500, 510, 530]),
            (vec![1_000, 1_010, 1_010, 1_020, 1_040], faults(0, 0, 1))
        );
        assert_eq!(played(&[900, 910, 500, 510, 100, 103]).0, [900, 910, 910, 920, 920, 923]);
    }

    #[test]
    fn one_wrong_timestamp_moves_no_other_frame() {
        let hour = 3_600_000;
        for wrong in [10 + hour, 0] {
            let (instants, found) = played(&[5_000, 5_010, wrong, 5_030, 5_040]);
            assert_eq!(
                (instants, found),
                (vec![5_000, 5_010, 5_010, 5_030, 5_040], faults(0, 1, 0)),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_frame_a_little_out_of_order_is_raised_and_a_long_silence_is_kept() {
        assert_eq!(
            played(&[1_000, 1_002, 1_001, 1_003]),
            (vec![1_000, 1_002, 1_002, 1_003], faults(1, 0, 0))
        );
        assert_eq!(played(&[1, 9_000, 99_000, 99_001]), (vec![1, 9_000, 99_000, 99_001], faults(0, 0, 0)));
    }

    #[test]
    fn batches_of_several_interfaces_are_no_steps_of_the_clock() {
        // Of interface 0, those of interface 1 from the same 4 ms, and so on.
        let batches = [(0, [0, 2, 4]), (1, [1, 3, 4]), (0, [5, 7, 9]), (1, [6, 7, 9])];
        let frames = batches.into_iter().flat_map(|(interface, at)| at.map(|at| (interface, 1_000 + at)));
        let mut source = Steady::new(Frames(frames.collect(), None));
        let mut instants = Vec::new();
        while let Some(at) = source.advance().unwrap() {
            instants.push(at.0 / 1_000_000 - 1_000);
        }
        assert_eq!(instants, [0, 2, 4, 4, 4, 4, 5, 7, 9, 9, 9, 9]);
        assert_eq!(source.faults, faults(4, 0, 0));
    }

    /// Frames with their interface and millisecond.
    struct Frames(VecDeque<(u32, u64)>, Option<(u32, u64)>);

    impl FrameSource for Frames {
        fn advance(&mut self) -> Result<bool, CaptureError> {
            self.1 = self.0.pop_front();
            Ok(self.1.is_some())
        }

        fn current(&self) -> Option<Captured<'_>> {
            let (number, millis) = self.1?;
            let at = Nanos(millis * 1_000_000);
            Some(Captured { at, data: &[], original_length: 60, interface: Interface { number, name: "" } })
        }
    }

    #[test]
    fn an_error_behind_a_suspect_frame_is_told_after_it() {
        let cut = [capture(&[1, 9_000]), vec![0]].concat();
        let mut steady = Steady::new(CaptureReader::new(Cursor::new(cut), "cut").unwrap());
        assert!(steady.advance().unwrap().is_some() && steady.advance().unwrap().is_some());
        assert_eq!(steady.current().unwrap().data, [1]);
        assert!(matches!(steady.advance(), Err(CaptureError::Truncated { .. })));
        assert_eq!(steady.advance().unwrap(), None);
    }

    proptest! {
        #[test]
        fn every_frame_is_played_once_in_order_and_never_before_an_earlier_one(
            millis in prop::collection::vec(0..5_000_u64, 0..40)
        ) {
            let (instants, _) = played(&millis);
            prop_assert_eq!(instants.len(), millis.len());
            prop_assert!(instants.is_sorted());
        }
    }
}
