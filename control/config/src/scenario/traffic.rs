//! `[[traffic]]`: who sends what to whom.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use simulation::NodeId;
use simulation::topology::Topology;
use simulation::workload::{
    Again, Arrivals, Cdf, LoadOf, Pairing, Part, Pattern, Place as HostPlace, Poisson, PoissonError, Sizes,
    Workload, read_csv,
};
use toml::de::DeValue;
use units::{Bytes, Interval, Nanos, Priority};

use super::names::Names;
use super::run;
use super::words::{LoadWord, PatternWord};
use crate::file::read_text;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::value::{Name, Value, described};

/// Of RDMA, in most networks.
const PRIORITY: Priority = Priority::from_low_bits(3);

/// The distributions that need no file.
const KNOWN: [(&str, &str); 4] = [
    ("websearch", include_str!("../../../../config/workloads/websearch.cdf")),
    ("fb-hadoop", include_str!("../../../../config/workloads/fb-hadoop.cdf")),
    ("ali-storage-2019", include_str!("../../../../config/workloads/ali-storage-2019.cdf")),
    ("ali-interdc-2021", include_str!("../../../../config/workloads/ali-interdc-2021.cdf")),
];

/// Traffic and the names of its groups.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub workload: Workload,
    pub groups: Vec<String>,
}

/// Where the hosts are that traffic names.
pub(super) struct Reader<'a> {
    pub topology: &'a Topology,
    pub directory: Option<&'a Path>,
    /// Nothing starts later.
    pub until: Nanos,
}

impl Traffic {
    /// The priorities with which something is sent.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> {
        self.workload.parts.iter().flat_map(|part| match &part.arrivals {
            Arrivals::Listed(rows) => rows.iter().map(|row| row.priority).collect(),
            _ => vec![part.priority],
        })
    }

    fn group(&mut self, name: String) -> u16 {
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
        let group = section.required::<Name>("group", "group = \"background\"");
        let pattern = section.required::<PatternWord>("pattern", "pattern = \"poisson\"");
        let priority = section.optional("priority").map_or(PRIORITY, |priority| priority.value);
        let Some(pattern) = pattern else {
            section.rest();
            return;
        };
        let arrivals = match pattern.value {
            PatternWord::List => self.list(section).map(Arrivals::Listed),
            PatternWord::Poisson => self.poisson(section).map(|it| Arrivals::Poisson(Arc::new(it))),
            word => self.pattern(section, word).map(|it| Arrivals::Pattern(Arc::new(it))),
        };
        if let (Some(group), Some(arrivals)) = (group, arrivals) {
            let group = traffic.group(group.value.0);
            traffic.workload.parts.push(Part { group, priority, arrivals });
        }
    }

    /// The hosts that the array at `key` names; all where it is absent.
    fn hosts(&self, section: &mut Section<'_, '_>, key: &'static str) -> Option<Vec<NodeId>> {
        let hosts: Vec<NodeId> = self.topology.hosts().collect();
        let Some(list) = section.list::<Names>(key) else {
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

    fn start(&self, section: &mut Section<'_, '_>) -> (Nanos, Option<At<Interval>>) {
        let start = run::time(section, "start", Interval::ZERO).map_or(Interval::ZERO, |start| start.value);
        let stop = run::time(section, "stop", run::SOME);
        if let Some(stop) = stop.as_ref().filter(|stop| stop.value <= start) {
            let got = stop.value.to_string();
            section.problems.error(&stop.place, ProblemKind::out_of_range(got, "later than start"));
        }
        (Nanos(start.0), stop)
    }

    fn poisson(&self, section: &mut Section<'_, '_>) -> Option<Poisson> {
        let sources = self.hosts(section, "sources");
        let destinations = self.hosts(section, "destinations");
        let sizes = self.sizes(section);
        let load = section.required::<f64>("load", "load = 0.5");
        let load = load.filter(|load| section.is_within(load, &(1e-6..=10.0)));
        let of = section.optional("load_of").map_or(LoadWord::Hosts, |of| of.value);
        let inter = section.optional::<crate::machine::Probability>("inter").map(|inter| inter.value.0);
        let (start, stop) = self.start(section);
        let (Some(sizes), Some(load)) = (sizes, load) else { return None };
        let Some(sizes) = sizes else {
            let place = section.place_of("size", section.place.offset);
            section.problems.error(&place, PoissonError::Endless);
            return None;
        };
        let long: f64 = self.long_rates().sum();
        let of = match of {
            LoadWord::Hosts => LoadOf::Hosts,
            LoadWord::Long => LoadOf::Long(long),
        };
        let places = |hosts: Vec<NodeId>| hosts.into_iter().map(|host| self.place(host)).collect::<Vec<_>>();
        let (sources, destinations) = (places(sources?), places(destinations?));
        let times = (start, stop.map(|stop| Nanos(stop.value.0)));
        let poisson = Poisson::new(&sources, &destinations, inter, sizes, (load.value, of), times);
        poisson.map_err(|error| section.problems.error(&section.place, self.named(error))).ok()
    }

    fn named(&self, error: PoissonError) -> ProblemKind {
        match error {
            PoissonError::Alone { source_node, place } => {
                ProblemKind::NoDestination { host: self.topology.node(source_node).name.clone(), place }
            }
            other => other.into(),
        }
    }

    fn long_rates(&self) -> impl Iterator<Item = f64> {
        let long = self.topology.links.iter().filter(|link| link.wish.long);
        long.map(|link| link.wish.rate.bits_per_second() as f64)
    }

    fn place(&self, host: NodeId) -> HostPlace {
        let node = self.topology.node(host);
        // A host of a network has one port.
        let rate = self.topology.links[node.ports[0].link].wish.rate;
        (host, node.site, rate)
    }

    fn pattern(&self, section: &mut Section<'_, '_>, word: PatternWord) -> Option<Pattern> {
        let pairs = match word {
            PatternWord::Permutation => self.hosts(section, "hosts").map(Pairing::Permutation),
            _ => {
                if word == PatternWord::Pairs {
                    section.expect("sources", "sources = [\"h*\"]");
                    section.expect("destinations", "destinations = [\"r0\"]");
                }
                let sources = self.hosts(section, "sources");
                let destinations = self.hosts(section, "destinations");
                let both = sources.zip(destinations).filter(|both| countable(section, both));
                both.map(|(sources, destinations)| match word {
                    PatternWord::AllToAll => Pairing::all(&sources, &destinations),
                    _ => Pairing::in_order(&sources, &destinations),
                })
            }
        };
        let sizes = self.sizes(section);
        let (start, stop) = self.start(section);
        let flows = section.optional::<u32>("flows").map_or(1, |flows| flows.value);
        let stagger = run::time(section, "stagger", Interval::ZERO).map_or(Interval::ZERO, |it| it.value);
        let on = run::time(section, "on", run::SOME);
        let every = run::time(section, "every", run::SOME);
        let times = section.optional::<u32>("times");
        if let (Some(times), None) = (&times, &every) {
            section.problems.error(&times.place, ProblemKind::Alone { other: "every" });
        }
        if let (Some(on), Some(Some(_))) = (&on, &sizes) {
            section.problems.error(&on.place, ProblemKind::Meaningless { with: "a size".into() });
        }
        let pairs = pairs?;
        if word == PatternWord::Pairs && !(section.contains("sources") && section.contains("destinations")) {
            return None;
        }
        if pairs.is_empty() {
            section.problems.error(&section.place, PoissonError::Nobody);
            return None;
        }
        let sizes = sizes?.unwrap_or(Sizes::Endless);
        let endless = sizes == Sizes::Endless;
        let stop = stop.map(|stop| Nanos(stop.value.0));
        Some(Pattern {
            pairs,
            flows,
            start,
            stagger,
            // A flow without end must end some time, or the simulation would not.
            stop: stop.or(endless.then_some(self.until)),
            on: on.map(|on| on.value),
            again: every
                .map(|every| Again { every: every.value, times: times.map(|times| u64::from(times.value)) }),
            sizes,
        })
    }

    /// From `size` or `distribution`; nothing inside where neither is there, nothing where it is wrong.
    fn sizes(&self, section: &mut Section<'_, '_>) -> Option<Option<Sizes>> {
        let size = section.optional::<SizeOrRange>("size");
        let distribution = section.optional::<String>("distribution");
        if let (Some(_), Some(distribution)) = (&size, &distribution) {
            section.problems.error(&distribution.place, ProblemKind::Conflict { other: "size" });
        }
        match (size, distribution) {
            (Some(size), _) => Some(Some(size.value.0)),
            (None, Some(name)) => {
                self.distribution(section, &name).map(|cdf| Some(Sizes::Cdf(Arc::new(cdf))))
            }
            (None, None) => (!section.contains("size") && !section.contains("distribution")).then_some(None),
        }
    }

    fn distribution(&self, section: &Section<'_, '_>, name: &At<String>) -> Option<Cdf> {
        let known = KNOWN.iter().find(|(known, _)| *known == name.value);
        let text = match known {
            Some((_, text)) => (*text).to_owned(),
            None if name.value.ends_with(".cdf") => self.file(section, name)?,
            None => {
                let known = KNOWN.iter().map(|(known, _)| *known).chain(["a file.cdf"]);
                let kind = ProblemKind::undefined("distribution", &name.value, known);
                section.problems.error(&name.place, kind);
                return None;
            }
        };
        let refuse = |reason: String| file_problem(section, &name.place, &name.value, reason);
        Cdf::parse(&text).map_err(|error| refuse(error.to_string())).ok()
    }

    fn list(&self, section: &mut Section<'_, '_>) -> Option<Arc<[simulation::workload::Listed]>> {
        let file = section.required::<String>("file", "file = \"flows.csv\"")?;
        let text = self.file(section, &file)?;
        let host = |name: &str| self.topology.hosts().find(|host| self.topology.node(*host).name == name);
        match read_csv(&text, host) {
            Ok(rows) => Some(rows.into()),
            Err(error) => {
                file_problem(section, &file.place, &file.value, error.to_string());
                None
            }
        }
    }

    fn file(&self, section: &Section<'_, '_>, name: &At<String>) -> Option<String> {
        read_file(self.directory, &name.value)
            .map_err(|reason| file_problem(section, &name.place, &name.value, reason))
            .ok()
    }
}

/// The text of a file whose path begins in the directory of the scenario, or why there is none.
pub(super) fn read_file(directory: Option<&Path>, name: &str) -> Result<String, String> {
    let directory = directory.ok_or("a scenario that is not a file has no directory to find it in")?;
    let path: PathBuf = directory.join(name);
    read_text(&path).map_err(|error| error.to_string())
}

/// Whether there are so few pairs that each can be kept.
fn countable(section: &Section<'_, '_>, (sources, destinations): &(Vec<NodeId>, Vec<NodeId>)) -> bool {
    const VALID: &str = "up to 1000000 from a source to a destination";
    let pairs = sources.len().saturating_mul(destinations.len());
    let valid = pairs <= 1_000_000;
    if !valid {
        let kind = ProblemKind::out_of_range(format!("{pairs} pairs"), VALID);
        section.problems.error(&section.place, kind);
    }
    valid
}

fn file_problem(section: &Section<'_, '_>, place: &Place, path: &str, reason: String) {
    section.problems.error(place, ProblemKind::File { path: path.into(), reason });
}

/// `"64kB"`, or `["64kB", "4MB"]` for anything between.
struct SizeOrRange(Sizes);

impl Value for SizeOrRange {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "a size such as \"64kB\", or a range such as [\"64kB\", \"4MB\"]";
        const VALID: &str = "1B to 1024GiB, in rising order";
        let one = |value: &DeValue<'_>| -> Result<u64, ProblemKind> {
            let size = Bytes::read(value)?.0;
            let valid = (1..=1 << 40).contains(&size);
            if valid { Ok(size) } else { Err(ProblemKind::out_of_range(Bytes(size), VALID)) }
        };
        let Some(elements) = value.as_array() else { return one(value).map(|size| Self(Sizes::Fixed(size))) };
        let sizes: Vec<u64> =
            elements.iter().map(|element| one(element.get_ref())).collect::<Result<_, _>>()?;
        match sizes.as_slice() {
            [least, most] if least <= most => Ok(Self(Sizes::Uniform(*least, *most))),
            [_, _] => Err(ProblemKind::out_of_range("this range", VALID)),
            _ => Err(ProblemKind::WrongType { got: described(value), want: WANT }),
        }
    }
}
