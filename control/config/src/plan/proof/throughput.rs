//! The throughput that the marks of a plan cost: flows without end into a slower receiver, with marks and without.

use core::ops::ControlFlow;
use std::sync::Arc;

use simulation::{Ending, NetworkView, Observer, Options, Progress, Simulation};
use switch::Program;
use units::{BitRate, Interval, Nanos, WireBytes};

use super::load::Load;
use super::network::{endless, network};
use super::run::{Proof, RunEnd};
use crate::plan::request::PlanError;

/// The share of the throughput without marks, in percent, that the marks must leave: the mean of flows that are all halved
/// together, as DCQCN does at most, climb back in a straight line, and find no queue to bridge the dip.
const LEAST: u64 = 75;

/// The throughput of the receiver's link, with and without the marks of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// How the runs ended. Unless both are complete, the figures say nothing.
    pub end: RunEnd,
    /// The senders, and the rate of each.
    pub senders: (u64, BitRate),
    /// The rate of the receiver: half of what the senders and the link can carry.
    pub receiver: BitRate,
    /// For how long it was measured, after as long a start.
    pub measured: Interval,
    /// The bytes on the wire that the receiver's link carried with the marks.
    pub marked: WireBytes,
    /// The same without marks.
    pub unmarked: WireBytes,
}

impl Throughput {
    /// Whether the marks leave enough of the throughput.
    pub fn holds(&self) -> bool {
        let (marked, unmarked) = (u128::from(self.marked.0), u128::from(self.unmarked.0));
        self.end == RunEnd::Complete && unmarked > 0 && marked * 100 >= unmarked * u128::from(LEAST)
    }

    /// The least share of the throughput without marks, in percent, with which it holds.
    pub fn least(&self) -> u64 {
        LEAST
    }

    /// The carried bytes as a share of the receiver's link, 0 to 1.
    pub fn share(&self, carried: WireBytes) -> f64 {
        let most = self.receiver.bytes_in(self.measured).max(1);
        carried.0 as f64 / most as f64
    }
}

impl Proof {
    /// Measures what the marks cost, as long as `go_on` says so; `None` for a plan without marks. It is asked every few ten
    /// thousand events.
    ///
    /// # Errors
    /// [`PlanError`] if no network of such links can be built.
    pub fn throughput(&self, mut go_on: impl FnMut() -> bool) -> Result<Option<Throughput>, PlanError> {
        if self.programs.iter().all(|program| !marks(program)) {
            return Ok(None);
        }
        let load = Load::of(&self.built);
        let unmarked = self.programs.each_ref().map(|program| without_marks(program));
        let (end, marked) = self.carried(&load, self.programs.clone(), &mut go_on)?;
        let (end, unmarked) = match end {
            RunEnd::Complete => self.carried(&load, unmarked, &mut go_on)?,
            _ => (end, WireBytes(0)),
        };
        let Load { senders, receiver, span: measured } = load;
        Ok(Some(Throughput { end, senders, receiver, measured, marked, unmarked }))
    }

    /// The bytes that the receiver's link carried in the second half of a run.
    fn carried(
        &self,
        load: &Load,
        programs: [Arc<Program>; 2],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(RunEnd, WireBytes), PlanError> {
        let hosts = load.hosts(&self.built);
        let end = Nanos::ZERO + load.span * 2;
        let options = Options {
            until: end,
            limit: end,
            sampling: Some(load.span),
            stall: Interval::from_secs(3_600),
            tolerate_loss: true,
            ..Options::default()
        };
        let priorities = || self.built.request.priorities.iter();
        let flows = hosts.senders().zip((0..priorities().count()).cycle()).map(|(sender, turn)| {
            let priority = priorities().nth(turn).unwrap_or_default();
            endless([sender, hosts.receiver()], (Nanos::ZERO, end), priority)
        });
        let mut flows: Vec<_> = flows.collect();
        (0..).zip(&mut flows).for_each(|(number, flow)| flow.id.0 = number);
        let mut half =
            Half { link: hosts.last_link(), at: Nanos::ZERO + load.span, carried: WireBytes(0), go_on };
        let network = network(&self.built, programs, &hosts)?;
        let outcome = Simulation::new(network, options).run(flows.into_iter(), &mut half);
        Ok(match outcome {
            Err(violation) => (RunEnd::Broken(violation.to_string()), WireBytes(0)),
            Ok(outcome) => {
                let whole = outcome.links.get(half.link).map_or(WireBytes(0), |ends| ends[1].wire);
                let end = match outcome.ending {
                    Ending::Limit if outcome.end < end => RunEnd::Outlasts,
                    Ending::Finished | Ending::Limit => RunEnd::Complete,
                    _ => RunEnd::TooLong,
                };
                (end, WireBytes(whole.0.saturating_sub(half.carried.0)))
            }
        })
    }
}

/// The bytes on the receiver's link when the measured half of a run begins, and whether the run may go on.
struct Half<'a> {
    link: usize,
    at: Nanos,
    carried: WireBytes,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Observer for Half<'_> {
    fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        if now == self.at {
            self.carried = view.carried(self.link, 1);
        }
    }

    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        if (self.go_on)() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn marks(program: &Program) -> bool {
    program.settings().ports.iter().flat_map(|port| &port.queues).any(|queue| queue.red.is_some())
}

/// The same switch, whose queues do not mark.
fn without_marks(program: &Program) -> Arc<Program> {
    let mut settings = program.settings().clone();
    settings.ports.iter_mut().flat_map(|port| &mut port.queues).for_each(|queue| queue.red = None);
    Arc::new(Program::new(settings).expect("a switch needs no marks"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::built::Built;
    use crate::plan::marks::usual;
    use crate::plan::request::Request;
    use units::Distance;

    fn proof(km: u64, sender: BitRate) -> Proof {
        let mut request = Request::new(Distance(km * 1_000), BitRate::gigabits(100));
        request.senders.rate = sender;
        Proof::new(&Built::new(&request).unwrap()).unwrap()
    }

    fn measured(proof: &Proof) -> Throughput {
        let seen = proof.throughput(|| true).unwrap().unwrap();
        println!("{seen:?}: {:.3} and {:.3}", seen.share(seen.marked), seen.share(seen.unmarked));
        seen
    }

    /// The proof with HPCC's marks at its rate, 20 % between 400 kB and 1.6 MB at 100G, as plans once had them.
    fn with_hpccs_marks(mut proof: Proof) -> Proof {
        let (kmin, kmax) = usual(proof.rate());
        for program in &mut proof.programs {
            let mut settings = program.settings().clone();
            for queue in settings.ports.iter_mut().flat_map(|port| &mut port.queues) {
                queue.red = queue.red.map(|red| switch::program::Red { kmin, kmax, pmax: 0.2, ..red });
            }
            *program = Arc::new(Program::new(settings).unwrap());
        }
        proof
    }

    #[test]
    fn the_marks_of_a_plan_leave_the_throughput_and_those_of_a_data_center_do_not_over_80_km() {
        let proof = proof(80, BitRate::gigabits(25));
        let (planned, usual) = (measured(&proof), measured(&with_hpccs_marks(proof)));
        assert!(planned.holds() && planned.share(planned.marked) > 0.99, "{planned:?}");
        assert_eq!(planned.unmarked, usual.unmarked, "the control is the same");
        assert!(usual.end == RunEnd::Complete && !usual.holds(), "{usual:?}");
    }

    #[test]
    fn a_run_that_was_stopped_does_not_hold_and_a_plan_without_marks_has_no_run() {
        let proof = proof(80, BitRate::gigabits(25));
        let stopped = proof.throughput(|| false).unwrap().unwrap();
        assert!(stopped.end == RunEnd::TooLong && !stopped.holds(), "{stopped:?}");
        let request = Request { scheme: "relay".parse().unwrap(), lanes: 0, ..proof.built.request };
        let relay = Proof::new(&Built::new(&request).unwrap()).unwrap();
        assert_eq!(relay.throughput(|| true).unwrap(), None);
    }

    #[test]
    fn the_receiver_takes_half_of_what_the_senders_can_bring() {
        let load = |sender| {
            let Load { senders, receiver, .. } = Load::of(&proof(1, BitRate::megabits(sender)).built);
            (senders.0, receiver.bits_per_second() / 1_000_000)
        };
        assert_eq!(
            [100_000, 30_000, 25_000, 500].map(load),
            [(1, 50_000), (4, 50_000), (4, 50_000), (64, 16_000)]
        );
    }
}
