//! Frames into and out of switches, in the very order in which a replay would have them.

use super::{BURST, Engine};
use crate::check::pause::code_points;
use crate::frame::{FramePool, SimFrame};
use crate::link::{Direction, Sent};
use crate::network::NodeId;
use crate::nodes::Switch;
use crate::observer::{Observer, Tap};
use crate::tournament::Tournament;
use crate::violation::Broken;
use switch::{ControlFrame, Frame, Links, Program, Shard, Transmitter, Volume};
use units::{Bytes, Nanos, PortId, PortSet, Priority};

/// How often the ports of a switch may be called in their order at one instant before somebody else has a turn.
const PASSES: usize = 64;

impl Switch {
    /// Asks the ports whose deadlines may have changed. Those of them that are due at `now` are in `due` afterwards, and
    /// the others are not.
    #[inline(always)]
    fn ask_for_deadlines(&mut self, now: Nanos, due: &mut PortSet) {
        for port in self.shard.take_changed().iter() {
            let deadline = self.shard.port_deadline(port);
            let before = core::mem::replace(&mut self.deadlines[port.index()], deadline);
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

    /// The ports that are due at `now`, as they last said.
    #[inline]
    fn due(&self, now: Nanos) -> PortSet {
        if self.next > now {
            return PortSet::EMPTY;
        }
        let ports = (0..).map(PortId).zip(&self.deadlines);
        ports.filter(|(_, deadline)| **deadline <= now).map(|(port, _)| port).collect()
    }
}

impl Engine {
    /// Gives a switch all that has arrived through one direction: in bursts, and after each of them whatever
    /// may leave at once leaves.
    #[inline]
    pub(super) fn arrive_at_switch(
        &mut self,
        number: usize,
        switch: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let (now, port) = (self.now, self.directions[number].to.port);
        loop {
            let (entered, pauses) = self.gather(number, switch, port, observer);
            let left = self.call(switch, entered, pauses, observer, |shard, burst, links| {
                shard.ingress(now, port, burst, links);
            })?;
            let it = &self.switches[switch];
            self.checker.check_buffer(switch, it, left)?;
            if it.next <= now || it.shard.has_changed() {
                self.serve(switch, observer)?;
            }
            let next = self.directions[number].next_arrival();
            if next > now {
                self.tournament.set(number, next);
                return Ok(());
            }
        }
    }

    /// Takes frames that have arrived, as many as fit a burst. Returns how many, and how many of them are
    /// pauses, which no switch passes on.
    #[inline]
    fn gather(
        &mut self,
        number: usize,
        switch: usize,
        port: PortId,
        observer: &mut impl Observer,
    ) -> (Volume, Volume) {
        let Self { now, directions, burst, switches, .. } = self;
        let (mut entered, mut pauses) = (Volume::ZERO, Volume::ZERO);
        let it = &switches[switch];
        while burst.len() < BURST
            && let Some(mut frame) = directions[number].arrive(*now)
        {
            let length = frame.length();
            entered.count(length);
            frame.came_in_through(port);
            if frame.is_pause() {
                pauses.count(length);
                let obeyed = it.program.port(port).pfc.obey;
                let reverse = directions[number].reverse;
                directions[reverse].pauses.hear(*now, frame.headers(), obeyed);
            }
            if it.is_tapped {
                let tap = Tap { node: it.node, port, inbound: true };
                observer.captured(tap, *now, frame.headers(), length);
            }
            burst.push(frame);
        }
        (entered, pauses)
    }

    /// Calls each port of a switch that is due, in the order of ports, until none is.
    #[inline]
    pub(super) fn serve(&mut self, switch: usize, observer: &mut impl Observer) -> Result<(), Broken> {
        let now = self.now;
        let it = &mut self.switches[switch];
        let mut due = it.due(now);
        it.ask_for_deadlines(now, &mut due);
        let (mut turn, mut passes) = (due.iter().next(), 0);
        while let Some(port) = turn
            && passes < PASSES
        {
            self.call(switch, Volume::ZERO, Volume::ZERO, observer, |shard, _, links| {
                shard.egress(now, port, &mut Outlet { port, links });
            })?;
            // What left may have made another port due, by the end of a pause.
            self.switches[switch].ask_for_deadlines(now, &mut due);
            turn = due.iter().find(|it| *it > port);
            if turn.is_none() && !due.is_empty() {
                passes += 1;
                turn = due.iter().next();
            }
        }
        self.tournament.set(self.actors.switches + switch, self.switches[switch].next.max(now));
        Ok(())
    }

    /// Calls a shard with the links of its switch, and accounts for what came of it. `entered` are the frames that it is
    /// given, `pauses` among them. Returns the length of all that it put on links.
    #[inline(always)]
    fn call<O: Observer>(
        &mut self,
        switch: usize,
        entered: Volume,
        pauses: Volume,
        observer: &mut O,
        call: impl FnOnce(&mut Shard<SimFrame>, &mut Vec<SimFrame>, &mut Outlets<'_, O>),
    ) -> Result<Bytes, Broken> {
        let live = self.pool.live();
        let it = &mut self.switches[switch];
        let mut outlets = Outlets {
            node: it.node,
            now: self.now,
            program: &it.program,
            pool: &self.pool,
            out: &it.out,
            directions: &mut self.directions,
            tournament: &mut self.tournament,
            observer: it.is_tapped.then_some(observer),
            passed: Passed::default(),
            broken: None,
            suspect: None,
        };
        call(&mut it.shard, &mut self.burst, &mut outlets);
        let Outlets { passed, broken, suspect, .. } = outlets;
        if let Some(broken) = broken {
            return Err(broken);
        }
        if let Some((port, priority, broken)) = suspect {
            // A watchdog may let a queue send in spite of a pause.
            if !it.shard.queue(self.now, port, priority).stormed {
                return Err(broken);
            }
        }
        it.held = it.held + entered - passed.left;
        self.transmissions += passed.transmissions;
        let checker = &mut self.checker;
        checker.checks.pause += passed.while_paused;
        checker.checks.link += passed.transmissions;
        self.watch.moved += u64::from(passed.moved);
        // Mostly frames wait, or are on their way, and no others have come into being.
        let before = (live, checker.balance.duplicated);
        if passed.is_odd || pauses.frames > 0 || (self.pool.live(), self.pool.duplicates()) != before {
            self.account_for_the_rest(switch, live, pauses, passed)?;
        }
        Ok(passed.left.bytes)
    }

    /// Accounts for frames that a switch has made, copied or taken, and for those that went elsewhere than onto a link.
    /// There were `live` frames before.
    #[inline(never)]
    fn account_for_the_rest(
        &mut self,
        switch: usize,
        live: Volume,
        pauses: Volume,
        passed: Passed,
    ) -> Result<(), Broken> {
        let (it, balance) = (&mut self.switches[switch], &mut self.checker.balance);
        let Passed { made, lost, unconnected, .. } = passed;
        let copied = self.pool.duplicates() - balance.duplicated;
        let taken = live + copied + made - lost - unconnected - self.pool.live();
        it.held = it.held + copied - taken;
        it.taken += taken;
        balance.inside = balance.inside + copied + made - lost - unconnected - taken;
        balance.duplicated += copied;
        balance.taken += taken;
        balance.made += made;
        balance.lost += lost;
        balance.unconnected += unconnected;
        if taken == pauses { Ok(()) } else { self.check_drops(switch) }
    }
}

/// Frames sent in one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Frames that waited.
    pub left: Volume,
    /// Frames that were made on the spot.
    pub made: Volume,
    /// Of both, those lost to faults.
    pub lost: Volume,
    /// Of both, those sent to unconnected ports.
    pub unconnected: Volume,
    pub transmissions: u64,
    /// Frames that were sent while some priority was paused.
    pub while_paused: u64,
    /// Whether there was anything but pauses.
    pub moved: bool,
    /// Whether a switch has made, lost or not connected any.
    pub is_odd: bool,
}

/// The links of a switch, as the switch sees them.
struct Outlets<'a, O> {
    node: NodeId,
    now: Nanos,
    program: &'a Program,
    pool: &'a FramePool,
    /// By port, the direction in which it sends.
    out: &'a [Option<usize>],
    directions: &'a mut [Direction],
    tournament: &'a mut Tournament,
    /// Where the node is tapped.
    observer: Option<&'a mut O>,
    passed: Passed,
    /// The first thing that was wrong.
    broken: Option<Broken>,
    /// A frame that was sent against a pause, and through which port.
    suspect: Option<(PortId, Priority, Broken)>,
}

impl<O: Observer> Outlets<'_, O> {
    #[inline(always)]
    fn put(&mut self, port: PortId, start: Nanos, frame: SimFrame) {
        if let Some(observer) = &mut self.observer {
            let tap = Tap { node: self.node, port, inbound: false };
            observer.captured(tap, start, frame.headers(), frame.length());
        }
        let length = frame.length();
        let Some(number) = self.out[port.index()] else {
            self.passed.unconnected.count(length);
            self.passed.is_odd = true;
            return;
        };
        self.passed.transmissions += 1;
        let direction = &mut self.directions[number];
        match direction.send(self.now, start, frame) {
            Ok(Sent::InFlight) => {}
            Ok(Sent::Lost) => {
                self.passed.lost.count(length);
                self.passed.is_odd = true;
            }
            Err(broken) => {
                self.broken.get_or_insert(broken);
            }
        }
        self.tournament.set(number, direction.next_arrival());
    }

    /// Checks that `frame` may begin at `start`, by the pauses that have arrived at its link.
    #[cold]
    fn check_pause(&mut self, port: PortId, direction: usize, start: Nanos, frame: &SimFrame) {
        self.passed.while_paused += 1;
        let (dscp, pcp) = code_points(frame.headers());
        let priority = self.program.port(frame.ingress()).classification.priority(dscp, pcp);
        let until = self.directions[direction].pauses.until(priority);
        if start < until {
            let broken = Broken::Pause { node: self.node, port, priority, start, until };
            self.suspect.get_or_insert((port, priority, broken));
        }
    }
}

impl<O: Observer> Links<SimFrame> for Outlets<'_, O> {
    /// A link takes whatever is sent.
    #[inline]
    fn takes(&self, _port: PortId) -> bool {
        true
    }

    #[inline(always)]
    fn frame(&mut self, port: PortId, start: Nanos, frame: SimFrame) {
        self.passed.left.count(frame.length());
        self.passed.moved = true;
        if let Some(number) = self.out[port.index()]
            && self.directions[number].pauses.any_at(start)
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

    fn control(&mut self, start: Nanos, frame: &ControlFrame) {
        let length: Bytes = frame.length();
        self.links.passed.made.count(length);
        self.links.passed.is_odd = true;
        let frame = self.links.pool.frame(frame.bytes(), length, None);
        self.links.passed.moved |= !frame.is_pause();
        self.links.put(self.port, start, frame);
    }
}
