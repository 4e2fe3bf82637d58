//! The switch state of one core, and the calls through which it is driven.
//!
//! On the wire there is one shard per worker core, each owning ports; replay and simulation use
//! one shard per switch. Shards share the [`Ledger`] and pass frames that leave through another
//! shard's port by [`Handoff`]; whoever drives them carries those over, through SPSC rings on the
//! wire.

mod fabric;
mod inspect;
mod successor;

pub use successor::Successor;

pub use fabric::Handoff;
pub use inspect::{GroupReport, LsccReport, PauseState, PoolLevel, PoolReport, PortInspection, QueueReport};

use crate::forwarding::{Bridge, Forwarding};
use crate::frame::{Frame, Links, Transmitter};
use crate::ledger::{Ledger, ShardId};
use crate::program::{NotLive, Program};
use fabric::Fabric;
use std::sync::Arc;
use successor::bridge_of;
use units::{Nanos, PortId, PortSet, Priority, QueueId};

/// The whole switch state of one core.
pub struct Shard<F> {
    program: Arc<Program>,
    /// What it has learned, where it is a bridge.
    bridge: Bridge,
    fabric: Fabric<F>,
}

impl<F: Frame> Shard<F> {
    /// A switch of one shard that owns every port.
    pub fn single(program: Arc<Program>) -> Self {
        let ports = program.settings().ports.len();
        let ledger = Arc::new(Ledger::new(ports, 1));
        Self::new(ShardId(0), program, ledger, vec![ShardId(0); ports])
    }

    /// Shard `id` of a switch that will be called with a clock which never goes back, not even where the
    /// switch starts again: Unix time is one. LSCC numbers its messages by it, and the other end takes
    /// lower numbers for old ones. Port n belongs to shard `owners[n]`. All its shards are given
    /// the same `program`, `ledger` and `owners`.
    ///
    /// # Panics
    /// Where `owners` or `ledger` are not made for the ports of `program`, or `ledger` has no row
    /// for `id` or an owner: a mistake in the caller, not in a configuration. That no two shards of
    /// a ledger share an id, nobody checks: their totals would be lost.
    pub fn new(id: ShardId, program: Arc<Program>, ledger: Arc<Ledger>, owners: Vec<ShardId>) -> Self {
        let ports = program.settings().ports.len();
        assert!(owners.len() == ports && ledger.ports() == ports);
        assert!(owners.iter().chain([&id]).all(|shard| shard.index() < ledger.shards()));
        Self { bridge: bridge_of(&program), fabric: Fabric::new(id, &program, ledger, owners), program }
    }

    /// The configuration in force.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The ledger of the switch.
    pub fn ledger(&self) -> &Ledger {
        self.fabric.ledger()
    }

    /// Takes frames that arrived at `port`, which this shard owns, and leaves `burst` empty. A frame that comes alone and
    /// finds its egress port idle leaves within the call, through `links`, as it would in the next [`Shard::egress`] of
    /// that port. So it leaves before a frame of higher priority that arrives later in the same turn.
    #[inline(always)]
    pub fn ingress(&mut self, now: Nanos, port: PortId, burst: &mut Vec<F>, links: &mut impl Links<F>) {
        let (program, fabric) = (&*self.program, &mut self.fabric);
        // A scheme that keeps a queue for each far port chooses it here.
        let queue = |priority: Priority| QueueId::from(priority);
        // How frames are forwarded is matched here, once per burst; each arm is a loop of its own.
        match program.forwarding() {
            Forwarding::Patch(patch) => {
                let verdict = patch.verdict(port);
                fabric.ingress(now, port, burst, program, links, |_, priority, _| (verdict, queue(priority)));
            }
            Forwarding::Bridge => {
                let bridge = &mut self.bridge;
                fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
                    (bridge.verdict(now, port, descriptor, frame.headers()), queue(priority))
                });
            }
            Forwarding::Route(table) => {
                fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
                    (table.verdict(port, descriptor, frame.headers_mut()), queue(priority))
                });
            }
        }
    }

    /// Gives `out` the frames whose turn on the wire of `port`, which this shard owns, has come.
    /// Control frames go first.
    pub fn egress(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        self.fabric.egress(now, port, &self.program, out);
    }

    /// The next instant at which the shard wants to be called if nothing arrives: `egress` for
    /// each port whose [`Shard::port_deadline`] has come. [`Nanos::NEVER`] while nothing waits.
    pub fn next_deadline(&self) -> Nanos {
        self.fabric.next_deadline()
    }

    /// When the next frame can leave through `port`, if nothing more arrives. An instant in the
    /// past, [`Nanos::ZERO`] included, means now.
    #[inline]
    pub fn port_deadline(&self, port: PortId) -> Nanos {
        self.fabric.port_deadline(port)
    }

    /// Whether there are ports in [`Shard::take_changed`].
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.fabric.has_changed()
    }

    /// The ports whose [`Shard::port_deadline`] may have changed since this was last called; at first, and while
    /// LSCC runs on a port, all of this shard's. Who keeps the deadlines of the others need not ask for them again.
    #[inline]
    pub fn take_changed(&mut self) -> PortSet {
        self.fabric.take_changed()
    }

    /// When the next data frame can leave through `port`: what [`Shard::port_deadline`] says, PFC
    /// frames left out. [`Nanos::NEVER`] while no frame waits there, or none ever can leave.
    #[inline]
    pub fn departure(&self, port: PortId) -> Nanos {
        self.fabric.departure(port)
    }

    /// Swaps the configuration between two bursts. Frames inside, counters, learned addresses and known
    /// flows stay. Returns the old one. Tables are made, and old ones dropped, within the call: a shard that must
    /// not wait calls [`Shard::succeed`].
    ///
    /// # Errors
    /// [`NotLive`], with nothing changed, where it differs in what cannot change live.
    pub fn install(&mut self, now: Nanos, program: Arc<Program>) -> Result<Arc<Program>, NotLive> {
        let mut successor = Successor::new(program);
        self.succeed(now, &mut successor)?;
        Ok(successor.program)
    }

    /// The same with tables that were made before. Where the table of the bridge or of flows has another size, they
    /// are exchanged; `successor` then holds what is to be dropped.
    ///
    /// # Errors
    /// [`NotLive`], with nothing changed, where the configuration differs in what cannot change live.
    pub fn succeed(&mut self, now: Nanos, successor: &mut Successor) -> Result<(), NotLive> {
        let Successor { program, bridge, senders } = successor;
        program.can_replace(&self.program)?;
        self.bridge.succeed(bridge);
        self.fabric.configure(now, &self.program, program, senders);
        core::mem::swap(&mut self.program, program);
        Ok(())
    }

    /// Says whether memory for frames that devices receive runs low. While it does, all lossless priorities are paused
    /// and lossy frames dropped ([`crate::DropReason::MemoryLow`]): a device without memory loses frames of either
    /// kind before any of this sees them. Lossless frames that were on their way are admitted as ever.
    #[inline]
    pub fn set_memory_low(&mut self, low: bool) {
        self.fabric.set_memory_low(low);
    }

    /// Reads what other shards have released, and resumes groups that have thereby fallen below
    /// their thresholds. Called once per turn where there are several shards.
    pub fn look_at_other_shards(&mut self) {
        self.fabric.look_at_other_shards();
    }

    /// Frames for ports of shard `to`, to be carried there and given to [`Shard::accept`]. What is left in it, and what
    /// finds no room there, waits for the next call in the order in which it came; it is charged to the ledger all the
    /// while, so that senders are paused.
    pub fn outbox(&mut self, to: ShardId) -> &mut Vec<Handoff<F>> {
        self.fabric.outbox(to)
    }

    /// Frames that ever waited because an outbox was full.
    pub fn held_back(&self) -> u64 {
        self.fabric.held_back()
    }

    /// Queues frames that another shard admitted for ports of this one, and leaves `frames`
    /// empty.
    pub fn accept(&mut self, now: Nanos, frames: &mut Vec<Handoff<F>>) {
        if matches!(self.program.forwarding(), Forwarding::Bridge) {
            for (ingress, frame) in frames.iter().filter_map(Handoff::frame) {
                self.bridge.overhear(now, ingress, frame.headers());
            }
        }
        self.fabric.accept(now, frames);
    }
}
