//! What becomes of the capabilities of other threads. The process is this test's own: all its threads lose theirs.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::thread;

/// As root it shows that other threads lose them; otherwise there is nothing to lose, and that the call ends.
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
