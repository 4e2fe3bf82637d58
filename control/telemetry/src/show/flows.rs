//! `show flows`.

use super::Shown;
use crate::table::{Table, bytes, section, thousands};
use crate::tables;

pub fn write(page: &mut String, shown: &Shown<'_>) {
    let ports = || shown.ports.iter().map(|wire| &wire.port);
    tables::write_rates(page, ports());
    tables::write_notifications(page, ports());
    write_flows(page, shown);
    if page.is_empty() {
        page.push_str("LSCC is not configured on any port.\n");
    }
}

fn write_flows(page: &mut String, shown: &Shown<'_>) {
    let headings = [
        "port",
        "known",
        "capacity",
        "resolved",
        "unresolved",
        "aged",
        "evicted",
        "suspended",
        "ended",
        "Q* now",
    ];
    let mut table = Table::new(1, headings);
    for wire in &shown.ports {
        let Some(lscc) = &wire.port.lscc else { continue };
        let flows = &lscc.flows;
        table.row([
            wire.port.name.clone(),
            thousands(flows.known.into()),
            thousands(flows.capacity.into()),
            thousands(flows.resolved.into()),
            thousands(flows.unresolved.into()),
            thousands(flows.aged),
            thousands(flows.evicted),
            thousands(flows.suspended),
            thousands(flows.ended),
            wire.pseudo_queue_wire_bytes.map_or_else(String::new, bytes),
        ]);
    }
    section(page, "FLOWS in the table of queue pairs", &table);
}
