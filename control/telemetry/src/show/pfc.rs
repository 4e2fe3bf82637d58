//! `show pfc`.

use super::shown::{Shown, View, write_listed, yes_or_no};
use crate::snapshot::CoveredDelayReport;
use crate::table::{Columns, Table, section};
use report::{
    PausesReceivedReport, PausesSentReport, SourceReport, StalledQueueReport, WatchdogEventReport,
    WatchdogQueueReport,
};
use switch::{PauseCause, PausesReceived, WatchdogChange};
use units::human::{bytes, duration, nanos, thousands};

/// How many events of the watchdogs are shown.
const EVENTS_SHOWN: usize = 16;

pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_sent(page, shown);
    write_listed(page, shown, View::Pfc, "");
    write_covered_delays(page, shown);
    write_received(page, shown);
    write_storms(page, shown);
    write_stalled(page, shown);
    write_events(page, shown);
    if page.is_empty() {
        page.push_str("No priority is lossless, and no pause frame has been received.\n");
    }
}

fn write_sent(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&PausesSentReport, bool)> = &[
        ("XOFF", |(pauses, _)| thousands(pauses.frames.xoff)),
        ("refresh", |(pauses, _)| thousands(pauses.frames.refresh)),
        ("XON", |(pauses, _)| thousands(pauses.frames.xon)),
        ("slot", |(pauses, _)| thousands(pauses.frames.slot)),
        ("timed", |(pauses, _)| thousands(pauses.frames.timed)),
        ("paused for", |(pauses, _)| nanos(pauses.paused_ns)),
        ("threshold", |(pauses, _)| nanos(pauses.paused_by(PauseCause::Threshold))),
        ("pool", |(pauses, _)| nanos(pauses.paused_by(PauseCause::PoolFull))),
        ("memory", |(pauses, _)| nanos(pauses.paused_by(PauseCause::MemoryLow))),
        ("ring", |(pauses, _)| nanos(pauses.paused_by(PauseCause::ReceiveRing))),
        ("now", |(_, pauses_peer)| yes_or_no(*pauses_peer)),
    ];
    let title = "PFC SENT: how often and for how long the gateway paused the peer";
    shown.write_priorities(page, title, "prio", columns, |priority, now| {
        let pauses = &priority.pauses_sent;
        let is_shown = priority.ingress.lossless || pauses.paused_ns > 0;
        is_shown.then_some((pauses, now.pauses_peer))
    });
}

fn write_covered_delays(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, CoveredDelayReport)> = &[
        ("port", |(port, _)| (*port).to_owned()),
        ("covered", |(_, it)| nanos(it.covered_ns)),
        ("applied", |(_, it)| thousands(it.applied)),
        ("refused", |(_, it)| thousands(it.refused)),
    ];
    let ports = shown.ports.iter().filter_map(|it| Some((it.port.name.as_str(), it.covered_delay?)));
    section(
        page,
        "COVERED DELAY: what headroom covers, by measured delays of the link",
        &Table::of(1, columns, ports),
    );
}

fn write_received(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&PausesReceivedReport, bool)> = &[
        ("XOFF", |(pauses, _)| thousands(pauses.frames.xoff)),
        ("XON", |(pauses, _)| thousands(pauses.frames.xon)),
        ("ignored", |(pauses, _)| thousands(pauses.frames.ignored)),
        ("paused for", |(pauses, _)| nanos(pauses.paused_ns)),
        ("now", |(_, paused_by_peer)| yes_or_no(*paused_by_peer)),
    ];
    let title = "PFC RECEIVED: how often and for how long the peer paused a queue";
    shown.write_priorities(page, title, "prio", columns, |priority, now| {
        let pauses = &priority.pauses_received;
        let PausesReceived { xoff, xon, ignored } = pauses.frames;
        let any = xoff + xon + ignored > 0;
        any.then_some((pauses, now.paused_by_peer))
    });
}

fn write_storms(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &WatchdogQueueReport> = &[
        ("detected", |it| thousands(it.counters.storms)),
        ("restored", |it| thousands(it.counters.restored)),
        ("status", |it| if it.stormed { "stormed".into() } else { "operational".into() }),
    ];
    let title = "PFC WATCHDOG: pause storms by queue";
    shown.write_priorities(page, title, "prio", columns, |priority, _| priority.egress.watchdog.as_ref());
}

fn write_stalled(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&StalledQueueReport, &SourceReport)> = &[
        ("port", |(queue, _)| queue.port.clone()),
        ("prio", |(queue, _)| queue.priority.to_string()),
        ("came in", |(_, source)| source.port.clone()),
        ("as prio", |(_, source)| source.priority.to_string()),
        ("sent none for", |(queue, _)| queue.stalled_ns.map(nanos).unwrap_or_default()),
        ("waiting", |(_, source)| bytes(source.waiting.bytes.0)),
        ("frames", |(_, source)| thousands(source.waiting.frames)),
        ("paused there", |(_, source)| yes_or_no(source.pauses_peer)),
    ];
    let is_shown = |queue: &&StalledQueueReport| shown.ports.iter().any(|it| it.port.name == queue.port);
    let queues = shown.snapshot.stalled.iter().filter(is_shown);
    let rows = queues.flat_map(|queue| queue.sources.iter().map(move |source| (queue, source)));
    let title = "STORMED QUEUES: where the frames that wait came in, and whether their senders are paused";
    section(page, title, &Table::of(4, columns, rows));
}

fn write_events(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (u64, &WatchdogEventReport)> = &[
        ("ago", |(at_ns, event)| duration(at_ns.saturating_sub(event.at_ns))),
        ("port", |(_, event)| event.port.clone()),
        ("prio", |(_, event)| event.priority.to_string()),
        ("event", |(_, event)| match event.change {
            WatchdogChange::Detected(_) => "detected".into(),
            WatchdogChange::Restored(_) => "restored".into(),
        }),
        ("action or cause", |(_, event)| match event.change {
            WatchdogChange::Detected(storm) => storm.action.name().into(),
            WatchdogChange::Restored(end) => end.cause.name().into(),
        }),
        ("queued frames", |(_, event)| match event.change {
            WatchdogChange::Detected(storm) => thousands(storm.waiting.frames),
            WatchdogChange::Restored(_) => String::new(),
        }),
    ];
    let is_shown = |event: &&WatchdogEventReport| shown.ports.iter().any(|it| it.port.name == event.port);
    let events = shown.snapshot.watchdog.events.iter().rev().filter(is_shown).take(EVENTS_SHOWN);
    let now = shown.snapshot.workers_at_ns.unwrap_or(shown.snapshot.at_ns);
    let rows = events.map(|event| (now, event));
    section(page, "STORMS, latest first", &Table::of(5, columns, rows));
}
