//! The connection manager of a host: it opens queue pairs by an exchange of messages (InfiniBand specification volume 1,
//! sections 12.9.7 and 12.9.8), which both hosts and everything between them can read.
//!
//! | message | from | state before | state after |
//! |---|---|---|---|
//! | REQ | sender | | requested |
//! | REP | receiver, for each REQ | listening | replied |
//! | RTU | sender, for each REP | requested | established; data may leave |
//! | | receiver, when RTU comes | replied | established |
//!
//! REQ and REP are repeated until they are answered. The flow is the service that REQ asks for, and its number is the
//! transaction of all three messages. A receiver accepts data from the beginning, since data may overtake RTU.

use super::Host;
use super::ingress::Packet;
use super::table::Slot;
use crate::packet::{ManagementFrame, Path};
use crate::settings::{Connection, End, FlowId};
use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::Nanos;
use wire::roce::Psn;
use wire::roce::cm::{self, CommunicationId, Message};

/// The state of the exchange at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The sender has sent REQ.
    Requested,
    /// The receiver waits for REQ.
    Listening,
    /// The receiver has sent REP.
    Replied,
    /// Nothing is left to wait for.
    Established,
}

/// One end of a connection.
#[derive(Debug)]
struct Handshake {
    slot: Slot,
    connection: Connection,
    path: Path,
    state: State,
    local: CommunicationId,
    /// The name that the far end gave the connection, once it is known.
    remote: CommunicationId,
    /// When it repeats its message.
    deadline: Nanos,
}

impl Handshake {
    /// Takes a message of the far end. Returns whether an answer is due; `None` if the message is not about this
    /// connection.
    fn take(&mut self, message: &Message) -> Option<bool> {
        use State::{Established, Listening, Replied, Requested};
        let (state, pair) = (self.state, self.path.remote);
        let answers = |remote| remote == self.local;
        match *message {
            Message::Request { local, qp, .. } if matches!(state, Listening | Replied) && qp == pair => {
                (self.state, self.remote) = (Replied, local);
                Some(true)
            }
            Message::Reply { local, remote, qp, .. }
                if matches!(state, Requested | Established) && answers(remote) && qp == pair =>
            {
                (self.state, self.remote) = (Established, local);
                Some(true)
            }
            Message::ReadyToUse { local, remote } if answers(remote) && local == self.remote => {
                self.state = Established;
                Some(false)
            }
            // A REQ may come late, when RTU is here already.
            Message::Request { qp, .. } if state == Established && qp == pair => Some(false),
            _ => None,
        }
    }

    /// The message of its state; `None` if it has none to send.
    fn message(&self) -> Option<Message> {
        let (local, remote, qp) = (self.local, self.remote, self.connection.local);
        match (self.state, self.connection.end) {
            (State::Requested, _) => Some(Message::Request {
                local,
                service_id: self.connection.flow.0.into(),
                qp,
                // The receiver sends no message.
                starting_psn: Psn::from_low_bits(0),
                flow_label: 0,
            }),
            (State::Replied, _) => {
                let starting_psn = self.connection.first_psn;
                Some(Message::Reply { local, remote, qp, starting_psn })
            }
            (State::Established, End::Sender) => Some(Message::ReadyToUse { local, remote }),
            (State::Established, End::Receiver) | (State::Listening, _) => None,
        }
    }

    /// Whether it repeats its message until an answer comes.
    fn repeats(&self) -> bool {
        matches!(self.state, State::Requested | State::Replied)
    }
}

/// The connections of a host, and when their messages are repeated.
#[derive(Debug, Default)]
pub(super) struct Manager {
    handshakes: BTreeMap<FlowId, Handshake>,
    /// Entries that do not match the deadline of their handshake are ignored.
    alarms: BinaryHeap<Reverse<(Nanos, FlowId)>>,
    /// The name of the latest connection. No name is used twice.
    last: u32,
}

impl Manager {
    /// The instant of the next call of [`Host::repeat_messages`]; it may be too early.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.alarms.peek().map_or(Nanos::NEVER, |Reverse((alarm, _))| *alarm)
    }

    /// Forgets the connection of a flow that has ended.
    #[inline]
    pub fn forget(&mut self, flow: FlowId) {
        self.handshakes.remove(&flow);
    }
}

impl Host {
    /// Begins the exchange at one end of a flow.
    pub(super) fn open(&mut self, now: Nanos, connection: &Connection, path: Path, slot: Slot) {
        self.manager.last = self.manager.last.wrapping_add(1);
        let handshake = Handshake {
            slot,
            connection: *connection,
            path,
            state: match connection.end {
                End::Sender => State::Requested,
                End::Receiver => State::Listening,
            },
            local: CommunicationId(self.manager.last),
            remote: CommunicationId(0),
            deadline: Nanos::NEVER,
        };
        self.manager.handshakes.insert(connection.flow, handshake);
        self.send_message(now, connection.flow);
    }

    /// Handles a message of the connection manager. One that belongs to no connection here is a stray.
    pub(super) fn take_message(&mut self, now: Nanos, packet: &Packet<'_>) -> Option<()> {
        let datagram = cm::View::in_packet(&packet.bth)?;
        let flow = FlowId(u32::try_from(datagram.transaction_id()).ok()?);
        let handshake = self.manager.handshakes.get_mut(&flow)?;
        if handshake.path.peer() != packet.source {
            return None;
        }
        let answers = handshake.take(&datagram.message())?;
        if !handshake.repeats() {
            handshake.deadline = Nanos::NEVER;
        }
        let (slot, is_open) = (handshake.slot, handshake.state == State::Established);
        if answers {
            self.send_message(now, flow);
        }
        if is_open && let Some(sender) = self.table.sender(slot) {
            sender.is_open = true;
            self.wake(now, slot);
        }
        Some(())
    }

    /// Sends the message of a connection's state, and sets the alarm for its repetition.
    fn send_message(&mut self, now: Nanos, flow: FlowId) {
        let Some(handshake) = self.manager.handshakes.get_mut(&flow) else { return };
        let Some(message) = handshake.message() else { return };
        let priority = self.settings.control_priority.unwrap_or(handshake.connection.priority);
        let dscp = self.settings.dscp[priority.index()];
        self.nic.push_management(
            priority,
            ManagementFrame::new(&handshake.path, dscp, u64::from(flow.0), &message),
        );
        if handshake.repeats()
            && let Some(timeout) = self.settings.connection_management
        {
            handshake.deadline = now + timeout;
            self.manager.alarms.push(Reverse((handshake.deadline, flow)));
        }
    }

    /// Sends the messages again whose answers are late.
    pub(super) fn repeat_messages(&mut self, now: Nanos) {
        while let Some(Reverse((alarm, flow))) = self.manager.alarms.peek().copied()
            && alarm <= now
        {
            self.manager.alarms.pop();
            let handshake = self.manager.handshakes.get(&flow);
            if handshake.is_some_and(|handshake| handshake.deadline == alarm) {
                self.counters.timeouts += 1;
                self.send_message(now, flow);
            }
        }
    }
}
