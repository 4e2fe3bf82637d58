//! The control socket, through which `longspan show` and `longspan reload` talk to a running gateway.

mod client;
mod protocol;
#[cfg(feature = "dpdk")]
mod server;

pub use client::{ClientError, ask, find};
pub use protocol::{Request, Response};
#[cfg(feature = "dpdk")]
pub use server::{Access, Server, ServerError, SocketFile};
