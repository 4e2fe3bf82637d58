//! A configuration before it is checked.

use super::forwarding::ForwardingSettings;
use super::port::PortSettings;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// A configuration before it is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The ports, in the order of their numbers: one at least, [`units::PortSet::CAPACITY`] at
    /// most.
    pub ports: Vec<PortSettings>,
    /// The buffer that they share.
    pub buffer: BufferSettings,
    /// The forwarding of frames.
    pub forwarding: ForwardingSettings,
    /// Seed of every random choice (RED, sprayed packets): the same seed and input give the same output.
    pub seed: u64,
}

/// The pools of the SONiC buffer model ("Empowering Azure Storage with RDMA", section 6.2 and
/// appendix A). They are counters over one memory, so their sum may exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferSettings {
    /// Shared part of the ingress pool, held by all frames (`size` of `ingress_pool`).
    pub shared: Bytes,
    /// Headroom pool, for lossless groups that are paused (`xoff` of `ingress_pool`). It may be
    /// smaller than the sum of the groups' headrooms: oversubscribed.
    pub headroom: Bytes,
    /// Egress pool of lossy queues (`size` of `egress_lossy_pool`): at most `shared`, so that
    /// lossy frames never take headroom.
    pub egress_lossy: Bytes,
    /// The memory of waiting frames, if they share the memory in which they came; `None` if each has memory of its
    /// own length (replay, simulation).
    pub packing: Option<Packing>,
}

/// The sharing of memory by waiting frames, if each came in memory for the longest frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// The number of frames of one shard that may wait in memory of their own before short ones are packed.
    pub whole: usize,
    /// Frames shorter than this are packed.
    pub below: Bytes,
    /// The number of frames for which there is memory in all: the queues never hold more at once.
    pub frames: usize,
}

impl Packing {
    /// Frames of each queue with memory of their own in addition to `whole`: those that come in and go out
    /// unpacked, whatever waits elsewhere, and the memory at both ends of the packed frames.
    pub const PER_QUEUE: usize = 2 * crate::queue::SEGMENT + 2;
}
