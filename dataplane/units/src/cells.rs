//! The unit of buffer accounting.

use crate::{Bytes, WireBytes};
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub};
use serde::{Deserialize, Serialize};

/// Cells of the buffer.
///
/// A frame costs whole cells: one for the switch's record of it, and one for each started 16 bytes of the
/// frame. So a threshold in cells bounds frames, bytes and memory, whatever the frame lengths.
///
/// | frame | cells | buffer | on the wire |
/// |---|---|---|---|
/// | 60 bytes | 5 | 80 bytes | 84 |
/// | 1,082 bytes | 69 | 1,104 bytes | 1,106 |
/// | 4,170 bytes | 262 | 4,192 bytes | 4,194 |
///
/// Switching chips use larger cells, 200 bytes and more, because they read memory a row at a time. Smaller
/// cells waste less on rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cells(pub u64);

impl Cells {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Bytes of one cell.
    pub const SIZE: u64 = 16;
    /// The most expensive frames relative to their wire bytes are those of 65 bytes: 6 cells for 89 bytes on
    /// the wire.
    const WORST: (Self, WireBytes) = (Self(6), WireBytes(89));

    /// The cost of a frame of `length` bytes without FCS.
    #[inline(always)]
    pub const fn of_frame(length: Bytes) -> Self {
        // One cell for the record, and the rest rounded up.
        Self(length.0.saturating_add(2 * Self::SIZE - 1) / Self::SIZE)
    }

    /// The maximum cost of frames that took `wire` bytes on a link, in any mix of lengths, excluding a frame
    /// still arriving.
    pub const fn of_any_mix(wire: WireBytes) -> Self {
        let (cells, of) = Self::WORST;
        let most = (wire.0 as u128 * cells.0 as u128).div_ceil(of.0 as u128);
        Self(if most > u64::MAX as u128 { u64::MAX } else { most as u64 })
    }

    /// The buffer bytes that they represent.
    #[inline(always)]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.saturating_mul(Self::SIZE))
    }

    /// The whole cells in `bytes`: rounded down.
    #[inline]
    pub const fn within(bytes: u64) -> Self {
        Self(bytes / Self::SIZE)
    }
}

impl Add for Cells {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Cells {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// Saturates at zero.
impl Sub for Cells {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Cells {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, |sum, term| sum + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_docs_holds() {
        let costs = [60, 1_082, 4_170].map(|length| Cells::of_frame(Bytes(length)));
        assert_eq!(costs, [Cells(5), Cells(69), Cells(262)]);
        assert_eq!(costs.map(Cells::bytes), [Bytes(80), Bytes(1_104), Bytes(4_192)]);
    }

    #[test]
    fn no_frame_of_a_link_costs_more_for_its_wire_bytes_than_the_worst_one() {
        for length in (1..=9_216).map(Bytes) {
            let wire = WireBytes::of_frame(length);
            assert!(Cells::of_frame(length) <= Cells::of_any_mix(wire), "{length}");
        }
        let worst = WireBytes::of_frame(Bytes(65));
        assert_eq!(Cells::of_any_mix(WireBytes(1_000 * worst.0)), Cells(6_000), "no more than that");
    }
}
