//! The results of a simulation.

use crate::network::{FlowSpec, NodeId};
use core::iter::Sum;
use endpoint::{FlowId, HostCounters};
use serde::{Deserialize, Serialize};
use switch::{PoolReport, PortInspection, Volume};
use units::{Interval, Nanos, PortId, Priority, WireBytes};

/// A flow that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// The flow.
    pub flow: FlowSpec,
    /// The instant at which all of its bytes had arrived.
    pub end: Nanos,
    /// The instant at which its sender knew that: it had the last acknowledgement.
    pub acknowledged: Nanos,
    /// Bytes of its message; of a flow without end, those until it was stopped.
    pub delivered: u64,
    /// Its completion time alone in the network; see [`crate::ideal_completion`]. Zero for a flow without
    /// end.
    pub ideal: Interval,
    /// Packets that were sent more than once.
    pub retransmitted: u64,
}

/// The results of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The instant of its last event.
    pub end: Nanos,
    /// Why it ended.
    pub ending: Ending,
    /// Frames put on links; a frame counts once for each link on its path.
    pub transmissions: u64,
    /// Events: arrivals of frames, and calls of switches, hosts and the schedule of flows.
    pub events: u64,
    /// Flows that were started.
    pub flows_started: u64,
    /// Flows that ended at both ends.
    pub flows_ended: u64,
    /// The state of the switches, in the order of their nodes.
    pub switches: Vec<SwitchOutcome>,
    /// The counters of the hosts, in the order of their nodes.
    pub hosts: Vec<HostOutcome>,
    /// The jobs, in their order.
    pub jobs: Vec<JobOutcome>,
    /// Frames carried and lost, by link and sending end.
    pub links: Vec<[LinkOutcome; 2]>,
    /// The sources and sinks of all frames.
    pub balance: Balance,
    /// The number of checks of each invariant.
    pub checks: Checks,
}

/// The reason why a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All flows have ended.
    Finished,
    /// [`crate::Observer::progress`] asked for it.
    Interrupted,
    /// The limit of virtual time was reached.
    Limit,
    /// Frames wait forever: each queue of the cycle is paused by the switch of the next queue, because that
    /// queue is full. Without a cycle, some node waits for a frame that no node will send.
    Deadlock {
        /// The queues have sent nothing since this instant, or longer.
        since: Nanos,
        /// The paused queues.
        cycle: Vec<PausedQueue>,
    },
    /// Frames move, but no flow makes progress; see [`crate::Options::stall`].
    Livelock {
        /// The instant at which the last new byte was delivered.
        since: Nanos,
    },
    /// A flow was to start at a host whose queue pairs are all taken; see [`endpoint::Host::reserve`].
    Exhausted {
        /// The host.
        node: NodeId,
        /// The flow.
        flow: FlowId,
    },
}

/// An egress queue that is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PausedQueue {
    /// The switch.
    pub node: NodeId,
    /// The port.
    pub port: PortId,
    /// The priority of the queue.
    pub priority: Priority,
}

/// A job at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// The iterations that all ranks have ended.
    pub iterations: Vec<IterationOutcome>,
    /// The first rank that is not done; `None` if the job is.
    pub unfinished: Option<Unfinished>,
}

/// An iteration of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationOutcome {
    /// The instant at which the first rank began it.
    pub begin: Nanos,
    /// The instant at which the last rank had ended it.
    pub end: Nanos,
}

/// A rank that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The rank.
    pub rank: u32,
    /// Its iteration, from 0.
    pub iteration: u32,
    /// The first operation that has begun and not ended; `None` if none has.
    pub operation: Option<u32>,
}

/// The state of a switch at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchOutcome {
    /// The switch.
    pub node: NodeId,
    /// Its ports.
    pub ports: Vec<PortInspection>,
    /// Its pools, as each of its lanes has them.
    pub pools: Vec<PoolReport>,
}

/// The counters of a host at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOutcome {
    /// The host.
    pub node: NodeId,
    /// Its counters.
    pub counters: HostCounters,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Frames that were put on it, lost ones included.
    pub carried: Volume,
    /// Bytes on the wire that they occupied.
    pub wire: WireBytes,
    /// Frames lost, by fault.
    pub lost: Losses,
}

/// Frames that a link has lost, by fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Data frames lost at random.
    pub random: Volume,
    /// Frames that arrived with a wrong FCS.
    pub corrupted: Volume,
    /// PFC frames lost at random.
    pub control: Volume,
    /// Frames in flight while the link was down.
    pub down: Volume,
}

impl Losses {
    /// The sum of all losses.
    pub fn total(&self) -> Volume {
        self.random + self.corrupted + self.control + self.down
    }
}

/// The sources and sinks of all frames. [`Self::credit`] equals [`Self::debit`], in frames and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Sent by hosts.
    pub sent: Volume,
    /// Made by switches: PFC frames, CNPs, feedback; and second ones made by faulty links.
    pub made: Volume,
    /// Copies that switches made to flood them.
    pub duplicated: Volume,
    /// Delivered to hosts.
    pub delivered: Volume,
    /// Lost on links.
    pub lost: Volume,
    /// Sent through ports without a link.
    pub unconnected: Volume,
    /// Consumed or dropped by switches, each under a name.
    pub taken: Volume,
    /// On links and in switches.
    pub inside: Volume,
}

impl Balance {
    /// All frames that came in.
    pub fn credit(&self) -> Volume {
        self.sent + self.made + self.duplicated
    }

    /// All frames that went out or are still inside.
    pub fn debit(&self) -> Volume {
        self.delivered + self.lost + self.unconnected + self.taken + self.inside
    }
}

impl Sum for Balance {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            sent: sum.sent + part.sent,
            made: sum.made + part.made,
            duplicated: sum.duplicated + part.duplicated,
            delivered: sum.delivered + part.delivered,
            lost: sum.lost + part.lost,
            unconnected: sum.unconnected + part.unconnected,
            taken: sum.taken + part.taken,
            inside: sum.inside + part.inside,
        })
    }
}

/// The number of checks of each invariant; see [`crate::Broken`]. Results have them in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Bytes that a switch holds, against its pools.
    pub buffer: u64,
    /// Conservation of frames and bytes.
    pub conservation: u64,
    /// Drops of a switch, by name.
    pub drops: u64,
    /// Ledger of a switch against its queues and groups.
    pub ledger: u64,
    /// Starts of frames, against the end of the frame before.
    pub link: u64,
    /// Order of delivery.
    pub order: u64,
    /// Frames sent while a pause was in force.
    pub pause: u64,
    /// Frames on links and in switches, against the balance.
    pub sums: u64,
}

impl Sum for Checks {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            conservation: sum.conservation + part.conservation,
            sums: sum.sums + part.sums,
            ledger: sum.ledger + part.ledger,
            buffer: sum.buffer + part.buffer,
            drops: sum.drops + part.drops,
            order: sum.order + part.order,
            pause: sum.pause + part.pause,
            link: sum.link + part.link,
        })
    }
}
