//! Messages of peer delay between the two ends of a link.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::link_delay::Meter;
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason};
use units::{Nanos, PortId, WireBytes};
use wire::ptp::{self, Ptp};

impl<F: Frame> Fabric<F> {
    /// Configures the measurement of each link of this shard by `program`.
    pub(super) fn configure_meters(&mut self, program: &Program) {
        for port in self.owned.iter() {
            let PortSettings { link_delay, mac, .. } = *program.port(port);
            match (link_delay, &mut self.meters[port.index()]) {
                (Some(settings), Some(meter)) => meter.configure(settings, mac),
                (settings, meter) => *meter = settings.map(|settings| Meter::new(settings, mac)),
            }
            match link_delay {
                Some(_) => self.metered.insert(port),
                None => self.metered.remove(port),
            }
        }
    }

    /// Consumes a gPTP frame, valid or not.
    #[cold]
    pub(super) fn receive_ptp(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let payload = frame.headers().get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        // The link as a whole has no VLAN (IEEE 802.1AS-2020 clause 11.3.3).
        let message = Ptp::parse(payload).ok().filter(|_| descriptor.pcp.is_none());
        let refused = match (&mut self.meters[port.index()], message) {
            (Some(meter), Some(Ptp::PeerDelay(message))) => {
                let frame_time = settings.rate.serialization().time_of(WireBytes::of_frame(frame.length()));
                let is_taken = meter.receive(now, frame_time, &message);
                (!is_taken).then_some(DropReason::PeerDelayLimit)
            }
            (Some(_), None) => Some(DropReason::MalformedControl),
            (None, _) | (_, Some(Ptp::Other(_))) => Some(DropReason::ForeignPtp),
        };
        match refused {
            Some(reason) => self.refuse(port, settings, reason, frame.length()),
            None => {
                let consumed = &mut self.ingress[port.index()].counters.consumed;
                consumed[Consumed::PeerDelay.index()].count(frame.length());
            }
        }
    }

    /// The next instant at which a message of peer delay can leave through `port`; never while none is due.
    #[inline(always)]
    pub(super) fn link_delay_deadline(&self, port: PortId) -> Nanos {
        if !self.metered.contains(port) {
            return Nanos::NEVER;
        }
        self.metered_until(port)
    }

    #[inline(never)]
    fn metered_until(&self, port: PortId) -> Nanos {
        let due = self.meters[port.index()].as_ref().map_or(Nanos::NEVER, Meter::deadline);
        if due == Nanos::NEVER { due } else { due.max(self.egress[port.index()].gate.link_opens_at()) }
    }

    /// Sends the messages of peer delay that are due: a response with its follow-up, and a request.
    #[inline(always)]
    pub(super) fn send_link_delay(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if self.metered.contains(port) {
            self.send_link_delay_now(now, port, out);
        }
    }

    #[inline(never)]
    fn send_link_delay_now(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let (egress, mac) = (&mut self.egress[port.index()], self.ingress[port.index()].mac);
        let Some(meter) = &mut self.meters[port.index()] else { return };
        while egress.gate.link_opens_at() <= now
            && let Some(message) = meter.message(now)
        {
            let mut control = ControlFrame::zeroed(ptp::FRAME_LEN as u8);
            // The frame has room for the message.
            let _length = message.emit(mac, control.bytes_mut());
            let start = egress.send_control(now, control.length());
            meter.sent(&message, start);
            out.control(start, &control);
        }
    }
}
