//! The direct path of a lone frame.

use super::Fabric;
use super::arrival::Arrival;
use crate::frame::{Frame, Links};
use crate::ledger::Load;
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    /// Sends a lone frame at once if its egress port is idle and no threshold or pause is near, and returns its
    /// start on the link. The frame is charged and credited within the call, with the same totals, watermarks and
    /// histograms as a frame that waits.
    #[inline(always)]
    pub(super) fn pass(&mut self, arrival: &Arrival, egress: PortId, links: &impl Links<F>) -> Option<Nanos> {
        let Arrival { now, port, priority, queue, length, .. } = *arrival;
        let is_owned = self.owned.contains(egress);
        let Self { id, ledger, ingress, egress: ports, pools, .. } = self;
        let from = &ingress[port.index()];
        let group = &from.groups[priority.index()];
        let (lossless, load) = (group.is_lossless(), Load::of_frame(length));
        let may_pass = is_owned
            && self.paused.is_empty()
            && !ingress[egress.index()].is_due(now)
            && group.has_room(load.cells, pools)
            && ports[egress.index()].may_pass(now, length, queue, lossless, pools)
            && links.takes(egress);
        if !may_pass {
            return None;
        }
        ledger.admit(port, egress, priority, load);
        ledger.depart(*id, port, egress, priority, load);
        ingress[port.index()].pass_within_room(priority, load, ledger, pools);
        Some(ports[egress.index()].pass(now, length, queue, lossless, pools))
    }
}
