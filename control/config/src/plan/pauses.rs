//! How long a pause may last though nothing is broken, and whether a neighbour's watchdog takes it for a storm.

use units::{BitRate, Interval, PortId, PrioritySet, WireBytes};

use super::built::Built;
use super::longest::{Fall, Longest, Sharing, Shown};
use super::request::Request;
use super::step::{Part, Quantity, Sheet};
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
    /// The longest pause that the data center's switch sees, except for `unlimited`.
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
    pub verdict: WatchdogVerdict,
}

/// The judgement of a watchdog about the longest legitimate pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogVerdict {
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
        let mut sheet = Sheet::default();
        sheet.step(
            "drain",
            match built.request {
                Request { drain: Some(_), .. } => "as stated",
                Request { links: 1, .. } => "rate / 10, unless stated",
                _ => "rate of all links / 10, unless stated",
            },
            drain,
            "the slowest at which the far side takes all lossless frames",
        );
        visit(&mut sheet, built);
        let long = of_long(&mut sheet, built, drain);
        let local = of_local(&mut sheet, built, long, drain);
        let neighbours = neighbours(built, [local, long], drain, unlimited);
        let part = sheet.part("The longest pause that is legitimate: a full buffer at the slowest drain");
        Self { part, long: long.at(drain), local: local.at(drain), unlimited, neighbours }
    }
}

/// The priorities that wait while a higher one takes all that drains.
fn unlimited(request: &Request) -> PrioritySet {
    let highest = request.priorities.highest().filter(|_| request.scheme.planned().is_strict());
    highest.map_or(PrioritySet::EMPTY, |highest| request.priorities.without(highest))
}

/// The visit of a scheduler to a priority, where several share the drain.
fn visit(sheet: &mut Sheet, built: &Built) {
    if built.request.count() == 1 || built.request.scheme.planned().is_strict() {
        return;
    }
    let (port, _) = built.long();
    let (frame, visit) = (WireBytes::of_frame(port.max_frame), port.longest_visit());
    let source = "docs/configuration.md, weight: while others wait";
    sheet
        .term("quantum of its weight", WireBytes(visit.0 - 2 * frame.0))
        .term("2 frames", format!("2 x {frame}"))
        .step("visit", "{quantum of its weight} + {2 frames}", visit, source);
}

/// The longest pause toward the other gateway.
fn of_long(sheet: &mut Sheet, built: &Built, drain: BitRate) -> Longest {
    let (port, _) = built.long();
    let sharing = Sharing::of(built.request.count(), built.local().0);
    let Shown { longest, formula, source } =
        built.request.scheme.planned().longest_pause(sheet, port, sharing);
    let links = u64::from(built.request.links);
    // Frames of all links leave in turn, so each link waits for what the others hold too.
    let longest = Longest { drains: WireBytes(longest.drains.0.saturating_mul(links)), ..longest };
    let formula = match links {
        1 => formula,
        _ => {
            let share = drain.bits_per_second() / links;
            sheet.term("links", links).step(
                "share",
                "{drain} / {links}",
                Quantity::Rate(share),
                "of each link",
            );
            formula.replace("{drain}", "{share}")
        }
    };
    sheet.step("pause_long", &formula, longest.at(drain), source);
    longest
}

/// The longest pause toward the data center: the far end pauses the long link, and then the queue to it drains.
fn of_local(sheet: &mut Sheet, built: &Built, long: Longest, drain: BitRate) -> Longest {
    let scheme = built.request.scheme.planned();
    // The highest priority shares the drain with no other where grants are dealt out from it down.
    let sharing = if scheme.is_strict() { 1 } else { built.request.count() };
    let sharing = Sharing::of(sharing, built.long().0);
    let fall = Fall::of(built.local().0);
    // A pause that is passed on lasts no longer: the queue drains meanwhile.
    let (own, formula) = if scheme.passes_on() {
        (WireBytes(0), "{pause_long}[, passed on]".to_owned())
    } else {
        sheet.terms([("full", fall.full), ("XON of dc0", fall.xon)]);
        let drained = sharing.formula(sheet, "({full} - {XON of dc0}) x 84 / 80");
        (sharing.bytes(fall.bytes()), format!("{{pause_long}} + {drained} / {{drain}}"))
    };
    let longest = Longest { drains: long.drains + own, ..long };
    sheet.step("pause_local", &formula, longest.at(drain), "while the far end pauses, dc0 fills");
    longest
}

fn neighbours(
    built: &Built,
    [local, long]: [Longest; 2],
    drain: BitRate,
    unlimited: PrioritySet,
) -> Vec<Neighbour> {
    let [at_local, at_long] = [PortId(0), PortId(1)];
    let rate = built.request.whole_rate();
    let judged = |longest: Longest, detection: Interval| match longest.at(drain) < detection {
        true => WatchdogVerdict::Calm,
        false => WatchdogVerdict::Trips { drain: longest.drain_within(detection, rate) },
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
            let verdict =
                if unlimited.is_empty() { judged(local, detection) } else { WatchdogVerdict::Unlimited };
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
