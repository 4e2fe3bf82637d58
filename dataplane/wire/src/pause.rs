//! PAUSE: IEEE 802.3 annex 31B, known as 802.3x. It pauses the whole link, not a priority.

use units::PauseQuanta;

use crate::bytes::{checked_head, head, u16_at};
use crate::error::invalid;
use crate::mac_control::Opcode;
use crate::{ParseError, Protocol};

/// Bytes of opcode and parameters, after the Ethernet header.
pub const MESSAGE_LEN: usize = 4;

/// A checked view of opcode and parameters.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of EtherType 0x8808. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes; invalid, where the opcode is another.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let opcode = u16_at(checked_head::<MESSAGE_LEN>(Protocol::Pause, bytes.as_ref())?, 0);
        if opcode != Opcode::PAUSE.0 {
            return Err(invalid(Protocol::Pause, "opcode", u32::from(opcode)));
        }
        Ok(Self(bytes))
    }

    /// The pause time; zero resumes.
    #[inline]
    pub fn time(&self) -> PauseQuanta {
        PauseQuanta(u16_at(head::<MESSAGE_LEN>(self.0.as_ref()), 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn the_pause_of_the_vector_is_the_longest() {
        assert_eq!(View::parse(&vector(VECTOR_PAUSE)[14..]).unwrap().time(), PauseQuanta::MAX);
    }

    #[test]
    fn a_frame_without_its_time_is_refused() {
        assert_truncated_below(MESSAGE_LEN, &[0, 1, 0, 9], |bytes| View::parse(bytes).map(|_| ()));
    }
}
