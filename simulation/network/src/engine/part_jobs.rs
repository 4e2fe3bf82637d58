//! The jobs of the network, as far as the hosts of a part take part in them.

use crate::ideal::Paths;
use crate::job::{Advance, Jobs};
use crate::network::{FlowSpec, NetworkSpec};
use crate::nodes::Station;
use crate::workload::random::Random;
use endpoint::{Connection, End, FlowId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::Nanos;
use wire::roce::{Psn, source_port_of_queue_pairs};

/// The first of the streams of random numbers that give flows of jobs their first sequence numbers.
const STREAMS: u64 = 1 << 62;

/// The jobs of the network, as far as the hosts of a part take part in them.
pub(super) struct PartJobs {
    pub jobs: Arc<Jobs>,
    pub paths: Paths,
    pub left: Left,
    /// The iterations of each job.
    pub spans: Vec<Vec<Span>>,
    /// Empty between two turns.
    pub advance: Advance,
}

/// The work that is left to the hosts of a part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Left {
    /// Ranks that are not done.
    pub ranks: u64,
    /// Flows that have not started.
    pub flows: u64,
    /// Of these, flows to other parts.
    pub leaving: u64,
}

/// An iteration of a job, as far as the ranks of a part have come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Span {
    pub begin: Nanos,
    pub end: Nanos,
    /// Ranks that have ended it.
    pub ended: u32,
}

impl PartJobs {
    /// The jobs of `network` before they begin, in part `part` of `homes`.
    pub fn new(network: &NetworkSpec, stations: &[Station], homes: &[usize], part: usize) -> Self {
        let jobs = network.jobs.clone();
        let ranks = stations.iter().map(|it| it.progress.ranks() as u64).sum();
        let mut left = Left { ranks, ..Left::default() };
        for job in &jobs.jobs {
            for message in job.messages.iter().filter(|it| !job.is_within_host(it)) {
                let [from, to] = job.hosts(message).map(|host| homes[host.0 as usize]);
                let flows = u64::from(job.iterations);
                left.flows += if from == part { flows } else { 0 };
                left.leaving += if from == part && to != part { flows } else { 0 };
            }
        }
        let span = Span { begin: Nanos::NEVER, end: Nanos::ZERO, ended: 0 };
        let spans = jobs.jobs.iter().map(|job| vec![span; job.iterations as usize]).collect();
        let paths = if jobs.is_empty() { Paths::default() } else { Paths::new(network) };
        Self { jobs, paths, left, spans, advance: Advance::default() }
    }

    /// The flow with number `id`, which starts at `start`.
    pub fn spec(&self, id: FlowId, start: Nanos) -> Option<FlowSpec> {
        let flight = self.jobs.flight(id)?;
        let job = &self.jobs.jobs[flight.job];
        let message = &job.messages[flight.message as usize];
        let [source, destination] = job.hosts(message);
        Some(FlowSpec {
            id,
            start,
            source,
            destination,
            bytes: Some(message.bytes),
            stop: None,
            again_until: None,
            priority: job.priority,
            group: job.group,
        })
    }

    /// That flow from the view of one end.
    pub fn connection(&self, spec: &FlowSpec, end: End, seed: u64) -> Option<Connection> {
        let flight = self.jobs.flight(spec.id)?;
        let message = &self.jobs.jobs[flight.job].messages[flight.message as usize];
        let [sender, receiver] = message.queue_pairs(flight.iteration);
        let first_psn = Random::new(seed, STREAMS + u64::from(spec.id.0)).below(1 << 24) as u32;
        let ((local, remote), peer) = match end {
            End::Sender => ((sender, receiver), spec.destination),
            End::Receiver => ((receiver, sender), spec.source),
        };
        Some(Connection {
            flow: spec.id,
            end,
            local,
            remote,
            source_port: source_port_of_queue_pairs(sender, receiver),
            peer: self.paths.host(peer)?.station.address,
            priority: spec.priority,
            first_psn: Psn::from_low_bits(first_psn),
            length: spec.bytes,
        })
    }
}
