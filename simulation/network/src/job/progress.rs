//! The progress of the ranks at one host.

use super::Moment;
use super::plan::{Flight, Jobs, Steps, Task};
use crate::network::NodeId;
use crate::outcome::Unfinished;
use endpoint::FlowId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use units::Nanos;

/// Of an entry of [`RankProgress::left`]: the operation has begun.
const BEGUN: u32 = 1 << 31;
/// It has ended.
const ENDED: u32 = 1 << 30;
/// The moments after which a call of [`Progress::advance`] returns, if all take no time: others look at the run in between.
const MOMENTS_MAX: u32 = 1 << 12;

/// The ranks at one host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Progress {
    ranks: Vec<RankProgress>,
    /// The moments of operations, by rank, of which their dependents have yet to learn.
    come: VecDeque<(usize, u32, Moment)>,
    /// The instant at which to call [`Progress::advance`] next.
    pub due: Nanos,
}

/// A rank.
#[derive(Debug, Serialize, Deserialize)]
struct RankProgress {
    job: usize,
    rank: u32,
    /// `None` before its job has begun.
    iteration: Option<u32>,
    /// For each operation the moments for which it waits, and what has happened.
    left: Vec<u32>,
    /// Operations of this iteration that have not ended.
    unfinished: u32,
    cpus: Vec<Cpu>,
    /// Flows that have arrived before their receives had begun.
    early: BTreeSet<FlowId>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cpu {
    number: u8,
    /// The calculation that occupies it, and its end.
    running: Option<(Nanos, u32)>,
    waiting: VecDeque<u32>,
}

/// The progress of a host's ranks in one turn.
#[derive(Debug, Default)]
pub(crate) struct Advance {
    /// The flows that start.
    pub starts: Vec<FlowId>,
    /// The iterations of jobs that a rank has begun, or has ended.
    pub begun: Vec<(usize, u32)>,
    pub ended: Vec<(usize, u32)>,
    /// Operations that have become ready: rank, kind and number, by which they are sorted.
    ready: Vec<(usize, u8, u32)>,
}

impl Progress {
    /// The ranks at `host`, before their jobs begin.
    pub fn new(jobs: &Jobs, host: NodeId) -> Self {
        let mut ranks = Vec::new();
        for (number, job) in jobs.jobs.iter().enumerate() {
            let here = (0..).zip(&job.ranks).filter(|(_, it)| it.host == host && !it.steps.is_empty());
            ranks.extend(here.map(|(rank, steps)| RankProgress::new(number, rank, steps)));
        }
        let starts = ranks.iter().map(|it| jobs.jobs[it.job].start);
        let due = starts.min().unwrap_or(Nanos::NEVER);
        Self { ranks, come: VecDeque::new(), due }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Notes that the sender of a flow is here and has ended it.
    pub fn note_sent(&mut self, jobs: &Jobs, flight: Flight) {
        let message = &jobs.jobs[flight.job].messages[flight.message as usize];
        self.note((flight.job, message.ranks[0]), message.steps[0], Moment::Ends);
    }

    /// Notes that the last packet of a flow has left here.
    pub fn note_left(&mut self, jobs: &Jobs, flight: Flight) {
        let message = &jobs.jobs[flight.job].messages[flight.message as usize];
        self.note((flight.job, message.ranks[0]), message.steps[0], Moment::Leaves);
    }

    /// Notes that a flow has arrived here.
    pub fn note_received(&mut self, jobs: &Jobs, flight: Flight) {
        let message = &jobs.jobs[flight.job].messages[flight.message as usize];
        let (at, step) = ((flight.job, message.ranks[1]), message.steps[1]);
        let Some(it) = self.ranks.iter_mut().find(|it| (it.job, it.rank) == at) else { return };
        if it.iteration == Some(flight.iteration) && it.left[step as usize] & BEGUN > 0 {
            self.note(at, step, Moment::Ends);
        } else {
            it.early.insert(jobs.flow(flight));
        }
    }

    fn note(&mut self, at: (usize, u32), step: u32, moment: Moment) {
        if let Some(index) = self.ranks.iter().position(|it| (it.job, it.rank) == at) {
            self.come.push_back((index, step, moment));
            self.due = Nanos::ZERO;
        }
    }

    /// Does everything that can be done at `now`. Returns whether that is all: otherwise it is due at once.
    pub fn advance(&mut self, now: Nanos, jobs: &Jobs, out: &mut Advance) -> bool {
        for (index, it) in self.ranks.iter_mut().enumerate() {
            if it.iteration.is_none() && jobs.jobs[it.job].start <= now {
                it.begin_iteration(index, 0, it.steps(jobs), out);
            }
            for cpu in &mut it.cpus {
                if let Some((_, step)) = cpu.running.take_if(|(until, _)| *until <= now) {
                    self.come.push_back((index, step, Moment::Ends));
                }
            }
        }
        let mut moments = 0;
        loop {
            while let Some((index, step, moment)) = self.come.pop_front() {
                moments += 1;
                self.ranks[index].settle(index, (step, moment), jobs, out);
            }
            out.ready.sort_unstable();
            for (index, _, step) in out.ready.drain(..) {
                let it = &mut self.ranks[index];
                let number = it.steps(jobs).steps[step as usize].cpu;
                it.cpus
                    .iter_mut()
                    .filter(|cpu| cpu.number == number)
                    .for_each(|cpu| cpu.waiting.push_back(step));
            }
            for index in 0..self.ranks.len() {
                self.occupy_cpus(index, now, jobs, out);
            }
            if self.come.is_empty() && out.ready.is_empty() {
                break;
            }
            if moments >= MOMENTS_MAX {
                self.due = now;
                return false;
            }
        }
        self.due = self.ranks.iter().map(|it| it.due(jobs)).min().unwrap_or(Nanos::NEVER);
        true
    }

    fn occupy_cpus(&mut self, index: usize, now: Nanos, jobs: &Jobs, out: &mut Advance) {
        for cpu in 0..self.ranks[index].cpus.len() {
            loop {
                let it = &mut self.ranks[index].cpus[cpu];
                if it.running.is_some() {
                    break;
                }
                let Some(step) = it.waiting.pop_front() else { break };
                self.begin(index, cpu, step, now, jobs, out);
            }
        }
    }

    fn begin(&mut self, index: usize, cpu: usize, step: u32, now: Nanos, jobs: &Jobs, out: &mut Advance) {
        let it = &mut self.ranks[index];
        it.left[step as usize] |= BEGUN;
        let steps = it.steps(jobs);
        it.tell(index, steps, step, Moment::Begins, out);
        let (job, iteration) = (it.job, it.iteration.unwrap_or_default());
        match steps.steps[step as usize].task {
            Task::Calculate(time) if time.0 > 0 => it.cpus[cpu].running = Some((now + time, step)),
            Task::Calculate(_) => self.come.push_back((index, step, Moment::Ends)),
            Task::Send(message) => {
                let flight = Flight { job, iteration, message };
                let planned = &jobs.jobs[job];
                if planned.is_within_host(&planned.messages[message as usize]) {
                    self.come.push_back((index, step, Moment::Leaves));
                    self.come.push_back((index, step, Moment::Ends));
                    self.note_received(jobs, flight);
                } else {
                    out.starts.push(jobs.flow(flight));
                }
            }
            Task::Receive(message) => {
                if it.early.remove(&jobs.flow(Flight { job, iteration, message })) {
                    self.come.push_back((index, step, Moment::Ends));
                }
            }
        }
    }

    /// The ranks that are not done, with their jobs.
    pub fn unfinished(&self, jobs: &Jobs) -> Vec<(usize, Unfinished)> {
        let goes_on = |it: &&RankProgress| it.iteration != Some(jobs.jobs[it.job].iterations);
        let unfinished = |it: &RankProgress| {
            let step = it.left.iter().position(|left| left & (BEGUN | ENDED) == BEGUN);
            let (iteration, operation) = (it.iteration.unwrap_or_default(), step.map(|step| step as u32));
            (it.job, Unfinished { rank: it.rank, iteration, operation })
        };
        self.ranks.iter().filter(goes_on).map(unfinished).collect()
    }
}

impl RankProgress {
    fn new(job: usize, rank: u32, steps: &Steps) -> Self {
        let numbers: BTreeSet<u8> = steps.steps.iter().map(|step| step.cpu).collect();
        let cpu = |number| Cpu { number, running: None, waiting: VecDeque::new() };
        Self {
            job,
            rank,
            iteration: None,
            left: Vec::new(),
            unfinished: 0,
            cpus: numbers.into_iter().map(cpu).collect(),
            early: BTreeSet::new(),
        }
    }

    fn steps<'a>(&self, jobs: &'a Jobs) -> &'a Steps {
        &jobs.jobs[self.job].ranks[self.rank as usize]
    }

    /// The end of its next calculation, or the start of its job.
    fn due(&self, jobs: &Jobs) -> Nanos {
        let ends = self.cpus.iter().filter_map(|cpu| cpu.running.map(|(until, _)| until));
        let start = self.iteration.is_none().then(|| jobs.jobs[self.job].start);
        ends.chain(start).min().unwrap_or(Nanos::NEVER)
    }

    fn begin_iteration(&mut self, index: usize, iteration: u32, steps: &Steps, out: &mut Advance) {
        self.iteration = Some(iteration);
        self.left.clear();
        self.left.extend(steps.steps.iter().map(|step| step.waits));
        self.unfinished = steps.steps.len() as u32;
        out.begun.push((self.job, iteration));
        let free = (0..).zip(&steps.steps).filter(|(_, step)| step.waits == 0);
        out.ready.extend(free.map(|(number, step)| (index, step.task.kind(), number)));
    }

    /// Tells the dependents of an operation of a moment.
    fn settle(&mut self, index: usize, (step, moment): (u32, Moment), jobs: &Jobs, out: &mut Advance) {
        let steps = self.steps(jobs);
        self.tell(index, steps, step, moment, out);
        if moment != Moment::Ends {
            return;
        }
        self.left[step as usize] |= ENDED;
        self.unfinished -= 1;
        if self.unfinished == 0 {
            let iteration = self.iteration.unwrap_or_default();
            out.ended.push((self.job, iteration));
            if iteration + 1 < jobs.jobs[self.job].iterations {
                self.begin_iteration(index, iteration + 1, steps, out);
            } else {
                self.iteration = Some(iteration + 1);
            }
        }
    }

    fn tell(&mut self, index: usize, steps: &Steps, step: u32, moment: Moment, out: &mut Advance) {
        for dependent in steps.dependents(step, moment) {
            let left = &mut self.left[dependent as usize];
            *left -= 1;
            if *left == 0 {
                out.ready.push((index, steps.steps[dependent as usize].task.kind(), dependent));
            }
        }
    }
}

impl Task {
    /// Its place among those that become ready at one instant.
    fn kind(self) -> u8 {
        match self {
            Self::Send(_) => 0,
            Self::Receive(_) => 1,
            Self::Calculate(_) => 2,
        }
    }
}
