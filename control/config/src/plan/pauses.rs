//! How long a pause may last though nothing is broken, and whether a neighbour's watchdog takes it for a storm.

use units::{BitRate, Interval, PortId, PrioritySet, WireBytes};

use super::built::Built;
use super::longest::{Fall, Longest, Sharing};
use super::request::Request;
use super::step::{Part, Quantity, Step};
use crate::headroom::grouped;
use crate::watchdog::LEAST_DETECTION;

/// The detection times of neighbours unless they are configured, with their sources.
const NEIGHBOURS: [(&str, Interval, &str); 2] = [
    ("SONiC", LEAST_DETECTION, "pfcwd start_default"),
    ("Junos", Interval::from_millis(200), "pfc-watchdog: poll-interval 100 ms x detection 2"),
];

/// The longest pauses that are legitimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Pauses {
    /// The formulas.
    pub part: Part,
    /// The longest pause that the long link sees.
    pub long: Interval,
    /// The longest pause that the data center's switch sees, but for `unlimited`.
    pub local: Interval,
    /// The priorities that the data center's switch may see paused without limit: higher ones are dealt grants first.
    pub unlimited: PrioritySet,
    /// Neighbours, and what their watchdogs make of it.
    pub neighbours: Vec<Neighbour>,
}

/// A neighbour with a PFC watchdog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// Its detection time.
    pub detection: Interval,
    /// Its source.
    pub source: String,
    /// The port that it is at: the local or the long one.
    pub port: PortId,
    /// Its judgement of our longest pause.
    pub verdict: Verdict,
}

/// The judgement of a watchdog about the longest legitimate pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pause is shorter than the detection time.
    Calm,
    /// The pause lasts for the detection time or longer: a storm.
    Trips {
        /// The slowest drain with which it would be shorter; `None` if no drain of the link is fast enough.
        drain: Option<BitRate>,
    },
    /// Some priority may be paused without limit.
    Unlimited,
}

impl Pauses {
    /// The pauses of a plan.
    pub fn new(built: &Built) -> Self {
        let drain = built.request.slowest_drain();
        let unlimited = unlimited(&built.request);
        let (long, long_step) = of_long(built, drain);
        let (local, local_step) = of_local(built, long, drain);
        let (at_long, at_local) = (long.at(drain), local.at(drain));
        let default = Step::new(
            "drain",
            if built.request.drain.is_some() { "as stated" } else { "rate / 10, unless stated" },
            "",
            Quantity::Rate(drain.bits_per_second()),
            "the slowest at which the far side takes all lossless frames",
        );
        let part = Part {
            title: "The longest pause that is legitimate: a full buffer at the slowest drain".into(),
            steps: [
                Some(default),
                visit(built),
                built.request.scheme.planned().holdover(built.long().0),
                Some(long_step),
                Some(local_step),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        let neighbours = neighbours(built, [local, long], drain, unlimited);
        Self { part, long: at_long, local: at_local, unlimited, neighbours }
    }
}

/// The priorities that wait while a higher one takes all that drains.
fn unlimited(request: &Request) -> PrioritySet {
    let highest = request.priorities.highest().filter(|_| request.scheme.planned().is_strict());
    highest.map_or(PrioritySet::EMPTY, |highest| request.priorities.without(highest))
}

/// The visit of a scheduler to a priority, where several share the drain.
fn visit(built: &Built) -> Option<Step> {
    if built.request.count() == 1 || built.request.scheme.planned().is_strict() {
        return None;
    }
    let (port, _) = built.long();
    let (frame, visit) = (WireBytes::of_frame(port.max_frame).0, port.longest_visit().0);
    Some(Step::new(
        "visit",
        "quantum of its weight + 2 frames",
        format!("{} + 2 x {}", grouped(visit - 2 * frame), grouped(frame)),
        Quantity::Bytes(visit),
        "docs/configuration.md, weight: while others wait",
    ))
}

/// The longest pause toward the other gateway.
fn of_long(built: &Built, drain: BitRate) -> (Longest, Step) {
    let (port, _) = built.long();
    let sharing = Sharing::of(built.request.count(), built.local().0);
    built.request.scheme.planned().longest_pause(port, sharing, drain)
}

/// The longest pause toward the data center: the far end pauses the long link, and then the queue to it drains.
fn of_local(built: &Built, long: Longest, drain: BitRate) -> (Longest, Step) {
    let scheme = built.request.scheme.planned();
    // The highest priority shares the drain with no other where grants are dealt out from it down.
    let sharing = if scheme.is_strict() { 1 } else { built.request.count() };
    let sharing = Sharing::of(sharing, built.long().0);
    let fall = Fall::of(built.local().0);
    // A pause that is passed on lasts no longer: the queue drains meanwhile.
    let (own, formula, numbers) = if scheme.passes_on() {
        (WireBytes(0), "pause_long, passed on".to_owned(), long.at(drain).to_string())
    } else {
        let (formula, numbers) = sharing.shown("(full - XON of dc0) x 84 / 80", &fall.numbers());
        (
            sharing.bytes(fall.bytes()),
            format!("pause_long + {formula} / drain"),
            format!("{} + {numbers} / {drain}", long.at(drain)),
        )
    };
    let source = "while the far end pauses, dc0 fills";
    let longest = Longest { drains: long.drains + own, ..long };
    let step = Step::new("pause_local", formula, numbers, Quantity::Time(longest.at(drain)), source);
    (longest, step)
}

fn neighbours(
    built: &Built,
    [local, long]: [Longest; 2],
    drain: BitRate,
    unlimited: PrioritySet,
) -> Vec<Neighbour> {
    let [at_local, at_long] = [PortId(0), PortId(1)];
    let rate = built.request.rate;
    let judged = |longest: Longest, detection: Interval| match longest.at(drain) < detection {
        true => Verdict::Calm,
        false => Verdict::Trips { drain: longest.drain_within(detection, rate) },
    };
    let known = NEIGHBOURS.map(|(name, detection, source)| (name.to_owned(), detection, source.to_owned()));
    let stated = built.request.watchdogs.iter();
    let stated = stated.map(|(name, detection)| (name.clone(), *detection, "as stated".to_owned()));
    // A stated time takes the place of the default of that name.
    let known = known.into_iter().filter(|(name, ..)| {
        built.request.watchdogs.iter().all(|(stated, _)| !stated.eq_ignore_ascii_case(name))
    });
    let mut found: Vec<_> = known
        .chain(stated)
        .map(|(name, detection, source)| {
            let verdict = if unlimited.is_empty() { judged(local, detection) } else { Verdict::Unlimited };
            Neighbour { name, detection, source, port: at_local, verdict }
        })
        .collect();
    let (port, _) = built.long();
    if let Some(watchdog) = port.watchdog.filter(|_| built.request.scheme.planned().pauses()) {
        let (name, source) = ("the other gateway".into(), "docs/watchdog.md, its default".into());
        let verdict = judged(long, watchdog.detection);
        found.push(Neighbour { name, detection: watchdog.detection, source, port: at_long, verdict });
    }
    found
}
