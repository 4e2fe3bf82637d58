//! One core of a gateway: the run-to-completion turn around a [`switch::Shard`].
//!
//! A [`Worker`] owns a shard and the devices of its ports. In each turn it reads the clock once, gives
//! received frames to the shard, sends frames that are due, and checks its mailbox once. A turn itself does not allocate, log, lock or make a system call. A
//! command may allocate, but never creates or frees a table. Workers do not know their kind of device: DPDK
//! ports, or memory in tests and benches.

mod capture;
mod clock;
mod device;
mod emulation;
mod events;
mod kernel;
#[cfg(all(test, loom))]
mod loom_tests;
mod mailbox;
mod monitor;
mod pinning;
mod port;
mod profile;
mod ring;
mod worker;

pub use capture::{CaptureFilter, CapturedFrame, FrameClass, FrameDirection, Tap, TapReader, tap};
pub use clock::{Clock, MonotonicClock};
pub use device::{Device, DeviceCounters, ReceiveRing};
pub use emulation::{Capacity, DelayLine, EmulationCounters, EmulationSettings};
pub use events::{EventInlet, EventOutlet, event_ring};
pub use kernel::{KernelFrame, KernelPort, KernelRings, kernel_rings};
pub use mailbox::{Command, Controls, Full, Inspection, Mailbox, Reply, mailbox};
pub use monitor::{Monitor, Stage};
pub use pinning::{allowed_cores, pin};
pub use profile::{Profile, ProfileStage, SAMPLED_TURNS};
pub use worker::{Idle, Worker};

/// The maximum number of frames that a device receives or takes at once.
pub const BURST: usize = 32;
