//! A port whose receive ring is deep: its lossless priorities are paused, and lossy frames end at its entrance.

use super::Fabric;
use super::arrival::Entrance;
use super::services::is_rate_feedback;
use crate::descriptor::Descriptor;
use crate::frame::Frame;
use crate::reason::DropReason;
use units::PortId;

impl<F: Frame> Fabric<F> {
    pub fn set_ring_deep(&mut self, port: PortId, deep: bool) {
        self.ingress[port.index()].set_ring_deep(deep);
        self.paused.insert(port);
        self.resume_where_low();
    }

    /// Drops the lossy data frames of a burst before their headers cost more than a look, so that the core catches up.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_lossy(&mut self, entrance: &Entrance<'_>, burst: &mut Vec<F>) {
        let (ingress, settings) = (&mut self.ingress[entrance.port.index()], entrance.settings);
        burst.retain(|frame| {
            let (headers, length) = (frame.headers(), frame.length());
            // A runt has its own name.
            let Some(descriptor) = Descriptor::parse(headers, length) else { return true };
            let priority = settings.classification.priority(descriptor.dscp(), descriptor.pcp);
            let stays = ingress.lossless().contains(priority)
                || descriptor.is_control(headers)
                || is_rate_feedback(descriptor, headers);
            if !stays {
                ingress.counters.received[priority.index()].count(length);
                ingress.count_drop(priority, DropReason::ReceiveRing, length);
            }
            stays
        });
    }
}
