//! Congestion experienced: RFC 3168 section 5.

use wire::ip::Ecn;
use wire::{ipv4, ipv6};

/// The result of marking a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marking {
    Marked,
    /// It had the mark already.
    Already,
}

/// Marks the packet whose IP header starts at `ip_offset`. Its transport must understand ECN.
pub(crate) fn mark_congestion(headers: &mut [u8], ip_offset: u8) -> Marking {
    match set_ecn(headers, ip_offset, Ecn::Ce) {
        Some(Ecn::Ce) | None => Marking::Already,
        Some(_) => Marking::Marked,
    }
}

/// Sets the ECN bits of the packet whose IP header starts at `ip_offset`, and returns the former bits. The IPv4
/// checksum is updated; no ICRC covers these bits.
pub(crate) fn set_ecn(headers: &mut [u8], ip_offset: u8, ecn: Ecn) -> Option<Ecn> {
    let packet = headers.get_mut(usize::from(ip_offset)..)?;
    if packet.first()? >> 4 == 6 {
        let mut ip = ipv6::View::known(packet);
        let before = ip.ecn();
        ip.set_ecn(ecn);
        return Some(before);
    }
    let mut ip = ipv4::View::known(packet);
    let before = ip.ecn();
    ip.set_ecn(ecn);
    Some(before)
}
