//! From a queue onto the wire.

use super::Fabric;
use crate::egress::Departure;
use crate::frame::{ControlFrame, Frame, Transmitter};
use units::{Nanos, PortId};
use wire::{ethernet, pfc};

impl<F: Frame> Fabric<F> {
    pub fn egress(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        self.send_pauses(now, port, out);
        while out.room() > 0 {
            let egress = &mut self.egress[port.index()];
            let next = egress.dequeue(now, &mut self.store, &mut self.pools, &mut self.rng);
            let Some(Departure { start, priority, queued }) = next else { break };
            self.ledger.depart(self.id, queued.ingress, port, priority, queued.length());
            self.note_departure(queued.ingress);
            out.frame(start, queued.frame);
        }
        self.settle();
        self.publish();
        // What just left may have ended a pause: its XON need not wait for another call.
        self.send_pauses(now, port, out);
    }

    /// Sends the PFC frame that is due, if one is.
    #[inline]
    fn send_pauses(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let ingress = &mut self.ingress[port.index()];
        if ingress.pfc.deadline() > now {
            return;
        }
        let mut frame = ControlFrame::zeroed(ethernet::MIN_FRAME_LEN as u8);
        let start = self.egress[port.index()].send_control(now, frame.length());
        let pauses = pfc::Frame { source: ingress.mac, times: ingress.pfc.take_due(now, start) };
        if pauses.emit(frame.bytes_mut()).is_ok() {
            out.control(start, &frame);
        }
    }
}
