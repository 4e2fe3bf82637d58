//! Axes of a plot: the positions of values, and labels.

use super::text::escaped;
use switch::figure::SeriesKind;
use units::human::{self, Unit};

/// The maximum number of intervals on a linear axis.
const STEPS: f64 = 5.0;
/// With more decades, a logarithmic axis has labels only at powers of ten.
const DECADES_ENOUGH: f64 = 2.5;
/// The maximum number of labels at powers of ten; more would overlap.
const DECADES_MAX: usize = 8;
/// Allows for the rounding errors of floating point.
const SLACK: f64 = 1e-9;

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
    scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq)]
enum Scale {
    Linear,
    Logarithmic,
    /// Equal distances, labelled with names, which are escaped for HTML.
    Named(Vec<String>),
}

impl Quantity {
    /// The quantity of the metric called `name`, by its last word. Files and the command line have metrics by name only.
    pub fn of_metric(name: &str) -> Self {
        match name.rsplit(['.', '_']).next() {
            Some("ns") => Self::Time,
            Some("bytes") => Self::Bytes,
            Some("bps") => Self::Rate,
            Some("utilisation") => Self::Ratio,
            _ if name.starts_with("slowdown.") => Self::Ratio,
            _ => Self::Count,
        }
    }

    /// The quantity of a column of a series.
    pub fn of_series(kind: SeriesKind) -> Self {
        match kind {
            SeriesKind::Queue | SeriesKind::Slot => Self::Bytes,
            SeriesKind::Rate => Self::Rate,
            SeriesKind::Count | SeriesKind::Paused => Self::Count,
        }
    }

    fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => &human::TIMES,
            Self::Bytes => &human::SIZES,
            Self::Rate => &human::RATES,
            Self::Count | Self::Ratio => &[("", 1)],
        }
    }

    /// Formats `value` with its unit: a whole count exactly, others with three digits.
    pub fn shown(self, value: f64) -> String {
        let whole = value.abs().round() as u64;
        let text = match self {
            Self::Time => human::nanos(whole),
            Self::Bytes => human::bytes(whole),
            Self::Rate => human::speed(whole),
            Self::Count if value.fract() == 0.0 => human::thousands(whole),
            Self::Count | Self::Ratio => human::digits(value.abs()),
        };
        if value < 0.0 { format!("-{text}") } else { text }
    }

    /// The least step between two labels of a linear axis.
    fn least_step(self) -> f64 {
        if self == Self::Ratio { 1e-3 } else { 1.0 }
    }
}

impl Axis {
    /// An axis from zero to a round value that is not below `most`.
    pub fn linear(quantity: Quantity, most: f64) -> Self {
        let most = most.max(quantity.least_step());
        let step = step(quantity, most);
        Self { quantity, from: 0.0, to: (most / step).ceil() * step, scale: Scale::Linear }
    }

    /// An axis from zero to exactly `to`.
    pub fn exact(quantity: Quantity, to: f64) -> Self {
        Self { quantity, from: 0.0, to: to.max(1.0), scale: Scale::Linear }
    }

    /// A logarithmic axis that covers `least` to `most`, which are above zero, and ends at 1, 2 or 5 times a power of
    /// ten.
    pub fn logarithmic(quantity: Quantity, least: f64, most: f64) -> Self {
        let least = least.max(1e-3);
        let (from, to) = (rounded_down(least), rounded_up(most.max(least)));
        let to = if to > from { to } else { rounded_up(from * 1.01) };
        Self { quantity, from, to, scale: Scale::Logarithmic }
    }

    /// An axis with `names` in order, the first at 0, and half a distance before the first and after the last.
    pub fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<_> = names.map(escaped).collect();
        let to = names.len() as f64 - 0.5;
        Self { quantity: Quantity::Count, from: -0.5, to, scale: Scale::Named(names) }
    }

    /// The position of `value`, from 0 at the start to 1 at the end. Values outside are moved to the nearer end.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Logarithmic => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            Scale::Linear | Scale::Named(_) => (value - self.from) / (self.to - self.from),
        };
        place.clamp(0.0, 1.0)
    }

    /// The values and texts of the labels. Texts are escaped for HTML.
    pub fn labels(&self) -> Vec<(f64, String)> {
        match &self.scale {
            Scale::Linear => {
                let step = step(self.quantity, self.to);
                let unit = human::unit_for(self.to as u64, self.quantity.units());
                let values = (0..=(self.to / step + SLACK) as u64).map(|number| number as f64 * step);
                values.map(|value| (value, in_unit(value, unit))).collect()
            }
            Scale::Logarithmic => self.powers(),
            Scale::Named(names) => {
                names.iter().enumerate().map(|(place, name)| (place as f64, name.clone())).collect()
            }
        }
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
        let within = |value: &f64| *value >= self.from * (1.0 - SLACK) && *value <= self.to * (1.0 + SLACK);
        let unit = |value: f64| human::unit_for(value.round() as u64, self.quantity.units());
        figures.filter(within).map(|value| (value, in_unit(value, unit(value)))).collect()
    }
}

/// A round step of which at most [`STEPS`] reach `most`.
fn step(quantity: Quantity, most: f64) -> f64 {
    rounded_up(most / STEPS).max(quantity.least_step())
}

/// Formats a round value in `unit` without unnecessary decimals.
pub fn in_unit(value: f64, (name, size): Unit) -> String {
    // Removes rounding errors of floating point.
    let scaled = (value / size as f64 * 1e9).round() / 1e9;
    if name.is_empty() { scaled.to_string() } else { format!("{scaled} {name}") }
}

/// The largest of 1, 2, 5, 10, ... that is not above `value`, which is above zero.
pub fn rounded_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [10.0, 5.0, 2.0].into_iter().find(|factor| factor * power <= value * (1.0 + SLACK));
    factor.unwrap_or(1.0) * power
}

/// The smallest of 1, 2, 5, 10, ... that is not below `value`, which is above zero.
pub fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= value * (1.0 - SLACK));
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
        assert_eq!(labels(Axis::linear(Quantity::Ratio, 1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Axis::linear(Quantity::Count, 0.0)), ["0", "1"]);
        assert_eq!(
            labels(Axis::exact(Quantity::Time, 2_100.0)),
            ["0 us", "0.5 us", "1 us", "1.5 us", "2 us"]
        );
        assert_eq!(labels(Axis::logarithmic(Quantity::Ratio, 1.0, 17.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(
            labels(Axis::logarithmic(Quantity::Time, 900.0, 3e7)),
            ["1 us", "10 us", "100 us", "1 ms", "10 ms"]
        );
    }

    #[test]
    fn figures_are_shown_with_three_digits_and_whole_counts_exactly() {
        assert_eq!(Quantity::Time.shown(1_234_567.0), "1.23 ms");
        assert_eq!(Quantity::Rate.shown(98_765_432_100.0), "98.8 Gb/s");
        assert_eq!(Quantity::Count.shown(12_345.0), "12,345");
        assert_eq!(Quantity::Count.shown(2.5), "2.50");
        assert_eq!(Quantity::Ratio.shown(1.0), "1.00");
        assert_eq!(Quantity::Count.shown(0.0), "0");
        assert_eq!(Quantity::Bytes.shown(0.0), "0 B");
        assert_eq!(Quantity::Ratio.shown(-0.123_45), "-0.123");
    }

    #[test]
    fn the_name_of_a_metric_ends_with_its_unit() {
        let names =
            ["fct.all.p99_ns", "goodput.all.bps", "queue.a.1.max_bytes", "slowdown.all.p99", "cnps.total"];
        assert_eq!(
            names.map(Quantity::of_metric),
            [Quantity::Time, Quantity::Rate, Quantity::Bytes, Quantity::Ratio, Quantity::Count]
        );
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

        #[test]
        fn round_figures_enclose_a_value_within_a_factor_of_two_and_a_half(value in 1e-3_f64..1e15) {
            let (below, above) = (rounded_down(value), rounded_up(value));
            prop_assert!(below <= value * 1.000_001 && value <= above * 1.000_001, "{below} {above}");
            prop_assert!(above <= below * 2.500_001, "{below} {above}");
        }
    }
}
