//! The jobs of hosts: the flows that their ranks start, and what becomes of them.
//!
//! The ranks of a host belong to its part of the network, and act in its turns. A flow to another part starts without that
//! part: queue pairs and sequence numbers follow from its number, and no frame of it arrives there before the news of its
//! start.

use super::part::{News, Part};
use super::part_jobs::PartJobs;
use crate::flows::Flow;
use crate::ideal::ideal_completion;
use crate::job::{Flight, Jobs, PlannedJob, Progress};
use crate::nodes::Place;
use crate::outcome::{IterationOutcome, JobOutcome, Unfinished};
use core::mem;
use endpoint::{Connection, End, FlowId};
use units::Interval;

impl Part {
    /// Notes an event of a flow at a host, if it is of a job.
    #[inline]
    pub(super) fn note_of_job(
        &mut self,
        station: usize,
        flow: FlowId,
        note: fn(&mut Progress, &Jobs, Flight),
    ) {
        if let Some(flight) = self.jobs.jobs.flight(flow) {
            note(&mut self.stations[station].progress, &self.jobs.jobs, flight);
        }
    }

    /// Lets the ranks of a host go on. Returns whether they have come as far as they can in this turn.
    #[cold]
    pub(super) fn go_on(&mut self, station: usize) -> bool {
        let Self { now, stations, jobs: PartJobs { jobs, spans, left, advance, .. }, .. } = self;
        let is_all = stations[station].progress.advance(*now, jobs, advance);
        for (job, iteration) in advance.begun.drain(..) {
            let span = &mut spans[job][iteration as usize];
            span.begin = span.begin.min(*now);
        }
        for (job, iteration) in advance.ended.drain(..) {
            let span = &mut spans[job][iteration as usize];
            (span.end, span.ended) = (*now, span.ended + 1);
            left.ranks -= u64::from(iteration + 1 == jobs.jobs[job].iterations);
        }
        let mut starts = mem::take(&mut advance.starts);
        starts.drain(..).for_each(|flow| self.start_of_job(station, flow));
        self.jobs.advance.starts = starts;
        is_all
    }

    /// Starts a flow of a job at its sender, and at its receiver if that is here.
    fn start_of_job(&mut self, station: usize, id: FlowId) {
        let (now, seed) = (self.now, self.options.seed);
        let Some(spec) = self.jobs.spec(id, now) else { return };
        let Some(connection) = self.jobs.connection(&spec, End::Sender, seed) else { return };
        let path = self.jobs.paths.path(spec.source, spec.destination);
        let settings = self.stations[station].host.settings();
        let ideal = ideal_completion(path, settings, spec.bytes.unwrap_or_default());
        let there = match self.places[spec.destination.0 as usize] {
            Place::Station(there) => Some(there),
            Place::Switch(_) | Place::Elsewhere => None,
        };
        let mut flow = Flow::new(spec, [Some(station as u32), there.map(|it| it as u32)], ideal);
        flow.source_port = Some(connection.source_port);
        self.jobs.left.flows -= 1;
        match there {
            Some(there) => {
                let receiver = self.jobs.connection(&flow.spec, End::Receiver, seed);
                receiver.iter().for_each(|it| self.accept(there, it));
            }
            None => {
                self.jobs.left.leaving -= 1;
                flow.slot_there = Some(Flow::BY_NUMBER);
                let destination = flow.spec.destination;
                self.news.push(News { turn: (now, self.actor), flow: id, destination, is_start: true });
            }
        }
        self.flows.start(flow);
        // A sign of progress, after a time in which perhaps no flow was active.
        self.motion.delivered_at = now;
        self.stations[station].host.connect(now, &connection);
    }

    /// Opens a flow at its receiver.
    fn accept(&mut self, station: usize, connection: &Connection) {
        let it = &mut self.stations[station];
        if it.settings.manages_connections() {
            // Its first message may be due now.
            it.host.connect(self.now, connection);
            self.calendar.actors.lower(it.timers, self.now);
        } else {
            it.host.accept(connection);
        }
    }

    /// Opens a flow from another part.
    pub(super) fn hear_start(&mut self, news: &News) {
        let Some(spec) = self.jobs.spec(news.flow, news.turn.0) else { return };
        let Place::Station(station) = self.places[news.destination.0 as usize] else { return };
        let connection = self.jobs.connection(&spec, End::Receiver, self.options.seed);
        self.flows.insert(Flow::new(spec, [None, Some(station as u32)], Interval::ZERO));
        connection.iter().for_each(|it| self.stations[station].host.accept(it));
    }
}

/// The outcomes of all jobs, as far as the hosts of `parts` know.
pub(super) fn outcomes(parts: &[Part]) -> Vec<JobOutcome> {
    let jobs = parts[0].jobs.jobs.clone();
    let stations = || parts.iter().flat_map(|part| &part.stations);
    let mut waiting: Vec<(usize, Unfinished)> =
        stations().flat_map(|it| it.progress.unfinished(&jobs)).collect();
    waiting.sort_by_key(|(job, it)| (*job, it.rank));
    let outcome = |(number, job): (usize, &PlannedJob)| {
        let ranks = job.ranks.iter().filter(|rank| !rank.steps.is_empty()).count() as u32;
        let whole = (0..job.iterations as usize).map_while(|iteration| {
            let spans = || parts.iter().map(|part| part.jobs.spans[number][iteration]);
            let begin = spans().map(|span| span.begin).min()?;
            let is_whole = spans().map(|span| span.ended).sum::<u32>() == ranks;
            is_whole
                .then(|| IterationOutcome { begin, end: spans().map(|span| span.end).max().unwrap_or(begin) })
        });
        let first = waiting.iter().find(|(job, _)| *job == number);
        JobOutcome { iterations: whole.collect(), unfinished: first.map(|(_, it)| *it) }
    };
    jobs.jobs.iter().enumerate().map(outcome).collect()
}
