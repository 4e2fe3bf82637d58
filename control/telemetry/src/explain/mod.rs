//! Why a port pauses, is paused, marks or drops: what happens, and below it what causes that, as far as this gateway
//! knows.
//!
//! A pause that the gateway sends leads to the queues in which the frames of the paused group wait, and from there to
//! what holds these queues: a pause of the peer behind them, a link that is down, a limit, or the rate of the link.

mod drops;
mod effect;
mod neighbour;
mod page;
mod queue;
mod sentence;
mod terms;
mod worker;

pub use effect::{Effect, Explanation};
pub use page::render;
pub use terms::{CNPS, CNPS_MISSING};

use crate::health::{self, kept_pauses};
use crate::period::{Period, PortPeriod, PriorityPeriod};
use crate::show::NoSuchPort;
use crate::snapshot::{Snapshot, WaitingReport};
use drops::phrase;
use effect::effect;
use report::LimitsReport;
use switch::PauseCause;
use units::human::{bytes, count_of, duration, thousands};

/// Explains the port called `name` over `period`.
///
/// # Errors
/// [`NoSuchPort`] if the gateway has no port of that name.
pub fn explain(period: &Period<'_>, name: &str) -> Result<Explanation, NoSuchPort> {
    let port = period.port(name).ok_or_else(|| NoSuchPort::of(name, period.now))?;
    let mut told = Told::default();
    told.kept_pauses(port);
    told.link(port);
    for priority in port.priorities() {
        told.priority(period, port, priority);
    }
    let Told { because, mut effects } = told;
    effects.extend(terms::of_port(port));
    effects.extend(neighbour::differs(port));
    let is_told = effects.iter().any(|it| it.kind == "drops" && it.has_cause("late_worker"));
    effects.extend(worker::late(period, port).filter(|_| !is_told));
    let cause = health::cause(period, name);
    Ok(Explanation { port: name.into(), over_ns: period.elapsed_ns, cause, because, effects })
}

/// The part of an explanation that is found port by port and priority by priority.
#[derive(Default)]
struct Told {
    because: Vec<String>,
    effects: Vec<Effect>,
}

impl Told {
    /// Pauses that the device kept, which no figure of a queue shows.
    fn kept_pauses(&mut self, port: PortPeriod<'_>) {
        if let Some(text) = kept_pauses(port) {
            self.effects.push(effect("pfc_not_passed", port, None, phrase(&text), Vec::new()));
            self.because.push(text);
        }
    }

    /// A link that is down. Frames that wait for it are told by priority.
    fn link(&mut self, port: PortPeriod<'_>) {
        let waits = port.priorities().any(|it| it.now.egress.queued.frames > 0);
        if !port.now.device.link_up && !waits {
            self.because.push(format!("The link of {} is down; no frame waits for it.", port.name()));
            self.effects.push(effect("link_down", port, None, "its link is down".into(), Vec::new()));
        }
    }

    fn priority(&mut self, period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) {
        let pauses = pauses_peer(period, port, priority);
        let holds = queue::holding(period, port, priority);
        let dropped = drops::drops(period, port, priority);
        self.because.extend(pauses.as_ref().and_then(sentence::of_pause));
        self.because.extend(holds.as_ref().and_then(|it| sentence::of_queue(priority, it)));
        self.because.extend(drops::sentences(port, priority, &dropped));
        self.effects.extend(pauses.into_iter().chain(holds));
        self.effects.extend(marks(port, priority));
        self.effects.extend(dropped);
    }
}

/// Why the gateway pauses the peer now, or did within the period.
fn pauses_peer(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Option<Effect> {
    let paused_ns = priority.time_ns(|it| it.pauses_sent.paused_ns);
    let pauses_now = priority.levels.pauses_peer || priority.now.pauses_sent.paused_at_end.is_some();
    if paused_ns == 0 && !pauses_now {
        return None;
    }
    let (paused, elapsed) = (duration(paused_ns), duration(priority.elapsed_ns()));
    let reason = if pauses_now { "pauses its peer now," } else { "has paused its peer," };
    let text = format!("{reason} for {paused} of {elapsed}{}", by_cause(priority));
    let group = group(period.now, port, priority);
    let mut waiting: Vec<_> = period.now.waiting.iter().filter(|it| came_in(it, port, priority)).collect();
    waiting.sort_by_key(|it| std::cmp::Reverse(it.waiting.bytes.0));
    let mut causes: Vec<_> = group.into_iter().collect();
    causes.extend(waiting.into_iter().map(|it| waits(period, it)));
    causes.extend(relayed(period, port, priority));
    Some(effect("pauses_peer", port, Some(priority.now.priority), text, causes))
}

/// The time that the peer was paused for each cause, if there was any.
fn by_cause(priority: PriorityPeriod<'_>) -> String {
    let times = PauseCause::ALL.map(|cause| {
        (cause.name().replace('_', " "), priority.time_ns(|it| it.pauses_sent.paused_by(cause)))
    });
    let times = times.into_iter().filter(|(_, time_ns)| *time_ns > 0);
    let told: Vec<_> = times.map(|(cause, time_ns)| format!("{cause} {}", duration(time_ns))).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// The other ports whose peers pause them, if the port passes such pauses on.
fn relayed(period: &Period<'_>, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Vec<Effect> {
    if priority.count(|it| it.pauses_sent.paused_by(PauseCause::Relayed)) == 0 {
        return Vec::new();
    }
    let others = period.ports().filter(|other| other.name() != port.name());
    let same = others.filter_map(|other| Some((other, other.priority(priority.now.priority)?)));
    same.filter_map(|(other, it)| {
        let text = format!("{} {}", other.name(), queue::paused_by_peer(it)?);
        Some(effect("paused_by_peer", other, Some(it.now.priority), text, Vec::new()))
    })
    .collect()
}

fn came_in(row: &WaitingReport, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> bool {
    row.came_in == port.name() && row.priority == priority.now.priority
}

/// The level of a lossless group, and how far that is from its thresholds.
fn group(snapshot: &Snapshot, port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Option<Effect> {
    let group = &priority.now.ingress;
    let limits = group.limits?;
    let headroom = priority.levels.headroom_bytes;
    // Frames fill the reserved part first, and free it last.
    let below = group.occupancy_bytes.saturating_sub(headroom);
    let reserved = below.min(limits.reserved_bytes);
    let shared = below - reserved;
    let xoff = xoff(snapshot, &limits);
    let distance = match below.checked_sub(xoff) {
        Some(_) => {
            let until = group.occupancy_bytes.saturating_sub(limits.xon_bytes);
            format!(
                "it is at XOFF {}: {} must leave until it is below XON {}",
                bytes(xoff),
                bytes(until),
                bytes(limits.xon_bytes)
            )
        }
        None => format!("it is {} below XOFF {}", bytes(xoff - below), bytes(xoff)),
    };
    let text = format!(
        "its group holds {}: {} reserved, {} shared, {} of {} headroom",
        bytes(group.occupancy_bytes),
        bytes(reserved),
        bytes(shared),
        bytes(headroom),
        bytes(limits.headroom_bytes)
    );
    let number = Some(priority.now.priority);
    let distance = effect("threshold", port, number, distance, Vec::new());
    Some(effect("holds", port, number, text, vec![distance]))
}

/// The XOFF threshold in force: a dynamic one is a share of what is free of the shared pool.
fn xoff(snapshot: &Snapshot, limits: &LimitsReport) -> u64 {
    let pool = snapshot.pools.shared;
    let free = pool.size_bytes.saturating_sub(pool.held_bytes);
    let shared = match limits.xoff_dynamic_th {
        Some(exponent @ 0..) => free.saturating_mul(1 << exponent.min(8)),
        Some(exponent) => free >> exponent.unsigned_abs().min(8),
        None => return limits.xoff_bytes.unwrap_or_default(),
    };
    limits.reserved_bytes.saturating_add(shared)
}

/// Frames of a group that wait for a port, and what holds their queue.
fn waits(period: &Period<'_>, row: &WaitingReport) -> Effect {
    let text = format!(
        "{} of its frames ({}) wait in queue {} of {}",
        bytes(row.waiting.bytes.0),
        thousands(row.waiting.frames),
        row.queue,
        row.leaves_by
    );
    let far = period.port(&row.leaves_by);
    let causes =
        far.and_then(|far| Some(queue::causes(period, far, far.priority(row.queue)?))).unwrap_or_default();
    Effect { kind: "waits".into(), port: row.leaves_by.clone(), priority: Some(row.queue), text, causes }
}

/// At which level the queue marks, if it did.
fn marks(port: PortPeriod<'_>, priority: PriorityPeriod<'_>) -> Option<Effect> {
    let marked = priority.count(|it| it.egress.ecn_marked);
    let ecn = priority.levels.ecn?;
    if marked == 0 {
        return None;
    }
    let sent = priority.count(|it| it.egress.transmitted.frames);
    let queued = priority.now.egress.queued.bytes.0;
    let level = if queued <= ecn.kmin_bytes {
        "below kmin, so nothing is marked"
    } else if queued <= ecn.kmax_bytes {
        "between kmin and kmax"
    } else {
        "above kmax, so every frame is marked"
    };
    let text = format!(
        "marked {} of {}; {} wait now, {level} (kmin {}, kmax {})",
        thousands(marked),
        count_of(sent, "frame"),
        bytes(queued),
        bytes(ecn.kmin_bytes),
        bytes(ecn.kmax_bytes)
    );
    Some(effect("marks", port, Some(priority.now.priority), text, Vec::new()))
}
