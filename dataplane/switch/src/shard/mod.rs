//! The switch state of one core, and the calls that drive it.
//!
//! On the wire there is one shard per worker core, each with its own ports, or one lane of all ports; replay and simulation
//! drive one shard per switch, or all lanes of it ([`crate::Lanes`]). Ports that exchange frames belong to one shard. Shards
//! share the [`Ledger`] and the pools.

mod events;
mod fabric;
mod inspect;
mod merge;
mod successor;

pub use successor::Successor;

pub use inspect::{GroupReport, PauseState, PoolLevel, PoolReport, PortInspection, QueueReport};

use crate::forwarding::{Bridge, Forwarding, Punt};
use crate::frame::{Frame, Links, Transmitter};
use crate::lanes::Board;
use crate::ledger::{Ledger, ShardId};
use crate::program::{NotLive, Program};
use fabric::Fabric;
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;
use successor::bridge_of;
use units::{Bytes, Interval, Nanos, PortId, PortSet, Priority, QueueId, WireBytes};

/// The whole switch state of one core.
pub struct Shard<F> {
    program: Arc<Program>,
    /// The learned addresses, where the switch is a bridge.
    bridge: Bridge,
    /// Draws the next hop of each packet, where the program says so.
    spray: Pcg32,
    fabric: Fabric<F>,
}

impl<F: Frame> Shard<F> {
    /// A switch of one shard that owns every port.
    pub fn single(program: Arc<Program>) -> Self {
        let ports = program.settings().ports.len();
        let ledger = Arc::new(Ledger::new(ports, 1));
        Self::new(ShardId(0), program, ledger, PortSet::first(ports))
    }

    /// Shard `id` of a switch, which has the ports `owned`. All shards of a switch share `program` and `ledger`.
    ///
    /// The clock of later calls must never go back, even across restarts: Unix time qualifies. LSCC numbers its
    /// messages by it, and the other end rejects lower numbers as old.
    ///
    /// # Panics
    /// If `owned` or `ledger` do not match the ports of `program`, `ledger` has no row for `id`, or a port of `owned` exchanges
    /// frames with one that is not: a mistake of the caller, not of a configuration. Two shards of a ledger must not share
    /// an id or a port, which is not checked: their totals would be lost.
    pub fn new(id: ShardId, program: Arc<Program>, ledger: Arc<Ledger>, owned: PortSet) -> Self {
        let ports = program.settings().ports.len();
        assert!(ledger.ports() == ports && id.index() < ledger.shards());
        assert!(owned.iter().all(|port| port.index() < ports) && program.has_whole_teams(owned).is_ok());
        let fabric = Fabric::new(id, &program, ledger, owned);
        Self { bridge: bridge_of(&program), spray: spray_of(&program, id.index()), fabric, program }
    }

    /// Lane `number` of a switch whose lanes share `board`. All of them run a program of [`Program::for_lanes`], have every port,
    /// and are driven alike: [`Shard::look`], bursts, [`Shard::egress`] of each port that is due, [`Shard::publish`].
    ///
    /// # Panics
    /// If `board` does not match the program or has no such lane: a mistake of the caller.
    pub fn lane(number: usize, program: Arc<Program>, board: Arc<Board>) -> Self {
        assert!(number < board.lanes() && program.settings().ports.len() == board.ports());
        let (ledger, all) = (board.ledger(number).clone(), PortSet::first(board.ports()));
        let mut shard = Self::new(ShardId(0), program, ledger, all);
        shard.bridge.share(board.stations(number));
        shard.fabric.join(number, board, &shard.program);
        shard.spray = spray_of(&shard.program, number);
        shard
    }

    /// Looks at what the other lanes show, at the start of a turn. A shard that is no lane has nothing to look at.
    pub fn look(&mut self, now: Nanos) {
        self.bridge.hear(now);
        self.fabric.look(now, &self.program);
    }

    /// Shows the other lanes what this one holds, at the end of a turn.
    pub fn publish(&mut self) {
        self.fabric.show();
    }

    /// All of its state but the program, for a checkpoint.
    pub fn state(&self) -> impl Serialize
    where
        F: Serialize,
    {
        let Self { program: _, bridge, spray, fabric } = self;
        (bridge, spray, fabric)
    }

    /// Takes the [`Shard::state`] of a shard that had the same program. Tables get back what they held, but not the memory
    /// that was reserved for more, so a worker does not use this.
    ///
    /// # Errors
    /// Those of `state`, with nothing changed.
    pub fn restore<'de, D>(&mut self, state: D) -> Result<(), D::Error>
    where
        D: Deserializer<'de>,
        F: Deserialize<'de>,
    {
        (self.bridge, self.spray, self.fabric) = Deserialize::deserialize(state)?;
        self.fabric.configure_bundles(&self.program);
        self.fabric.choose_buckets(&self.program);
        Ok(())
    }

    /// The configuration in force.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The ledger of the switch.
    pub fn ledger(&self) -> &Ledger {
        &self.fabric.ledger
    }

    /// The ledger, for a reader on another core.
    pub fn shared_ledger(&self) -> Arc<Ledger> {
        self.fabric.ledger.clone()
    }

    /// Takes frames that arrived at `port`, which this shard owns, and leaves `burst` empty. A lone frame that
    /// finds its egress port idle leaves within the call, through `links`, as it would in the next
    /// [`Shard::egress`] of that port. So it leaves before a frame of higher priority that arrives later in the
    /// same turn.
    #[inline(always)]
    pub fn ingress(&mut self, now: Nanos, port: PortId, burst: &mut Vec<F>, links: &mut impl Links<F>) {
        let (program, fabric) = (&*self.program, &mut self.fabric);
        // At a port with queues for far ports, the fabric chooses one of them.
        let queue = |priority: Priority| QueueId::from(priority);
        // The forwarding mode is matched here, once per burst; each arm is its own loop.
        match program.forwarding() {
            Forwarding::Patch(patch) => {
                let verdict = patch.verdict(port);
                fabric.ingress(now, port, burst, program, links, |_, priority, _| (verdict, queue(priority)));
            }
            Forwarding::Bridge if self.bridge.is_shared() => self.ingress_of_lane(now, port, burst, links),
            Forwarding::Bridge => {
                let bridge = &mut self.bridge;
                fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
                    (bridge.verdict::<false>(now, port, descriptor, frame.headers()), queue(priority))
                });
            }
            Forwarding::OfBundles(..) => self.ingress_of_bundles(now, port, burst, links),
            Forwarding::Spray(_) => self.ingress_with_spray(now, port, burst, links),
            Forwarding::Route(table) => {
                fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
                    (table.verdict(port, descriptor, frame.headers_mut()), queue(priority))
                });
            }
        }
    }

    /// As [`Shard::ingress`], for a lane of a bridge.
    #[inline(never)]
    fn ingress_of_lane(&mut self, now: Nanos, port: PortId, burst: &mut Vec<F>, links: &mut impl Links<F>) {
        let Self { program, bridge, fabric, .. } = self;
        fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
            (bridge.verdict::<true>(now, port, descriptor, frame.headers()), priority.into())
        });
    }

    /// As [`Shard::ingress`], where a patch or bridge knows each bundle as one port.
    #[inline(never)]
    fn ingress_of_bundles(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        links: &mut impl Links<F>,
    ) {
        let Self { program, bridge, fabric, .. } = self;
        let Forwarding::OfBundles(patch, bundles) = program.forwarding() else { return };
        let (head, shared) = (bundles.head(port), bridge.is_shared());
        fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
            let verdict = match patch {
                Some(patch) => patch.verdict(head),
                None if shared => bridge.verdict::<true>(now, head, descriptor, frame.headers()),
                None => bridge.verdict::<false>(now, head, descriptor, frame.headers()),
            };
            (bundles.spread(verdict, descriptor, frame.headers()), priority.into())
        });
    }

    /// As [`Shard::ingress`], where each packet draws its next hop.
    #[inline(never)]
    fn ingress_with_spray(
        &mut self,
        now: Nanos,
        port: PortId,
        burst: &mut Vec<F>,
        links: &mut impl Links<F>,
    ) {
        let Self { program, spray, fabric, .. } = self;
        let Forwarding::Spray(table) = program.forwarding() else { return };
        fabric.ingress(now, port, burst, program, links, |descriptor, priority, frame| {
            (table.sprayed(port, descriptor, frame.headers_mut(), spray), priority.into())
        });
    }

    /// Sets whether the link of `port` carries frames. If not, and the port is a member of a
    /// [bundle](crate::program::Membership), its frames move to the other members, and it sends no control frame either. Of
    /// another port, the caller keeps the frames: it does not call [`Shard::egress`].
    pub fn set_carrier(&mut self, now: Nanos, port: PortId, up: bool) {
        self.fabric.set_carrier(now, port, up, &self.program);
    }

    /// Lets a member that returns send at once.
    #[cfg(test)]
    pub(crate) fn return_now_for_tests(&mut self, now: Nanos, port: PortId) {
        self.fabric.failover.return_at(port, now);
    }

    /// Gives `out` the frames that may now leave through `port`, which this shard owns. Control frames go first.
    pub fn egress(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        self.fabric.egress(now, port, &self.program, out);
    }

    /// The same for a lane. Apart, so that the call above stays a part of its caller.
    pub(crate) fn egress_of_lane(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        self.fabric.egress_of_lane(now, port, &self.program, out);
    }

    /// The next deadline of the shard if nothing arrives: `egress` is then due for each port whose
    /// [`Shard::port_deadline`] has come. [`Nanos::NEVER`] while nothing waits.
    pub fn next_deadline(&self) -> Nanos {
        self.fabric.next_deadline()
    }

    /// The time when the next frame can leave through `port` if nothing more arrives. A time in the past,
    /// [`Nanos::ZERO`] included, means now.
    #[inline]
    pub fn port_deadline(&self, port: PortId) -> Nanos {
        self.fabric.port_deadline(port)
    }

    /// Whether [`Shard::take_changed`] would return any port.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.fabric.has_changed()
    }

    /// Takes the ports whose [`Shard::port_deadline`] may have changed since the last call. At first, and while
    /// LSCC runs on a port, these are all of this shard's ports. A caller may keep the deadlines of all others.
    #[inline]
    pub fn take_changed(&mut self) -> PortSet {
        self.fabric.take_changed()
    }

    /// The time when the next data frame can leave through `port`: [`Shard::port_deadline`] without PFC frames.
    /// [`Nanos::NEVER`] while no frame waits there, or none can ever leave.
    #[inline]
    pub fn departure(&self, port: PortId) -> Nanos {
        self.fabric.egress[port.index()].deadline()
    }

    /// Replaces the configuration between two bursts, and returns the old one. Queued frames, counters, learned
    /// addresses and known flows stay. The call itself makes new tables and drops old ones: a shard that must not
    /// wait uses [`Shard::succeed`].
    ///
    /// # Errors
    /// [`NotLive`], with nothing changed, if a setting differs that cannot change live.
    pub fn install(&mut self, now: Nanos, program: Arc<Program>) -> Result<Arc<Program>, NotLive> {
        let mut successor = Successor::new(program);
        self.succeed(now, &mut successor)?;
        Ok(successor.program)
    }

    /// Replaces the configuration with tables that were made before. A table of the bridge or of flows is exchanged
    /// only if its size changes. Afterwards `successor` holds everything that is to be dropped.
    ///
    /// # Errors
    /// [`NotLive`], with nothing changed, if a setting differs that cannot change live, or a port would exchange frames with
    /// one that this shard does not own.
    pub fn succeed(&mut self, now: Nanos, successor: &mut Successor) -> Result<(), NotLive> {
        let Successor { program, bridge, senders } = successor;
        program.can_replace(&self.program)?;
        program.has_whole_teams(self.fabric.owned)?;
        self.bridge.succeed(bridge);
        self.fabric.configure(now, &self.program, program, senders);
        core::mem::swap(&mut self.program, program);
        Ok(())
    }

    /// Exchanges the program for one that differs in its routes alone, those of the kernel
    /// ([`KernelPath::learned`](crate::program::KernelPath)) or, unless a flow control
    /// [tells them](crate::program::FlowControl::tells_routes), its own. Nothing else is touched, so it takes no longer than a
    /// frame.
    pub fn exchange_routes(&mut self, program: &mut Arc<Program>) {
        core::mem::swap(&mut self.program, program);
    }

    /// Makes room for frames to the kernel: `frames` at most in each burst. Without room, they are dropped
    /// ([`crate::DropReason::PuntFull`]).
    pub fn make_room_for_punts(&mut self, frames: usize) {
        self.fabric.make_room_for_punts(frames);
    }

    /// Whether [`Shard::take_punts`] would give any frame.
    #[inline]
    pub fn has_punts(&self) -> bool {
        self.fabric.has_punts()
    }

    /// Gives the frames for the kernel to `give`, each with its port, or the first member of the bundle of that. `give` copies
    /// the frame, and returns whether it did; one that it did not copy is dropped by name.
    #[cold]
    pub fn take_punts(&mut self, give: impl FnMut(PortId, Punt, &F) -> bool) {
        self.fabric.take_punts(give);
    }

    /// Queues a frame of the kernel of this `length` to leave through `port`, in the priority of the
    /// [kernel path](crate::program::KernelPath). `None` if there was no buffer for it, so it is dropped.
    pub fn inject(&mut self, now: Nanos, port: PortId, length: Bytes, frame: Option<F>) {
        self.fabric.inject(now, port, (length, frame), &self.program);
    }

    /// Whether `port` sends data, as far as that is up to its bundle.
    pub fn sends(&self, port: PortId) -> bool {
        self.fabric.sends(port)
    }

    /// Lets all link agents announce at once that their ports stop, and nothing after that.
    pub fn shut_down_agents(&mut self) {
        self.fabric.shut_down_agents();
    }

    /// Sets whether memory for received frames runs low. While it does, all lossless priorities are paused and
    /// lossy frames are dropped ([`crate::DropReason::MemoryLow`]), because a device without memory loses frames of
    /// either kind before the switch sees them. Lossless frames already on their way are still admitted.
    #[inline]
    pub fn set_memory_low(&mut self, low: bool) {
        self.fabric.set_memory_low(low);
    }

    /// Tells it, before the next call of [`Shard::ingress`] for `port`, that frames which arrived in the last `away` may still
    /// be unread: the worker was away for longer than the buffer covers, or the receive ring is deep. They may take room of the
    /// shared pool beyond thresholds and headroom, up to half of the pool, until their senders may go on.
    pub fn allow_late(&mut self, port: PortId, away: Interval) {
        let arrived = WireBytes(self.program.port(port).rate.bytes_in(away).saturating_add(1));
        self.fabric.ingress[port.index()].groups.iter_mut().for_each(|group| group.allow_late(arrived));
    }

    /// Notes that hellos may wait to be read at `port` ([`crate::liveness`]): the turn is late, or the burst that comes with the
    /// next call of [`Shard::ingress`] filled its room. Then silence of the other end does not yet fail the link.
    pub fn note_unread(&mut self, now: Nanos, port: PortId, is_late: bool) {
        self.fabric.note_unread(now, port, is_late);
    }

    /// Sets whether the receive ring of `port`, which this shard owns, is deep ([`crate::receive_ring`]). While it is, the
    /// lossless priorities of the port are paused, and its lossy frames are dropped before they are forwarded
    /// ([`crate::DropReason::ReceiveRing`]). Lossless frames are admitted as ever. A port without lossless priorities goes on
    /// as before.
    pub fn set_ring_deep(&mut self, port: PortId, deep: bool) {
        self.fabric.set_ring_deep(port, deep);
    }

    /// Reads what other shards hold of the pools, and resumes groups whose thresholds have risen by that. With several
    /// shards, call it once per turn.
    #[inline]
    pub fn look_at_other_shards(&mut self) {
        self.fabric.look_at_other_shards();
    }
}

/// The generator of next hops of shard or lane `number`, apart from that of all other choices, so that these stay the same.
fn spray_of(program: &Program, number: usize) -> Pcg32 {
    Pcg32::seed_from_u64(!program.settings().seed ^ ((number as u64) << 32))
}

#[cfg(test)]
mod tests;
