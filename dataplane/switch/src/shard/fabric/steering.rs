//! Frames that do not wait in the queue of their priority: those that bounce, and those for far ports.

use super::Fabric;
use super::arrival::Decision;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::program::Program;
use units::{PortId, QueueId};

impl<F: Frame> Fabric<F> {
    /// Takes a frame that came in through `port` out of its priority if it bounces, and gives it the queue of its far port.
    /// An answer leaves through its own port.
    #[inline(never)]
    pub(super) fn detour(
        &mut self,
        port: PortId,
        program: &Program,
        (mut priority, verdict, mut queue): Decision,
        descriptor: Descriptor,
        headers: &mut [u8],
    ) -> Decision {
        let egress = match verdict {
            Verdict::Forward(egress) => egress,
            Verdict::Answer(_) => port,
            Verdict::Flood | Verdict::Consume(_) | Verdict::Punt(_) | Verdict::Drop(_) => {
                return (priority, verdict, queue);
            }
        };
        if let Some(bounces) = program.bounces(port) {
            let (counters, came) = (&mut self.ingress[port.index()].bounces, priority);
            let (group, isolated) = bounces.remap(egress, came, &descriptor, headers, counters);
            (priority, queue) = (group, if isolated == came { queue } else { isolated.into() });
        }
        if matches!(verdict, Verdict::Forward(_)) {
            queue = self.steer(egress, queue, &descriptor, headers);
        }
        (priority, verdict, queue)
    }

    /// The queue at `egress` of a frame with these `headers`: where that port has queues for far ports, that of its far port
    /// and of the priority of `queue`. A frame that bounced has the queue of its isolated priority, and so have the others of
    /// that priority.
    pub(super) fn steer(
        &self,
        egress: PortId,
        queue: QueueId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> QueueId {
        if !self.steered.contains(egress) {
            return queue;
        }
        let egress = &self.egress[egress.index()];
        let (steering, priority) = (egress.steering(), egress.gate.pauses.priority(queue));
        let far = steering.zip(descriptor.destination(headers));
        far.map_or(priority.into(), |(it, address)| it.queue(address, priority))
    }
}
