//! The tables that a replay and a running gateway show alike.

use crate::table::{self, bytes, nanos, rate, section, thousands};
use core::iter::once;
use report::{LimitsReport, Listed};
use switch::figure::{FigureList, Table, Unit};

/// The tables of `list` that `is_wanted`. Each of `ports` has a row, with its name, where the owner of the list runs.
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

/// The sum of the figures with `paths`; empty where one of them means nothing.
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

/// An XOFF threshold: bytes, or the share of the free pool that is dynamic.
pub fn threshold(limits: &LimitsReport) -> String {
    match (limits.xoff_bytes, limits.xoff_dynamic_th) {
        (Some(xoff), _) => bytes(xoff),
        (None, Some(exponent)) => format!("2^{exponent} free"),
        (None, None) => String::new(),
    }
}
