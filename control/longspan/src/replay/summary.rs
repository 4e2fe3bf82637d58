//! The page on standard output: the results for a network operator, and the written files.

use super::outputs::Destinations;
use core::fmt::Write;
use replay::report::Report;
use report::{PortReport, PriorityReport};
use switch::Volume;
use switch::figure::LISTS;
use telemetry::table::{Table, bytes, nanos, rate, section, thousands};
use telemetry::tables::{self, threshold};

/// The page, in plain ASCII. It has at most 100 columns if names have the usual length.
pub fn page(report: &Report, destinations: &Destinations) -> String {
    let mut page = heading(report);
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

/// A line of the page. Writing to a string cannot fail.
macro_rules! line {
    ($page:expr) => { $page.push('\n') };
    ($page:expr, $($argument:tt)*) => { let _ = writeln!($page, $($argument)*); };
}

fn heading(report: &Report) -> String {
    let mut page = String::new();
    let input = &report.input;
    let span = |first: Option<u64>, last: Option<u64>| nanos(last.unwrap_or(0) - first.unwrap_or(0));
    line!(page, "Replay through gateway \"{}\" (seed {})", report.program.name, report.program.seed);
    line!(
        page,
        "{} frames, {}; captured over {}, replayed over {}, finished after {}",
        thousands(input.read.frames),
        bytes(input.read.bytes.0),
        span(input.first_ns, input.last_ns),
        span(report.clock.first_arrival_ns, report.clock.last_arrival_ns),
        span(report.clock.first_arrival_ns, report.clock.end_ns),
    );
    if !input.complete {
        line!(
            page,
            "A capture could not be read to its end; this summary covers the frames before that point."
        );
    }
    if input.clamped_timestamps > 0 {
        let frames = thousands(input.clamped_timestamps);
        line!(page, "{frames} timestamps lay before that of an earlier frame and were raised.");
    }
    write_unassigned(&mut page, report);
    page
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
    let headings = [
        "port",
        "rate",
        "in frames",
        "in bytes",
        "out frames",
        "out bytes",
        "control",
        "consumed",
        "dropped",
    ];
    let mut table = Table::new(1, headings);
    for port in &report.ports {
        let consumed: Volume = port.consumed.values().copied().sum();
        let dropped: u64 = port.drops().map(|(.., count)| count.frames).sum();
        table.row([
            port.name.clone(),
            rate(port.rate_bits_per_second),
            thousands(port.arrived.frames),
            bytes(port.arrived.bytes.0),
            thousands(port.out.frames),
            bytes(port.out.bytes.0),
            thousands(port.control_out.frames),
            thousands(consumed.frames),
            thousands(dropped),
        ]);
    }
    section(page, "PORTS", &table);
}

fn priorities(report: &Report) -> impl Iterator<Item = (&PortReport, &PriorityReport)> {
    report.ports.iter().flat_map(|port| port.priorities.iter().map(move |priority| (port, priority)))
}

fn write_lossless(page: &mut String, report: &Report) {
    let headings =
        ["port", "prio", "XOFF", "refresh", "XON", "paused for", "peak", "XOFF at", "headroom peak", "size"];
    let mut table = Table::new(2, headings);
    for (port, priority) in priorities(report) {
        let (group, pauses) = (&priority.ingress, &priority.pauses_sent);
        let Some(limits) = &group.limits else { continue };
        table.row([
            port.name.clone(),
            priority.priority.to_string(),
            thousands(pauses.frames.xoff),
            thousands(pauses.frames.refresh),
            thousands(pauses.frames.xon),
            nanos(pauses.paused_ns),
            bytes(group.watermark_bytes),
            threshold(limits),
            bytes(group.headroom_watermark_bytes),
            bytes(limits.headroom_bytes),
        ]);
    }
    section(page, "LOSSLESS PRIORITIES: pauses sent, and occupancy of the priority groups", &table);
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
    let headings =
        ["port", "prio", "frames", "ECN marked", "peak", "p50 delay", "p99 delay", "max delay", "paused for"];
    let mut table = Table::new(2, headings);
    for (port, priority) in priorities(report) {
        let (queue, pauses) = (&priority.egress, &priority.pauses_received);
        let silent = queue.transmitted.frames == 0 && queue.queued.frames == 0 && pauses.paused_ns == 0;
        if silent && queue.dropped.is_empty() {
            continue;
        }
        table.row([
            port.name.clone(),
            priority.priority.to_string(),
            thousands(queue.transmitted.frames),
            thousands(queue.ecn_marked),
            bytes(queue.watermark_bytes),
            nanos(queue.delay.p50_ns),
            nanos(queue.delay.p99_ns),
            nanos(queue.delay.max_ns),
            nanos(pauses.paused_ns),
        ]);
    }
    section(page, "QUEUES", &table);
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
}

fn write_storms(page: &mut String, report: &Report) {
    let mut table = Table::new(2, ["port", "prio", "storms", "restored", "status"]);
    for (port, priority) in priorities(report) {
        let Some(watchdog) = priority.egress.watchdog.filter(|watchdog| watchdog.counters.storms > 0) else {
            continue;
        };
        table.row([
            port.name.clone(),
            priority.priority.to_string(),
            thousands(watchdog.counters.storms),
            thousands(watchdog.counters.restored),
            if watchdog.stormed { "stormed".into() } else { "restored".into() },
        ]);
    }
    section(page, "STORMS: queues with a pause storm", &table);
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
    let mut table = Table::new(2, ["", ""]);
    for (port, path) in report.ports.iter().zip(&destinations.captures) {
        if let Some(path) = path {
            table.row([port.name.clone(), path.display().to_string()]);
        }
    }
    let others =
        [("report", &destinations.report), ("series", &destinations.series), ("plot", &destinations.plot)];
    for (what, path) in others {
        if let Some(path) = path {
            table.row([what.into(), path.display().to_string()]);
        }
    }
    if !table.is_empty() {
        line!(page);
        line!(page, "FILES");
        table.write_body_to(page);
    }
}
