//! How fast a queue pair sends: what it asks its congestion control, and what it tells it.
//!
//! One file per algorithm, each a state machine of its own that is told what happened and when. Rates are in bits on
//! the wire, preamble and gap included, so that the rate of the port is all of it.

pub(crate) mod dcqcn;

use crate::settings::CongestionControl;
use dcqcn::Dcqcn;
use units::{BitRate, Bytes, Interval, Nanos};

/// An acknowledgement, as congestion control sees it. Bytes are those of the message.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "read by controllers that go by delay or telemetry")]
pub(crate) struct Acknowledgement<'a> {
    /// Bytes that are acknowledged, from the start of the message.
    pub acknowledged: u64,
    /// Of them, those that were not before.
    pub newly: u64,
    /// Bytes that were sent, from the start of the message.
    pub sent: u64,
    /// From the start of the last packet that it acknowledges to now; `None` where that packet was sent more than
    /// once, or did not ask for an acknowledgement.
    pub round_trip: Option<Interval>,
    /// What it carries back of what switches wrote on the way, behind its AETH.
    pub telemetry: &'a [u8],
}

/// The congestion control of a queue pair.
#[derive(Clone, Debug)]
pub(crate) enum Controller {
    None,
    Dcqcn(Dcqcn),
}

impl Controller {
    /// For a queue pair that begins at `now` on a port of rate `line`.
    pub fn new(settings: &CongestionControl, line: BitRate, now: Nanos) -> Self {
        let _ = now;
        match settings {
            CongestionControl::None => Self::None,
            CongestionControl::Dcqcn(settings) => Self::Dcqcn(Dcqcn::new(*settings, line)),
        }
    }

    /// The rate of the packet that starts at `now`; `None` for that of the port.
    #[inline]
    pub fn rate(&mut self, now: Nanos) -> Option<BitRate> {
        match self {
            Self::None => None,
            Self::Dcqcn(dcqcn) => dcqcn.rate(now),
        }
    }

    /// Bytes of the message that may be on their way; `None` where nothing limits them.
    #[inline]
    pub fn window(&self) -> Option<u64> {
        match self {
            Self::None | Self::Dcqcn(_) => None,
        }
    }

    /// Whether [`Acknowledgement::round_trip`] is wanted.
    pub fn measures_round_trips(&self) -> bool {
        match self {
            Self::None | Self::Dcqcn(_) => false,
        }
    }

    /// A packet of stored length `length` starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, length: Bytes) {
        match self {
            Self::None => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_sent(now, length),
        }
    }

    /// An acknowledgement came, positive or negative.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Nanos, acknowledgement: &Acknowledgement<'_>) {
        let _ = (now, acknowledgement);
        match self {
            Self::None | Self::Dcqcn(_) => {}
        }
    }

    /// A congestion notification came.
    pub fn on_cnp(&mut self, now: Nanos) {
        match self {
            Self::None => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_cnp(now),
        }
    }

    /// The receiver told of a loss.
    pub fn on_loss(&mut self, now: Nanos) {
        let _ = now;
        match self {
            Self::None | Self::Dcqcn(_) => {}
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, now: Nanos) {
        let _ = now;
        match self {
            Self::None | Self::Dcqcn(_) => {}
        }
    }

    /// When it wants [`Controller::on_timer`] to be called.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        match self {
            Self::None | Self::Dcqcn(_) => Nanos::NEVER,
        }
    }

    /// Its deadline has come.
    pub fn on_timer(&mut self, now: Nanos) {
        let _ = now;
        match self {
            Self::None | Self::Dcqcn(_) => {}
        }
    }
}
