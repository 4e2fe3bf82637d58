//! `show runtime`.

use super::shown::Shown;
use crate::runtime::{PerFrame, ProfileReport};
use crate::snapshot::{Snapshot, WorkerReport};
use crate::table::{Columns, Table, section};
use units::human::{bytes, duration, percent, thousands};

pub fn write(page: &mut String, shown: &Shown<'_>) {
    let Snapshot { version, tsc_hz, .. } = shown.snapshot;
    if *tsc_hz == 0 {
        page.push_str(&format!("The gateway runs Longspan {version}, which keeps no run-time profile.\n"));
        return;
    }
    let memory = &shown.snapshot.memory;
    if !shown.filtered && memory.resident_bytes > 0 {
        let (resident, huge) = (bytes(memory.resident_bytes), bytes(memory.huge_page_bytes));
        page.push_str(&format!("Tables and the rest of the process: {resident}, {huge} on huge pages\n"));
    }
    let workers: Vec<_> = shown.workers().collect();
    write_profiles(page, shown, &workers, |worker| worker.runtime.interval.as_ref(), "in ");
    write_profiles(page, shown, &workers, |worker| Some(&worker.runtime.since_start), "since the start, ");
}

/// Writes the profiles that `read` finds; `period` and the time that they cover end the titles.
fn write_profiles(
    page: &mut String,
    shown: &Shown<'_>,
    workers: &[&WorkerReport],
    read: fn(&WorkerReport) -> Option<&ProfileReport>,
    period: &str,
) {
    let profiles: Vec<_> =
        workers.iter().filter_map(|worker| Some((worker.core.to_string(), read(worker)?))).collect();
    let elapsed_ns = profiles.iter().map(|(_, it)| it.counts.elapsed_ns()).max().unwrap_or_default();
    let period = format!("{period}{}", duration(elapsed_ns));
    let columns: Columns<'_, &(String, &ProfileReport)> = &[
        ("core", |(core, _)| core.clone()),
        ("turns", |(_, it)| thousands(it.counts.busy_turns + it.counts.idle_turns)),
        ("idle", |(_, it)| share(it.idle_share)),
        ("load", |(_, it)| share(it.load)),
        ("bursts", |(_, it)| thousands(it.counts.bursts)),
        ("frames", |(_, it)| thousands(it.counts.frames)),
        ("per burst", |(_, it)| decimal(it.frames_per_burst)),
    ];
    section(page, &format!("TURNS {period}"), &Table::of(1, columns, &profiles));
    let mut table = Table::new(2, ["core", "stage", "share", "cycles/frame", "ns/frame"]);
    for (core, profile) in &profiles {
        let mut row = |name: &str, share, PerFrame { ns_per_frame, cycles_per_frame }| {
            let cells = [self::share(share), decimal(cycles_per_frame), decimal(ns_per_frame)];
            table.row([core.clone(), name.to_owned()].into_iter().chain(cells));
        };
        for stage in &profile.stages {
            row(&stage.name, stage.share, stage.per_frame);
        }
        row("all", profile.per_frame.ns_per_frame.map(|_| 1.0), profile.per_frame);
    }
    let ghz = shown.snapshot.tsc_hz as f64 / 1e9;
    section(page, &format!("BUSY TURNS {period}, in cycles of the TSC at {ghz:.2} GHz"), &table);
    let columns: Columns<'_, &(String, &ProfileReport)> = &[
        ("core", |(core, _)| core.clone()),
        ("idle turns", |(_, it)| thousands(it.counts.idle_turns)),
        ("cycles/turn", |(_, it)| decimal(it.cycles_per_idle_turn)),
        ("ns/turn", |(_, it)| decimal(it.ns_per_idle_turn)),
        ("asleep", |(_, it)| duration(it.counts.asleep_ns)),
    ];
    section(page, &format!("IDLE TURNS {period}"), &Table::of(1, columns, &profiles));
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(String::new, percent)
}

fn decimal(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{number:.1}"))
}
