//! Jobs: the work that several hosts share, such as a collective, a training step or a trace.
//!
//! A [`Job`] has the form of GOAL (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", ICPP 2009). Each
//! rank has operations that wait for each other. All of these dependencies are within the rank, so that a part of the
//! network runs the ranks of its hosts without the others, and only flows cross.
//!
//! | operation | begins | ends |
//! |---|---|---|
//! | send | starts a flow with a queue pair of its own | everything is acknowledged |
//! | receive | is ready to receive | it has begun, and the whole flow of its send has arrived |
//! | calculate | occupies its CPU | its time is over |
//!
//! Operations of a rank with the same CPU begin one after the other, in the order in which they became ready; of those
//! that do so at one instant, sends precede receives, and these calculations, as in LogGOPSim. Sends and receives wait for
//! their CPU, but take none of its time. The k-th send to a rank with a tag belongs to the k-th receive there from this
//! rank with this tag, in the order in which the job lists them. A message of zero bytes is one packet without payload,
//! and a message between ranks at one host takes no time.

mod collective;
mod goal;
mod ideal;
mod order;
mod plan;
mod progress;

pub use collective::{Collective, Kind};
pub use goal::{GoalError, GoalFault, read_goal};
pub use ideal::{Alone, ideal};
pub(crate) use plan::Flight;
pub use plan::{Jobs, PlannedJob};
pub(crate) use progress::{Advance, Progress};

use crate::node_id::NodeId;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, Priority};

/// The most operations of all ranks of a job.
pub const OPERATIONS_MAX: usize = 1 << 24;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The group with which its flows are counted in results.
    pub group: u16,
    /// The priority of its flows.
    pub priority: Priority,
    /// The instant at which its ranks begin.
    pub start: Nanos,
    /// How often each rank repeats its operations. It begins anew when all of them have ended, and does not wait for other
    /// ranks.
    pub iterations: u32,
    /// Its ranks, by number.
    pub ranks: Vec<Rank>,
}

/// A rank of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Its host.
    pub host: NodeId,
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The dependencies of its operations.
    pub after: Vec<After>,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its action.
    pub act: Act,
    /// The CPU of the rank on which it begins.
    pub cpu: u8,
}

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends a message to a rank.
    Send {
        /// The length of the message.
        bytes: u64,
        /// The rank.
        to: u32,
        /// The tag.
        tag: u32,
    },
    /// Receives a message from a rank.
    Receive {
        /// The length of the message.
        bytes: u64,
        /// The rank.
        from: u32,
        /// The tag.
        tag: u32,
    },
    /// Calculates for so long.
    Calculate(Interval),
}

/// A dependency: an operation begins when another one of its rank has begun or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The operation that waits, by its number in the rank.
    pub operation: u32,
    /// The one that it waits for.
    pub other: u32,
    /// The moment of that one.
    pub moment: Moment,
}

/// A moment of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    /// It begins: `irequires` of GOAL.
    Begins,
    /// Of a send: its last packet leaves. An operation that waits for it follows on the link, as over one queue pair.
    Leaves,
    /// It has ended: `requires` of GOAL.
    Ends,
}

/// The operation of a job at which it is at fault, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}: {fault}")]
pub struct JobError {
    /// The rank.
    pub rank: u32,
    /// The operation, by its number in the rank.
    pub operation: u32,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No receive belongs to a send.
    #[error("rank {to} does not receive this message with tag {tag}")]
    NotReceived {
        /// The other rank.
        to: u32,
        /// The tag.
        tag: u32,
    },
    /// No send belongs to a receive.
    #[error("rank {from} does not send this message with tag {tag}")]
    NotSent {
        /// The other rank.
        from: u32,
        /// The tag.
        tag: u32,
    },
    /// A receive expects another length than its send has.
    #[error("it receives {received} bytes, and rank {from} sends {sent}")]
    Length {
        /// The sender.
        from: u32,
        /// Bytes of the send.
        sent: u64,
        /// Bytes of the receive.
        received: u64,
    },
    /// A send to, or a receive from, a rank that the job does not have.
    #[error("there is no rank {other}, but 0 to {last}")]
    NoRank {
        /// The other rank.
        other: u32,
        /// The last rank.
        last: u32,
    },
    /// An operation waits for itself, perhaps by way of others and of messages.
    #[error("it waits for itself, perhaps by way of others")]
    Cycle,
}

#[cfg(test)]
mod tests;
