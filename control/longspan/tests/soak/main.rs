//! Two gateways on the wire for as long as `LONGSPAN_SOAK` says (`90s`, `10m`, `1h`): load, disturbances, and checks
//! after each round. Each has as many lanes as `LONGSPAN_SOAK_LANES` says. Without the variable, this runs only the small tests of the soak itself.
//!
//! `scripts/soak` runs it. It needs root, like the tests on the wire, whose laboratory it shares.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

#[path = "../wire/configuration.rs"]
#[allow(dead_code, reason = "the tests on the wire use the rest")]
mod configuration;
mod disturbances;
mod gateways;
#[path = "../wire/lab/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests on the wire use the rest")]
mod lab;
mod ledger;
mod load;
mod rounds;
mod time;
mod watch;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use std::time::Duration;

/// The duration of the soak.
const VARIABLE: &str = "LONGSPAN_SOAK";
/// The number of lanes. Default: 1.
const LANES: &str = "LONGSPAN_SOAK_LANES";

fn main() -> ExitCode {
    let Ok(text) = std::env::var(VARIABLE) else {
        return libtest_mimic::run(&Arguments::from_args(), tests()).exit_code();
    };
    let lanes = std::env::var(LANES).map_or(Ok(1), |lanes| lanes.parse());
    let lanes = lanes.map_err(|error| format!("{LANES}: {error}"));
    let time = time::parse(&text).map_err(|error| format!("{VARIABLE}: {error}"));
    let asked = time.and_then(|time| Ok((time, lanes?)));
    match asked.and_then(|asked| lab::why_not().map_or(Ok(asked), Err)) {
        Err(reason) => {
            eprintln!("soak: {reason}");
            ExitCode::FAILURE
        }
        Ok((time, lanes)) => {
            lab::sweep();
            rounds::run(time, lanes);
            ExitCode::SUCCESS
        }
    }
}

fn tests() -> Vec<Trial> {
    vec![Trial::test("a_time_has_a_number_and_a_unit", || {
        assert_eq!(time::parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time::parse("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time::parse("1h"), Ok(Duration::from_secs(3_600)));
        for text in
            ["", "h", "1", "0s", "-1s", "1.5h", "1d", "99999999999999999999h", "9999999999999999999h", "1 h"]
        {
            assert!(time::parse(text).is_err(), "{text:?}");
        }
        Ok(())
    })]
}
