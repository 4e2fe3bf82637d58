//! Connection management over queue pair 1: InfiniBand specification volume 1, chapter 12.
//!
//! A management datagram has 24 bytes of header and 232 bytes of body; field offsets are relative to the
//! body. Only the fields that bind the two queue pairs of a connection to each other are parsed: no other
//! packets state the queue pair numbers of both sides.

use super::bth::{self, Psn, QueuePair};
use super::extended::Deth;
use super::opcode::Opcode;
use crate::bytes::{checked_head, head, put, room, u16_at, u24_at, u32_at, u64_at};
use crate::error::invalid;
use crate::{BufferTooSmall, ParseError, Protocol};
use serde::{Deserialize, Serialize};

/// Bytes of a management datagram.
pub const DATAGRAM_LEN: usize = 256;

const BASE_VERSION: u8 = 1;
const CLASS_COMMUNICATION: u8 = 7;
const CLASS_VERSION: u8 = 2;
const METHOD_SEND: u8 = 3;

const TRANSACTION_ID: usize = 8;
const ATTRIBUTE_ID: usize = 16;
const BODY: usize = 24;

/// The offsets of the local and remote communication identifiers, in messages that have them.
const LOCAL_ID: usize = BODY;
const REMOTE_ID: usize = BODY + 4;

const REQ_SERVICE_ID: usize = BODY + 8;
const REQ_QP: usize = BODY + 32;
const REQ_PSN: usize = BODY + 44;
const REQ_FLOW_LABEL: usize = BODY + 88;
const REP_QP: usize = BODY + 12;
const REP_PSN: usize = BODY + 20;
const REJ_MESSAGE: usize = BODY + 8;
const REJ_REASON: usize = BODY + 10;
const DREQ_QP: usize = BODY + 8;

/// The kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttributeId(pub u16);

impl AttributeId {
    /// REQ: asks for a connection.
    pub const REQ: Self = Self(0x10);
    /// MRA: asks for more time.
    pub const MRA: Self = Self(0x11);
    /// REJ: refuses the connection.
    pub const REJ: Self = Self(0x12);
    /// REP: accepts the connection.
    pub const REP: Self = Self(0x13);
    /// RTU: ready to use.
    pub const RTU: Self = Self(0x14);
    /// DREQ: ends the connection.
    pub const DREQ: Self = Self(0x15);
    /// DREP: confirms the end.
    pub const DREP: Self = Self(0x16);
}

/// One side's identifier of a connection, unique at that side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommunicationId(pub u32);

/// The content of a message, by [`AttributeId`]. `local` is the sender's identifier of the connection,
/// `remote` the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// REQ.
    Request {
        /// The sender's identifier of the connection.
        local: CommunicationId,
        /// The requested service.
        service_id: u64,
        /// The sender's queue pair, the destination of the other side's packets.
        qp: QueuePair,
        /// The first PSN for the other side to send.
        starting_psn: Psn,
        /// Flow label of the primary path, 20 bits; determines source ports
        /// ([`source_port_of_flow_label`](super::source_port_of_flow_label)).
        flow_label: u32,
    },
    /// REP.
    Reply {
        /// The sender's identifier of the connection.
        local: CommunicationId,
        /// The receiver's identifier of it.
        remote: CommunicationId,
        /// The sender's queue pair, the destination of the other side's packets.
        qp: QueuePair,
        /// The first PSN for the other side to send.
        starting_psn: Psn,
    },
    /// RTU.
    ReadyToUse {
        /// The sender's identifier of the connection.
        local: CommunicationId,
        /// The receiver's identifier of it.
        remote: CommunicationId,
    },
    /// REJ.
    Reject {
        /// The sender's identifier of the connection; zero if it has none yet.
        local: CommunicationId,
        /// The receiver's identifier of it.
        remote: CommunicationId,
        /// The rejected message, 0 to 3: REQ, REP, neither, reserved.
        rejected: u8,
        /// The reason, a code of the specification.
        reason: u16,
    },
    /// DREQ.
    DisconnectRequest {
        /// The sender's identifier of the connection.
        local: CommunicationId,
        /// The receiver's identifier of it.
        remote: CommunicationId,
        /// The receiver's queue pair.
        remote_qp: QueuePair,
    },
    /// DREP.
    DisconnectReply {
        /// The sender's identifier of the connection.
        local: CommunicationId,
        /// The receiver's identifier of it.
        remote: CommunicationId,
    },
    /// A message that neither binds nor ends a connection.
    Other(AttributeId),
}

/// A checked view of a management datagram of the communication class.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<'a> View<&'a [u8]> {
    /// The datagram in the packet with this BTH. `None` if it is not a datagram to queue pair 1, or not of
    /// the communication management class.
    #[inline]
    pub fn in_packet(bth: &bth::View<&'a [u8]>) -> Option<Self> {
        // Fast path: nearly all packets are data.
        if bth.opcode() != Opcode::UD_SEND_ONLY || bth.destination_qp() != QueuePair::GENERAL_SERVICES {
            return None;
        }
        bth.into_payload().get(Deth::LEN..).and_then(|mad| Self::parse(mad).ok())
    }
}

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which start with the datagram's header: the payload after BTH and DETH.
    ///
    /// # Errors
    /// Truncated below [`DATAGRAM_LEN`] bytes; invalid, where base version, management class or
    /// class version are others.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let datagram = checked_head::<DATAGRAM_LEN>(Protocol::Cm, bytes.as_ref())?;
        let field = |name, value: u8| Err(invalid(Protocol::Cm, name, u32::from(value)));
        match *datagram {
            [BASE_VERSION, CLASS_COMMUNICATION, CLASS_VERSION, ..] => Ok(Self(bytes)),
            [BASE_VERSION, CLASS_COMMUNICATION, version, ..] => field("class version", version),
            [BASE_VERSION, class, ..] => field("management class", class),
            [version, ..] => field("base version", version),
        }
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; DATAGRAM_LEN] {
        head(self.0.as_ref())
    }

    /// The kind of message.
    #[inline]
    pub fn attribute_id(&self) -> AttributeId {
        AttributeId(u16_at(self.raw(), ATTRIBUTE_ID))
    }

    /// Matches a response to its request.
    #[inline]
    pub fn transaction_id(&self) -> u64 {
        u64_at(self.raw(), TRANSACTION_ID)
    }

    /// The content of the message.
    pub fn message(&self) -> Message {
        let raw = self.raw();
        let local = CommunicationId(u32_at(raw, LOCAL_ID));
        let remote = CommunicationId(u32_at(raw, REMOTE_ID));
        let qp = |at| QueuePair::from_low_bits(u24_at(raw, at));
        let psn = |at| Psn::from_low_bits(u24_at(raw, at));
        match self.attribute_id() {
            AttributeId::REQ => Message::Request {
                local,
                service_id: u64_at(raw, REQ_SERVICE_ID),
                qp: qp(REQ_QP),
                starting_psn: psn(REQ_PSN),
                flow_label: u32_at(raw, REQ_FLOW_LABEL) >> 12,
            },
            AttributeId::REP => Message::Reply { local, remote, qp: qp(REP_QP), starting_psn: psn(REP_PSN) },
            AttributeId::RTU => Message::ReadyToUse { local, remote },
            AttributeId::REJ => Message::Reject {
                local,
                remote,
                rejected: raw[REJ_MESSAGE] >> 6,
                reason: u16_at(raw, REJ_REASON),
            },
            AttributeId::DREQ => Message::DisconnectRequest { local, remote, remote_qp: qp(DREQ_QP) },
            AttributeId::DREP => Message::DisconnectReply { local, remote },
            other => Message::Other(other),
        }
    }
}

impl Message {
    /// The kind of message.
    #[inline]
    pub const fn attribute_id(&self) -> AttributeId {
        match *self {
            Self::Request { .. } => AttributeId::REQ,
            Self::Reply { .. } => AttributeId::REP,
            Self::ReadyToUse { .. } => AttributeId::RTU,
            Self::Reject { .. } => AttributeId::REJ,
            Self::DisconnectRequest { .. } => AttributeId::DREQ,
            Self::DisconnectReply { .. } => AttributeId::DREP,
            Self::Other(other) => other,
        }
    }

    /// Writes the management datagram, with zero in all other fields; returns [`DATAGRAM_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, transaction_id: u64, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<DATAGRAM_LEN>(out)?;
        *out = [0; DATAGRAM_LEN];
        put(out, 0, &[BASE_VERSION, CLASS_COMMUNICATION, CLASS_VERSION, METHOD_SEND]);
        put(out, TRANSACTION_ID, &transaction_id.to_be_bytes());
        put(out, ATTRIBUTE_ID, &self.attribute_id().0.to_be_bytes());
        match *self {
            Self::Request { local, service_id, qp, starting_psn, flow_label } => {
                put(out, LOCAL_ID, &local.0.to_be_bytes());
                put(out, REQ_SERVICE_ID, &service_id.to_be_bytes());
                put24(out, REQ_QP, qp.number());
                put24(out, REQ_PSN, starting_psn.number());
                put(out, REQ_FLOW_LABEL, &(flow_label << 12).to_be_bytes());
            }
            Self::Reply { local, remote, qp, starting_psn } => {
                put_ids(out, local, remote);
                put24(out, REP_QP, qp.number());
                put24(out, REP_PSN, starting_psn.number());
            }
            Self::ReadyToUse { local, remote } | Self::DisconnectReply { local, remote } => {
                put_ids(out, local, remote);
            }
            Self::Reject { local, remote, rejected, reason } => {
                put_ids(out, local, remote);
                put(out, REJ_MESSAGE, &[rejected << 6]);
                put(out, REJ_REASON, &reason.to_be_bytes());
            }
            Self::DisconnectRequest { local, remote, remote_qp } => {
                put_ids(out, local, remote);
                put24(out, DREQ_QP, remote_qp.number());
            }
            Self::Other(_) => {}
        }
        Ok(DATAGRAM_LEN)
    }
}

fn put_ids(out: &mut [u8], local: CommunicationId, remote: CommunicationId) {
    put(out, LOCAL_ID, &local.0.to_be_bytes());
    put(out, REMOTE_ID, &remote.0.to_be_bytes());
}

fn put24(out: &mut [u8], at: usize, value: u32) {
    let [_, low @ ..] = value.to_be_bytes();
    put(out, at, &low);
}
