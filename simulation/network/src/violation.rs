//! The invariants of a run, and reports of their violation.

use crate::network::NodeId;
use endpoint::FlowId;
use switch::{DropReason, Volume};
use units::{Bytes, Nanos, PortId, Priority};

/// An invariant that did not hold. The same seed, network and flows reproduce it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("at {at} s, with seed {seed}: {what}")]
pub struct Violation {
    /// The instant at which it was found.
    pub at: Nanos,
    /// The seed of the run.
    pub seed: u64,
    /// The invariant, and where it was violated.
    pub what: Broken,
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Broken {
    /// Frames or bytes are not where they should be.
    #[error("{} frames of {} bytes should be in flight, but {} frames of {} bytes are",
        expected.frames, expected.bytes.0, found.frames, found.bytes.0)]
    Conservation {
        /// The volume that the balance expects.
        expected: Volume,
        /// The volume found.
        found: Volume,
    },
    /// A switch does not hold the frames that came in and did not leave.
    #[error("switch {} should hold {} frames of {} bytes, but its ledger has {} frames of {} bytes",
        node.0, expected.frames, expected.bytes.0, ledger.frames, ledger.bytes.0)]
    Held {
        /// The switch.
        node: NodeId,
        /// The frames that came in and did not leave.
        expected: Volume,
        /// The volume in its ledger.
        ledger: Volume,
    },
    /// Ledger and egress queue differ.
    #[error("switch {}, {port}, queue {priority} holds {} bytes, but the ledger has {}",
        node.0, queued.bytes.0, ledger.bytes.0)]
    Ledger {
        /// The switch.
        node: NodeId,
        /// The port.
        port: PortId,
        /// The priority of the queue.
        priority: Priority,
        /// The volume that waits in the queue.
        queued: Volume,
        /// The amount in the ledger.
        ledger: Volume,
    },
    /// Ledger and priority group differ.
    #[error("switch {}, {port}, group {priority} holds {} bytes, but the ledger has {}",
        node.0, group.0, ledger.0)]
    Group {
        /// The switch.
        node: NodeId,
        /// The port.
        port: PortId,
        /// The priority of the group.
        priority: Priority,
        /// The amount that the group holds.
        group: Bytes,
        /// The amount in the ledger.
        ledger: Bytes,
    },
    /// A switch holds more than its buffer.
    #[error("switch {}: frames hold {} bytes of {} pool, which has only {}", node.0, held.0, pool.name(), limit.0)]
    Buffer {
        /// The switch.
        node: NodeId,
        /// The pool.
        pool: Pool,
        /// The amount held.
        held: Bytes,
        /// The size of the pool.
        limit: Bytes,
    },
    /// A lossless frame was dropped, and no fault of a link explains it.
    #[error("switch {}, {port} dropped a frame of lossless priority {priority} ({})", node.0, reason.name())]
    LosslessDrop {
        /// The switch.
        node: NodeId,
        /// The port that counted the drop.
        port: PortId,
        /// The priority of the frame.
        priority: Priority,
        /// The reason of the drop.
        reason: DropReason,
    },
    /// The counters of a switch do not match the frames that it has consumed or dropped.
    #[error("switch {} consumed or dropped {} frames of {} bytes, but its counters name {} frames of {} bytes",
        node.0, taken.frames, taken.bytes.0, named.frames, named.bytes.0)]
    UnnamedDrop {
        /// The switch.
        node: NodeId,
        /// The frames that came in and are neither inside nor out.
        taken: Volume,
        /// The frames that its counters name.
        named: Volume,
    },
    /// A frame overtook another frame of its queue pair.
    #[error("flow {}: frame {serial} was delivered after frame {after}", flow.0)]
    Order {
        /// The flow.
        flow: FlowId,
        /// The serial number of the frame in its flow.
        serial: u32,
        /// The serial number of the frame delivered before it.
        after: u32,
    },
    /// A data frame began while its priority was paused.
    #[error("node {}, {port}: a frame of priority {priority} begins at {start} s, but the priority is paused until {until} s", node.0)]
    Pause {
        /// The sender.
        node: NodeId,
        /// The port of the sender.
        port: PortId,
        /// Its priority.
        priority: Priority,
        /// The start of its first bit.
        start: Nanos,
        /// The end of the pause.
        until: Nanos,
    },
    /// A frame began before the one in front of it had ended, in the past, or further ahead than is allowed.
    #[error("node {}, {port}: a frame begins at {start} s, outside {earliest} s to {latest} s", node.0)]
    Start {
        /// The sender.
        node: NodeId,
        /// The port of the sender.
        port: PortId,
        /// The start of its first bit.
        start: Nanos,
        /// The instant from which the link is free.
        earliest: Nanos,
        /// The latest start that the window allows.
        latest: Nanos,
    },
    /// A port of a switch is due at another instant than it announced.
    #[error("switch {}, {port} is due at {due} s but reported {said} s", node.0)]
    Deadline {
        /// The switch.
        node: NodeId,
        /// The port.
        port: PortId,
        /// The instant at which it is due.
        due: Nanos,
        /// The instant that it announced.
        said: Nanos,
    },
}

units::named! {
    /// A pool of a switch, or all of its buffer.
    Pool {
        /// Shared part of the ingress pool.
        Shared = "the shared",
        /// Headroom pool.
        Headroom = "the headroom",
        /// Egress pool of lossy queues.
        EgressLossy = "the lossy egress",
        /// Pools and reservations together.
        All = "the whole",
    }
}
