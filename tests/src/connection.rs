//! Reliable connections between two queue pairs, as their packets show them.

use crate::flow::Flow;
use crate::frame::TestFrame;
use wire::roce::cm::{CommunicationId, Message};
use wire::roce::extended::{Aeth, Deth};
use wire::roce::{Opcode, Psn, QueuePair, bth, cm};

/// A connection whose data goes one way.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The way of its data.
    pub flow: Flow,
    /// The sender's queue pair, to which acknowledgements and CNPs go.
    pub source_qp: QueuePair,
    /// The receiver's, to which data goes.
    pub destination_qp: QueuePair,
}

impl Connection {
    /// Connection `number` along `flow`.
    pub fn new(flow: Flow, number: u32) -> Self {
        let mut flow = flow;
        flow.source_port = 0xc000 | number as u16;
        Self {
            flow,
            source_qp: QueuePair::from_low_bits(0x1000 + number),
            destination_qp: QueuePair::from_low_bits(0x8000 + number),
        }
    }

    /// REQ, from the sender of data.
    pub fn request(&self) -> TestFrame {
        self.manage(
            &self.flow,
            Message::Request {
                local: self.id(1),
                service_id: 1,
                qp: self.source_qp,
                starting_psn: Psn::from_low_bits(0),
                flow_label: 0,
            },
        )
    }

    /// REP, from the receiver of data.
    pub fn reply(&self) -> TestFrame {
        let (local, remote) = (self.id(2), self.id(1));
        let (qp, starting_psn) = (self.destination_qp, Psn::from_low_bits(0));
        self.manage(&self.flow.reversed(), Message::Reply { local, remote, qp, starting_psn })
    }

    /// DREQ, from the sender of data.
    pub fn disconnect(&self) -> TestFrame {
        let (local, remote) = (self.id(1), self.id(2));
        self.manage(&self.flow, Message::DisconnectRequest { local, remote, remote_qp: self.destination_qp })
    }

    fn id(&self, side: u32) -> CommunicationId {
        CommunicationId(self.source_qp.number() << 2 | side)
    }

    fn manage(&self, flow: &Flow, message: Message) -> TestFrame {
        let mut payload = vec![0; Deth::LEN + cm::DATAGRAM_LEN];
        message.emit(7, &mut payload[Deth::LEN..]).expect("there is room");
        flow.roce(&bth::Header::new(Opcode::UD_SEND_ONLY, QueuePair::GENERAL_SERVICES), &payload)
    }

    /// A WRITE of `payload` bytes with sequence number `psn`.
    pub fn data(&self, psn: u32, payload: usize) -> TestFrame {
        self.flow.roce_write_to(self.destination_qp, psn, payload)
    }

    /// The acknowledgement of `psn`.
    pub fn acknowledge(&self, psn: u32) -> TestFrame {
        let mut bth = bth::Header::new(Opcode::RC_ACKNOWLEDGE, self.source_qp);
        bth.psn = Psn::from_low_bits(psn);
        self.flow.reversed().roce(&bth, &[0; Aeth::LEN])
    }

    /// A CNP of the receiver.
    pub fn cnp(&self) -> TestFrame {
        let bth = bth::Header { becn: true, ..bth::Header::new(Opcode::CNP, self.source_qp) };
        self.flow.reversed().roce(&bth, &[0; 16])
    }
}
