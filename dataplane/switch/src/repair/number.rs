//! Numbers that only rise, and the 32 bits of them that frames carry.

use core::ops::Range;
use wire::grants::repair::{GAPS, Gap, Gaps, Span};

/// A status that no true peer sends: it speaks of frames that were never sent, or takes something back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absurd;

/// The number whose lowest bits are `low` and that is nearest to `near`; `None` if it would be below zero.
pub(super) fn widen(near: u64, low: u32) -> Option<u64> {
    let ahead = low.wrapping_sub(near as u32).cast_signed();
    near.checked_add_signed(i64::from(ahead))
}

/// As [`widen`], for numbers from `from` up to `until`.
pub(super) fn widen_span(near: u64, span: Span) -> Option<(u64, u64)> {
    let (from, until) = (widen(near, span.from)?, widen(near, span.until)?);
    (from <= until).then_some((from, until))
}

/// The gaps of one kind, in full numbers.
pub(super) fn gaps_of(gaps: &Gaps, is_of_copies: bool, near: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let full = move |gap: Gap| Some((widen(near, gap.start)?, u64::from(gap.length)));
    gaps.iter().filter(move |gap| gap.is_of_copies == is_of_copies).filter_map(full)
}

/// The numbers of gaps, widened once.
pub(super) struct Missing {
    gaps: [Range<u64>; GAPS],
    count: usize,
}

impl Missing {
    pub fn new(gaps: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut missing = Self { gaps: [const { 0..0 }; GAPS], count: 0 };
        for (place, (start, length)) in missing.gaps.iter_mut().zip(gaps) {
            *place = start..start + length;
            missing.count += 1;
        }
        missing
    }

    pub fn contains(&self, number: u64) -> bool {
        self.gaps[..self.count].iter().any(|gap| gap.contains(&number))
    }
}
