//! The timeline of pauses: a strip for each port, direction and scheme.

use super::drawn::Drawn;
use super::html;
use super::over_time::span_ns;
use super::svg;
use super::timeline::Timeline;
use crate::chart::axis::{Axis, Quantity};
use crate::chart::drawing::{Drawing, escaped};
use crate::chart::trace::shares;
use core::cmp::Reverse;
use units::Interval;

/// Ports and directions at most: those that are paused longest.
const ROWS_MAX: usize = 16;

const WIDTH: f64 = 1140.0;
/// Where strips begin and end; names stand before.
const STRIPS: (i32, i32) = (230, 1120);
/// A strip, and the room between two rows of them.
const STRIP: f64 = 12.0;
const GAP: f64 = 8.0;
const TOP: f64 = 6.0;
/// Characters of a name for which there is room.
const NAME: usize = 34;

/// The columns, and what they say of a port.
const DIRECTIONS: [(&str, &str); 2] = [
    ("pfc_sent_paused_priorities", "pauses its peer"),
    ("pfc_received_paused_priorities", "is paused by its peer"),
];

/// A port in one direction.
struct Row<'a> {
    place: &'a str,
    column: &'static str,
    said: &'static str,
    /// How long it is paused in the run where that is longest.
    paused_ns: u64,
}

/// The section; nothing where nothing is paused.
pub fn section(drawn: &[Drawn<'_>]) -> String {
    let mut rows = rows(drawn);
    let count = rows.len();
    if count == 0 {
        return String::new();
    }
    rows.sort_by_key(|row| Reverse(row.paused_ns));
    rows.truncate(ROWS_MAX);
    let mut drawing = Drawing::default();
    let pitch = STRIP * drawn.len() as f64 + GAP;
    for (place, row) in rows.iter().enumerate() {
        strips(&mut drawing, drawn, row, TOP + pitch * place as f64);
    }
    let bottom = TOP + pitch * rows.len() as f64;
    times(&mut drawing, span_ns(drawn), bottom);
    let mut content = html::legend(drawn.iter().map(|drawn| drawn.set.label.as_str()));
    content += &html::note(&format!(
        "Run with the first seed. The shade is the share of a pixel's time that was paused, in quarters. {}",
        if count > ROWS_MAX {
            format!("The {ROWS_MAX} of {count} ports and directions with the longest pauses are drawn.")
        } else {
            "Ports that were never paused are left out.".to_owned()
        }
    ));
    html::section(
        "Pauses",
        &(content + &svg::figure("PFC over time", WIDTH, bottom + 24.0, drawing.elements())),
    )
}

/// The ports and directions in which something is ever paused.
fn rows<'a>(drawn: &'a [Drawn<'_>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for timeline in drawn.iter().filter_map(|drawn| drawn.timeline.as_ref()) {
        for (column, said) in DIRECTIONS {
            for found in timeline.columns.iter().filter(|found| found.name == column && found.most() > 0) {
                let paused_ns = paused_ns(timeline, &found.values);
                match rows.iter_mut().find(|row| row.place == found.place && row.column == column) {
                    Some(row) => row.paused_ns = row.paused_ns.max(paused_ns),
                    None => rows.push(Row { place: &found.place, column, said, paused_ns }),
                }
            }
        }
    }
    rows
}

fn paused_ns(timeline: &Timeline, values: &[Option<u64>]) -> u64 {
    let spans = timeline.times.windows(2).zip(values);
    spans.filter(|(_, value)| value.is_some_and(|value| value > 0)).map(|(span, _)| span[1] - span[0]).sum()
}

fn strips(drawing: &mut Drawing, drawn: &[Drawn<'_>], row: &Row<'_>, top: f64) {
    let height = STRIP * drawn.len() as f64;
    let (name_end, base) = (STRIPS.0 - 10, top + height / 2.0 + 4.0);
    let mut name = format!("{} {}", row.place, row.said);
    if name.chars().count() > NAME {
        name = format!("..{}", name.chars().skip(name.chars().count() - (NAME - 2)).collect::<String>());
    }
    let width = STRIPS.1 - STRIPS.0;
    drawing.put(format_args!(
        "<text class=\"name\" x=\"{name_end}\" y=\"{base}\" text-anchor=\"end\">{}</text>\
         <rect class=\"f\" x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>",
        escaped(&name),
        STRIPS.0
    ));
    let span = u128::from(span_ns(drawn));
    let x = |time: u64| STRIPS.0 + (u128::from(time) * width as u128 / span) as i32;
    for (place, drawn) in drawn.iter().enumerate() {
        let Some(timeline) = &drawn.timeline else { continue };
        let Some(column) = timeline.column(row.place, row.column) else { continue };
        let values = timeline.times.iter().zip(&column.values);
        let values: Vec<_> =
            values.filter_map(|(time, value)| Some((x(*time), Interval(*time), (*value)?))).collect();
        drawing.strip(place, (top + STRIP * place as f64 + 1.0, STRIP - 2.0), &shares(&values));
    }
}

fn times(drawing: &mut Drawing, span_ns: u64, bottom: f64) {
    let axis = Axis::exact(Quantity::Time, span_ns as f64);
    let width = f64::from(STRIPS.1 - STRIPS.0);
    for (value, label) in axis.labels() {
        let (x, y) = (f64::from(STRIPS.0) + axis.place(value) * width, bottom + 12.0);
        drawing.put(format_args!(
            "<path class=\"g\" d=\"M{x:.1} {TOP}V{bottom}\"/>\
             <text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_pauses_is_that_until_the_next_row() {
        let timeline = Timeline { times: vec![0, 10, 15, 40], columns: Vec::new() };
        assert_eq!(paused_ns(&timeline, &[Some(0), Some(2), None, Some(1)]), 5);
        assert_eq!(paused_ns(&timeline, &[Some(1), Some(1), Some(1), Some(1)]), 40);
    }
}
