//! Merging several captures in time order.

use super::pace::{Pace, Pacer};
use super::source::{Captured, FrameSource};
use super::steady::{ClockFaults, Steady};
use super::{CaptureError, LATEST};
use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use units::Nanos;

/// One frame of several captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged<'a> {
    /// The index of its source in the given list.
    pub source: usize,
    /// Its arrival by the replay clock. Never earlier than that of the previous frame.
    pub now: Nanos,
    /// The frame, with its capture instant.
    pub frame: Captured<'a>,
}

/// Plays several sources together, in the order of the instants that each [`Pace`] gives. Of frames with the
/// same instant, that of the earlier source is first.
///
/// Instants never go back within a source, whatever its timestamps say ([`ClockFaults`]).
/// Frames that a pace or loop would move past 2553 arrive at the end of that year. Only one frame per source
/// is held, so memory is constant.
pub struct Merge<S> {
    lanes: Vec<Lane<S>>,
    /// The sources that have a frame, by its arrival.
    turns: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The source whose frame is lent.
    lent: Option<usize>,
    origin: Nanos,
}

struct Lane<S> {
    source: Steady<S>,
    pacer: Pacer,
}

impl<S: FrameSource> Merge<S> {
    /// Merges `sources`, each at its pace.
    ///
    /// # Errors
    /// The error that keeps the first frame of a source from being read.
    pub fn new(sources: impl IntoIterator<Item = (S, Pace)>) -> Result<Self, CaptureError> {
        let mut started = Vec::new();
        for (source, pace) in sources {
            let mut source = Steady::new(source);
            let first = source.advance()?;
            started.push((source, pace, first));
        }
        let origin = started.iter().filter_map(|(.., first)| *first).min().unwrap_or(Nanos::ZERO);
        let (mut lanes, mut turns) = (Vec::new(), BinaryHeap::new());
        for (index, (source, pace, first)) in started.into_iter().enumerate() {
            let mut lane = Lane { source, pacer: Pacer::new(pace, origin) };
            turns.extend(first.and_then(|at| lane.arrival(at)).map(|now| Reverse((now, index))));
            lanes.push(lane);
        }
        Ok(Self { lanes, turns, lent: None, origin })
    }

    /// The first instant of all sources, where the replay clock starts; the epoch if there are no frames.
    pub fn origin(&self) -> Nanos {
        self.origin
    }

    /// Faults of the timestamps of all sources so far.
    pub fn clock_faults(&self) -> ClockFaults {
        self.lanes.iter().fold(ClockFaults::default(), |mut all, lane| {
            all += lane.source.faults;
            all
        })
    }

    /// Lends the next frame; `None` at the end of all sources.
    ///
    /// # Errors
    /// The error that keeps the next frame of a source from being read. It is returned once, where that
    /// frame would have been looked for; further calls go on with the other sources.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Merged<'_>>, CaptureError> {
        if let Some(index) = self.lent.take() {
            self.refill(index)?;
        }
        let Some(&Reverse((now, source))) = self.turns.peek() else { return Ok(None) };
        self.lent = Some(source);
        Ok(self.lanes[source].source.current().map(|frame| Merged { source, now, frame }))
    }

    /// Replaces the lent frame of the source at the top with its next one.
    #[inline]
    fn refill(&mut self, index: usize) -> Result<(), CaptureError> {
        let lane = &mut self.lanes[index];
        let more = lane.source.advance();
        let next = if let Ok(Some(at)) = more { lane.arrival(at) } else { None };
        if let Some(mut top) = self.turns.peek_mut() {
            match next {
                Some(now) => *top = Reverse((now, index)),
                None => drop(PeekMut::pop(top)),
            }
        }
        more.map(|_| ())
    }
}

impl<S: FrameSource> Lane<S> {
    /// The arrival of the source's current frame, whose instant is `at`.
    #[inline]
    fn arrival(&mut self, at: Nanos) -> Option<Nanos> {
        let Captured { original_length, .. } = self.source.current()?;
        Some(self.pacer.instant(at, original_length).min(LATEST))
    }
}

#[cfg(test)]
mod tests {
    use super::super::CaptureReader;
    use super::super::testing::*;
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;
    use units::BitRate;

    type Source = CaptureReader<Cursor<Vec<u8>>>;

    fn source(instants: &[u64]) -> Source {
        let mut capture = LITTLE.pcap(NANOSECONDS, 1);
        for (number, at) in (0_u8..).zip(instants) {
            capture.extend(LITTLE.record(0, *at as u32, &[number], 60));
        }
        CaptureReader::new(Cursor::new(capture), "made-up").unwrap()
    }

    fn merge(sources: &[(&[u64], Pace)]) -> Merge<Source> {
        Merge::new(sources.iter().map(|(instants, pace)| (source(instants), *pace))).unwrap()
    }

    /// The source, number and instant of each frame.
    fn played(merge: &mut Merge<Source>) -> Vec<(usize, u8, u64)> {
        let mut order = Vec::new();
        while let Some(Merged { source, now, frame }) = merge.next_frame().unwrap() {
            order.push((source, frame.data[0], now.0));
        }
        order
    }

    #[test]
    fn frames_come_in_order_of_time_and_ties_in_order_of_sources() {
        let mut merge = merge(&[
            (&[5, 9], Pace::AsCaptured),
            (&[], Pace::AsCaptured),
            (&[3, 5, 5, 10], Pace::AsCaptured),
        ]);
        assert_eq!(merge.origin(), Nanos(3));
        assert_eq!(played(&mut merge), [(2, 0, 3), (0, 0, 5), (2, 1, 5), (2, 2, 5), (0, 1, 9), (2, 3, 10)]);
        assert!(merge.next_frame().unwrap().is_none());
    }

    #[test]
    fn instants_that_go_back_are_raised_and_counted() {
        let mut merge = merge(&[(&[7, 5, 6, 8], Pace::AsCaptured), (&[6], Pace::AsCaptured)]);
        assert_eq!(played(&mut merge), [(1, 0, 6), (0, 0, 7), (0, 1, 7), (0, 2, 7), (0, 3, 8)]);
        assert_eq!(merge.clock_faults(), ClockFaults { raised: 2, ..ClockFaults::default() });
    }

    #[test]
    fn all_sources_are_scaled_from_the_first_instant_of_all() {
        let pace = Pace::Scaled("10".parse().unwrap());
        let mut merge = merge(&[(&[1_000, 1_200], pace), (&[1_100], pace)]);
        assert_eq!(played(&mut merge), [(0, 0, 1_000), (1, 0, 1_010), (0, 1, 1_020)]);
    }

    #[test]
    fn a_pace_that_takes_centuries_ends_before_never() {
        let pace = Pace::Scaled("1/9999999999999999999".parse().unwrap());
        assert_eq!(played(&mut merge(&[(&[1_000, 1_002], pace)])), [(0, 0, 1_000), (0, 1, LATEST.0)]);
    }

    #[test]
    fn at_line_rate_all_sources_start_at_once_and_have_no_gaps() {
        let pace = Pace::LineRate(BitRate::gigabits(84));
        let mut merge = merge(&[(&[1_000, 9_000], pace), (&[5_000, 5_000], pace)]);
        assert_eq!(played(&mut merge), [(0, 0, 1_000), (1, 0, 1_000), (0, 1, 1_008), (1, 1, 1_008)]);
    }

    #[test]
    fn a_source_that_breaks_is_reported_once_and_the_others_go_on() {
        let mut broken = [LITTLE.pcap(NANOSECONDS, 1), LITTLE.record(0, 1, &[0], 60)].concat();
        broken.push(0);
        let broken = CaptureReader::new(Cursor::new(broken), "broken").unwrap();
        let sources = [(broken, Pace::AsCaptured), (source(&[2, 3]), Pace::AsCaptured)];
        let mut merge = Merge::new(sources).unwrap();
        assert_eq!(merge.next_frame().unwrap().unwrap().source, 0);
        assert!(matches!(merge.next_frame(), Err(CaptureError::Truncated { .. })));
        assert_eq!(played(&mut merge), [(1, 0, 2), (1, 1, 3)]);
    }

    proptest! {
        #[test]
        fn merging_is_a_stable_sort_of_sorted_sources(
            mut instants in prop::collection::vec(prop::collection::vec(0..50_u64, 0..20), 0..6)
        ) {
            instants.iter_mut().for_each(|source| source.sort_unstable());
            let sources: Vec<_> = instants.iter().map(|source| (&source[..], Pace::AsCaptured)).collect();
            let mut expected: Vec<_> = instants.iter().enumerate().flat_map(|(source, instants)| {
                (0_u8..).zip(instants).map(move |(number, at)| (source, number, *at))
            }).collect();
            expected.sort_by_key(|(.., at)| *at);
            prop_assert_eq!(played(&mut merge(&sources)), expected);
        }
    }
}
