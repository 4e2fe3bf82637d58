//! Transports, which retransmit lost packets.
//!
//! A transport numbers the packets of a message from zero; the queue pair maps them to sequence numbers,
//! which wrap. Each transport is in its own file, with a sending and a receiving half.

pub(crate) mod go_back_n;
pub(crate) mod irn;
pub(crate) mod new_reno;
mod response;
mod seen;

pub(crate) use response::Response;

use crate::settings::Transport;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The same call of the transport that it is.
macro_rules! each {
    ($half:ident, $it:ident => $call:expr) => {
        match $half {
            Self::GoBackN($it) => $call,
            Self::Irn($it) => $call,
            Self::NewReno($it) => $call,
        }
    };
}

/// The sending half.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SendTransport {
    GoBackN(go_back_n::Sender),
    Irn(irn::Sender),
    NewReno(new_reno::Sender),
}

impl SendTransport {
    pub fn new(settings: &Transport) -> Self {
        match settings {
            Transport::GoBackN(settings) => Self::GoBackN(go_back_n::Sender::new(*settings)),
            Transport::Irn(settings) => Self::Irn(irn::Sender::new(*settings)),
            Transport::NewReno(settings) => Self::NewReno(new_reno::Sender::new(*settings)),
        }
    }

    /// The next packet to send of a message of `packets`, or `None`.
    #[inline]
    pub fn next_packet(&self, packets: u64) -> Option<u64> {
        each!(self, it => it.next_packet(packets))
    }

    /// Whether `packet` requests an immediate acknowledgement. The last one of the message always does.
    #[inline]
    pub fn requests_ack(&self, packet: u64) -> bool {
        match self {
            Self::GoBackN(sender) => sender.requests_ack(packet),
            Self::Irn(_) | Self::NewReno(_) => true,
        }
    }

    /// Notes that `packet`, from [`SendTransport::next_packet`], starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64) {
        each!(self, it => it.on_sent(now, packet))
    }

    /// Handles an answer. Ignores answers about packets never sent, and old ones. Returns the number of newly
    /// acknowledged packets.
    #[inline]
    pub fn on_response(&mut self, now: Nanos, response: Response) -> u64 {
        each!(self, it => it.on_response(now, response))
    }

    /// The expiry of the retransmission timer.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        each!(self, it => it.deadline())
    }

    /// Handles an expired retransmission timer.
    pub fn on_timeout(&mut self, now: Nanos) {
        each!(self, it => it.on_timeout(now))
    }

    /// Packets that may be in flight, if the transport itself limits them.
    pub fn window(&self) -> Option<u64> {
        match self {
            Self::GoBackN(_) => None,
            Self::Irn(sender) => Some(sender.window()),
            Self::NewReno(sender) => Some(sender.window()),
        }
    }

    /// Whether the next packet replaces a lost one, which still counts as in flight. A congestion window does
    /// not hold it back, because the window might never open otherwise.
    #[inline]
    pub fn replaces_lost(&self) -> bool {
        match self {
            // These count everything they go back to as not sent.
            Self::GoBackN(_) | Self::NewReno(_) => false,
            Self::Irn(sender) => sender.replaces_lost(),
        }
    }

    /// The first unacknowledged packet.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        each!(self, it => it.acknowledged())
    }

    /// The number of packets sent, without retransmissions.
    #[inline]
    pub fn sent(&self) -> u64 {
        each!(self, it => it.sent())
    }

    /// Packets in flight, as far as the sender knows.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        each!(self, it => it.in_flight())
    }
}

/// The receiving half of the transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ReceiveTransport {
    GoBackN(go_back_n::Receiver),
    Irn(irn::Receiver),
    NewReno(new_reno::Receiver),
}

impl ReceiveTransport {
    pub fn new(settings: &Transport) -> Self {
        match settings {
            Transport::GoBackN(_) => Self::GoBackN(go_back_n::Receiver::default()),
            Transport::Irn(_) => Self::Irn(irn::Receiver::default()),
            Transport::NewReno(_) => Self::NewReno(new_reno::Receiver::default()),
        }
    }

    /// The next packet in order.
    #[inline]
    pub fn expected(&self) -> u64 {
        each!(self, it => it.expected())
    }

    /// Handles `packet`; returns the answer. `ack_requested` says whether the sender requests an
    /// acknowledgement.
    #[inline]
    pub fn on_packet(&mut self, packet: u64, ack_requested: bool) -> Option<Response> {
        match self {
            Self::GoBackN(receiver) => receiver.on_packet(packet, ack_requested),
            Self::Irn(receiver) => Some(receiver.on_packet(packet)),
            Self::NewReno(receiver) => Some(receiver.on_packet(packet)),
        }
    }
}
