//! A formula as it stands on a board: name = formula = numbers = result.

use core::fmt;

use units::{BitRate, Bytes, Interval, WireBytes};

use units::human::{bytes, rate, thousands};

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
    /// Parts of a million, shown in percent.
    Millionths(u64),
}

impl Quantity {
    /// The number without its unit: bytes, nanoseconds, bits per second, things or parts of a million.
    pub fn number(self) -> u64 {
        match self {
            Self::Bytes(number) | Self::Rate(number) | Self::Count(number) | Self::Millionths(number) => {
                number
            }
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
            Self::Millionths(_) => "millionths",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(number) => f.write_str(&bytes(number)),
            Self::Time(time) => write!(f, "{time:#}"),
            Self::Rate(number) => f.write_str(&rate(number)),
            Self::Count(count) => f.write_str(&thousands(count)),
            Self::Millionths(parts) => write!(f, "{} %", parts as f64 / 1e4),
        }
    }
}

impl From<Bytes> for Quantity {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes.0)
    }
}

impl From<WireBytes> for Quantity {
    fn from(bytes: WireBytes) -> Self {
        Self::Bytes(bytes.0)
    }
}

impl From<Interval> for Quantity {
    fn from(time: Interval) -> Self {
        Self::Time(time)
    }
}

impl From<BitRate> for Quantity {
    fn from(rate: BitRate) -> Self {
        Self::Rate(rate.bits_per_second())
    }
}

impl From<u64> for Quantity {
    fn from(count: u64) -> Self {
        Self::Count(count)
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

/// The formulas about one matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The matter.
    pub title: String,
    /// The formulas, each after those that it builds on.
    pub steps: Vec<Step>,
}

/// A part that is being written. A formula is stated once; its form in numbers follows from the terms that it names.
#[derive(Default)]
pub(crate) struct Sheet {
    /// The terms by name, as numbers show them. A later one replaces an earlier one of the same name.
    terms: Vec<(String, String)>,
    steps: Vec<Step>,
}

impl Sheet {
    /// Adds a term that is not the result of a step.
    pub fn term(&mut self, name: impl Into<String>, value: impl fmt::Display) -> &mut Self {
        self.terms.push((name.into(), format!("{value:#}")));
        self
    }

    /// Adds terms of one kind.
    pub fn terms<const N: usize>(&mut self, terms: [(&str, impl Into<Quantity>); N]) -> &mut Self {
        self.terms.extend(terms.map(|(name, value)| (name.into(), value.into().to_string())));
        self
    }

    /// Adds a step, whose result is a term of later ones. Terms stand in braces and remarks in brackets:
    /// `"{RTT} / {T}[, rounded up]"`. A formula without terms states a choice, which has no numbers.
    pub fn step(
        &mut self,
        name: &'static str,
        formula: &str,
        result: impl Into<Quantity>,
        source: &'static str,
    ) -> &mut Self {
        let result = result.into();
        let numbers = if formula.contains('{') { self.numbers(formula) } else { String::new() };
        let formula = formula.replace(['{', '}', '[', ']'], "");
        self.steps.push(Step { name, formula, numbers, result, source });
        self.term(name, result)
    }

    fn numbers(&self, formula: &str) -> String {
        // A piece ends behind a term or a remark, and begins with what stands before it.
        let value = |piece: &str| match piece.split_once(['{', '[']) {
            Some((before, name)) if piece.ends_with('}') => {
                let name = name.trim_end_matches('}');
                let known = self.terms.iter().rfind(|(known, _)| known == name);
                before.to_owned() + &known.expect("a formula has known terms").1
            }
            Some((before, _)) => before.to_owned(),
            None => piece.to_owned(),
        };
        formula.split_inclusive(['}', ']']).map(value).collect()
    }

    /// The part, whose matter is `title`.
    pub fn part(&mut self, title: impl Into<String>) -> Part {
        Part { title: title.into(), steps: core::mem::take(&mut self.steps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_formula_are_its_terms_and_the_results_before_it_without_remarks() {
        let mut sheet = Sheet::default();
        sheet
            .term("RTT", Interval::from_micros(800))
            .step("T", "as stated", Interval::from_micros(200), "")
            .step("N", "{RTT} / {T}[, rounded up]", 4_u64, "");
        let steps = sheet.part("").steps;
        assert_eq!((steps[0].formula.as_str(), steps[0].numbers.as_str()), ("as stated", ""));
        assert_eq!(steps[1].formula, "RTT / T, rounded up");
        assert_eq!(steps[1].numbers, "800 us / 200 us");
    }
}
