//! The gateway on the wire: between Linux hosts in network namespaces, over veth pairs and memif.
//!
//! These tests need root. If they cannot run, they are reported as ignored, with the reason.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod bundles;
mod commission;
mod configuration;
mod control_thread;
mod devices;
mod dpdk_telemetry;
mod examples;
mod faults;
mod forwarding;
mod frr;
mod kernel;
mod lab;
mod lanes;
mod link_agent;
mod link_delay;
mod long_haul;
mod pair;
mod pause;
mod peers;
mod privileges;
mod reload;
mod repair;
mod shared_cores;
mod stations;
mod streams;
mod top;
mod traffic;

use lab::Lab;
use libtest_mimic::{Arguments, Completion, Conclusion, Trial};
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// How many of the longest tests are named at the end.
const NAMED: usize = 10;

/// What each test took.
static TOOK: Mutex<Vec<(Duration, &str)>> = Mutex::new(Vec::new());
static WHY_NOT: LazyLock<Option<String>> = LazyLock::new(lab::why_not);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Workers poll all the time, so two labs would take each other's cores.
    arguments.test_threads = Some(1);
    if !arguments.list {
        lab::sweep();
    }
    let tests = [
        stations::tests(),
        forwarding::tests(),
        examples::tests(),
        pause::tests(),
        reload::tests(),
        faults::tests(),
        lanes::tests(),
        repair::tests(),
        bundles::tests(),
        kernel::tests(),
        frr::tests(),
        commission::tests(),
        devices::tests(),
        control_thread::tests(),
        dpdk_telemetry::tests(),
        privileges::tests(),
        peers::tests(),
        long_haul::tests(),
        link_delay::tests(),
        link_agent::tests(),
        shared_cores::tests(),
        traffic::tests(),
        top::tests(),
        streams::tests(),
    ];
    let conclusion: Conclusion = libtest_mimic::run(&arguments, tests.into_iter().flatten().collect());
    long_haul::print_table();
    print_longest();
    conclusion.exit_code()
}

/// A test with its own laboratory.
fn on_the_wire(name: &'static str, test: fn(&Lab)) -> Trial {
    on_the_wire_with_cores(1, name, test)
}

/// The same, for a gateway whose workers need `count` cores of their own.
fn on_the_wire_with_cores(count: usize, name: &'static str, test: fn(&Lab)) -> Trial {
    Trial::ignorable_test(name, move || {
        if let Some(reason) = &*WHY_NOT {
            return Ok(Completion::ignored_with(reason));
        }
        if lab::cores().len() < count {
            return Ok(Completion::ignored_with(format!("needs {count} cores")));
        }
        let start = Instant::now();
        test(&Lab::new());
        TOOK.lock().unwrap().push((start.elapsed(), name));
        Ok(Completion::Completed)
    })
}

/// Names the tests that took longest.
fn print_longest() {
    let mut took = TOOK.lock().unwrap();
    took.sort_by(|one, other| other.cmp(one));
    for (time, name) in took.iter().take(NAMED) {
        println!("{:5.1} s: {name}", time.as_secs_f64());
    }
}
