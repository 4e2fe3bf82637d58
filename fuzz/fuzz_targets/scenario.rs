//! Any text as a scenario: read and built, or refused, never a panic; what is built has flows that come in order,
//! and switches whose configurations are read again as the same.

#![no_main]

use config::scenario::ScenarioFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let built = ScenarioFile::parse(text, "fuzz.toml").and_then(|file| {
        file.check()?;
        let overrides = file.variants.first().map_or(&[][..], |variant| &variant.overrides);
        file.build(overrides)
    });
    match built {
        Ok(scenario) => {
            let flows: Vec<_> = scenario.flows().take(1_000).collect();
            assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
            assert!(flows.iter().all(|flow| flow.source != flow.destination));
            for (name, written) in &scenario.switches {
                config::parse(written, name).expect("what a switch runs with is valid");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
