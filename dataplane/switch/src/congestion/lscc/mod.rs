//! LSCC: link-segmented congestion control.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III. Both ends of a
//! long link run both modules. The *rate calculation* module observes the queue of frames from the link and the
//! rate at which they leave, and advertises a rate to the other end. The *rate limiting* module fills a
//! pseudo-queue with outgoing traffic, which drains at the rate that the other end advertises. While the
//! pseudo-queue is long, it sends CNPs directly to the senders behind it, without the round trip over the long
//! link.
//!
//! `flows` identifies the senders of a port and the way to them.

mod advertised_rate;
mod advertiser;
mod check;
mod direct_int;
pub(crate) mod figures;
mod flow_states;
mod pseudo_queue;
mod rate_calculator;
mod rate_limiter;
pub(crate) mod settings;

pub use advertised_rate::FeedbackCounters;
pub use direct_int::DirectIntCounters;
pub use rate_calculator::RateCounters;
pub use rate_limiter::LimiterCounters;

pub(crate) use advertised_rate::Response;
pub(crate) use advertiser::RateAdvertiser;
pub(crate) use check::validate_together;
pub(crate) use rate_limiter::RateLimiter;

use units::{BitRate, WireBytes};

/// LSCC on one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsccReport {
    /// The rates that it advertised to the other end.
    pub rates: RateCounters,
    /// The feedback messages that came in.
    pub feedback: FeedbackCounters,
    /// The rate that the other end advertised last; `None` once it has lapsed.
    pub received_rate: Option<BitRate>,
    /// The number of times a limit lapsed because messages failed to come.
    pub lapsed: u64,
    /// The length of the pseudo-queue, as of the last frame or interval.
    pub pseudo_queue: WireBytes,
    /// The greatest length of the pseudo-queue.
    pub longest_pseudo_queue: WireBytes,
    /// The counters of the rate limiting module.
    pub limiter: LimiterCounters,
}

impl LsccReport {
    /// Adds what the limiter of another lane has counted. The rates and the pseudo-queue are the lead's.
    pub(crate) fn add_lane(&mut self, lane: &Self) {
        let LimiterCounters {
            direct_cnps,
            marked_instead,
            not_notified,
            marks_removed,
            far_cnps,
            far_cnps_unknown,
            far_cnps_suppressed,
            congested_intervals,
            direct_int: _,
        } = &lane.limiter;
        let sum = &mut self.limiter;
        sum.direct_cnps += direct_cnps;
        sum.marked_instead += marked_instead;
        sum.not_notified += not_notified;
        sum.marks_removed += marks_removed;
        sum.far_cnps += far_cnps;
        sum.far_cnps_unknown += far_cnps_unknown;
        sum.far_cnps_suppressed += far_cnps_suppressed;
        sum.congested_intervals += congested_intervals;
    }

    /// A lane that does not lead has no advertiser.
    pub(crate) fn new(limiter: &RateLimiter, advertiser: Option<&RateAdvertiser>) -> Self {
        let (pseudo_queue, longest_pseudo_queue) = limiter.pseudo_queue();
        Self {
            rates: advertiser.map(|it| *it.counters()).unwrap_or_default(),
            feedback: *limiter.advertised().counters(),
            received_rate: limiter.advertised().last_rate(),
            lapsed: limiter.advertised().lapsed(),
            pseudo_queue,
            longest_pseudo_queue,
            limiter: limiter.counters,
        }
    }
}
