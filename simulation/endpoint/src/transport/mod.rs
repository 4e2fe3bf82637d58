//! How what is lost is sent again: what a queue pair asks its transport, and what it tells it.
//!
//! A transport counts packets of the message from zero. Sequence numbers, which wrap, are the queue pair's own
//! affair. One file per transport; each has a half that sends and one that receives.

pub(crate) mod go_back_n;
pub(crate) mod irn;
pub(crate) mod new_reno;
mod seen;

use crate::settings::Transport;
use units::Nanos;

/// What an answer of the receiver says, in packets of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// All packets before this one are there.
    Acknowledge {
        /// The first one that is not acknowledged.
        before: u64,
    },
    /// All packets before this one are there, this one is not, and a later one came.
    SequenceError {
        /// The one that was expected.
        expected: u64,
    },
    /// All packets before one are there, that one is not, and a later one came and was kept.
    Selective {
        /// The one that was expected.
        expected: u64,
        /// The one that came.
        arrived: u64,
    },
}

/// The sending half.
#[derive(Clone, Debug)]
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

    /// The packet to send next, of a message of `packets`; `None` where there is none.
    #[inline]
    pub fn next_packet(&self, packets: u64) -> Option<u64> {
        match self {
            Self::GoBackN(sender) => sender.next_packet(packets),
            Self::Irn(sender) => sender.next_packet(packets),
            Self::NewReno(sender) => sender.next_packet(packets),
        }
    }

    /// Whether `packet` is to be acknowledged at once. The last one of the message always is.
    #[inline]
    pub fn requests_ack(&self, packet: u64) -> bool {
        match self {
            Self::GoBackN(sender) => sender.requests_ack(packet),
            Self::Irn(_) | Self::NewReno(_) => true,
        }
    }

    /// `packet`, which [`SendTransport::next_packet`] gave, starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64) {
        match self {
            Self::GoBackN(sender) => sender.on_sent(now, packet),
            Self::Irn(sender) => sender.on_sent(now, packet),
            Self::NewReno(sender) => sender.on_sent(now, packet),
        }
    }

    /// An answer came. Nothing happens where it is about packets that were never sent, or old. Returns how many packets
    /// are acknowledged now and were not before.
    #[inline]
    pub fn on_response(&mut self, now: Nanos, response: Response) -> u64 {
        match self {
            Self::GoBackN(sender) => sender.on_response(now, response),
            Self::Irn(sender) => sender.on_response(now, response),
            Self::NewReno(sender) => sender.on_response(now, response),
        }
    }

    /// When the retransmission timer runs out.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        match self {
            Self::GoBackN(sender) => sender.deadline(),
            Self::Irn(sender) => sender.deadline(),
            Self::NewReno(sender) => sender.deadline(),
        }
    }

    /// The retransmission timer has run out.
    pub fn on_timeout(&mut self, now: Nanos) {
        match self {
            Self::GoBackN(sender) => sender.on_timeout(now),
            Self::Irn(sender) => sender.on_timeout(now),
            Self::NewReno(sender) => sender.on_timeout(now),
        }
    }

    /// Packets that may be on their way, where it limits them itself.
    pub fn window(&self) -> Option<u64> {
        match self {
            Self::GoBackN(_) => None,
            Self::Irn(sender) => Some(sender.window()),
            Self::NewReno(sender) => Some(sender.window()),
        }
    }

    /// Whether the next packet takes the place of a lost one, which is on its way no more though it is counted so.
    /// A window of congestion control does not hold it back, for it might never open otherwise.
    #[inline]
    pub fn replaces_lost(&self) -> bool {
        match self {
            // All that it goes back to is counted as not sent.
            Self::GoBackN(_) | Self::NewReno(_) => false,
            Self::Irn(sender) => sender.replaces_lost(),
        }
    }

    /// All packets before this one are acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        match self {
            Self::GoBackN(sender) => sender.acknowledged(),
            Self::Irn(sender) => sender.acknowledged(),
            Self::NewReno(sender) => sender.acknowledged(),
        }
    }

    /// How many packets were sent for the first time.
    #[inline]
    pub fn sent(&self) -> u64 {
        match self {
            Self::GoBackN(sender) => sender.sent(),
            Self::Irn(sender) => sender.sent(),
            Self::NewReno(sender) => sender.sent(),
        }
    }

    /// How many packets are on their way, as far as the sender can know.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        match self {
            Self::GoBackN(sender) => sender.in_flight(),
            Self::Irn(sender) => sender.in_flight(),
            Self::NewReno(sender) => sender.in_flight(),
        }
    }
}

/// The receiving half.
#[derive(Clone, Debug)]
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

    /// The packet that is the next one in order.
    #[inline]
    pub fn expected(&self) -> u64 {
        match self {
            Self::GoBackN(receiver) => receiver.expected(),
            Self::Irn(receiver) => receiver.expected(),
            Self::NewReno(receiver) => receiver.expected(),
        }
    }

    /// `packet` came; the sender wants an acknowledgement where `ack_requested`. What is answered.
    #[inline]
    pub fn on_packet(&mut self, packet: u64, ack_requested: bool) -> Option<Response> {
        match self {
            Self::GoBackN(receiver) => receiver.on_packet(packet, ack_requested),
            Self::Irn(receiver) => Some(receiver.on_packet(packet)),
            Self::NewReno(receiver) => Some(receiver.on_packet(packet)),
        }
    }
}
