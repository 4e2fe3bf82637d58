//! From a queue onto the wire.

use super::Fabric;
use crate::egress::Turn;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::program::Program;
use units::{Nanos, PortId};
use wire::{ethernet, pfc};

impl<F: Frame> Fabric<F> {
    pub fn egress(&mut self, now: Nanos, port: PortId, program: &Program, out: &mut impl Transmitter<F>) {
        self.changed.insert(port);
        self.call_scheme(now, port);
        self.watch(now, port);
        self.send_pauses(now, port, out);
        self.run_lscc(now, port, program, out);
        while out.room() > 0 {
            let Some(turn) = self.egress[port.index()].next_turn(now, &self.store) else { break };
            if !self.serve(now, port, turn, out) {
                break;
            }
        }
        self.settle();
        self.publish();
        // What just left may have ended a pause: its XON need not wait for another call.
        self.send_pauses(now, port, out);
    }

    /// Sends frames of one queue for as long as its turn lasts. Successive frames from one ingress
    /// port are credited together. Returns whether any left: none does where there is no memory to unpack it into.
    #[inline]
    fn serve(&mut self, now: Nanos, port: PortId, turn: Turn, out: &mut impl Transmitter<F>) -> bool {
        let Self { id, ledger, egress, store, pools, rng, owned, unsettled, .. } = self;
        egress[port.index()].serve(now, turn, (store, pools, rng), out, |ingress, group, load| {
            if load.volume.frames > 0 {
                ledger.depart(*id, ingress, port, group, load);
                if owned.contains(ingress) {
                    unsettled.insert(ingress);
                }
            }
        })
    }

    /// Sends the PFC frame that is due, if one is. While the link is busy beyond the window it
    /// waits like any frame, so that what changes meanwhile is said once and not frame by frame.
    #[inline(always)]
    fn send_pauses(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if self.pauses_due_at(port) <= now {
            self.send_pauses_now(now, port, out);
        }
    }

    #[inline(never)]
    fn send_pauses_now(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let ingress = &mut self.ingress[port.index()];
        let mut frame = ControlFrame::zeroed(ethernet::MIN_FRAME_LEN as u8);
        let start = self.egress[port.index()].send_control(now, frame.length());
        let pauses = pfc::Frame { source: ingress.mac, times: ingress.pauses.take_due(now, start) };
        if pauses.emit(frame.bytes_mut()).is_ok() {
            out.control(start, &frame);
        }
    }
}
