//! Jobs that are checked, in the form in which they run.

use super::order::Numbers;
use super::{Act, Job, JobError, Moment};
use crate::node_id::NodeId;
use endpoint::{FlowId, Host};
use std::collections::{BTreeMap, BTreeSet};
use units::{Interval, Nanos, Priority};
use wire::roce::QueuePair;

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Sends a message, by its number in the job.
    Send(u32),
    /// Receives a message.
    Receive(u32),
    Calculate(Interval),
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub task: Task,
    pub cpu: u8,
    /// The number of moments for which it waits.
    pub waits: u32,
}

/// The operations of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub host: NodeId,
    pub steps: Vec<Step>,
    /// Where the dependents of each step begin in `dependents`, and a last entry.
    first: Vec<u32>,
    /// The steps that wait for a step: four times the number, and the moment.
    dependents: Vec<u32>,
}

impl Steps {
    /// The steps that wait for `moment` of `step`.
    pub fn dependents(&self, step: u32, moment: Moment) -> impl Iterator<Item = u32> + '_ {
        let range = self.first[step as usize] as usize..self.first[step as usize + 1] as usize;
        self.dependents[range].iter().filter(move |it| **it & 3 == moment as u32).map(|it| it >> 2)
    }
}

/// A message of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub bytes: u64,
    /// The ranks that send and receive it.
    pub ranks: [u32; 2],
    /// Their operations.
    pub steps: [u32; 2],
    /// The queue pairs that their hosts keep for it.
    slots: [u32; 2],
}

impl Message {
    /// The queue pairs of sender and receiver in an iteration.
    pub fn queue_pairs(&self, iteration: u32) -> [QueuePair; 2] {
        self.slots.map(|slot| Host::kept(slot, iteration))
    }
}

/// A job that is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedJob {
    pub(crate) group: u16,
    pub(crate) priority: Priority,
    pub(crate) start: Nanos,
    pub(crate) iterations: u32,
    pub(crate) ranks: Vec<Steps>,
    pub(crate) messages: Vec<Message>,
    /// The flow of its first message.
    first_flow: u32,
}

impl PlannedJob {
    /// Checks `job`.
    ///
    /// # Errors
    /// [`JobError`] names the first operation at fault.
    ///
    /// # Panics
    /// If a dependency names an operation that its rank does not have, or if there are more operations than
    /// [`super::OPERATIONS_MAX`]. The caller has checked both.
    pub fn new(job: &Job) -> Result<Self, JobError> {
        let numbers = Numbers::new(job);
        let pairs = numbers.matched()?;
        numbers.check_order(&pairs)?;
        let mut ranks: Vec<Steps> = job.ranks.iter().map(steps).collect();
        let mut messages = Vec::with_capacity(pairs.len());
        for (message, pair) in (0..).zip(pairs) {
            let [(from, send), (to, receive)] = [pair.0, pair.1].map(|number| numbers.place(number));
            let bytes = match job.ranks[from as usize].operations[send as usize].act {
                Act::Send { bytes, .. } => bytes,
                Act::Receive { .. } | Act::Calculate(_) => 0,
            };
            ranks[from as usize].steps[send as usize].task = Task::Send(message);
            ranks[to as usize].steps[receive as usize].task = Task::Receive(message);
            messages.push(Message { bytes, ranks: [from, to], steps: [send, receive], slots: [0; 2] });
        }
        let Job { group, priority, start, iterations, .. } = *job;
        Ok(Self { group, priority, start, iterations, ranks, messages, first_flow: 0 })
    }

    /// The priority of its flows.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The hosts of the sender and of the receiver of a message.
    pub(crate) fn hosts(&self, message: &Message) -> [NodeId; 2] {
        message.ranks.map(|rank| self.ranks[rank as usize].host)
    }

    /// Whether a message takes no time, because its ranks are at one host.
    pub(crate) fn is_within_host(&self, message: &Message) -> bool {
        let [from, to] = self.hosts(message);
        from == to
    }

    /// The number of its flows.
    fn flows(&self) -> u64 {
        self.messages.len() as u64 * u64::from(self.iterations)
    }
}

fn steps(rank: &super::Rank) -> Steps {
    let mut first = vec![0; rank.operations.len() + 1];
    let mut waits = vec![0; rank.operations.len()];
    for after in &rank.after {
        first[after.other as usize + 1] += 1;
        waits[after.operation as usize] += 1;
    }
    for index in 1..first.len() {
        first[index] += first[index - 1];
    }
    let (mut next, mut dependents) = (first.clone(), vec![0; rank.after.len()]);
    for after in &rank.after {
        let place = &mut next[after.other as usize];
        dependents[*place as usize] = after.operation << 2 | after.moment as u32;
        *place += 1;
    }
    let step = |(operation, waits): (&super::Operation, u32)| Step {
        task: match operation.act {
            Act::Calculate(time) => Task::Calculate(time),
            // Their numbers follow.
            Act::Send { .. } => Task::Send(0),
            Act::Receive { .. } => Task::Receive(0),
        },
        cpu: operation.cpu,
        waits,
    };
    let steps = rank.operations.iter().zip(waits).map(step).collect();
    Steps { host: rank.host, steps, first, dependents }
}

/// A message of some job in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    pub job: usize,
    pub iteration: u32,
    /// The number of the message in its job.
    pub message: u32,
}

/// All jobs of a run.
///
/// Their flows are numbered first: job by job, iteration by iteration, and in the order of the sends in the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    pub(crate) jobs: Vec<PlannedJob>,
    /// The queue pairs that each host keeps for them.
    kept: BTreeMap<NodeId, u32>,
    flows: u32,
}

impl Jobs {
    /// All of these jobs. `None` if they have more than 2^31 flows.
    pub fn new(mut jobs: Vec<PlannedJob>) -> Option<Self> {
        let (mut flows, mut kept) = (0_u64, BTreeMap::new());
        for job in &mut jobs {
            job.first_flow = u32::try_from(flows).ok()?;
            flows += job.flows();
            let hosts: Vec<NodeId> = job.ranks.iter().map(|rank| rank.host).collect();
            for message in &mut job.messages {
                let [from, to] = message.ranks.map(|rank| hosts[rank as usize]);
                if from != to {
                    message.slots = [from, to].map(|host| {
                        let count = kept.entry(host).or_insert(0);
                        *count += 1;
                        *count - 1
                    });
                }
            }
        }
        (flows <= 1 << 31).then_some(Self { jobs, kept, flows: flows as u32 })
    }

    /// The number of their flows: the first number of another flow.
    pub fn flows(&self) -> u32 {
        self.flows
    }

    /// How often the ranks of job number `job` repeat it.
    pub fn iterations(&self, job: usize) -> u32 {
        self.jobs.get(job).map_or(0, |job| job.iterations)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The number of queue pairs that a host keeps for them.
    pub(crate) fn kept(&self, host: NodeId) -> u32 {
        self.kept.get(&host).copied().unwrap_or(0)
    }

    /// A host with more messages in one iteration of all jobs than they can have queue pairs, which `most` says.
    pub fn crowded(&self, most: impl Fn(NodeId) -> u32) -> Option<(NodeId, u32)> {
        self.kept.iter().find(|(host, count)| **count > most(**host)).map(|(host, count)| (*host, *count))
    }

    /// Calls `visit` with each pair of hosts that send to each other.
    pub fn reach(&self, mut visit: impl FnMut(&[NodeId], &[NodeId])) {
        let all = self.jobs.iter().flat_map(|job| job.messages.iter().map(|it| job.hosts(it)));
        let pairs: BTreeSet<[NodeId; 2]> = all.filter(|[from, to]| from != to).collect();
        pairs.into_iter().for_each(|[from, to]| visit(&[from], &[to]));
    }

    /// The message that is flow `id`; `None` if that flow is of no job.
    #[inline]
    pub(crate) fn flight(&self, id: FlowId) -> Option<Flight> {
        if id.0 >= self.flows { None } else { self.find(id) }
    }

    fn find(&self, id: FlowId) -> Option<Flight> {
        let job = self.jobs.partition_point(|job| job.first_flow <= id.0).checked_sub(1)?;
        let (number, each) = (id.0 - self.jobs[job].first_flow, self.jobs[job].messages.len() as u32);
        Some(Flight { job, iteration: number.checked_div(each)?, message: number.checked_rem(each)? })
    }

    /// The flow of a message in an iteration of a job.
    pub(crate) fn flow(&self, Flight { job, iteration, message }: Flight) -> FlowId {
        let job = &self.jobs[job];
        FlowId(job.first_flow + iteration * job.messages.len() as u32 + message)
    }
}
