//! `show queues`.

use super::shown::Shown;
use crate::snapshot::LevelsReport;
use crate::table::Columns;
use crate::tables::threshold;
use report::{DelayReport, GroupReport, LimitsReport, QueueReport, StopsReport};
use units::human::{bytes, nanos, thousands};

/// Writes groups and queues. A watermark covers the time since it was last cleared, a persistent one the time since
/// the start.
pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_groups(page, shown);
    write_headroom(page, shown);
    write_stops(page, shown);
    write_queues(page, shown);
    write_delays(page, shown);
    if page.is_empty() {
        page.push_str("No priority is lossless, and no frame has been received or sent.\n");
    }
}

fn write_groups(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&GroupReport, &LevelsReport)> = &[
        ("frames in", |(group, _)| thousands(group.received.frames)),
        ("dropped", |(group, _)| thousands(group.dropped.values().map(|count| count.frames).sum())),
        ("occupancy", |(group, _)| bytes(group.occupancy_bytes)),
        ("watermark", |(_, now)| bytes(now.group_watermark_bytes)),
        ("persistent", |(group, _)| bytes(group.watermark_bytes)),
        ("XOFF", |(group, _)| group.limits.as_ref().map_or_else(|| "lossy".into(), threshold)),
        ("XON", |(group, _)| {
            group.limits.as_ref().map_or_else(String::new, |limits| bytes(limits.xon_bytes))
        }),
    ];
    shown.write_priorities(page, "PRIORITY GROUPS", "PG", columns, |priority, now| {
        let group = &priority.ingress;
        (group.lossless || group.received.frames > 0).then_some((group, now))
    });
}

fn write_headroom(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&GroupReport, &LimitsReport, &LevelsReport)> = &[
        ("occupancy", |(.., now)| bytes(now.headroom_bytes)),
        ("watermark", |(.., now)| bytes(now.headroom_watermark_bytes)),
        ("persistent", |(group, ..)| bytes(group.headroom_watermark_bytes)),
        ("size", |(_, limits, _)| bytes(limits.headroom_bytes)),
    ];
    shown.write_priorities(page, "HEADROOM of lossless priority groups", "PG", columns, |priority, now| {
        let group = &priority.ingress;
        Some((group, group.limits.as_ref()?, now))
    });
}

fn write_stops(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &StopsReport> = &[
        ("pauses", |stops| thousands(stops.headroom_sixteenths.iter().sum())),
        ("p50", |stops| nanos(stops.time.p50_ns)),
        ("p99", |stops| nanos(stops.time.p99_ns)),
        ("max", |stops| nanos(stops.time.max_ns)),
        ("most headroom", |stops| format!("{}/16", stops.most_sixteenths())),
        ("late frames", |stops| thousands(stops.disobeyed)),
    ];
    shown.write_priorities(
        page,
        "STOPS: time from an XOFF to the last frame",
        "PG",
        columns,
        |priority, _| priority.ingress.stops.as_ref().filter(|it| it.most_sixteenths() > 0),
    );
}

fn write_queues(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&QueueReport, &LevelsReport)> = &[
        ("frames out", |(queue, _)| thousands(queue.transmitted.frames)),
        ("bytes out", |(queue, _)| bytes(queue.transmitted.bytes.0)),
        ("queued", |(queue, _)| bytes(queue.queued.bytes.0)),
        ("watermark", |(_, now)| bytes(now.queue_watermark_bytes)),
        ("persistent", |(queue, _)| bytes(queue.watermark_bytes)),
        ("ECN marked", |(queue, _)| thousands(queue.ecn_marked)),
        ("dropped", |(queue, _)| thousands(queue.dropped.values().map(|count| count.frames).sum())),
    ];
    shown.write_priorities(page, "QUEUES", "queue", columns, |priority, now| {
        let queue = &priority.egress;
        let used = queue.transmitted.frames > 0 || queue.queued.frames > 0 || !queue.dropped.is_empty();
        used.then_some((queue, now))
    });
}

fn write_delays(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &DelayReport> = &[
        ("p50", |delay| nanos(delay.p50_ns)),
        ("p99", |delay| nanos(delay.p99_ns)),
        ("p99.9", |delay| nanos(delay.p999_ns)),
        ("max", |delay| nanos(delay.max_ns)),
    ];
    shown.write_priorities(page, "QUEUE DELAY", "queue", columns, |priority, _| {
        (priority.egress.transmitted.frames > 0).then_some(&priority.egress.delay)
    });
}
