//! The schedule that starts and stops flows.

use super::{Engine, Stop};
use crate::flows::Flow;
use crate::ideal::ideal_completion;
use crate::network::{FlowSpec, NodeId};
use crate::nodes::Place;
use crate::observer::Observer;
use crate::outcome::Ending;
use crate::violation::Broken;
use endpoint::{Connection, End, FlowId, Host};
use rand_core::Rng;
use std::cmp::Reverse;
use units::{Interval, Nanos};
use wire::roce::{Psn, QueuePair, source_port_of_queue_pairs};

/// A host: its part, and its index there.
type At = (usize, usize);

impl Engine {
    /// Fetches the next flow, unless it starts too late.
    pub(super) fn pull(&mut self, flows: &mut impl Iterator<Item = FlowSpec>) {
        self.pending = flows.next().filter(|flow| flow.start <= self.options.until);
        self.has_loops |= self.pending.as_ref().is_some_and(|flow| flow.again_until.is_some());
    }

    /// The instant at which flows start or stop next.
    pub(super) fn next_start_or_stop(&self) -> Nanos {
        let start = self.pending.as_ref().map_or(Nanos::NEVER, |flow| flow.start);
        let stop = self.stops.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        start.min(stop).min(self.next_again())
    }

    /// The instant at which flows of closed loops start again: they ended at this instant.
    pub(super) fn next_again(&self) -> Nanos {
        let again = self.again.first().or(self.parts[0].again.first());
        again.map_or(Nanos::NEVER, |flow| flow.spec.start)
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
            self.connect(flow, observer)?;
        }
        while let Some(spec) = self.pending.take_if(|flow| flow.start <= self.now) {
            self.start(spec, observer)?;
            self.pull(flows);
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
        self.host(sender).stop(now, id);
        self.attend(sender, observer)
    }

    fn start(&mut self, spec: FlowSpec, observer: &mut impl Observer) -> Result<(), Stop> {
        let [sender, receiver] = [spec.source, spec.destination].map(|node| self.station_at(node));
        let path = self.paths.path(spec.source, spec.destination);
        let settings = self.parts[sender.0].stations[sender.1].host.settings();
        let ideal = spec.bytes.map_or(Interval::ZERO, |bytes| ideal_completion(path, settings, bytes));
        if let Some(stop) = spec.stop {
            self.stops.push(Reverse((stop.max(spec.start), spec.id)));
            // Such a flow does not end before.
            self.endless += u64::from(spec.bytes.is_none());
        }
        let there = (sender.0 == receiver.0).then_some(receiver.1 as u32);
        self.connect(Flow::new(spec, [Some(sender.1 as u32), there], ideal), observer)
    }

    /// Opens a flow at both ends.
    fn connect(&mut self, mut flow: Flow, observer: &mut impl Observer) -> Result<(), Stop> {
        if self.active() == 0 {
            self.watch.delivered_at = self.now;
        }
        let (now, ends) = (self.now, [flow.spec.source, flow.spec.destination]);
        let [sender, receiver] = ends.map(|node| self.station_at(node));
        let first_psn = Psn::from_low_bits(self.rng.next_u32());
        let id = flow.spec.id;
        let (remote, local) = (self.queue_pair(receiver, id)?, self.queue_pair(sender, id)?);
        let source_port = *flow.source_port.get_or_insert_with(|| source_port_of_queue_pairs(local, remote));
        let [here, there] = [sender, receiver].map(|end| self.host(end).settings().station.address);
        let of_sender = Connection {
            flow: id,
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
        self.enter(flow, sender, receiver);
        self.host(receiver).connect(now, &of_receiver);
        self.host(sender).connect(now, &of_sender);
        self.attend(receiver, observer)?;
        self.attend(sender, observer)?;
        Ok(())
    }

    /// Enters a flow in the tables of the parts of its ends.
    fn enter(&mut self, mut flow: Flow, sender: At, receiver: At) {
        flow.slot_there = None;
        if flow.leaves() {
            let mut there = flow.clone();
            there.ends = [None, Some(receiver.1 as u32)];
            flow.slot_there = Some(self.parts[receiver.0].flows.insert(there));
        }
        self.parts[sender.0].flows.start(flow);
    }

    /// Calls a host in the turn of the schedule.
    fn attend(&mut self, (part, station): At, observer: &mut impl Observer) -> Result<(), Broken> {
        let it = &mut self.parts[part];
        (it.now, it.actor) = (self.now, self.actors.schedule);
        it.attend(station, observer)
    }

    /// Reserves a queue pair of a host for `flow`; the run ends if none is left.
    fn queue_pair(&mut self, (part, station): At, flow: FlowId) -> Result<QueuePair, Stop> {
        let it = &mut self.parts[part].stations[station];
        it.host.reserve().ok_or(Stop::Ended(Ending::Exhausted { node: it.node, flow }))
    }

    fn host(&mut self, (part, station): At) -> &mut Host {
        &mut self.parts[part].stations[station].host
    }

    fn station_at(&self, node: NodeId) -> At {
        let part = self.homes[node.0 as usize];
        match self.parts[part].places[node.0 as usize] {
            Place::Station(station) => (part, station),
            Place::Switch(_) | Place::Elsewhere => panic!("flows are between hosts"),
        }
    }
}
