//! Frames into and out of switches, in the same order as in a replay.

use super::calendar::Calendar;
use super::odd::Odd;
use super::part::{BURST, Part};
use crate::check::pause::{code_points, is_sent_again};
use crate::frame::{FramePool, SimFrame};
use crate::link::{Direction, Sent};
use crate::network::NodeId;
use crate::nodes::Switch;
use crate::observer::{Observer, Tap};
use crate::tournament::Actor;
use crate::violation::Broken;
use core::mem;
use switch::{Frame, Lanes, Links, Program, Transmitter, Volume};
use units::{Bytes, Nanos, PortId, PortSet};

/// Passes over the ports of a switch at one instant before other actors have a turn.
const PASSES: usize = 64;

impl Switch {
    /// Updates the deadlines of ports that changed. Adds those that are due at `now` to `due`, and removes
    /// the rest of them.
    #[inline(always)]
    fn update_deadlines(&mut self, now: Nanos, due: &mut PortSet) {
        for port in self.driver.take_changed().iter() {
            let deadline = self.driver.port_deadline(port);
            let before = mem::replace(&mut self.deadlines[port.index()], deadline);
            if deadline <= self.next {
                self.next = deadline;
            } else if before == self.next {
                self.next = self.deadlines.iter().fold(Nanos::NEVER, |next, deadline| next.min(*deadline));
            }
            if deadline <= now {
                due.insert(port);
            } else {
                due.remove(port);
            }
        }
    }

    /// The next instant at which it acts if no frame arrives.
    #[inline]
    pub fn own_next(&self) -> Nanos {
        self.next.min(self.carriers.next()).min(self.routes.next()).min(self.driver.look_due())
    }

    /// The ports that are due at `now`, by their last known deadlines.
    #[inline]
    fn due(&self, now: Nanos) -> PortSet {
        if self.next > now {
            return PortSet::EMPTY;
        }
        let ports = (0..).map(PortId).zip(&self.deadlines);
        ports.filter(|(_, deadline)| **deadline <= now).map(|(port, _)| port).collect()
    }
}

impl Part {
    /// Lets a switch act for all events before `until`. All frames that arrive before then are under way
    /// already, so no other node has to act in between, and the state of the switch is loaded into the caches
    /// once for many frames.
    #[inline]
    pub(super) fn visit(
        &mut self,
        switch: usize,
        actor: Actor,
        until: Nanos,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let inputs = self.switches[switch].inputs.clone();
        loop {
            let (at, player) = self.calendar.agendas[switch].next();
            if at >= until {
                self.calendar.actors.set(actor, at);
                // The watermarks of its pools keep what was too much at any event of the visit.
                return self.checker.check_pools(switch, &self.switches[switch]);
            }
            if self.switches[switch].recorded.is_some() {
                self.tell_events(switch, at, observer);
            }
            self.now = at;
            if player < inputs.len() {
                self.arrive_at_switch(inputs.start + player, switch, observer)?;
            } else {
                self.serve(switch, observer)?;
            }
            self.note_event();
        }
    }

    /// Delivers to a switch, in bursts, all frames that have arrived through one direction. After each burst,
    /// the ports that are due send.
    #[inline]
    pub(super) fn arrive_at_switch(
        &mut self,
        number: usize,
        switch: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let (now, direction) = (self.now, &self.directions[number]);
        let (port, input) = (direction.to.port, direction.input);
        loop {
            let Gathered { entered, pauses, next } = self.gather(number, switch, port, observer);
            self.calendar.agendas[switch].set(input, next);
            let left = self.call(switch, entered, pauses, observer, |driver, burst, links| {
                driver.ingress(now, port, burst, links);
            })?;
            let it = &self.switches[switch];
            self.checker.check_buffer(switch, it, left)?;
            if it.next <= now || it.driver.has_changed() {
                self.serve(switch, observer)?;
            }
            if next > now {
                return Ok(());
            }
        }
    }

    /// Takes frames that have arrived, up to a full burst.
    #[inline]
    fn gather(
        &mut self,
        number: usize,
        switch: usize,
        port: PortId,
        observer: &mut impl Observer,
    ) -> Gathered {
        let Self { now, directions, burst, switches, .. } = self;
        let (mut entered, mut pauses) = (Volume::ZERO, Volume::ZERO);
        let it = &switches[switch];
        loop {
            let direction = &mut directions[number];
            let frame = direction.arrive(*now);
            let next = direction.next_arrival();
            if let Some(mut frame) = frame {
                let length = frame.length();
                entered.count(length);
                frame.came_in_through(port);
                if frame.is_control() {
                    pauses.count(length);
                    let obeyed = it.program.port(port).pfc.obey;
                    let reverse = direction.reverse;
                    directions[reverse].pauses.hear(*now, frame.headers(), obeyed);
                }
                if it.is_tapped {
                    let tap = Tap { node: it.node, port, inbound: true };
                    observer.captured(tap, *now, frame.headers(), length);
                }
                burst.push(frame);
            }
            if next > *now || burst.len() == BURST {
                return Gathered { entered, pauses, next };
            }
        }
    }

    /// Calls each port of a switch that is due, in the order of ports, until none is.
    #[inline]
    pub(super) fn serve(&mut self, switch: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        let now = self.now;
        while let Some((port, up)) = self.switches[switch].carriers.take(now) {
            self.switches[switch].driver.set_carrier(now, port, up);
        }
        let it = &mut self.switches[switch];
        while let Some(program) = it.routes.take(now) {
            it.driver.exchange_routes(program);
        }
        if it.driver.look_due() <= now {
            it.driver.look(now);
        }
        let mut due = it.due(now);
        it.update_deadlines(now, &mut due);
        let (mut turn, mut passes) = (due.iter().next(), 0);
        while let Some(port) = turn
            && passes < PASSES
        {
            self.call(switch, Volume::ZERO, Volume::ZERO, observer, |driver, _, links| {
                driver.egress(now, port, &mut Outlet { port, links });
            })?;
            // A departure may end a pause, and make another port due.
            self.switches[switch].update_deadlines(now, &mut due);
            turn = due.iter().find(|it| *it > port);
            if turn.is_none() && !due.is_empty() {
                passes += 1;
                turn = due.iter().next();
            }
        }
        let it = &self.switches[switch];
        self.calendar.agendas[switch].set(it.inputs.len(), it.own_next().max(now));
        Ok(())
    }

    /// Calls a switch with its links, and accounts for all frames. `entered` counts the frames
    /// that it receives, and `pauses` the PFC frames among them. Returns the total length of the
    /// frames that left.
    #[inline(always)]
    fn call<O: Observer>(
        &mut self,
        switch: usize,
        entered: Volume,
        pauses: Volume,
        observer: &mut O,
        call: impl FnOnce(&mut Lanes<SimFrame>, &mut Vec<SimFrame>, &mut Outlets<'_, O>),
    ) -> Result<Bytes, Broken> {
        let it = &mut self.switches[switch];
        let mut outlets = Outlets {
            node: it.node,
            now: self.now,
            program: &it.program,
            pool: &self.pool,
            out: &it.out,
            directions: &mut self.directions,
            calendar: &mut self.calendar,
            observer: it.is_tapped.then_some(observer),
            left: Volume::ZERO,
            odd: &mut self.odd,
        };
        call(&mut it.driver, &mut self.burst, &mut outlets);
        let left = outlets.left;
        it.held += entered;
        self.transmissions += left.frames;
        self.motion.moved += u64::from(left.frames > 0);
        // Usually all frames wait or are on links, and none was made, copied or dropped: those that exist are those of
        // the balance still.
        let balance = &self.checker.balance;
        let is_usual = !self.odd.is_any && pauses.frames == 0 && self.pool.live() == balance.inside;
        if !is_usual || self.pool.duplicates().frames != balance.duplicated.frames {
            self.account_for_the_rest(switch, pauses)?;
        }
        // Last, because a frame may have become longer on its way out.
        let it = &mut self.switches[switch];
        it.held = it.held - left;
        Ok(left.bytes)
    }

    /// Accounts for frames that a switch has made, copied or taken, and for frames that left without reaching
    /// a link. Before the call, the frames that existed were those of the balance.
    #[inline(never)]
    fn account_for_the_rest(&mut self, switch: usize, pauses: Volume) -> Result<(), Broken> {
        let Odd { made, lost, unconnected, while_paused, moved, broken, suspect, .. } =
            mem::take(&mut self.odd);
        let (it, balance) = (&mut self.switches[switch], &mut self.checker.balance);
        // A watchdog may let a queue send in spite of a pause.
        let is_stormed = |port, priority| {
            it.driver.lanes().iter().any(|lane| lane.queue(self.now, port, priority).stormed)
        };
        let suspect = suspect.filter(|(port, priority, _)| !is_stormed(*port, *priority));
        if let Some(broken) = broken.or(suspect.map(|(_, _, broken)| broken)) {
            return Err(broken);
        }
        let copied = self.pool.duplicates() - balance.duplicated;
        let taken = balance.inside + copied + made - lost - unconnected - self.pool.live();
        it.held = it.held + copied - taken;
        it.taken += taken;
        balance.inside = balance.inside + copied + made - lost - unconnected - taken;
        balance.duplicated += copied;
        balance.taken += taken;
        balance.made += made;
        balance.lost += lost;
        balance.unconnected += unconnected;
        self.transmissions = self.transmissions + made.frames - unconnected.frames;
        self.checker.checks.pause += while_paused;
        self.motion.moved += u64::from(moved);
        if taken == pauses { Ok(()) } else { self.check_drops(switch) }
    }
}

/// Frames that arrived together.
struct Gathered {
    entered: Volume,
    /// The PFC frames among them, which no switch forwards.
    pauses: Volume,
    /// The arrival of the next frame.
    next: Nanos,
}

/// The links of a switch, as the switch sees them.
struct Outlets<'a, O> {
    node: NodeId,
    now: Nanos,
    program: &'a Program,
    pool: &'a FramePool,
    /// The direction in which each port sends.
    out: &'a [Option<usize>],
    directions: &'a mut [Direction],
    calendar: &'a mut Calendar,
    /// Present if the node is tapped.
    observer: Option<&'a mut O>,
    /// Frames that came in and left.
    left: Volume,
    odd: &'a mut Odd,
}

impl<O: Observer> Outlets<'_, O> {
    #[inline(always)]
    fn put(&mut self, port: PortId, start: Nanos, frame: SimFrame) {
        if let Some(observer) = &mut self.observer {
            let tap = Tap { node: self.node, port, inbound: false };
            observer.captured(tap, start, frame.headers(), frame.length());
        }
        let Some(number) = self.out[port.index()] else {
            return self.odd().unconnected.count(frame.length());
        };
        let (length, direction) = (frame.length(), &mut self.directions[number]);
        match direction.send(self.now, start, frame) {
            Ok(Sent::Behind) => {}
            Ok(Sent::First) => self.calendar.note_arrival(direction),
            Ok(Sent::Twice) => {
                self.calendar.note_arrival(direction);
                self.odd().made.count(length);
            }
            Ok(Sent::Lost) => self.odd().lost.count(length),
            Err(broken) => {
                self.odd().broken.get_or_insert(broken);
            }
        }
    }

    #[cold]
    fn odd(&mut self) -> &mut Odd {
        self.odd.is_any = true;
        self.odd
    }

    /// Checks that `frame` may begin at `start`, given the pauses that have arrived at its link.
    #[cold]
    fn check_pause(&mut self, port: PortId, direction: usize, start: Nanos, frame: &SimFrame) {
        let (dscp, pcp) = code_points(frame.headers());
        let priority = self.program.port(frame.ingress()).classification.priority(dscp, pcp);
        let (node, direction) = (self.node, &self.directions[direction]);
        let until = direction.pauses.until(priority);
        let is_forbidden = direction.pauses.forbid(priority, start, direction.hears_within());
        let odd = self.odd();
        odd.while_paused += 1;
        if is_forbidden {
            let broken = Broken::Pause { node, port, priority, start, until };
            odd.suspect.get_or_insert((port, priority, broken));
        }
    }
}

impl<O: Observer> Links<SimFrame> for Outlets<'_, O> {
    /// A simulated link always takes a frame.
    #[inline]
    fn takes(&self, _port: PortId) -> bool {
        true
    }

    #[inline(always)]
    fn frame(&mut self, port: PortId, start: Nanos, frame: SimFrame) {
        self.left.count(frame.length());
        if let Some(number) = self.out[port.index()]
            && self.directions[number].pauses.any_at(start)
            && !is_sent_again(frame.headers())
        {
            self.check_pause(port, number, start, &frame);
        }
        self.put(port, start, frame);
    }
}

/// The link of one port.
struct Outlet<'a, 'b, O> {
    port: PortId,
    links: &'a mut Outlets<'b, O>,
}

impl<O: Observer> Transmitter<SimFrame> for Outlet<'_, '_, O> {
    #[inline]
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn frame(&mut self, start: Nanos, frame: SimFrame) {
        self.links.frame(self.port, start, frame);
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        let length = Bytes(frame.len() as u64);
        let frame = self.links.pool.frame(frame, length, None);
        let odd = self.links.odd();
        odd.made.count(length);
        odd.moved |= !frame.is_control();
        self.links.put(self.port, start, frame);
    }
}
