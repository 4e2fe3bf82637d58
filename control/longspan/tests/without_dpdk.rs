//! A build without DPDK: `replay` and `check` work, and `run` says why it does not.

#![cfg(not(feature = "dpdk"))]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;

#[test]
fn a_build_without_dpdk_does_not_run_and_says_why() {
    let config = repository("config/gateways/wire-loopback.toml");
    let run = run(["run", "--config", config.to_str().unwrap()]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("without DPDK") && run.stderr.lines().count() == 1, "{}", run.stderr);
}

#[test]
fn a_build_without_dpdk_checks_gateways_with_devices_and_replays_them() {
    let config = repository("config/gateways/wire-loopback.toml");
    assert_eq!(run(["check", config.to_str().unwrap()]).status, 0);
    let input = format!("dc0={}", soft_roce().display());
    replayed(&["--config", config.to_str().unwrap(), "--in", &input]);
}
