//! `show queues`.

use super::shown::Shown;
use crate::table::{Table, bytes, nanos, section, thousands};
use crate::tables::threshold;

/// Watermarks are since they were last cleared; those called persistent, since the start.
pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_groups(page, shown);
    write_headroom(page, shown);
    write_queues(page, shown);
    write_delays(page, shown);
    if page.is_empty() {
        page.push_str("No priority is lossless, and no frame has been received or sent.\n");
    }
}

fn write_groups(page: &mut String, shown: &Shown<'_>) {
    let headings =
        ["port", "PG", "frames in", "dropped", "occupancy", "watermark", "persistent", "XOFF", "XON"];
    let mut table = Table::new(2, headings);
    for (port, priority, now) in shown.priorities() {
        let group = &priority.ingress;
        if !group.lossless && group.received.frames == 0 {
            continue;
        }
        let limits = group.limits.as_ref();
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            thousands(group.received.frames),
            thousands(group.dropped.values().map(|count| count.frames).sum()),
            bytes(group.occupancy_bytes),
            bytes(now.group_watermark_bytes),
            bytes(group.watermark_bytes),
            limits.map_or_else(|| "lossy".into(), threshold),
            limits.map_or_else(String::new, |limits| bytes(limits.xon_bytes)),
        ]);
    }
    section(page, "PRIORITY GROUPS", &table);
}

fn write_headroom(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(2, ["port", "PG", "occupancy", "watermark", "persistent", "size"]);
    for (port, priority, now) in shown.priorities() {
        let group = &priority.ingress;
        let Some(limits) = &group.limits else { continue };
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            bytes(now.headroom_bytes),
            bytes(now.headroom_watermark_bytes),
            bytes(group.headroom_watermark_bytes),
            bytes(limits.headroom_bytes),
        ]);
    }
    section(page, "HEADROOM of lossless priority groups", &table);
}

fn write_queues(page: &mut String, shown: &Shown<'_>) {
    let headings = [
        "port",
        "queue",
        "frames out",
        "bytes out",
        "queued",
        "watermark",
        "persistent",
        "ECN marked",
        "dropped",
    ];
    let mut table = Table::new(2, headings);
    for (port, priority, now) in shown.priorities() {
        let queue = &priority.egress;
        if queue.transmitted.frames == 0 && queue.queued.frames == 0 && queue.dropped.is_empty() {
            continue;
        }
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            thousands(queue.transmitted.frames),
            bytes(queue.transmitted.bytes),
            bytes(queue.queued.bytes),
            bytes(now.queue_watermark_bytes),
            bytes(queue.watermark_bytes),
            thousands(queue.ecn_marked),
            thousands(queue.dropped.values().map(|count| count.frames).sum()),
        ]);
    }
    section(page, "QUEUES", &table);
}

fn write_delays(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(2, ["port", "queue", "p50", "p99", "p99.9", "max"]);
    for (port, priority, _) in shown.priorities() {
        let delay = &priority.egress.delay;
        if priority.egress.transmitted.frames == 0 {
            continue;
        }
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            nanos(delay.p50_ns),
            nanos(delay.p99_ns),
            nanos(delay.p999_ns),
            nanos(delay.max_ns),
        ]);
    }
    section(page, "QUEUE DELAY", &table);
}
