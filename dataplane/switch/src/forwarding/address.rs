//! Rewriting of the Ethernet addresses.

use wire::ethernet::{self, MacAddress};

/// Sets the addresses of the frame: from `source` to `destination`. Every frame here has a whole Ethernet header;
/// without one it would stay as it is.
#[inline]
pub(super) fn readdress(headers: &mut [u8], source: MacAddress, destination: MacAddress) {
    if let Ok(mut frame) = ethernet::View::parse(headers) {
        frame.set_destination(destination);
        frame.set_source(source);
    }
}
