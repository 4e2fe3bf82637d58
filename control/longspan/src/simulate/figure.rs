//! Figures, and what those of several seeds say about their mean.

use core::cmp::Ordering;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// A figure. Whole numbers are written without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(transparent)]
pub struct Figure(pub f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// The metrics of a run by name, with units at the end. `docs/simulate.md` explains each.
pub type Metrics = BTreeMap<String, Figure>;

/// A figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median; of an even number, the mean of the two in the middle.
    #[serde(serialize_with = "figure")]
    pub median: f64,
    /// The minimum.
    #[serde(serialize_with = "figure")]
    pub min: f64,
    /// The maximum.
    #[serde(serialize_with = "figure")]
    pub max: f64,
}

fn figure<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Figure(*figure).serialize(serializer)
}

impl Spread {
    /// The spread of the finite ones of `values`; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Self { median, min, max })
    }
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Median, minimum and maximum.
    #[serde(flatten)]
    pub spread: Spread,
    /// The mean.
    pub mean: Figure,
    /// The standard error of the mean; `None` with one seed.
    pub standard_error: Option<Figure>,
    /// The number of seeds.
    pub seeds: usize,
    /// The share of the seeds whose figure has the sign of the mean, or is zero as the mean is.
    pub agree: Figure,
}

impl Estimate {
    /// The estimate from `values`, one of each seed; `None` if there are none, or one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let spread = Spread::of(values.to_vec()).filter(|_| values.iter().all(|value| value.is_finite()))?;
        let seeds = values.len();
        // The rounded mean of equal figures may differ from them.
        let is_constant = spread.min == spread.max;
        let mean = if is_constant { spread.min } else { values.iter().sum::<f64>() / seeds as f64 };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (seeds > 1).then(|| (squares / (seeds - 1) as f64 / seeds as f64).sqrt());
        let sign = |value: f64| value.partial_cmp(&0.0).unwrap_or(Ordering::Equal);
        let agree = values.iter().filter(|value| sign(**value) == sign(mean)).count() as f64 / seeds as f64;
        let (mean, agree, standard_error) = (Figure(mean), Figure(agree), error.map(Figure));
        Some(Self { spread, mean, standard_error, seeds, agree })
    }

    /// The number of seeds with which the standard error would be below `error`, if the figures went on to deviate as
    /// they do; `None` if no number suffices.
    pub fn seeds_for(&self, error: f64) -> Option<u64> {
        let times = self.standard_error?.0 / error;
        let seeds = times * times * self.seeds as f64;
        seeds.is_finite().then(|| (seeds as u64).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_standard_error_of_the_textbook_and_the_share_of_seeds_on_its_side() {
        let ours = Estimate::of(&[-0.4, -0.2, 0.0, 0.2, -0.1]).unwrap();
        assert!((ours.mean.0 + 0.1).abs() < 1e-12 && ours.agree == Figure(0.6), "{ours:?}");
        // The variance is (0.09 + 0.01 + 0.01 + 0.09 + 0) / 4, and its fifth 0.01.
        assert!((ours.standard_error.unwrap().0 - 0.1).abs() < 1e-12, "{ours:?}");
        assert_eq!((ours.seeds, ours.seeds_for(0.0501), ours.seeds_for(0.0)), (5, Some(20), None));
        let residue = Estimate::of(&[-0.1, 0.1]).unwrap();
        assert_eq!(residue.seeds_for(1e-300), None, "more than can be counted");
        assert_eq!(residue.seeds_for(1e-18), Some(u64::MAX));
    }

    #[test]
    fn equal_figures_have_no_error_and_one_has_none_that_is_known() {
        let third = Estimate::of(&[0.1; 3]).unwrap();
        assert_eq!(
            (third.mean, third.standard_error, third.agree),
            (Figure(0.1), Some(Figure(0.0)), Figure(1.0))
        );
        assert_eq!(Estimate::of(&[0.1]).unwrap().standard_error, None);
        assert_eq!((Estimate::of(&[]), Estimate::of(&[0.1, f64::NAN])), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn a_figure_that_was_read_is_written_as_before(value in proptest::num::f64::NORMAL) {
            let written = serde_json::to_string(&Figure(value)).unwrap();
            let read: Figure = serde_json::from_str(&written).unwrap();
            proptest::prop_assert_eq!(read.0.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        let spread = |median, min, max| Some(Spread { median, min, max });
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0]), spread(2.0, 1.0, 4.0));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]), spread(3.0, 1.0, 9.0));
        assert_eq!(Spread::of(vec![f64::NAN]), None);
    }
}
