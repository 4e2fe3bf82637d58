//! Frames to and from the kernel.

use super::Fabric;
use super::arrival::{Arrival, Punted};
use crate::descriptor::Descriptor;
use crate::forwarding::Punt;
use crate::frame::Frame;
use crate::program::Program;
use crate::reason::DropReason;
use units::{Bytes, Nanos, PortId};

impl<F: Frame> Fabric<F> {
    pub fn make_room_for_punts(&mut self, frames: usize) {
        self.punted.reserve_exact(frames);
    }

    pub fn has_punts(&self) -> bool {
        !self.punted.is_empty()
    }

    /// Keeps a frame for the kernel, or drops it. It is counted when the kernel has taken it.
    #[cold]
    pub(super) fn punt(&mut self, arrival: Arrival, class: Punt, frame: F) {
        let reason = match self.ingress[arrival.port.index()].may_punt.take(arrival.now, class) {
            true if self.punted.len() < self.punted.capacity() => {
                self.punted.push(Punted { arrival, class, frame });
                return;
            }
            true => DropReason::PuntFull,
            false => DropReason::PuntLimit,
        };
        self.drop_punt(arrival, reason);
    }

    /// Shows a frame that was dropped for lack of a neighbour to the kernel, if that is not asked too often.
    #[cold]
    pub(super) fn miss(&mut self, arrival: Arrival, frame: F) {
        let has_room = self.punted.len() < self.punted.capacity();
        if has_room && self.ingress[arrival.port.index()].may_punt.take(arrival.now, Punt::Miss) {
            self.punted.push(Punted { arrival, class: Punt::Miss, frame });
        }
    }

    fn drop_punt(&mut self, arrival: Arrival, reason: DropReason) {
        let Arrival { port, priority, length, .. } = arrival;
        let ingress = &mut self.ingress[port.index()];
        ingress.counters.received[priority.index()].count(length);
        ingress.count_drop(priority, reason, length);
    }

    pub fn take_punts(&mut self, mut give: impl FnMut(PortId, Punt, &F) -> bool) {
        let mut punted = core::mem::take(&mut self.punted);
        for Punted { arrival, class, frame } in punted.drain(..) {
            let Arrival { port, length, .. } = arrival;
            let head = self.bundles.as_ref().map_or(port, |bundles| bundles.head(port));
            match (give(head, class, &frame), class.consumed()) {
                (true, Some(reason)) => {
                    self.ingress[port.index()].counters.consumed[reason.index()].count(length);
                }
                (false, Some(_)) => self.drop_punt(arrival, DropReason::PuntFull),
                (_, None) => {}
            }
        }
        self.punted = punted;
    }

    /// Queues a frame of the kernel at `port`, charged to that port like an answer. Without a buffer it is dropped.
    #[cold]
    pub fn inject(
        &mut self,
        now: Nanos,
        port: PortId,
        (length, frame): (Bytes, Option<F>),
        program: &Program,
    ) {
        let Some(kernel) = program.settings().forwarding.kernel_path() else { return };
        let priority = kernel.priority;
        let repairs = !self.repaired.is_empty();
        let is_ours = |descriptor: &Descriptor, frame: &F| {
            let is_ours = descriptor.ether_type != wire::repair::ETHER_TYPE || repairs;
            is_ours && descriptor.is_control(frame.headers())
        };
        let ingress = &mut self.ingress[port.index()];
        ingress.counters.answers[priority.index()].count(length);
        let Some(frame) = frame else { return ingress.count_drop(priority, DropReason::NoBuffer, length) };
        // Frames between the ends of a link are the switch's alone.
        let descriptor = Descriptor::parse(frame.headers(), length);
        let Some(descriptor) =
            descriptor.filter(|it| it.ether_type == wire::ethernet::EtherType::LLDP || !is_ours(it, &frame))
        else {
            ingress.count_drop(priority, DropReason::MalformedControl, length);
            return;
        };
        self.admit(Arrival { now, port, priority, queue: priority.into(), length, descriptor }, port, frame);
        self.settle();
        self.publish();
    }

    /// Whether the member `port` of a bundle sends.
    pub fn sends(&self, port: PortId) -> bool {
        !self.failover.stopped().contains(port)
    }
}
