//! Runs of the worst cases, and what was seen.

use std::sync::Arc;

use simulation::{Ending, Options, Outcome, Simulation};
use switch::{PerReason, Program, Volume};
use units::{BitRate, Bytes, Interval, Nanos, PrioritySet};

use super::load;
use super::network::{Case, FAR, Hosts, NEAR, Times, flows, network};
use super::pauses::{LongestPauses, Pauses as Watch};
use crate::plan::built::Built;
use crate::plan::longest::{fixed, group, held};
use crate::plan::pauses::Pauses;
use crate::plan::planned::Unreached;
use crate::plan::request::{PlanError, Request};
use crate::plan::scheme::Scheme;

/// Frames that a run may put on links, so that all of them together end within a minute or so.
const FRAMES: u64 = 5_000_000;
/// How many times as many frames the runs with and without marks may have together: there are two, and they are quick.
const MARKED: u64 = 4;
/// Links that a frame crosses, its acknowledgement included.
const LINKS: u64 = 6;
/// The shortest frame on the wire.
const SHORTEST: u64 = 84;

/// A proof: the plan of a link at a rate that can be simulated.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The gateways that run.
    pub(super) built: Built,
    /// Their switches.
    pub programs: [Arc<Program>; 2],
    pauses: Pauses,
    /// The rate of the receiver: the drain of the plan.
    pub drain: BitRate,
    /// By how much the rate of the plan was divided.
    pub divisor: u64,
    /// Whether the slot of the plan does not suit that rate, and the usual one takes its place.
    pub other_slot: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// At its end.
    Complete,
    /// Time was up before, so it says nothing.
    TooLong,
    /// The pauses of the plan outlast the virtual time of the simulator, 4.9 hours, so it says nothing.
    Outlasts,
    /// A switch broke an invariant, such as holding more than its buffer. The text says which.
    Broken(String),
}

/// The figures of a run, each beside its bound in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The case.
    pub case: Case,
    /// How it ended. Unless it is complete, the other figures say nothing.
    pub end: RunEnd,
    /// The most that a lossless priority from the long link held, and XOFF with headroom.
    pub buffer: (Bytes, Bytes),
    /// The most of its headroom that it used, and all of it.
    pub headroom: (Bytes, Bytes),
    /// Lossless frames that a switch dropped.
    pub drops: u64,
    /// The longest pause of the long link after the stop, by pause frames or by slots that grant nothing, and the most that
    /// is legitimate: that of the plan, and the longest pause of the far side itself.
    pub pause_long: (Interval, Interval),
    /// The longest pause of the data center, likewise, except for priorities without limit.
    pub pause_local: (Interval, Interval),
    /// The longest pause of the data center of a priority without limit; `None` if the plan has none.
    pub unlimited: Option<Interval>,
    /// The longest pause that the far gateway received after the stop.
    pub received: Interval,
    /// Frames put on links.
    pub transmissions: u64,
}

impl Run {
    /// Whether the plan holds in this run.
    pub fn holds(&self) -> bool {
        self.end == RunEnd::Complete
            && self.drops == 0
            && self.buffer.0 <= self.buffer.1
            && self.pause_long.0 <= self.pause_long.1
            && self.pause_local.0 <= self.pause_local.1
    }

    /// Whether the run came to `figure`: a pause must be longer than those of the far side itself.
    pub fn comes_to(&self, figure: Unreached) -> bool {
        match figure {
            Unreached::Headroom => self.headroom.0 > Bytes::ZERO,
            Unreached::PauseLong => self.pause_long.0 > self.received,
            Unreached::PauseLocal => self.pause_local.0 > self.received,
        }
    }
}

impl Proof {
    /// Prepares the proof of a plan. Where its link holds too many frames for a minute, rate, drain and senders are
    /// divided by a number; nearly all terms of the plan are in proportion to the rate.
    ///
    /// # Errors
    /// [`PlanError`] if there is no plan for the lower rate, or if it is for several links or with repair.
    pub fn new(built: &Built) -> Result<Self, PlanError> {
        if built.request.links > 1 {
            return Err(PlanError::ProofOfLinks { links: built.request.links });
        }
        if built.request.repair {
            return Err(PlanError::ProofOfRepair);
        }
        let divisor = frames(built).div_ceil(FRAMES).max(1);
        let (built, other_slot) = match divisor {
            1 => (built.clone(), false),
            _ => slower(&built.request, divisor)?,
        };
        let pauses = Pauses::new(&built);
        let programs = [0, 1].map(|end: usize| Arc::clone(&built.gateways[end].program));
        let drain = built.request.slowest_drain();
        Ok(Self { built, programs, pauses, drain, divisor, other_slot })
    }

    /// The pauses of the plan at the rate at which it runs: of the long link, and of the data center.
    pub fn planned_pauses(&self) -> (Interval, Interval) {
        (self.pauses.long, self.pauses.local)
    }

    /// The scheme on the long link.
    pub fn scheme(&self) -> Scheme {
        self.built.request.scheme
    }

    /// The rate at which it runs.
    pub fn rate(&self) -> BitRate {
        self.built.request.rate
    }

    /// The time for which the drain stops.
    pub fn stop(&self) -> Interval {
        self.times().stop
    }

    fn times(&self) -> Times {
        Times::new(&self.built, &self.pauses)
    }

    /// Runs one case, as long as `go_on` says so. It is asked every few ten thousand events.
    ///
    /// # Errors
    /// [`PlanError`] if no network of such links can be built.
    pub fn run(&self, case: Case, go_on: impl FnMut() -> bool) -> Result<Run, PlanError> {
        let request = &self.built.request;
        let times = self.times();
        let hosts = Hosts::of(case, &self.built, self.drain);
        let network = network(&self.built, self.programs.clone(), &hosts)?;
        let options = Options {
            until: times.end(),
            limit: times.end(),
            taps: vec![NEAR, FAR],
            stall: Interval::from_secs(3_600),
            tolerate_loss: true,
            ..Options::default()
        };
        let mut watch = Watch::new(request.rate, times.drain_goes_on(&self.built), go_on);
        let outcome = Simulation::new(network, options)
            .run(flows(request, times, case, &hosts).into_iter(), &mut watch);
        Ok(match outcome {
            Ok(outcome) => self.seen(case, &outcome, watch.longest(outcome.end)),
            // A switch that holds more than its buffer breaks an invariant before anything is dropped.
            Err(violation) => Run {
                end: RunEnd::Broken(violation.to_string()),
                ..self.seen(case, &nothing(), Default::default())
            },
        })
    }

    fn seen(&self, case: Case, outcome: &Outcome, [long, local, received]: [LongestPauses; 3]) -> Run {
        let (priorities, unlimited) = (self.built.request.priorities, self.pauses.unlimited);
        let (long, received) = (longest_of(&long, PrioritySet::ALL), longest_of(&received, PrioritySet::ALL));
        let far = outcome.switches.iter().find(|it| it.node == FAR).map(|it| &it.ports[1]);
        let groups = || far.into_iter().flat_map(|port| priorities.iter().map(|it| &port.groups[it.index()]));
        let (port, _) = self.built.long();
        let planned = group(port);
        let headroom = groups().map(|it| it.headroom_watermark.persistent()).max().unwrap_or_default();
        let held = groups().map(|it| it.watermark.persistent() + it.headroom_watermark.persistent());
        let dropped = outcome.switches.iter().flat_map(|it| &it.ports).map(|port| {
            let of = |drops: &PerReason<Volume>| drops.iter().map(|it| it.frames).sum::<u64>();
            let each = priorities.iter().map(|it| it.index());
            each.map(|it| of(&port.ingress.dropped[it]) + of(&port.queues[it].dropped)).sum::<u64>()
        });
        Run {
            case,
            end: match outcome.ending {
                Ending::Limit if outcome.end < self.times().end() => RunEnd::Outlasts,
                Ending::Finished | Ending::Limit => RunEnd::Complete,
                _ => RunEnd::TooLong,
            },
            buffer: (held.max().unwrap_or_default(), fixed(planned.xoff) + planned.headroom),
            headroom: (headroom, planned.headroom),
            drops: dropped.sum(),
            pause_long: (long, self.pauses.long + received),
            pause_local: (longest_of(&local, priorities.difference(unlimited)), self.pauses.local + received),
            unlimited: (!unlimited.is_empty()).then(|| longest_of(&local, unlimited)),
            received,
            transmissions: outcome.transmissions,
        }
    }
}

fn longest_of(pauses: &LongestPauses, priorities: PrioritySet) -> Interval {
    priorities.iter().map(|it| pauses[it.index()]).max().unwrap_or_default()
}

/// The frames of a run: what fills the buffers and the link, and what drains, in frames of the shortest kind; or a part of
/// those with and without marks.
fn frames(built: &Built) -> u64 {
    let (port, _) = built.long();
    let pauses = Pauses::new(built);
    let count = built.request.count();
    let times = Times::new(built, &pauses);
    let round_trip = times.round_trip;
    let full = (held(port) + held(built.local().0)).0.saturating_mul(count);
    let drains = built.request.slowest_drain().bytes_in(times.drains);
    let all = full.saturating_add(2 * port.rate.bytes_in(round_trip)).saturating_add(drains);
    (all / SHORTEST).max(load::frames(built) / MARKED).saturating_mul(LINKS)
}

/// The plan at a part of its rate, and whether it has another slot: that of the plan may be shorter than a frame there.
fn slower(request: &Request, divisor: u64) -> Result<(Built, bool), PlanError> {
    let part = |rate: BitRate| BitRate::new(rate.bits_per_second() / divisor).unwrap_or(rate);
    let mut slower =
        Request { rate: part(request.rate), drain: Some(part(request.slowest_drain())), ..request.clone() };
    // DCQCN climbs in as many steps as at the whole rate.
    slower.senders.rate = part(request.senders.rate);
    slower.senders.additive_increase = part(request.senders.additive_increase);
    if let (Some(_), Ok(built)) = (request.slot, Built::new(&slower)) {
        return Ok((built, false));
    }
    slower.slot = None;
    Ok((Built::new(&slower)?, request.slot.is_some()))
}

/// The outcome of a run that broke an invariant: nothing is known.
fn nothing() -> Outcome {
    Outcome {
        end: Nanos::ZERO,
        ending: Ending::Interrupted,
        transmissions: 0,
        events: 0,
        flows_started: 0,
        flows_ended: 0,
        switches: Vec::new(),
        hosts: Vec::new(),
        jobs: Vec::new(),
        links: Vec::new(),
        balance: simulation::Balance::default(),
        checks: simulation::Checks::default(),
    }
}
