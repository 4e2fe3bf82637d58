//! Frames into and out of hosts, and the flows between them.

use super::{Engine, Stop};
use crate::check::pause::code_points;
use crate::flows::{Flow, Flows};
use crate::frame::FramePool;
use crate::ideal::ideal_completion;
use crate::link::{Direction, Sent};
use crate::network::{FlowSpec, NodeId};
use crate::nodes::Place;
use crate::observer::{Observer, Tap};
use crate::outcome::{Ending, FlowRecord};
use crate::violation::Broken;
use endpoint::{Connection, End, Event, FlowId, HostSettings, Transmit};
use rand_core::Rng;
use std::cmp::Reverse;
use switch::{Frame, Volume};
use units::{Bytes, Interval, Nanos, PortId, Priority};
use wire::roce::{Psn, QueuePair, source_port_of_queue_pairs};

impl Engine {
    /// Delivers all frames that have arrived at a host, and calls the host if it is due.
    #[inline]
    pub(super) fn arrive_at_station(
        &mut self,
        station: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let Self { now, directions, stations, flows, checker, .. } = self;
        let Some(number) = stations[station].input else { return Ok(()) };
        let it = &mut stations[station];
        let mut delivered = Volume::ZERO;
        while let Some(frame) = directions[number].arrive(*now) {
            delivered.count(frame.length());
            if let Some(label) = frame.label() {
                checker.checks.order += 1;
                flows.deliver(label, station as u32)?;
            }
            if frame.is_control() {
                let reverse = directions[number].reverse;
                directions[reverse].pauses.hear(*now, frame.headers(), it.host.settings().lossless);
            }
            if it.is_tapped {
                let tap = Tap { node: it.node, port: PortId(0), inbound: true };
                observer.captured(tap, *now, frame.headers(), frame.length());
            }
            it.host.ingress(*now, frame.headers(), frame.length());
        }
        self.calendar.actors.set(it.node.0 as usize, directions[number].next_arrival());
        let balance = &mut checker.balance;
        balance.inside = balance.inside - delivered;
        balance.delivered += delivered;
        self.attend(station, observer)
    }

    /// Calls a host if it is due, and takes its events.
    #[inline]
    pub(super) fn attend(&mut self, station: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        let mut next = self.stations[station].host.next_deadline();
        if next <= self.now {
            self.send(station, observer)?;
            next = self.stations[station].host.next_deadline().max(self.now);
        }
        self.calendar.actors.set(self.actors.stations + station, next);
        while let Some(event) = self.stations[station].host.take_event() {
            self.note(event, observer);
        }
        Ok(())
    }

    /// Puts the frames that a host sends on its link.
    fn send(&mut self, station: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        let it = &mut self.stations[station];
        let mut outlet = Outlet {
            now: self.now,
            node: it.node,
            settings: &it.settings,
            pool: &self.pool,
            flows: &mut self.flows,
            direction: it.out.map(|number| &mut self.directions[number]),
            observer: it.is_tapped.then_some(observer),
            passed: Passed::default(),
            broken: None,
        };
        it.host.egress(self.now, &mut outlet);
        let Outlet { passed, broken, .. } = outlet;
        if let Some(number) = it.out {
            self.calendar.note_arrival(&self.directions[number]);
        }
        if let Some(broken) = broken {
            return Err(broken);
        }
        self.transmissions += passed.made.frames - passed.unconnected.frames;
        self.checker.checks.pause += passed.while_paused;
        let balance = &mut self.checker.balance;
        balance.sent += passed.made;
        balance.lost += passed.lost;
        balance.unconnected += passed.unconnected;
        balance.inside = balance.inside + passed.made - passed.lost - passed.unconnected;
        self.watch.moved += u64::from(passed.made.frames > 0);
        Ok(())
    }

    fn note(&mut self, event: Event, observer: &mut impl Observer) {
        match event {
            Event::Delivered { flow, bytes } => {
                self.watch.delivered_at = self.now;
                self.watch.delivered = Some((flow, bytes));
            }
            Event::Received { flow: id } => {
                self.watch.delivered_at = self.now;
                let delivered = self.watch.delivered.filter(|(flow, _)| *flow == id);
                if let Some(flow) = self.flows.flow_mut(id) {
                    flow.received = Some(self.now);
                    flow.message = delivered.map_or(0, |(_, bytes)| bytes);
                }
            }
            Event::Sent { flow } => self.flows.note_sent(flow),
            Event::Acknowledged { flow, retransmitted } => {
                if let Some(flow) = self.flows.end(flow) {
                    self.stations[flow.ends[1] as usize].host.close(flow.spec.id);
                    observer.completed(&FlowRecord {
                        flow: flow.spec.clone(),
                        end: flow.received.unwrap_or(self.now),
                        acknowledged: self.now,
                        delivered: flow.message,
                        ideal: flow.ideal,
                        retransmitted,
                    });
                    let until = flow.spec.again_until.unwrap_or_default().min(self.options.until);
                    if self.now < until {
                        self.again.push(flow.again(self.now));
                        self.schedule();
                    }
                }
            }
        }
    }

    /// Fetches the next flow, unless it starts too late.
    pub(super) fn pull(&mut self, flows: &mut impl Iterator<Item = FlowSpec>) {
        self.pending = flows.next().filter(|flow| flow.start <= self.options.until);
        self.schedule();
    }

    fn schedule(&mut self) {
        let start = self.pending.as_ref().map_or(Nanos::NEVER, |flow| flow.start);
        let stop = self.stops.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        let again = self.again.first().map_or(Nanos::NEVER, |flow| flow.spec.start);
        self.calendar.actors.set(self.actors.schedule, start.min(stop).min(again).max(self.now));
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
        while let Some(flow) = self.again.pop() {
            self.connect(flow, observer)?;
        }
        while let Some(spec) = self.pending.take_if(|flow| flow.start <= self.now) {
            self.start(spec, observer)?;
            self.pull(flows);
        }
        self.schedule();
        Ok(())
    }

    fn stop(&mut self, id: FlowId, observer: &mut impl Observer) -> Result<(), Broken> {
        let Some(flow) = self.flows.flow_mut(id) else { return Ok(()) };
        let sender = flow.ends[0] as usize;
        self.stations[sender].host.stop(self.now, id);
        self.attend(sender, observer)
    }

    fn start(&mut self, spec: FlowSpec, observer: &mut impl Observer) -> Result<(), Stop> {
        let [sender, receiver] = [spec.source, spec.destination].map(|node| self.station_at(node));
        let path = self.paths.path(spec.source, spec.destination);
        let settings = self.stations[sender].host.settings();
        let ideal = spec.bytes.map_or(Interval::ZERO, |bytes| ideal_completion(path, settings, bytes));
        if let Some(stop) = spec.stop {
            self.stops.push(Reverse((stop.max(spec.start), spec.id)));
        }
        self.connect(Flow::new(spec, [sender as u32, receiver as u32], ideal), observer)
    }

    /// Opens a flow at both ends.
    fn connect(&mut self, mut flow: Flow, observer: &mut impl Observer) -> Result<(), Stop> {
        if self.flows.active() == 0 {
            self.watch.delivered_at = self.now;
        }
        let [sender, receiver] = flow.ends.map(|station| station as usize);
        let first_psn = Psn::from_low_bits(self.rng.next_u32());
        let id = flow.spec.id;
        let (remote, local) = (self.queue_pair(receiver, id)?, self.queue_pair(sender, id)?);
        let source_port = *flow.source_port.get_or_insert_with(|| source_port_of_queue_pairs(local, remote));
        let address = |station: usize| self.stations[station].host.settings().station.address;
        let here = Connection {
            flow: id,
            end: End::Sender,
            local,
            remote,
            source_port,
            peer: address(receiver),
            priority: flow.spec.priority,
            first_psn,
            length: flow.spec.bytes,
        };
        let peer = address(sender);
        let there = Connection { end: End::Receiver, local: remote, remote: local, peer, ..here };
        self.flows.start(flow);
        self.stations[receiver].host.connect(self.now, &there);
        self.stations[sender].host.connect(self.now, &here);
        self.attend(receiver, observer)?;
        self.attend(sender, observer)?;
        Ok(())
    }

    /// Reserves a queue pair of a host for `flow`; the run ends if none is left.
    fn queue_pair(&mut self, station: usize, flow: FlowId) -> Result<QueuePair, Stop> {
        let it = &mut self.stations[station];
        it.host.reserve().ok_or(Stop::Ended(Ending::Exhausted { node: it.node, flow }))
    }

    fn station_at(&self, node: NodeId) -> usize {
        match self.places[node.0 as usize] {
            Place::Station(station) => station,
            Place::Switch(_) => panic!("flows are between hosts"),
        }
    }
}

/// Frames sent in one call.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    made: Volume,
    /// Of these, frames lost to faults.
    lost: Volume,
    /// Of these, frames sent to an unconnected port.
    unconnected: Volume,
    /// Frames sent while some priority was paused.
    while_paused: u64,
}

/// The port of a host, as the host sees it.
struct Outlet<'a, O> {
    now: Nanos,
    node: NodeId,
    settings: &'a HostSettings,
    pool: &'a FramePool,
    flows: &'a mut Flows,
    direction: Option<&'a mut Direction>,
    /// Present if the node is tapped.
    observer: Option<&'a mut O>,
    passed: Passed,
    /// The first violation.
    broken: Option<Broken>,
}

impl<O: Observer> Outlet<'_, O> {
    /// Checks that a frame may begin at `start`, given the pauses that have arrived at its link. Priorities
    /// that share a code point look the same in a frame, so it is at fault only if all of them are paused.
    #[cold]
    fn check_pause(&mut self, start: Nanos, headers: &[u8]) {
        let Some(direction) = &self.direction else { return };
        self.passed.while_paused += 1;
        let (dscp, _) = code_points(headers);
        let of_frame = |it: &Priority| Some(self.settings.dscp[it.index()]) == dscp;
        let free = Priority::all().filter(of_frame).map(|it| (direction.pauses.until(it), it)).min();
        if let Some((until, priority)) = free
            && start < until
        {
            let (node, port) = (self.node, PortId(0));
            self.broken.get_or_insert(Broken::Pause { node, port, priority, start, until });
        }
    }
}

impl<O: Observer> Transmit for Outlet<'_, O> {
    #[inline]
    fn frame(&mut self, start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>) {
        if self.direction.as_ref().is_some_and(|direction| direction.pauses.any_at(start)) {
            self.check_pause(start, headers);
        }
        if let Some(observer) = &mut self.observer {
            let tap = Tap { node: self.node, port: PortId(0), inbound: false };
            observer.captured(tap, start, headers, length);
        }
        let label = flow.and_then(|flow| self.flows.label(flow));
        let frame = self.pool.frame(headers, length, label);
        let length = frame.length();
        self.passed.made.count(length);
        let Some(direction) = &mut self.direction else {
            self.passed.unconnected.count(length);
            return;
        };
        match direction.send(self.now, start, frame) {
            Ok(Sent::First | Sent::Behind) => {}
            Ok(Sent::Twice) => self.passed.made.count(length),
            Ok(Sent::Lost) => self.passed.lost.count(length),
            Err(broken) => {
                self.broken.get_or_insert(broken);
            }
        }
    }
}
