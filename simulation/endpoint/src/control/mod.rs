//! How fast a queue pair sends: what it asks its congestion control, and what it tells it.
//!
//! One file per algorithm, each a state machine of its own that is told what happened and when. Rates are in bits on
//! the wire, preamble and gap included, so that the rate of the port is all of it.

pub(crate) mod dcqcn;
pub(crate) mod hpcc;
pub(crate) mod timely;

use crate::settings::{CongestionControl, HostSettings, Transport};
use dcqcn::Dcqcn;
use hpcc::Hpcc;
use timely::Timely;
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};
use wire::int;

/// An acknowledgement, as congestion control sees it. Bytes are those of the message.
#[derive(Clone, Copy, Debug)]
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
    /// What it carries back of what switches wrote on the way; empty where it carries nothing.
    pub telemetry: &'a [u8],
}

/// The congestion control of a queue pair.
#[derive(Clone, Debug)]
pub(crate) enum Controller {
    None,
    Dcqcn(Dcqcn),
    Timely(Timely),
    Hpcc(Hpcc),
}

impl Controller {
    /// For a queue pair that begins while the host sends `others`.
    pub fn new(settings: &HostSettings, others: u32) -> Self {
        let line = settings.rate;
        // TCP brings its own.
        let beside_tcp = matches!(settings.transport, Transport::NewReno(_));
        match settings.congestion_control {
            _ if beside_tcp => Self::None,
            CongestionControl::None => Self::None,
            CongestionControl::Dcqcn(dcqcn) => Self::Dcqcn(Dcqcn::new(dcqcn, line)),
            CongestionControl::Timely(timely) => Self::Timely(Timely::new(timely, line, others)),
            CongestionControl::Hpcc(hpcc) => {
                let wire_bytes = WireBytes::of_frame(settings.data_length(settings.mtu));
                let payload_share = f64::from(settings.mtu) / wire_bytes.0 as f64;
                Self::Hpcc(Hpcc::new(hpcc, line, payload_share))
            }
        }
    }

    /// The rate of the packet that starts at `now`; `None` for that of the port.
    #[inline]
    pub fn rate(&mut self, now: Nanos) -> Option<BitRate> {
        match self {
            Self::None => None,
            Self::Dcqcn(dcqcn) => dcqcn.rate(now),
            Self::Timely(timely) => Some(timely.rate()),
            Self::Hpcc(hpcc) => Some(hpcc.rate()),
        }
    }

    /// Bytes of the message that may be on their way; `None` where nothing limits them.
    #[inline]
    pub fn window(&self) -> Option<u64> {
        match self {
            Self::None | Self::Dcqcn(_) | Self::Timely(_) => None,
            Self::Hpcc(hpcc) => Some(hpcc.window()),
        }
    }

    /// Whether [`Acknowledgement::round_trip`] is wanted.
    pub fn measures_round_trips(&self) -> bool {
        match self {
            Self::None | Self::Dcqcn(_) | Self::Hpcc(_) => false,
            Self::Timely(_) => true,
        }
    }

    /// A packet of stored length `length` starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, length: Bytes) {
        match self {
            Self::None | Self::Hpcc(_) => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_sent(now, length),
            Self::Timely(timely) => timely.on_sent(length),
        }
    }

    /// An acknowledgement came, positive or negative.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Nanos, acknowledgement: &Acknowledgement<'_>) {
        match self {
            Self::None | Self::Dcqcn(_) => {}
            Self::Timely(timely) => timely.on_acknowledgement(now, acknowledgement),
            Self::Hpcc(hpcc) => {
                if let Ok(telemetry) = int::View::parse(acknowledgement.telemetry) {
                    let Acknowledgement { acknowledged, sent, .. } = *acknowledgement;
                    hpcc.acknowledge(now, acknowledged, sent, &telemetry.header());
                }
            }
        }
    }

    /// A congestion notification came.
    pub fn on_cnp(&mut self, now: Nanos) {
        match self {
            Self::None | Self::Timely(_) | Self::Hpcc(_) => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_cnp(now),
        }
    }
}
