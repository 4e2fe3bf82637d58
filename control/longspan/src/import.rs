//! `longspan import-ns3`.

use crate::cli::ImportNs3Args;
use crate::console;
use crate::failure::Failure;
use config::scenario::{ScenarioFile, load_ns3};
use std::fs;
use std::path::Path;

/// Translates the files, writes the scenario, and checks it. Prints a line for it, and one for each warning.
///
/// # Errors
/// [`Failure::Config`] if a file or the scenario is invalid, [`Failure::Write`].
pub fn run(args: &ImportNs3Args) -> Result<(), Failure> {
    let translated = load_ns3([&args.topology, &args.flows, &args.options])?;
    write(&args.out, |directory| fs::create_dir_all(directory))?;
    let scenario = args.out.join("scenario.toml");
    write(&scenario, |path| fs::write(path, &translated.scenario))?;
    for (name, text) in &translated.lists {
        write(&args.out.join(name), |path| fs::write(path, text))?;
    }
    let more = ScenarioFile::load(&scenario)?.check()?;
    let mut text = format!("{}: OK: scenario, flows: {}\n", scenario.display(), translated.flows);
    for warning in translated.warnings.iter().chain(&more) {
        text += &format!("{warning}\n");
    }
    console::print(&text)
}

fn write(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), Failure> {
    make(path).map_err(|source| Failure::Write { path: path.into(), source, running: true })
}
