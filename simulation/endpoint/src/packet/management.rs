//! Messages of the connection manager as whole frames: unreliable datagrams between the queue pairs 1 of two hosts
//! (InfiniBand specification volume 1, section 12.6).

use super::path::{IP_AT, Path};
use units::Bytes;
use wire::ip::{Dscp, Ecn};
use wire::roce::cm::{DATAGRAM_LEN, Message};
use wire::roce::extended::Deth;
use wire::roce::{Opcode, QueuePair, bth, icrc, source_port_of_queue_pairs};
use wire::udp;

/// The queue key of queue pair 1 (InfiniBand section 10.2.4.4).
const QUEUE_KEY: u32 = 0x8001_0000;
/// Bytes from the BTH on.
const TRANSPORT: usize = bth::HEADER_LEN + Deth::LEN + DATAGRAM_LEN + icrc::LEN;

/// The length of a frame whose IP header ends at `behind_ip`.
pub(super) const fn frame_len(behind_ip: usize) -> Bytes {
    Bytes((behind_ip + udp::HEADER_LEN + TRANSPORT) as u64)
}

/// A whole frame with a message of the connection manager.
#[derive(Clone, Debug)]
pub(crate) struct ManagementFrame(Vec<u8>);

impl ManagementFrame {
    /// The frame with `message` to the far end of `path`, with its ICRC. All such frames between two hosts have the same
    /// UDP source port, which Linux derives from both queue pairs.
    pub fn new(path: &Path, dscp: Dscp, transaction_id: u64, message: &Message) -> Self {
        const PAIR: QueuePair = QueuePair::GENERAL_SERVICES;
        let path = path.to(PAIR, source_port_of_queue_pairs(PAIR, PAIR));
        let bth_at = path.bth_at();
        let deth_at = bth_at + bth::HEADER_LEN;
        let mut bytes = vec![0; bth_at + TRANSPORT];
        path.emit(dscp, Ecn::NotEct, TRANSPORT as u16, &mut bytes);
        let header = bth::Header::new(Opcode::UD_SEND_ONLY, PAIR);
        // All headers fit, and this packet has a defined ICRC.
        let _ = header.emit(&mut bytes[bth_at..]);
        let _ = Deth { queue_key: QUEUE_KEY, source_qp: PAIR }.emit(&mut bytes[deth_at..]);
        let _ = message.emit(transaction_id, &mut bytes[deth_at + Deth::LEN..]);
        let _ = icrc::fill(&mut bytes[IP_AT..]);
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;
    use wire::roce::cm::{self, CommunicationId};
    use wire::roce::{Head, Psn};

    #[test]
    fn a_message_is_a_datagram_to_queue_pair_1_with_a_valid_icrc() {
        let message = Message::Request {
            local: CommunicationId(7),
            service_id: 9,
            qp: QueuePair::from_low_bits(0x42),
            starting_psn: Psn::from_low_bits(5),
            flow_label: 0,
        };
        let frame = ManagementFrame::new(&path(), Dscp::from_low_bits(48), 9, &message);
        assert_eq!((frame.bytes().len(), frame_len(34)), (322, Bytes(322)));
        let packet = &frame.bytes()[IP_AT..];
        assert_eq!(icrc::verify(packet), Ok(true));
        let bth = bth::View::parse(Head::parse(packet).unwrap().into_bth()).unwrap();
        let datagram = cm::View::in_packet(&bth).unwrap();
        assert_eq!((datagram.message(), datagram.transaction_id()), (message, 9));
    }
}
