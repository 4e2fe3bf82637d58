//! The views of the dashboard: what a period of a gateway puts into their tables.

use super::grid::{Cell, Columns, Grid, Tone};
use telemetry::explain::{CNPS, CNPS_MISSING};
use telemetry::health::{Finding, Health, HealthVerdict};
use telemetry::{Period, PortPeriod, PriorityPeriod, WorkerReport};

units::named! {
    /// A view.
    #[derive(Default)]
    DashboardView [ALL] {
        /// Rates and pauses of ports.
        Ports = "ports" default,
        /// Groups and queues with their watermarks.
        Queues = "queues",
        /// Pauses in both directions.
        Pauses = "pauses",
        /// Marks, CNPs, flows.
        Marks = "marks",
        /// Slots, grants and credits.
        Slots = "slots",
        /// Drops by reason.
        Drops = "drops",
        /// The load of each core.
        Cores = "cores",
        /// The findings of `show roce`.
        Health = "health",
    }
}

impl DashboardView {
    /// Its table over `period`, of the port `only` or of all.
    pub fn grid(self, period: &Period<'_>, only: Option<&str>) -> Grid {
        let ports = || period.ports().filter(move |port| only.is_none_or(|name| port.name() == name));
        match self {
            Self::Ports => of_ports(ports()),
            Self::Queues => queues(ports()),
            Self::Pauses => pauses(ports()),
            Self::Marks => marks(ports()),
            Self::Slots => slots(ports()),
            Self::Drops => drops(ports()),
            Self::Cores => cores(period, only),
            Self::Health => health(period, only),
        }
    }
}

type Class<'a> = (PortPeriod<'a>, PriorityPeriod<'a>);

/// The priorities of `ports` that are lossless or carry frames.
fn classes<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> impl Iterator<Item = Class<'a>> {
    let all = ports.flat_map(|port| port.priorities().map(move |priority| (port, priority)));
    all.filter(|(_, it)| {
        let carries = it.now.ingress.received.frames > 0 || it.now.egress.transmitted.frames > 0;
        it.now.ingress.lossless || carries || it.now.egress.queued.frames > 0
    })
}

fn link(port: &PortPeriod<'_>) -> Cell {
    let up = port.now.device.link_up;
    if up { Cell::word("up", Tone::Good) } else { Cell::word("DOWN", Tone::Bad) }
}

/// The share of the rate of the link that the busier direction takes, with the overhead of frames on the wire.
fn load(port: &PortPeriod<'_>) -> f64 {
    let wire = |bytes: f64, frames: f64| (bytes + frames * OVERHEAD) * 8.0;
    let arrived =
        wire(port.per_second(|it| it.port.arrived.bytes.0), port.per_second(|it| it.port.arrived.frames));
    let out = wire(port.per_second(|it| it.port.out.bytes.0), port.per_second(|it| it.port.out.frames));
    arrived.max(out) / port.now.port.rate_bits_per_second.max(1) as f64
}

/// Bytes of a frame on the wire that its length leaves out: preamble, FCS, gap.
const OVERHEAD: f64 = units::WireBytes::OVERHEAD as f64;

/// The share of time for which the gateway paused the most paused priority of the peer.
fn pausing(port: &PortPeriod<'_>) -> f64 {
    port.priorities().map(|it| it.share(|it| it.pauses_sent.paused_ns)).fold(0.0, f64::max)
}

/// The share of time for which the peer paused the most paused priority.
fn paused(port: &PortPeriod<'_>) -> f64 {
    port.priorities().map(|it| it.share(|it| it.pauses_received.paused_ns)).fold(0.0, f64::max)
}

fn dropped(port: &PortPeriod<'_>) -> f64 {
    port.per_second(|it| it.port.drops().map(|(.., count)| count.frames).sum())
}

fn marked(port: &PortPeriod<'_>) -> f64 {
    port.per_second(|it| it.port.priorities.iter().map(|it| it.egress.ecn_marked).sum())
}

fn counted(port: &PortPeriod<'_>, counters: &[(&str, &str)]) -> u64 {
    counters.iter().map(|(list, path)| port.counted(list, &[path])).sum()
}

/// How much a counter of a scheme grew; empty where the scheme does not run.
fn grown(port: &PortPeriod<'_>, list: &str, path: &str) -> Cell {
    Cell::of(port.figure(list, path).map(|_| port.counted(list, &[path])), Cell::count)
}

fn of_ports<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let columns: Columns<'_, PortPeriod<'_>> = &[
        ("port", |it| Cell::text(it.name())),
        ("link", link),
        ("in", |it| Cell::speed(it.per_second(|it| it.port.arrived.bytes.0))),
        ("out", |it| Cell::speed(it.per_second(|it| it.port.out.bytes.0))),
        ("load", |it| Cell::share(load(it))),
        ("pausing", |it| Cell::share(pausing(it)).toned(Tone::Warn)),
        ("paused", |it| Cell::share(paused(it)).toned(Tone::Warn)),
        ("marks/s", |it| Cell::per_second(marked(it))),
        ("drops/s", |it| Cell::per_second(dropped(it)).toned(Tone::Bad)),
        ("in f/s", |it| Cell::per_second(it.per_second(|it| it.port.arrived.frames))),
        ("out f/s", |it| Cell::per_second(it.per_second(|it| it.port.out.frames))),
        ("CNPs", |it| Cell::count(counted(it, &CNPS))),
        ("flows", |it| Cell::of(it.figure("flows", "known"), Cell::count)),
    ];
    Grid::of("The gateway has no ports.", columns, ports, |it| Some(it.name()))
}

fn queues<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let columns: Columns<'_, Class<'_>> = &[
        ("port", |(port, _)| Cell::text(port.name())),
        ("prio", |(_, it)| Cell::count(it.now.priority.into()).toned(Tone::Plain)),
        ("inside", |(_, it)| Cell::bytes(it.now.ingress.occupancy_bytes)),
        ("mark", |(_, it)| Cell::bytes(it.levels.group_watermark_bytes)),
        ("XOFF", |(_, it)| match it.now.ingress.limits {
            Some(limits) => Cell::text(telemetry::tables::threshold(&limits)),
            None => Cell::word("lossy", Tone::Dim),
        }),
        ("headroom", |(_, it)| headroom(it)),
        ("queued", |(_, it)| Cell::bytes(it.now.egress.queued.bytes.0)),
        ("mark", |(_, it)| Cell::bytes(it.levels.queue_watermark_bytes)),
        ("out", |(_, it)| Cell::speed(it.per_second(|it| it.egress.transmitted.bytes.0))),
        ("marks/s", |(_, it)| Cell::per_second(it.per_second(|it| it.egress.ecn_marked))),
        ("delay p99", |(_, it)| Cell::nanos(it.now.egress.delay.p99_ns)),
        ("max", |(_, it)| Cell::nanos(it.now.egress.delay.max_ns)),
    ];
    let otherwise = "No priority is lossless, and no frame has been received or sent.";
    Grid::of(otherwise, columns, classes(ports), |(port, _)| Some(port.name()))
}

fn headroom(class: &PriorityPeriod<'_>) -> Cell {
    Cell::bytes(class.levels.headroom_bytes).toned(headroom_tone(class))
}

/// Headroom in use is worth a look; it is bad near its size, or while it refuses frames.
pub fn headroom_tone(class: &PriorityPeriod<'_>) -> Tone {
    let (used, size) =
        (class.levels.headroom_bytes, class.now.ingress.limits.map_or(0, |limits| limits.headroom_bytes));
    let refuses = class.drops().iter().any(|it| it.reason == "headroom_exceeded");
    match used {
        _ if refuses || used > size / 4 * 3 && used > 0 => Tone::Bad,
        0 => Tone::Plain,
        _ => Tone::Warn,
    }
}

fn pauses<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let now = |is: bool| match is {
        true => Cell::word("yes", Tone::Warn),
        false => Cell::word("no", Tone::Dim),
    };
    let columns: Columns<'_, (Class<'_>, [Cell; 2])> = &[
        ("port", |((port, _), _)| Cell::text(port.name())),
        ("prio", |((_, it), _)| Cell::count(it.now.priority.into()).toned(Tone::Plain)),
        ("pausing", |(_, [pauses, _])| pauses.clone()),
        ("time", |((_, it), _)| Cell::share(it.share(|it| it.pauses_sent.paused_ns)).toned(Tone::Warn)),
        ("XOFF/s", |((_, it), _)| Cell::per_second(it.per_second(|it| it.pauses_sent.frames.xoff))),
        ("why", |((_, it), _)| match &it.now.pauses_sent.paused_at_end {
            Some(cause) => Cell::text(cause.replace('_', " ")),
            None => Cell::word("-", Tone::Dim),
        }),
        ("paused", |(_, [_, paused])| paused.clone()),
        ("time", |((_, it), _)| Cell::share(it.share(|it| it.pauses_received.paused_ns)).toned(Tone::Warn)),
        ("XOFF/s", |((_, it), _)| Cell::per_second(it.per_second(|it| it.pauses_received.frames.xoff))),
        ("storms", |((_, it), _)| {
            let storms = it.count(|it| it.egress.watchdog.map_or(0, |watchdog| watchdog.counters.storms));
            Cell::of(it.now.egress.watchdog.map(|_| storms), Cell::count).toned(Tone::Bad)
        }),
        ("ignored", |((_, it), _)| {
            Cell::count(it.count(|it| it.pauses_received.frames.ignored)).toned(Tone::Warn)
        }),
    ];
    let rows = classes(ports).map(|class| {
        let levels = class.1.levels;
        (class, [now(levels.pauses_peer), now(levels.paused_by_peer)])
    });
    Grid::of("No priority is lossless, and none carries frames.", columns, rows, |((port, _), _)| {
        Some(port.name())
    })
}

fn marks<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let columns: Columns<'_, PortPeriod<'_>> = &[
        ("port", |it| Cell::text(it.name())),
        ("marks/s", |it| Cell::per_second(marked(it))),
        ("CNPs", |it| Cell::count(counted(it, &CNPS))),
        ("no sender", |it| Cell::count(counted(it, &CNPS_MISSING)).toned(Tone::Warn)),
        ("flows", |it| Cell::of(it.figure("flows", "known"), Cell::count)),
        ("resolved", |it| Cell::of(it.figure("flows", "resolved"), Cell::count)),
        ("unresolved", |it| Cell::of(it.figure("flows", "unresolved"), Cell::count)),
        ("far allows", |it| Cell::of(it.figure("lscc", "feedback.last_bits_per_second"), bits)),
        ("advertised", |it| Cell::of(it.figure("lscc", "advertised_rates.last_bits_per_second"), bits)),
        ("Q*", |it| Cell::of(it.figure("lscc", "pseudo_queue_wire_bytes"), Cell::bytes)),
        ("slowed", |it| grown(it, "themis", "slowing.slowed")),
    ];
    Grid::of("The gateway has no ports.", columns, ports, |it| Some(it.name()))
}

fn bits(bits_per_second: u64) -> Cell {
    Cell::speed(bits_per_second as f64 / 8.0)
}

fn slots<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let columns: Columns<'_, PortPeriod<'_>> = &[
        ("port", |it| Cell::text(it.name())),
        ("slot", |it| Cell::of(it.figure("bifrost", "slot_ns"), Cell::nanos)),
        ("slots", |it| Cell::count(it.counted("bifrost", &["slots"]))),
        ("paused", |it| Cell::count(it.counted("bifrost", &["paused_slots"])).toned(Tone::Warn)),
        ("L queued", |it| Cell::of(it.figure("bifrost", "slot.queue_wire_bytes"), Cell::bytes)),
        ("F coming", |it| Cell::of(it.figure("bifrost", "slot.incoming_wire_bytes"), Cell::bytes)),
        ("granted", |it| Cell::of(it.figure("bifrost", "slot.grant_wire_bytes"), Cell::bytes)),
        ("grants in", |it| grown(it, "grants", "received.taken")),
        ("missed", |it| grown(it, "grants", "received.missed").toned(Tone::Warn)),
        ("credits in", |it| grown(it, "credits", "taken")),
        ("missed", |it| grown(it, "credits", "missed").toned(Tone::Warn)),
        ("far ports", |it| Cell::of(it.figure("port_grants", "far_ports"), Cell::count)),
    ];
    let schemes = ["bifrost", "grants", "credits", "port_grants"];
    let keys = ["slot_ns", "received.taken", "hears", "far_ports"];
    let runs = move |port: &PortPeriod<'_>| {
        schemes.iter().zip(keys).any(|(list, key)| port.figure(list, key).is_some())
    };
    let otherwise = "No port has slots, grants or credits.";
    Grid::of(otherwise, columns, ports.filter(runs), |it| Some(it.name()))
}

/// The port, the priority if there is one, the place, the reason, those of the period and those since the start.
type Drop = (String, Option<u8>, &'static str, String, u64, u64);

fn drops<'a>(ports: impl Iterator<Item = PortPeriod<'a>>) -> Grid {
    let columns: Columns<'_, Drop> = &[
        ("port", |it| Cell::text(it.0.clone())),
        ("prio", |it| Cell::of(it.1, |priority| Cell::text(priority.to_string()))),
        ("at", |it| Cell::text(it.2)),
        ("reason", |it| Cell::text(it.3.clone())),
        ("new", |it| Cell::count(it.4).toned(Tone::Bad)),
        ("since start", |it| Cell::count(it.5)),
    ];
    let rows = ports.flat_map(|port| {
        let mut rows = Vec::new();
        for priority in port.priorities() {
            let recent = priority.drops();
            let places = [("in", &priority.now.ingress.dropped), ("out", &priority.now.egress.dropped)];
            for (at, reasons) in places {
                for (reason, total) in reasons {
                    let new = recent.iter().find(|it| it.at == at && it.reason == **reason);
                    let new = new.map_or(0, |it| it.frames);
                    let number = Some(priority.now.priority);
                    rows.push((port.name().into(), number, at, reason.to_string(), new, total.frames));
                }
            }
        }
        rows.extend(device_losses(port));
        rows
    });
    Grid::of("Nothing was dropped.", columns, rows, |it| Some(&it.0))
}

fn device_losses(port: PortPeriod<'_>) -> impl Iterator<Item = Drop> {
    type Read = fn(&telemetry::WirePortReport) -> u64;
    let counters: [(&str, Read); 6] = [
        ("ring full (missed)", |it| it.counters.hardware.missed),
        ("no packet buffer", |it| it.counters.hardware.no_mbuf),
        ("receive errors", |it| it.counters.hardware.receive_errors),
        ("transmit errors", |it| it.counters.hardware.transmit_errors),
        ("control frames lost", |it| it.counters.control.lost),
        ("emulated link full", |it| it.emulation.map_or(0, |link| link.overflowed)),
    ];
    let rows = counters.into_iter().map(move |(reason, read)| {
        (port.name().to_owned(), None, "device", reason.to_owned(), port.count(read), read(port.now))
    });
    rows.filter(|(.., total)| *total > 0)
}

fn cores(period: &Period<'_>, only: Option<&str>) -> Grid {
    let columns: Columns<'_, (Period<'_>, &WorkerReport)> = &[
        ("core", |(_, it)| Cell::text(it.core.to_string())),
        ("load", |(period, it)| Cell::of(period.load(it), Cell::share)),
        ("ports", |(_, it)| Cell::text(it.ports.join(" "))),
        ("frames/s", |(period, it)| {
            let frames = period.of_worker(it, |it| it.runtime.since_start.counts.frames);
            Cell::per_second(frames as f64 * 1e9 / period.elapsed_ns.max(1) as f64)
        }),
        ("ns/frame", |(period, it)| {
            let busy = period.of_worker(it, |it| it.runtime.since_start.counts.busy_ns);
            let frames = period.of_worker(it, |it| it.runtime.since_start.counts.frames);
            Cell::of((frames > 0).then(|| busy / frames.max(1)), Cell::count)
        }),
        ("turn p99", |(_, it)| Cell::nanos(it.turn.p99_ns)),
        ("turn max", |(_, it)| Cell::nanos(it.turn.max_ns)),
        ("covered", |(_, it)| Cell::of(it.covered_lateness_ns, Cell::nanos)),
        ("late", |(period, it)| Cell::count(period.of_worker(it, |it| it.late_turns)).toned(Tone::Bad)),
    ];
    let serves = |it: &&WorkerReport| only.is_none_or(|name| it.ports.iter().any(|port| port == name));
    let rows = period.now.workers.iter().filter(serves).map(|worker| (*period, worker));
    Grid::of("The gateway has no workers.", columns, rows, |(_, it)| match it.ports.as_slice() {
        [port] => Some(port),
        _ => None,
    })
}

/// A row of the health view: a finding at a class, or a class without one.
struct Judged {
    port: Option<String>,
    priority: Option<u8>,
    verdict: HealthVerdict,
    finding: Option<Finding>,
}

fn health(period: &Period<'_>, only: Option<&str>) -> Grid {
    let columns: Columns<'_, Judged> = &[
        ("port", |it| Cell::of(it.port.clone(), Cell::text)),
        ("prio", |it| Cell::of(it.priority, |priority| Cell::text(priority.to_string()))),
        ("verdict", |it| Cell::word(it.verdict.name(), tone(it.verdict))),
        ("finding", |it| Cell::text(it.finding.as_ref().map_or("nothing is wrong", |it| it.found.as_str()))),
    ];
    let rows = judged(&Health::of(period, only), only);
    let note = |row: &Judged| match &row.finding {
        Some(it) => vec![it.rule.to_string(), it.found.clone(), format!("Next: {}", it.next)],
        None => Vec::new(),
    };
    let notes: Vec<_> = rows.iter().map(note).collect();
    // There is a row in any case: to have no lossless class is a finding too.
    let mut grid = Grid::of("", columns, rows, |it| it.port.as_deref());
    grid.rows.iter_mut().zip(notes).for_each(|(row, note)| row.note = note);
    grid
}

/// The findings, the cause first, and then the classes without any.
fn judged(health: &Health, only: Option<&str>) -> Vec<Judged> {
    let found = health.ranked().into_iter().flat_map(|(finding, classes)| {
        let places = match classes.as_slice() {
            [] => vec![(only.map(str::to_owned), None)],
            classes => classes.iter().map(|it| (Some(it.port.clone()), Some(it.priority))).collect(),
        };
        let row = |(port, priority)| Judged {
            port,
            priority,
            verdict: finding.verdict,
            finding: Some(finding.clone()),
        };
        places.into_iter().map(row).collect::<Vec<_>>()
    });
    let well = health.classes.iter().filter(|it| it.findings.is_empty()).map(|it| Judged {
        port: Some(it.port.clone()),
        priority: Some(it.priority),
        verdict: it.verdict,
        finding: None,
    });
    found.chain(well).collect()
}

/// The tone of a verdict.
pub fn tone(verdict: HealthVerdict) -> Tone {
    match verdict {
        HealthVerdict::Healthy => Tone::Good,
        HealthVerdict::Watch => Tone::Warn,
        HealthVerdict::Unhealthy => Tone::Bad,
    }
}
