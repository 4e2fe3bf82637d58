//! Any three texts as the files of the ns-3 model: translated or refused, never a panic; a translation is TOML that is
//! read as a scenario.

#![no_main]

use config::scenario::{Ns3File, ScenarioFile, translate_ns3};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Lines of three dashes are between the files.
    let mut texts = text.splitn(3, "---\n");
    let files = ["topology.txt", "flow.txt", "config.txt"];
    let files = files.map(|name| Ns3File { name, text: texts.next().unwrap_or_default() });
    match translate_ns3(files) {
        Ok(translated) => {
            let scenario = ScenarioFile::parse(&translated.scenario, "scenario.toml");
            scenario.expect("a translation is a scenario");
            let rows: usize = translated.lists.iter().map(|(_, list)| list.lines().count() - 1).sum();
            assert_eq!(rows, translated.flows);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
