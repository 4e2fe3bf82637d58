//! MAC control frames, by opcode: IEEE 802.3 clause 31.

mod opcode;

pub use opcode::Opcode;

use crate::bytes::{checked_head, u16_at};
use crate::{ParseError, Protocol, pause, pfc};

/// A MAC control frame.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Priority-based flow control.
    Pfc(pfc::View<&'a [u8]>),
    /// PAUSE.
    Pause(pause::View<&'a [u8]>),
    /// Unknown; receivers ignore it.
    Other(Opcode),
}

impl<'a> Message<'a> {
    /// Reads `bytes`, the payload of EtherType 0x8808: opcode, parameters, padding.
    ///
    /// # Errors
    /// Truncated, where the opcode or its parameters are not all there.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let opcode = Opcode(u16_at(checked_head::<2>(Protocol::MacControl, bytes)?, 0));
        Ok(match opcode {
            Opcode::PFC => Self::Pfc(pfc::View::parse(bytes)?),
            Opcode::PAUSE => Self::Pause(pause::View::parse(bytes)?),
            other => Self::Other(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn the_opcode_tells_pfc_from_pause() {
        let message = |index: usize| vector(index)[14..].to_vec();
        assert!(matches!(Message::parse(&message(VECTOR_XOFF)), Ok(Message::Pfc(_))));
        assert!(matches!(Message::parse(&message(VECTOR_PAUSE)), Ok(Message::Pause(_))));
        assert!(matches!(Message::parse(&[0, 2]), Ok(Message::Other(Opcode(2)))));
        assert!(Message::parse(&[1]).is_err() && Message::parse(&[]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in any_bytes(46), pfc: Option<bool>) {
            if let (Some(pfc), Some(opcode)) = (pfc, bytes.first_chunk_mut()) {
                *opcode = [u8::from(pfc), 1];
            }
            match Message::parse(&bytes) {
                Ok(Message::Pfc(view)) => prop_assert_eq!(
                    view.times().iter().flatten().count(),
                    view.enabled().iter().count()
                ),
                Ok(Message::Pause(view)) => { let _ = view.time(); }
                Ok(Message::Other(_)) | Err(_) => {}
            }
        }
    }
}
