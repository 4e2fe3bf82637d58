//! What the control thread asks of a worker, and what comes back. Everything is allocated and freed
//! by the control thread: boxes travel to the worker and back.

use crate::DeviceCounters;
use crate::ring::{Consumer, Producer, ring};
use switch::program::NotLive;
use switch::{DelayHistogram, PoolReport, PortInspection, Successor, Volume};
use units::PortId;

/// What a worker is asked to do, at the end of a turn.
#[derive(Debug)]
pub enum Command {
    /// Put another configuration in force.
    Install(Box<Successor>),
    /// Fill in what there is to see of a port of its own, and of its share of the pools. Of a port of
    /// another worker nothing is filled in.
    Inspect(PortId, Box<Inspection>),
    /// Start the cleared-on-read watermarks again.
    ClearWatermarks,
    /// The link of a port of its own went up or down: nothing is given to a device whose link is down.
    Link(PortId, bool),
    /// Take in no more data frames; go on sending what is inside. Data frames that still come are
    /// dropped and counted ([`Inspection::drained`]). PFC and PAUSE frames are still obeyed.
    Drain,
    /// Return from [`crate::Worker::run`].
    Stop,
}

/// What a worker answers, in the order of the commands. `Drain`, `Link`, `ClearWatermarks` and `Stop`
/// are not answered.
#[derive(Debug)]
pub enum Reply {
    /// What was in force, or the configuration that cannot be, with the reason: to be dropped.
    Installed(Result<Box<Successor>, (Box<Successor>, NotLive)>),
    /// What was asked for.
    Inspected(PortId, Box<Inspection>),
}

/// What there is to see of one port.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// What the switch knows of it.
    pub port: PortInspection,
    /// What the device has counted.
    pub device: DeviceCounters,
    /// What its emulated link has done; all zero where there is none.
    pub emulation: crate::EmulationCounters,
    /// The pools, as far as the shard of the port holds them.
    pub pools: PoolReport,
    /// How late deadlines of the shard of the port were served.
    pub lateness: DelayHistogram,
    /// How long turns of the worker took.
    pub turns: DelayHistogram,
    /// Data frames that came through the port and were dropped because the worker drains.
    pub drained: Volume,
    /// Frames that the worker had to hold back for other workers, because these were behind.
    pub held_back: u64,
}

/// Commands, and replies, that can be on their way.
const CAPACITY: usize = 16;

/// The control thread's end of a worker's mailbox.
pub struct Controls {
    commands: Producer<Command>,
    replies: Consumer<Reply>,
}

/// The worker's end.
pub struct Mailbox {
    commands: Consumer<Command>,
    replies: Producer<Reply>,
}

/// The mailbox is full: the worker is behind, or its replies were not received. The command comes back.
#[derive(Debug, thiserror::Error)]
#[error("the worker's mailbox is full")]
pub struct Full(pub Command);

/// A mailbox for one worker.
pub fn mailbox() -> (Controls, Mailbox) {
    mailbox_of(CAPACITY)
}

pub(crate) fn mailbox_of(capacity: usize) -> (Controls, Mailbox) {
    let (to_worker, commands) = ring(capacity);
    let (replies, from_worker) = ring(capacity);
    (Controls { commands: to_worker, replies: from_worker }, Mailbox { commands, replies })
}

impl Controls {
    /// Asks the worker for something. It is done at the end of one of its next turns.
    ///
    /// # Errors
    /// [`Full`], with the command.
    pub fn send(&mut self, command: Command) -> Result<(), Full> {
        self.commands.push(command).map_err(Full)
    }

    /// The next reply, if there is one.
    pub fn receive(&mut self) -> Option<Reply> {
        self.replies.pop()
    }
}

impl Mailbox {
    /// The next command, but none while there is no room for its reply.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Command> {
        if self.replies.is_full() { None } else { self.commands.pop() }
    }

    /// Answers the command that was taken last.
    pub(crate) fn answer(&mut self, reply: Reply) {
        let sent = self.replies.push(reply);
        debug_assert!(sent.is_ok(), "a command is taken where there is room for its reply only");
    }
}
