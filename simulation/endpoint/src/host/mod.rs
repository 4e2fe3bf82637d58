//! A station with one port.

mod ingress;
mod nic;
mod table;

use crate::packet::Path;
use crate::receiver::Receiver;
use crate::sender::{Place, Sender};
use crate::settings::{Connection, End, FlowId, HostSettings, Transport};
use core::cmp::Reverse;
use nic::Nic;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use table::{Places, QueuePairState, Slot, Table};
use units::{BitRate, Bytes, Nanos};
use wire::roce::{QueuePair, source_port_of_queue_pairs};

/// Takes the frames that leave a host, in the order in which they are on the wire.
pub trait Transmit {
    /// A frame of `length` bytes without FCS that begins with `headers` (the rest is zero), whose first bit
    /// is on the wire at `start`. `flow` says whose data it is; acknowledgements, CNPs and PFC have none.
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>);
}

/// What happened to a flow at this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// At the receiver: more of the message is there, in order and without gaps up to `bytes` in all.
    Delivered {
        /// Whose.
        flow: FlowId,
        /// How much of it, from its start.
        bytes: u64,
    },
    /// At the receiver: the last byte is there, and everything before it.
    Received {
        /// Whose.
        flow: FlowId,
    },
    /// At the sender: everything is acknowledged, and the queue pair is gone. Nothing more will be asked of the
    /// receiver, who is told by [`Host::close`].
    Acknowledged {
        /// Whose.
        flow: FlowId,
        /// Packets that were sent more than once.
        retransmitted: u64,
    },
}

/// What a sender is doing with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// The rate at which it may send.
    pub rate: BitRate,
    /// Bytes that may be on their way; `None` where nothing limits them.
    pub window: Option<u64>,
    /// Bytes of the message that were sent, for the first time.
    pub sent: u64,
    /// Bytes of the message that were acknowledged.
    pub acknowledged: u64,
}

/// What a host counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Data packets sent, those sent again included.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Data packets received.
    pub data_received: u64,
    /// Of them, with CE.
    pub marked: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// CNPs received.
    pub cnps_received: u64,
    /// Negative acknowledgements sent.
    pub naks_sent: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// PFC frames received.
    pub pauses_received: u64,
    /// Frames that were for nobody here, or malformed.
    pub strays: u64,
}

/// A station with one port.
#[derive(Debug)]
pub struct Host {
    settings: Arc<HostSettings>,
    counters: HostCounters,
    /// The instant of the latest call.
    now: Nanos,
    nic: Nic,
    table: Table,
    /// The queue pairs that are connected.
    flows: BTreeMap<FlowId, Slot>,
    /// How many of them send and are not done.
    sending: u32,
    /// When which sender wants to be called. Those that are not the sender's own alarm any more are ignored.
    alarms: BinaryHeap<Reverse<(Nanos, Slot)>>,
    events: VecDeque<Event>,
}

impl Host {
    /// A host without flows, whose link is free.
    pub fn new(settings: Arc<HostSettings>) -> Self {
        Self {
            counters: HostCounters::default(),
            now: Nanos::ZERO,
            nic: Nic::new(settings.rate),
            table: Table::new(match settings.transport {
                Transport::NewReno(_) => Places::Ports,
                Transport::GoBackN(_) | Transport::Irn(_) => Places::Numbers,
            }),
            flows: BTreeMap::new(),
            sending: 0,
            alarms: BinaryHeap::new(),
            events: VecDeque::new(),
            settings,
        }
    }

    /// What it is.
    pub fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// A queue pair number that is free here; `None` where all are taken. It is taken until its flow has ended on this
    /// side: a sender's when all is acknowledged, a receiver's with [`Host::close`]. A host has 2^20 - 2 of them, and
    /// 65,534 with [`crate::Transport::NewReno`], since more would share their ports.
    pub fn reserve(&mut self) -> Option<QueuePair> {
        self.table.reserve()
    }

    /// Opens one end of a flow; a sender begins at once. Does nothing where the local queue pair was not
    /// reserved, or the flow has an end here already.
    pub fn connect(&mut self, now: Nanos, connection: &Connection) {
        self.now = now;
        let Some(slot) = self.table.find(connection.local) else { return };
        let Some(state @ QueuePairState::Reserved) = self.table.state_mut(slot) else { return };
        if self.flows.contains_key(&connection.flow) {
            return;
        }
        let path = Path {
            station: self.settings.station,
            next_hop: self.settings.next_hop,
            peer: connection.peer,
            remote: connection.remote,
            source_port: source_port_of_queue_pairs(connection.local, connection.remote),
        };
        *state = match connection.end {
            End::Sender => {
                let sender = Sender::new(connection, path, &self.settings, self.sending);
                self.sending += 1;
                QueuePairState::Sender(Box::new(sender))
            }
            End::Receiver => {
                QueuePairState::Receiver(Box::new(Receiver::new(connection, path, &self.settings)))
            }
        };
        self.flows.insert(connection.flow, slot);
        self.wake(now, slot);
    }

    /// Ends a flow without end: one more packet is sent, which says that it is the last, and the flow is
    /// acknowledged when that has arrived and everything before it. At the sender only.
    pub fn stop(&mut self, now: Nanos, flow: FlowId) {
        self.now = now;
        if let Some(slot) = self.flows.get(&flow).copied()
            && let Some(sender) = self.table.sender(slot)
        {
            sender.stop();
            self.wake(now, slot);
        }
    }

    /// Closes the receiving end of a flow whose sender has everything acknowledged. Until then it answers what
    /// is sent again, since its last acknowledgement may have been lost.
    pub fn close(&mut self, flow: FlowId) {
        if let Some(slot) = self.flows.get(&flow).copied()
            && let Some(QueuePairState::Receiver(_)) = self.table.state(slot)
        {
            self.flows.remove(&flow);
            self.table.release(slot);
        }
    }

    /// Gives `out` the frames whose turn on the wire has come. None of them begins after `now`.
    pub fn egress(&mut self, now: Nanos, out: &mut impl Transmit) {
        self.now = now;
        self.sound_alarms(now);
        if self.nic.free_at() > now {
            return;
        }
        let paused = self.nic.refresh_pauses(now);
        while self.nic.free_at() <= now {
            self.nic.make_ready(now);
            if let Some(priority) = self.nic.control_turn(paused) {
                self.nic.send_control(now, priority, |start, frame| {
                    out.frame(start, frame, Bytes(frame.len() as u64), None);
                });
            } else if let Some(slot) = self.nic.pop_ready(paused) {
                self.transmit(now, slot, out);
            } else {
                break;
            }
        }
    }

    /// Sends the next packet of the queue pair whose turn it is, if it still has one.
    fn transmit(&mut self, now: Nanos, slot: Slot, out: &mut impl Transmit) {
        let Some(sender) = self.table.sender(slot) else { return };
        sender.place = Place::None;
        if sender.is_done() {
            self.table.release(slot);
            return;
        }
        let Some(departure) = sender.prepare() else { return };
        let start = self.nic.occupy(now, departure.length);
        out.frame(start, sender.headers(), departure.length, Some(sender.flow));
        sender.depart(start, departure);
        self.counters.data_sent += 1;
        self.counters.retransmitted += u64::from(departure.again);
        if sender.may_send() {
            sender.place = Place::Listed;
            self.nic.list_again(slot, sender.priority, sender.due());
        }
        self.wake(now, slot);
    }

    /// Gives a sender its place in the order of transmission, where it has something to send, and sets its alarm.
    #[inline]
    fn wake(&mut self, now: Nanos, slot: Slot) {
        let Some(sender) = self.table.sender(slot) else { return };
        if sender.place == Place::None && sender.may_send() {
            sender.place = Place::Listed;
            self.nic.list(slot, sender.priority, sender.due(), now);
        }
        let deadline = sender.deadline();
        if deadline < sender.alarm {
            sender.alarm = deadline;
            self.alarms.push(Reverse((deadline, slot)));
        }
    }

    /// Calls the senders whose alarm has come. A sender's deadline moves with nearly every acknowledgement; its alarm
    /// stays where it is, and is set anew when it has come.
    fn sound_alarms(&mut self, now: Nanos) {
        while let Some(Reverse((alarm, slot))) = self.alarms.peek().copied() {
            if alarm > now {
                break;
            }
            self.alarms.pop();
            let Some(sender) = self.table.sender(slot).filter(|sender| sender.alarm == alarm) else {
                continue;
            };
            sender.alarm = Nanos::NEVER;
            if sender.on_alarm(now) {
                self.counters.timeouts += 1;
            }
            self.wake(now, slot);
        }
    }

    /// When it wants `egress` to be called if nothing arrives; [`Nanos::NEVER`] while it has nothing to do. Never
    /// before the latest call.
    #[inline]
    pub fn next_deadline(&self) -> Nanos {
        let alarm = self.alarms.peek().map_or(Nanos::NEVER, |Reverse((alarm, _))| *alarm);
        self.nic.next_start(self.now).min(alarm).max(self.now)
    }

    /// What happened since, in its order.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What it is doing with a flow that it sends; `None` once that has ended.
    pub fn flow(&self, flow: FlowId) -> Option<FlowState> {
        match self.table.state(*self.flows.get(&flow)?)? {
            QueuePairState::Sender(sender) => Some(sender.state(self.now)),
            _ => None,
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
}
