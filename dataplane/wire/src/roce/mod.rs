//! RoCEv2: InfiniBand transport over UDP (InfiniBand specification volume 1, annex A17).

pub mod bth;
mod opcode;

pub use bth::{Psn, QueuePair};
pub use opcode::{Opcode, Transport};

/// The UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
