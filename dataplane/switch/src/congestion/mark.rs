//! Congestion experienced: RFC 3168 section 5.

use wire::ip::Ecn;
use wire::{ipv4, ipv6};

/// What became of a frame that was to be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marking {
    Marked,
    /// It said so already.
    Already,
}

/// Marks the packet whose IP header starts at `ip_offset` and says that its transport understands
/// ECN. The IPv4 checksum follows; no ICRC covers these bits.
pub(crate) fn mark_congestion(headers: &mut [u8], ip_offset: u8) -> Marking {
    let packet = headers.get_mut(usize::from(ip_offset)..).unwrap_or_default();
    // The length was checked at ingress; only the header is of interest here.
    if packet.first().is_some_and(|first| first >> 4 == 6) {
        if let Ok(mut ip) = ipv6::View::parse_head(packet, usize::MAX) {
            let already = ip.ecn() == Ecn::Ce;
            ip.set_ecn(Ecn::Ce);
            return if already { Marking::Already } else { Marking::Marked };
        }
    } else if let Ok(mut ip) = ipv4::View::parse_head(packet, usize::MAX) {
        let already = ip.ecn() == Ecn::Ce;
        ip.set_ecn(Ecn::Ce);
        return if already { Marking::Already } else { Marking::Marked };
    }
    Marking::Already
}
