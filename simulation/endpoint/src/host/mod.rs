//! A station with one port.

use crate::settings::{Connection, FlowId, HostSettings};
use std::sync::Arc;
use units::{BitRate, Bytes, Nanos};
use wire::roce::QueuePair;

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
    /// At the sender: everything is acknowledged, and the queue pair is gone.
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
}

impl Host {
    /// A host without flows, whose link is free.
    pub fn new(settings: Arc<HostSettings>) -> Self {
        Self { settings, counters: HostCounters::default() }
    }

    /// What it is.
    pub fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// A queue pair number that is free here. It is taken until its flow has ended on this side.
    pub fn reserve(&mut self) -> QueuePair {
        QueuePair::from_low_bits(2)
    }

    /// Opens one end of a flow; a sender begins at once.
    pub fn connect(&mut self, _now: Nanos, _connection: &Connection) {}

    /// Ends a flow without end: nothing new is sent, and what is on its way is the rest of the message. At
    /// the sender only; the flow is acknowledged when that has arrived.
    pub fn stop(&mut self, _now: Nanos, _flow: FlowId) {}

    /// Takes a frame that has arrived, of `length` bytes without FCS, of which `headers` are the first.
    pub fn ingress(&mut self, _now: Nanos, _headers: &[u8], _length: Bytes) {}

    /// Gives `out` the frames whose turn on the wire has come: at most one that begins in the future.
    pub fn egress(&mut self, _now: Nanos, _out: &mut impl Transmit) {}

    /// When it wants `egress` to be called if nothing arrives; [`Nanos::NEVER`] while it has nothing to do.
    pub fn next_deadline(&self) -> Nanos {
        Nanos::NEVER
    }

    /// What happened since, in its order.
    pub fn take_event(&mut self) -> Option<Event> {
        None
    }

    /// What it is doing with a flow that it sends; `None` once that has ended.
    pub fn flow(&self, _flow: FlowId) -> Option<FlowState> {
        None
    }

    /// What it has counted.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
}
