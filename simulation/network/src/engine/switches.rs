//! Frames into and out of switches, in the very order in which a replay would have them.

use super::{BURST, Engine, Switch};
use crate::check::pause::code_points;
use crate::frame::{FramePool, SimFrame};
use crate::link::{Direction, Sent};
use crate::network::LinkEnd;
use crate::observer::{Observer, Tap};
use crate::violation::Broken;
use switch::{ControlFrame, Departure, Frame, Passage, Program, Shard, Transmitter, Volume};
use units::{Bytes, Nanos, PortId, PortSet, Priority};

/// How often the ports of a switch may be called in their order at one instant before somebody else has a turn.
const PASSES: usize = 64;

impl Switch {
    /// Asks the ports whose deadlines may have changed. Of them, those that are due at `now` are in `due` afterwards,
    /// and no others.
    #[inline(always)]
    fn ask_for_deadlines(&mut self, now: Nanos, due: &mut PortSet) {
        for port in self.shard.take_changed().iter() {
            self.deadlines[port.index()] = self.shard.port_deadline(port);
            self.note_deadline(now, port, due);
        }
    }

    /// Puts `port` into `due` where it is due at `now`, and takes it out where it is not.
    #[inline(always)]
    fn note_deadline(&self, now: Nanos, port: PortId, due: &mut PortSet) {
        if self.deadlines[port.index()] <= now {
            due.insert(port);
        } else {
            due.remove(port);
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
    /// may leave at once leaves. Mostly that is one frame, which is let through where that comes to the same.
    #[inline]
    pub(super) fn arrive_at_switch(
        &mut self,
        number: usize,
        switch: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let Self { now, directions, switches, tournament, .. } = self;
        let (direction, it) = (&mut directions[number], &mut switches[switch]);
        if !it.is_tapped
            && let Some((mut frame, next)) = direction.arrive_alone(*now)
        {
            let port = direction.to.port;
            frame.came_in_through(port);
            tournament.set(number, next);
            return self.pass(switch, port, frame, observer);
        }
        let port = direction.to.port;
        loop {
            let (entered, pauses) = self.gather(number, switch, port, observer);
            if entered.frames == 0 {
                break;
            }
            self.enter(switch, port, entered, pauses, observer)?;
            if self.directions[number].next_arrival() > self.now {
                break;
            }
        }
        self.tournament.set(number, self.directions[number].next_arrival());
        Ok(())
    }

    /// Gives a switch one frame. Mostly it leaves at once, and all that changes is on which link it is; or it waits,
    /// and one deadline may come.
    #[inline(always)]
    fn pass(
        &mut self,
        switch: usize,
        port: PortId,
        frame: SimFrame,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let (live, copies) = (self.pool.live(), self.pool.duplicates());
        let entered = Volume { frames: 1, bytes: frame.length() };
        let it = &mut self.switches[switch];
        let passage = it.shard.ingress_one(self.now, port, frame);
        if let Passage::Through { egress, start, frame } = passage {
            let is_due = it.next <= self.now;
            self.checker.check_buffer(switch, it, entered.bytes)?;
            self.put_through(switch, egress, start, frame, observer)?;
            return if is_due { self.serve(switch, observer) } else { Ok(()) };
        }
        let balance = &mut self.checker.balance;
        balance.in_flight = balance.in_flight - entered;
        match passage {
            Passage::Queued { egress, deadline } => {
                it.held += entered;
                balance.held += entered;
                it.deadlines[egress.index()] = deadline;
                if deadline < it.next {
                    it.next = deadline;
                    self.tournament.set(self.actors.switches + switch, deadline);
                }
                self.checker.check_buffer(switch, it, Bytes::ZERO)?;
                if it.next <= self.now { self.serve(switch, observer) } else { Ok(()) }
            }
            Passage::Declined(frame) => {
                self.burst.push(frame);
                self.enter(switch, port, entered, Volume::ZERO, observer)
            }
            Passage::Taken | Passage::Through { .. } => {
                self.account_for_burst(switch, live, copies, entered, Volume::ZERO)?;
                self.serve(switch, observer)
            }
        }
    }

    /// Gives a switch the burst that has been gathered, `pauses` among it, and lets leave what may.
    #[inline]
    fn enter(
        &mut self,
        switch: usize,
        port: PortId,
        entered: Volume,
        pauses: Volume,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let (live, copies) = (self.pool.live(), self.pool.duplicates());
        self.switches[switch].shard.ingress(self.now, port, &mut self.burst);
        self.account_for_burst(switch, live, copies, entered, pauses)?;
        self.serve(switch, observer)
    }

    /// Accounts for a burst that has entered a switch when there were `live` frames, and `copies` had been made.
    #[inline]
    fn account_for_burst(
        &mut self,
        switch: usize,
        live: Volume,
        copies: Volume,
        entered: Volume,
        pauses: Volume,
    ) -> Result<(), Broken> {
        self.switches[switch].held += entered;
        self.checker.balance.held += entered;
        // Mostly all that came in is there, and nothing else.
        if pauses.frames > 0 || self.pool.live() != live || self.pool.duplicates() != copies {
            self.account_for_arrivals(switch, live, self.pool.duplicates() - copies, pauses)?;
        }
        self.checker.check_buffer(switch, &self.switches[switch], Bytes::ZERO)
    }

    /// Accounts for frames that a switch has copied or taken, of `live` before, among them `pauses`.
    #[inline(never)]
    fn account_for_arrivals(
        &mut self,
        switch: usize,
        live: Volume,
        copies: Volume,
        pauses: Volume,
    ) -> Result<(), Broken> {
        let (it, balance) = (&mut self.switches[switch], &mut self.checker.balance);
        let taken = live + copies - self.pool.live();
        it.held = it.held + copies - taken;
        it.taken += taken;
        balance.held = balance.held + copies - taken;
        balance.taken += taken;
        if taken == pauses { Ok(()) } else { self.check_drops(switch) }
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
        let Self { now, directions, burst, switches, checker, .. } = self;
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
        let balance = &mut checker.balance;
        balance.in_flight = balance.in_flight - entered;
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
            if self.egress(switch, port, observer)? {
                // What left may have made another port due, by the end of a pause.
                self.switches[switch].ask_for_deadlines(now, &mut due);
            } else {
                self.switches[switch].note_deadline(now, port, &mut due);
            }
            turn = due.iter().find(|it| *it > port);
            if turn.is_none() && !due.is_empty() {
                passes += 1;
                turn = due.iter().next();
            }
        }
        let it = &mut self.switches[switch];
        let next = it.deadlines.iter().copied().min().unwrap_or(Nanos::NEVER).max(now);
        it.next = next;
        self.tournament.set(self.actors.switches + switch, next);
        Ok(())
    }

    /// Puts on its link a frame that has come just now.
    #[inline]
    fn put_through(
        &mut self,
        switch: usize,
        port: PortId,
        start: Nanos,
        frame: SimFrame,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let entered = Volume { frames: 1, bytes: frame.length() };
        match self.put_untroubled(switch, port, start, frame)? {
            None => Ok(()),
            Some(frame) => {
                let balance = &mut self.checker.balance;
                balance.in_flight = balance.in_flight - entered;
                balance.held += entered;
                self.switches[switch].held += entered;
                self.put_with_care(switch, port, start, frame, observer)
            }
        }
    }

    /// Puts on its link a frame that has waited.
    #[inline]
    fn put_out(
        &mut self,
        switch: usize,
        port: PortId,
        start: Nanos,
        frame: SimFrame,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let left = Volume { frames: 1, bytes: frame.length() };
        match self.put_untroubled(switch, port, start, frame)? {
            None => {
                let (it, balance) = (&mut self.switches[switch], &mut self.checker.balance);
                it.held = it.held - left;
                balance.held = balance.held - left;
                balance.in_flight += left;
                Ok(())
            }
            Some(frame) => self.put_with_care(switch, port, start, frame, observer),
        }
    }

    /// Puts a frame on its link, or gives it back where there is none, where it may meet a fault, or where somebody
    /// looks at it.
    #[inline(always)]
    fn put_untroubled(
        &mut self,
        switch: usize,
        port: PortId,
        start: Nanos,
        frame: SimFrame,
    ) -> Result<Option<SimFrame>, Broken> {
        let it = &self.switches[switch];
        let Some(number) = it.out[port.index()] else { return Ok(Some(frame)) };
        let direction = &mut self.directions[number];
        if it.is_tapped || !direction.is_untroubled(start) {
            return Ok(Some(frame));
        }
        direction.send(self.now, start, frame)?;
        if direction.has_one() {
            self.tournament.set(number, direction.next_arrival());
        }
        self.transmissions += 1;
        self.checker.checks.link += 1;
        self.watch.moved += 1;
        Ok(None)
    }

    /// Puts a frame on its link that may be looked at or go elsewhere.
    #[cold]
    fn put_with_care(
        &mut self,
        switch: usize,
        port: PortId,
        start: Nanos,
        frame: SimFrame,
        observer: &mut impl Observer,
    ) -> Result<(), Broken> {
        let live = self.pool.live();
        self.depart(switch, port, live, observer, |_, outlet| outlet.frame(start, frame))
    }

    /// Puts what leaves through one port on its link. Returns whether other deadlines than that of the port may have
    /// changed.
    #[inline]
    fn egress(&mut self, switch: usize, port: PortId, observer: &mut impl Observer) -> Result<bool, Broken> {
        let (now, live) = (self.now, self.pool.live());
        let it = &mut self.switches[switch];
        match it.shard.egress_one(now, port) {
            Some(Departure { start, frame, deadline }) => {
                it.deadlines[port.index()] = deadline;
                self.put_out(switch, port, start, frame, observer)?;
                Ok(false)
            }
            None => {
                self.depart(switch, port, live, observer, |shard, outlet| shard.egress(now, port, outlet))?;
                Ok(true)
            }
        }
    }

    /// Puts what `give_out` gives the outlet of one port on its link; there were `live` frames before.
    #[inline(always)]
    fn depart<O: Observer>(
        &mut self,
        switch: usize,
        port: PortId,
        live: Volume,
        observer: &mut O,
        give_out: impl FnOnce(&mut Shard<SimFrame>, &mut Outlet<'_, O>),
    ) -> Result<(), Broken> {
        let it = &mut self.switches[switch];
        let mut outlet = Outlet {
            from: LinkEnd { node: it.node, port },
            now: self.now,
            program: &it.program,
            pool: &self.pool,
            direction: it.out[port.index()].map(|number| &mut self.directions[number]),
            observer: it.is_tapped.then_some(observer),
            passed: Passed::default(),
            broken: None,
            suspect: None,
        };
        give_out(&mut it.shard, &mut outlet);
        let Outlet { passed, broken, suspect, .. } = outlet;
        if let Some(number) = it.out[port.index()] {
            self.tournament.set(number, self.directions[number].next_arrival());
        }
        if let Some(broken) = broken {
            return Err(broken);
        }
        if let Some((priority, broken)) = suspect {
            // A watchdog may let a queue send in spite of a pause.
            if !it.shard.queue(self.now, port, priority).stormed {
                return Err(broken);
            }
        }
        it.held = it.held - passed.left;
        self.transmissions += passed.transmissions;
        let checker = &mut self.checker;
        checker.checks.pause += passed.while_paused;
        checker.checks.link += passed.transmissions;
        let balance = &mut checker.balance;
        balance.held = balance.held - passed.left;
        balance.in_flight += passed.left;
        if passed.moved {
            self.watch.moved += 1;
        }
        // Mostly frames leave that waited, and are on their way.
        let Passed { made, lost, unconnected, .. } = passed;
        if made.frames + lost.frames + unconnected.frames > 0 || self.pool.live() != live {
            return self.account_for_departures(switch, live, passed);
        }
        Ok(())
    }

    /// Accounts for frames that a switch has made, and for those of `live` before that went elsewhere than onto a
    /// link.
    #[inline(never)]
    fn account_for_departures(&mut self, switch: usize, live: Volume, passed: Passed) -> Result<(), Broken> {
        let (it, balance) = (&mut self.switches[switch], &mut self.checker.balance);
        let Passed { made, lost, unconnected, .. } = passed;
        let taken = live + made - lost - unconnected - self.pool.live();
        it.held = it.held - taken;
        it.taken += taken;
        balance.held = balance.held - taken;
        balance.taken += taken;
        balance.made += made;
        balance.lost += lost;
        balance.unconnected += unconnected;
        balance.in_flight = balance.in_flight + made - lost - unconnected;
        if taken.frames > 0 { self.check_drops(switch) } else { Ok(()) }
    }
}

/// What has passed through an outlet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Frames that waited.
    pub left: Volume,
    /// Frames that were made on the spot.
    pub made: Volume,
    /// Of both, those that a fault took.
    pub lost: Volume,
    /// Of both, those that went nowhere.
    pub unconnected: Volume,
    pub transmissions: u64,
    /// Frames that were sent while some priority was paused.
    pub while_paused: u64,
    /// Whether there was anything but pauses.
    pub moved: bool,
}

/// A port of a switch, as the switch sees it.
struct Outlet<'a, O> {
    from: LinkEnd,
    now: Nanos,
    program: &'a Program,
    pool: &'a FramePool,
    direction: Option<&'a mut Direction>,
    /// Where the node is tapped.
    observer: Option<&'a mut O>,
    passed: Passed,
    /// The first thing that was wrong.
    broken: Option<Broken>,
    /// A frame that was sent against a pause.
    suspect: Option<(Priority, Broken)>,
}

impl<O: Observer> Outlet<'_, O> {
    #[inline]
    fn put(&mut self, start: Nanos, frame: SimFrame) {
        if let Some(observer) = &mut self.observer {
            let tap = Tap { node: self.from.node, port: self.from.port, inbound: false };
            observer.captured(tap, start, frame.headers(), frame.length());
        }
        let length = frame.length();
        let Some(direction) = &mut self.direction else {
            self.passed.unconnected.count(length);
            return;
        };
        self.passed.transmissions += 1;
        match direction.send(self.now, start, frame) {
            Ok(Sent::InFlight) => {}
            Ok(Sent::Lost) => self.passed.lost.count(length),
            Err(broken) => {
                self.broken.get_or_insert(broken);
            }
        }
    }

    /// Whether `frame` may begin at `start`, as far as the pauses say that arrived at its link.
    #[cold]
    fn check_pause(&mut self, start: Nanos, frame: &SimFrame) {
        let Some(direction) = &self.direction else { return };
        self.passed.while_paused += 1;
        let (dscp, pcp) = code_points(frame.headers());
        let priority = self.program.port(frame.ingress()).classification.priority(dscp, pcp);
        let until = direction.pauses.until(priority);
        if start < until {
            let LinkEnd { node, port } = self.from;
            let broken = Broken::Pause { node, port, priority, start, until };
            self.suspect.get_or_insert((priority, broken));
        }
    }
}

impl<O: Observer> Transmitter<SimFrame> for Outlet<'_, O> {
    /// A link takes whatever is sent.
    #[inline]
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn frame(&mut self, start: Nanos, frame: SimFrame) {
        self.passed.left.count(frame.length());
        self.passed.moved = true;
        if self.direction.as_ref().is_some_and(|direction| direction.pauses.any_at(start)) {
            self.check_pause(start, &frame);
        }
        self.put(start, frame);
    }

    fn control(&mut self, start: Nanos, frame: &ControlFrame) {
        let length: Bytes = frame.length();
        self.passed.made.count(length);
        let frame = self.pool.frame(frame.bytes(), length, None);
        self.passed.moved |= !frame.is_pause();
        self.put(start, frame);
    }
}
