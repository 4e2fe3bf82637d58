//! Why a gateway does not run.

use std::io;

use dpdk::{CalibrationError, EalError, PoolError};
use switch::LanesRefusal;

use crate::cores::CoreError;
use crate::device_error::{self, DeviceError};
use crate::kernel::KernelError;
use crate::metrics::MetricsError;
use crate::privileges::PrivilegesError;
use crate::socket_file::SocketFileError;

/// Why a gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Ports without `[port.device]`.
    #[error("these ports have no device ([port.device]): {}", .0.join(", "))]
    NoDevice(Vec<String>),
    /// Signal handlers cannot be installed.
    #[error("cannot install signal handlers: {0}")]
    Signals(io::Error),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers: {0}")]
    Seed(String),
    /// The control socket cannot be created.
    #[error("control.socket: {0}")]
    Socket(SocketFileError),
    /// The DPDK telemetry socket cannot be created.
    #[error("control.dpdk_telemetry: {0}")]
    Telemetry(SocketFileError),
    /// The group of the control socket does not exist.
    #[error("control.group: {0}: {1}")]
    Group(String, String),
    /// Privileges cannot be dropped.
    #[error("{0}")]
    Privileges(#[from] PrivilegesError),
    /// Metrics cannot be served.
    #[error("{0}")]
    Metrics(#[from] MetricsError),
    /// Ports cannot be assigned cores.
    #[error("dpdk.cores: {0}")]
    Cores(#[from] CoreError),
    /// There are fewer cores than lanes.
    #[error("dpdk.lanes: {lanes} lanes need as many cores, but this process may run only on {allowed}")]
    FewCores {
        /// The lanes.
        lanes: usize,
        /// The number of allowed cores.
        allowed: usize,
    },
    /// The configuration needs something that several lanes cannot do.
    #[error("dpdk.lanes: {0}")]
    Lanes(#[from] LanesRefusal),
    /// The machine has too little memory.
    #[error("{reason}; the buffers of this configuration need\n{sum}")]
    Memory {
        /// The memory sum, term by term.
        sum: String,
        /// The available memory.
        reason: String,
    },
    /// DPDK does not start.
    #[error("{0}")]
    Dpdk(#[from] EalError),
    /// The pools of frames cannot be created.
    #[error("{0}")]
    Pool(#[from] PoolError),
    /// A device does not work.
    #[error("port {port}: {reason}")]
    Device {
        /// The port.
        port: String,
        /// The reason.
        reason: DeviceError,
    },
    /// The processor's counter is unsuitable as a clock.
    #[error("{0}")]
    Clock(#[from] CalibrationError),
    /// There is no path to the kernel.
    #[error("{0}")]
    Kernel(#[from] KernelError),
    /// The thread of the path to the kernel cannot be started.
    #[error("cannot start the thread of the kernel path: {0}")]
    KernelThread(io::Error),
    /// The worker of a commissioned port ended without a report.
    #[error("the worker panicked, which is a bug")]
    Panicked,
    /// A worker cannot be started.
    #[error("cannot start the worker on core {core}: {source}")]
    Thread {
        /// Its core.
        core: usize,
        /// The system's error.
        source: io::Error,
    },
}

impl RunError {
    /// Whether another start may succeed with the same file, because what is missing may come, or what is in use may become
    /// free. A machine that has just booted lacks some of its devices and addresses.
    pub fn may_heal(&self) -> bool {
        match self {
            Self::Device { reason, .. } => reason.may_heal(),
            Self::Dpdk(error) => device_error::may_heal(error),
            Self::Socket(error) | Self::Telemetry(error) => matches!(error, SocketFileError::Taken(_)),
            Self::Metrics(_) | Self::Kernel(_) => true,
            _ => false,
        }
    }
}
