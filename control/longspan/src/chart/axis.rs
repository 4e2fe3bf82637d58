//! Axes of a plot: which figures stand where, and how they are said.

use super::drawing::escaped;
use super::scale::{BYTES, COUNTS, RATES, TIME, Unit, figure, round_step, unit_for};

/// Intervals along a linear axis at most.
const STEPS: u64 = 5;
/// Decades of a logarithmic axis from which on powers of ten are labels enough.
const DECADES_ENOUGH: f64 = 2.5;
/// Decades of a logarithmic axis at most: labels of more run into each other.
const DECADES_MAX: usize = 8;

/// What an axis or a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Rate,
    /// Things.
    Count,
    /// A number of no unit, such as a slowdown.
    Ratio,
}

/// From which figure to which an axis goes, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    quantity: Quantity,
    from: f64,
    to: f64,
    kind: Kind,
}

/// How figures stand along an axis.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
    /// At equal distances, with names instead of figures, as they stand in HTML.
    Named(Vec<String>),
}

impl Quantity {
    /// What the metric or column `name` counts, told by its last word.
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

    /// `value` with three digits and its unit.
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
    /// An axis from zero up to a round figure that is no less than `most`.
    pub fn linear(quantity: Quantity, most: f64) -> Self {
        let parts = parts(quantity);
        let most = ((most * parts).ceil() as u64).max(1);
        let to = most.next_multiple_of(round_step(most, STEPS));
        Self { quantity, from: 0.0, to: to as f64 / parts, kind: Kind::Linear }
    }

    /// An axis from zero to exactly `to`, such as of time.
    pub fn exact(quantity: Quantity, to: f64) -> Self {
        Self { quantity, from: 0.0, to: to.max(1.0), kind: Kind::Linear }
    }

    /// A logarithmic axis that holds all from `least` to `most`, which are above zero, and ends at 1, 2 or 5
    /// times a power of ten.
    pub fn logarithmic(quantity: Quantity, least: f64, most: f64) -> Self {
        let least = least.max(1e-3);
        let (from, to) = (below(least), above(most.max(least)));
        let to = if to > from { to } else { above(from * 1.01) };
        Self { quantity, from, to, kind: Kind::Logarithmic }
    }

    /// Where `value` stands, from 0 at the start to 1 at the end; what is beyond an end stands there.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            Kind::Logarithmic => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            Kind::Linear | Kind::Named(_) => (value - self.from) / (self.to - self.from),
        };
        place.clamp(0.0, 1.0)
    }

    /// An axis along which `names` stand in their order, the first at 0, with half a place before and behind.
    pub fn named(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<_> = names.map(|name| escaped(&name)).collect();
        let to = names.len() as f64 - 0.5;
        Self { quantity: Quantity::Count, from: -0.5, to, kind: Kind::Named(names) }
    }

    /// The figures that are written at the axis, as they stand in HTML.
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
        // Figures of no unit are counted in thousandths, and said with the decimals that these have.
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

    /// A round figure without needless decimals.
    fn short(&self, value: f64) -> String {
        let (name, size) = unit_for(value.round() as u64, self.quantity.units());
        // Of a sum of floating point as it was meant.
        let scaled = (value / size as f64 * 1e6).round() / 1e6;
        if name.is_empty() { scaled.to_string() } else { format!("{scaled} {name}") }
    }
}

/// How finely figures along a linear axis are told apart, in parts of one.
fn parts(quantity: Quantity) -> f64 {
    if quantity == Quantity::Ratio { 1_000.0 } else { 1.0 }
}

/// The largest of 1, 2, 5, 10, ... that is no larger than `value`.
fn below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| factor * power <= value * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * power
}

/// The smallest of 1, 2, 5, 10, ... that is no smaller than `value`.
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
