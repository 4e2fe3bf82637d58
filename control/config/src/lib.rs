//! Configuration: the TOML schema of a gateway, its validation, and the program it yields.
//!
//! [`load`] and [`parse`] read one file that describes one gateway. Everything that is wrong with
//! it is found in one run, as far as one thing does not hide another, and shown with file, line,
//! column, key, the value it got and what would be valid. What they return holds: structure and
//! order were checked by [`switch::program::Program::new`], physics (headroom against distance,
//! pauses against refreshes, thresholds against pools) here.
//!
//! Every key is described in `docs/configuration.md`.

mod bifrost;
mod build;
pub mod cores;
mod defaults;
mod device;
mod diff;
mod emulation;
mod file;
mod gateway;
mod headroom;
mod lateness;
mod lscc;
mod lscc_sum;
mod memory;
mod origin;
mod physics;
mod problem;
mod reader;
mod render;
pub mod runtime;
pub mod scenario;
mod schema;
mod value;
mod watchdog;

pub use diff::{Change, diff, not_live, shared_that_fits};
pub use file::{FileError, read_text};
pub use gateway::{Gateway, Link};
pub use headroom::{HeadroomSum, HeadroomTerms, response_quanta};
pub use lscc_sum::{LsccSum, Protection, StepBounds};
pub use memory::{MemorySum, OnLink};
pub use problem::{ConfigError, Location, Problem, ProblemKind, Severity};
pub use render::{render, render_without_keys};

use std::path::Path;
use std::sync::Arc;

use switch::program::Program;
use toml::de::DeTable;

use build::Built;
use reader::{Place, Problems, Section};
use schema::Document;

/// Reads the gateway that the file at `path` describes, and the key files that it names, whose
/// paths begin in the directory of the file.
///
/// # Errors
/// [`ConfigError::Unreadable`] where the file is not there, is no regular file, has more than 4 MiB or is no UTF-8;
/// [`ConfigError::Invalid`] with everything that is wrong with it.
pub fn load(path: impl AsRef<Path>) -> Result<Gateway, ConfigError> {
    let path = path.as_ref();
    let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
    let text = read_text(path).map_err(unreadable)?;
    gateway(&text, &path.display().to_string(), path.parent())
}

/// Reads the gateway that `text` describes. `name` stands for the file in messages, and without
/// its directory and ending for the gateway where `text` has no name for it. No file is read, so a
/// key must be in the text.
///
/// # Errors
/// [`ConfigError::Invalid`] with everything that is wrong with it.
pub fn parse(text: &str, name: &str) -> Result<Gateway, ConfigError> {
    gateway(text, name, None)
}

fn gateway(text: &str, name: &str, directory: Option<&Path>) -> Result<Gateway, ConfigError> {
    let problems = Problems::new(name, text);
    let read = read(text, name, directory, &problems);
    let valid = !problems.has_errors();
    let noted = problems.into_sorted();
    match read {
        Some((name, built, Ok(program))) if valid => Ok(Gateway {
            name,
            seed_stated: built.seed_stated,
            program: Arc::new(program),
            links: built.links,
            cell_occupancy: built.cell_occupancy,
            runtime: built.runtime,
            warnings: noted,
        }),
        _ => Err(ConfigError::Invalid { problems: noted }),
    }
}

type Read = (String, Built, Result<Program, ()>);

/// Reads, builds and checks; what is wrong is in `problems`.
fn read(text: &str, file: &str, directory: Option<&Path>, problems: &Problems<'_>) -> Option<Read> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for (kind, span) in errors.iter().map(problem::syntax) {
        problems.error(&Place { key: String::new(), offset: span.start }, kind);
    }
    if problems.has_errors() {
        return None;
    }
    let mut section = Section::document(table.get_ref(), problems);
    let document = Document::read(&mut section);
    section.finish();
    if problems.has_errors() {
        return None;
    }
    let name = document.name.as_ref().map_or_else(|| stem(file), |name| name.value.0.clone());
    let built = build::build(&document, &name, directory, problems)?;
    origin::check(&built, &document, problems);
    physics::check(&built, &document, problems);
    cores::check(&built.settings, &built.runtime, &document, problems);
    let program = Program::new(built.settings.clone()).map_err(|error| {
        // The checks above miss only what depends on several ports at once.
        if built.forwarding_resolved {
            problems.error(&origin::place(&error, &document), error);
        }
    });
    Some((name, built, program))
}

fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if stem.is_empty() { "gateway".into() } else { value::Name::from_any(stem).0 }
}
