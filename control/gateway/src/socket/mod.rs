//! The control socket, through which `longspan show`, `reload`, `events` and `capture` talk to a running gateway.

mod client;
mod protocol;
#[cfg(feature = "dpdk")]
mod server;
#[cfg(feature = "dpdk")]
mod stream;

#[cfg(feature = "dpdk")]
pub use crate::socket_file::{Access, SocketFileError};
pub use client::{ClientError, Lines, ask, find, listen};
pub use protocol::{CaptureClass, CaptureLine, CaptureRequest, EventsRequest, Request, Response};
#[cfg(feature = "dpdk")]
pub use server::Server;
#[cfg(feature = "dpdk")]
pub use stream::{CaptureSession, Subscription};
