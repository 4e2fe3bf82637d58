//! The page on standard output: the results for a network operator, and the written files.

use super::outputs::Destinations;
use crate::chart::axis::Quantity;
use crate::console::line;
use core::fmt::Write;
use core::time::Duration;
use replay::report::{InputReport, Report};
use report::{LimitsReport, PortReport, PriorityReport, WatchdogQueueReport};
use switch::Volume;
use switch::figure::LISTS;
use telemetry::table::{Columns, Table, section};
use telemetry::tables::{self, threshold};
use units::human::{bytes, count_of, nanos, rate, thousands};

/// The most raised timestamps that cause no drops worth a warning: a burst that any port takes.
const FEW: u64 = 32;

/// The page, in plain ASCII, of a replay that took so long on this machine. It has at most 100 columns if names have the
/// usual length.
pub fn page(report: &Report, took: Duration, destinations: &Destinations) -> String {
    let mut page = heading(report, took);
    write_ports(&mut page, report);
    write_lossless(&mut page, report);
    write_listed(&mut page, report);
    write_queues(&mut page, report);
    write_drops(&mut page, report);
    write_storms(&mut page, report);
    write_verdict(&mut page, report);
    write_files(&mut page, report, destinations);
    page
}

fn heading(report: &Report, took: Duration) -> String {
    let mut page = String::new();
    let input = &report.input;
    let clock = &report.clock;
    // The clock stands still while frames pass by that enter no port.
    let between =
        |first: Option<u64>, last: Option<u64>| last.unwrap_or(0).saturating_sub(first.unwrap_or(0));
    let arrivals = between(clock.first_arrival_ns, clock.last_arrival_ns);
    let per_second = |count: u64| (u128::from(count) * 1_000_000_000 / u128::from(arrivals.max(1))) as u64;
    let rates = format!(
        ": {} frames/s, {}",
        thousands(per_second(input.read.frames)),
        Quantity::Rate.shown(per_second(input.read.bytes.0 * 8) as f64)
    );
    line!(page, "Replay through gateway \"{}\" (seed {})", report.program.name, report.program.seed);
    line!(
        page,
        "{}, {}, captured over {}{}",
        count_of(input.read.frames, "frame"),
        bytes(input.read.bytes.0),
        nanos(between(input.first_ns, input.last_ns)),
        if arrivals > 0 { rates } else { String::new() },
    );
    line!(
        page,
        "The gateway's clock ran for {}, of which {} after the last frame. It took {} to replay.",
        nanos(between(clock.first_arrival_ns, clock.end_ns)),
        nanos(between(clock.last_arrival_ns, clock.end_ns)),
        nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
    );
    if !input.complete {
        line!(
            page,
            "A capture could not be read to its end; this summary covers the frames before that point."
        );
    }
    write_clock_faults(&mut page, &report.input);
    write_unassigned(&mut page, report);
    page
}

fn write_clock_faults(page: &mut String, input: &InputReport) {
    for (count, what, then) in [
        (input.clamped_timestamps, "timestamp", "up to 1 ms before that of an earlier frame: raised to it"),
        (input.stray_timestamps, "timestamp", "far from all others: that frame came with the one before"),
        (input.clock_steps, "step", "back of the clock of a capture: frames kept their gaps"),
    ] {
        if count > 0 {
            line!(page, "{} {then}.", count_of(count, what));
        }
    }
}

fn write_unassigned(page: &mut String, report: &Report) {
    let unassigned = &report.input.unassigned;
    if unassigned.frames == 0 {
        return;
    }
    line!(page, "{} frames match no --from and were not replayed:", thousands(unassigned.frames));
    for source in &unassigned.sources {
        line!(page, "  {} from {}", thousands(source.frames), source.mac);
    }
    if unassigned.other_sources > 0 {
        line!(page, "  {} from other sources", thousands(unassigned.other_sources));
    }
}

fn write_ports(page: &mut String, report: &Report) {
    let columns: Columns<'_, &PortReport> = &[
        ("port", |port| port.name.clone()),
        ("rate", |port| rate(port.rate_bits_per_second)),
        ("in frames", |port| thousands(port.arrived.frames)),
        ("in bytes", |port| bytes(port.arrived.bytes.0)),
        ("out frames", |port| thousands(port.out.frames)),
        ("out bytes", |port| bytes(port.out.bytes.0)),
        ("control", |port| thousands(port.control_out.frames)),
        ("consumed", |port| thousands(port.consumed.values().copied().sum::<Volume>().frames)),
        ("dropped", |port| thousands(port.drops().map(|(.., count)| count.frames).sum())),
    ];
    section(page, "PORTS", &Table::of(1, columns, &report.ports));
}

/// A priority of a port.
type Class<'a> = (&'a PortReport, &'a PriorityReport);

fn priorities(report: &Report) -> impl Iterator<Item = Class<'_>> {
    report.ports.iter().flat_map(|port| port.priorities.iter().map(move |priority| (port, priority)))
}

fn write_lossless(page: &mut String, report: &Report) {
    let columns: Columns<'_, (Class<'_>, &LimitsReport)> = &[
        ("port", |((port, _), _)| port.name.clone()),
        ("prio", |((_, it), _)| it.priority.to_string()),
        ("XOFF", |((_, it), _)| thousands(it.pauses_sent.frames.xoff)),
        ("refresh", |((_, it), _)| thousands(it.pauses_sent.frames.refresh)),
        ("XON", |((_, it), _)| thousands(it.pauses_sent.frames.xon)),
        ("paused for", |((_, it), _)| nanos(it.pauses_sent.paused_ns)),
        ("peak", |((_, it), _)| bytes(it.ingress.watermark_bytes)),
        ("XOFF at", |(_, limits)| threshold(limits)),
        ("headroom peak", |((_, it), _)| bytes(it.ingress.headroom_watermark_bytes)),
        ("size", |(_, limits)| bytes(limits.headroom_bytes)),
    ];
    let rows = priorities(report).filter_map(|class| Some((class, class.1.ingress.limits.as_ref()?)));
    let title = "LOSSLESS PRIORITIES: pauses sent, and occupancy of the priority groups";
    section(page, title, &Table::of(2, columns, rows));
}

/// The tables that are listed for a summary.
fn write_listed(page: &mut String, report: &Report) {
    for list in LISTS {
        let ports: Vec<_> =
            report.ports.iter().map(|port| (port.name.as_str(), port.figures.of(list, None))).collect();
        tables::write_listed(page, list, |table| table.in_summary, &ports);
    }
}

fn write_queues(page: &mut String, report: &Report) {
    let columns: Columns<'_, Class<'_>> = &[
        ("port", |(port, _)| port.name.clone()),
        ("prio", |(_, it)| it.priority.to_string()),
        ("frames", |(_, it)| thousands(it.egress.transmitted.frames)),
        ("ECN marked", |(_, it)| thousands(it.egress.ecn_marked)),
        ("peak", |(_, it)| bytes(it.egress.watermark_bytes)),
        ("p50 delay", |(_, it)| nanos(it.egress.delay.p50_ns)),
        ("p99 delay", |(_, it)| nanos(it.egress.delay.p99_ns)),
        ("max delay", |(_, it)| nanos(it.egress.delay.max_ns)),
        ("paused for", |(_, it)| nanos(it.pauses_received.paused_ns)),
    ];
    let is_used = |(_, it): &Class<'_>| {
        let has_frames = it.egress.transmitted.frames > 0 || it.egress.queued.frames > 0;
        has_frames || it.pauses_received.paused_ns > 0 || !it.egress.dropped.is_empty()
    };
    section(page, "QUEUES", &Table::of(2, columns, priorities(report).filter(is_used)));
}

fn write_drops(page: &mut String, report: &Report) {
    let mut table = Table::new(3, ["port", "at", "reason", "frames", "bytes"]);
    for port in &report.ports {
        for (place, reason, count) in port.drops() {
            let (frames, bytes) = (thousands(count.frames), bytes(count.bytes.0));
            table.row([port.name.clone(), place.into(), reason.to_string(), frames, bytes]);
        }
    }
    section(page, "DROPS", &table);
    if !table.is_empty() && report.input.clamped_timestamps > FEW {
        line!(page, "  Frames with a raised timestamp came in one instant. They may be the cause of drops.");
    }
}

fn write_storms(page: &mut String, report: &Report) {
    let columns: Columns<'_, (Class<'_>, WatchdogQueueReport)> = &[
        ("port", |((port, _), _)| port.name.clone()),
        ("prio", |((_, it), _)| it.priority.to_string()),
        ("storms", |(_, watchdog)| thousands(watchdog.counters.storms)),
        ("restored", |(_, watchdog)| thousands(watchdog.counters.restored)),
        ("status", |(_, watchdog)| if watchdog.stormed { "stormed".into() } else { "restored".into() }),
    ];
    let rows = priorities(report).filter_map(|class| Some((class, class.1.egress.watchdog?)));
    let stormed = rows.filter(|(_, watchdog)| watchdog.counters.storms > 0);
    section(page, "STORMS: queues with a pause storm", &Table::of(2, columns, stormed));
}

fn write_verdict(page: &mut String, report: &Report) {
    line!(page);
    let queued = &report.ending.queued;
    match report.ending.state {
        "drained" => {}
        "deadlock" => {
            line!(page, "DEADLOCK: no queued frame can ever leave.");
        }
        _ => {
            line!(page, "Not drained: frames were still queued a minute after the last arrival.");
        }
    }
    if queued.frames > 0 {
        line!(page, "{} frames ({}) are still queued.", thousands(queued.frames), bytes(queued.bytes.0));
    }
    for group in &report.ending.paused {
        let held = bytes(group.occupancy_bytes);
        line!(
            page,
            "Port {} still pauses its peer for priority {}, which holds {held}.",
            group.port,
            group.priority
        );
    }
    let verdict = if report.conservation.holds {
        "Every frame is accounted for: sent, consumed, dropped for a named reason, or still queued."
    } else {
        "NOT EVERY FRAME IS ACCOUNTED FOR: see \"conservation\" in the report."
    };
    line!(page, "{verdict}");
}

fn write_files(page: &mut String, report: &Report, destinations: &Destinations) {
    let captures = report.ports.iter().map(|port| port.name.as_str()).zip(&destinations.captures);
    let others =
        [("report", &destinations.report), ("series", &destinations.series), ("plot", &destinations.plot)];
    let mut table = Table::new(2, ["", ""]);
    for (what, path) in captures.chain(others) {
        if let Some(path) = path {
            table.row([what.to_owned(), path.display().to_string()]);
        }
    }
    if !table.is_empty() {
        line!(page);
        line!(page, "FILES");
        table.write_body_to(page);
    }
}
