//! What came of a simulation.

use crate::network::{FlowSpec, NodeId};
use endpoint::{FlowId, HostCounters};
use switch::{PoolReport, PortInspection, Volume};
use units::{Interval, Nanos, PortId, Priority, WireBytes};

/// A flow that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// What it was.
    pub flow: FlowSpec,
    /// When its last byte had arrived, and everything before it.
    pub end: Nanos,
    /// How many bytes it had: also of a flow without end, which was stopped.
    pub delivered: u64,
    /// How long it takes alone in the network; see [`crate::ideal_completion`]. Zero where its length is
    /// not known in advance.
    pub ideal: Interval,
    /// Packets that were sent more than once.
    pub retransmitted: u64,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The instant of its last event.
    pub end: Nanos,
    /// Why it ended.
    pub ending: Ending,
    /// Frames that were put on a link, each link of their way counted.
    pub transmissions: u64,
    /// How often something was called: a switch, a host, or the far end of a link.
    pub events: u64,
    /// Flows that were started.
    pub flows_started: u64,
    /// Flows of which both ends were done.
    pub flows_ended: u64,
    /// What the switches have to show, in the order of their nodes.
    pub switches: Vec<SwitchOutcome>,
    /// What the hosts have counted, in the order of their nodes.
    pub hosts: Vec<HostOutcome>,
    /// What was carried and lost, by link and by the end that sent.
    pub links: Vec<[LinkOutcome; 2]>,
    /// Where all frames have come from and gone to.
    pub balance: Balance,
    /// How often each invariant was checked.
    pub checks: Checks,
}

/// Why a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All flows have ended.
    Finished,
    /// [`crate::Observer::progress`] asked for it.
    Interrupted,
    /// Its limit of virtual time was reached.
    Limit,
    /// Frames wait, and none will ever move: each queue of the cycle is paused by the next one's switch, because
    /// the next one is full. Where there is no cycle, somebody waits for what nobody sends.
    Deadlock {
        /// Nothing has moved there since then, at least.
        since: Nanos,
        /// The paused queues.
        cycle: Vec<PausedQueue>,
    },
    /// Frames move, and no flow gets on; see [`crate::Options::stall`].
    Livelock {
        /// When the last new byte was delivered.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedQueue {
    /// Of which switch.
    pub node: NodeId,
    /// Of which port.
    pub port: PortId,
    /// Which.
    pub priority: Priority,
}

/// What a switch has to show at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchOutcome {
    /// Which.
    pub node: NodeId,
    /// Its ports.
    pub ports: Vec<PortInspection>,
    /// Its pools.
    pub pools: PoolReport,
}

/// What a host has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOutcome {
    /// Which.
    pub node: NodeId,
    /// What.
    pub counters: HostCounters,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOutcome {
    /// Frames that were put on it, lost ones included.
    pub carried: Volume,
    /// What they took of it.
    pub wire: WireBytes,
    /// What went wrong.
    pub lost: Losses,
}

/// Frames that a link has lost, by fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Data frames lost at random.
    pub random: Volume,
    /// Frames that came with a wrong FCS.
    pub corrupted: Volume,
    /// PFC frames lost at random.
    pub control: Volume,
    /// What was on its way, or was to be, while the link was down.
    pub down: Volume,
}

impl Losses {
    /// All of them.
    pub fn total(&self) -> Volume {
        self.random + self.corrupted + self.control + self.down
    }
}

/// Where all frames have come from and gone to. What came in is what went out, in frames and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Sent by hosts.
    pub sent: Volume,
    /// Made by switches: PFC frames, CNPs, feedback.
    pub made: Volume,
    /// Copies that switches made to flood them.
    pub duplicated: Volume,
    /// Delivered to hosts.
    pub delivered: Volume,
    /// Lost on links.
    pub lost: Volume,
    /// Sent through ports without a link.
    pub unconnected: Volume,
    /// Kept or dropped by switches, each under a name.
    pub taken: Volume,
    /// On links and in switches.
    pub inside: Volume,
}

impl Balance {
    /// All that came in.
    pub fn credit(&self) -> Volume {
        self.sent + self.made + self.duplicated
    }

    /// All that went out, or is still there.
    pub fn debit(&self) -> Volume {
        self.delivered + self.lost + self.unconnected + self.taken + self.inside
    }
}

/// How often each invariant was checked; see [`crate::Broken`] for what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Conservation of frames and bytes.
    pub conservation: u64,
    /// What is on links, frame by frame, and what a switch holds, against the balance.
    pub sums: u64,
    /// Ledger of a switch against its queues and groups.
    pub ledger: u64,
    /// What a switch holds against its pools.
    pub buffer: u64,
    /// Drops of a switch, by name.
    pub drops: u64,
    /// Order of delivery.
    pub order: u64,
    /// Frames sent while a pause was in force.
    pub pause: u64,
    /// Starts of frames, against the end of the frame before.
    pub link: u64,
}
