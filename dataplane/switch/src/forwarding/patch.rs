//! Ports wired to each other in pairs.

use super::verdict::Verdict;
use crate::reason::DropReason;
use units::PortId;

/// The other end of each port.
pub(crate) struct Patch {
    verdicts: Vec<Verdict>,
}

impl Patch {
    pub fn new(pairs: &[(PortId, PortId)], ports: usize) -> Self {
        let mut verdicts = vec![Verdict::Drop(DropReason::NotConnected); ports];
        for &(one, other) in pairs {
            verdicts[one.index()] = Verdict::Forward(other);
            verdicts[other.index()] = Verdict::Forward(one);
        }
        Self { verdicts }
    }

    /// The verdict on every frame that comes in through `ingress`.
    #[inline]
    pub fn verdict(&self, ingress: PortId) -> Verdict {
        self.verdicts[ingress.index()]
    }
}
