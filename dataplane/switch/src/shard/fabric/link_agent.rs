//! LLDPDUs between the two ends of a link.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::frame::{Frame, Transmitter};
use crate::link_agent::Agent;
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PortId};
use wire::ethernet;
use wire::lldp::LONGEST_EMITTED;

impl<F: Frame> Fabric<F> {
    /// Configures the link agent of each port of this shard by `program`.
    pub(super) fn configure_agents(&mut self, program: &Program) {
        for port in self.owned.iter() {
            match (&program.port(port).link_agent, &mut self.agents[port.index()]) {
                (Some(settings), Some(agent)) => agent.configure(settings),
                (settings, agent) => *agent = settings.as_ref().map(|it| Box::new(Agent::new(it))),
            }
            match self.agents[port.index()] {
                Some(_) => self.announcing.insert(port),
                None => self.announcing.remove(port),
            }
        }
    }

    /// Lets the link agents announce that their ports stop.
    #[cold]
    pub fn shut_down_agents(&mut self) {
        for port in self.announcing.iter() {
            if let Some(agent) = &mut self.agents[port.index()] {
                agent.shut_down();
            }
            self.changed.insert(port);
        }
    }

    /// Consumes an LLDPDU, valid or not.
    #[cold]
    pub(super) fn receive_lldp(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let (headers, agent) = (frame.headers(), self.agents[port.index()].as_deref_mut());
        let lldpdu = headers.get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        // A link as a whole has no VLAN (IEEE 802.1AB-2016 clause 7.4).
        let is_valid = match (agent, ethernet::View::parse(headers)) {
            (Some(agent), Ok(ethernet)) if descriptor.pcp.is_none() => {
                agent.receive(now, ethernet.source(), lldpdu).is_ok()
            }
            _ => false,
        };
        if is_valid {
            let consumed = &mut self.ingress[port.index()].counters.consumed;
            consumed[Consumed::Lldp.index()].count(frame.length());
        } else {
            self.refuse(port, settings, DropReason::MalformedControl, frame.length());
        }
    }

    /// The next instant at which an announcement can leave through `port`; never without a link agent.
    #[inline(always)]
    pub(super) fn announcement_deadline(&self, port: PortId) -> Nanos {
        if !self.announcing.contains(port) {
            return Nanos::NEVER;
        }
        self.announced_at(port)
    }

    #[inline(never)]
    fn announced_at(&self, port: PortId) -> Nanos {
        let due = self.agents[port.index()].as_deref().map_or(Nanos::NEVER, Agent::deadline);
        due.max(self.egress[port.index()].gate.link_opens_at())
    }

    /// Sends the announcement that is due.
    #[inline(always)]
    pub(super) fn send_announcement(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if self.announcing.contains(port) {
            self.send_announcement_now(now, port, out);
        }
    }

    #[inline(never)]
    fn send_announcement_now(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let (egress, mac) = (&mut self.egress[port.index()], self.ingress[port.index()].mac);
        let Some(agent) = &mut self.agents[port.index()] else { return };
        if egress.gate.link_opens_at() > now {
            return;
        }
        let Some(message) = agent.message(now) else { return };
        let mut frame = [0; LONGEST_EMITTED];
        // The frame has room for every message.
        let Ok(length) = message.emit(mac, &mut frame) else { return };
        let start = egress.send_control(now, Bytes(length as u64));
        agent.sent(start.max(now));
        out.announcement(start, &frame[..length]);
    }
}
