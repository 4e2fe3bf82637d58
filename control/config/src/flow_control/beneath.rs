//! The group beneath a scheme that bounds its own arrivals.

use switch::program::{LosslessGroup, Threshold};
use units::Bytes;

use crate::defaults;
use crate::keys::queueing::LosslessDecl;
use crate::table::or;
use crate::value::SizeChoice;

/// A group whose scheme lets in `most`, on a port with frames of up to `max_frame`. PFC acts only if the scheme has
/// failed, so XOFF is that. All of it but one frame is reserved; the last frame comes from the pool.
pub(super) fn group(decl: &LosslessDecl, most: Bytes, headroom: Bytes, max_frame: Bytes) -> LosslessGroup {
    let xoff = or(&decl.threshold(), Threshold::Static(most));
    let reserved = match xoff {
        Threshold::Static(level) => most.min(level) - max_frame,
        Threshold::Dynamic(_) => most - max_frame,
    };
    let (xon, xon_offset) = defaults::resume(xoff, or(&decl.xon_offset, max_frame + max_frame), max_frame);
    let headroom = match decl.headroom.as_ref().map(|choice| choice.value) {
        Some(SizeChoice::Given(bytes)) => bytes,
        Some(SizeChoice::Auto) | None => headroom,
    };
    LosslessGroup {
        reserved: or(&decl.reserved, reserved),
        xoff,
        xon: or(&decl.xon, xon),
        xon_offset,
        headroom,
    }
}
