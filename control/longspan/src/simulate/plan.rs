//! The plan of a simulation: each variant, at each point of the sweeps, with each seed.

use super::digest::{self, Build};
use crate::cli::simulate::{SimulateArgs, SweepArg};
use crate::failure::Failure;
use config::Problem;
use config::scenario::{Override, Scenario, ScenarioFile, Variant};
use simulation::{Faults, NodeKind, NodeSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The key of the seed in a scenario.
const SEED: &str = "scenario.seed";

/// A planned run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its name, which is also its directory: variant, point of the sweeps, seed.
    pub name: String,
    /// Its variant, if the scenario has variants.
    pub variant: Option<String>,
    /// Its point of the sweeps, if there are any: `key=value`, separated by commas.
    pub point: Option<String>,
    /// Its parameters from the command line: `--set` and its point of the sweeps.
    pub parameters: BTreeMap<String, String>,
    /// Its seed.
    pub seed: u64,
    /// All values that override those of the file.
    pub overrides: Vec<Override>,
    /// A digest of its inputs.
    pub inputs: String,
    /// A digest of the same without the executable.
    pub settings: String,
    /// Whether a dropped lossless frame need not fail it.
    pub may_drop: bool,
}

/// All runs of a scenario, or those of a shard.
pub struct RunPlan {
    /// The scenario.
    pub file: ScenarioFile,
    /// The title in the first run.
    pub title: Option<String>,
    /// The runs.
    pub runs: Vec<Planned>,
    /// Warnings about the scenario, each once.
    pub warnings: Vec<Problem>,
}

impl RunPlan {
    /// Reads the scenario and builds each run once, so that errors are found before anything runs.
    ///
    /// # Errors
    /// [`Failure::Config`], [`Failure::Usage`].
    pub fn new(args: &SimulateArgs) -> Result<Self, Failure> {
        let file = ScenarioFile::load(&args.scenario)?;
        let mut plan = Self { title: None, runs: Vec::new(), warnings: Vec::new(), file };
        let build = Build::this();
        let points = points(&args.sweep);
        for variant in chosen(&plan.file, &args.only_variant)? {
            for point in &points {
                plan.add(args, variant.as_ref(), point, &build)?;
            }
        }
        plan.check_names()?;
        if let Some(shard) = args.shard {
            let mut indices = 0..;
            plan.runs.retain(|_| indices.next().is_some_and(|index| shard.has(index)));
        }
        Ok(plan)
    }

    /// Adds the seeds of one variant at one point.
    fn add(
        &mut self,
        args: &SimulateArgs,
        variant: Option<&Variant>,
        point: &[Override],
        build: &Build,
    ) -> Result<(), Failure> {
        let mut overrides = variant.map_or_else(Vec::new, |variant| variant.overrides.clone());
        if args.quick {
            overrides.extend_from_slice(&self.file.quick);
        }
        overrides.extend_from_slice(&args.set);
        overrides.extend_from_slice(point);
        let first = match args.seed {
            Some(seed) => seed,
            None => self.build(&overrides)?.seed,
        };
        let parameters = args.set.iter().chain(point).map(|it| (it.key.clone(), it.value.clone()));
        let parameters: BTreeMap<_, _> = parameters.collect();
        let texts: Vec<String> = point.iter().map(ToString::to_string).collect();
        let point = (!texts.is_empty()).then(|| texts.join(","));
        for number in 0..u64::from(args.seeds.get()) {
            let seed = first.checked_add(number).ok_or_else(|| {
                Failure::usage(format!("--seeds {}: the highest seed is {}", args.seeds, u64::MAX))
            })?;
            let mut overrides = overrides.clone();
            overrides.push(Override::new(SEED, seed.to_string()));
            let scenario = self.build(&overrides)?;
            if let Some(name) = with_lanes(&scenario).filter(|_| args.checkpoint.is_some()) {
                return Err(Failure::usage(format!(
                    "--checkpoint: {name} has several lanes, of which no checkpoint can be written; run without \
                     --checkpoint, or set lanes = 1"
                )));
            }
            let variant = variant.map(|variant| variant.name.clone());
            let parts = [variant.clone(), point.as_deref().map(file_name), Some(format!("seed-{seed}"))];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
            self.title = self.title.take().or(scenario.title.clone());
            let (settings, may_drop) = (digest::of_scenario(&scenario), may_drop(&scenario));
            let (inputs, point, parameters) = (build.of_run(&settings), point.clone(), parameters.clone());
            let run =
                Planned { name, variant, point, parameters, seed, overrides, inputs, settings, may_drop };
            self.runs.push(run);
        }
        Ok(())
    }

    fn build(&mut self, overrides: &[Override]) -> Result<Scenario, Failure> {
        let mut scenario = self.file.build(overrides)?;
        for warning in core::mem::take(&mut scenario.warnings) {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(scenario)
    }

    /// Checks that no two runs share a directory.
    fn check_names(&self) -> Result<(), Failure> {
        let mut names = BTreeSet::new();
        match self.runs.iter().find(|run| !names.insert(&run.name)) {
            Some(twice) => Err(Failure::usage(format!("two runs have the name {}", twice.name))),
            None => Ok(()),
        }
    }
}

/// Whether the options or the faults of a link explain a dropped lossless frame.
fn may_drop(scenario: &Scenario) -> bool {
    let has_faults = scenario.network.links.iter().any(|link| link.faults.iter().any(Faults::any));
    scenario.options().tolerate_loss || has_faults
}

/// The name of the first switch with several lanes.
fn with_lanes(scenario: &Scenario) -> Option<&str> {
    let has_lanes = |node: &&NodeSpec| matches!(node.kind, NodeKind::Switch { lanes: 2.., .. });
    scenario.network.nodes.iter().find(has_lanes).map(|node| node.name.as_str())
}

/// The variants to run; a single `None` if the scenario has none.
fn chosen(file: &ScenarioFile, only: &[String]) -> Result<Vec<Option<Variant>>, Failure> {
    if let Some(unknown) = only.iter().find(|name| !file.variants.iter().any(|it| it.name == **name)) {
        let valid: Vec<_> = file.variants.iter().map(|variant| variant.name.as_str()).collect();
        let valid = if valid.is_empty() { "none".into() } else { valid.join(", ") };
        return Err(Failure::usage(format!(
            "--only-variant {unknown}: scenario \"{}\" has no such variant; it has {valid}",
            file.name
        )));
    }
    if file.variants.is_empty() {
        return Ok(vec![None]);
    }
    let wanted = |variant: &&Variant| only.is_empty() || only.contains(&variant.name);
    Ok(file.variants.iter().filter(wanted).cloned().map(Some).collect())
}

/// All combinations of the values of all sweeps, the last sweep changing fastest; one empty combination without
/// sweeps.
fn points(sweeps: &[SweepArg]) -> Vec<Vec<Override>> {
    sweeps.iter().fold(vec![Vec::new()], |points, sweep| {
        let with = |point: &Vec<Override>, value: &String| {
            let mut point = point.clone();
            point.push(Override::new(sweep.key.clone(), value.clone()));
            point
        };
        points.iter().flat_map(|point| sweep.values.iter().map(|value| with(point, value))).collect()
    })
}

/// Makes `text` the name of a directory.
fn file_name(text: &str) -> String {
    let plain = |it: char| it.is_alphanumeric() || "=,.-_+:%".contains(it);
    text.chars().map(|it| if plain(it) { it } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_multiply_and_the_last_one_changes_fastest() {
        let sweeps = ["a=1,2".parse().unwrap(), "b.c=x,y,z".parse().unwrap()];
        let points: Vec<String> = points(&sweeps)
            .iter()
            .map(|point| point.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            .collect();
        assert_eq!(points, ["a=1,b.c=x", "a=1,b.c=y", "a=1,b.c=z", "a=2,b.c=x", "a=2,b.c=y", "a=2,b.c=z"]);
        assert_eq!(super::points(&[]), [Vec::new()]);
    }

    #[test]
    fn a_point_becomes_the_name_of_one_directory() {
        assert_eq!(file_name("traffic.0.load=0.5,x=[\"a/b\"]"), "traffic.0.load=0.5,x=__a_b__");
    }
}
