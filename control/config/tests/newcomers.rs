//! Twenty mistakes of people who write their first configuration, and what is said of each. The line at fault of each
//! `tests/newcomers/NAME.toml` ends with a comment, and all messages stand beside it in `NAME.txt`. To write them anew
//! after a deliberate change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::scenario::ScenarioFile;
use config::{ConfigError, Problem};

/// The problems of a gateway or a scenario, as `longspan check` finds them.
fn problems(path: &Path, text: &str) -> Vec<Problem> {
    let found = if ScenarioFile::is_scenario(text) {
        ScenarioFile::load(path).and_then(|file| file.check())
    } else {
        config::load(path).map(|gateway| gateway.warnings)
    };
    match found {
        Err(ConfigError::Invalid { problems }) => problems,
        found => found.unwrap(),
    }
}

#[test]
fn every_mistake_of_a_newcomer_is_named_at_its_line() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/newcomers");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    assert_eq!(files.len(), 20);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = problems(&path, &text);
        let said: String =
            found.iter().map(|it| format!("{it}\n").replace(path.to_str().unwrap(), name)).collect();
        let golden = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&golden).unwrap_or_default(), "of {name}");
        let line = text.lines().position(|line| line.ends_with("# the fault")).unwrap() + 1;
        assert!(
            found.iter().any(|it| it.location.line == line),
            "{name} is told nothing of line {line}:\n{said}"
        );
    }
}
