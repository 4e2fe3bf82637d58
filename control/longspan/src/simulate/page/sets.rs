//! Runs that differ in their seed only, taken together.

use super::input::{Experiment, Run};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs of one variant with one setting of the parameters, by seed.
#[derive(Clone, Debug)]
pub struct Set<'a> {
    /// Its variant, or the scenario where that has none.
    pub variant: &'a str,
    /// What the command line set.
    pub parameters: &'a BTreeMap<String, Value>,
    /// What is unlike in other sets: the variant, and the parameters that are swept.
    pub label: String,
    /// Its runs.
    pub runs: Vec<&'a Run>,
}

/// A figure over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The median; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The most.
    pub max: f64,
}

/// The sets of an experiment, in the order of their first runs.
pub fn of(experiment: &Experiment) -> Vec<Set<'_>> {
    let mut sets: Vec<Set<'_>> = Vec::new();
    for run in &experiment.runs {
        let variant = run.variant.as_deref().unwrap_or(&experiment.scenario);
        let same = |set: &&mut Set<'_>| set.variant == variant && *set.parameters == run.parameters;
        match sets.iter_mut().find(same) {
            Some(set) => set.runs.push(run),
            None => {
                sets.push(Set { variant, parameters: &run.parameters, label: String::new(), runs: vec![run] })
            }
        }
    }
    let swept = swept(&sets);
    for set in &mut sets {
        set.label = label(set, &swept);
    }
    sets
}

/// The parameters that take more than one value.
pub fn swept<'a>(sets: &[Set<'a>]) -> Vec<&'a str> {
    let mut keys: Vec<_> = sets.iter().flat_map(|set| set.parameters.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    let differs =
        |key: &&str| sets.iter().any(|set| set.parameters.get(*key) != sets[0].parameters.get(*key));
    keys.into_iter().filter(differs).collect()
}

/// A parameter's value as it was written.
pub fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn label(set: &Set<'_>, swept: &[&str]) -> String {
    let parameters = swept.iter().filter_map(|key| Some((key, set.parameters.get(*key)?)));
    parameters.fold(set.variant.to_owned(), |label, (key, value)| format!("{label} {key}={}", said(value)))
}

impl Set<'_> {
    /// A metric over the seeds; nothing where no run has it.
    pub fn metric(&self, name: &str) -> Option<Spread> {
        let values = self.runs.iter().filter_map(|run| run.metrics.get(name).copied().flatten());
        Spread::of(values.collect())
    }
}

impl Spread {
    /// The spread of `values`; nothing where there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Self { min: first, median, max: last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 4.0 }));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]), Some(Spread { min: 1.0, median: 3.0, max: 9.0 }));
        assert_eq!(Spread::of(vec![f64::NAN]), None);
    }
}
