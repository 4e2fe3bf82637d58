//! LSCC: link-segmented congestion control.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III.

mod packet;
pub(crate) mod rate_calculator;
