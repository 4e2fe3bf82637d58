//! Maximum occupancy of buffers and groups.

use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Threshold};
use units::{Bytes, Cells, Interval, WireBytes};

/// The capacity of the buffer in whole cells: its pools and all reserved bytes.
pub(crate) fn capacity(buffer: &BufferSettings, ports: &[PortSettings]) -> Bytes {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let reserved: Bytes = groups.map(|group| group.reserved).sum();
    buffer.shared + buffer.headroom + reserved
}

/// The highest occupancy at which a group is paused. With a dynamic threshold, a group that has the pool to itself
/// gets `alpha / (1 + alpha)` of it.
pub(crate) fn highest_xoff(group: &LosslessGroup, buffer: &BufferSettings) -> Bytes {
    match group.xoff {
        Threshold::Static(level) => level,
        Threshold::Dynamic(_) => group.reserved + Bytes(alone(group.xoff, buffer.shared)),
    }
}

/// The most that the lossless groups of `port` may hold: XOFF, of a dynamic threshold the highest, and headroom. What they
/// share of the pool is at most the pool. `None` if there are none.
pub fn may_hold(port: &PortSettings, buffer: &BufferSettings) -> Option<Bytes> {
    let groups = || port.groups.iter().filter_map(GroupSettings::lossless);
    groups().next()?;
    let fixed: Bytes = groups().map(|group| group.reserved + group.headroom).sum();
    let shared: Bytes =
        groups().map(|group| highest_xoff(group, buffer).saturating_sub(group.reserved)).sum();
    Some(fixed + shared.min(buffer.shared))
}

/// The least XON with which an egress port of the rate of `port` never runs dry: after XON is passed, what is still queued lasts for
/// the `round_trip` until the first new frame arrives ("Minimizing Buffer Utilization for Lossless Inter-DC Links",
/// section III-B: `2 Rd D`). What repair holds may not leave, and comes on top. In cells, which frames of the worst lengths
/// need.
pub(crate) fn least_xon(port: &PortSettings, round_trip: Interval) -> Bytes {
    Cells::of_any_mix(WireBytes(port.rate.bytes_in(round_trip)) + port.repaired_in_flight()).bytes()
}

/// The highest level of a threshold, in bytes: for a dynamic one, that of a single user of the pool.
pub(crate) fn alone(threshold: Threshold, pool: Bytes) -> u64 {
    match threshold {
        Threshold::Static(level) => level.0,
        Threshold::Dynamic(share) => {
            let alpha = 2_f64.powi(share.exponent().into());
            (pool.0 as f64 * alpha / (1.0 + alpha)) as u64
        }
    }
}

/// Changes the size of the shared pool, of which lossy frames keep their share.
pub(crate) fn set_shared(buffer: &mut BufferSettings, shared: Bytes) {
    let lossy = u128::from(buffer.egress_lossy.0) * u128::from(shared.0);
    let lossy = lossy / u128::from(buffer.shared.0.max(1));
    (buffer.shared, buffer.egress_lossy) = (shared, Bytes(lossy as u64).min(shared));
}

/// The part of the shared pool that stays shared: half of it, or as much as fixed thresholds need.
pub(crate) fn least_shared(ports: &[PortSettings], buffer: &BufferSettings) -> Bytes {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let fixed = groups.filter_map(|group| match group.xoff {
        Threshold::Static(xoff) => Some(xoff - group.reserved),
        Threshold::Dynamic(_) => None,
    });
    fixed.fold(Bytes(buffer.shared.0.div_ceil(2)), Bytes::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switch::program::DynamicThreshold;
    use units::BitRate;
    use wire::ethernet::MacAddress;

    fn group(xoff: Threshold) -> GroupSettings {
        let (reserved, headroom) = (Bytes(4_000), Bytes(500_000));
        let (xon, xon_offset) = (Bytes::ZERO, Bytes::ZERO);
        GroupSettings::Lossless(LosslessGroup { reserved, xoff, xon, xon_offset, headroom })
    }

    #[test]
    fn a_port_may_hold_the_highest_xoff_and_the_headroom_of_each_lossless_group_whatever_its_scheme() {
        let mut port = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(100));
        let shared = Bytes(5_000_000);
        let buffer =
            BufferSettings { shared, headroom: Bytes(1_000_000), egress_lossy: shared, packing: None };
        assert_eq!(may_hold(&port, &buffer), None);
        port.groups[3] = group(Threshold::Static(Bytes(1_000_000)));
        assert_eq!(
            may_hold(&port, &buffer),
            Some(Bytes(1_500_000)),
            "a static XOFF includes what is reserved"
        );
        port.groups[4] = group(Threshold::Dynamic(DynamicThreshold::new(2).unwrap()));
        assert_eq!(
            may_hold(&port, &buffer),
            Some(Bytes(6_004_000)),
            "4/5 of the pool above what is reserved"
        );
        port.groups[5] = port.groups[4];
        assert_eq!(may_hold(&port, &buffer), Some(Bytes(6_512_000)), "the pool is there once");
    }
}
