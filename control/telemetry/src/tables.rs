//! Tables that both a replay and a running gateway show.

use crate::table::{self, section};
use core::iter::once;
use report::{LimitsReport, Listed};
use switch::figure::{FigureList, Table, Unit};
use units::human::{bytes, nanos, rate, thousands};

/// Writes the tables of `list` that `is_wanted` selects. A port has a row if the owner of the list runs on it.
pub fn write_listed<'a>(
    page: &mut String,
    list: &FigureList,
    is_wanted: impl Fn(&Table) -> bool,
    ports: &[(&'a str, Option<Listed<'a>>)],
) {
    for wanted in list.tables.iter().filter(|table| is_wanted(table)) {
        let columns = list.columns(wanted);
        let headings = columns.iter().map(|(heading, _)| *heading);
        let mut table = table::Table::new(1, once("port").chain(headings));
        for (name, figures) in ports {
            let Some(figures) = figures else { continue };
            let cells = columns.iter().map(|(_, paths)| cell(figures, paths));
            table.row(once((*name).to_owned()).chain(cells));
        }
        section(page, wanted.title, &table);
    }
}

/// The sum of the figures at `paths`; empty if one of them has no value.
fn cell(figures: &Listed<'_>, paths: &[String]) -> String {
    let sum = paths.iter().try_fold(0, |sum: u64, path| Some(sum.saturating_add(figures.number(path)?)));
    let show = match Unit::of(&paths[0]) {
        Unit::Number => thousands,
        Unit::Nanos => nanos,
        Unit::Bytes => bytes,
        Unit::BitsPerSecond => rate,
    };
    sum.map_or_else(String::new, show)
}

/// An XOFF threshold in bytes, or as a share of the free pool if it is dynamic.
pub fn threshold(limits: &LimitsReport) -> String {
    match (limits.xoff_bytes, limits.xoff_dynamic_th) {
        (Some(xoff), _) => bytes(xoff),
        (None, Some(exponent)) => format!("2^{exponent} free"),
        (None, None) => String::new(),
    }
}
