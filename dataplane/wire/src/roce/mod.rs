//! RoCEv2: InfiniBand transport over UDP (InfiniBand specification volume 1, annex A17).

pub mod bth;
pub mod cm;
pub mod cnp;
pub mod extended;
pub mod head;
pub mod icrc;
mod opcode;

pub use bth::{Psn, QueuePair};
pub use head::Head;
pub use opcode::{Opcode, Transport};

/// The UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

/// The UDP source port that a sender derives from a 20-bit flow label, so that the packets of one
/// connection take one path: `0xC000 | ((label & 0x3fff) ^ (label >> 14))`. Linux and the drivers
/// that follow it do so; some NICs have a rule of their own.
#[inline]
pub const fn source_port_of_flow_label(label: u32) -> u16 {
    let label = label & 0x000f_ffff;
    0xc000 | ((label & 0x3fff) ^ (label >> 14)) as u16
}

#[cfg(test)]
mod tests;
