//! Playing one capture several times.

use super::source::{Captured, FrameSource};
use super::{CaptureError, CaptureFile};
use core::num::NonZeroU32;
use std::path::{Path, PathBuf};
use units::{Interval, Nanos};

type Opener<S> = Box<dyn FnMut() -> Result<S, CaptureError> + Send>;

/// One capture, repeated seamlessly: each loop starts one mean gap after the end of the previous one.
///
/// The mean gap is the span of the first loop divided by its number of gaps, rounded down, or
/// [`Looped::SHORTEST_GAP`] if that is zero. The capture is reopened for each loop.
pub struct Looped<S> {
    open: Opener<S>,
    source: S,
    loops_left: u32,
    /// The first instant of the capture, and its latest so far.
    span: Option<(Nanos, Nanos)>,
    frames: u64,
    /// The offset of all instants of this loop.
    shift: Interval,
    gap: Option<Interval>,
}

impl Looped<CaptureFile> {
    /// Plays the capture at `path`, or on standard input for `-`, `loops` times.
    ///
    /// # Errors
    /// [`CaptureError::StdinCannotLoop`] for more than one loop of standard input, and those of
    /// [`CaptureFile::open`].
    pub fn open(path: impl Into<PathBuf>, loops: NonZeroU32) -> Result<Self, CaptureError> {
        let path = path.into();
        if path == Path::new("-") && loops.get() > 1 {
            return Err(CaptureError::StdinCannotLoop { loops: loops.get() });
        }
        Self::new(move || CaptureFile::open(&path), loops)
    }
}

impl<S: FrameSource> Looped<S> {
    /// The gap between two loops of a capture with a mean gap of zero or a single frame.
    pub const SHORTEST_GAP: Interval = Interval::from_micros(1);

    /// Plays the source that `open` returns `loops` times.
    ///
    /// # Errors
    /// Those of `open`, which is called once here and once for each further loop.
    pub fn new(
        mut open: impl FnMut() -> Result<S, CaptureError> + Send + 'static,
        loops: NonZeroU32,
    ) -> Result<Self, CaptureError> {
        let source = open()?;
        Ok(Self {
            open: Box::new(open),
            source,
            loops_left: loops.get() - 1,
            span: None,
            frames: 0,
            shift: Interval::ZERO,
            gap: None,
        })
    }

    /// Opens the capture for the next loop.
    #[cold]
    fn start_over(&mut self) -> Result<(), CaptureError> {
        self.loops_left -= 1;
        if let Some((first, latest)) = self.span {
            let span = latest.since(first);
            let gap = *self.gap.get_or_insert_with(|| {
                let mean = Interval(span.0 / (self.frames - 1).max(1));
                if mean == Interval::ZERO { Self::SHORTEST_GAP } else { mean }
            });
            self.shift += span + gap;
        }
        self.source = (self.open)()?;
        Ok(())
    }
}

impl<S: FrameSource> FrameSource for Looped<S> {
    #[inline]
    fn advance(&mut self) -> Result<bool, CaptureError> {
        while !self.source.advance()? {
            // A capture without frames has none in later loops either.
            if self.loops_left == 0 || self.span.is_none() {
                return Ok(false);
            }
            if let Err(error) = self.start_over() {
                self.loops_left = 0;
                return Err(error);
            }
        }
        if let Some(Captured { at, .. }) = self.source.current() {
            let (first, latest) = self.span.unwrap_or((at, at));
            self.span = Some((first, latest.max(at)));
            self.frames += 1;
        }
        Ok(true)
    }

    #[inline]
    fn current(&self) -> Option<Captured<'_>> {
        let (first, _) = self.span?;
        let frame = self.source.current()?;
        // In later loops, an instant before the first one would precede the end of the previous loop.
        let at = if self.shift == Interval::ZERO { frame.at } else { frame.at.max(first) + self.shift };
        Some(Captured { at, ..frame })
    }
}

#[cfg(test)]
mod tests {
    use super::super::CaptureReader;
    use super::super::testing::*;
    use super::*;

    fn looped(instants: &[u32], loops: u32) -> (Vec<u64>, Option<CaptureError>) {
        let records: Vec<_> = instants.iter().map(|at| LITTLE.record(0, *at, &[1], 1)).collect();
        let capture = [LITTLE.pcap(NANOSECONDS, 1), records.concat()].concat();
        let open = move || CaptureReader::new(std::io::Cursor::new(capture.clone()), "made-up");
        let (frames, error) = drain(&mut Looped::new(open, NonZeroU32::new(loops).unwrap()).unwrap());
        (frames.into_iter().map(|frame| frame.0).collect(), error)
    }

    #[test]
    fn each_loop_starts_a_mean_gap_after_the_end_of_the_one_before() {
        assert_eq!(looped(&[100, 110, 140], 3).0, [100, 110, 140, 160, 170, 200, 220, 230, 260]);
    }

    #[test]
    fn a_capture_without_a_gap_is_looped_with_a_microsecond_between() {
        assert_eq!(looped(&[100], 3).0, [100, 1_100, 2_100]);
        assert_eq!(looped(&[100, 100], 2).0, [100, 100, 1_100, 1_100]);
    }

    #[test]
    fn instants_that_go_back_never_reach_into_the_loop_before() {
        assert_eq!(looped(&[100, 50, 130], 2).0, [100, 50, 130, 145, 145, 175]);
    }

    #[test]
    fn a_capture_without_frames_has_none_however_often_it_is_played() {
        assert!(looped(&[], u32::MAX).0.is_empty());
    }

    #[test]
    fn a_capture_that_is_gone_at_its_second_loop_is_an_error_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pcap");
        std::fs::write(&path, [LITTLE.pcap(NANOSECONDS, 1), LITTLE.record(0, 1, &[1], 1)].concat()).unwrap();
        let mut looped = Looped::open(&path, NonZeroU32::new(9).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (frames, error) = drain(&mut looped);
        assert_eq!(frames.len(), 1);
        assert!(matches!(error, Some(CaptureError::Open { .. })));
    }

    #[test]
    fn standard_input_cannot_be_played_twice() {
        let error = Looped::open("-", NonZeroU32::new(2).unwrap()).err().unwrap();
        assert!(error.to_string().starts_with("standard input cannot be replayed 2 times"));
    }
}
