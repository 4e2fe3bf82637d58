//! What buffers and groups hold at most.

use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Threshold};
use units::Bytes;

/// All that the buffer can hold, in whole cells: pools, and what is reserved beside them.
pub(crate) fn capacity(buffer: &BufferSettings, ports: &[PortSettings]) -> Bytes {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let reserved: Bytes = groups.map(|group| group.reserved).sum();
    buffer.shared + buffer.headroom + reserved
}

/// The highest level at which a lone group is paused. A dynamic threshold leaves free what it
/// does not hold, so a group alone gets `alpha / (1 + alpha)` of the pool.
pub(crate) fn highest_xoff(group: &LosslessGroup, buffer: &BufferSettings) -> Bytes {
    match group.xoff {
        Threshold::Static(level) => level,
        Threshold::Dynamic(_) => group.reserved + Bytes(alone(group.xoff, buffer.shared)),
    }
}

/// The same for any dynamic threshold of a pool; a fixed one is what it is.
pub(crate) fn alone(threshold: Threshold, pool: Bytes) -> u64 {
    match threshold {
        Threshold::Static(level) => level.0,
        Threshold::Dynamic(share) => {
            let alpha = 2_f64.powi(share.exponent().into());
            (pool.0 as f64 * alpha / (1.0 + alpha)) as u64
        }
    }
}
