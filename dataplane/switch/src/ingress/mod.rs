//! The ingress half of a port: its priority groups, and the pauses that it sends.

mod port;

pub use port::IngressCounters;
pub(crate) use port::IngressPort;
