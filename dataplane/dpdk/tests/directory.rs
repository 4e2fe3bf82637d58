//! The files of DPDK after a process ends.
#![cfg(feature = "dpdk")]

use dpdk::{Eal, EalOptions};
use std::path::Path;
use std::process::Command;

/// Set in the processes that the test starts.
const CHILD: &str = "LONGSPAN_TEST_DIRECTORY_OF";

/// DPDK's variable.
const RUNTIME: &str = "RUNTIME_DIRECTORY";

#[test]
fn dpdks_directory_and_its_telemetry_are_there_while_the_process_runs_and_go_with_it() {
    if let Some(directory) = std::env::var_os(CHILD) {
        let directory = Path::new(&directory);
        let eal = Eal::start(&EalOptions { telemetry: true, ..EalOptions::new("prefix") }).unwrap();
        assert!(directory.join("dpdk/prefix/dpdk_telemetry.v2").exists());
        drop(eal);
        assert!(directory.join("dpdk/prefix/dpdk_telemetry.v2").exists(), "it is listened at to the end");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, directory.path())
        .env(RUNTIME, directory.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(directory.path().join("dpdk").exists(), "it was there");
    assert!(!directory.path().join("dpdk/prefix").exists(), "and it is gone");
}
