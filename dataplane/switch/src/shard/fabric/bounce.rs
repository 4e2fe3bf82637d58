//! The remap of frames that bounce.

use super::Fabric;
use super::arrival::Decision;
use crate::descriptor::Descriptor;
use crate::forwarding::{Bounces, Verdict};
use crate::frame::Frame;
use units::PortId;

impl<F: Frame> Fabric<F> {
    /// Remaps a frame that came in through `port` if it bounces; an answer leaves through its own port.
    #[inline(never)]
    pub(super) fn bounce(
        &mut self,
        port: PortId,
        bounces: &Bounces,
        decision: Decision,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) -> Decision {
        let (priority, verdict, queue) = decision;
        let egress = match verdict {
            Verdict::Forward(egress) => egress,
            Verdict::Answer(_) => port,
            Verdict::Flood | Verdict::Consume(_) | Verdict::Drop(_) => return decision,
        };
        let counters = &mut self.ingress[port.index()].bounces;
        let (group, isolated) = bounces.remap(egress, priority, descriptor, headers, counters);
        (group, verdict, if isolated == priority { queue } else { isolated.into() })
    }
}
