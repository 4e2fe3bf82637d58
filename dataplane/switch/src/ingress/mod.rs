//! The ingress half of a port: its priority groups and what it tells its neighbour.

mod port;

pub use port::IngressCounters;
pub(crate) use port::IngressPort;
