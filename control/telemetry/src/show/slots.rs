//! `show slots`.

use super::Shown;
use crate::table::{Table, bytes, nanos, section, thousands};
use crate::tables;

pub fn write(page: &mut String, shown: &Shown<'_>) {
    tables::write_bifrost(page, shown.ports.iter().map(|wire| &wire.port));
    write_last(page, shown);
    if page.is_empty() {
        page.push_str("Bifrost is not configured on any port.\n");
    }
}

fn write_last(page: &mut String, shown: &Shown<'_>) {
    let headings =
        ["port", "L", "F", "grant", "peak", "late charge", "late p50", "late p99", "late max", "late slots"];
    let mut table = Table::new(1, headings);
    for wire in &shown.ports {
        let Some(bifrost) = &wire.port.bifrost else { continue };
        let last = |of: fn(&crate::SlotReport) -> u64| {
            wire.slot.as_ref().map_or_else(String::new, |slot| bytes(of(slot)))
        };
        table.row([
            wire.port.name.clone(),
            last(|slot| slot.queue_wire_bytes),
            last(|slot| slot.incoming_wire_bytes),
            last(|slot| slot.grant_wire_bytes),
            bytes(bifrost.peak_wire_bytes),
            bytes(bifrost.late_charge_wire_bytes),
            nanos(bifrost.lateness.p50_ns),
            nanos(bifrost.lateness.p99_ns),
            nanos(bifrost.lateness.max_ns),
            thousands(bifrost.late_slots),
        ]);
    }
    section(page, "LAST SLOT: queue L, virtual incoming bytes F, and grant; lateness of all slots", &table);
}
