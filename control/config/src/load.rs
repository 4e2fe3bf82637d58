//! Reads a file, builds its gateway and checks it.

use std::path::Path;
use std::sync::Arc;

use switch::program::Program;
use toml::de::DeTable;

use crate::build;
use crate::file::read_text;
use crate::gateway::Gateway;
use crate::keys::document::Document;
use crate::link_delay;
use crate::notes::Problems;
use crate::physics;
use crate::place::Place;
use crate::problem::{self, ConfigError};
use crate::refused;
use crate::section::Section;
use crate::value::Name;

/// Reads the gateway in the file at `path`, and the key files that it names. Their paths begin in the directory of
/// the file.
///
/// # Errors
/// [`ConfigError::Unreadable`] if the file does not exist, is not a regular file, is longer than 4 MiB or is not
/// UTF-8; [`ConfigError::Invalid`] with all problems if it is not valid.
pub fn load(path: impl AsRef<Path>) -> Result<Gateway, ConfigError> {
    let path = path.as_ref();
    let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
    let text = read_text(path).map_err(unreadable)?;
    gateway(&text, &path.display().to_string(), path.parent())
}

/// Reads the gateway in `text`. `name` stands for the file in messages; without directory and ending it is also the
/// default name of the gateway. No file is read, so keys must be in the text.
///
/// # Errors
/// [`ConfigError::Invalid`] with all problems if the text is not valid.
pub fn parse(text: &str, name: &str) -> Result<Gateway, ConfigError> {
    gateway(text, name, None)
}

/// Reads the gateway in `text`, whose key files begin in `directory`.
pub(crate) fn gateway(text: &str, name: &str, directory: Option<&Path>) -> Result<Gateway, ConfigError> {
    let problems = Problems::new(name, text);
    let gateway = read(text, name, directory, &problems);
    let (gateway, warnings) = problems.finish(gateway)?;
    Ok(Gateway { warnings, ..gateway })
}

/// Reads, builds and checks a gateway, and notes its problems.
fn read(text: &str, file: &str, directory: Option<&Path>, problems: &Problems<'_>) -> Option<Gateway> {
    let table = table(text, problems)?;
    let mut section = Section::document(&table, problems);
    let document = Document::read_whole(&mut section);
    section.finish();
    if problems.has_errors() {
        return None;
    }
    let name = document.gateway().name.as_ref().map_or_else(|| stem(file), |name| name.value.0.clone());
    let built = build::build(&document, &name, directory, problems)?;
    refused::check(&built, &document, problems);
    physics::check(&built, &document, problems);
    let program = Program::new(built.settings).map_err(|error| {
        // The checks above miss only errors that depend on several ports at once.
        if built.forwarding_resolved {
            refused::note(error, &document, problems);
        }
    });
    let program = program.ok()?;
    refused::lanes(&program, built.runtime.dpdk.lanes, &document, problems);
    let gateway = Gateway {
        name,
        seed_stated: built.seed_stated,
        program: Arc::new(program),
        links: built.links,
        cell_occupancy: built.cell_occupancy,
        runtime: built.runtime,
        warnings: Vec::new(),
    };
    link_delay::check(&gateway, document.ports(), problems);
    Some(gateway)
}

/// Parses a document. Returns `None` and notes the errors if it is not TOML.
pub(crate) fn table<'i>(text: &'i str, problems: &Problems<'_>) -> Option<DeTable<'i>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for (kind, span) in errors.iter().map(problem::syntax) {
        problems.error(&Place { offset: span.start, ..Place::default() }, kind);
    }
    (!problems.has_errors()).then(|| table.into_inner())
}

/// The name of a file without its directory and ending, as a valid name.
pub(crate) fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if stem.is_empty() { "gateway".into() } else { Name::from_any(stem).0 }
}
