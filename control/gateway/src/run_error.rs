//! Why a gateway does not run.

use std::io;

use dpdk::{CalibrationError, EalError, PoolError};

use crate::cores::CoreError;
use crate::metrics::MetricsError;
use crate::privileges::PrivilegesError;
use crate::socket::ServerError;

/// Why a gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Ports without `[port.device]`.
    #[error("these ports have no device ([port.device]): {}", .0.join(", "))]
    NoDevice(Vec<String>),
    /// Signals cannot be heard.
    #[error("cannot install signal handlers: {0}")]
    Signals(io::Error),
    /// The system gives no random numbers.
    #[error("the system provides no random numbers: {0}")]
    Seed(String),
    /// There is no control socket.
    #[error("control.socket: {0}")]
    Socket(#[from] ServerError),
    /// The group of the control socket is not there.
    #[error("control.group: {0}: {1}")]
    Group(String, String),
    /// Privileges cannot be given up.
    #[error("{0}")]
    Privileges(#[from] PrivilegesError),
    /// There are no metrics.
    #[error("{0}")]
    Metrics(#[from] MetricsError),
    /// Ports cannot be given cores.
    #[error("dpdk.cores: {0}")]
    Cores(#[from] CoreError),
    /// The machine has too little memory.
    #[error("{reason}; the buffers of this configuration need\n{sum}")]
    Memory {
        /// The sum, term by term.
        sum: String,
        /// What there is.
        reason: String,
    },
    /// DPDK does not start.
    #[error("{0}")]
    Dpdk(#[from] EalError),
    /// There is no memory for frames.
    #[error("{0}")]
    Pool(#[from] PoolError),
    /// A device does not work.
    #[error("port {port}: {reason}")]
    Device {
        /// The port.
        port: String,
        /// What is wrong.
        reason: String,
    },
    /// The processor's counter is no clock.
    #[error("{0}")]
    Clock(#[from] CalibrationError),
    /// A worker cannot be started.
    #[error("cannot start the worker on core {core}: {source}")]
    Thread {
        /// Its core.
        core: usize,
        /// What the system says.
        source: io::Error,
    },
}
