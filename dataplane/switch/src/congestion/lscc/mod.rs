//! LSCC: link-segmented congestion control.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III. Both
//! ends of a long link run both modules. The *rate calculation* module looks at the queue of what came
//! in from the link and at how fast it leaves, and tells the other end a rate. The *rate limiting* module
//! lets what goes out fill a pseudo-queue that drains at the rate which it was told, and while that is
//! long sends CNPs to the senders behind it, directly, without the round trip over the long link.

mod advice;
mod announcer;
pub(crate) mod flow_table;
mod packet;
mod pseudo_queue;
mod rate_calculator;
mod rate_limiter;
pub(crate) mod resolver;

pub use advice::FeedbackCounters;
pub use flow_table::FlowCounters;
pub use rate_calculator::RateCounters;
pub use rate_limiter::LimiterCounters;
pub use resolver::{DataFlows, ResolverCounters};

pub(crate) use advice::Response;
pub(crate) use announcer::RateAnnouncer;
pub(crate) use packet::Way;
pub(crate) use rate_limiter::{Offer, Outgoing, RateLimiter};
