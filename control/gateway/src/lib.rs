//! A running gateway.
//!
//! `run` starts it from a configuration: DPDK devices, a worker on each core that has ports, and the control
//! thread, which handles signals and clients of the control socket, watches workers and links, changes the
//! configuration and serves metrics. The control thread never touches the data path; it reaches workers
//! through their mailboxes.
//!
//! Without the feature `dpdk`, only the client of the control socket remains.

#[cfg(feature = "dpdk")]
mod callers;
#[cfg(feature = "dpdk")]
mod captures;
#[cfg(feature = "dpdk")]
mod claims;
#[cfg(feature = "dpdk")]
mod clock;
#[cfg(feature = "dpdk")]
mod commission;
#[cfg(feature = "dpdk")]
mod control;
#[cfg(feature = "dpdk")]
mod cores;
#[cfg(feature = "dpdk")]
mod crew;
#[cfg(feature = "dpdk")]
mod device;
#[cfg(feature = "dpdk")]
mod device_error;
#[cfg(feature = "dpdk")]
mod device_mtu;
#[cfg(feature = "dpdk")]
mod dpdk_telemetry;
#[cfg(feature = "dpdk")]
mod event;
#[cfg(feature = "dpdk")]
mod journal;
#[cfg(feature = "dpdk")]
mod kept_pauses;
#[cfg(feature = "dpdk")]
mod kernel;
#[cfg(feature = "dpdk")]
mod lateness;
#[cfg(feature = "dpdk")]
mod line;
#[cfg(feature = "dpdk")]
mod link_agent;
#[cfg(feature = "dpdk")]
mod link_delay;
#[cfg(feature = "dpdk")]
mod links;
#[cfg(feature = "dpdk")]
mod look;
#[cfg(feature = "dpdk")]
mod lookup;
#[cfg(feature = "dpdk")]
mod memif;
#[cfg(feature = "dpdk")]
mod memory;
#[cfg(feature = "dpdk")]
mod metrics;
#[cfg(feature = "dpdk")]
mod notify;
#[cfg(feature = "dpdk")]
mod open;
#[cfg(feature = "dpdk")]
mod ownership;
#[cfg(feature = "dpdk")]
mod privileges;
#[cfg(feature = "dpdk")]
mod reload;
#[cfg(feature = "dpdk")]
mod run_error;
#[cfg(feature = "dpdk")]
mod signals;
pub mod socket;
#[cfg(feature = "dpdk")]
mod socket_file;
#[cfg(feature = "dpdk")]
mod start;

#[cfg(feature = "dpdk")]
pub use commission::commission;
#[cfg(feature = "dpdk")]
pub use control::Ended;
#[cfg(feature = "dpdk")]
pub use device_error::DeviceError;
#[cfg(feature = "dpdk")]
pub use device_mtu::{MtuError, Promised};
#[cfg(feature = "dpdk")]
pub use dpdk::ResidentMemory;
#[cfg(feature = "dpdk")]
pub use kernel::KernelError;
#[cfg(feature = "dpdk")]
pub use run_error::RunError;
#[cfg(feature = "dpdk")]
pub use start::{Options, run};
