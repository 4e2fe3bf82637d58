//! RoCEv2: InfiniBand transport over UDP (InfiniBand specification volume 1, annex A17).

pub mod bth;
pub mod cm;
pub mod cnp;
pub mod direct_int;
pub mod extended;
pub mod head;
pub mod icrc;
mod opcode;

pub use bth::{Psn, QueuePair};
pub use head::Head;
pub use opcode::{Opcode, Transport};

/// The UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

/// The UDP source port that a sender derives from a 20-bit flow label, so that all packets of a connection
/// take one path: `0xC000 | ((label & 0x3fff) ^ (label >> 14))`. Linux and drivers that follow it use this
/// rule; some NICs have their own.
#[inline]
pub const fn source_port_of_flow_label(label: u32) -> u16 {
    let label = label & 0x000f_ffff;
    0xc000 | ((label & 0x3fff) ^ (label >> 14)) as u16
}

/// The UDP source port that Linux derives from the two queue pairs of a connection, in either order, if there
/// is no flow label (`rdma_calc_flow_label`).
#[inline]
pub fn source_port_of_queue_pairs(one: QueuePair, other: QueuePair) -> u16 {
    let product = u64::from(one.number()) * u64::from(other.number());
    source_port_of_flow_label((product ^ product >> 20 ^ product >> 40) as u32)
}

#[cfg(test)]
mod tests;
