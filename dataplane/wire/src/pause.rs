//! PAUSE: IEEE 802.3 annex 31B, known as 802.3x. It pauses the whole link, not a priority.

use units::PauseQuanta;

use crate::bytes::{checked_head, head, put, room, u16_at};
use crate::error::invalid;
use crate::ethernet::{self, EtherType, MIN_FRAME_LEN, MacAddress};
use crate::mac_control::Opcode;
use crate::{BufferTooSmall, ParseError, Protocol};

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

/// A whole frame as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The port that sends it.
    pub source: MacAddress,
    /// The pause time; zero resumes.
    pub time: PauseQuanta,
}

impl Frame {
    /// Writes the frame with its Ethernet header, padded to the minimum length; returns [`MIN_FRAME_LEN`],
    /// 60.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<MIN_FRAME_LEN>(out)?;
        *out = [0; MIN_FRAME_LEN];
        let header = ethernet::Header {
            destination: MacAddress::MAC_CONTROL,
            source: self.source,
            ether_type: EtherType::MAC_CONTROL,
        };
        let at = header.emit(out)?;
        put(out, at, &Opcode::PAUSE.0.to_be_bytes());
        put(out, at + 2, &self.time.0.to_be_bytes());
        Ok(MIN_FRAME_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn the_longest_pause_has_the_bytes_of_the_vector() {
        let frame = Frame { source: MacAddress([2, 0, 0, 0, 0, 1]), time: PauseQuanta::MAX };
        let mut out = [0xa5; MIN_FRAME_LEN];
        assert_eq!(frame.emit(&mut out), Ok(MIN_FRAME_LEN));
        assert_eq!(out[..], vector(VECTOR_PAUSE));
        assert_eq!(View::parse(&out[14..]).unwrap().time(), PauseQuanta::MAX);
    }

    #[test]
    fn a_frame_without_its_time_is_refused() {
        assert_truncated_below(MESSAGE_LEN, &[0, 1, 0, 9], |bytes| View::parse(bytes).map(|_| ()));
    }

    #[test]
    fn a_buffer_below_60_bytes_is_refused() {
        let frame = Frame { source: MacAddress::ZERO, time: PauseQuanta::ZERO };
        assert_eq!(frame.emit(&mut [0; 59]), Err(BufferTooSmall { needed: 60, available: 59 }));
    }
}
