//! A naive recount of the buffer: what a switch of one shard must hold after each event, worked out
//! from the list of frames that are inside.
//!
//! It keeps no running sum that it could get wrong: every level is added up anew when it is asked
//! for.

use crate::cost;
use std::collections::VecDeque;
use switch::DropReason;
use switch::program::{GroupSettings, LosslessGroup, Settings, Threshold};
use units::{PortId, Priority};

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// By which the test knows it.
    pub label: u64,
    /// Where it came in.
    pub ingress: PortId,
    /// Its bytes.
    pub length: u64,
    /// Whether it was lossless when it was admitted.
    pub lossless: bool,
    /// Bytes that it took of the reserved ones of its egress queue, if it is lossy.
    reserved: u64,
}

impl Held {
    /// The bytes of the buffer that it costs: whole cells.
    pub fn cost(&self) -> u64 {
        cost(self.length)
    }
}

/// The bytes that a priority group holds, by where they are charged, and its highest levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelGroup {
    /// Of its reserved bytes.
    pub reserved: u64,
    /// Of the shared pool.
    pub shared: u64,
    /// Of the headroom pool.
    pub headroom: u64,
    /// Whether its sender is paused.
    pub paused: bool,
    /// Highest sum of reserved and shared bytes: ever, and since it was cleared.
    pub mark: Mark,
    /// Highest headroom.
    pub headroom_mark: Mark,
    /// Bytes that have left since groups were last settled.
    gone: u64,
}

impl ModelGroup {
    fn holds(&self) -> u64 {
        self.reserved + self.shared + self.headroom
    }
}

/// Highest levels: ever, and since they were cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Ever.
    pub persistent: u64,
    /// Since it was cleared.
    pub since_cleared: u64,
}

impl Mark {
    fn note(&mut self, level: u64) {
        self.persistent = self.persistent.max(level);
        self.since_cleared = self.since_cleared.max(level);
    }
}

/// Levels of the three pools, or their marks: shared, headroom, egress lossy.
pub type Pools<T> = [T; 3];

/// The recount.
pub struct Model {
    settings: Settings,
    /// By ingress port and priority.
    pub groups: Vec<[ModelGroup; Priority::COUNT]>,
    /// By egress port and priority.
    pub queues: Vec<[VecDeque<Held>; Priority::COUNT]>,
    /// Of the bytes that wait, by egress port and priority.
    pub queue_marks: Vec<[Mark; Priority::COUNT]>,
    /// By pool.
    pub pool_marks: Pools<Mark>,
    /// The bytes that each lossy queue holds of its reserved ones and of its pool.
    lossy: Vec<[(u64, u64); Priority::COUNT]>,
}

impl Model {
    /// An empty switch.
    pub fn new(settings: Settings) -> Self {
        let ports = settings.ports.len();
        Self {
            groups: vec![Default::default(); ports],
            queues: vec![Default::default(); ports],
            queue_marks: vec![Default::default(); ports],
            pool_marks: Default::default(),
            lossy: vec![Default::default(); ports],
            settings,
        }
    }

    /// The bytes that each pool holds.
    pub fn pools(&self) -> Pools<u64> {
        let groups = || self.groups.iter().flatten();
        let shared = groups().map(|group| group.shared).sum();
        let headroom = groups().map(|group| group.headroom).sum();
        [shared, headroom, self.lossy.iter().flatten().map(|(_, pool)| pool).sum()]
    }

    /// The bytes that are free in each pool.
    fn free(&self) -> Pools<u64> {
        let buffer = &self.settings.buffer;
        let sizes = [buffer.shared.0, buffer.headroom.0, buffer.egress_lossy.0];
        let held = self.pools();
        core::array::from_fn(|pool| sizes[pool].saturating_sub(held[pool]))
    }

    /// Bytes that wait for `egress` at `priority`.
    pub fn waiting(&self, egress: PortId, priority: Priority) -> u64 {
        self.queues[egress.index()][priority.index()].iter().map(|held| held.length).sum()
    }

    /// A frame arrives and is to leave through `egress`. Why it is dropped, if it is.
    pub fn arrive(
        &mut self,
        (ingress, egress): (PortId, PortId),
        priority: Priority,
        length: u64,
        label: u64,
    ) -> Result<(), DropReason> {
        let settings = self.settings.ports[ingress.index()].groups[priority.index()];
        match settings {
            GroupSettings::Lossy => {
                if cost(length) > self.free()[0] {
                    return Err(DropReason::SharedPoolFull);
                }
                self.charge(ingress, priority, [0, cost(length), 0]);
            }
            GroupSettings::Lossless(group) => self.admit_lossless(ingress, priority, &group, cost(length))?,
        }
        let lossless = settings.lossless().is_some();
        let mut held = Held { label, ingress, length, lossless, reserved: 0 };
        if !lossless && let Err(reason) = self.admit_at_egress(egress, priority, &mut held) {
            self.groups[ingress.index()][priority.index()].gone += held.cost();
            return Err(reason);
        }
        self.queues[egress.index()][priority.index()].push_back(held);
        let waiting = self.waiting(egress, priority);
        self.queue_marks[egress.index()][priority.index()].note(waiting);
        Ok(())
    }

    fn admit_lossless(
        &mut self,
        ingress: PortId,
        priority: Priority,
        settings: &LosslessGroup,
        cost: u64,
    ) -> Result<(), DropReason> {
        let group = self.groups[ingress.index()][priority.index()];
        let free = self.free();
        let reserved = cost.min(settings.reserved.0.saturating_sub(group.reserved));
        let rest = cost - reserved;
        let room =
            if group.paused { 0 } else { limit(settings, free[0]).saturating_sub(group.shared).min(free[0]) };
        let shared = rest.min(room);
        let headroom = rest - shared;
        if headroom > 0 && group.headroom + headroom > settings.headroom.0 || headroom > free[1] {
            let own = group.headroom + headroom > settings.headroom.0;
            // A sender that loses frames is paused, unless nothing is inside whose departure ends that.
            let something_inside = group.holds() > 0 || self.pools()[..2] != [0, 0];
            self.groups[ingress.index()][priority.index()].paused |= something_inside;
            return Err(if own { DropReason::HeadroomExceeded } else { DropReason::HeadroomPoolFull });
        }
        self.charge(ingress, priority, [reserved, shared, headroom]);
        if rest > 0 {
            self.pause_where_full(ingress, priority, settings, headroom > 0);
        }
        Ok(())
    }

    fn pause_where_full(
        &mut self,
        port: PortId,
        priority: Priority,
        settings: &LosslessGroup,
        overflowed: bool,
    ) {
        let free = self.free()[0];
        let group = &mut self.groups[port.index()][priority.index()];
        group.paused |= overflowed || free == 0 || group.shared >= limit(settings, free);
    }

    fn charge(&mut self, port: PortId, priority: Priority, [reserved, shared, headroom]: [u64; 3]) {
        let group = &mut self.groups[port.index()][priority.index()];
        group.reserved += reserved;
        group.shared += shared;
        group.headroom += headroom;
        self.note(port, priority);
    }

    /// Notes the levels of a group and of the pools.
    fn note(&mut self, port: PortId, priority: Priority) {
        let group = &mut self.groups[port.index()][priority.index()];
        group.mark.note(group.reserved + group.shared);
        group.headroom_mark.note(group.headroom);
        let held = self.pools();
        self.pool_marks.iter_mut().zip(held).for_each(|(mark, held)| mark.note(held));
    }

    fn admit_at_egress(
        &mut self,
        egress: PortId,
        priority: Priority,
        held: &mut Held,
    ) -> Result<(), DropReason> {
        let settings = self.settings.ports[egress.index()].queues[priority.index()].lossy;
        let free = self.free()[2];
        let (reserved, pool) = self.lossy[egress.index()][priority.index()];
        let from_reserved = held.cost().min(settings.reserved.0.saturating_sub(reserved));
        let from_pool = held.cost() - from_reserved;
        let limit = match settings.threshold {
            Threshold::Static(limit) => limit.0.saturating_sub(settings.reserved.0),
            Threshold::Dynamic(alpha) => scaled(free, alpha.exponent()),
        };
        if from_pool > free {
            return Err(DropReason::EgressPoolFull);
        }
        if from_pool > 0 && pool + from_pool > limit {
            return Err(DropReason::QueueThreshold);
        }
        held.reserved = from_reserved;
        self.lossy[egress.index()][priority.index()] = (reserved + from_reserved, pool + from_pool);
        let held = self.pools()[2];
        self.pool_marks[2].note(held);
        Ok(())
    }

    /// The frame at the head of a queue leaves.
    pub fn depart(&mut self, egress: PortId, priority: Priority) -> Option<Held> {
        let held = self.queues[egress.index()][priority.index()].pop_front()?;
        self.groups[held.ingress.index()][priority.index()].gone += held.cost();
        if !held.lossless {
            // The pool is given back first.
            let (reserved, pool) = &mut self.lossy[egress.index()][priority.index()];
            let to_pool = held.cost().min(*pool);
            *pool -= to_pool;
            *reserved -= held.cost() - to_pool;
        }
        Some(held)
    }

    /// The end of a call: what has left is given back, headroom first.
    pub fn settle(&mut self) {
        let mut gone = 0;
        for group in self.groups.iter_mut().flatten() {
            gone += group.gone;
            for level in [&mut group.headroom, &mut group.shared, &mut group.reserved] {
                let back = group.gone.min(*level);
                *level -= back;
                group.gone -= back;
            }
            assert_eq!(group.gone, 0, "more has left than was inside");
        }
        if gone > 0 {
            (0..self.groups.len() as u16).for_each(|port| self.resume(PortId(port)));
        }
    }

    fn resume(&mut self, port: PortId) {
        let free = self.free()[0];
        for priority in Priority::all() {
            let group = &mut self.groups[port.index()][priority.index()];
            let GroupSettings::Lossless(settings) =
                self.settings.ports[port.index()].groups[priority.index()]
            else {
                group.paused = false;
                continue;
            };
            let below = match settings.xoff {
                Threshold::Static(_) => settings.xon.0,
                Threshold::Dynamic(_) => {
                    let threshold = settings.reserved.0 + limit(&settings, free);
                    settings.xon.0.max(threshold.saturating_sub(settings.xon_offset.0))
                }
            };
            if group.holds() == 0 || (group.headroom == 0 && group.holds() < below) {
                group.paused = false;
            }
        }
    }

    /// Other settings.
    pub fn install(&mut self, settings: Settings) {
        self.settings = settings;
        for port in (0..self.groups.len() as u16).map(PortId) {
            for priority in Priority::all() {
                self.configure(port, priority);
            }
        }
        (0..self.groups.len() as u16).for_each(|port| self.resume(PortId(port)));
    }

    fn configure(&mut self, port: PortId, priority: Priority) {
        let settings = self.settings.ports[port.index()].groups[priority.index()];
        let group = &mut self.groups[port.index()][priority.index()];
        let holds = group.holds();
        let (reserved, headroom) = settings.lossless().map_or((0, 0), |it| (it.reserved.0, it.headroom.0));
        group.headroom = group.headroom.min(headroom);
        group.reserved = (holds - group.headroom).min(reserved);
        group.shared = holds - group.headroom - group.reserved;
        let beyond_reserved = holds > group.reserved;
        self.note(port, priority);
        if let GroupSettings::Lossless(lossless) = settings
            && beyond_reserved
        {
            self.pause_where_full(port, priority, &lossless, false);
        }
    }

    /// Starts the cleared marks again.
    pub fn clear_marks(&mut self) {
        let held = self.pools();
        for group in self.groups.iter_mut().flatten() {
            group.mark.since_cleared = group.reserved + group.shared;
            group.headroom_mark.since_cleared = group.headroom;
        }
        for port in (0..self.queues.len() as u16).map(PortId) {
            for priority in Priority::all() {
                let waiting = self.waiting(port, priority);
                self.queue_marks[port.index()][priority.index()].since_cleared = waiting;
            }
        }
        self.pool_marks.iter_mut().zip(held).for_each(|(mark, held)| mark.since_cleared = held);
    }
}

fn scaled(free: u64, exponent: i8) -> u64 {
    (free as f64 * 2.0_f64.powi(i32::from(exponent))).floor() as u64
}

fn limit(settings: &LosslessGroup, free: u64) -> u64 {
    match settings.xoff {
        Threshold::Static(xoff) => xoff.0 - settings.reserved.0,
        Threshold::Dynamic(alpha) => scaled(free, alpha.exponent()),
    }
}
