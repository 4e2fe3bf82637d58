//! Any text as a configuration: read or refused, never a panic; what is read can be written and
//! is read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match config::parse(text, "fuzz.toml") {
        Ok(gateway) => {
            let written = config::render(&gateway);
            let again = config::parse(&written, "written.toml").expect("what was written is valid");
            assert_eq!(again.program.settings(), gateway.program.settings());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
