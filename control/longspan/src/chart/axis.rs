//! Axes of a plot: the positions of values, and labels.

use super::drawing::escaped;
use super::scale::{BYTES, COUNTS, RATES, TIME, Unit, figure, round_step, unit_for};

/// The maximum number of intervals on a linear axis.
const STEPS: u64 = 5;
/// With more decades, a logarithmic axis has labels only at powers of ten.
const DECADES_ENOUGH: f64 = 2.5;
/// The maximum number of labels at powers of ten; more would overlap.
const DECADES_MAX: usize = 8;

/// The quantity of an axis or metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Rate,
    /// A number of items.
    Count,
    /// A number without a unit, such as a slowdown.
    Ratio,
}

/// An axis: its range and scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    quantity: Quantity,
    from: f64,
    to: f64,
    kind: Kind,
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
    /// Equal distances, labelled with names, which are escaped for HTML.
    Named(Vec<String>),
}

impl Quantity {
    /// The quantity of the metric or column `name`, by its last word.
    pub fn of(name: &str) -> Self {
        let word = name.rsplit(['.', '_']).next().unwrap_or(name);
        match word {
            "ns" => Self::Time,
            "bytes" => Self::Bytes,
            "bps" => Self::Rate,
            _ if name.ends_with("bits_per_second") => Self::Rate,
            _ if name.starts_with("slowdown.") || word == "utilisation" => Self::Ratio,
            _ => Self::Count,
        }
    }

    fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => &TIME,
            Self::Bytes => &BYTES,
            Self::Rate => &RATES,
            Self::Count | Self::Ratio => &COUNTS,
        }
    }

    /// Formats `value` with three digits and its unit.
    pub fn say(self, value: f64) -> String {
        let (name, size) = unit_for(value.abs() as u64, self.units());
        let scaled = value / size as f64;
        let digits = if scaled == 0.0 { 0 } else { scaled.abs().log10().floor() as i32 };
        let whole = scaled.fract() == 0.0 && matches!(self, Self::Count) || scaled == 0.0;
        let decimals = if whole { 0 } else { (2 - digits).clamp(0, 4) as usize };
        let text = format!("{scaled:.decimals$}");
        if name.is_empty() { text } else { format!("{text} {name}") }
    }
}

impl Axis {
    /// An axis from zero to a round value that is not below `most`.
    pub fn linear(quantity: Quantity, most: f64) -> Self {
        let parts = parts(quantity);
        let most = ((most * parts).ceil() as u64).max(1);
        let to = most.next_multiple_of(round_step(most, STEPS));
        Self { quantity, from: 0.0, to: to as f64 / parts, kind: Kind::Linear }
    }

    /// An axis from zero to exactly `to`.
    pub fn exact(quantity: Quantity, to: f64) -> Self {
        Self { quantity, from: 0.0, to: to.max(1.0), kind: Kind::Linear }
    }

    /// A logarithmic axis that covers `least` to `most`, which are above zero, and ends at 1, 2 or 5 times a power of
    /// ten.
    pub fn logarithmic(quantity: Quantity, least: f64, most: f64) -> Self {
        let least = least.max(1e-3);
        let (from, to) = (below(least), above(most.max(least)));
        let to = if to > from { to } else { above(from * 1.01) };
        Self { quantity, from, to, kind: Kind::Logarithmic }
    }

    /// The position of `value`, from 0 at the start to 1 at the end. Values outside are moved to the nearer end.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            Kind::Logarithmic => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            Kind::Linear | Kind::Named(_) => (value - self.from) / (self.to - self.from),
        };
        place.clamp(0.0, 1.0)
    }

    /// An axis with `names` in order, the first at 0, and half a distance before the first and after the last.
    pub fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<_> = names.map(escaped).collect();
        let to = names.len() as f64 - 0.5;
        Self { quantity: Quantity::Count, from: -0.5, to, kind: Kind::Named(names) }
    }

    /// The values and texts of the labels. Texts are escaped for HTML.
    pub fn labels(&self) -> Vec<(f64, String)> {
        match &self.kind {
            Kind::Linear => self.steps(),
            Kind::Logarithmic => self.powers(),
            Kind::Named(names) => {
                names.iter().enumerate().map(|(place, name)| (place as f64, name.clone())).collect()
            }
        }
    }

    fn steps(&self) -> Vec<(f64, String)> {
        let parts = parts(self.quantity);
        let to = (self.to * parts).round() as u64;
        let step = round_step(to, STEPS);
        // Ratios are counted in thousandths, and have the decimals that these need.
        let unit = if self.quantity == Quantity::Ratio {
            ("", parts as u64)
        } else {
            unit_for(to, self.quantity.units())
        };
        let said = |value| figure(value, step, unit).trim_end().to_owned();
        (0..=to).step_by(step as usize).map(|value| (value as f64 / parts, said(value))).collect()
    }

    fn powers(&self) -> Vec<(f64, String)> {
        let decades = (self.to / self.from).log10();
        let factors: &[f64] = if decades > DECADES_ENOUGH { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.from.log10().floor() as i32;
        let last = self.to.log10().ceil() as i32;
        let stride = ((last - first) as usize).div_ceil(DECADES_MAX).max(1);
        let figures = (first..=last)
            .step_by(stride)
            .flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powi(exponent)));
        let slack = 1e-9;
        let within = |value: &f64| *value >= self.from * (1.0 - slack) && *value <= self.to * (1.0 + slack);
        figures.filter(within).map(|value| (value, self.short(value))).collect()
    }

    /// Formats a round value without unnecessary decimals.
    fn short(&self, value: f64) -> String {
        let (name, size) = unit_for(value.round() as u64, self.quantity.units());
        // Removes rounding errors of floating point.
        let scaled = (value / size as f64 * 1e6).round() / 1e6;
        if name.is_empty() { scaled.to_string() } else { format!("{scaled} {name}") }
    }
}

/// The number of parts of one that labels of a linear axis distinguish.
fn parts(quantity: Quantity) -> f64 {
    if quantity == Quantity::Ratio { 1_000.0 } else { 1.0 }
}

/// The largest of 1, 2, 5, 10, ... that is not above `value`.
fn below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| factor * power <= value * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * power
}

/// The smallest of 1, 2, 5, 10, ... that is not below `value`.
fn above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= value * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.labels().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn axes_are_labelled_with_round_figures() {
        assert_eq!(
            labels(Axis::linear(Quantity::Bytes, 171_828.0)),
            ["0 kB", "50 kB", "100 kB", "150 kB", "200 kB"]
        );
        assert_eq!(labels(Axis::linear(Quantity::Ratio, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Axis::linear(Quantity::Count, 0.0)), ["0", "1"]);
        assert_eq!(labels(Axis::logarithmic(Quantity::Ratio, 1.0, 17.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(
            labels(Axis::logarithmic(Quantity::Time, 900.0, 3e7)),
            ["1 us", "10 us", "100 us", "1 ms", "10 ms"]
        );
    }

    #[test]
    fn figures_are_said_with_three_digits() {
        assert_eq!(Quantity::Time.say(1_234_567.0), "1.23 ms");
        assert_eq!(Quantity::Rate.say(98_765_432_100.0), "98.8 Gb/s");
        assert_eq!(Quantity::Count.say(12_345.0), "12345");
        assert_eq!(Quantity::Ratio.say(1.0), "1.00");
        assert_eq!(Quantity::Count.say(0.0), "0");
        assert_eq!(Quantity::Bytes.say(0.0), "0 B");
        assert_eq!(Quantity::Ratio.say(-0.123_45), "-0.123");
    }

    #[test]
    fn a_name_says_what_it_counts() {
        let names =
            ["fct.all.p99_ns", "goodput.all.bps", "queue.a.1.max_bytes", "slowdown.all.p99", "cnps.total"];
        assert_eq!(
            names.map(Quantity::of),
            [Quantity::Time, Quantity::Rate, Quantity::Bytes, Quantity::Ratio, Quantity::Count]
        );
        assert_eq!(Quantity::of("lscc_advertised_rate_bits_per_second"), Quantity::Rate);
    }

    proptest! {
        #[test]
        fn labels_rise_within_the_axis_and_larger_figures_stand_further_on(
            least in 0.01_f64..1e9, factor in 1.0_f64..1e9, share in 0.0_f64..1.0,
        ) {
            let most = least * factor;
            for axis in [Axis::linear(Quantity::Time, most), Axis::logarithmic(Quantity::Ratio, least, most)] {
                let labels = axis.labels();
                prop_assert!(!labels.is_empty() && labels.len() <= 12, "{labels:?}");
                prop_assert!(labels.windows(2).all(|pair| pair[0].0 < pair[1].0));
                let value = least + (most - least) * share;
                prop_assert!(axis.place(least) <= axis.place(value) && axis.place(value) <= axis.place(most));
                prop_assert!((0.0..=1.0).contains(&axis.place(value)));
            }
        }
    }
}
