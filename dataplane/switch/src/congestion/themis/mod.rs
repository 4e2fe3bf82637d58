//! THEMIS: fair reactions of long flows and short ones, at the edge of a data center.
//!
//! "THEMIS: Addressing Congestion-Induced Unfairness in Long-Haul RDMA Networks" (ICNP 2025). A flow between data
//! centers learns of congestion a round trip of the long link later than a flow within one, so the short flows alone make
//! room meanwhile. Only the long port of the gateway changes:
//!
//! - *Proactive notification*: a data packet that goes out with a congestion mark met congestion in the data center of its
//!   sender. The gateway notifies the sender at once, and removes the mark.
//! - *Temporary reaction*: a CNP that goes out belongs to a flow from the far side that met congestion in this data center.
//!   Until its sender can have reacted, the gateway delays the flow's data, in a queue with a limited rate.
//!
//! Differences from the public code:
//!
//! - In the public code a packet of such a flow passes a loop of the chip once more with each CNP, so slow flows share a
//!   loop whose rate falls to a 64th. In this code they share a queue of constant rate for each port and priority.
//! - In the public code the slowing ends 500 us after the last CNP. In this code it ends after a round trip of the link,
//!   when the sender's reaction can be here.
//! - The slow queue has a limit, because its frames are charged to the port of the long link: beyond it, the rate does not
//!   apply.

mod check;
pub(crate) mod figures;
mod settings;

pub use settings::{Settings, SlowQueues, Slowing, ThemisError};

pub(crate) use settings::validate_together;

use super::mark::set_ecn;
use super::notes::{THEMIS_ANSWERED, THEMIS_SLOW, THEMIS_TOLD, THEMIS_UNREACHABLE};
use super::scheme::Scheme;
use crate::flows::cnp::{CnpBuilder, ReturnPath};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Crossing, Flows, Origin, Seen, Sighting, Slot};
use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Interval, Nanos, PortId, Priority, QueueSet};
use wire::ip::Ecn;

/// The time after which a sender without a way is tried again.
const RETRY: Interval = Interval::from_secs(1);
/// CNPs that can wait for the port of their sender.
const WAITING: usize = 1 << 10;

/// Counters of THEMIS on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThemisCounters {
    /// CNPs that were made for marked packets.
    pub cnps: u64,
    /// Congestion marks that were removed, because a CNP stands for them.
    pub marks_removed: u64,
    /// Congestion marks that stayed, because no CNP could be made.
    pub marks_kept: u64,
    /// CNPs that were made and found no way to their sender.
    pub unreachable: u64,
    /// CNPs to the far side whose flow was known, and is slowed down.
    pub told: u64,
    /// CNPs to the far side whose flow was unknown, or that did not come from the flow's receiver.
    pub told_unknown: u64,
    /// Frames sent to a slow queue.
    pub slowed: u64,
    /// Frames of flows to be slowed down that took their usual queue: the slow one was full, or the flow has changed its port
    /// or priority.
    pub not_slowed: u64,
}

/// The state of a flow. Each field is valid only while its note is set.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// The time of the last CNP to its sender that the gateway made.
    answered: Nanos,
    /// The time of the last CNP to its sender that its receiver made.
    told: Nanos,
    /// The number of its last frame in a slow queue.
    last: u64,
    /// The port and priority of that queue.
    queue: (PortId, Priority),
}

/// The slow queue that a frame would take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowQueue {
    pub port: PortId,
    pub priority: Priority,
    /// Frames that have entered the slow queue so far.
    pub entered: u64,
    /// Frames that wait in it.
    pub waiting: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// The task of the slow queue for a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowdown {
    /// The time until which its rate is limited.
    pub until: Nanos,
    /// Whether the flow had no frame in it, and so may have some in the usual queue.
    pub enters: bool,
}

/// THEMIS on one port.
#[derive(Serialize, Deserialize)]
pub(crate) struct Themis {
    settings: Settings,
    states: Vec<State>,
    /// CNPs that were made, with the port of their sender, and their flow unless its slot has lost its meaning.
    waiting: VecDeque<(PortId, Option<Slot>, Notification)>,
    /// Whether the next CNP waits until a port has room.
    blocked: bool,
    builder: CnpBuilder,
    pub counters: ThemisCounters,
}

impl Themis {
    /// THEMIS with `capacity` flows.
    pub fn new(settings: &Settings, capacity: u32) -> Self {
        Self {
            settings: *settings,
            states: vec![State::default(); capacity as usize],
            waiting: VecDeque::with_capacity(WAITING),
            blocked: false,
            builder: CnpBuilder::default(),
            counters: ThemisCounters::default(),
        }
    }

    /// Answers a marked packet with a CNP, and removes the mark. The mark stays where no CNP stands for it.
    #[cold]
    fn receive_mark(&mut self, frame: Crossing<'_>, seen: Seen, flows: &mut Flows, headers: &mut [u8]) {
        let now = frame.now;
        let Some(interval) = self.settings.cnp_interval else { return };
        let slot = match seen.sighting {
            Sighting::Of(slot) if flows.is_from(slot, frame.origin(headers)) => slot,
            _ => {
                self.counters.marks_kept += 1;
                return;
            }
        };
        let notes = flows.hot(slot).notes;
        let since = now.since(self.states[slot.index()].answered);
        let recent = notes.has(THEMIS_ANSWERED) && since < interval;
        // A route may come back.
        let unreachable = notes.has(THEMIS_UNREACHABLE) && since < RETRY;
        let answered = !unreachable
            && (recent || self.answer(now, slot, ReturnPath::of(headers, seen.source_port), flows));
        if answered {
            set_ecn(headers, frame.descriptor.payload_offset, Ecn::Ect0);
            self.counters.marks_removed += 1;
        } else {
            self.counters.marks_kept += 1;
        }
    }

    /// Makes a CNP to the sender of a flow. Returns whether it was made.
    fn answer(&mut self, now: Nanos, slot: Slot, way: Option<ReturnPath>, flows: &mut Flows) -> bool {
        if self.waiting.len() == WAITING || self.blocked {
            return false;
        }
        let Some(way) = way else { return false };
        flows.keep(slot, way);
        let as_configured = self.settings.notifier.class();
        let Some((port, cnp)) = self.builder.build(flows, slot, as_configured) else { return false };
        self.waiting.push_back((port, Some(slot), cnp));
        self.counters.cnps += 1;
        self.states[slot.index()].answered = now;
        let notes = &mut flows.hot_mut(slot).notes;
        notes.set(THEMIS_ANSWERED, true);
        notes.set(THEMIS_UNREACHABLE, false);
        true
    }

    /// Notes that the receiver of a flow from the far side notifies its sender. The CNP must come from where the
    /// receiver's own packets come from.
    #[cold]
    fn tell(&mut self, now: Nanos, flow: Option<Slot>, origin: Origin, flows: &mut Flows) {
        if self.settings.slowing.is_none() {
            return;
        }
        let Some(slot) =
            flow.filter(|slot| flows.partner(*slot).is_some_and(|back| flows.is_from(back, origin)))
        else {
            self.counters.told_unknown += 1;
            return;
        };
        self.counters.told += 1;
        self.states[slot.index()].told = now;
        flows.hot_mut(slot).notes.set(THEMIS_TOLD, true);
    }

    /// The flow of a frame from the long link, if the frame may have to go slowly.
    #[inline]
    pub fn receive(&self, sighting: Sighting, flows: &Flows) -> Option<Slot> {
        let Sighting::Of(slot) = sighting else { return None };
        let notes = flows.hot(slot).notes;
        (notes.has(THEMIS_TOLD) || notes.has(THEMIS_SLOW)).then_some(slot)
    }

    /// Decides whether the next frame of a flow, which may have to go slowly, takes the `queue`, and how slow
    /// that queue must be for the flow.
    ///
    /// Its order is kept: when it enters, the slow queue waits for the frames in the usual one, and it returns when its last
    /// frame has left the slow one. A flow that has changed its port or priority since takes the usual queue.
    pub fn slow(&mut self, now: Nanos, slot: Slot, flows: &mut Flows, queue: &SlowQueue) -> Option<Slowdown> {
        let state = &mut self.states[slot.index()];
        let notes = &mut flows.hot_mut(slot).notes;
        let (here, left) = ((queue.port, queue.priority), queue.entered - queue.waiting);
        if notes.has(THEMIS_SLOW) && state.queue != here {
            // Frames may still wait in the former queue for as long as the flow was slowed down.
            let over = self.settings.slowing.is_none_or(|it| now >= state.told + it.hold + it.hold);
            notes.set(THEMIS_SLOW, !over);
            self.counters.not_slowed += 1;
            return None;
        }
        let inside = notes.has(THEMIS_SLOW) && state.last > left;
        let until = self.settings.slowing.map(|slowing| state.told + slowing.hold);
        let until = until.filter(|until| notes.has(THEMIS_TOLD) && now < *until);
        let has_room = self.settings.slowing.is_some_and(|slowing| queue.bytes < slowing.limit);
        let enters = !inside && until.is_some() && has_room;
        notes.set(THEMIS_TOLD, until.is_some());
        notes.set(THEMIS_SLOW, inside || enters);
        if !(inside || enters) {
            self.counters.not_slowed += u64::from(until.is_some());
            return None;
        }
        (state.last, state.queue) = (queue.entered + 1, here);
        self.counters.slowed += 1;
        Some(Slowdown { until: until.unwrap_or(now), enters })
    }

    #[inline]
    pub fn send(&mut self, frame: Crossing<'_>, seen: Seen, flows: &mut Flows, headers: &mut [u8]) {
        match seen.sighting {
            Sighting::Of(_) | Sighting::Stranger if seen.data && frame.descriptor.ecn() == Ecn::Ce => {
                self.receive_mark(frame, seen, flows, headers);
            }
            Sighting::Notification(flow) => self.tell(frame.now, flow, frame.origin(headers), flows),
            _ => {}
        }
    }
}

impl Scheme for Themis {
    fn is_on(&self, port: &PortSettings) -> bool {
        port.notifiers.themis.is_some()
    }

    /// CNPs that wait are complete and still leave, because marks were removed for them.
    fn configure(&mut self, spare: &mut Self, exchanged: bool) {
        self.settings = spare.settings;
        if exchanged {
            core::mem::swap(&mut self.states, &mut spare.states);
            self.waiting.iter_mut().for_each(|(_, slot, _)| *slot = None);
        }
    }

    #[inline]
    fn deadline(&self) -> Nanos {
        if self.blocked || self.waiting.is_empty() { Nanos::NEVER } else { Nanos::ZERO }
    }

    #[inline]
    fn is_blocked(&self) -> bool {
        self.blocked
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The flow of a CNP without a way keeps its marks from then on.
    fn notify(
        &mut self,
        _: Nanos,
        _: QueueSet,
        flows: &mut Flows,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    ) {
        self.blocked = false;
        while let Some(&(port, slot, cnp)) = self.waiting.front() {
            match send(port, cnp) {
                Offer::Taken => {}
                Offer::Unreachable => {
                    self.counters.unreachable += 1;
                    if let Some(slot) = slot {
                        let notes = &mut flows.hot_mut(slot).notes;
                        // A slot that now belongs to another flow has no such note.
                        notes.set(THEMIS_UNREACHABLE, notes.has(THEMIS_ANSWERED));
                    }
                }
                Offer::Full => {
                    self.blocked = true;
                    return;
                }
            }
            self.waiting.pop_front();
        }
    }
}
