//! Acknowledgements of HPCC, which return the telemetry of the acknowledged packet.

use super::path::{BTH_AT, IP_AT, Path, ShortFrame};
use super::{AETH_AT, Answer};
use wire::int;
use wire::ip::{Dscp, Ecn};
use wire::roce::bth::{self, Telemetry};
use wire::roce::extended::Aeth;
use wire::roce::{Opcode, icrc};

const TELEMETRY_AT: usize = AETH_AT + Aeth::LEN;
/// Bytes that pad the telemetry to a multiple of four.
const PADDING: usize = int::LEN.next_multiple_of(4) - int::LEN;
const LEN: usize = TELEMETRY_AT + int::LEN + PADDING + icrc::LEN;

/// The headers of such acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct ReturningTemplate {
    header: bth::Header,
    path: [u8; BTH_AT],
}

impl ReturningTemplate {
    pub fn new(path: &Path, dscp: Dscp) -> Self {
        let mut bytes = [0; BTH_AT];
        path.emit(dscp, Ecn::NotEct, (LEN - BTH_AT) as u16, &mut bytes);
        let header = bth::Header {
            pad_count: PADDING as u8,
            telemetry: Telemetry::Returned,
            ..bth::Header::new(Opcode::RC_ACKNOWLEDGE, path.remote)
        };
        Self { header, path: bytes }
    }

    /// The frame with this answer and its ICRC, after `messages` received messages.
    pub fn frame(&self, answer: Answer, messages: u32, telemetry: &[u8; int::LEN]) -> ShortFrame {
        let (psn, syndrome, message_sequence_number) = answer.fields(messages);
        let mut bytes = [0; ShortFrame::CAPACITY];
        bytes[..BTH_AT].copy_from_slice(&self.path);
        bytes[TELEMETRY_AT..TELEMETRY_AT + int::LEN].copy_from_slice(telemetry);
        // The headers fit, and this packet has a defined ICRC.
        let _ = bth::Header { psn, ..self.header }.emit(&mut bytes[BTH_AT..]);
        let _ = Aeth { syndrome, message_sequence_number }.emit(&mut bytes[AETH_AT..]);
        let _ = icrc::fill(&mut bytes[IP_AT..]);
        ShortFrame { bytes, length: LEN as u8 }
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
        let telemetry = core::array::from_fn(|index| index as u8);
        let frame = template.frame(Answer::Acknowledge(Psn::from_low_bits(9)), 1, &telemetry);
        assert_eq!(frame.bytes().len(), 106);
        assert_eq!(icrc::verify(&frame.bytes()[IP_AT..]), Ok(true));
        let bth = bth::View::parse(&frame.bytes()[BTH_AT..]).unwrap();
        assert_eq!((bth.telemetry(), bth.psn().number(), bth.pad_count()), (Telemetry::Returned, 9, 2));
        assert!(Aeth::parse(bth.payload()).unwrap().is_positive());
        assert_eq!(bth.payload()[Aeth::LEN..Aeth::LEN + int::LEN], telemetry);
    }
}
