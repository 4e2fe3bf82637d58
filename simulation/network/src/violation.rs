//! Invariants, and what it means to break one.

use crate::network::NodeId;
use endpoint::FlowId;
use switch::{DropReason, Volume};
use units::{Bytes, Nanos, PortId, Priority};

/// An invariant did not hold. The seed, network and flows bring it about again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("at {at} s, with seed {seed}: {what}")]
pub struct Violation {
    /// When it was found.
    pub at: Nanos,
    /// The seed of the run.
    pub seed: u64,
    /// Which, and where.
    pub what: Broken,
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Broken {
    /// Frames or bytes are not where they should be.
    #[error("{} frames of {} bytes are known to be under way, and there are {} of {}",
        expected.frames, expected.bytes.0, found.frames, found.bytes.0)]
    Conservation {
        /// What the balance says.
        expected: Volume,
        /// What is there.
        found: Volume,
    },
    /// A switch does not hold what came in and did not leave.
    #[error("switch {} should hold {} frames of {} bytes, and its ledger has {} of {}",
        node.0, expected.frames, expected.bytes.0, ledger.frames, ledger.bytes.0)]
    Held {
        /// Which switch.
        node: NodeId,
        /// What came in and did not leave.
        expected: Volume,
        /// What its ledger says.
        ledger: Volume,
    },
    /// Ledger and egress queue differ.
    #[error("switch {}, {port}, queue {priority}: {} bytes wait, and the ledger has {}",
        node.0, queued.bytes.0, ledger.bytes.0)]
    Ledger {
        /// Which switch.
        node: NodeId,
        /// Which port.
        port: PortId,
        /// Which queue.
        priority: Priority,
        /// What waits in the queue.
        queued: Volume,
        /// What the ledger says.
        ledger: Volume,
    },
    /// Ledger and priority group differ.
    #[error("switch {}, {port}, group {priority} holds {} bytes, and the ledger has {}",
        node.0, group.0, ledger.0)]
    Group {
        /// Which switch.
        node: NodeId,
        /// Which port.
        port: PortId,
        /// Which group.
        priority: Priority,
        /// What the group holds.
        group: Bytes,
        /// What the ledger says.
        ledger: Bytes,
    },
    /// More is held than the buffer has.
    #[error("switch {}: {} bytes are held of {} pool, which has {}", node.0, held.0, pool.name(), limit.0)]
    Buffer {
        /// Which switch.
        node: NodeId,
        /// Of what.
        pool: Pool,
        /// How much.
        held: Bytes,
        /// What there is.
        limit: Bytes,
    },
    /// A lossless frame was dropped, and no fault of a link explains it.
    #[error("switch {}, {port}: a frame of lossless priority {priority} was dropped ({})", node.0, reason.name())]
    LosslessDrop {
        /// Which switch.
        node: NodeId,
        /// The port that counted the drop.
        port: PortId,
        /// The priority of the frame.
        priority: Priority,
        /// Why.
        reason: DropReason,
    },
    /// A switch got rid of frames and did not count them, or counted others.
    #[error("switch {} has taken {} frames of {} bytes, and names {} of {}",
        node.0, taken.frames, taken.bytes.0, named.frames, named.bytes.0)]
    UnnamedDrop {
        /// Which switch.
        node: NodeId,
        /// What came in and is neither inside nor out.
        taken: Volume,
        /// What its counters name.
        named: Volume,
    },
    /// A frame overtook another one of its queue pair.
    #[error("flow {}: frame {serial} was delivered after frame {after}", flow.0)]
    Order {
        /// Whose.
        flow: FlowId,
        /// As which frame of its flow it was sent.
        serial: u32,
        /// What came before it.
        after: u32,
    },
    /// A data frame began while its priority was paused.
    #[error("node {}, {port}: a frame of priority {priority} begins at {start} s, paused until {until} s", node.0)]
    Pause {
        /// Who sent it.
        node: NodeId,
        /// Through which port.
        port: PortId,
        /// Its priority.
        priority: Priority,
        /// Its first bit.
        start: Nanos,
        /// When it may begin.
        until: Nanos,
    },
    /// A frame began before the one in front of it had ended, in the past, or further ahead than is allowed.
    #[error("node {}, {port}: a frame begins at {start} s, between {earliest} s and {latest} s is allowed", node.0)]
    Start {
        /// Who sent it.
        node: NodeId,
        /// Through which port.
        port: PortId,
        /// Its first bit.
        start: Nanos,
        /// When the link is free.
        earliest: Nanos,
        /// How far ahead of time it may be handed over.
        latest: Nanos,
    },
    /// A port of a switch is due at another instant than it said.
    #[error("switch {}, {port} is due at {due} s and said {said} s", node.0)]
    Deadline {
        /// Which switch.
        node: NodeId,
        /// Which port.
        port: PortId,
        /// When it was due.
        due: Nanos,
        /// When it wanted to be called.
        said: Nanos,
    },
}

/// A pool of a switch, or all of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Shared part of the ingress pool.
    Shared,
    /// Headroom pool.
    Headroom,
    /// Egress pool of lossy queues.
    EgressLossy,
    /// Pools and reservations together.
    All,
}

impl Pool {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shared => "the shared",
            Self::Headroom => "the headroom",
            Self::EgressLossy => "the lossy egress",
            Self::All => "the whole",
        }
    }
}
