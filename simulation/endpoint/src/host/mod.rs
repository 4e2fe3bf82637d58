//! A station with one port.

mod ingress;
mod management;
mod messages;
mod nic;
mod table;

use crate::packet::Path;
use crate::receiver::Receiver;
use crate::sender::{FlowState, Place, Sender};
use crate::settings::{Connection, End, FlowId, HostSettings};
use core::cmp::Reverse;
use management::Manager;
use nic::Nic;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use table::{Places, QueuePairState, Slot, Table, kept_number};
use units::{Bytes, Nanos};
use wire::roce::QueuePair;

impl HostSettings {
    /// The most queue pairs that the host can have at one time.
    pub fn queue_pairs(&self) -> u32 {
        Places::of(&self.transport).count() as u32
    }
}

/// Receives the frames that a host sends, in wire order.
pub trait Transmit {
    /// Sends a frame of `length` bytes without FCS that begins with `headers` (the rest is zero) and whose
    /// first bit is on the wire at `start`. `flow` is the flow of a data frame; acknowledgements, CNPs and
    /// PFC have none.
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>);
}

/// An event of a flow at this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// At the receiver: the message is complete up to `bytes`, without gaps.
    Delivered {
        /// The flow.
        flow: FlowId,
        /// Bytes from the start of the message.
        bytes: u64,
    },
    /// At the receiver: the message is complete.
    Received {
        /// The flow.
        flow: FlowId,
    },
    /// At the sender: the last packet was sent for the first time.
    Sent {
        /// The flow.
        flow: FlowId,
    },
    /// At the sender: everything is acknowledged, and the queue pair is released. The receiver is no longer
    /// needed; [`Host::close`] releases it.
    Acknowledged {
        /// The flow.
        flow: FlowId,
        /// Retransmitted packets.
        retransmitted: u64,
    },
}

/// The counters of a host. Results have them in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// CNPs received.
    pub cnps_received: u64,
    /// Direct INTs received that a flow uses.
    pub direct_ints_received: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// Data packets received.
    pub data_received: u64,
    /// Data packets sent, including retransmissions.
    pub data_sent: u64,
    /// Data packets received with CE.
    pub marked: u64,
    /// Messages of the connection manager that were due again because no answer had come.
    pub messages_repeated: u64,
    /// Negative acknowledgements sent.
    pub naks_sent: u64,
    /// PFC frames received.
    pub pauses_received: u64,
    /// Data packets retransmitted.
    pub retransmitted: u64,
    /// Malformed frames, and frames for no flow of this host.
    pub strays: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
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
    /// The connected queue pairs.
    flows: BTreeMap<FlowId, Slot>,
    /// The number of unfinished senders.
    sending: u32,
    /// The alarms of senders. Entries that no longer match the sender's own alarm are ignored.
    alarms: BinaryHeap<Reverse<(Nanos, Slot)>>,
    manager: Manager,
    events: VecDeque<Event>,
}

impl Host {
    /// A host without flows and with a free link.
    pub fn new(settings: Arc<HostSettings>) -> Self {
        Self {
            counters: HostCounters::default(),
            now: Nanos::ZERO,
            nic: Nic::new(settings.rate),
            table: Table::new(Places::of(&settings.transport)),
            flows: BTreeMap::new(),
            sending: 0,
            alarms: BinaryHeap::new(),
            manager: Manager::default(),
            events: VecDeque::new(),
            settings,
        }
    }

    /// All of its state but the settings, for a checkpoint.
    pub fn state(&self) -> impl Serialize {
        let Self { settings: _, counters, now, nic, table, flows, sending, alarms, manager, events } = self;
        (counters, now, nic, table, flows, sending, alarms, manager, events)
    }

    /// Takes the [`Host::state`] of a host that had the same settings.
    ///
    /// # Errors
    /// Those of `state`, with nothing changed.
    pub fn restore<'de, D: Deserializer<'de>>(&mut self, state: D) -> Result<(), D::Error> {
        (
            self.counters,
            self.now,
            self.nic,
            self.table,
            self.flows,
            self.sending,
            self.alarms,
            self.manager,
            self.events,
        ) = Deserialize::deserialize(state)?;
        Ok(())
    }

    /// The settings of the host.
    pub fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// Reserves a free queue pair number; `None` if all are taken. It stays taken until its flow ends on this
    /// side: a sender's when everything is acknowledged, a receiver's with [`Host::close`]. A host has 2^20 -
    /// 2 of them, but 65,534 with [`crate::Transport::NewReno`], since more would share ports.
    pub fn reserve(&mut self) -> Option<QueuePair> {
        self.table.reserve()
    }

    /// Reserves the first `count` queue pairs of a host without any for good: number `slot` of them is
    /// [`Host::kept`], and becomes the next one when its flow has ended on this side. A host has no more of them than
    /// [`HostSettings::queue_pairs`].
    pub fn keep(&mut self, count: u32) {
        self.table.keep(count);
    }

    /// Queue pair number `slot` of those that a host keeps, after `uses` flows.
    pub fn kept(slot: u32, uses: u32) -> QueuePair {
        kept_number(slot, uses)
    }

    /// The number of queue pairs that [`Host::reserve`] can still give.
    pub fn free_queue_pairs(&self) -> usize {
        self.table.left()
    }

    /// Opens one end of a flow. A sender starts at once, or when the connection managers of both hosts have agreed
    /// ([`HostSettings::connection_management`]). Does nothing if the local queue pair is not reserved, the flow already
    /// has an end here, or the far end has an address of another version of IP.
    pub fn connect(&mut self, now: Nanos, connection: &Connection) {
        self.now = now;
        let Some(slot) = self.table.find(connection.local) else { return };
        let Some(state @ QueuePairState::Reserved) = self.table.state_mut(slot) else { return };
        if self.flows.contains_key(&connection.flow) {
            return;
        }
        let HostSettings { station, next_hop, .. } = *self.settings;
        let Connection { peer, remote, source_port, .. } = *connection;
        let Some(path) = Path::new(station, next_hop, peer, remote, source_port) else { return };
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
        match self.settings.manages_connections() {
            true => {
                self.manager.open(connection, path, slot);
                self.send_message(connection.flow);
            }
            false => self.wake(now, slot),
        }
    }

    /// Opens the receiving end of a flow whose sender started before, perhaps before the latest call. Without connection
    /// management a receiver sends nothing by itself, so the late call changes nothing that others see.
    pub fn accept(&mut self, connection: &Connection) {
        self.connect(self.now, connection);
    }

    /// Stops an endless flow at its sender. The sender sends one more packet, marked as the last. The flow is
    /// acknowledged once everything up to that packet has arrived.
    pub fn stop(&mut self, now: Nanos, flow: FlowId) {
        self.now = now;
        if let Some(slot) = self.flows.get(&flow).copied()
            && let Some(sender) = self.table.sender(slot)
        {
            sender.stop();
            self.wake(now, slot);
        }
    }

    /// Closes the receiving end of a flow whose sender is done. Until then the receiver answers
    /// retransmissions, since its last acknowledgement may have been lost.
    pub fn close(&mut self, flow: FlowId) {
        self.close_before(flow, 0);
    }

    /// As [`Host::close`], but the queue pair is reserved again as if the last `later` releases had come after this one:
    /// for a caller who learns late that the sender is done.
    pub fn close_before(&mut self, flow: FlowId, later: usize) {
        if let Some(slot) = self.flows.get(&flow).copied()
            && let Some(QueuePairState::Receiver(_)) = self.table.state(slot)
        {
            self.flows.remove(&flow);
            self.manager.forget(flow);
            self.table.release_before(slot, later);
        }
    }

    /// The number of queue pairs released so far.
    #[inline]
    pub fn released(&self) -> u64 {
        self.table.released
    }

    /// Gives `out` the frames that are due. None of them starts after `now`.
    pub fn egress(&mut self, now: Nanos, out: &mut impl Transmit) {
        self.now = now;
        if self.next_alarm() <= now {
            self.sound_alarms(now);
        }
        if self.manager.deadline() <= now {
            self.repeat_messages(now);
        }
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
            } else if let Some(flow) = self.nic.pop_management(paused) {
                let Some(frame) = self.take_turn(now, flow) else { continue };
                let length = Bytes(frame.bytes().len() as u64);
                let start = self.nic.occupy(now, length);
                out.frame(start, frame.bytes(), length, None);
            } else if let Some(slot) = self.nic.pop_ready(paused) {
                self.transmit(now, slot, out);
            } else {
                break;
            }
        }
    }

    /// Sends the next packet of the queue pair in `slot`, if it still has one.
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
        if departure.is_last && !departure.again {
            self.events.push_back(Event::Sent { flow: sender.flow });
        }
        self.counters.data_sent += 1;
        self.counters.retransmitted += u64::from(departure.again);
        if sender.may_send() {
            sender.place = Place::Listed;
            self.nic.list_again(slot, sender.priority, sender.due());
        }
        self.wake(now, slot);
    }

    /// Puts a sender with data to send into the transmission order, and sets its alarm.
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

    /// Calls the senders whose alarms are due. Nearly every acknowledgement moves a sender's deadline. Its
    /// alarm does not follow, but is rescheduled when it is due.
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

    /// The instant of the next call of `egress` if nothing arrives; [`Nanos::NEVER`] if the host is idle. It
    /// is never before the latest call.
    #[inline]
    pub fn next_deadline(&self) -> Nanos {
        self.nic.next_start(self.now).min(self.next_alarm()).min(self.manager.deadline()).max(self.now)
    }

    /// The first alarm of a sender.
    #[inline]
    fn next_alarm(&self) -> Nanos {
        self.alarms.peek().map_or(Nanos::NEVER, |Reverse((alarm, _))| *alarm)
    }

    /// The next event, oldest first.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The state of a flow that this host sends; `None` once it has ended.
    pub fn flow(&self, flow: FlowId) -> Option<FlowState> {
        match self.table.state(*self.flows.get(&flow)?)? {
            QueuePairState::Sender(sender) => Some(sender.state(self.now)),
            _ => None,
        }
    }

    /// The counters.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
}
