//! Commands of the control thread to a worker, and its replies. The control thread allocates and frees all
//! memory: boxes travel to the worker and back.

use crate::ring::{Consumer, Producer, ring};
use crate::{DeviceCounters, Profile, Tap};
use std::sync::Arc;
use switch::Program;
use switch::program::NotLive;
use switch::{DelayHistogram, PoolReport, PortInspection, Successor, Volume};
use units::PortId;

/// A command, which the worker follows at the end of a turn.
#[derive(Debug)]
pub enum Command {
    /// Puts another configuration in force.
    Install(Box<Successor>),
    /// Puts a program in force that differs in the routes of the kernel alone.
    Exchange(Arc<Program>),
    /// Fills in the state of one of its ports, and of its share of the pools. Fills in nothing for a port of
    /// another worker.
    Inspect(PortId, Box<Inspection>),
    /// Restarts the cleared-on-read watermarks.
    ClearWatermarks,
    /// Reports that the link of one of its ports went up or down. A device whose link is down gets no frames.
    Link(PortId, bool),
    /// Stops admission of data frames and keeps sending queued ones. Data frames that still arrive are
    /// dropped and counted ([`Inspection::drained`]). PFC and PAUSE frames are still obeyed.
    Drain,
    /// Lets the link agents of its ports announce, in the next turn, that the ports stop.
    ShutDownAgents,
    /// Copies frames of one of its ports from now on, or no longer. Nothing happens for a port of another worker.
    Capture(PortId, Option<Box<Tap>>),
    /// Returns from [`crate::Worker::run`].
    Stop,
}

/// The replies of a worker, in the order of the commands. `Drain`, `ShutDownAgents`, `Link`, `ClearWatermarks`
/// and `Stop` have none.
#[derive(Debug)]
pub enum Reply {
    /// The replaced configuration, or the rejected one with the reason. The control thread drops either.
    Installed(Result<Box<Successor>, (Box<Successor>, NotLive)>),
    /// The program whose routes were exchanged. The control thread drops it.
    Exchanged(Arc<Program>),
    /// The requested inspection.
    Inspected(PortId, Box<Inspection>),
    /// The capture that was replaced, if there was one, or the one for a port of another worker. The control thread drops
    /// it.
    Captures(PortId, Option<Box<Tap>>),
}

/// The state of one port.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The state in the switch.
    pub port: PortInspection,
    /// The counters of the device.
    pub device: DeviceCounters,
    /// The counters of its emulated link; all zero if there is none.
    pub emulation: crate::EmulationCounters,
    /// The pools, as far as the shard of the port holds them.
    pub pools: PoolReport,
    /// The lateness of the deadlines of the port's shard.
    pub lateness: DelayHistogram,
    /// The durations of the worker's turns.
    pub turns: DelayHistogram,
    /// The run-time profile of the worker.
    pub profile: Profile,
    /// Data frames that arrived at the port during a drain and were dropped.
    pub drained: Volume,
}

impl Inspection {
    /// Adds the figures of another lane of the port to these of the lead. What they say of the workers stays the lead's.
    pub fn add_lane(&mut self, lane: &Self) {
        // All fields are named, so that a new one isn't forgotten.
        let Self { port, device, emulation, pools: _, lateness: _, turns: _, profile: _, drained } = lane;
        self.port.add_lane(port);
        self.device.add(device);
        self.emulation.add_lane(emulation);
        self.drained += *drained;
    }
}

/// The capacity for commands, and for replies.
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

/// The mailbox is full: the worker is behind, or its replies were not received. Returns the command.
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
    /// Sends a command, which the worker follows at the end of one of its next turns.
    ///
    /// # Errors
    /// [`Full`], with the command.
    pub fn send(&mut self, command: Command) -> Result<(), Full> {
        self.commands.push(command).map_err(Full)
    }

    /// Whether [`Controls::send`] would fail.
    pub fn is_full(&mut self) -> bool {
        self.commands.is_full()
    }

    /// The next reply, if there is one.
    pub fn receive(&mut self) -> Option<Reply> {
        self.replies.pop()
    }
}

impl Mailbox {
    /// The next command, or `None` while there is no room for its reply.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Command> {
        if self.replies.is_full() { None } else { self.commands.pop() }
    }

    /// Answers the last command taken.
    pub(crate) fn answer(&mut self, reply: Reply) {
        let sent = self.replies.push(reply);
        debug_assert!(sent.is_ok(), "a command is taken where there is room for its reply only");
    }
}
