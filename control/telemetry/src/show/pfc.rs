//! `show pfc`.

use super::shown::{Shown, yes_or_no};
use crate::table::{Table, duration, nanos, section, thousands};
use report::{WatchdogChangeReport, WatchdogEventReport};

/// The events of the watchdogs that are shown: the latest.
const EVENTS_SHOWN: usize = 16;

pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_sent(page, shown);
    write_received(page, shown);
    write_storms(page, shown);
    write_events(page, shown);
    if page.is_empty() {
        page.push_str("No priority is lossless, and no pause frame has been received.\n");
    }
}

fn write_sent(page: &mut String, shown: &Shown<'_>) {
    let headings = [
        "port",
        "prio",
        "XOFF",
        "refresh",
        "XON",
        "slot",
        "paused for",
        "threshold",
        "pool",
        "memory",
        "now",
    ];
    let mut table = Table::new(2, headings);
    for (port, priority, now) in shown.priorities() {
        let pauses = &priority.pauses_sent;
        if !priority.ingress.lossless && pauses.paused_ns == 0 {
            continue;
        }
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            thousands(pauses.xoff),
            thousands(pauses.refresh),
            thousands(pauses.xon),
            thousands(pauses.slot),
            nanos(pauses.paused_ns),
            nanos(pauses.paused_by_cause_ns.threshold),
            nanos(pauses.paused_by_cause_ns.pool_full),
            nanos(pauses.paused_by_cause_ns.memory_low),
            yes_or_no(now.pauses_peer),
        ]);
    }
    section(page, "PFC SENT: how often and for how long the gateway paused the peer", &table);
}

fn write_received(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(2, ["port", "prio", "XOFF", "XON", "ignored", "paused for", "now"]);
    for (port, priority, now) in shown.priorities() {
        let pauses = &priority.pauses_received;
        if pauses.xoff + pauses.xon + pauses.ignored == 0 {
            continue;
        }
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            thousands(pauses.xoff),
            thousands(pauses.xon),
            thousands(pauses.ignored),
            nanos(pauses.paused_ns),
            yes_or_no(now.paused_by_peer),
        ]);
    }
    section(page, "PFC RECEIVED: how often and for how long the peer paused a queue", &table);
}

fn write_storms(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(2, ["port", "prio", "detected", "restored", "status"]);
    for (port, priority, _) in shown.priorities() {
        let Some(watchdog) = &priority.egress.watchdog else { continue };
        table.row([
            port.port.name.clone(),
            priority.priority.to_string(),
            thousands(watchdog.storms),
            thousands(watchdog.restored),
            if watchdog.stormed { "stormed".into() } else { "operational".into() },
        ]);
    }
    section(page, "PFC WATCHDOG: pause storms by queue", &table);
}

fn write_events(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(5, ["ago", "port", "prio", "event", "action or cause", "queued frames"]);
    let is_shown = |event: &&WatchdogEventReport| shown.ports.iter().any(|it| it.port.name == event.port);
    let events: Vec<_> = shown.snapshot.watchdog.events.iter().filter(is_shown).collect();
    for event in events.iter().rev().take(EVENTS_SHOWN) {
        let (what, by, waited) = match &event.change {
            WatchdogChangeReport::Detected { action, waiting, .. } => {
                ("detected", action, thousands(waiting.frames))
            }
            WatchdogChangeReport::Restored { cause, .. } => ("restored", cause, String::new()),
        };
        table.row([
            duration(shown.snapshot.at_ns.saturating_sub(event.at_ns)),
            event.port.clone(),
            event.priority.to_string(),
            what.into(),
            by.to_string(),
            waited,
        ]);
    }
    section(page, "STORMS, latest first", &table);
}
