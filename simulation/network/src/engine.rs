//! The engine: picks the part and the actor that are due next, and lets them act.

mod build;
mod calendar;
mod checkpoint;
mod checks;
mod events;
mod exchange;
mod hosts;
mod jobs;
mod log;
mod odd;
mod part;
mod part_jobs;
mod schedule;
mod standstill;
mod start;
mod switches;
#[cfg(test)]
#[path = "engine/tests/testing.rs"]
mod testing;
#[cfg(test)]
mod tests;
mod turn;
mod workers;

use crate::flows::Flow;
use crate::ideal::Paths;
use crate::network::{FlowSpec, NodeId};
use crate::nodes::{Place, Station, Switch};
use crate::observer::{NetworkView, Observer, Progress, Rounds, State};
use crate::options::Options;
use crate::outcome::{Checks, Ending, HostOutcome, LinkOutcome, Outcome, SwitchOutcome};
use crate::stall::Watch;
use crate::tournament::Tournament;
use crate::violation::{Broken, Violation};
pub use checkpoint::NotResumed;
use endpoint::FlowId;
use part::{Part, Window};
use rand_pcg::Pcg32;
use start::Start;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::thread;
use switch::{PortInspection, Shard, driver};
use turn::{Actors, Turn};
use units::{Interval, Nanos, PortId};
use workers::Workers;

/// Events between two checks of the sums of a switch.
const SUMS_EVERY: u64 = 1 << 14;
/// Events and samples between two reports of progress: a fraction of a second of real time.
const PROGRESS_EVERY: u64 = 1 << 16;

/// A running network: its parts, and what they have in common.
pub(crate) struct Engine {
    now: Nanos,
    options: Options,
    parts: Vec<Part>,
    /// The delay of the shortest link between two parts: no frame reaches another part sooner.
    lookahead: Interval,
    actors: Actors,
    /// The part of each node.
    homes: Vec<usize>,
    /// The number of each direction, by link and sending end.
    numbers: Vec<[usize; 2]>,
    watch: Watch,
    paths: Paths,
    /// Draws the first sequence numbers of flows.
    rng: Pcg32,
    /// The flows that start next, in their order, as far as they are known: one at least, if there is another.
    pending: VecDeque<FlowSpec>,
    /// Whether `pending` has the last flow.
    knows_all: bool,
    /// Flows that start before those, each within one part.
    ready: VecDeque<Start>,
    /// Whether a flow of a closed loop has come so far. It starts again in the turn in which it ends.
    has_loops: bool,
    /// The flows to stop, and when.
    stops: BinaryHeap<Reverse<(Nanos, FlowId)>>,
    /// The number of active flows that are yet to be stopped.
    endless: u64,
    /// Flows of closed loops, with the instants at which they ended and start again.
    again: Vec<Flow>,
    /// The number of events at which the sums of a switch are checked next.
    sums_at: u64,
    /// The switch whose sums are taken next.
    next_switch: usize,
    samples: u64,
    /// The instant of the next sample.
    next_sample: Nanos,
    /// The number of flows that were fetched.
    fetched: u64,
    /// The number of events and samples at which progress is reported next.
    progress_at: u64,
    rounds: Rounds,
}

/// The reason why the event loop ends.
enum Stop {
    Ended(Ending),
    Broken(Broken),
}

impl From<Broken> for Stop {
    #[cold]
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Engine {
    pub fn run(
        mut self,
        mut flows: impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
    ) -> Result<Outcome, Violation> {
        if self.fetched == 0 {
            self.pull(&mut flows);
        }
        let ending = match self.turn(&mut flows, observer) {
            Stop::Ended(ending) => ending,
            Stop::Broken(what) => return Err(self.violation(what)),
        };
        self.tell_last_events(observer);
        if let Err(what) = self.check_everything() {
            return Err(self.violation(what));
        }
        Ok(self.outcome(ending))
    }

    /// The number of calls of the iterator of flows so far.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    fn violation(&self, what: Broken) -> Violation {
        Violation { at: self.now, seed: self.options.seed, what }
    }

    /// Processes all events in order, until the run ends.
    fn turn(&mut self, flows: &mut impl Iterator<Item = FlowSpec>, observer: &mut impl Observer) -> Stop {
        thread::scope(|scope| {
            let workers = self.options.threads.get().min(self.parts.len()) - 1;
            let workers = Workers::new(scope, workers);
            let ending = self.take_turns(flows, observer, &workers);
            self.tell((Nanos::NEVER, usize::MAX), observer);
            match ending {
                Ok(ending) => Stop::Ended(ending),
                Err(stop) => stop,
            }
        })
    }

    fn take_turns(
        &mut self,
        flows: &mut impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
        workers: &Workers,
    ) -> Result<Ending, Stop> {
        loop {
            self.exchange();
            if self.pending.is_empty() && self.is_idle() && self.next_again() == Nanos::NEVER {
                return Ok(Ending::Finished);
            }
            let next = self.next_turn();
            // That turn may tell the observer of a flow itself.
            self.tell(next, observer);
            let (at, actor) = next;
            if at > self.options.limit || at == Nanos::NEVER {
                return Ok(self.stop_at_limit(observer));
            }
            while self.next_sample <= at {
                self.sample(observer);
                if self.is_interrupted(observer) {
                    return Ok(Ending::Interrupted);
                }
            }
            if actor == self.actors.schedule {
                self.now = at;
                self.follow_schedule(flows, observer)?;
                self.parts[0].check_event()?;
            } else if actor == self.actors.watch {
                self.now = at;
                if let Some(ending) = self.look_for_a_standstill() {
                    return Ok(ending);
                }
                self.parts[0].check_event()?;
            } else {
                self.advance(next, flows, observer, workers)?;
            }
            self.check_sums()?;
            if self.is_interrupted(observer) {
                return Ok(Ending::Interrupted);
            }
        }
    }

    /// Tells `observer` what parts have seen while they ran ahead, as far as flows ended before `next`.
    fn tell(&mut self, next: Turn, observer: &mut impl Observer) {
        if self.parts.len() > 1 {
            log::tell(self.parts.iter_mut().map(|part| &mut part.log), next, observer);
        }
    }

    /// The turn that comes next in the whole network.
    fn next_turn(&self) -> Turn {
        self.next_of_parts().min(self.next_common_turn())
    }

    /// The next turn of the schedule or of the watch, before which all parts stop.
    fn next_common_turn(&self) -> Turn {
        let schedule = (self.next_start_or_stop(), self.actors.schedule);
        let (at, actor) = schedule.min((self.watch.next(), self.actors.watch));
        (if at >= Tournament::HORIZON { Nanos::NEVER } else { at }, actor)
    }

    /// Lets the parts act from `next`, their first turn, on.
    fn advance(
        &mut self,
        next: Turn,
        flows: &mut impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
        workers: &Workers,
    ) -> Result<(), Stop> {
        if self.parts.len() == 1 {
            return self.run_part(0, &self.window(), observer);
        }
        if !self.may_run_ahead() {
            return self.step(self.window(), observer);
        }
        let horizon = next.0 + self.lookahead;
        self.hand_starts_out(horizon, flows);
        let result = self.run_ahead(horizon, &self.window(), workers);
        self.take_starts_back();
        result
    }

    /// How far parts may run, unless other parts keep them from it.
    fn window(&self) -> Window {
        let (common, after_limit) = (self.next_common_turn(), Nanos(self.options.limit.0.saturating_add(1)));
        let looks = self.next_sample.min(after_limit);
        Window {
            end: common.min((looks, 0)),
            reach: looks.min(Nanos(common.0.0.saturating_add(1))),
            heard: (Nanos::NEVER, 0),
            goes_on: !self.pending.is_empty(),
            events: self.sums_at.min(self.progress_at.saturating_sub(self.samples)),
        }
    }

    fn run_part(&mut self, part: usize, window: &Window, observer: &mut impl Observer) -> Result<(), Stop> {
        let it = &mut self.parts[part];
        let result = it.run(window, observer);
        self.now = it.now;
        Ok(result?)
    }

    /// Whether the run goes on at least for the lookahead, so that parts may run ahead of each other: a flow is yet to
    /// start or to stop, or one that has not arrived at another part is to be acknowledged from there; of a job, it may not
    /// even have started. No flow may start
    /// again where another one ends, because that involves two parts at once.
    fn may_run_ahead(&self) -> bool {
        let leaving = |part: &Part| part.flows.leaving + part.jobs.left.leaving;
        let goes_on = || !self.pending.is_empty() || self.endless > 0 || self.sum(leaving) > 0;
        !self.has_loops && goes_on()
    }

    /// Lets all parts act beside each other for the lookahead, or until they have to wait.
    fn run_ahead(&mut self, horizon: Nanos, window: &Window, workers: &Workers) -> Result<(), Stop> {
        let before: Vec<u64> = self.parts.iter().map(|part| part.events).collect();
        let turns: Vec<Turn> = self.parts.iter().map(Part::next).collect();
        let of_part = |part: usize| {
            let others = turns.iter().enumerate().filter(|(other, _)| *other != part);
            Window {
                end: window.end.min((horizon, 0)),
                reach: window.reach.min(horizon),
                heard: others.map(|(_, turn)| *turn).min().unwrap_or(window.heard),
                goes_on: true,
                events: u64::MAX,
            }
        };
        let windows: Vec<Window> = (0..turns.len()).map(of_part).collect();
        let result = workers.run(&mut self.parts, &windows);
        let longest = self.parts.iter().zip(before).map(|(part, before)| part.events - before).max();
        self.rounds.rounds += 1;
        self.rounds.longest += longest.unwrap_or(0);
        self.now = self.parts.iter().map(|part| part.now).max().unwrap_or(self.now);
        result.map_err(|(part, broken)| {
            self.now = self.parts[part].now;
            Stop::Broken(broken)
        })
    }

    /// Takes the next turn.
    fn step(&mut self, window: Window, observer: &mut impl Observer) -> Result<(), Stop> {
        let turns = self.parts.iter().map(Part::next).enumerate();
        let Some((part, _)) = turns.min_by_key(|(_, turn)| *turn) else { return Ok(()) };
        let goes_on = window.goes_on || self.parts.iter().any(Part::has_to_send);
        let events = self.parts[part].events + 1;
        self.rounds.single_turns += 1;
        self.run_part(part, &Window { goes_on, events, ..window }, observer)
    }

    /// Reports progress every [`PROGRESS_EVERY`] events and samples; returns whether the observer asks to end the run.
    #[inline]
    fn is_interrupted(&mut self, observer: &mut impl Observer) -> bool {
        let count = self.events() + self.samples;
        if count < self.progress_at {
            return false;
        }
        self.progress_at = count + PROGRESS_EVERY;
        let ends = observer.progress(self.progress()).is_break();
        if !self.switches().any(|switch| switch.driver.lanes().len() > 1) {
            observer.checkpoint(&State(&|| self.to_bytes()));
        }
        ends
    }

    #[cold]
    fn stop_at_limit(&mut self, observer: &mut impl Observer) -> Ending {
        let limit = self.options.limit.min(Tournament::HORIZON);
        while self.next_sample <= limit {
            self.sample(observer);
            if self.is_interrupted(observer) {
                return Ending::Interrupted;
            }
        }
        self.now = limit;
        Ending::Limit
    }

    /// Passes a view of the network to the observer.
    #[cold]
    fn sample(&mut self, observer: &mut impl Observer) {
        let at = self.next_sample;
        let view = NetworkView {
            homes: &self.homes,
            parts: self.parts.iter().map(Part::view).collect(),
            numbers: &self.numbers,
            progress: Progress { now: at, ..self.progress() },
        };
        observer.sample(at, &view);
        self.samples += 1;
        self.next_sample =
            self.options.sampling.map_or(Nanos::NEVER, |interval| Nanos(at.0 + interval.0.max(1)));
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            transmissions: self.sum(|part| part.transmissions),
            flows_started: self.sum(|part| part.flows.started),
            flows_ended: self.sum(|part| part.flows.ended),
            rounds: Rounds { waits: self.sum(|part| part.waits), ..self.rounds },
        }
    }

    fn sum(&self, of: fn(&Part) -> u64) -> u64 {
        self.parts.iter().map(of).sum()
    }

    fn events(&self) -> u64 {
        self.sum(|part| part.events)
    }

    /// The number of active flows.
    fn active(&self) -> u64 {
        self.sum(|part| part.flows.active())
    }

    /// Whether no flow is active and no job goes on.
    fn is_idle(&self) -> bool {
        self.parts.iter().map(|part| part.jobs.left.ranks).sum::<u64>() == 0 && self.active() == 0
    }

    /// The part of each node and its place there, in the order of nodes.
    fn nodes(&self) -> impl Iterator<Item = (&Part, Place)> {
        let parts = self.homes.iter().map(|home| &self.parts[*home]);
        parts.enumerate().map(|(node, part)| (part, part.places[node]))
    }

    fn switches(&self) -> impl Iterator<Item = &Switch> {
        self.nodes().filter_map(|(part, place)| match place {
            Place::Switch(switch) => part.switches.get(switch),
            Place::Station(_) | Place::Elsewhere => None,
        })
    }

    fn stations(&self) -> impl Iterator<Item = &Station> {
        self.nodes().filter_map(|(part, place)| match place {
            Place::Station(station) => part.stations.get(station),
            Place::Switch(_) | Place::Elsewhere => None,
        })
    }

    fn switch(&self, node: NodeId) -> Option<&Switch> {
        let part = &self.parts[self.homes[node.0 as usize]];
        match part.places[node.0 as usize] {
            Place::Switch(switch) => part.switches.get(switch),
            Place::Station(_) | Place::Elsewhere => None,
        }
    }

    fn outcome(&self, ending: Ending) -> Outcome {
        let transmissions = self.sum(|part| part.transmissions);
        let checks = self.parts.iter().map(|part| part.checker.checks).sum();
        Outcome {
            end: self.now,
            ending,
            transmissions,
            events: self.events(),
            flows_started: self.sum(|part| part.flows.started),
            flows_ended: self.sum(|part| part.flows.ended),
            switches: self.switches().map(|switch| inspect(switch, self.now)).collect(),
            hosts: self
                .stations()
                .map(|station| HostOutcome { node: station.node, counters: station.host.counters() })
                .collect(),
            jobs: jobs::outcomes(&self.parts),
            links: self.numbers.iter().map(|ends| ends.map(|end| self.carried(end))).collect(),
            balance: self.balance(),
            checks: Checks { link: transmissions, ..checks },
        }
    }

    /// The totals of a direction, which the part of its sender has.
    fn carried(&self, number: usize) -> LinkOutcome {
        let sender = self.parts[0].directions[number].from.node;
        self.parts[self.homes[sender.0 as usize]].directions[number].totals
    }
}

fn inspect(switch: &Switch, now: Nanos) -> SwitchOutcome {
    let ports = (0..switch.out.len() as u16).map(|port| {
        let mut inspection = PortInspection::default();
        driver::inspect(switch.driver.lanes(), now, PortId(port), &mut inspection);
        inspection
    });
    let pools = switch.driver.lanes().iter().map(Shard::pools).collect();
    SwitchOutcome { node: switch.node, ports: ports.collect(), pools }
}
