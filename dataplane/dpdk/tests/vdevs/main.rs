//! Ports over virtual devices: no hugepages, no hardware, no privileges. They share one process, because DPDK
//! starts only once per process.
#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod bursts;
mod devices;
mod frames;
mod pools;
mod queues;
mod start;
mod support;
mod truth;
