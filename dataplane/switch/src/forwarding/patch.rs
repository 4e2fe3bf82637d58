//! Ports wired to each other in pairs.

use super::{Verdict, known_port};
use crate::program::{PortSettings, ProgramError};
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

    /// What becomes of every frame that comes in through `ingress`.
    #[inline]
    pub fn verdict(&self, ingress: PortId) -> Verdict {
        self.verdicts[ingress.index()]
    }
}

pub(super) fn validate(pairs: &[(PortId, PortId)], ports: &[PortSettings]) -> Result<(), ProgramError> {
    let mut patched = vec![false; ports.len()];
    for &(one, other) in pairs {
        for port in [one, other] {
            known_port(port, "a patch", ports)?;
        }
        if one == other {
            return Err(ProgramError::PatchedToItself { port: ports[one.index()].name.clone() });
        }
        for port in [one, other] {
            if core::mem::replace(&mut patched[port.index()], true) {
                return Err(ProgramError::PatchedTwice { port: ports[port.index()].name.clone() });
            }
        }
    }
    Ok(())
}
