//! Two ends of a link in virtual time. The link delays, can be cut one way at any place, and a stranger can record what
//! arrives and send it again.

use super::super::*;
use super::{SECOND, next_hello, settings};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// A cut of the way from one end, at a place that frames reach after `after`.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub sender: usize,
    pub after: Interval,
    pub from: Nanos,
    pub until: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub enum Item {
    Data,
    Hello(hello::Message),
    /// A stranger's.
    Planted(hello::Message),
}

pub struct End {
    pub monitor: Monitor,
    pub settings: Liveness,
    totals: DataFrames,
    /// Hellos on their way to this end, by arrival.
    arriving: VecDeque<(Nanos, Item)>,
    /// Data frames to it that get lost.
    to_lose: u64,
    /// Until when it does not run.
    asleep_until: Nanos,
    /// Whether what comes while it sleeps is lost.
    ring_overflows: bool,
    /// What a stranger has recorded of what came to it.
    pub recorded: Vec<hello::Message>,
    /// When it last heard the other end, as that is now.
    pub heard: Nanos,
    pub events: Vec<LivenessEvent>,
}

pub struct World {
    pub now: Nanos,
    pub ends: [End; 2],
    pub delay: Interval,
    pub cuts: Vec<Cut>,
    /// Frames of a hundred that get lost, drawn at random.
    pub loses_percent: u32,
    draws: Pcg32,
    /// Whether ends know of their lateness.
    pub knows_lateness: bool,
}

impl World {
    /// Two ends that start at once, with `delay` between them.
    pub fn new(delay: Interval, interval: Interval, seed: u64) -> Self {
        Self::with(delay, [0, 1].map(|end| settings(end, interval)), seed)
    }

    pub fn with(delay: Interval, settings: [Liveness; 2], seed: u64) -> Self {
        let now = Nanos(1_700_000_000_000_000_000);
        let end = |index: usize| {
            let mut monitor = Monitor::new(settings[index], seed.wrapping_add(index as u64));
            monitor.carrier(now, true);
            End {
                monitor,
                settings: settings[index],
                totals: DataFrames::default(),
                arriving: VecDeque::new(),
                to_lose: 0,
                asleep_until: Nanos::ZERO,
                ring_overflows: false,
                recorded: Vec::new(),
                heard: now,
                events: Vec::new(),
            }
        };
        Self {
            now,
            ends: [end(0), end(1)],
            delay,
            cuts: Vec::new(),
            loses_percent: 0,
            draws: Pcg32::seed_from_u64(seed),
            knows_lateness: true,
        }
    }

    /// The same, after both ends are up and know each other's intervals.
    pub fn up(delay: Interval, interval: Interval, seed: u64) -> Self {
        let mut world = Self::new(delay, interval, seed);
        world.run_for(SECOND * 5);
        assert!(world.carries() == [true; 2], "{:?}", world.states());
        world
    }

    pub fn states(&self) -> [LinkState; 2] {
        [0, 1].map(|end| self.ends[end].monitor.state())
    }

    pub fn carries(&self) -> [bool; 2] {
        [0, 1].map(|end| self.ends[end].monitor.carries_data())
    }

    pub fn counters(&self, end: usize) -> LivenessCounters {
        self.ends[end].monitor.report().counters
    }

    pub fn cut(&mut self, sender: usize, after: Interval, duration: Interval) {
        self.cuts.push(Cut { sender, after, from: self.now, until: self.now + duration });
    }

    /// Cuts both ways at the middle.
    pub fn cut_both(&mut self, duration: Interval) {
        let after = Interval(self.delay.0 / 2);
        (0..2).for_each(|sender| self.cut(sender, after, duration));
    }

    /// Lets an end not run for a while, unless it sleeps already.
    pub fn sleep(&mut self, end: usize, duration: Interval, ring_overflows: bool) {
        let end = &mut self.ends[end];
        if end.asleep_until == Nanos::ZERO {
            (end.asleep_until, end.ring_overflows) = (self.now + duration, ring_overflows);
        }
    }

    /// Loses the next `frames` of data that `sender` sends, and no hello.
    pub fn drop_data(&mut self, sender: usize, frames: u64) {
        self.ends[1 - sender].to_lose = frames;
    }

    /// Starts an end anew, as a restarted gateway does: it knows nothing of before.
    pub fn restart(&mut self, end: usize, seed: u64) {
        let now = self.now;
        self.ends[1 - end].heard = Nanos::ZERO;
        let end = &mut self.ends[end];
        end.monitor = Monitor::new(end.settings, seed);
        end.totals = DataFrames::default();
        end.monitor.carrier(now, true);
    }

    /// Plants a hello in front of an end.
    pub fn plant(&mut self, end: usize, hello: hello::Message) {
        self.ends[end].arriving.push_front((self.now, Item::Planted(hello)));
    }

    pub fn run_for(&mut self, duration: Interval) {
        self.run_until(self.now + duration, |_| ());
    }

    /// Runs to `until`, and looks at the world after each turn.
    pub fn run_until(&mut self, until: Nanos, mut look: impl FnMut(&Self)) {
        loop {
            let [one, other] = [0, 1].map(|end| self.next_turn(end));
            let (at, end) = if one <= other { (one, 0) } else { (other, 1) };
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            self.turn(end);
            look(self);
        }
        self.now = until;
    }

    fn next_turn(&self, index: usize) -> Nanos {
        let End { monitor, arriving, asleep_until, .. } = &self.ends[index];
        let arrival = arriving.front().map_or(Nanos::NEVER, |it| it.0);
        monitor.deadline().min(monitor.frame_due()).min(arrival).max(*asleep_until)
    }

    fn turn(&mut self, index: usize) {
        let now = self.now;
        let end = &mut self.ends[index];
        let woken = core::mem::replace(&mut end.asleep_until, Nanos::ZERO) != Nanos::ZERO;
        let loses = core::mem::replace(&mut end.ring_overflows, false);
        while let Some((at, item)) = end.arriving.pop_front_if(|it| it.0 <= now) {
            let is_cut = self.cuts.iter().any(|cut| cut.sender != index && cut.stops(at, self.delay));
            if matches!(item, Item::Planted(_)) || !is_cut && (!loses || at == now) {
                end.take(now, item);
            }
        }
        if woken && self.knows_lateness {
            end.monitor.late(now);
        }
        end.monitor.turn(now, false);
        while let Some(event) = end.monitor.take_event() {
            end.events.push(event);
        }
        if end.monitor.frame_due() > now {
            return;
        }
        // Data goes before and behind each hello.
        self.send_data(index);
        let end = &mut self.ends[index];
        end.monitor.totals(end.totals);
        if let Some(hello) = next_hello(&mut end.monitor, now) {
            self.send(index, Item::Hello(hello));
        }
        self.send_data(index);
        assert!(self.ends[index].monitor.frame_due() > now, "one hello is enough for a turn");
    }

    fn send_data(&mut self, index: usize) {
        let end = &mut self.ends[index];
        if end.monitor.carries_data() {
            end.totals.sent += 1;
            self.send(index, Item::Data);
        }
    }

    fn send(&mut self, sender: usize, item: Item) {
        if self.draws.next_u32() % 100 >= self.loses_percent {
            self.ends[1 - sender].arriving.push_back((self.now + self.delay, item));
        }
    }
}

impl Cut {
    /// Whether it stops a frame of its way that would arrive at `at`.
    fn stops(&self, at: Nanos, delay: Interval) -> bool {
        (self.from..self.until).contains(&(at - delay + self.after))
    }
}

impl End {
    /// Whether it does not run now.
    pub fn sleeps(&self) -> bool {
        self.asleep_until != Nanos::ZERO
    }

    fn take(&mut self, now: Nanos, item: Item) {
        let monitor = &mut self.monitor;
        monitor.totals(self.totals);
        match item {
            Item::Data if self.to_lose > 0 => self.to_lose -= 1,
            Item::Data => self.totals.received += 1,
            Item::Hello(hello) => {
                monitor.hello(now, &hello);
                self.heard = now;
                self.recorded.push(hello);
            }
            Item::Planted(hello) => {
                let before = (monitor.carries_data(), monitor.report().session == State::Up);
                monitor.hello(now, &hello);
                let after = (monitor.carries_data(), monitor.report().session == State::Up);
                assert_eq!(before, after, "{hello:?}");
            }
        }
    }
}
