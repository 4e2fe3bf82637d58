//! The schedule that starts and stops flows.
//!
//! A start ends the round of all parts, because a flow may have its ends in two of them. Flows within one part are handed
//! out to it instead, before the round.

use super::part::Part;
use super::start::Start;
use super::turn::Turn;
use super::{Engine, Stop};
use crate::flows::Flow;
use crate::ideal::ideal_completion;
use crate::network::{FlowSpec, NodeId};
use crate::nodes::Place;
use crate::observer::Observer;
use crate::outcome::Ending;
use crate::violation::Broken;
use core::slice;
use endpoint::{Connection, End, FlowId};
use rand_core::Rng;
use std::cmp::Reverse;
use units::{Interval, Nanos};
use wire::roce::{Psn, QueuePair, source_port_of_queue_pairs};

/// A host: its part, and its index there.
type At = (usize, usize);

impl Engine {
    /// Fetches the next flow, unless it starts too late.
    pub(super) fn pull(&mut self, flows: &mut impl Iterator<Item = FlowSpec>) {
        self.fetched += 1;
        match flows.next().filter(|flow| flow.start <= self.options.until) {
            Some(flow) => {
                self.has_loops |= flow.again_until.is_some();
                self.pending.push_back(flow);
            }
            None => self.knows_all = true,
        }
    }

    /// The instant at which flows start or stop next.
    pub(super) fn next_start_or_stop(&self) -> Nanos {
        let ready = self.ready.front().map(|start| start.flow.spec.start);
        let start = ready.or(self.pending.front().map(|flow| flow.start)).unwrap_or(Nanos::NEVER);
        let stop = self.stops.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        start.min(stop).min(self.next_again())
    }

    /// The instant at which flows of closed loops start again: they ended at this instant.
    pub(super) fn next_again(&self) -> Nanos {
        let again = self.again.first().or(self.parts[0].again.first());
        again.map_or(Nanos::NEVER, |flow| flow.spec.start)
    }

    /// Hands out the next flows to the parts in which they start before `horizon`, so that they do not end the round. Some
    /// flow has to last until then: only the engine notes when the first of all active flows starts.
    pub(super) fn hand_starts_out(&mut self, horizon: Nanos, flows: &mut impl Iterator<Item = FlowSpec>) {
        if self.sum(|part| part.flows.leaving) == 0 || !self.stops.is_empty() {
            return;
        }
        while self.has_lone_local_start(horizon, flows)
            && let Some(spec) = self.pending.pop_front()
        {
            let start = self.prepare(spec);
            self.ready.push_back(start);
        }
        while let Some(start) = self.ready.pop_front_if(|start| start.flow.spec.start < horizon) {
            let part = &mut self.parts[self.homes[start.flow.spec.source.0 as usize]];
            part.calendar.actors.lower(self.actors.schedule, start.flow.spec.start);
            part.starts.push_back(start);
        }
    }

    /// Whether the next flow starts before `horizon`, within one part, and at another instant than all others: what
    /// happens at one instant is one event. The last flow of all stays with the engine, which knows by it that the run goes
    /// on.
    fn has_lone_local_start(&mut self, horizon: Nanos, flows: &mut impl Iterator<Item = FlowSpec>) -> bool {
        if !self.knows_all && self.pending.len() < 2 {
            self.pull(flows);
        }
        let (Some(flow), Some(next)) = (self.pending.front(), self.pending.get(1)) else { return false };
        let [sender, receiver] = [flow.source, flow.destination].map(|node| self.station_at(node));
        let has_pairs = |(part, station): At| {
            self.parts[part].stations[station].host.free_queue_pairs() > self.ready.len()
        };
        let is_local = sender.0 == receiver.0 && has_pairs(sender) && has_pairs(receiver);
        let is_alone = flow.start < next.start && flow.stop.is_none() && !self.has_loops;
        flow.start < horizon && is_local && is_alone
    }

    /// Takes the flows back that parts have not come to.
    pub(super) fn take_starts_back(&mut self) {
        for part in &mut self.parts {
            self.ready.extend(part.starts.drain(..));
            part.calendar.actors.set(self.actors.schedule, Nanos::NEVER);
        }
        self.ready.make_contiguous().sort_by_key(|start| start.flow.spec.id);
    }

    /// Starts and stops the flows that are due.
    pub(super) fn follow_schedule(
        &mut self,
        flows: &mut impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
    ) -> Result<(), Stop> {
        while let Some(Reverse((at, id))) = self.stops.peek().copied()
            && at <= self.now
        {
            self.stops.pop();
            self.stop(id, observer)?;
        }
        self.again.append(&mut self.parts[0].again);
        while let Some(flow) = self.again.pop() {
            let first_psn = self.draw_psn();
            self.connect(Start { flow, first_psn }, observer)?;
        }
        let now = self.now;
        while let Some(start) = self.ready.pop_front_if(|start| start.flow.spec.start <= now) {
            self.connect(start, observer)?;
        }
        while let Some(spec) = self.pending.pop_front_if(|flow| flow.start <= now) {
            let start = self.prepare(spec);
            self.connect(start, observer)?;
            if self.pending.is_empty() && !self.knows_all {
                self.pull(flows);
            }
        }
        Ok(())
    }

    fn stop(&mut self, id: FlowId, observer: &mut impl Observer) -> Result<(), Broken> {
        let sender = self.parts.iter_mut().enumerate().find_map(|(number, part)| {
            let flow = part.flows.flow_mut(id)?;
            Some(((number, flow.ends[0]? as usize), flow.spec.bytes.is_none()))
        });
        let Some((sender, is_endless)) = sender else { return Ok(()) };
        self.endless -= u64::from(is_endless);
        let now = self.now;
        self.parts[sender.0].stations[sender.1].host.stop(now, id);
        attend(&mut self.parts, sender, (now, self.actors.schedule), observer)
    }

    /// Prepares the start of a flow, in the order in which flows start.
    fn prepare(&mut self, spec: FlowSpec) -> Start {
        let [sender, receiver] = [spec.source, spec.destination].map(|node| self.station_at(node));
        let path = self.paths.path(spec.source, spec.destination);
        let settings = self.parts[sender.0].stations[sender.1].host.settings();
        let ideal = spec.bytes.map_or(Interval::ZERO, |bytes| ideal_completion(path, settings, bytes));
        if let Some(stop) = spec.stop {
            self.stops.push(Reverse((stop.max(spec.start), spec.id)));
            // A flow without a length does not end before its stop.
            self.endless += u64::from(spec.bytes.is_none());
        }
        let there = (sender.0 == receiver.0).then_some(receiver.1 as u32);
        let flow = Flow::new(spec, [Some(sender.1 as u32), there], ideal);
        Start { flow, first_psn: self.draw_psn() }
    }

    fn draw_psn(&mut self) -> Psn {
        Psn::from_low_bits(self.rng.next_u32())
    }

    fn connect(&mut self, start: Start, observer: &mut impl Observer) -> Result<(), Stop> {
        if self.active() == 0 {
            self.watch.delivered_at = self.now;
        }
        let spec = &start.flow.spec;
        let (id, ends) = (spec.id, [spec.source, spec.destination].map(|node| self.station_at(node)));
        let [sender, receiver] = ends;
        let (remote, local) = (self.queue_pair(receiver, id)?, self.queue_pair(sender, id)?);
        let turn = (self.now, self.actors.schedule);
        Ok(open(&mut self.parts, start, ends, [local, remote], turn, observer)?)
    }

    /// Reserves a queue pair of a host for `flow`; the run ends if none is left.
    fn queue_pair(&mut self, (part, station): At, flow: FlowId) -> Result<QueuePair, Stop> {
        let it = &mut self.parts[part].stations[station];
        it.host.reserve().ok_or(Stop::Ended(Ending::Exhausted { node: it.node, flow }))
    }

    fn station_at(&self, node: NodeId) -> At {
        let part = self.homes[node.0 as usize];
        match self.parts[part].places[node.0 as usize] {
            Place::Station(station) => (part, station),
            Place::Switch(_) | Place::Elsewhere => panic!("flows are between hosts"),
        }
    }
}

const LOCAL: &str = "a flow that is handed out has both its ends in one part";
const LEFT: &str = "a flow is handed out only if its hosts have queue pairs left";

impl Part {
    /// Starts the next of the flows that were handed out.
    pub(super) fn start_next(&mut self, observer: &mut impl Observer) -> Result<(), Broken> {
        let Some(start) = self.starts.pop_front() else { return Ok(()) };
        let next = self.starts.front().map_or(Nanos::NEVER, |start| start.flow.spec.start);
        self.calendar.actors.set(self.actors.schedule, next);
        let ends = start.flow.ends.map(|station| (0, station.expect(LOCAL) as usize));
        let pairs = ends.map(|(_, station)| self.stations[station].host.reserve().expect(LEFT));
        let turn = (self.now, self.actor);
        open(slice::from_mut(self), start, ends, pairs, turn, observer)
    }
}

/// Opens a flow at its sender and at its receiver, with the queue pairs that they have reserved for it.
fn open(
    parts: &mut [Part],
    Start { mut flow, first_psn }: Start,
    [sender, receiver]: [At; 2],
    [local, remote]: [QueuePair; 2],
    turn: Turn,
    observer: &mut impl Observer,
) -> Result<(), Broken> {
    let source_port = *flow.source_port.get_or_insert_with(|| source_port_of_queue_pairs(local, remote));
    let address = |(part, station): At| parts[part].stations[station].host.settings().station.address;
    let [here, there] = [sender, receiver].map(address);
    let of_sender = Connection {
        flow: flow.spec.id,
        end: End::Sender,
        local,
        remote,
        source_port,
        peer: there,
        priority: flow.spec.priority,
        first_psn,
        length: flow.spec.bytes,
    };
    let of_receiver =
        Connection { end: End::Receiver, local: remote, remote: local, peer: here, ..of_sender };
    enter(parts, flow, sender.0, receiver);
    for ((part, station), connection) in [(receiver, of_receiver), (sender, of_sender)] {
        parts[part].stations[station].host.connect(turn.0, &connection);
    }
    attend(parts, receiver, turn, observer)?;
    attend(parts, sender, turn, observer)
}

/// Enters a flow in the tables of the parts of its ends.
fn enter(parts: &mut [Part], mut flow: Flow, sender: usize, receiver: At) {
    flow.slot_there = None;
    if flow.leaves() {
        let mut there = flow.clone();
        there.ends = [None, Some(receiver.1 as u32)];
        flow.slot_there = Some(parts[receiver.0].flows.insert(there));
    }
    parts[sender].flows.start(flow);
}

/// Calls a host in `turn`, that of the schedule.
fn attend(
    parts: &mut [Part],
    (part, station): At,
    turn: Turn,
    observer: &mut impl Observer,
) -> Result<(), Broken> {
    let it = &mut parts[part];
    (it.now, it.actor) = turn;
    it.attend(station, observer)
}
