//! Ports wired to each other in pairs.

use super::verdict::Verdict;
use crate::program::Settings;
use crate::reason::DropReason;
use units::PortId;

/// The other end of each port.
pub(crate) struct Patch {
    verdicts: Vec<Verdict>,
}

impl Patch {
    /// The patch of `pairs`, the first members of bundles among them.
    pub fn new(pairs: &[(PortId, PortId)], settings: &Settings) -> Self {
        let mut verdicts = vec![Verdict::Drop(DropReason::NotConnected); settings.ports.len()];
        for (one, other) in pairs.iter().flat_map(|&(one, other)| [(one, other), (other, one)]) {
            settings.members(one).iter().for_each(|it| verdicts[it.index()] = Verdict::Forward(other));
        }
        Self { verdicts }
    }

    /// The verdict on every frame that comes in through `ingress`.
    #[inline]
    pub fn verdict(&self, ingress: PortId) -> Verdict {
        self.verdicts[ingress.index()]
    }
}
