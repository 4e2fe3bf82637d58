//! LLDP (IEEE 802.1AB-2016), with the TLVs of DCBX (IEEE 802.1Q-2018 annex D).
//!
//! [`Tlvs`] is the checked view: it walks over the TLVs of an LLDPDU and never leaves it. [`Message`] is the value: what a
//! link agent reads of an LLDPDU, and all that ours writes. It has a fixed size, whatever a neighbour sends.

mod dcbx;
mod id;
mod message;
mod octets;
mod tlv;

pub use dcbx::{Application, Applications, Ets, Pfc, Selection, Selector};
pub use id::Id;
pub use message::{DESTINATION, LONGEST_EMITTED, Message, Received};
pub use octets::Octets;
pub use tlv::{LONGEST_LLDPDU, Tlv, Tlvs};

#[cfg(test)]
mod tests;
