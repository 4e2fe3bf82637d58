//! A driver for several shards of one switch.

use crate::bench::{OpenLinks, Recorder, Sent};
use crate::conservation::assert_conserved;
use crate::frame::TestFrame;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::program::Settings;
use switch::{DropReason, Handoff, Ledger, Program, Shard, ShardId, Volume};
use units::{Nanos, PortId, Priority};

/// A switch of several shards, driven turn by turn like workers that take turns on one core.
pub struct Shards {
    /// Each by its number.
    pub shards: Vec<Shard<TestFrame>>,
    owners: Vec<ShardId>,
    /// The frames that left through each port.
    pub sent: Vec<Vec<Sent>>,
    /// Frames on the way to each shard.
    pub rings: Vec<Vec<Handoff<TestFrame>>>,
    /// The time.
    pub now: Nanos,
}

impl Shards {
    /// `count` shards; port n belongs to shard n modulo `count`.
    ///
    /// # Panics
    /// Where the settings do not hold.
    pub fn new(settings: Settings, count: u16) -> Self {
        let ports = settings.ports.len() as u16;
        let program = Arc::new(Program::new(settings).expect("the test's settings hold"));
        let ledger = Arc::new(Ledger::new(ports.into(), count.into()));
        let owners: Vec<_> = (0..ports).map(|port| ShardId(port % count)).collect();
        let shard = |id| Shard::new(ShardId(id), program.clone(), ledger.clone(), owners.clone());
        Self {
            shards: (0..count).map(shard).collect(),
            sent: vec![Vec::new(); ports.into()],
            rings: (0..count).map(|_| Vec::new()).collect(),
            owners,
            now: Nanos::ZERO,
        }
    }

    /// All ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + Clone + use<> {
        (0..self.owners.len() as u16).map(PortId)
    }

    /// The shard that owns `port`.
    pub fn owner(&self, port: PortId) -> &Shard<TestFrame> {
        &self.shards[self.owners[port.index()].index()]
    }

    /// Lets `frames` arrive at `port` in one burst, now. Their effects show in the turns that follow, unless a
    /// frame comes alone and passes.
    pub fn inject(&mut self, port: PortId, frames: impl IntoIterator<Item = TestFrame>) {
        let owner = self.owners[port.index()];
        let mut links = OpenLinks { sent: &mut self.sent, are_open: true };
        self.shards[owner.index()].ingress(self.now, port, &mut frames.into_iter().collect(), &mut links);
    }

    /// One turn of each shard: what others gave back, frames handed over, what is due.
    pub fn turn(&mut self) {
        for index in 0..self.shards.len() {
            self.shards[index].look_at_other_shards();
            let mut arrived = core::mem::take(&mut self.rings[index]);
            self.shards[index].accept(self.now, &mut arrived);
            for port in self.ports().filter(|port| self.owners[port.index()].index() == index) {
                if self.shards[index].port_deadline(port) <= self.now {
                    let out = &mut self.sent[port.index()];
                    self.shards[index].egress(self.now, port, &mut Recorder::new(out, usize::MAX));
                }
            }
            self.hand_over(index);
        }
    }

    /// Carries what shard `from` has for others to their rings.
    ///
    /// # Panics
    /// Where it has something for itself.
    pub fn hand_over(&mut self, from: usize) {
        for to in 0..self.rings.len() {
            // An outbox is filled again as often as frames wait behind it.
            while let handed = self.shards[from].outbox(ShardId(to as u16))
                && !handed.is_empty()
            {
                assert!(to != from, "a shard hands nothing to itself");
                self.rings[to].append(handed);
            }
        }
    }

    /// Turns until nothing is on its way and nothing is due up to `time`.
    pub fn run_until(&mut self, time: Nanos) {
        (0..self.shards.len()).for_each(|from| self.hand_over(from));
        loop {
            self.turn();
            // A shard that took its turn before another has not yet seen what left in that.
            self.shards.iter_mut().for_each(Shard::look_at_other_shards);
            let due = self.next_deadline();
            let on_the_way = self.rings.iter().any(|ring| !ring.is_empty());
            if !on_the_way && due > time {
                break;
            }
            self.now = if on_the_way { self.now } else { self.now.max(due) };
        }
        self.now = self.now.max(time);
    }

    /// Turns until nothing is due any more.
    pub fn run_dry(&mut self) {
        self.run_until(self.now);
        while self.next_deadline() != Nanos::NEVER {
            self.run_until(self.next_deadline().max(self.now));
        }
    }

    fn next_deadline(&self) -> Nanos {
        self.shards.iter().map(Shard::next_deadline).min().unwrap_or(Nanos::NEVER)
    }

    /// The labels of the data frames that left through `port`, by priority, in their order.
    pub fn labels(&self, port: PortId) -> BTreeMap<u8, Vec<u64>> {
        by_priority(self.sent[port.index()].iter())
    }

    /// The volume that was dropped, by reason.
    pub fn dropped(&self) -> BTreeMap<DropReason, Volume> {
        let mut sums: BTreeMap<DropReason, Volume> = BTreeMap::new();
        for port in self.ports() {
            let counters = self.owner(port).ingress_counters(port);
            for priority in Priority::all() {
                let queue = self.owner(port).queue(self.now, port, priority);
                for reason in DropReason::ALL {
                    let both =
                        counters.dropped[priority.index()][reason.index()] + queue.dropped[reason.index()];
                    let sum = sums.entry(reason).or_default();
                    *sum += both;
                }
            }
        }
        sums.retain(|_, volume| volume.frames > 0);
        sums
    }

    /// Checks the sums while nothing is on its way between shards.
    ///
    /// # Panics
    /// Where one does not hold.
    pub fn assert_conserved(&self) {
        assert!(self.rings.iter().all(Vec::is_empty));
        assert_conserved(self.ports(), self.now, |port| self.owner(port));
    }
}

/// The labels of data frames, by priority, in the order in which they left.
pub fn by_priority<'a>(sent: impl Iterator<Item = &'a Sent>) -> BTreeMap<u8, Vec<u64>> {
    let mut queues: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for sent in sent.filter(|sent| !sent.control) {
        queues.entry(sent.frame.bytes[15] >> 5).or_default().push(sent.frame.label);
    }
    queues
}
