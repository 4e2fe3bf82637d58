//! Congestion control, which sets the sending rate of a queue pair.
//!
//! Each algorithm is a state machine in its own file, driven by timestamped events. Rates count bits on the
//! wire, including preamble and gap, so the port's rate is the full line rate.

mod acknowledgement;
pub(crate) mod dcqcn;
pub(crate) mod hpcc;
pub(crate) mod timely;

pub(crate) use acknowledgement::{Acknowledgement, Returned};

use crate::settings::{CongestionControl, HostSettings, Transport};
use dcqcn::Dcqcn;
use hpcc::Hpcc;
use serde::{Deserialize, Serialize};
use timely::Timely;
use units::{BitRate, Bytes, Nanos, WireBytes};
use wire::roce::direct_int::Content;

/// The congestion control of a queue pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Controller {
    None,
    Dcqcn(Dcqcn),
    Timely(Timely),
    Hpcc(Hpcc),
}

impl Controller {
    /// The controller of a queue pair that starts while the host sends `others` flows.
    pub fn new(settings: &HostSettings, others: u32) -> Self {
        let line = settings.rate;
        // TCP has its own congestion control.
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

    /// The rate of the packet that starts at `now`; `None` for the port's rate.
    #[inline]
    pub fn rate(&mut self, now: Nanos) -> Option<BitRate> {
        match self {
            Self::None => None,
            Self::Dcqcn(dcqcn) => dcqcn.rate(now),
            Self::Timely(timely) => Some(timely.rate()),
            Self::Hpcc(hpcc) => Some(hpcc.rate(now)),
        }
    }

    /// Bytes of the message that may be in flight; `None` if unlimited.
    #[inline]
    pub fn window(&self) -> Option<u64> {
        match self {
            Self::None | Self::Dcqcn(_) | Self::Timely(_) => None,
            Self::Hpcc(hpcc) => Some(hpcc.window()),
        }
    }

    /// Whether it uses [`Acknowledgement::round_trip`].
    pub fn measures_round_trips(&self) -> bool {
        match self {
            Self::None | Self::Dcqcn(_) | Self::Hpcc(_) => false,
            Self::Timely(_) => true,
        }
    }

    /// Counts a packet of stored length `length` that starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, length: Bytes) {
        match self {
            Self::None | Self::Hpcc(_) => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_sent(now, length),
            Self::Timely(timely) => timely.on_sent(length),
        }
    }

    /// Handles an acknowledgement, positive or negative.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Nanos, acknowledgement: &Acknowledgement<'_>) {
        match self {
            Self::None | Self::Dcqcn(_) => {}
            Self::Timely(timely) => timely.on_acknowledgement(now, acknowledgement),
            Self::Hpcc(hpcc) => {
                hpcc.pass(now);
                if let Some(telemetry) = &acknowledgement.telemetry {
                    let Acknowledgement { acknowledged, sent, .. } = *acknowledgement;
                    hpcc.acknowledge(now, acknowledged, sent, &telemetry.header());
                }
            }
        }
    }

    /// Handles a direct INT. Returns whether it understands it.
    pub fn on_direct_int(&mut self, now: Nanos, content: &Content) -> bool {
        match self {
            Self::None | Self::Timely(_) | Self::Dcqcn(_) => false,
            Self::Hpcc(hpcc) => hpcc.direct_int(now, content),
        }
    }

    /// Handles a congestion notification.
    pub fn on_cnp(&mut self, now: Nanos) {
        match self {
            Self::None | Self::Timely(_) | Self::Hpcc(_) => {}
            Self::Dcqcn(dcqcn) => dcqcn.on_cnp(now),
        }
    }
}
