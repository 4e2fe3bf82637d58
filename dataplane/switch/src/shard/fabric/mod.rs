//! Everything of a shard but the forwarding decision: ports, buffer, accounts.

mod arrival;
mod egress;
mod failover;
mod ingress;
mod lane;
mod liveness;
mod lscc;
mod overload;
mod port_repair;
mod punt;
mod recorder;
mod repair;
mod run;
mod scheme;
mod senders;
mod services;
mod short_cuts;
mod steering;
mod viewer;
mod watchdog;

use arrival::Punted;
use foldhash::fast::FixedState;
use port_repair::RepairByPort;
use recorder::Recorder;
use serde::{Deserialize, Serialize};

use crate::admission::Pools;
use crate::bundle::Bundles;
use crate::bundle::failover::Failover;
use crate::congestion::senders::Senders;
use crate::egress::{EgressPort, WatchdogEvent};
use crate::flow_control::{Accounts, OtherLanes};
use crate::frame::Frame;
use crate::ingress::IngressPort;
use crate::lanes::Lane;
use crate::ledger::{Ledger, ShardId};
use crate::program::Program;
use crate::queue::Store;
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::sync::Arc;
use units::{Nanos, PortId, PortSet};

/// The senders of each port on which a scheme notifies them. The members of a bundle [may share
/// them](crate::congestion::Notifiers::shared_flows): they are at the member that used them last, and at the first one
/// to begin with.
pub(in crate::shard) type SendersByPort = Vec<Option<Box<Senders>>>;

/// The senders of all ports of `program`.
pub(in crate::shard) fn senders_of(program: &Program) -> SendersByPort {
    let settings = program.settings();
    let senders = |port: PortId| {
        let is_shared = program.port(port).notifiers.shared_flows().is_some();
        if is_shared && settings.head(port) != port {
            return None;
        }
        let members = if is_shared { settings.members(port) } else { PortSet::EMPTY };
        let others = members.iter().filter(|it| *it != port).collect();
        Senders::new(settings, port, others, program.hash_key()).map(Box::new)
    };
    (0..settings.ports.len() as u16).map(PortId).map(senders).collect()
}

#[derive(Serialize, Deserialize)]
pub(super) struct Fabric<F> {
    pub(super) id: ShardId,
    pub(super) ledger: Arc<Ledger>,
    /// The ports of this shard: whole teams. The halves of other ports stay unused.
    pub(super) owned: PortSet,
    pub(super) ingress: Vec<IngressPort>,
    pub(super) egress: Vec<EgressPort>,
    store: Store<F>,
    pub(super) pools: Pools,
    rng: Pcg32,
    /// Ports of this shard whose frames have departed since their groups were last settled.
    unsettled: PortSet,
    /// Ports of this shard with a paused group.
    paused: PortSet,
    /// For each port, those whose schemes listen to the pauses that it receives.
    listeners: Vec<PortSet>,
    /// Ports whose deadline may have changed since the last query.
    changed: PortSet,
    /// The latest storms; and the events that wait to be taken, where they are recorded.
    pub(super) recorder: Recorder,
    /// The senders of this shard's ports.
    pub(super) senders: SendersByPort,
    /// The ports on which a scheme notifies senders.
    notifying: PortSet,
    /// What this shard's ports repair with, where they do, and which these are.
    repairs: RepairByPort<F>,
    repaired: PortSet,
    /// Chooses the bucket of a flow.
    #[serde(skip)]
    buckets: FixedState,
    /// Frames of a burst that go on together, empty between bursts.
    #[serde(skip, default = "Vec::new")]
    ready: Vec<F>,
    /// Ports of this shard that have a queue for each far port.
    steered: PortSet,
    /// Ports of this shard after whose egress there is more to do: those, and members of a bundle of which one does not send.
    followed_up: PortSet,
    /// Ports of this shard that do more than to send frames and to exchange PFC frames. All others skip in one test
    /// what these do.
    equipped: PortSet,
    /// The bundles of the program.
    #[serde(skip)]
    pub(super) bundles: Option<Arc<Bundles>>,
    /// Their members.
    pub(super) failover: Failover,
    /// Its end of the board, if it is one of several lanes. No checkpoint has lanes.
    #[serde(skip)]
    lane: Option<Box<Lane>>,
    /// Frames for the kernel, at most as many as there is room for. They are taken before the next burst.
    #[serde(skip, default = "Vec::new")]
    punted: Vec<Punted<F>>,
    /// Whether it has to look at other shards or lanes.
    has_others: bool,
}

/// What `lane` sees of the others, where there are lanes.
pub(super) fn others(lane: &Option<Box<Lane>>) -> Option<&dyn OtherLanes> {
    lane.as_ref().map(|lane| &**lane as &dyn OtherLanes)
}

impl<F: Frame> Fabric<F> {
    pub fn new(id: ShardId, program: &Program, ledger: Arc<Ledger>, owned: PortSet) -> Self {
        let settings = program.settings();
        let (ports, queues) =
            (settings.ports.len(), settings.ports.iter().map(|port| port.queues.len()).sum::<usize>());
        let numbers = || (0..ports as u16).map(PortId);
        let pools = Pools::new(&settings.buffer);
        let mut fabric = Self {
            id,
            owned,
            ingress: numbers().map(|port| IngressPort::new(port, program, &ledger, &pools)).collect(),
            egress: settings.ports.iter().map(EgressPort::new).collect(),
            store: Store::new(settings.buffer.packing, queues),
            pools,
            rng: Pcg32::seed_from_u64(settings.seed ^ (u64::from(id.0) << 32)),
            unsettled: PortSet::EMPTY,
            paused: PortSet::EMPTY,
            listeners: vec![PortSet::EMPTY; ports],
            changed: PortSet::first(ports),
            recorder: Recorder::default(),
            senders: numbers().map(|_| None).collect(),
            notifying: PortSet::EMPTY,
            repairs: numbers().map(|_| None).collect(),
            repaired: PortSet::EMPTY,
            buckets: FixedState::default(),
            ready: Vec::new(),
            steered: PortSet::EMPTY,
            followed_up: PortSet::EMPTY,
            equipped: PortSet::EMPTY,
            has_others: ledger.shards() > 1,
            bundles: None,
            failover: Failover::default(),
            lane: None,
            punted: Vec::new(),
            ledger,
        };
        fabric.configure_bundles(program);
        fabric.configure_senders(&mut senders_of(program));
        fabric.configure_repair(Nanos::ZERO, program);
        fabric.listen(Nanos::ZERO);
        fabric.note_equipment(program);
        fabric
    }

    pub fn next_deadline(&self) -> Nanos {
        self.owned.iter().map(|port| self.port_deadline(port)).min().unwrap_or(Nanos::NEVER)
    }

    #[inline]
    pub fn port_deadline(&self, port: PortId) -> Nanos {
        let due = self.egress[port.index()].deadline().min(self.pauses_due_at(port));
        if self.equipped.contains(port) { self.equipment_deadline(port, due) } else { due }
    }

    /// The time when an equipped port, which has frames or PFC frames to send when they are `due`, has anything to do.
    fn equipment_deadline(&self, port: PortId, due: Nanos) -> Nanos {
        let watch = self.watch_deadline(port);
        let due = match self.failover.stopped().contains(port) {
            true if !self.failover.has_carrier(port) => {
                let judged = self.egress[port.index()].watchdog_deadline(&self.store);
                return judged.min(self.stopped_deadline(port)).min(watch);
            }
            true => due.min(self.stopped_deadline(port)),
            false => due,
        };
        let (ingress, egress) = (&self.ingress[port.index()], &self.egress[port.index()]);
        let frame = ingress.frame_due().max(egress.gate.link_opens_at());
        let due = due
            .min(watch)
            .min(frame)
            .min(ingress.scheme.deadline())
            .min(egress.watchdog_deadline(&self.store));
        due.min(self.senders_deadline(port)).min(self.repair_deadline(port))
    }

    /// The next instant at which a PFC frame can leave through `port`; never while none is due.
    #[inline]
    fn pauses_due_at(&self, port: PortId) -> Nanos {
        let due = self.ingress[port.index()].pauses.deadline();
        // Other lanes could claim the link again and again.
        let waits_for_link = due != Nanos::NEVER && self.lane.is_none();
        if waits_for_link { due.max(self.egress[port.index()].gate.link_opens_at()) } else { due }
    }

    #[inline]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty() || !self.notifying.is_empty()
    }

    #[inline]
    pub fn take_changed(&mut self) -> PortSet {
        // A scheme may give notifications to any port.
        let all = if self.notifying.is_empty() { PortSet::EMPTY } else { self.owned };
        core::mem::take(&mut self.changed).union(all)
    }

    pub fn configure(&mut self, now: Nanos, old: &Program, new: &Program, spare: &mut SendersByPort) {
        self.settle();
        self.pools.configure(&new.settings().buffer);
        let settings = old.settings().ports.iter().zip(&new.settings().ports);
        for (number, (egress, (old, new))) in (0..).zip(self.egress.iter_mut().zip(settings)) {
            egress.configure(now, old, new, |queue, change| {
                let (port, priority) = (PortId(number), new.queues[queue.index()].priority);
                self.recorder.note_watchdog(WatchdogEvent { at: now, port, queue, priority, change });
            });
        }
        let accounts = Accounts { ledger: &self.ledger, others: others(&self.lane) };
        for port in self.owned.iter() {
            self.ingress[port.index()].configure(now, new, accounts, &mut self.pools);
        }
        if let Some(lane) = &mut self.lane {
            lane.forget();
        }
        self.configure_bundles(new);
        self.follow_carriers(now, new);
        self.empty_schemes(now, old, new);
        self.configure_senders(spare);
        self.configure_repair(now, new);
        self.end_paces();
        self.listen(now);
        self.note_equipment(new);
        self.recorder.note_ended_pauses(now, self.owned, &self.egress);
        self.changed = self.owned;
        // The free space of the pools is known only now.
        self.paused = self.owned;
        self.resume_where_low();
        if self.pools.memory_low {
            // The new settings may make a priority lossless.
            self.pause_for_memory();
        }
        self.publish();
    }

    /// Finds the ports that have queues for far ports, and those with a service, with a watchdog or thresholds that
    /// act, or with senders to notify, to whom any port may lead.
    fn note_equipment(&mut self, program: &Program) {
        let steers = |port: &PortId| self.egress[port.index()].steering().is_some();
        let is_equipped = |port: &PortId| {
            program.keeps_flows()
                || self.ingress[port.index()].acts()
                || self.egress[port.index()].acts()
                || self.repaired.contains(*port)
                // They wait since before the last scheme that notifies senders was turned off.
                || !self.egress[port.index()].notifications.is_empty()
        };
        self.steered = self.owned.iter().filter(steers).collect();
        self.equipped = self.owned.iter().filter(is_equipped).collect();
        let beside_stopped = self.beside_stopped();
        self.equipped = self.equipped.union(beside_stopped);
        self.followed_up = self.steered.union(beside_stopped);
    }

    #[inline]
    pub fn look_at_other_shards(&mut self) {
        if self.has_others && self.lane.is_none() {
            self.read_other_shards();
            self.resume_where_low();
        }
    }

    pub fn set_memory_low(&mut self, low: bool) {
        if self.pools.memory_low == low {
            return;
        }
        self.pools.memory_low = low;
        if low {
            self.pause_for_memory();
        } else {
            self.resume_where_low();
        }
    }

    fn pause_for_memory(&mut self) {
        self.owned.iter().for_each(|port| self.ingress[port.index()].pause_for_memory());
        self.paused = self.owned;
        self.changed = self.owned;
    }

    /// Releases departed frames from their groups, and resumes groups that have fallen low enough.
    #[inline(always)]
    fn settle(&mut self) {
        if !self.unsettled.is_empty() {
            self.settle_now();
        }
    }

    #[inline(never)]
    fn settle_now(&mut self) {
        for port in core::mem::take(&mut self.unsettled).iter() {
            self.ingress[port.index()].settle(&self.ledger, &mut self.pools);
        }
        // Space that one group returned may lift the dynamic threshold of another.
        self.resume_where_low();
    }

    /// Resumes groups that have fallen low enough.
    #[inline]
    fn resume_where_low(&mut self) {
        self.changed = self.changed.union(self.paused);
        for port in self.paused.iter() {
            if !self.ingress[port.index()].resume_where_low(&self.pools) {
                self.paused.remove(port);
            }
        }
    }

    /// Publishes this shard's use of the pools to the others. A lane does so once a turn.
    #[inline(always)]
    fn publish(&self) {
        if self.has_others && self.lane.is_none() {
            self.ledger.publish_pool_use(self.id, self.pools.held());
        }
    }

    /// Looks at the other shards or lanes before a burst of `port`.
    #[inline]
    fn look_before_burst(&mut self, now: Nanos, port: PortId) {
        if self.has_others {
            self.read_other_shards();
            self.look_at_pools();
            self.look_at(now, port);
        }
    }

    #[inline]
    fn read_other_shards(&mut self) {
        if self.has_others && self.lane.is_none() {
            self.pools.note_others(self.ledger.pool_use_of_others(self.id));
        }
    }
}

#[cfg(test)]
mod tests;
