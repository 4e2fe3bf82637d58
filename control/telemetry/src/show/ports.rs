//! `show ports`.

use super::shown::{Shown, View, write_listed};
use crate::snapshot::{Passage, PfcPassage};
use crate::table::{Table, bytes, duration, nanos, rate, section, thousands};
use core::fmt::Write;

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
        write_pools(page, shown);
    }
}

fn write_heading(page: &mut String, shown: &Shown<'_>) {
    let it = shown.snapshot;
    let (mbufs, in_use) = (thousands(it.memory.mbufs), thousands(it.memory.mbufs_in_use));
    // A string takes all that is written to it.
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
    let headings =
        ["port", "link", "rate", "in frames", "in bytes", "out frames", "out bytes", "control", "dropped"];
    let mut table = Table::new(2, headings);
    for wire in &shown.ports {
        let port = &wire.port;
        let dropped: u64 = port.drops().map(|(.., count)| count.frames).sum();
        table.row([
            port.name.clone(),
            if wire.device.link_up { "up".into() } else { "down".into() },
            rate(port.rate_bits_per_second),
            thousands(port.arrived.frames),
            bytes(port.arrived.bytes),
            thousands(port.out.frames),
            bytes(port.out.bytes),
            thousands(port.control_out.frames),
            thousands(dropped),
        ]);
    }
    section(page, "PORTS", &table);
}

fn write_devices(page: &mut String, shown: &Shown<'_>) {
    let headings =
        ["port", "device", "driver", "PFC", "received", "sent", "missed", "no mbuf", "errors", "full"];
    let mut table = Table::new(4, headings);
    for port in &shown.ports {
        let (device, counters) = (&port.device, &port.counters);
        let hardware = &counters.hardware;
        table.row([
            port.port.name.clone(),
            device.name.clone(),
            device.driver.clone(),
            pfc(device.pfc),
            thousands(counters.received),
            thousands(counters.sent + counters.control.sent),
            thousands(hardware.missed),
            thousands(hardware.no_mbuf),
            thousands(hardware.receive_errors + hardware.transmit_errors),
            thousands(counters.full),
        ]);
    }
    section(page, "DEVICES: which PFC frames they pass, and their counters", &table);
}

fn pfc(passage: PfcPassage) -> String {
    match (passage.receive, passage.transmit) {
        (Passage::Yes, Passage::Yes) => "both".into(),
        (Passage::Yes, Passage::No) => "receives".into(),
        (Passage::No, Passage::Yes) => "transmits".into(),
        (Passage::No, Passage::No) => "none".into(),
        _ => "unknown".into(),
    }
}

fn write_emulation(page: &mut String, shown: &Shown<'_>) {
    let headings =
        ["port", "in flight", "peak", "delivered", "lost", "duplicated", "reordered", "overflowed"];
    let mut table = Table::new(1, headings);
    for port in &shown.ports {
        let Some(link) = &port.emulation else { continue };
        table.row([
            port.port.name.clone(),
            thousands(link.in_flight),
            thousands(link.peak_in_flight),
            thousands(link.delivered),
            thousands(link.lost),
            thousands(link.duplicated),
            thousands(link.reordered),
            thousands(link.overflowed),
        ]);
    }
    section(page, "EMULATED LINKS, in frames", &table);
}

fn write_workers(page: &mut String, shown: &Shown<'_>) {
    let headings = [
        "core", "ports", "stage", "turns", "busy", "turn p50", "turn p99", "turn max", "late p50",
        "late p99", "late max",
    ];
    let mut table = Table::new(3, headings);
    for worker in &shown.snapshot.workers {
        let stage = &worker.stage;
        let place = stage.port.as_ref().map_or_else(String::new, |port| format!(" {port}"));
        table.row([
            worker.core.to_string(),
            worker.ports.join(" "),
            format!("{}{place}", stage.name),
            thousands(worker.turns),
            format!("{:.1} %", worker.busy_share * 100.0),
            nanos(worker.turn.p50_ns),
            nanos(worker.turn.p99_ns),
            nanos(worker.turn.max_ns),
            nanos(worker.lateness.p50_ns),
            nanos(worker.lateness.p99_ns),
            nanos(worker.lateness.max_ns),
        ]);
    }
    section(page, "WORKERS: duration of turns, and lateness of deadlines", &table);
    write_late_turns(page, shown);
}

fn write_late_turns(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(1, ["core", "covered", "late turns", "turn max"]);
    for worker in &shown.snapshot.workers {
        let Some(covered) = worker.covered_lateness_ns else { continue };
        table.row([
            worker.core.to_string(),
            nanos(covered),
            thousands(worker.late_turns),
            nanos(worker.turn.max_ns),
        ]);
    }
    section(page, "LATE TURNS: turns that took longer than the buffer covers", &table);
}

fn write_pools(page: &mut String, shown: &Shown<'_>) {
    let pools = &shown.snapshot.pools;
    let mut table = Table::new(1, ["pool", "held", "watermark", "size"]);
    let named =
        [("shared", pools.shared), ("headroom", pools.headroom), ("egress lossy", pools.egress_lossy)];
    for (name, pool) in named {
        table.row([name.into(), bytes(pool.held_bytes), bytes(pool.watermark_bytes), bytes(pool.size_bytes)]);
    }
    section(page, "POOLS", &table);
}
