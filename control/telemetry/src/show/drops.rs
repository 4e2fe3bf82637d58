//! `show drops`.

use super::shown::Shown;
use crate::table::{Table, section};
use units::human::{bytes, thousands};

pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_switch(page, shown);
    write_devices(page, shown);
    if page.is_empty() {
        page.push_str("Nothing was dropped.\n");
    }
}

fn write_switch(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(4, ["port", "prio", "at", "reason", "frames", "bytes"]);
    for (port, priority, _) in shown.priorities() {
        for (place, reasons) in [("in", &priority.ingress.dropped), ("out", &priority.egress.dropped)] {
            for (reason, count) in reasons {
                table.row([
                    port.port.name.clone(),
                    priority.priority.to_string(),
                    place.into(),
                    reason.to_string(),
                    thousands(count.frames),
                    bytes(count.bytes.0),
                ]);
            }
        }
    }
    section(page, "DROPS by reason (docs/drops.md explains each)", &table);
}

/// Writes the frames that were lost outside the switch.
fn write_devices(page: &mut String, shown: &Shown<'_>) {
    let mut table = Table::new(2, ["port", "reason", "frames"]);
    for port in &shown.ports {
        let (counters, emulation) = (&port.counters, port.emulation.unwrap_or_default());
        let lost = [
            ("missed", counters.hardware.missed),
            ("no mbuf", counters.hardware.no_mbuf),
            ("receive errors", counters.hardware.receive_errors),
            ("transmit errors", counters.hardware.transmit_errors),
            ("arrived while draining", counters.drained),
            ("unsendable (several buffers)", counters.unsendable),
            ("control frames lost", counters.control.lost),
            ("lost on the emulated link", emulation.lost),
            ("overflow of the emulated link", emulation.overflowed),
        ];
        for (reason, frames) in lost.into_iter().filter(|(_, frames)| *frames > 0) {
            table.row([port.port.name.clone(), reason.into(), thousands(frames)]);
        }
    }
    section(page, "LOST AT DEVICES and on emulated links", &table);
}
