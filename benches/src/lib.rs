//! Benchmarks live in `benches/`; this library holds what they share.

pub mod core;
pub mod floods;
mod frame;
mod long_haul;
pub mod packets;
pub mod slot;
