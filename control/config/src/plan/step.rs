//! A formula as it stands on a board: name = formula = numbers = result.

use core::fmt;

use units::Interval;

use crate::headroom::grouped;
use crate::lscc_sum::rounded;

/// A result with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes of buffer or memory, or bytes on the wire, as the name of the step says.
    Bytes(u64),
    /// A time.
    Time(Interval),
    /// Bits per second.
    Rate(u64),
    /// A number of things.
    Count(u64),
    /// Parts of a hundred.
    Percent(u64),
}

impl Quantity {
    /// The number without its unit: bytes, nanoseconds, bits per second, things or parts of a hundred.
    pub fn number(self) -> u64 {
        match self {
            Self::Bytes(number) | Self::Rate(number) | Self::Count(number) | Self::Percent(number) => number,
            Self::Time(time) => time.0,
        }
    }

    /// The unit of [`Quantity::number`], as a key of JSON ends.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "ns",
            Self::Rate(_) => "bps",
            Self::Count(_) => "count",
            Self::Percent(_) => "percent",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(bytes) => write!(f, "{} B", grouped(bytes)),
            Self::Time(time) => time.fmt(f),
            Self::Rate(rate) => f.write_str(&rounded(rate)),
            Self::Count(count) => f.write_str(&grouped(count)),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// One formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the result.
    pub name: &'static str,
    /// The formula in names.
    pub formula: String,
    /// The formula in numbers; empty if the result is a choice.
    pub numbers: String,
    /// The result.
    pub result: Quantity,
    /// Its source: a standard, a section of a paper, or the reason of a choice.
    pub source: &'static str,
}

impl Step {
    /// A step.
    pub(crate) fn new(
        name: &'static str,
        formula: impl Into<String>,
        numbers: impl Into<String>,
        result: Quantity,
        source: &'static str,
    ) -> Self {
        Self { name, formula: formula.into(), numbers: numbers.into(), result, source }
    }
}

/// The formulas about one matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The matter.
    pub title: String,
    /// The formulas, each after those that it builds on.
    pub steps: Vec<Step>,
}

/// Terms of a sum in numbers: `1 + 2,000 + 3`.
pub(crate) fn sum(terms: &[u64]) -> String {
    terms.iter().map(|term| grouped(*term)).collect::<Vec<_>>().join(" + ")
}
