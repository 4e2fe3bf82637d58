//! Scenarios: a network, what its hosts send, and what is compared.
//!
//! A [`ScenarioFile`] is one TOML file with its variants and claims. [`ScenarioFile::build`] makes of it, with values
//! put over those of the file, a [`Scenario`] that is ready to run: whatever it asks for was checked, down to the
//! configuration of each switch.
//!
//! Every key is described in `docs/scenarios.md`.

mod build;
mod host;
mod model;
mod names;
mod network;
mod node;
mod overlay;
mod run;
mod switches;
mod topology;
mod traffic;
mod tree;
mod wishes;
mod words;

pub use model::{Sampling, Scenario};
pub use overlay::{Override, ParseOverrideError};
pub use run::{Claim, Paper};
pub use words::Better;

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::file::read_text;
use crate::load;
use crate::notes::Problems;
use crate::place::Location;
use crate::problem::{ConfigError, Problem, Severity};
use crate::render::in_markdown;
use crate::section::Section;
use crate::table::Table;
use crate::value::Name;
use overlay::Overlay;

/// A scenario, as it is written.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The name of the file without its ending.
    pub name: String,
    /// What is compared, in the order of the file; none where there is only one way to run it.
    pub variants: Vec<Variant>,
    /// What it claims, in the order of the file.
    pub claims: Vec<Claim>,
    /// What makes it quick.
    pub quick: Vec<Override>,
    file: String,
    text: String,
    directory: Option<PathBuf>,
}

/// One of the ways to run a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What is different.
    pub overrides: Vec<Override>,
}

impl ScenarioFile {
    /// Reads the scenario that the file at `path` describes. Files that it names are read when it is built; their
    /// paths begin in its directory.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] where the file is not there, is no regular file, has more than 4 MiB or is no
    /// UTF-8; [`ConfigError::Invalid`] where it is no TOML, or its variants and claims do not hold.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
        let text = read_text(path).map_err(unreadable)?;
        Self::read(text, path.display().to_string(), path.parent().map(Into::into))
    }

    /// Reads the scenario that `text` describes. `name` stands for the file in messages, and without its directory
    /// and ending for the scenario. No file is read.
    ///
    /// # Errors
    /// As [`ScenarioFile::load`].
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        Self::read(text.into(), name.into(), None)
    }

    fn read(text: String, file: String, directory: Option<PathBuf>) -> Result<Self, ConfigError> {
        let problems = Problems::new(&file, &text);
        let parts = load::table(&text, &problems).map(|table| {
            let mut section = Section::document(&table, &problems);
            Parts::read(&mut section, &|offset| Location::new(&file, &text, offset))
        });
        let valid = !problems.has_errors();
        let noted = problems.into_sorted();
        match parts {
            Some(Parts { variants, claims, quick }) if valid => {
                Ok(Self { name: load::stem(&file), variants, claims, quick, file, text, directory })
            }
            _ => Err(ConfigError::Invalid { problems: noted }),
        }
    }

    /// Whether the file, as it is, describes a scenario: a gateway's file has no `[topology]`.
    pub fn is_scenario(text: &str) -> bool {
        let (table, _) = DeTable::parse_recoverable(text);
        table.get_ref().contains_key("topology")
    }

    /// The scenario with `overrides` put over the values of the file; of two for a key the later one holds.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with everything that is wrong with it. What is wrong with an override is said of it.
    pub fn build(&self, overrides: &[Override]) -> Result<Scenario, ConfigError> {
        let overlay = Overlay::new(self.text.len(), overrides);
        let problems = Problems::with_additions(&self.file, &self.text, overlay.additions());
        let built = load::table(&self.text, &problems).and_then(|mut table| {
            overlay.apply(&mut table, &problems);
            build::build(&table, (&self.name, self.directory.as_deref()), &problems)
        });
        let valid = !problems.has_errors();
        let noted = problems.into_sorted();
        match built {
            Some(scenario) if valid => Ok(Scenario { warnings: noted, ..scenario }),
            _ => Err(ConfigError::Invalid { problems: noted }),
        }
    }

    /// Builds it in each of its ways, quick and not, and gives back what may surprise in any of them.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with everything that is wrong with any of them.
    pub fn check(&self) -> Result<Vec<Problem>, ConfigError> {
        let mut found: Vec<Problem> = Vec::new();
        let plain = Variant { name: String::new(), overrides: Vec::new() };
        for variant in if self.variants.is_empty() { std::slice::from_ref(&plain) } else { &self.variants } {
            let quick = [variant.overrides.as_slice(), &self.quick].concat();
            for overrides in [&variant.overrides, &quick] {
                let problems = match self.build(overrides) {
                    Ok(scenario) => scenario.warnings,
                    Err(ConfigError::Invalid { problems }) => problems,
                    Err(unreadable) => return Err(unreadable),
                };
                let new: Vec<_> = problems.into_iter().filter(|problem| !found.contains(problem)).collect();
                found.extend(new);
            }
        }
        if found.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(ConfigError::Invalid { problems: found });
        }
        Ok(found)
    }
}

/// The keys of each table of a scenario, as those of [`crate::reference`]. `docs/scenarios.md` holds them.
pub fn reference() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    run::RunDecl::describe("scenario", &mut tables);
    topology::describe(&mut tables);
    network::NetworkDecl::describe("network", &mut tables);
    host::HostDecl::describe("host", &mut tables);
    wishes::EcnDecl::describe("ecn", &mut tables);
    node::NodeDecl::describe("node", &mut tables);
    traffic::TrafficDecl::describe("traffic", &mut tables);
    run::SamplingDecl::describe("sampling", &mut tables);
    run::ClaimDecl::describe("claim", &mut tables);
    in_markdown(tables, false)
}

/// What is there to be run, beside the scenario itself.
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
        let variants: Vec<_> = variants.into_iter().flatten().flatten().collect();
        let called =
            variants.iter().map(|(at, _)| (&at.place, format!("a variant called \"{}\"", at.value.0)));
        document.problems.refuse_second(called);
        let variants =
            variants.into_iter().map(|(name, overrides)| Variant { name: name.value.0, overrides });
        let known: Vec<Variant> = variants.collect();
        let names: Vec<String> = known.iter().map(|variant| variant.name.clone()).collect();
        let claims = document.tables("claim", |claim| run::claim(claim, &names));
        let quick = document.table("quick", leaves).unwrap_or_default();
        Self { variants: known, claims: claims.into_iter().flatten().flatten().collect(), quick }
    }
}
