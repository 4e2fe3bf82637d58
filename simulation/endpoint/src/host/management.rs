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

use super::table::Slot;
use crate::packet::Path;
use crate::settings::{Connection, End, FlowId};
use core::cmp::Reverse;
use core::mem;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BinaryHeap};
use units::{Interval, Nanos};
use wire::roce::Psn;
use wire::roce::cm::{CommunicationId, Message};

/// The state of the exchange at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handshake {
    pub slot: Slot,
    pub connection: Connection,
    pub path: Path,
    state: State,
    local: CommunicationId,
    /// The name that the far end gave the connection, once it is known.
    remote: CommunicationId,
    /// Whether its message waits for the link.
    is_waiting: bool,
    /// When it repeats its message.
    deadline: Nanos,
}

impl Handshake {
    /// Takes a message of the far end. Returns whether an answer is due; `None` if the message is not about this
    /// connection.
    pub fn take(&mut self, message: &Message) -> Option<bool> {
        use End::{Receiver, Sender};
        use State::{Established, Listening, Replied, Requested};
        let pair = self.path.remote;
        let answers = |remote| remote == self.local;
        match (*message, self.connection.end, self.state) {
            (Message::Request { local, qp, .. }, Receiver, Listening | Replied) if qp == pair => {
                (self.state, self.remote) = (Replied, local);
                Some(true)
            }
            // A REQ may come late, when RTU is here already.
            (Message::Request { qp, .. }, Receiver, Established) if qp == pair => Some(false),
            (Message::Reply { local, remote, qp, .. }, Sender, Requested | Established)
                if answers(remote) && qp == pair =>
            {
                (self.state, self.remote) = (Established, local);
                Some(true)
            }
            (Message::ReadyToUse { local, remote }, Receiver, Replied | Established)
                if answers(remote) && local == self.remote =>
            {
                self.state = Established;
                Some(false)
            }
            _ => None,
        }
    }

    /// Whether data may leave.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// The message of its state; `None` if it has none to send.
    pub fn message(&self) -> Option<Message> {
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

    /// Notes that its message is to wait for the link; returns whether it did not before. A message that waits is not
    /// repeated.
    pub fn begins_to_wait(&mut self) -> bool {
        self.deadline = Nanos::NEVER;
        !mem::replace(&mut self.is_waiting, true)
    }

    /// Notes that its message no longer waits; returns whether it did.
    pub fn ends_to_wait(&mut self) -> bool {
        mem::take(&mut self.is_waiting)
    }

    /// Whether it repeats its message until an answer comes.
    fn repeats(&self) -> bool {
        matches!(self.state, State::Requested | State::Replied)
    }
}

/// The connections of a host, and when their messages are repeated.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manager {
    handshakes: BTreeMap<FlowId, Handshake>,
    /// Entries that do not match the deadline of their handshake are ignored.
    alarms: BinaryHeap<Reverse<(Nanos, FlowId)>>,
    /// The name of the latest connection. No name is used twice.
    last: u32,
}

impl Manager {
    /// Begins the exchange at one end of a flow.
    pub fn open(&mut self, connection: &Connection, path: Path, slot: Slot) {
        self.last = self.last.wrapping_add(1);
        let handshake = Handshake {
            slot,
            connection: *connection,
            path,
            state: match connection.end {
                End::Sender => State::Requested,
                End::Receiver => State::Listening,
            },
            local: CommunicationId(self.last),
            remote: CommunicationId(0),
            is_waiting: false,
            deadline: Nanos::NEVER,
        };
        self.handshakes.insert(connection.flow, handshake);
    }

    /// The connection of a flow.
    pub fn handshake(&mut self, flow: FlowId) -> Option<&mut Handshake> {
        self.handshakes.get_mut(&flow)
    }

    /// Sets the alarm for the message of a flow that leaves now, if it is to be repeated.
    pub fn set_alarm(&mut self, now: Nanos, flow: FlowId, timeout: Interval) {
        let Some(handshake) = self.handshakes.get_mut(&flow).filter(|it| it.repeats()) else { return };
        handshake.deadline = now + timeout;
        self.alarms.push(Reverse((handshake.deadline, flow)));
    }

    /// The next flow whose message is to be repeated by `now`.
    pub fn pop_late(&mut self, now: Nanos) -> Option<FlowId> {
        while let Some(Reverse((alarm, flow))) = self.alarms.peek().copied()
            && alarm <= now
        {
            self.alarms.pop();
            let handshake = self.handshakes.get(&flow);
            if handshake.is_some_and(|it| it.repeats() && it.deadline == alarm) {
                return Some(flow);
            }
        }
        None
    }

    /// The instant of the next call of [`Manager::pop_late`]; it may be too early.
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
