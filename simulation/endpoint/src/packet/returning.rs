//! Acknowledgements of HPCC, which return the telemetry of the acknowledged packet.

use super::Answer;
use super::path::{IP_AT, Path, ShortFrame};
use serde::{Deserialize, Serialize};
use wire::int;
use wire::ip::{Dscp, Ecn};
use wire::roce::bth::{self, Telemetry};
use wire::roce::extended::Aeth;
use wire::roce::{Opcode, icrc};

/// Telemetry as it arrived, in its format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collected<'a> {
    format: int::Format,
    bytes: &'a [u8],
}

impl<'a> Collected<'a> {
    /// The telemetry at the start of `payload`; `None` if that is shorter.
    pub fn new(format: int::Format, payload: &'a [u8]) -> Option<Self> {
        payload.get(..format.bytes()).map(|bytes| Self { format, bytes })
    }

    /// The telemetry of a path without hops.
    pub const EMPTY: Self = Self { format: int::Format::Five, bytes: &[0; int::Format::Five.bytes()] };
}

/// The headers of such acknowledgements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReturningTemplate {
    path: Path,
    dscp: Dscp,
}

impl ReturningTemplate {
    pub fn new(path: &Path, dscp: Dscp) -> Self {
        Self { path: *path, dscp }
    }

    /// The frame with this answer and its ICRC, after `messages` received messages. The telemetry keeps its format.
    pub fn frame(&self, answer: Answer, messages: u32, telemetry: Collected<'_>) -> ShortFrame {
        let (psn, syndrome, message_sequence_number) = answer.fields(messages);
        let bth_at = self.path.bth_at();
        let aeth_at = bth_at + bth::HEADER_LEN;
        let telemetry_at = aeth_at + Aeth::LEN;
        let end = telemetry_at + telemetry.bytes.len();
        let padding = telemetry.bytes.len().wrapping_neg() & 3;
        let length = end + padding + icrc::LEN;
        let header = bth::Header {
            psn,
            pad_count: padding as u8,
            telemetry: Telemetry::Returned(telemetry.format),
            ..bth::Header::new(Opcode::RC_ACKNOWLEDGE, self.path.remote)
        };
        let mut bytes = [0; ShortFrame::CAPACITY];
        self.path.emit(self.dscp, Ecn::NotEct, (length - bth_at) as u16, &mut bytes);
        bytes[telemetry_at..end].copy_from_slice(telemetry.bytes);
        // The headers fit, and this packet has a defined ICRC.
        let _ = header.emit(&mut bytes[bth_at..]);
        let _ = Aeth { syndrome, message_sequence_number }.emit(&mut bytes[aeth_at..]);
        let _ = icrc::fill(&mut bytes[IP_AT..length]);
        ShortFrame { bytes, length: length as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;
    use wire::roce::Psn;

    #[test]
    fn the_telemetry_stands_behind_the_aeth_and_the_icrc_is_right() {
        let template = ReturningTemplate::new(&path(), Dscp::from_low_bits(48));
        let telemetry: [u8; int::LEN_MAX] = core::array::from_fn(|index| index as u8);
        for (format, length) in [(int::Format::Five, 106), (int::Format::Eight, 130)] {
            let collected = Collected::new(format, &telemetry).unwrap();
            let frame = template.frame(Answer::Acknowledge(Psn::from_low_bits(9)), 1, collected);
            assert_eq!(frame.bytes().len(), length);
            assert_eq!(icrc::verify(&frame.bytes()[IP_AT..]), Ok(true));
            let bth = bth::View::parse(&frame.bytes()[42..]).unwrap();
            assert_eq!((bth.telemetry(), bth.psn().number()), (Telemetry::Returned(format), 9));
            assert_eq!(bth.pad_count(), 2);
            assert!(Aeth::parse(bth.payload()).unwrap().is_positive());
            assert_eq!(bth.payload()[Aeth::LEN..Aeth::LEN + format.bytes()], telemetry[..format.bytes()]);
        }
    }
}
