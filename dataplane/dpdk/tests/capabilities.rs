//! Tests dropping the capabilities of other threads. This test needs its own process, because all its threads
//! lose theirs.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::thread;

/// As root, this shows that other threads lose them; otherwise only that the call returns.
#[test]
fn other_threads_lose_their_capabilities_while_they_wait_and_the_caller_keeps_its_own() {
    let permitted = || capabilities(None).unwrap().permitted;
    let (go, waits) = channel::<()>();
    let other = thread::spawn(move || {
        waits.recv().unwrap_err();
        permitted()
    });
    let before = permitted();
    let left = dpdk::renounce_capabilities_of_other_threads().unwrap();
    assert_eq!((permitted(), left), (before, BTreeSet::new()));
    drop(go);
    assert_eq!(other.join().unwrap(), CapabilitySet::empty());
}
