//! `[[traffic]]`: reads which hosts send which flows to which others.

use std::sync::Arc;

use simulation::NodeId;
use simulation::job::PlannedJob;
use simulation::topology::Topology;
use simulation::workload::{
    Again, Arrivals, Cdf, Listed, LoadOf, Pairing, Part, Pattern, Place as HostPlace, Poisson, PoissonError,
    Sizes, Workload, read_csv,
};
use toml::de::DeValue;
use units::{Bytes, Interval, Nanos, Priority};

use super::beside::Beside;
use super::model::Collected;
use super::names::Names;
use super::run::{MOST, SOME};
use super::words::{LoadWord, PatternWord as Word};
use crate::machine::Probability;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Table, table};
use crate::value::{LARGEST, Name, value_types, wrong_type};

/// The priority of RDMA in most networks.
pub(super) const PRIORITY: Priority = Priority::from_low_bits(3);

/// The distributions that are built in.
const KNOWN: [(&str, &str); 4] = [
    ("websearch", include_str!("../../../../config/workloads/websearch.cdf")),
    ("fb-hadoop", include_str!("../../../../config/workloads/fb-hadoop.cdf")),
    ("ali-storage-2019", include_str!("../../../../config/workloads/ali-storage-2019.cdf")),
    ("ali-interdc-2021", include_str!("../../../../config/workloads/ali-interdc-2021.cdf")),
];

table! {
    /// One kind of traffic.
    TrafficDecl, check {
        /// Group under which results count its flows
        group: At<Name>, required("group = \"background\"");
        /// `"poisson"`: at random, at a load. `"pairs"`: each of `sources` to one of `destinations`, in order; the shorter list repeats, so one destination gives N to 1. `"permutation"`: each of `hosts` sends to one and receives from one. `"list"`: from a file
        pattern: At<Word>, required("pattern = \"poisson\"");
        /// Priority of its flows. With `pattern = "list"` each flow has its own
        priority: At<Priority>, unless(pattern, Word::List), default(PRIORITY);
        /// Names of hosts that send, with `[0-3]` and `*`
        sources: List<Names>, of(pattern, Word::Poisson, Word::Pairs, Word::AllToAll), auto("all; required for pairs");
        /// Names of hosts that receive
        destinations: List<Names>, of(pattern, Word::Poisson, Word::Pairs, Word::AllToAll), auto("all; required for pairs");
        /// Names of hosts that send and receive
        hosts: List<Names>, of(pattern, Word::Permutation), auto("all");
        /// Size of a message: `"64kB"`, or a random size in a range, `["64kB", "4MB"]`
        size: At<SizeOrRange>, unless(pattern, Word::List), auto("without end");
        /// `"websearch"`, `"fb-hadoop"`, `"ali-storage-2019"`, `"ali-interdc-2021"`, or a `.cdf` file
        distribution: At<String>, unless(pattern, Word::List), instead_of(size);
        /// Share of the capacity, in message bytes without headers
        load: At<f64>, within(1e-6..=10.0), of(pattern, Word::Poisson), auto("required");
        /// Capacity that `load` refers to. `"hosts"`: the link of each source. `"long"`: all long-haul links, in the direction with more flows
        load_of: At<LoadWord>, of(pattern, Word::Poisson), default(LoadWord::Hosts);
        /// The share of flows that leave their site
        inter: At<Probability>, of(pattern, Word::Poisson), auto("all other destinations are equally likely");
        /// When the first flows start
        start: At<Interval>, within(Interval::ZERO..=MOST), unless(pattern, Word::List), default(Interval::ZERO);
        /// When no more flows start, and flows without end are stopped
        stop: At<Interval>, within(SOME..=MOST), unless(pattern, Word::List), auto("`scenario.until`");
        /// Flows of each pair that start together
        flows: At<u32>, of(pattern, Word::Pairs, Word::AllToAll, Word::Permutation), default(1_u32);
        /// Delay from the start of one pair to the next
        stagger: At<Interval>, within(Interval::ZERO..=MOST), of(pattern, Word::Pairs, Word::AllToAll, Word::Permutation), default(Interval::ZERO);
        /// Each flow without end is stopped this long after its start; with `every`, it goes on and off
        on: At<Interval>, within(SOME..=MOST), of(pattern, Word::Pairs, Word::AllToAll, Word::Permutation);
        /// Period of the repetitions
        every: At<Interval>, within(SOME..=MOST), of(pattern, Word::Pairs, Word::AllToAll, Word::Permutation), auto("once");
        /// Whether each flow starts again whenever it has ended, until `stop`: one message after the other, each on a new queue pair, and all on one path
        closed_loop: At<bool>, of(pattern, Word::Pairs, Word::AllToAll, Word::Permutation), default(false);
        /// Number of repetitions
        times: At<u32>, needs(every), auto("until `stop`");
        /// `start_ns,source,destination,bytes,priority`, a line for each flow
        file: At<String>, of(pattern, Word::List), auto("required");
    }
}

impl TrafficDecl {
    fn check(&self, section: &Section<'_, '_>) {
        if let Some(stop) = self.stop.as_ref().filter(|stop| stop.value <= self.start()) {
            section.problems.error(&stop.place, ProblemKind::out_of_range(stop.value, "later than start"));
        }
        if let Some(on) = self.on.as_ref().filter(|_| self.size.is_some() || self.distribution.is_some()) {
            section.problems.error(&on.place, ProblemKind::Meaningless { with: "a size".into() });
        }
        if let Some(at) = self.closed_loop.as_ref().filter(|at| at.value) {
            let endless = self.size.is_none() && self.distribution.is_none();
            for (is_wrong, with) in [(endless, "a flow without end"), (self.every.is_some(), "every")] {
                if is_wrong {
                    section.problems.error(&at.place, ProblemKind::Meaningless { with: with.into() });
                }
            }
        }
        match self.pattern.as_ref().map(|at| at.value) {
            Some(Word::Poisson) => section.expect("load", "load = 0.5"),
            Some(Word::Pairs) => {
                section.expect("sources", "sources = [\"h*\"]");
                section.expect("destinations", "destinations = [\"r0\"]");
            }
            Some(Word::List) => section.expect("file", "file = \"flows.csv\""),
            _ => {}
        }
    }

    /// The start of the first flows, and the end of new ones if stated.
    fn span(&self) -> (Nanos, Option<Nanos>) {
        (Nanos(self.start().0), self.stop.as_ref().map(|stop| Nanos(stop.value.0)))
    }
}

/// Traffic and the names of its groups.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub workload: Workload,
    pub groups: Vec<String>,
    pub collectives: Vec<(Collected, PlannedJob)>,
}

/// Reads traffic between the hosts of a topology.
pub(super) struct Reader<'a> {
    pub topology: &'a Topology,
    pub beside: &'a Beside,
    /// No flow starts later.
    pub until: Nanos,
}

impl Traffic {
    /// The priorities of all flows.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> {
        let of_jobs = self.collectives.iter().map(|(_, job)| job.priority());
        let drawn = self.workload.parts.iter().flat_map(|part| match &part.arrivals {
            Arrivals::Listed(rows) => rows.iter().map(|row| row.priority).collect(),
            _ => vec![part.priority],
        });
        drawn.chain(of_jobs)
    }

    pub fn group(&mut self, name: String) -> u16 {
        let known = self.groups.iter().position(|it| *it == name);
        let index = known.unwrap_or_else(|| {
            self.groups.push(name);
            self.groups.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }
}

impl Reader<'_> {
    /// Reads one `[[traffic]]`.
    pub fn read(&self, section: &mut Section<'_, '_>, traffic: &mut Traffic) {
        let decl = TrafficDecl::read(section);
        if let Some(start) = decl.start.as_ref().filter(|start| start.value.0 > self.until.0) {
            self.warn_of_late(section, &start.place, "all flows start".into());
        }
        let arrivals = decl.pattern.as_ref().and_then(|pattern| match pattern.value {
            Word::List => self.list(section, &decl).map(Arrivals::Listed),
            Word::Poisson => self.poisson(section, &decl).map(|it| Arrivals::Poisson(Arc::new(it))),
            word => self.pattern(section, &decl, word).map(|it| Arrivals::Pattern(Arc::new(it))),
        });
        let priority = decl.priority();
        if let (Some(group), Some(arrivals)) = (decl.group, arrivals) {
            let group = traffic.group(group.value.0);
            traffic.workload.parts.push(Part { group, priority, arrivals });
        }
    }

    fn warn_of_late(&self, section: &Section<'_, '_>, place: &Place, what: String) {
        let until = Interval(self.until.0);
        section.problems.warning(place, ProblemKind::AfterUntil { what, until });
    }

    /// The hosts in `list`, at `key`; all hosts if it is absent.
    pub fn hosts(
        &self,
        section: &Section<'_, '_>,
        key: &str,
        list: &Option<List<Names>>,
    ) -> Option<Vec<NodeId>> {
        let hosts: Vec<NodeId> = self.topology.hosts().collect();
        let Some(list) = list else {
            return (!section.contains(key)).then_some(hosts);
        };
        let names = || hosts.iter().map(|host| self.topology.node(*host).name.as_str());
        let mut found = Vec::new();
        for name in &list.value {
            let indices = Names::find(name, "host", names(), section.problems);
            if indices.is_empty() {
                return None;
            }
            found.extend(indices.into_iter().map(|index| hosts[index]));
        }
        Some(found)
    }

    /// The sources and the destinations.
    fn ends(&self, section: &Section<'_, '_>, decl: &TrafficDecl) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
        let sources = self.hosts(section, "sources", &decl.sources);
        sources.zip(self.hosts(section, "destinations", &decl.destinations))
    }

    fn poisson(&self, section: &Section<'_, '_>, decl: &TrafficDecl) -> Option<Poisson> {
        let ends = self.ends(section, decl);
        let sizes = self.sizes(section, decl);
        let (Some(sizes), Some(load)) = (sizes, &decl.load) else { return None };
        let Some(sizes) = sizes else {
            let place = section.place_of("size", section.place.offset);
            section.problems.error(&place, PoissonError::Endless);
            return None;
        };
        let long = self.topology.links.iter().filter(|link| link.settings.long);
        let of = match decl.load_of() {
            LoadWord::Hosts => LoadOf::Hosts,
            LoadWord::Long => LoadOf::Long(long.map(|it| it.settings.rate.bits_per_second() as f64).sum()),
        };
        let places = |hosts: Vec<NodeId>| hosts.into_iter().map(|host| self.place(host)).collect::<Vec<_>>();
        let (sources, destinations) = ends?;
        let (sources, destinations) = (places(sources), places(destinations));
        let inter = decl.inter.as_ref().map(|share| share.value.0);
        let poisson = Poisson::new(&sources, &destinations, inter, sizes, (load.value, of), decl.span());
        let named = |error| match error {
            PoissonError::Alone { source_node, place } => {
                ProblemKind::NoDestination { host: self.topology.node(source_node).name.clone(), place }
            }
            other => other.into(),
        };
        poisson.map_err(|error| section.problems.error(&section.place, named(error))).ok()
    }

    fn place(&self, host: NodeId) -> HostPlace {
        let node = self.topology.node(host);
        // Every host has one port.
        let rate = self.topology.links[node.ports[0].link].settings.rate;
        (host, node.site, rate)
    }

    fn pattern(&self, section: &Section<'_, '_>, decl: &TrafficDecl, word: Word) -> Option<Pattern> {
        let pairs = if word == Word::Permutation {
            self.hosts(section, "hosts", &decl.hosts).map(Pairing::Permutation)
        } else {
            let both = self.ends(section, decl).filter(|both| countable(section, both));
            both.map(|(sources, destinations)| match word {
                Word::AllToAll => Pairing::all(&sources, &destinations),
                _ => Pairing::in_order(&sources, &destinations),
            })
        };
        let sizes = self.sizes(section, decl);
        let pairs = pairs?;
        if word == Word::Pairs && !(section.contains("sources") && section.contains("destinations")) {
            return None;
        }
        if pairs.is_empty() {
            section.problems.error(&section.place, PoissonError::NoPairs);
            return None;
        }
        let sizes = sizes?.unwrap_or(Sizes::Endless);
        let endless = sizes == Sizes::Endless;
        let (start, stop) = decl.span();
        let times = decl.times.as_ref().map(|times| u64::from(times.value));
        Some(Pattern {
            pairs,
            flows: decl.flows(),
            start,
            stagger: decl.stagger(),
            // A flow without end must be stopped, or the simulation would not end.
            stop: stop.or(endless.then_some(self.until)),
            on: decl.on.as_ref().map(|on| on.value),
            again: decl.every.as_ref().map(|every| Again { every: every.value, times }),
            is_closed_loop: decl.closed_loop(),
            sizes,
        })
    }

    /// The sizes by `size` or `distribution`; `Some(None)` if neither is present, `None` if they are not valid.
    fn sizes(&self, section: &Section<'_, '_>, decl: &TrafficDecl) -> Option<Option<Sizes>> {
        match (&decl.size, &decl.distribution) {
            (Some(At { value: SizeOrRange((least, most)), .. }), _) => {
                Some(Some(most.map_or(Sizes::Fixed(least.0), |most| Sizes::Uniform(least.0, most.0))))
            }
            (None, Some(name)) => self.distribution(section, name).map(|cdf| Some(Sizes::Cdf(Arc::new(cdf)))),
            (None, None) => (!section.contains("size") && !section.contains("distribution")).then_some(None),
        }
    }

    fn distribution(&self, section: &Section<'_, '_>, name: &At<String>) -> Option<Cdf> {
        let text = match KNOWN.iter().find(|(known, _)| *known == name.value) {
            Some((_, text)) => (*text).to_owned(),
            None if name.value.ends_with(".cdf") => self.file(section, name)?,
            None => {
                let known = KNOWN.iter().map(|(known, _)| *known).chain(["a file.cdf"]);
                let kind = ProblemKind::undefined("distribution", &name.value, known);
                section.problems.error(&name.place, kind);
                return None;
            }
        };
        Cdf::parse(&text).map_err(|error| file_problem(section, name, error)).ok()
    }

    fn list(&self, section: &Section<'_, '_>, decl: &TrafficDecl) -> Option<Arc<[Listed]>> {
        let file = decl.file.as_ref()?;
        let text = self.file(section, file)?;
        let host = |name: &str| self.topology.hosts().find(|host| self.topology.node(*host).name == name);
        let rows = read_csv(&text, host).map_err(|error| file_problem(section, file, error)).ok()?;
        let late = rows.iter().filter(|row| row.start > self.until).count();
        if late > 0 {
            let what = format!("{late} of {} flows start", rows.len());
            self.warn_of_late(section, &file.place, what);
        }
        Some(rows.into())
    }

    /// The text of a file beside the scenario.
    fn file(&self, section: &Section<'_, '_>, name: &At<String>) -> Option<String> {
        self.beside.text(&name.value).map_err(|reason| file_problem(section, name, reason)).ok()
    }
}

/// Whether there are few enough pairs to store each of them. Reports an error if not.
fn countable(section: &Section<'_, '_>, (sources, destinations): &(Vec<NodeId>, Vec<NodeId>)) -> bool {
    let pairs = sources.len().saturating_mul(destinations.len());
    if pairs <= 1_000_000 {
        return true;
    }
    let valid = "up to 1000000 from a source to a destination";
    section.problems.error(&section.place, ProblemKind::out_of_range(format!("{pairs} pairs"), valid));
    false
}

pub(super) fn file_problem(section: &Section<'_, '_>, file: &At<String>, reason: impl ToString) {
    let (path, reason) = (file.value.clone(), reason.to_string());
    section.problems.error(&file.place, ProblemKind::File { path, reason });
}

value_types! {
    /// `"64kB"`, or any size in `["64kB", "4MB"]`.
    struct SizeOrRange((Bytes, Option<Bytes>)): "size, or range of two",
        |it| {
            const WANT: &str = "a size such as \"64kB\", or a range such as [\"64kB\", \"4MB\"]";
            const VALID: &str = "1B to 1024GiB, in ascending order";
            let one = |value: &DeValue<'_>| match Bytes::read(value)? {
                size if (Bytes(1)..=LARGEST).contains(&size) => Ok(size),
                size => Err(ProblemKind::out_of_range(size, VALID)),
            };
            let Some(elements) = it.as_array() else { return one(it).map(|size| Self((size, None))) };
            let sizes: Vec<_> = elements.iter().map(|element| one(element.get_ref())).collect::<Result<_, _>>()?;
            match sizes[..] {
                [least, most] if least <= most => Ok(Self((least, Some(most)))),
                [_, _] => Err(ProblemKind::out_of_range("this range", VALID)),
                _ => Err(wrong_type(it, WANT)),
            }
        },
        |it| match it.0 {
            (least, None) => least.write(),
            (least, Some(most)) => format!("[{}, {}]", least.write(), most.write()),
        };
}
