//! `show ports`.

use super::shown::{Shown, View, write_listed};
use crate::snapshot::{EmulationReport, Passage, PfcPassage, WirePortReport, WorkerReport};
use crate::table::{Columns, Table, section};
use core::fmt::Write;
use report::PoolReport;
use units::human::{bytes, duration, nanos, percent, rate, thousands};

pub fn write(page: &mut String, shown: &Shown<'_>) {
    if !shown.filtered {
        write_heading(page, shown);
    }
    write_traffic(page, shown);
    write_devices(page, shown);
    write_listed(page, shown, View::Ports, "");
    write_emulation(page, shown);
    if !shown.filtered {
        write_workers(page, shown);
        write_late_turns(page, shown);
        write_pools(page, shown);
    }
}

fn write_heading(page: &mut String, shown: &Shown<'_>) {
    let it = shown.snapshot;
    let (mbufs, in_use) = (thousands(it.memory.mbufs), thousands(it.memory.mbufs_in_use));
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "Gateway \"{}\", Longspan {}, up for {}\n{in_use} of {mbufs} packet buffers in use, {} in total\n\
         {} reloads applied, {} refused",
        it.gateway,
        it.version,
        duration(it.uptime_ns),
        bytes(it.memory.size_bytes),
        thousands(it.reloads.applied),
        thousands(it.reloads.refused),
    );
}

fn write_traffic(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &WirePortReport> = &[
        ("port", |it| it.port.name.clone()),
        ("link", |it| if it.device.link_up { "up".into() } else { "down".into() }),
        ("rate", |it| rate(it.port.rate_bits_per_second)),
        ("in frames", |it| thousands(it.port.arrived.frames)),
        ("in bytes", |it| bytes(it.port.arrived.bytes.0)),
        ("out frames", |it| thousands(it.port.out.frames)),
        ("out bytes", |it| bytes(it.port.out.bytes.0)),
        ("control", |it| thousands(it.port.control_out.frames)),
        ("dropped", |it| thousands(it.port.drops().map(|(.., count)| count.frames).sum())),
    ];
    section(page, "PORTS", &Table::of(2, columns, shown.ports.iter().copied()));
}

fn write_devices(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &WirePortReport> = &[
        ("port", |it| it.port.name.clone()),
        ("device", |it| it.device.name.clone()),
        ("driver", |it| it.device.driver.clone()),
        ("PFC", |it| pfc(it.device.pfc).into()),
        ("received", |it| thousands(it.counters.received)),
        ("sent", |it| thousands(it.counters.sent + it.counters.control.sent)),
        ("missed", |it| thousands(it.counters.hardware.missed)),
        ("no mbuf", |it| thousands(it.counters.hardware.no_mbuf)),
        ("errors", |it| {
            thousands(it.counters.hardware.receive_errors + it.counters.hardware.transmit_errors)
        }),
        ("full", |it| thousands(it.counters.full)),
    ];
    let table = Table::of(4, columns, shown.ports.iter().copied());
    section(page, "DEVICES: which PFC frames they pass, and their counters", &table);
}

fn pfc(passage: PfcPassage) -> &'static str {
    match (passage.receive, passage.transmit) {
        (Passage::Yes, Passage::Yes) => "both",
        (Passage::Yes, Passage::No) => "receives",
        (Passage::No, Passage::Yes) => "transmits",
        (Passage::No, Passage::No) => "none",
        _ => "unknown",
    }
}

fn write_emulation(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, &EmulationReport)> = &[
        ("port", |(port, _)| (*port).to_owned()),
        ("in flight", |(_, link)| thousands(link.in_flight)),
        ("peak", |(_, link)| thousands(link.peak_in_flight)),
        ("delivered", |(_, link)| thousands(link.delivered)),
        ("lost", |(_, link)| thousands(link.lost)),
        ("duplicated", |(_, link)| thousands(link.duplicated)),
        ("reordered", |(_, link)| thousands(link.reordered)),
        ("overflowed", |(_, link)| thousands(link.overflowed)),
    ];
    let links = shown.ports.iter().filter_map(|it| Some((it.port.name.as_str(), it.emulation.as_ref()?)));
    section(page, "EMULATED LINKS, in frames", &Table::of(1, columns, links));
}

fn write_workers(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, &WorkerReport> = &[
        ("core", |it| it.core.to_string()),
        ("ports", |it| it.ports.join(" ")),
        ("stage", |it| match &it.stage.port {
            Some(port) => format!("{} {port}", it.stage.name),
            None => it.stage.name.to_string(),
        }),
        ("turns", |it| thousands(it.turns)),
        ("busy", |it| percent(it.busy_share)),
        ("turn p50", |it| nanos(it.turn.p50_ns)),
        ("turn p99", |it| nanos(it.turn.p99_ns)),
        ("turn max", |it| nanos(it.turn.max_ns)),
        ("late p50", |it| nanos(it.lateness.p50_ns)),
        ("late p99", |it| nanos(it.lateness.p99_ns)),
        ("late max", |it| nanos(it.lateness.max_ns)),
    ];
    let table = Table::of(3, columns, &shown.snapshot.workers);
    section(page, "WORKERS: duration of turns, and lateness of deadlines", &table);
}

fn write_late_turns(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (u64, &WorkerReport)> = &[
        ("core", |(_, it)| it.core.to_string()),
        ("covered", |(covered_ns, _)| nanos(*covered_ns)),
        ("late turns", |(_, it)| thousands(it.late_turns)),
        ("turn max", |(_, it)| nanos(it.turn.max_ns)),
    ];
    let lossless = shown.snapshot.workers.iter().filter_map(|it| Some((it.covered_lateness_ns?, it)));
    let table = Table::of(1, columns, lossless);
    section(page, "LATE TURNS: turns that took longer than the buffer covers", &table);
}

fn write_pools(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, PoolReport)> = &[
        ("pool", |(name, _)| (*name).to_owned()),
        ("held", |(_, pool)| bytes(pool.held_bytes)),
        ("watermark", |(_, pool)| bytes(pool.watermark_bytes)),
        ("size", |(_, pool)| bytes(pool.size_bytes)),
    ];
    let pools = &shown.snapshot.pools;
    let rows = [("shared", pools.shared), ("headroom", pools.headroom), ("egress lossy", pools.egress_lossy)];
    section(page, "POOLS", &Table::of(1, columns, rows));
}
