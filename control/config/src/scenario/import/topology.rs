//! `topology.txt`: `nodes switches links`, or `nodes switches racks links` in that of PowerTCP, the numbers of the
//! switches, and for each link `source destination rate delay error_rate`. Text behind the last link is a legend.

use std::collections::{BTreeMap, VecDeque};

use units::{BitRate, Interval, PortSet};

use super::words::{REPORTED, Reader, number, words};
use crate::keys::running::LONGEST_DELAY;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;

/// Most nodes of a network.
const NODES: u32 = 20_000;

/// Nodes, numbered from 0, and links.
pub(super) struct Network {
    pub is_switch: Vec<bool>,
    pub links: Vec<Link>,
}

/// A link.
pub(super) struct Link {
    pub ends: [u32; 2],
    pub rate: BitRate,
    pub delay: Interval,
    /// Probability that a frame is lost, if above zero.
    pub errors: f64,
    pub place: Place,
}

impl Network {
    /// Reads a network. Returns `None` and notes errors if that fails.
    pub fn read(text: &str, problems: &Problems<'_>) -> Option<Self> {
        let line = text.lines().next().unwrap_or_default();
        let has_tors = words(line).count() == 4;
        if !has_tors && words(line).count() != 3 {
            let kind = ProblemKind::Malformed { got: line.chars().take(40).collect(), want: COUNTS };
            problems.error(&Place::default(), kind);
            return None;
        }
        let mut reader = Reader::new(words(text), text.len(), problems);
        let nodes = reader.number("nodes", 2..=NODES)?.value;
        let switches = reader.number("switches", 0..=nodes - 1)?.value;
        if has_tors {
            reader.number("racks", 0..=nodes - 1)?;
        }
        let count = reader.number("links", 1..=1_000_000_u32)?.value;
        let mut is_switch = vec![false; nodes as usize];
        for _ in 0..switches {
            is_switch[reader.number("switch", 0..=nodes - 1)?.value as usize] = true;
        }
        let mut links = Vec::new();
        for _ in 0..count {
            links.push(Link::read(&mut reader, nodes)?);
        }
        let network = Self { is_switch, links };
        network.check(problems);
        Some(network)
    }

    /// Notes an error for each host without exactly one link, and for each pair of nodes that is joined twice.
    fn check(&self, problems: &Problems<'_>) {
        let stated = self.links.iter().map(|link| {
            let [low, high] = [link.ends[0].min(link.ends[1]), link.ends[0].max(link.ends[1])];
            (&link.place, format!("a link between {low} and {high}"))
        });
        problems.refuse_second(stated);
        let mut first: BTreeMap<u32, (usize, &Place)> = BTreeMap::new();
        for link in &self.links {
            for node in link.ends {
                let (count, place) = first.entry(node).or_insert((0, &link.place));
                *count += 1;
                let most = if self.is_switch[node as usize] { PortSet::CAPACITY } else { 1 };
                if *count == most + 1 {
                    let line = problems.line(place);
                    problems.error(&link.place, ProblemKind::ManyLinks { node, most, line });
                }
            }
        }
        let hosts = (0..).zip(&self.is_switch).filter(|(_, is_switch)| !**is_switch);
        for (node, _) in hosts.filter(|(node, _)| !first.contains_key(node)).take(REPORTED) {
            problems.error(&Place { key: "link".into(), offset: 0 }, ProblemKind::NoLink { node });
        }
    }

    /// The name of a node in the scenario.
    pub fn name(&self, node: u32) -> String {
        format!("{}{node}", self.kind(node))
    }

    fn kind(&self, node: u32) -> char {
        if self.is_switch[node as usize] { 's' } else { 'h' }
    }

    /// The names of all hosts, or of all switches, with `[0-3]` for numbers in a row.
    pub fn names(&self, switches: bool) -> Vec<String> {
        let mut runs: Vec<[u32; 2]> = Vec::new();
        for (node, _) in (0..).zip(&self.is_switch).filter(|(_, is_switch)| **is_switch == switches) {
            match runs.last_mut() {
                Some([_, last]) if *last + 1 == node => *last = node,
                _ => runs.push([node, node]),
            }
        }
        let name = |[first, last]: [u32; 2]| match self.kind(first) {
            _ if first == last => self.name(first),
            kind => format!("{kind}[{first}-{last}]"),
        };
        runs.into_iter().map(name).collect()
    }

    /// The numbers of the switches.
    pub fn switches(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.is_switch).filter(|(_, is_switch)| **is_switch).map(|(node, _)| node)
    }

    /// Whether neither end of `link` is a switch.
    pub fn joins_hosts(&self, link: &Link) -> bool {
        !link.ends.iter().any(|node| self.is_switch[*node as usize])
    }

    /// The links of a node.
    pub fn links_of(&self, node: u32) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |link| link.ends.contains(&node))
    }

    /// The rate of the first host's link, which the model takes for that of all hosts.
    pub fn host_rate(&self) -> Option<BitRate> {
        let host = self.is_switch.iter().position(|is_switch| !is_switch)?;
        self.links_of(host as u32).next().map(|link| link.rate)
    }

    /// The longest round trip of the model between hosts: twice the delays, and the time that `payload` bytes take
    /// on each link.
    pub fn longest_round_trip(&self, payload: u64) -> Interval {
        let mut near = vec![Vec::new(); self.is_switch.len()];
        for link in &self.links {
            let sending = payload.saturating_mul(8_000_000_000) / link.rate.bits_per_second();
            for [from, to] in [link.ends, [link.ends[1], link.ends[0]]] {
                near[from as usize].push((to as usize, 2 * link.delay.0 + sending));
            }
        }
        near.iter_mut().for_each(|links| links.sort_unstable());
        let hosts = (0..near.len()).filter(|node| !self.is_switch[*node] && !near[*node].is_empty());
        let longest = hosts.filter_map(|host| self.farthest(host, &near));
        Interval(longest.max().unwrap_or_default())
    }

    /// The longest of the round trips from `host`, each over the first path found with the fewest links.
    fn farthest(&self, host: usize, near: &[Vec<(usize, u64)>]) -> Option<u64> {
        let mut times = vec![None; near.len()];
        times[host] = Some(0_u64);
        let mut queue = VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            for (next, time) in &near[node] {
                if times[*next].is_none() {
                    times[*next] = times[node].map(|so_far| so_far.saturating_add(*time));
                    queue.extend(self.is_switch[*next].then_some(*next));
                }
            }
        }
        times
            .iter()
            .zip(&self.is_switch)
            .filter(|(_, is_switch)| !**is_switch)
            .filter_map(|(it, _)| *it)
            .max()
    }
}

/// A rate with its unit, or in plain bits per second from 1 Mb/s on: a lower one lacks its unit.
fn rate(word: &str) -> Result<BitRate, ProblemKind> {
    let plain = word.parse().ok().filter(|rate: &f64| (1e6..1e19).contains(rate));
    match plain.and_then(|rate| BitRate::new(rate.round() as u64)) {
        Some(rate) => Ok(rate),
        None => Ok(word.parse()?),
    }
}

/// The form of the first line.
const COUNTS: &str = "the first line of an HPCC topology: the numbers of nodes, switches and links (in that of PowerTCP, \
    of nodes, switches, racks and links; import-ns3 does not read those of SimAI)";

impl Link {
    fn read<'t>(reader: &mut Reader<'_, impl Iterator<Item = (usize, &'t str)>>, nodes: u32) -> Option<Self> {
        let At { value: source, place } = reader.number("link.source", 0..=nodes - 1)?;
        let destination = reader.value("link.destination", |word| {
            number(word, &(0..=nodes - 1)).and_then(|node| match node {
                same if same == source => Err(ProblemKind::ToItself { node }),
                other => Ok(other),
            })
        })?;
        let rate = reader.value("link.rate", rate)?.value;
        let delay = reader.value("link.delay", |word| match word.parse::<Interval>()? {
            delay if delay <= LONGEST_DELAY => Ok(delay),
            delay => Err(ProblemKind::out_of_range(delay, format!("up to {LONGEST_DELAY}"))),
        })?;
        let errors = reader.number("link.error_rate", 0.0..=1.0)?.value;
        let place = Place { key: "link".into(), ..place };
        Some(Self { ends: [source, destination.value], rate, delay: delay.value, errors, place })
    }
}
