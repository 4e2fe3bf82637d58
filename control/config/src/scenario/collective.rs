//! `[[collective]]`: reads what hosts do together, collectives and traces.

use simulation::NodeId;
use simulation::job::{Collective, Job, Kind, OPERATIONS_MAX, PlannedJob, read_goal};
use units::{Bytes, Interval, Nanos, Priority};

use super::model::Collected;
use super::names::Names;
use super::run::MOST;
use super::traffic::{PRIORITY, Reader, Traffic, file_problem};
use super::words::CollectiveWord as Word;
use crate::machine::Probability;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Table, table};
use crate::value::{LARGEST, Name};

table! {
    /// A collective or a trace.
    CollectiveDecl, check {
        /// Its name in results, and the group under which they count its flows
        group: At<Name>, required("group = \"gradients\"");
        /// [What the ranks do](#collective)
        kind: At<Word>, required("kind = \"ring-all-reduce\"");
        /// Names of hosts in the order of ranks, with `[0-3]` and `*`. In a trace, a host may have several ranks
        hosts: List<Names>, auto("all");
        /// Data of each rank
        bytes: At<Bytes>, within(Bytes(1)..=LARGEST), unless(kind, Word::Goal), auto("required");
        /// Number of parts of the data, each with messages of its own: the buckets of gradients, or the microbatches of a pipeline
        chunks: At<u32>, within(1..=65_536), unless(kind, Word::Goal), default(1_u32);
        /// How often each rank repeats it
        iterations: At<u32>, within(1..=1_000_000), default(1_u32);
        /// When it begins
        start: At<Interval>, within(Interval::ZERO..=MOST), default(Interval::ZERO);
        /// Priority of its flows
        priority: At<Priority>, default(PRIORITY);
        /// Time for which each rank calculates in an iteration
        compute: At<Interval>, within(Interval::ZERO..=MOST), unless(kind, Word::Goal), default(Interval::ZERO);
        /// Share of `compute`, the last one, that may go on beside communication. The first chunk begins before it, and each further one when its part of it is over
        overlap: At<Probability>, needs(compute), unless(kind, Word::Pipeline), default(Probability(0.0));
        /// A trace in the form of [GOAL](#traces)
        file: At<String>, of(kind, Word::Goal), auto("required");
    }
}

impl CollectiveDecl {
    fn check(&self, section: &Section<'_, '_>) {
        match self.kind.as_ref().map(|at| at.value) {
            Some(Word::Goal) => section.expect("file", "file = \"trace.goal\""),
            Some(_) => section.expect("bytes", "bytes = \"64MB\""),
            None => {}
        }
    }
}

impl Reader<'_> {
    /// Reads one `[[collective]]`.
    pub fn read_collective(&self, section: &mut Section<'_, '_>, traffic: &mut Traffic) {
        let decl = CollectiveDecl::read(section);
        let hosts = self.hosts(section, "hosts", &decl.hosts);
        let (Some(group), Some(kind), Some(hosts)) = (&decl.group, &decl.kind, hosts) else { return };
        let name = group.value.0.clone();
        if traffic.collectives.iter().any(|(known, _)| known.name == name) {
            let what = format!("a collective called \"{name}\"");
            section
                .problems
                .error(&group.place, ProblemKind::out_of_range(what, "another name than the others"));
            return;
        }
        let job = Job {
            group: traffic.group(name.clone()),
            priority: decl.priority(),
            start: Nanos(decl.start().0),
            iterations: decl.iterations(),
            ranks: Vec::new(),
        };
        let planned = match kind.value {
            Word::Goal => self.trace(section, &decl, &hosts, job),
            word => self.collective(section, &decl, word, &hosts, job),
        };
        // In a pipeline, a rank waits while others calculate.
        let compute = (![Word::Goal, Word::Pipeline].contains(&kind.value)).then(|| decl.compute());
        traffic.collectives.extend(planned.map(|planned| (Collected { name, compute }, planned)));
    }

    fn trace(
        &self,
        section: &Section<'_, '_>,
        decl: &CollectiveDecl,
        hosts: &[NodeId],
        job: Job,
    ) -> Option<PlannedJob> {
        let file = decl.file.as_ref()?;
        let input =
            self.beside.open(&file.value).map_err(|reason| file_problem(section, file, reason)).ok()?;
        read_goal(input, hosts, job).map_err(|error| file_problem(section, file, error)).ok()
    }

    fn collective(
        &self,
        section: &Section<'_, '_>,
        decl: &CollectiveDecl,
        word: Word,
        hosts: &[NodeId],
        job: Job,
    ) -> Option<PlannedJob> {
        let place = decl.hosts.as_ref().map_or(&section.place, |hosts| &hosts.place);
        let refuse = |got: String, valid: &'static str| {
            section.problems.error(place, ProblemKind::out_of_range(got, valid));
        };
        let mut once = hosts.to_vec();
        once.sort_unstable();
        once.dedup();
        if once.len() < 2 || once.len() < hosts.len() {
            refuse(
                format!("{} hosts, {} of them different", hosts.len(), once.len()),
                "two hosts or more, each once",
            );
            return None;
        }
        let kind = match word {
            Word::RingAllReduce => Kind::RingAllReduce,
            Word::TreeAllReduce => Kind::TreeAllReduce,
            Word::ReduceScatter => Kind::ReduceScatter,
            Word::AllGather => Kind::AllGather,
            Word::AllToAll => Kind::AllToAll,
            Word::Pipeline => Kind::Pipeline,
            Word::HierarchicalAllReduce | Word::Goal => {
                let Some(groups) = self.groups(hosts) else {
                    refuse(
                        "hosts of other sites, or not equally many".into(),
                        "equally many hosts at each of two sites",
                    );
                    return None;
                };
                Kind::Hierarchical(groups)
            }
        };
        let collective = Collective {
            kind,
            bytes: decl.bytes.as_ref()?.value.0,
            chunks: decl.chunks(),
            compute: decl.compute(),
            overlap: decl.overlap().0,
        };
        let most = collective.operations_at_most(hosts.len());
        if most > OPERATIONS_MAX as u64 {
            refuse(format!("up to {most} operations"), "16777216, by fewer hosts or chunks");
            return None;
        }
        let job = Job { ranks: collective.ranks(hosts), ..job };
        let refused = |error| section.problems.error(&section.place, ProblemKind::Collective(error));
        PlannedJob::new(&job).map_err(refused).ok()
    }

    /// The ranks at each of two sites, if they are equally many.
    fn groups(&self, hosts: &[NodeId]) -> Option<[Vec<u32>; 2]> {
        let sites: Vec<usize> = hosts.iter().map(|host| self.topology.node(*host).site).collect();
        let ranks = |site: usize| -> Vec<u32> {
            (0..).zip(&sites).filter(|(_, it)| **it == site).map(|(rank, _)| rank).collect()
        };
        let first = *sites.first()?;
        let other = sites.iter().copied().find(|site| *site != first)?;
        let groups = [ranks(first), ranks(other)];
        let whole = groups[0].len() == groups[1].len() && 2 * groups[0].len() == hosts.len();
        whole.then_some(groups)
    }
}
