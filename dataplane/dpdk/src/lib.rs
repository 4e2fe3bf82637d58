//! Safe ports, queues and frames over DPDK.
//!
//! [`Eal`] starts DPDK, once per process. A [`Pool`] holds the memory of frames; an [`Mbuf`] is a frame in
//! it, and a [`switch::Frame`]. [`Port::configure`] takes a device and starts it. It returns the control side
//! ([`Port`]) and one object for each hardware queue ([`RxQueue`], [`TxQueue`]). Only the owner of a queue
//! can use it: a queue can be moved to another thread, but neither cloned nor shared, so no two threads ever
//! use one queue. The device stops when the last of these objects is dropped. [`Tsc`] is the clock. A
//! [`Claim`] keeps two processes from one core, or from one interface of the kernel.
//!
//! ```no_run
//! # #[cfg(feature = "dpdk")]
//! # mod example {
//! # use dpdk::*;
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let eal = Eal::start(&EalOptions { devices: vec!["net_ring0".into()], ..EalOptions::new("longspan") })?;
//! let pool = Pool::new(&eal, "data", PoolSettings { mbufs: 8_191, ..PoolSettings::default() })?;
//! let Opened { port, mut rx, mut tx, .. } = Port::configure("net_ring0", &PortSettings::new(&pool))?;
//! let worker = std::thread::spawn({
//!     let eal = eal.clone();
//!     move || {
//!         let _registered = eal.register_thread();
//!         let mut frames = Vec::with_capacity(2 * BURST);
//!         loop {
//!             rx.receive(&mut frames);
//!             tx.send(&mut frames);
//!         }
//!     }
//! });
//! println!("{}: {:?}", port.driver(), port.link());
//! # worker.join().unwrap(); Ok(()) }
//! # }
//! ```
//!
//! Receiving and sending take one DPDK call per burst. Per-frame reads ([`switch::Frame::headers`],
//! [`switch::Frame::length`]) are plain loads; dropping a frame, which is rare, is a call.
//!
//! Without the feature `dpdk` the crate is empty.
#![cfg(feature = "dpdk")]

mod capability;
mod claim;
#[expect(unsafe_code, reason = "calls DPDK")]
mod device;
mod drivers;
#[expect(unsafe_code, reason = "calls DPDK")]
mod eal;
mod eal_options;
mod error;
mod gate;
#[expect(unsafe_code, reason = "asks the kernel about interfaces")]
mod interface;
#[expect(unsafe_code, reason = "gives DPDK a handler of interrupts")]
mod interrupts;
mod mac_control;
#[expect(unsafe_code, reason = "reads and frees mbufs")]
mod mbuf;
mod memory;
#[expect(unsafe_code, reason = "queries sockets that a driver opened")]
mod packet_sockets;
#[expect(unsafe_code, reason = "reads statistics of DPDK")]
mod pauses;
mod permission;
#[expect(unsafe_code, reason = "calls DPDK")]
mod pool;
#[expect(unsafe_code, reason = "calls DPDK")]
mod port;
mod port_settings;
#[expect(unsafe_code, reason = "hands arrays of mbufs to DPDK")]
mod queue;
#[expect(unsafe_code, reason = "is an allocator")]
mod resident;
#[expect(unsafe_code, reason = "calls DPDK")]
mod runtime;
mod runtime_directory;
#[expect(unsafe_code, reason = "makes requests about a TAP")]
mod tap;
#[cfg(test)]
mod testing;
#[expect(unsafe_code, reason = "has a handler of signals")]
mod threads;
#[expect(unsafe_code, reason = "reads the time stamp counter")]
mod tsc;

pub use capability::Capability;
pub use claim::Claim;
pub use device::PortError;
pub use drivers::{PfcPassage, pfc_passage};
pub use eal::{
    Eal, RegisteredThread, StillInUse, claim_runtime_directory, hand_over_runtime_directory,
    leave_runtime_directory,
};
pub use eal_options::{EalOptions, Memory};
pub use error::EalError;
pub use interface::Interface;
pub use mbuf::Mbuf;
pub use pauses::PausesCounted;
pub use pool::{Pool, PoolError, PoolSettings};
pub use port::{Link, Opened, Port, PortStatistics, QueuePair};
pub use port_settings::PortSettings;
pub use queue::{BURST, RxQueue, TxQueue};
pub use resident::ResidentMemory;
pub use tap::TapInterface;
pub use threads::{renounce_capabilities, renounce_capabilities_of_other_threads};
pub use tsc::{CalibrationError, Sample, Tsc};
