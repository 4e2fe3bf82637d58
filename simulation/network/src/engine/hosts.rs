//! Frames into and out of hosts, and the ends of flows.

use super::part::{Arrived, News, Part};
use crate::check::pause::code_points;
use crate::flows::Flows;
use crate::frame::FramePool;
use crate::job::Progress;
use crate::link::{Direction, Sent};
use crate::network::NodeId;
use crate::observer::{Observer, Tap};
use crate::outcome::FlowRecord;
use crate::violation::Broken;
use endpoint::{Event, FlowId, HostSettings, Transmit};
use switch::{Frame, Volume};
use units::{Bytes, Nanos, PortId, Priority};

impl Part {
    /// Delivers all frames that have arrived at a host, and calls the host if it is due.
    #[inline]
    pub(super) fn arrive_at_station(
        &mut self,
        station: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let Self { now, directions, stations, flows, checker, keeps_order, .. } = self;
        let it = &mut stations[station];
        let Some(number) = it.input else { return Ok(()) };
        let (mut delivered, mut next) = (Volume::ZERO, directions[number].next_arrival());
        while next <= *now
            && let Some(frame) = directions[number].arrive(*now)
        {
            next = directions[number].next_arrival();
            delivered.count(frame.length());
            if let Some(label) = frame.label().filter(|_| *keeps_order) {
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
        self.calendar.actors.set(it.node.0 as usize, next);
        let balance = &mut checker.balance;
        balance.inside = balance.inside - delivered;
        balance.delivered += delivered;
        self.attend(station, observer)
    }

    /// Calls a host if it is due, takes its events, and lets its ranks go on.
    #[inline]
    pub(super) fn attend(&mut self, station: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        self.call_host(station, observer)?;
        while self.stations[station].progress.due <= self.now {
            let is_all = self.go_on(station);
            self.call_host(station, observer)?;
            if !is_all {
                // The rest comes in another turn at this instant, so that a run of them can be interrupted.
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn call_host(&mut self, station: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        let it = &self.stations[station];
        let (timers, mut next) = (it.timers, it.host.next_deadline());
        if next <= self.now {
            self.send(station, observer)?;
            next = self.stations[station].host.next_deadline().max(self.now);
        }
        let it = &self.stations[station];
        self.calendar.actors.set(timers, next.min(it.progress.due));
        if it.host.released() != it.released {
            self.note_releases(station);
        }
        while let Some(event) = self.stations[station].host.take_event() {
            self.note(station, event, observer);
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
        if passed.is_first
            && let Some(number) = it.out
        {
            self.calendar.note_arrival(&self.directions[number]);
        }
        if let Some(broken) = broken {
            return Err(broken);
        }
        self.transmissions += passed.made.frames;
        let balance = &mut self.checker.balance;
        balance.sent += passed.made;
        balance.inside += passed.made;
        self.motion.moved += u64::from(passed.made.frames > 0);
        if passed.is_odd {
            self.account_for_odd(&passed);
        }
        Ok(())
    }

    /// Accounts for frames of a host that left without reaching its link, or during a pause.
    #[cold]
    fn account_for_odd(&mut self, passed: &Passed) {
        let Passed { lost, unconnected, while_paused, .. } = *passed;
        self.transmissions -= unconnected.frames;
        self.checker.checks.pause += while_paused;
        let balance = &mut self.checker.balance;
        balance.lost += lost;
        balance.unconnected += unconnected;
        balance.inside = balance.inside - lost - unconnected;
    }

    fn note(&mut self, station: usize, event: Event, observer: &mut impl Observer) {
        match event {
            Event::Delivered { flow, bytes } => {
                self.motion.delivered_at = self.now;
                self.motion.delivered = Some((flow, bytes));
            }
            Event::Received { flow } => {
                self.motion.delivered_at = self.now;
                let delivered = self.motion.delivered.filter(|(last, _)| *last == flow);
                let message = delivered.map_or(0, |(_, bytes)| bytes);
                if self.flows.note_received(flow, self.now, message)
                    && let Some(it) = self.flows.flow_mut(flow)
                {
                    let source = it.spec.source;
                    self.arrived.push(Arrived { flow, source, at: self.now, message });
                }
                self.note_of_job(station, flow, Progress::note_received);
            }
            Event::Sent { flow } => {
                self.flows.note_sent(flow);
                self.note_of_job(station, flow, Progress::note_left);
            }
            Event::Acknowledged { flow, retransmitted } => {
                self.note_end(flow, retransmitted, observer);
                self.note_of_job(station, flow, Progress::note_sent);
            }
        }
    }

    /// Ends a flow at its sender and at its receiver.
    fn note_end(&mut self, flow: FlowId, retransmitted: u64, observer: &mut impl Observer) {
        let Some(flow) = self.flows.end(flow) else { return };
        match flow.ends[1] {
            Some(receiver) => {
                self.stations[receiver as usize].host.close(flow.spec.id);
                self.note_releases(receiver as usize);
            }
            None => {
                let (turn, destination) = ((self.now, self.actor), flow.spec.destination);
                self.news.push(News { turn, flow: flow.spec.id, destination, is_start: false });
            }
        }
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
            self.window.end = self.window.end.min((self.now, self.actors.schedule));
        }
    }
}

/// Frames sent in one call.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    made: Volume,
    /// Whether any of them may be the next to arrive.
    is_first: bool,
    /// Whether any of the following fields is set.
    is_odd: bool,
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
        self.passed.is_odd = true;
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
            self.passed.is_odd = true;
            self.passed.unconnected.count(length);
            return;
        };
        match direction.send(self.now, start, frame) {
            Ok(Sent::First) => self.passed.is_first = true,
            Ok(Sent::Behind) => {}
            Ok(Sent::Twice) => {
                self.passed.is_first = true;
                self.passed.made.count(length);
            }
            Ok(Sent::Lost) => {
                self.passed.is_odd = true;
                self.passed.lost.count(length);
            }
            Err(broken) => {
                self.broken.get_or_insert(broken);
            }
        }
    }
}
