//! The scenarios that we ship, and what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::scenario::{Override, ScenarioFile};
use units::Nanos;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenarios")
}

#[test]
fn every_scenario_that_we_ship_is_valid_in_all_its_variants_and_gives_no_warning() {
    let mut count = 0;
    for entry in fs::read_dir(shipped()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let warnings = file.check().unwrap_or_else(|error| panic!("{error}"));
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{}", warnings.join("\n"));
        count += 1;
    }
    assert!(count >= 2, "found {count} files");
}

#[test]
fn an_override_goes_before_the_file_and_the_last_of_two_holds() {
    let file = ScenarioFile::load(shipped().join("incast.toml")).unwrap();
    let set = |texts: &[&str]| {
        let overrides: Vec<Override> = texts.iter().map(|text| text.parse().unwrap()).collect();
        file.build(&overrides).unwrap_or_else(|error| panic!("{error}"))
    };
    assert_eq!(set(&[]).topology.hosts().count(), 17);
    assert_eq!(set(&["topology.senders=4"]).topology.hosts().count(), 5);
    let twice = set(&["scenario.until=3ms", "traffic.incast.size=2kB", "scenario.until=2ms"]);
    assert_eq!(twice.until, Nanos(2_000_000));
    assert!(twice.flows().all(|flow| flow.bytes == Some(2_000)));
}
