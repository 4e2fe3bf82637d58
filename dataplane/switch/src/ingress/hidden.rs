//! Frames whose headers are hidden: their DSCP and their flow cannot be read.

use crate::descriptor::{Descriptor, Hidden};
use serde::{Deserialize, Serialize};

/// Frames that came in through a port with headers that are hidden. They are forwarded by address, and have the priority of
/// an outer VLAN tag, if the port trusts it, or else the default one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenCounters {
    /// Frames of MACsec.
    pub macsec: u64,
    /// Frames with a VLAN tag that is not read: of type 0x9100, or the third one, or one that is cut off.
    pub tagged: u64,
}

impl HiddenCounters {
    /// Counts the frame of `descriptor` if its headers are hidden.
    #[inline(always)]
    pub(crate) fn see(&mut self, descriptor: &Descriptor) {
        if let Some(hidden) = descriptor.hidden_behind() {
            self.count(hidden);
        }
    }

    #[cold]
    fn count(&mut self, hidden: Hidden) {
        *match hidden {
            Hidden::Macsec => &mut self.macsec,
            Hidden::Tag => &mut self.tagged,
        } += 1;
    }
}
