//! Defaults that depend on other keys. docs/configuration.md explains each.

use switch::program::{DynamicThreshold, LossyQueue, QueueSettings, Scheduling, Threshold};
use units::{BitRate, Bytes, Interval, PauseQuanta, Priority};

/// Alpha = 1/8, as in appendix A of "Empowering Azure Storage with RDMA".
pub(crate) const XOFF_DYNAMIC_TH: i8 = -3;
/// Alpha = 2.
const LOSSY_DYNAMIC_TH: i8 = 1;
/// The longest pause, which most switches send.
pub(crate) const PAUSE: PauseQuanta = PauseQuanta::MAX;

/// Rmin of LSCC: 1 % of `most`, at least 10 Mb/s, and never more than `most`.
pub(crate) fn least_rate(most: BitRate) -> BitRate {
    let least = (most.bits_per_second() / 100).max(10_000_000);
    BitRate::new(least).map_or(most, |least| least.min(most))
}

/// Half a slot: enough for a pause frame that has to wait, and a short stop if the next one is lost.
pub(crate) const fn holdover(slot: Interval) -> Interval {
    Interval(slot.0 / 2)
}

/// A threshold at 2^`exponent` of the free pool, for constants of this crate.
pub(crate) const fn share(exponent: i8) -> Threshold {
    match DynamicThreshold::new(exponent) {
        Some(threshold) => Threshold::Dynamic(threshold),
        None => panic!("an exponent of -8 to 8"),
    }
}

/// Three quarters of the pool, so that lossy frames leave a quarter to lossless ones; all of it if nothing is
/// lossless.
pub(crate) const fn egress_lossy(shared: Bytes, any_lossless: bool) -> Bytes {
    if any_lossless { Bytes(shared.0 - shared.0 / 4) } else { shared }
}

/// Two frames below XOFF, but never below its half.
fn xon_below(xoff: Bytes, max_frame: Bytes) -> Bytes {
    Bytes(xoff.0 / 2).max(xoff - max_frame - max_frame)
}

/// The default XON and `xon_offset` of a group. A fixed threshold has XON below it and no offset; a dynamic one has
/// an XON of one frame, and `offset`.
pub(crate) fn resume(xoff: Threshold, offset: Bytes, max_frame: Bytes) -> (Bytes, Bytes) {
    match xoff {
        Threshold::Static(level) => (xon_below(level, max_frame), Bytes::ZERO),
        Threshold::Dynamic(_) => (max_frame, offset),
    }
}

/// The default burst: two frames, or 10 us at `rate` if that is more.
pub(crate) fn burst(rate: BitRate, max_frame: Bytes) -> Bytes {
    Bytes(rate.bytes_in(Interval::from_micros(10))).max(max_frame + max_frame)
}

/// The default queue of `priority`. 6 and 7 carry CNPs and the network's own protocols, so they are strict; the
/// others share the link evenly.
pub(crate) fn queue(priority: Priority, max_frame: Bytes) -> QueueSettings {
    let strict = priority.number() >= 6;
    QueueSettings {
        priority,
        scheduling: if strict { Scheduling::Strict } else { Scheduling::Weighted(1) },
        rate_limit: None,
        red: None,
        lossy: LossyQueue { reserved: max_frame, threshold: const { share(LOSSY_DYNAMIC_TH) } },
    }
}
