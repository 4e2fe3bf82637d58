//! Scenarios of the simulator: a network, the traffic of its hosts, and the variants and claims to compare.
//!
//! A [`ScenarioFile`] is a TOML file with variants and claims. [`ScenarioFile::build`] applies overrides and returns
//! a [`Scenario`] that is ready to run. It has checked everything, down to the configuration of each switch.
//!
//! `docs/scenarios.md` describes every key.

mod beside;
mod build;
mod collective;
#[cfg(test)]
#[path = "tests/every_key.rs"]
mod every_key;
mod host;
mod import;
mod layers;
mod model;
mod names;
mod network;
mod node;
mod overlay;
mod paths;
mod recorded;
mod reroute;
mod run;
mod switches;
mod topology;
mod traffic;
mod tree;
mod uses;
mod words;

pub use import::{Ns3File, Translated, load_ns3, translate_ns3};
pub(crate) use layers::EcnDecl;
pub use model::{Collected, Sampling, Scenario};
pub use overlay::{Override, ParseOverrideError};
pub use recorded::RecordedEvents;
pub use run::{Claim, Paper};
pub use words::{Better, Source};

use std::path::Path;

use toml::de::DeTable;

use crate::file::read_text;
use crate::load;
use crate::notes::Problems;
use crate::place::{Location, Place};
use crate::problem::{ConfigError, Problem, ProblemKind, Severity};
use crate::render::in_markdown;
use crate::section::Section;
use crate::table::{Key, Table};
use crate::value::Name;
use beside::Beside;
use overlay::Overlay;

/// A scenario as its file describes it.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The name of the file without its ending.
    pub name: String,
    /// The variants to compare, in the order of the file; empty if there is only one way to run the scenario.
    pub variants: Vec<Variant>,
    /// Its claims, in the order of the file.
    pub claims: Vec<Claim>,
    /// The overrides of a quick run.
    pub quick: Vec<Override>,
    file: String,
    text: String,
    beside: Beside,
}

/// A way to run a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The overrides that distinguish it.
    pub overrides: Vec<Override>,
}

impl ScenarioFile {
    /// Reads the scenario in the file at `path`. Files that it names are read when it is built; their paths begin in
    /// its directory.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] if the file does not exist, is not a regular file, is longer than 4 MiB or is not
    /// UTF-8; [`ConfigError::Invalid`] if it is not TOML, or if its variants or claims are not valid.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
        let text = read_text(path).map_err(unreadable)?;
        let beside = path.parent().map_or(Beside::Nowhere, |directory| Beside::Directory(directory.into()));
        Self::read(text, path.display().to_string(), beside)
    }

    /// Reads the scenario in `text`. `name` stands for the file in messages; without directory and ending it is also
    /// the name of the scenario. No file is read.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`ScenarioFile::load`].
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        Self::read(text.into(), name.into(), Beside::Nowhere)
    }

    /// Reads a translated scenario, whose files need not be written. `name` stands for the file as in
    /// [`ScenarioFile::parse`].
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`ScenarioFile::load`].
    pub fn translated(from: &Translated, name: &str) -> Result<Self, ConfigError> {
        Self::read(from.scenario.clone(), name.into(), Beside::Texts(from.lists.clone()))
    }

    fn read(text: String, file: String, beside: Beside) -> Result<Self, ConfigError> {
        let problems = Problems::new(&file, &text);
        let parts = load::table(&text, &problems).map(|table| {
            let mut section = Section::document(&table, &problems);
            Parts::read(&mut section, &|offset| problems.locate(&Place { offset, ..Place::default() }))
        });
        let (Parts { variants, claims, quick }, _) = problems.finish(parts)?;
        Ok(Self { name: load::stem(&file), variants, claims, quick, file, text, beside })
    }

    /// Whether `text` describes a scenario and not a gateway, which has no `[topology]`.
    pub fn is_scenario(text: &str) -> bool {
        let (table, _) = DeTable::parse_recoverable(text);
        table.get_ref().contains_key("topology")
    }

    /// Builds the scenario with `overrides` applied to the file. The last override of a key wins.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all problems if the scenario is not valid. Problems of an override are reported
    /// at the override.
    pub fn build(&self, overrides: &[Override]) -> Result<Scenario, ConfigError> {
        let mut scenario = self.build_one(overrides)?;
        if !self.variants.is_empty() {
            scenario.warnings.retain(|problem| !problem.kind.is_of_all_variants());
        }
        Ok(scenario)
    }

    /// The same, with warnings of what only other variants read.
    fn build_one(&self, overrides: &[Override]) -> Result<Scenario, ConfigError> {
        let overlay = Overlay::new(self.text.len(), overrides);
        let problems = Problems::with_additions(&self.file, &self.text, overlay.additions());
        let built = load::table(&self.text, &problems).and_then(|mut table| {
            overlay.apply(&mut table, &problems);
            build::build(&table, (&self.name, &self.beside), &problems)
        });
        let (scenario, warnings) = problems.finish(built)?;
        Ok(Scenario { warnings, ..scenario })
    }

    /// Builds all variants, with and without the overrides of a quick run, and returns all warnings.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all problems of all variants if one of them is not valid.
    pub fn check(&self) -> Result<Vec<Problem>, ConfigError> {
        let plain = self.variants.is_empty().then(Vec::new);
        let variants = self.variants.iter().map(|variant| &variant.overrides).chain(&plain);
        let whole = variants.map(|overrides| self.problems(overrides)).collect::<Result<Vec<_>, _>>()?;
        let variants = self.variants.iter().map(|variant| &variant.overrides).chain(&plain);
        let quick = variants.map(|overrides| self.problems(&[overrides.as_slice(), &self.quick].concat()));
        let mut quick = quick.collect::<Result<Vec<_>, _>>()?;
        // A quick run ends early on purpose.
        quick.iter_mut().for_each(|it| it.retain(|it| !matches!(it.kind, ProblemKind::AfterUntil { .. })));
        let is_in_all = |problem: &Problem| whole.iter().chain(&quick).all(|it| it.contains(problem));
        let mut found: Vec<Problem> = Vec::new();
        for problem in whole.iter().chain(&quick).flatten() {
            if !found.contains(problem) && (!problem.kind.is_of_all_variants() || is_in_all(problem)) {
                found.push(problem.clone());
            }
        }
        if found.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(ConfigError::Invalid { problems: found });
        }
        Ok(found)
    }

    /// The problems of a run with `overrides`.
    fn problems(&self, overrides: &[Override]) -> Result<Vec<Problem>, ConfigError> {
        match self.build_one(overrides) {
            Ok(scenario) => Ok(scenario.warnings),
            Err(ConfigError::Invalid { problems }) => Ok(problems),
            Err(unreadable) => Err(unreadable),
        }
    }
}

/// The reference of `docs/scenarios.md`, in the form of [`crate::reference`].
pub fn reference() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    describe(&mut tables);
    in_markdown(tables, false)
}

/// Adds the keys of all tables of a scenario to `found`.
fn describe(found: &mut Vec<(String, &'static [Key])>) {
    run::RunDecl::describe("scenario", found);
    topology::describe(found);
    network::NetworkDecl::describe("network", found);
    host::HostDecl::describe("host", found);
    layers::EcnDecl::describe("ecn", found);
    node::NodeDecl::describe("node", found);
    traffic::TrafficDecl::describe("traffic", found);
    collective::CollectiveDecl::describe("collective", found);
    run::SamplingDecl::describe("sampling", found);
    run::ClaimDecl::describe("claim", found);
}

/// The ways to run a scenario, and its claims.
struct Parts {
    variants: Vec<Variant>,
    claims: Vec<Claim>,
    quick: Vec<Override>,
}

impl Parts {
    fn read(document: &mut Section<'_, '_>, locate: &impl Fn(usize) -> Location) -> Self {
        let leaves = |section: &mut Section<'_, '_>| {
            let mut found = Vec::new();
            for (key, _, value) in section.rest() {
                Override::leaves(key, value, locate, &mut found);
            }
            found
        };
        let variants = document.tables("variant", |variant| {
            let name = variant.required::<Name>("name", "name = \"pfc\"");
            let overrides = variant.table("set", leaves).unwrap_or_default();
            Some((name?, overrides))
        });
        let named: Vec<_> = variants.into_iter().flatten().flatten().collect();
        let called = named.iter().map(|(at, _)| (&at.place, format!("a variant called \"{}\"", at.value.0)));
        document.problems.refuse_second(called);
        let named = named.into_iter().map(|(name, overrides)| Variant { name: name.value.0, overrides });
        let variants: Vec<_> = named.collect();
        let names = variants.iter().map(|variant| variant.name.as_str());
        let claims = document.tables("claim", |claim| run::claim(claim, names.clone()));
        let quick = document.table("quick", leaves).unwrap_or_default();
        Self { variants, claims: claims.into_iter().flatten().flatten().collect(), quick }
    }
}
