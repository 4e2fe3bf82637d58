//! Bytes in a buffer, and bytes on the wire.

use crate::human;
use crate::saturating::saturating;
use core::fmt;
use core::ops::SubAssign;
use serde::{Deserialize, Serialize};

/// Bytes of frames as they are stored, without FCS, preamble or gap: the unit of thresholds, watermarks and
/// counters. A frame is charged to the buffer in whole [`crate::Cells`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// No limit.
    pub const MAX: Self = Self(u64::MAX);

    /// `self - other`, or zero where `other` is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

saturating!(Bytes);

/// Saturates at zero.
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// The shortest exact form with a prefix: `16MiB`, `16MB`, `96.928kB`. If two have the same length, the
/// binary one. Small values are in bytes. With `{:#}` for people: `96.9 kB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        if f.alternate() {
            return f.write_str(&human::bytes(self.0));
        }
        if self.0 < 10_000 && !self.0.is_multiple_of(1 << 10) {
            return write!(f, "{}B", self.0);
        }
        let binary = BINARY.into_iter().filter(|(_, size)| self.0.is_multiple_of(*size));
        let written = binary
            .chain(human::SIZES.into_iter().skip(1).rev())
            .filter(|(_, size)| self.0 >= *size)
            .map(|(unit, size)| crate::decimal::decimal(self.0, size, unit))
            .min_by_key(String::len);
        f.write_str(written.as_deref().unwrap_or("0B"))
    }
}

/// Bytes that occupy a link: the frame, padded to the minimum, with FCS, preamble and gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WireBytes(pub u64);

impl WireBytes {
    /// FCS (4), preamble and start delimiter (8) and inter-packet gap (12): IEEE 802.3 clauses
    /// 3.1.1 and 4.4.2.
    pub const OVERHEAD: u64 = 24;
    /// The shortest frame without FCS (IEEE 802.3 clause 4.4.2, minFrameSize). The MAC pads shorter ones.
    pub const MINIMUM_FRAME: u64 = 60;

    /// The link bytes of a stored frame of `length`.
    #[inline]
    pub const fn of_frame(length: Bytes) -> Self {
        let padded = if length.0 < Self::MINIMUM_FRAME { Self::MINIMUM_FRAME } else { length.0 };
        Self(padded + Self::OVERHEAD)
    }
}

/// For people: `96.9 kB`.
impl fmt::Display for WireBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human::bytes(self.0))
    }
}

saturating!(WireBytes);
