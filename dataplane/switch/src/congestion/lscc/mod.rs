//! LSCC: link-segmented congestion control.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III. Both
//! ends of a long link run both modules. The *rate calculation* module looks at the queue of what came
//! in from the link and at how fast it leaves, and advertises a rate to the other end. The *rate limiting* module
//! lets what goes out fill a pseudo-queue that drains at the rate which the other end advertises. While that queue is
//! long, it sends CNPs to the senders behind it, directly, without the round trip over the long link.
//!
//! Who sends through the port, and how a sender is reached, is known to [`flows`](crate::flows).

mod advertised_rate;
mod advertiser;
pub(crate) mod figures;
mod flow_states;
mod pseudo_queue;
mod rate_calculator;
mod rate_limiter;

pub use advertised_rate::FeedbackCounters;
pub use rate_calculator::RateCounters;
pub use rate_limiter::LimiterCounters;

pub(crate) use advertised_rate::Response;
pub(crate) use advertiser::RateAdvertiser;
pub(crate) use rate_limiter::{Outgoing, RateLimiter};
