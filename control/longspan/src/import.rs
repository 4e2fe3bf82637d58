//! `longspan import-ns3`.

use crate::cli::import::ImportNs3Args;
use crate::console;
use crate::failure::Failure;
use config::scenario::{ScenarioFile, load_ns3};
use std::fs;

/// Translates the files, checks the scenario, and writes it if it is valid. Prints a line for it, and one for each
/// warning.
///
/// # Errors
/// [`Failure::Config`] if a file or the scenario is invalid, [`Failure::Write`].
pub fn run(args: &ImportNs3Args) -> Result<(), Failure> {
    let translated = load_ns3([&args.topology, &args.flows, &args.options])?;
    let scenario = args.out.join("scenario.toml");
    let more = ScenarioFile::translated(&translated, &scenario.display().to_string())?.check()?;
    fs::create_dir_all(&args.out).map_err(Failure::unwritten(&args.out))?;
    fs::write(&scenario, &translated.scenario).map_err(Failure::unwritten(&scenario))?;
    for (name, text) in translated.lists.iter() {
        let path = args.out.join(name);
        fs::write(&path, text).map_err(Failure::unwritten(&path))?;
    }
    let mut text = format!("{}: OK: scenario, flows: {}\n", scenario.display(), translated.flows);
    for warning in translated.warnings.iter().chain(&more) {
        text += &format!("{warning}\n");
    }
    console::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_is_not_valid_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let options = "RP_TIMER 300\nEWMA_GAIN 0.004\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nBUFFER_SIZE 32\n\
                       KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n";
        let links = "0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n";
        let mut args = ImportNs3Args {
            topology: file("apart.txt", &format!("4 2 2\n2 3\n{links}")),
            flows: file("flow.txt", "1\n0 1 3 100 1000 2\n"),
            options: file("config.txt", options),
            out: directory.path().join("imported"),
        };
        let refused = run(&args).unwrap_err().to_string();
        assert!(refused.ends_with("no path leads from h1 to h0"), "{refused}");
        assert!(!args.out.exists());
        args.topology = file("joined.txt", &format!("4 2 3\n2 3\n{links}2 3 100Gbps 1us 0\n"));
        run(&args).unwrap();
        assert!(args.out.join("scenario.toml").exists() && args.out.join("flows.csv").exists());
    }
}
