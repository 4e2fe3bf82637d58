//! LSCC: link-segmented congestion control.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III. Both ends of a
//! long link run both modules. The *rate calculation* module observes the queue of frames from the link and the
//! rate at which they leave, and advertises a rate to the other end. The *rate limiting* module fills a
//! pseudo-queue with outgoing traffic, which drains at the rate that the other end advertises. While the
//! pseudo-queue is long, it sends CNPs directly to the senders behind it, without the round trip over the long
//! link.
//!
//! [`flows`](crate::flows) identifies the senders of a port and the way to them.

mod advertised_rate;
mod advertiser;
mod direct_int;
pub(crate) mod figures;
mod flow_states;
mod pseudo_queue;
mod rate_calculator;
mod rate_limiter;

pub use advertised_rate::FeedbackCounters;
pub use direct_int::DirectIntCounters;
pub use rate_calculator::RateCounters;
pub use rate_limiter::LimiterCounters;

pub(crate) use advertised_rate::Response;
pub(crate) use advertiser::RateAdvertiser;
pub(crate) use rate_limiter::{Outgoing, RateLimiter};
