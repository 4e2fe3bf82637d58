//! A driver for the lanes of one switch, whose turns a seed interleaves step by step.

use crate::bench::{Recorder, Sent};
use crate::conservation::assert_conserved;
use crate::frame::TestFrame;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use switch::driver;
use switch::lanes::PairHash;
use switch::program::Settings;
use switch::receive_ring::{BURST, RingWatch, mark};
use switch::{Board, DropReason, PortInspection, Program, Shard, Volume};
use units::{Interval, Nanos, PortId, Priority};

/// The lanes of one switch. Each of them does one step of its turn after the other, as a worker does; which lane is next is
/// drawn, so that each may be anywhere in its turn when another looks or shows.
pub struct Lanes {
    /// Each by its number.
    pub lanes: Vec<Shard<TestFrame>>,
    /// What left through each port, in the order of the calls.
    pub sent: Vec<Vec<Sent>>,
    /// The time.
    pub now: Nanos,
    rings: Vec<Vec<Ring>>,
    /// The frames that a receive ring holds, if it is bounded.
    descriptors: Option<u32>,
    /// Whether a deep ring pauses its senders, as the worker sees to.
    pub heeds_rings: bool,
    /// Frames that found their receive ring full.
    pub overflowed: u64,
    /// A lane that is half as fast as the others.
    pub slow: Option<usize>,
    /// A lane that is not there at all.
    pub stalled: Option<usize>,
    turns: Vec<Turn>,
    rng: Pcg32,
    step: Interval,
    away: Interval,
}

/// Where a lane is in its turn.
#[derive(Clone, Copy, Default)]
struct Turn {
    next: usize,
    began: Nanos,
    /// When the turn before began.
    before: Nanos,
    number: u64,
}

/// A receive ring.
#[derive(Clone, Default)]
struct Ring {
    frames: VecDeque<TestFrame>,
    watch: RingWatch,
    is_deep: bool,
}

impl Lanes {
    /// `count` lanes. A step takes `step`, and none is away from its turn for longer than `away`.
    ///
    /// # Panics
    /// Where the settings do not hold.
    pub fn new(settings: Settings, count: usize, seed: u64, step: Interval, away: Interval) -> Self {
        let board = Arc::new(Board::new(count, settings.ports.len()));
        Self::with_boards(settings, &vec![board; count], seed, (step, away), |number| number)
    }

    /// The control of what lanes see: as many lanes, none of which sees any other. Lane 0 alone sends PFC frames.
    ///
    /// # Panics
    /// Where the settings do not hold.
    pub fn blind(settings: Settings, count: usize, seed: u64, step: Interval, away: Interval) -> Self {
        let boards: Vec<_> = (0..count).map(|_| Arc::new(Board::new(count, settings.ports.len()))).collect();
        Self::with_boards(settings, &boards, seed, (step, away), |number| number)
    }

    /// The control of the lead: the same, and each of them sends PFC frames for itself.
    ///
    /// # Panics
    /// Where the settings do not hold.
    pub fn all_leads(settings: Settings, count: usize, seed: u64, step: Interval, away: Interval) -> Self {
        let boards: Vec<_> = (0..count).map(|_| Arc::new(Board::new(count, settings.ports.len()))).collect();
        Self::with_boards(settings, &boards, seed, (step, away), |_| 0)
    }

    fn with_boards(
        settings: Settings,
        boards: &[Arc<Board>],
        seed: u64,
        (step, away): (Interval, Interval),
        number_of: impl Fn(usize) -> usize,
    ) -> Self {
        let (count, ports) = (boards.len(), settings.ports.len());
        let program = Program::new(settings).expect("the test's settings hold");
        let program = Arc::new(program.for_lanes(count).expect("lanes may run the test's settings"));
        let lane = |(lane, board): (usize, &Arc<Board>)| {
            Shard::lane(number_of(lane), program.clone(), board.clone())
        };
        Self {
            lanes: boards.iter().enumerate().map(lane).collect(),
            sent: vec![Vec::new(); ports],
            now: Nanos::ZERO,
            rings: vec![vec![Ring::default(); ports]; count],
            descriptors: None,
            heeds_rings: true,
            overflowed: 0,
            slow: None,
            stalled: None,
            turns: vec![Turn::default(); count],
            rng: Pcg32::seed_from_u64(seed),
            step,
            away,
        }
    }

    /// The same with receive rings of so many descriptors.
    #[must_use]
    pub fn with_rings(self, descriptors: u32) -> Self {
        Self { descriptors: Some(descriptors), ..self }
    }

    /// All ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + Clone + use<> {
        (0..self.sent.len() as u16).map(PortId)
    }

    /// Puts a frame for `port` into the receive ring of `lane`.
    pub fn arrive(&mut self, lane: usize, port: PortId, frame: TestFrame) {
        let ring = &mut self.rings[lane][port.index()].frames;
        match self.descriptors {
            Some(most) if ring.len() >= most as usize => self.overflowed += 1,
            _ => ring.push_back(frame),
        }
    }

    /// Puts a frame for `port` into the receive ring of the lane to which devices give it.
    pub fn deliver(&mut self, port: PortId, frame: TestFrame) {
        let lane = driver::home(PairHash::default(), &frame, self.lanes.len());
        self.arrive(lane, port, frame);
    }

    /// What all lanes together show of `port`.
    pub fn inspect(&self, port: PortId) -> PortInspection {
        let mut all = PortInspection::default();
        driver::inspect(&self.lanes, self.now, port, &mut all);
        all
    }

    /// A lane that a device might choose for a frame without addresses.
    pub fn any_lane(&mut self) -> usize {
        self.rng.next_u32() as usize % self.lanes.len()
    }

    /// One step of one lane: of one that has been away for too long, or of any.
    pub fn step(&mut self) {
        self.now += self.step;
        let is_late = |(lane, turn): (usize, &Turn)| {
            self.stalled != Some(lane) && self.now.since(turn.began) >= self.away
        };
        let late = self.turns.iter().enumerate().position(is_late);
        let mut lane = late.unwrap_or_else(|| self.any_lane());
        if late.is_none() && self.slow == Some(lane) {
            lane = self.any_lane();
        }
        if self.stalled == Some(lane) {
            return;
        }
        self.step_of(lane);
    }

    /// The next step of `lane`.
    pub fn step_of(&mut self, lane: usize) {
        let ports = self.sent.len();
        let (shard, turn) = (&mut self.lanes[lane], &mut self.turns[lane]);
        let next = turn.next;
        turn.next += 1;
        if next == 0 {
            shard.look(self.now);
            for (port, ring) in (0..).map(PortId).zip(&mut self.rings[lane]) {
                if ring.is_deep && ring.watch.is_calm(turn.number) {
                    ring.is_deep = false;
                    shard.set_ring_deep(port, false);
                }
            }
        } else if next <= ports {
            self.receive(lane, PortId(next as u16 - 1));
        } else if next <= 2 * ports {
            let port = PortId((next - ports) as u16 - 1);
            if shard.port_deadline(port) <= self.now {
                shard.egress(
                    self.now,
                    port,
                    &mut Recorder::new(&mut self.sent[port.index()], BURST as usize),
                );
            }
        } else {
            shard.publish();
            *turn = Turn { next: 0, began: self.now, before: turn.began, number: turn.number + 1 };
        }
    }

    fn receive(&mut self, lane: usize, port: PortId) {
        let (shard, turn, ring) =
            (&mut self.lanes[lane], self.turns[lane], &mut self.rings[lane][port.index()]);
        let mut burst: Vec<_> = ring.frames.drain(..ring.frames.len().min(BURST as usize)).collect();
        if burst.is_empty() {
            return;
        }
        let is_full = burst.len() as u64 == BURST && ring.watch.note_full(turn.number, turn.before);
        let marked = self.descriptors.is_some_and(|most| ring.frames.len() >= mark(most) as usize);
        if is_full && marked && self.heeds_rings && !ring.is_deep {
            ring.is_deep = true;
            shard.set_ring_deep(port, true);
            shard.allow_late(port, ring.watch.unread_for(self.now));
        }
        shard.ingress(self.now, port, &mut burst, &mut ());
    }

    /// Steps up to `time`.
    pub fn run_until(&mut self, time: Nanos) {
        while self.now < time {
            self.step();
        }
    }

    /// The volume that was dropped, by reason.
    pub fn dropped(&self) -> BTreeMap<DropReason, Volume> {
        let mut sums: BTreeMap<DropReason, Volume> = BTreeMap::new();
        for (lane, port) in self.lanes.iter().flat_map(|lane| self.ports().map(move |port| (lane, port))) {
            let counters = lane.ingress_counters(port);
            for priority in Priority::all() {
                let (before, after) =
                    (&counters.dropped[priority.index()], lane.queue(self.now, port, priority).dropped);
                for reason in DropReason::ALL {
                    *sums.entry(reason).or_default() += before[reason.index()] + after[reason.index()];
                }
            }
        }
        sums.retain(|_, volume| volume.frames > 0);
        sums
    }

    /// Checks each lane's sums.
    ///
    /// # Panics
    /// Where one does not hold.
    pub fn assert_conserved(&self) {
        self.lanes.iter().for_each(|lane| assert_conserved(self.ports(), self.now, |_| lane));
    }
}
