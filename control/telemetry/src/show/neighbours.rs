//! `show neighbours`.

use super::shown::{Shown, View, write_listed, yes_or_no};
use crate::neighbours::{MismatchReport, NegotiatedReport, NeighbourPfcReport, NeighbourReport};
use crate::table::{Columns, Table, section};
use units::human::{bytes, duration, thousands};

pub fn write(page: &mut String, shown: &Shown<'_>) {
    write_neighbours(page, shown);
    write_mismatches(page, shown);
    write_negotiated(page, shown);
    write_listed(page, shown, View::Neighbours, "LLDP is not configured on any port.\n");
}

fn neighbours<'a>(shown: &Shown<'a>) -> impl Iterator<Item = (&'a str, &'a NeighbourReport)> {
    shown.ports.iter().flat_map(|it| it.neighbours.iter().map(|neighbour| (it.port.name.as_str(), neighbour)))
}

fn write_neighbours(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, &NeighbourReport)> = &[
        ("port", |(port, _)| (*port).to_owned()),
        ("neighbour", |(_, it)| it.name().to_owned()),
        ("its port", |(_, it)| it.port.clone()),
        ("address", |(_, it)| it.mac.clone()),
        ("PFC", |(_, it)| it.pfc.as_ref().map_or_else(|| "-".into(), pfc)),
        ("longest frame", |(_, it)| it.max_frame_bytes.map_or_else(|| "-".into(), bytes)),
        ("age", |(_, it)| duration(it.age_ns)),
        ("holds for", |(_, it)| duration(it.ttl_ns)),
        ("agrees", |(_, it)| yes_or_no(it.mismatches.is_empty())),
    ];
    section(page, "NEIGHBOURS", &Table::of(5, columns, neighbours(shown)));
}

fn pfc(pfc: &NeighbourPfcReport) -> String {
    let willing = if pfc.willing { " willing" } else { "" };
    format!("{}{willing}", priorities(&pfc.enabled))
}

fn priorities(numbers: &[u8]) -> String {
    match numbers {
        [] => "none".into(),
        _ => numbers.iter().map(u8::to_string).collect::<Vec<_>>().join(","),
    }
}

fn write_mismatches(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, &NeighbourReport, &MismatchReport)> = &[
        ("port", |(port, ..)| (*port).to_owned()),
        ("neighbour", |(_, it, _)| it.name().to_owned()),
        ("what", |(.., it)| it.kind.clone()),
        ("sides", |(.., it)| it.sides.clone()),
    ];
    let rows =
        neighbours(shown).flat_map(|(port, it)| it.mismatches.iter().map(move |found| (port, it, found)));
    section(
        page,
        "MISMATCHES: where the two ends of a link do not fit together",
        &Table::of(4, columns, rows),
    );
}

fn write_negotiated(page: &mut String, shown: &Shown<'_>) {
    let columns: Columns<'_, (&str, &NegotiatedReport)> = &[
        ("port", |(port, _)| (*port).to_owned()),
        ("PFC now", |(_, it)| priorities(&it.enabled)),
        // An older gateway does not say; there is at least one, or none could be turned off.
        (
            "in the file",
            |(_, it)| if it.configured.is_empty() { "-".into() } else { priorities(&it.configured) },
        ),
        ("refused because", |(_, it)| it.refusal.clone().unwrap_or_else(|| "-".into())),
        ("applied", |(_, it)| thousands(it.applied)),
        ("refused", |(_, it)| thousands(it.refused)),
    ];
    let ports = shown.ports.iter().filter_map(|it| Some((it.port.name.as_str(), it.negotiated.as_ref()?)));
    section(page, "NEGOTIATED PFC: priorities that neighbours may turn off", &Table::of(4, columns, ports));
}
