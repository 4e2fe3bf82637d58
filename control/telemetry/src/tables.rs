//! The tables that a replay and a running gateway show alike.

use crate::table::{Table, bytes, nanos, rate, section, thousands};
use report::{LimitsReport, PortReport};

/// What the slots of Bifrost came to, where it runs.
pub fn write_bifrost<'a>(page: &mut String, ports: impl IntoIterator<Item = &'a PortReport>) {
    let headings = ["port", "slots", "length", "paused", "fully paused", "granted", "longest queue", "H"];
    let mut table = Table::new(1, headings);
    for port in ports {
        let Some(bifrost) = &port.bifrost else { continue };
        table.row([
            port.name.clone(),
            thousands(bifrost.slots),
            nanos(bifrost.slot_ns),
            thousands(bifrost.paused_slots),
            thousands(bifrost.fully_paused_slots),
            bytes(bifrost.granted_wire_bytes),
            bytes(bifrost.longest_queue_wire_bytes),
            bytes(bifrost.buffer_wire_bytes),
        ]);
    }
    section(page, "BIFROST: slots and grants, in bytes on the wire", &table);
}

/// The rates and the pseudo-queue of LSCC, where it runs.
pub fn write_rates<'a>(page: &mut String, ports: impl IntoIterator<Item = &'a PortReport>) {
    let headings = [
        "port",
        "sent",
        "advertised",
        "longest queue",
        "Qref",
        "accepted",
        "refused",
        "received",
        "longest Q*",
        "Q*ref",
    ];
    let mut table = Table::new(1, headings);
    let last = |bits_per_second: Option<u64>| bits_per_second.map_or_else(String::new, rate);
    for port in ports {
        let Some(lscc) = &port.lscc else { continue };
        let (sent, received, queue) = (&lscc.advertised_rates, &lscc.feedback, &lscc.pseudo_queue);
        table.row([
            port.name.clone(),
            thousands(sent.intervals),
            last(sent.last_bits_per_second),
            bytes(sent.longest_queue_wire_bytes),
            bytes(sent.reference_wire_bytes),
            thousands(received.accepted),
            thousands(received.refused()),
            last(received.last_bits_per_second),
            bytes(queue.longest_wire_bytes),
            bytes(queue.reference_wire_bytes),
        ]);
    }
    section(
        page,
        "LSCC: rates advertised to the far end and received from it, and the pseudo-queue Q*",
        &table,
    );
}

/// The notifications and the flows of LSCC, where it runs.
pub fn write_notifications<'a>(page: &mut String, ports: impl IntoIterator<Item = &'a PortReport>) {
    let headings = [
        "port",
        "direct CNPs",
        "marked instead",
        "marks removed",
        "far CNPs",
        "suppressed",
        "data flows",
        "resolved by CM",
        "by PSN",
    ];
    let mut table = Table::new(1, headings);
    for port in ports {
        let Some(lscc) = &port.lscc else { continue };
        let (cnps, flows) = (&lscc.cnps, &lscc.flows);
        table.row([
            port.name.clone(),
            thousands(cnps.direct),
            thousands(cnps.marked_instead),
            thousands(cnps.marks_removed),
            thousands(cnps.far + cnps.far_unknown),
            thousands(cnps.far_suppressed),
            thousands(u64::from(flows.resolved + flows.unresolved)),
            thousands(flows.resolved_by_cm),
            thousands(flows.resolved_by_psn),
        ]);
    }
    section(page, "CONGESTION NOTIFICATIONS, and how queue pairs were resolved", &table);
}

/// An XOFF threshold: bytes, or the share of the free pool that is dynamic.
pub fn threshold(limits: &LimitsReport) -> String {
    match (limits.xoff_bytes, limits.xoff_dynamic_th) {
        (Some(xoff), _) => bytes(xoff),
        (None, Some(exponent)) => format!("2^{exponent} free"),
        (None, None) => String::new(),
    }
}
