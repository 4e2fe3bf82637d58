//! The settings of LSCC on a long-haul port.

use core::net::Ipv4Addr;
use units::{BitRate, Interval, Priority, WireBytes};
use wire::ip::Dscp;

pub use wire::rate_feedback::Key as FeedbackKey;

/// Link-segmented congestion control on a port ("LSCC: Link-Segmented Congestion Control for RDMA in
/// Cross-Datacenter Networks", table II). Both ends of the link run both modules: each calculates
/// the rate at which it wants to be sent to, and limits what it sends to the rate that it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lscc {
    /// T: how often a rate is calculated and told to the other end, and how long a flow that was
    /// flagged stays so.
    pub interval: Interval,
    /// 2D: from the instant at which a rate is told until the first byte sent at that rate is here.
    pub round_trip: Interval,
    /// The rate calculation module.
    pub calculation: RateCalculation,
    /// The rate limiting module.
    pub limiting: RateLimiting,
    /// How the two ends speak to each other.
    pub feedback: Feedback,
}

/// The rate calculation module (algorithm 1), at the end that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateCalculation {
    /// Qref: the ingress queue that it aims at.
    pub reference: WireBytes,
    /// Delta R: the most that successive rates differ; `None` for no such clamp.
    pub step: Option<BitRate>,
    /// Rmin.
    pub least: BitRate,
    /// Rmax.
    pub most: BitRate,
}

/// The rate limiting module (algorithm 2), at the end that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimiting {
    /// Q*ref: above this pseudo-queue direct CNPs are sent.
    pub reference: WireBytes,
    /// How often a flow is sent a direct CNP, at most.
    pub cnp_interval: Interval,
    /// A flow that has sent less than this is young: it is sent direct CNPs whether or not it is
    /// flagged. At least one BDP of the link.
    pub long_flow: WireBytes,
    /// Of the CNPs from the far side, at most one per flow in this time is passed on; `None` passes
    /// them all.
    pub far_cnp_interval: Option<Interval>,
    /// How many flows are known at once, in both directions.
    pub flows: u32,
    /// A flow is forgotten when it has been idle for so long.
    pub ageing: Interval,
    /// DSCP of direct CNPs.
    pub cnp_dscp: Dscp,
    /// PCP of direct CNPs to a tagged flow.
    pub cnp_priority: Priority,
}

impl RateLimiting {
    /// The most flows that can be asked for.
    pub const MOST_FLOWS: u32 = 1 << 22;
}

/// The feedback message between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// From which address it is sent.
    pub local: Ipv4Addr,
    /// To which it is sent, and from which alone it is accepted.
    pub peer: Ipv4Addr,
    /// What both ends share; where it is set, only messages with a right tag are accepted.
    pub key: Option<FeedbackKey>,
    /// Its DSCP.
    pub dscp: Dscp,
}

impl Lscc {
    /// How many rates are on their way at a time: N, the round trip over T, rounded up.
    pub const fn rates_in_flight(&self) -> usize {
        self.round_trip.0.div_ceil(self.interval.0) as usize
    }
}
