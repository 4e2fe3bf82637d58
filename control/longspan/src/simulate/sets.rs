//! Sets of runs that differ only in their seeds.

use crate::simulate::figure::Spread;
use crate::simulate::summary::{RunSummary, Summary};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};

/// Runs of one variant with the same parameters, by seed.
#[derive(Clone, Debug)]
pub struct Set<'a> {
    /// Its variant; the scenario if that has no variants.
    pub variant: &'a str,
    /// The parameters from the command line.
    pub parameters: &'a BTreeMap<String, String>,
    /// The variant, and the parameters that are swept.
    pub label: String,
    /// Its runs.
    pub runs: Vec<&'a RunSummary>,
}

/// The sets of an experiment, in the order of their first runs.
pub fn of(summary: &Summary) -> Vec<Set<'_>> {
    let mut runs: IndexMap<_, Vec<_>> = IndexMap::new();
    for run in &summary.runs {
        let variant = run.variant.as_deref().unwrap_or(&summary.scenario);
        runs.entry((variant, &run.parameters)).or_default().push(run);
    }
    let set = |((variant, parameters), runs)| Set { variant, parameters, label: String::new(), runs };
    let mut sets: Vec<_> = runs.into_iter().map(set).collect();
    let swept = swept(&sets);
    for set in &mut sets {
        set.label = set.label(swept.iter().copied());
    }
    sets
}

/// The parameters that take more than one value.
pub fn swept<'a>(sets: &[Set<'a>]) -> Vec<&'a str> {
    let keys: BTreeSet<_> = sets.iter().flat_map(|set| set.parameters.keys()).collect();
    let differs =
        |key: &&String| sets.iter().any(|set| set.parameters.get(*key) != sets[0].parameters.get(*key));
    keys.into_iter().filter(differs).map(String::as_str).collect()
}

impl Set<'_> {
    /// The variant, and the parameters with these `keys`.
    pub fn label<'k>(&self, keys: impl Iterator<Item = &'k str>) -> String {
        let parameters = keys.filter_map(|key| Some((key, self.parameters.get(key)?)));
        parameters.fold(self.variant.to_owned(), |label, (key, value)| format!("{label} {key}={value}"))
    }

    /// A metric over the seeds; `None` if no run has it.
    pub fn metric(&self, name: &str) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(|run| run.metrics.get(name)).map(|figure| figure.0).collect())
    }
}
