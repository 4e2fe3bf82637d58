//! One core of a gateway: the run-to-completion turn around a [`switch::Shard`].
//!
//! A [`Worker`] owns a shard and the devices of its ports. In each turn it reads the clock once, gives
//! the shard what arrived, takes over what other cores admitted for its ports, lets leave what is due,
//! and looks once at its mailbox. Nothing in a turn allocates, logs, locks or makes a system call of
//! its own. Following a command may allocate, but makes and frees no table. It does not know what a device
//! is: DPDK ports, memory in tests and benches.

mod clock;
mod device;
mod emulation;
mod exchange;
#[cfg(all(test, loom))]
mod loom_tests;
mod mailbox;
mod monitor;
mod pinning;
mod port;
mod ring;
mod worker;

pub use clock::{Clock, MonotonicClock};
pub use device::{Device, DeviceCounters};
pub use emulation::{Capacity, DelayLine, EmulationCounters, EmulationSettings};
pub use exchange::{Exchange, exchanges};
pub use mailbox::{Command, Controls, Full, Inspection, Mailbox, Reply, mailbox};
pub use monitor::{Monitor, Stage};
pub use pinning::{allowed_cores, pin};
pub use worker::{Idle, Worker};

/// Frames that a device gives and takes at once.
pub const BURST: usize = 32;
