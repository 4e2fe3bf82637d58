//! The ingress half of a port: its priority groups, and the pauses that it sends.

pub(crate) mod figures;
mod hidden;
mod port;
mod stops;

pub use hidden::HiddenCounters;
pub use port::IngressCounters;
pub(crate) use port::IngressPort;
pub use stops::Stops;
