//! How long a pause may last though nothing is broken, and whether a neighbour's watchdog takes it for a storm.

use switch::program::{Bifrost, FlowControl, PortSettings};
use units::{BitRate, Bytes, Interval, PortId, PrioritySet, WireBytes};

use super::built::{Built, fixed, group};
use super::request::{Request, Scheme};
use super::step::{Part, Quantity, Step};
use crate::flow_control::bifrost::overrun;
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

/// Bytes on the wire of what `cells` bytes of buffer hold at most, from 60-byte frames, of which 80 bytes of buffer take
/// 84 of the link.
pub(super) fn on_the_wire(cells: Bytes) -> WireBytes {
    let worst = u128::from(cells.0) * 84;
    WireBytes(u64::try_from(worst.div_ceil(80)).unwrap_or(u64::MAX))
}

/// What drains while a group is paused: from full to XON.
struct Fall {
    full: Bytes,
    xon: Bytes,
}

impl Fall {
    fn of(port: &PortSettings) -> Self {
        let level = group(port);
        Self { full: fixed(level.xoff) + level.headroom, xon: level.xon }
    }

    fn bytes(&self) -> WireBytes {
        on_the_wire(self.full - self.xon)
    }

    /// The numbers of [`Fall::bytes`].
    fn numbers(&self) -> String {
        format!("({} - {}) x 84 / 80", grouped(self.full.0), grouped(self.xon.0))
    }
}

/// Priorities that share the drain by equal weights, in visits of a scheduler such as ours.
#[derive(Clone, Copy)]
struct Sharing {
    priorities: u64,
    visit: WireBytes,
}

impl Sharing {
    /// Priorities that share the drain from the queues of `port`.
    fn of(priorities: u64, port: &PortSettings) -> Self {
        Self { priorities, visit: port.longest_visit() }
    }

    /// What drains until `own` bytes of one priority have: as much of each other one, and a visit.
    fn bytes(self, own: WireBytes) -> WireBytes {
        let visits = self.visit.0.saturating_mul(self.priorities - 1);
        WireBytes(own.0.saturating_mul(self.priorities).saturating_add(visits))
    }

    /// [`Sharing::bytes`] in bits, as a formula and its numbers, from those of `own`.
    fn shown(self, formula: &str, numbers: &str) -> (String, String) {
        match self.priorities {
            1 => (format!("8 x {formula}"), format!("8 x {numbers}")),
            count => (
                format!("8 x (priorities x {formula} + (priorities - 1) x visit)"),
                format!("8 x ({count} x {numbers} + {} x {})", count - 1, grouped(self.visit.0)),
            ),
        }
    }
}

/// The parts of a pause: bytes that must drain, and time that passes in any case.
struct Longest {
    drains: WireBytes,
    waits: Interval,
    step: Step,
}

impl Longest {
    fn at(&self, drain: BitRate) -> Interval {
        drain.serialization().time_of(self.drains) + self.waits
    }

    /// The slowest whole multiple of a megabit with which it lasts less than `detection`.
    fn drain_within(&self, detection: Interval, rate: BitRate) -> Option<BitRate> {
        let time = (detection - self.waits).0.checked_sub(1).filter(|time| *time > 0)?;
        let bits = (u128::from(self.drains.0) * 8_000_000_000).div_ceil(time.into());
        let wanted = BitRate::new(u64::try_from(bits).ok()?.next_multiple_of(1_000_000))?;
        (wanted <= rate).then_some(wanted)
    }
}

impl Pauses {
    /// The pauses of a plan.
    pub fn new(built: &Built) -> Self {
        let drain = built.request.slowest_drain();
        let unlimited = unlimited(&built.request);
        let long = of_long(built, drain);
        let local = of_local(built, &long, drain);
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
                holdover(built),
                Some(long.step.clone()),
                Some(local.step.clone()),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        let neighbours = neighbours(built, [&local, &long], drain, unlimited);
        Self { part, long: at_long, local: at_local, unlimited, neighbours }
    }
}

/// The priorities that wait while a higher one takes all that drains. BifrostX deals grants out from the highest priority
/// down (Bifrost paper, IV-E, algorithm 3).
fn unlimited(request: &Request) -> PrioritySet {
    let highest = request.priorities.highest().filter(|_| request.scheme == Scheme::BifrostX);
    highest.map_or(PrioritySet::EMPTY, |highest| request.priorities.without(highest))
}

/// The slots of the long port, if its scheme has any.
fn slots_of(port: &PortSettings) -> Option<&Bifrost> {
    match &port.flow_control {
        FlowControl::Bifrost(slots) | FlowControl::BifrostX(slots) => Some(slots),
        FlowControl::PortGrants(it) => Some(&it.slots),
        _ => None,
    }
}

/// The visit of a scheduler to a priority, where several share the drain.
fn visit(built: &Built) -> Option<Step> {
    if built.request.count() == 1 || built.request.scheme == Scheme::BifrostX {
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

/// The holdover, where there are slots.
fn holdover(built: &Built) -> Option<Step> {
    let slots = slots_of(built.long().0)?;
    Some(Step::new(
        "holdover",
        "T / 2: how much longer than T a pause without a grant lasts",
        format!("{} / 2", slots.slot),
        Quantity::Time(slots.holdover),
        "docs/bifrost.md: for a next frame that is late",
    ))
}

/// The longest pause toward the other gateway.
fn of_long(built: &Built, drain: BitRate) -> Longest {
    let (port, _) = built.long();
    let sharing = Sharing::of(built.request.count(), built.local().0);
    let (drains, waits, formula, numbers, source) = if let Some(slots) = slots_of(port) {
        let leaked = overrun(slots, port);
        (
            leaked,
            slots.slot + slots.holdover,
            "T + holdover + 8 leaked / drain".to_owned(),
            format!("{} + {} + 8 x {} / {drain}", slots.slot, slots.holdover, grouped(leaked.0)),
            "while frames leave, each slot grants what they left",
        )
    } else if let FlowControl::Cbfc(credits) = &port.flow_control {
        let frame = WireBytes::of_frame(port.max_frame);
        let (formula, numbers) = sharing.shown("frame", &grouped(frame.0));
        (
            sharing.bytes(frame),
            credits.interval,
            format!("interval + {formula} / drain"),
            format!("{} + {numbers} / {drain}", credits.interval),
            "without credits, not by pause frames",
        )
    } else {
        let fall = Fall::of(port);
        let (formula, numbers) = sharing.shown("(XOFF + headroom - XON) x 84 / 80", &fall.numbers());
        (
            sharing.bytes(fall.bytes()),
            Interval::ZERO,
            format!("{formula} / drain"),
            format!("{numbers} / {drain}"),
            "from the full buffer down to XON; frames of 60 B",
        )
    };
    let longest = drain.serialization().time_of(drains) + waits;
    let step = Step::new("pause_long", formula, numbers, Quantity::Time(longest), source);
    Longest { drains, waits, step }
}

/// The longest pause toward the data center: the far end pauses the long link, and then the queue to it drains.
fn of_local(built: &Built, long: &Longest, drain: BitRate) -> Longest {
    // The highest priority shares the drain with no other where grants are dealt out from it down.
    let sharing = match built.request.scheme {
        Scheme::BifrostX => 1,
        _ => built.request.count(),
    };
    let sharing = Sharing::of(sharing, built.long().0);
    let fall = Fall::of(built.local().0);
    // A relay passes the pause on, and its queue drains meanwhile.
    let (own, formula, numbers) = match built.request.scheme {
        Scheme::Relay => (WireBytes(0), "pause_long, passed on".to_owned(), long.at(drain).to_string()),
        _ => {
            let (formula, numbers) = sharing.shown("(full - XON of dc0) x 84 / 80", &fall.numbers());
            (
                sharing.bytes(fall.bytes()),
                format!("pause_long + {formula} / drain"),
                format!("{} + {numbers} / {drain}", long.at(drain)),
            )
        }
    };
    let (drains, waits) = (long.drains + own, long.waits);
    let total = drain.serialization().time_of(drains) + waits;
    let source = "while the far end pauses, dc0 fills";
    let step = Step::new("pause_local", formula, numbers, Quantity::Time(total), source);
    Longest { drains, waits, step }
}

fn neighbours(
    built: &Built,
    [local, long]: [&Longest; 2],
    drain: BitRate,
    unlimited: PrioritySet,
) -> Vec<Neighbour> {
    let [at_local, at_long] = [PortId(0), PortId(1)];
    let rate = built.request.rate;
    let judged = |longest: &Longest, detection: Interval| match longest.at(drain) < detection {
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
    if let Some(watchdog) = port.watchdog.filter(|_| built.request.scheme != Scheme::Cbfc) {
        let (name, source) = ("the other gateway".into(), "docs/watchdog.md, its default".into());
        let verdict = judged(long, watchdog.detection);
        found.push(Neighbour { name, detection: watchdog.detection, source, port: at_long, verdict });
    }
    found
}

/// Terms of the buffer that a pause drains, for rows that compare schemes.
pub(super) fn held(port: &PortSettings) -> Bytes {
    Fall::of(port).full
}
