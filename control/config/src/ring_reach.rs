//! What the receive ring of a port covers while its core is too slow.

use switch::receive_ring::RingRoom;
use units::{BitRate, Bytes, Interval, WireBytes};

/// The receive ring of a port with lossless priorities, whose `distance` is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RingReach {
    /// The name of the port.
    pub port: String,
    /// Its rate.
    pub rate: BitRate,
    /// Descriptors of the ring.
    pub descriptors: u32,
    /// Whether the device tells how many frames are unread, as cards do.
    pub is_told: bool,
    /// The time from the departure of a pause until the last frame before it has arrived.
    pub stops_within: Interval,
    /// The stated lateness of the worker.
    pub lateness: Interval,
}

impl RingReach {
    /// The shortest mean frame length on the wire down to which the ring holds what comes until a pause takes effect. All ports
    /// of the core bring such frames, `sum` of rate, and share its `capacity` in frames per second by their rates. Rounded
    /// up. `None` if the ring does not even hold what comes while the worker is late.
    pub fn least_mean(&self, capacity: u64, sum: BitRate) -> Option<WireBytes> {
        let Self { rate, descriptors, is_told, stops_within, lateness, .. } = *self;
        let (bits, shortest) = (rate.bits_per_second(), WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)));
        let share = u128::from(capacity) * u128::from(bits) / u128::from(sum.bits_per_second());
        // No more come than the link brings.
        let carried = u64::try_from(share).unwrap_or(capacity).min(bits / (8 * shortest.0)).max(1);
        let most = RingRoom { descriptors, carried, stops_within, lateness }.most_arriving()?;
        // Without a word of the device, a quarter of the ring has to be read first, while as much again may come.
        let most = if is_told { most } else { most.min(carried.saturating_mul(2)) };
        Some(WireBytes(bits.div_ceil(most.saturating_mul(8))).max(shortest))
    }
}
