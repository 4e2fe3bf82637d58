//! Rewriting of the Ethernet addresses.

use wire::ethernet::{self, MacAddress};

/// Addresses the frame from `source` to `destination`. Every frame that gets here has a whole
/// Ethernet header; one that has not would be left as it is.
#[inline]
pub(super) fn readdress(headers: &mut [u8], source: MacAddress, destination: MacAddress) {
    if let Ok(mut frame) = ethernet::View::parse(headers) {
        frame.set_destination(destination);
        frame.set_source(source);
    }
}
