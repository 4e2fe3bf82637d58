//! A configuration before it is checked.

use super::forwarding::ForwardingSettings;
use super::port::PortSettings;
use units::Bytes;

/// A configuration before it is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The ports, in the order of their numbers: one at least, [`units::PortSet::CAPACITY`] at
    /// most.
    pub ports: Vec<PortSettings>,
    /// The buffer that they share.
    pub buffer: BufferSettings,
    /// Where frames go.
    pub forwarding: ForwardingSettings,
    /// Seed of every random choice (RED): the same seed and input give the same output.
    pub seed: u64,
}

/// The pools of the SONiC buffer model ("Empowering Azure Storage with RDMA", section 6.2 and
/// appendix A). They are counters over one memory, so their sum may exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSettings {
    /// Shared part of the ingress pool, held by all frames (`size` of `ingress_pool`).
    pub shared: Bytes,
    /// Headroom pool, for lossless groups that are paused (`xoff` of `ingress_pool`). It may be
    /// smaller than the sum of the groups' headrooms: oversubscribed.
    pub headroom: Bytes,
    /// Egress pool of lossy queues (`size` of `egress_lossy_pool`): at most `shared`, so that
    /// lossy frames never take headroom.
    pub egress_lossy: Bytes,
    /// How frames that wait share the memory in which they came; `None` where each has memory of its own length
    /// (replay, simulation).
    pub packing: Option<Packing>,
}

/// How frames that wait share memory which is as large, for each of them, as the longest frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// How many frames of one shard may wait in memory of their own before short ones are packed.
    pub whole: usize,
    /// Frames of less than this are short.
    pub below: Bytes,
    /// How many frames there is memory for in all: the queues never hold more at once.
    pub frames: usize,
}

impl Packing {
    /// Frames of each queue that have memory of their own beside those in `whole`: as many as come in and go out
    /// unpacked, whatever waits elsewhere, and the memory at both ends of what is packed.
    pub const PER_QUEUE: usize = 2 * crate::queue::SEGMENT + 2;
}
