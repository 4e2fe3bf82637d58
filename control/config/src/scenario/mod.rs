//! Scenarios: a network, what its hosts send, and what is compared.
//!
//! A [`ScenarioFile`] is one TOML file with its variants and claims. [`ScenarioFile::build`] makes of it, with values
//! put over those of the file, a [`Scenario`] that is ready to run: whatever it asks for was checked, down to the
//! configuration of each switch.
//!
//! Every key is described in `docs/scenarios.md`.

mod build;
mod host;
mod names;
mod network;
mod overlay;
mod run;
mod switches;
mod topology;
mod traffic;
mod tree;
mod words;

pub use overlay::{Override, ParseOverrideError};
pub use run::{Claim, Paper};
pub use words::Better;

use std::path::{Path, PathBuf};

use simulation::topology::Topology;
use simulation::workload::{Flows, Workload};
use simulation::{NetworkSpec, NodeId, Options};
use toml::de::DeTable;
use units::{Interval, Nanos, PortId};

use crate::problem::{self, ConfigError, Location, Problem, ProblemKind, Severity};
use crate::reader::{Place, Problems, Section};
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

/// A scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of its file without its ending.
    pub name: String,
    /// What it is about, if it says so.
    pub title: Option<String>,
    /// Of every random choice.
    pub seed: u64,
    /// Flows that would start later are not started.
    pub until: Nanos,
    /// It ends here, whatever is under way.
    pub limit: Nanos,
    /// A network in which nothing arrives for so long is stuck.
    pub stall: Interval,
    /// Whether switches may drop lossless frames.
    pub tolerate_loss: bool,
    /// What is simulated.
    pub network: NetworkSpec,
    /// The names of its nodes, ports and links, in the order of `network`, and which links are long.
    pub topology: Topology,
    /// The names of the groups of flows.
    pub groups: Vec<String>,
    /// What is sent.
    pub traffic: Workload,
    /// What is recorded.
    pub sampling: Sampling,
    /// The switches whose frames are captured.
    pub taps: Vec<NodeId>,
    /// What holds, and may surprise.
    pub warnings: Vec<Problem>,
    /// The switches by name, each with its whole configuration, in the order of nodes.
    pub switches: Vec<(String, String)>,
}

/// What is recorded of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// How often, to begin with.
    pub interval: Interval,
    /// Rows of a series at most; beyond, the interval is doubled.
    pub rows: u32,
    /// The ports of switches.
    pub ports: Vec<(NodeId, PortId)>,
    /// The groups whose flows are recorded one by one.
    pub groups: Vec<u16>,
}

impl Scenario {
    /// Its flows, in the order of their start, with the random choices of its seed.
    pub fn flows(&self) -> Flows {
        self.traffic.flows(self.seed, self.until)
    }

    /// How it is to be run.
    pub fn options(&self) -> Options {
        Options {
            seed: self.seed,
            until: self.until,
            limit: self.limit,
            sampling: Some(self.sampling.interval),
            taps: self.taps.clone(),
            stall: self.stall,
            tolerate_loss: self.tolerate_loss,
        }
    }
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
        let text = crate::read_text(path).map_err(unreadable)?;
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
        let parts = table(&text, &problems).map(|table| {
            let mut section = Section::document(&table, &problems);
            Parts::read(&mut section, &|offset| Location::new(&file, &text, offset))
        });
        let valid = !problems.has_errors();
        let noted = problems.into_sorted();
        match parts {
            Some(Parts { variants, claims, quick }) if valid => {
                Ok(Self { name: crate::stem(&file), variants, claims, quick, file, text, directory })
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
        let built = table(&self.text, &problems).and_then(|mut table| {
            overlay.apply(&mut table, &problems);
            build::build(&table, self, &problems)
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

/// The document; `None` where it is no TOML, which has been said.
fn table<'i>(text: &'i str, problems: &Problems<'_>) -> Option<DeTable<'i>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for (kind, span) in errors.iter().map(problem::syntax) {
        problems.error(&Place { key: String::new(), offset: span.start }, kind);
    }
    (!problems.has_errors()).then(|| table.into_inner())
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
        let mut known: Vec<Variant> = Vec::new();
        for (name, overrides) in variants.into_iter().flatten().flatten() {
            if known.iter().any(|variant| variant.name == name.value.0) {
                let what = format!("a variant called \"{}\"", name.value.0);
                let line = document.problems.line(&document.place_of_key("variant"));
                document.problems.error(&name.place, ProblemKind::Twice { what, line });
            }
            known.push(Variant { name: name.value.0, overrides });
        }
        let names: Vec<String> = known.iter().map(|variant| variant.name.clone()).collect();
        let claims = document.tables("claim", |claim| run::claim(claim, &names));
        let quick = document.table("quick", leaves).unwrap_or_default();
        Self { variants: known, claims: claims.into_iter().flatten().flatten().collect(), quick }
    }
}

/// Skips what [`Parts`] has read.
fn skip_parts(document: &mut Section<'_, '_>) {
    let skip = |section: &mut Section<'_, '_>| drop(section.rest());
    document.tables("variant", skip);
    document.tables("claim", skip);
    document.table("quick", skip);
}
