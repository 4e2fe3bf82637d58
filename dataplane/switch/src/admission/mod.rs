//! Admission to the buffer: the SONiC model ("Empowering Azure Storage with RDMA", section 6.2 and appendix A).
//! Lossless frames are admitted at ingress only, lossy ones at egress only.
//!
//! Several shards share the pools. Each publishes its own use, and the others read it once per burst, so their view
//! may lack the frames that each other shard admitted during one burst. This is the one place where occupancy can
//! be underestimated: leave `(shards - 1) x burst x longest frame` of memory beyond the pools. Lanes share the groups,
//! too, and publish once a turn: [`crate::lanes::unseen`] is what the others miss of one.

mod group;
mod lossy;
mod pools;

pub(crate) use group::{Group, Others, Part};
pub(crate) use lossy::LossyAccount;
pub(crate) use pools::{Pool, Pools};
