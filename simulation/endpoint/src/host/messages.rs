//! Messages of the connection manager into and out of a host.

use super::Host;
use super::ingress::Packet;
use crate::packet::ManagementFrame;
use crate::settings::FlowId;
use units::Nanos;
use wire::roce::cm;

impl Host {
    /// Handles a message of the connection manager. One that belongs to no connection here is a stray.
    pub(super) fn take_message(&mut self, now: Nanos, packet: &Packet<'_>) -> Option<()> {
        let datagram = cm::View::in_packet(&packet.bth)?;
        let flow = FlowId(u32::try_from(datagram.transaction_id()).ok()?);
        let handshake = self.manager.handshake(flow)?;
        if handshake.path.peer() != packet.source {
            return None;
        }
        let answers = handshake.take(&datagram.message())?;
        let (slot, is_open) = (handshake.slot, handshake.is_established());
        if answers {
            self.send_message(flow);
        }
        if is_open && let Some(sender) = self.table.sender(slot) {
            sender.is_open = true;
            self.wake(now, slot);
        }
        Some(())
    }

    /// Lets the message of a connection's state wait for the link, if it has one. One connection has one message there at
    /// most, however often it is to be sent.
    pub(super) fn send_message(&mut self, flow: FlowId) {
        let Some(handshake) = self.manager.handshake(flow) else { return };
        if handshake.message().is_some() && handshake.begins_to_wait() {
            let priority = self.settings.control_priority.unwrap_or(handshake.connection.priority);
            self.nic.push_management(priority, flow);
        }
    }

    /// The message that a connection has when its turn on the link comes at `now`; `None` if it has no more to say.
    pub(super) fn take_turn(&mut self, now: Nanos, flow: FlowId) -> Option<ManagementFrame> {
        let handshake = self.manager.handshake(flow)?;
        let message = handshake.ends_to_wait().then(|| handshake.message()).flatten()?;
        let priority = self.settings.control_priority.unwrap_or(handshake.connection.priority);
        let dscp = self.settings.dscp[priority.index()];
        let frame = ManagementFrame::new(&handshake.path, dscp, u64::from(flow.0), &message);
        if let Some(timeout) = self.settings.connection_management {
            self.manager.set_alarm(now, flow, timeout);
        }
        Some(frame)
    }

    /// Sends the messages again whose answers are late.
    pub(super) fn repeat_messages(&mut self, now: Nanos) {
        while let Some(flow) = self.manager.pop_late(now) {
            self.counters.messages_repeated += 1;
            self.send_message(flow);
        }
    }
}
