//! The longest frames that may leave through a port.

use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use units::Bytes;
use wire::ethernet::{EtherType, HEADER_LEN, View};
use wire::vlan::TAG_LEN;

/// The lengths, without FCS, of the longest frames that may leave: those that the port promises, or shorter ones where its
/// device sends no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Longest {
    /// That of any frame.
    pub any: Bytes,
    /// That of a frame with a VLAN tag, for which Linux leaves room beyond the MTU.
    tagged: Bytes,
}

impl Longest {
    /// That of a port with these settings.
    pub fn of(settings: &PortSettings) -> Self {
        let sent = |extra: usize| {
            let by_device = settings.device_mtu.map(|mtu| mtu + Bytes((HEADER_LEN + extra) as u64));
            by_device.map_or(settings.max_frame, |longest| longest.min(settings.max_frame))
        };
        Self { any: sent(0), tagged: sent(TAG_LEN) }
    }

    /// Whether a frame of `length` with these `headers` may leave.
    #[inline]
    pub fn takes(self, length: Bytes, headers: &[u8]) -> bool {
        let is_tagged = || View::parse(headers).is_ok_and(|view| view.ether_type() == EtherType::VLAN);
        length <= self.any || (length <= self.tagged && is_tagged())
    }
}
