//! The opcodes of MAC control: IEEE 802.3 annex 31A.

/// The opcode of a MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(pub u16);

impl Opcode {
    /// PAUSE (IEEE 802.3 annex 31B).
    pub const PAUSE: Self = Self(0x0001);
    /// Priority-based flow control (IEEE 802.3 annex 31D, IEEE 802.1Q clause 36).
    pub const PFC: Self = Self(0x0101);
}
