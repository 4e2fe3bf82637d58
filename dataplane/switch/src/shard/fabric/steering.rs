//! Frames that do not wait in the queue of their priority: those that bounce, and those for far ports.

use super::Fabric;
use super::arrival::Decision;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::program::Program;
use units::{PortId, QueueId};

impl<F: Frame> Fabric<F> {
    /// Whether frames that come in through `port` may wait in another queue than that of their priority. It is asked once
    /// for each burst.
    #[inline]
    pub(super) fn detours(&self, port: PortId, program: &Program) -> bool {
        !self.steered.is_empty() || program.bounces(port).is_some()
    }

    /// Takes a frame that came in through `port` out of its priority if it bounces, and gives it the queue of its far port.
    #[inline(never)]
    pub(super) fn detour(
        &mut self,
        port: PortId,
        program: &Program,
        mut decision: Decision,
        descriptor: Descriptor,
        headers: &mut [u8],
    ) -> Decision {
        if let Some(bounces) = program.bounces(port) {
            decision = self.bounce(port, bounces, decision, &descriptor, headers);
        }
        let (priority, verdict, queue) = decision;
        (priority, verdict, self.steered(verdict, queue, &descriptor, headers))
    }

    /// The queue of a frame: that of its far port and of the priority of `queue` where the egress port has such queues, or
    /// else `queue`.
    pub(super) fn steered(
        &self,
        verdict: Verdict,
        queue: QueueId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> QueueId {
        match verdict {
            Verdict::Forward(egress) if self.steered.contains(egress) => {
                self.steer(egress, queue, descriptor, headers)
            }
            _ => queue,
        }
    }

    /// The queue for the far port of a frame with these `headers`, at a port that has such queues. A frame that bounced has
    /// the queue of its isolated priority, and so have the others of the priority of `queue`.
    pub(super) fn steer(
        &self,
        egress: PortId,
        queue: QueueId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> QueueId {
        let egress = &self.egress[egress.index()];
        let (steering, priority) = (egress.steering(), egress.gate.pauses.priority(queue));
        let far = steering.zip(descriptor.destination(headers));
        far.map_or(priority.into(), |(it, address)| it.queue(address, priority))
    }
}
