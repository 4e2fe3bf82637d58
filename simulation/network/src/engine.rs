//! The engine: picks the actor that is due next, and lets it act.

mod build;
mod calendar;
mod checks;
mod hosts;
mod odd;
mod standstill;
mod switches;
#[cfg(test)]
mod tests;

use crate::check::Checker;
use crate::flows::{Flow, Flows};
use crate::frame::{FramePool, SimFrame};
use crate::ideal::Paths;
use crate::link::Direction;
use crate::network::FlowSpec;
use crate::nodes::{Place, Station, Switch};
use crate::observer::{Observer, Progress, View};
use crate::options::Options;
use crate::outcome::{Checks, Ending, HostOutcome, Outcome, SwitchOutcome};
use crate::stall::Watch;
use crate::tournament::{Actor, Tournament};
use crate::violation::{Broken, Violation};
use calendar::Calendar;
use endpoint::FlowId;
use odd::Odd;
use rand_pcg::Pcg32;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switch::PortInspection;
use units::{Interval, Nanos, PortId};

/// The most frames that a switch receives in one burst, all of one port and instant.
const BURST: usize = 32;
/// Events and samples between two reports of progress: a fraction of a second of real time.
const PROGRESS_EVERY: u32 = 1 << 16;

/// The numbers of the actors. At one instant the nodes act first, in the order of their numbers: frames
/// arrive, and switches send. Then follow the schedule that starts and stops flows, the hosts that are due,
/// and last the watch for a standstill.
#[derive(Clone, Copy, Debug)]
struct Actors {
    schedule: usize,
    stations: usize,
    watch: usize,
}

/// A running network.
pub(crate) struct Engine {
    now: Nanos,
    options: Options,
    calendar: Calendar,
    /// The delay of the shortest link: no frame reaches another node sooner.
    lookahead: Interval,
    actors: Actors,
    places: Vec<Place>,
    directions: Vec<Direction>,
    /// The number of each direction, by link and sending end.
    numbers: Vec<[usize; 2]>,
    pub(crate) switches: Vec<Switch>,
    stations: Vec<Station>,
    pool: FramePool,
    flows: Flows,
    checker: Checker,
    watch: Watch,
    paths: Paths,
    /// Draws the first sequence numbers of flows.
    rng: Pcg32,
    /// The flow that starts next.
    pending: Option<FlowSpec>,
    /// The flows to stop, and when.
    stops: BinaryHeap<Reverse<(Nanos, FlowId)>>,
    /// Flows of closed loops, with the instants at which they ended and start again.
    again: Vec<Flow>,
    burst: Vec<SimFrame>,
    odd: Odd,
    transmissions: u64,
    events: u64,
    until_progress: u32,
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
        self.pull(&mut flows);
        let ending = match self.turn(&mut flows, observer) {
            Stop::Ended(ending) => ending,
            Stop::Broken(what) => return Err(self.violation(what)),
        };
        if let Err(what) = self.check_everything() {
            return Err(self.violation(what));
        }
        Ok(self.outcome(ending))
    }

    fn violation(&self, what: Broken) -> Violation {
        Violation { at: self.now, seed: self.options.seed, what }
    }

    /// Processes all events in order, until the run ends.
    fn turn(&mut self, flows: &mut impl Iterator<Item = FlowSpec>, observer: &mut impl Observer) -> Stop {
        let mut next_sample = self.options.sampling.map_or(Nanos::NEVER, |_| Nanos::ZERO);
        loop {
            if self.pending.is_none() && self.flows.active() == 0 && self.again.is_empty() {
                return Stop::Ended(Ending::Finished);
            }
            let (at, actor) = self.calendar.actors.next();
            if at > self.options.limit || at == Nanos::NEVER {
                return self.stop_at_limit(next_sample, observer);
            }
            while next_sample <= at {
                next_sample = self.sample(next_sample, observer);
                if self.is_interrupted(observer) {
                    return Stop::Ended(Ending::Interrupted);
                }
            }
            self.now = at;
            if let Err(stop) = self.act(actor, next_sample, flows, observer) {
                return stop;
            }
            if self.is_interrupted(observer) {
                return Stop::Ended(Ending::Interrupted);
            }
        }
    }

    /// Reports progress every [`PROGRESS_EVERY`] events and samples; returns whether the observer asks to end the run.
    #[inline]
    fn is_interrupted(&mut self, observer: &mut impl Observer) -> bool {
        if self.until_progress > 0 {
            return false;
        }
        self.until_progress = PROGRESS_EVERY;
        observer.progress(self.progress()).is_break()
    }

    #[inline(always)]
    fn act(
        &mut self,
        actor: Actor,
        next_sample: Nanos,
        flows: &mut impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
    ) -> Result<(), Stop> {
        match self.places.get(actor) {
            Some(Place::Switch(switch)) => {
                let until = self.horizon(next_sample);
                return Ok(self.visit(*switch, actor, until, observer)?);
            }
            Some(Place::Station(station)) => self.arrive_at_station(*station, observer)?,
            None if actor < self.actors.stations => self.follow_schedule(flows, observer)?,
            None if actor < self.actors.watch => self.attend(actor - self.actors.stations, observer)?,
            None => {
                if let Some(ending) = self.look_for_a_standstill() {
                    return Err(Stop::Ended(ending));
                }
            }
        }
        Ok(self.check_event()?)
    }

    /// The instant before which a switch may act without the others; always later than now. All frames that
    /// arrive before it are under way already, nothing inspects the switch, and the run does not end.
    #[inline]
    fn horizon(&self, next_sample: Nanos) -> Nanos {
        // The run cannot end within the lookahead: a packet that is not sent yet has to cross a link first.
        let goes_on = self.pending.is_some() || self.flows.has_unsent();
        let ahead = if goes_on { self.now + self.lookahead } else { self.now };
        let looks = next_sample.min(Nanos(self.watch.next().min(self.options.limit).0.saturating_add(1)));
        ahead.min(looks).max(Nanos(self.now.0 + 1))
    }

    #[cold]
    fn stop_at_limit(&mut self, mut next_sample: Nanos, observer: &mut impl Observer) -> Stop {
        let limit = self.options.limit.min(Tournament::HORIZON);
        while next_sample <= limit {
            next_sample = self.sample(next_sample, observer);
            if self.is_interrupted(observer) {
                return Stop::Ended(Ending::Interrupted);
            }
        }
        self.now = limit;
        Stop::Ended(Ending::Limit)
    }

    /// Passes a view of the network to the observer; returns the instant of the next sample.
    #[cold]
    fn sample(&mut self, at: Nanos, observer: &mut impl Observer) -> Nanos {
        let view = View {
            places: &self.places,
            switches: &self.switches,
            stations: &self.stations,
            directions: &self.directions,
            numbers: &self.numbers,
            pool: &self.pool,
            progress: self.progress(),
        };
        observer.sample(at, &view);
        self.until_progress = self.until_progress.saturating_sub(1);
        self.options.sampling.map_or(Nanos::NEVER, |interval| Nanos(at.0 + interval.0.max(1)))
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            transmissions: self.transmissions,
            flows_started: self.flows.started,
            flows_ended: self.flows.ended,
        }
    }

    fn outcome(&self, ending: Ending) -> Outcome {
        Outcome {
            end: self.now,
            ending,
            transmissions: self.transmissions,
            events: self.events,
            flows_started: self.flows.started,
            flows_ended: self.flows.ended,
            switches: self.switches.iter().map(|switch| inspect(switch, self.now)).collect(),
            hosts: self
                .stations
                .iter()
                .map(|station| HostOutcome { node: station.node, counters: station.host.counters() })
                .collect(),
            links: self.numbers.iter().map(|ends| ends.map(|end| self.directions[end].totals)).collect(),
            balance: self.checker.balance,
            checks: Checks { link: self.transmissions, ..self.checker.checks },
        }
    }
}

fn inspect(switch: &Switch, now: Nanos) -> SwitchOutcome {
    let ports = (0..switch.out.len() as u16).map(|port| {
        let mut inspection = PortInspection::default();
        switch.shard.inspect(now, PortId(port), &mut inspection);
        inspection
    });
    SwitchOutcome { node: switch.node, ports: ports.collect(), pools: switch.shard.pools() }
}
