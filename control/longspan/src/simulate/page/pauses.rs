//! The timeline of pauses: a strip for each port, direction and scheme.

use super::drawn::Drawn;
use super::html;
use super::over_time::{span_ns, timelines};
use super::timeline::Timeline;
use crate::chart::axis::{Axis, Quantity};
use crate::chart::drawing::{Area, Drawing};
use crate::chart::plot::figure;
use crate::chart::text::{escaped, shortened};
use crate::chart::trace::shares;
use core::cmp::Reverse;
use indexmap::IndexMap;
use units::Interval;

/// The maximum number of rows: the ports and directions with the longest pauses.
const ROWS_MAX: usize = 16;

const WIDTH: f64 = 1140.0;
/// Where strips begin and end; names are to their left.
const STRIPS: (f64, f64) = (230.0, 1120.0);
/// The height of a strip, and the gap between two rows of them.
const STRIP: f64 = 12.0;
const GAP: f64 = 8.0;
const TOP: f64 = 6.0;
/// The maximum length of a name, in characters.
const NAME: usize = 34;

/// The columns, and their meaning for a port.
const DIRECTIONS: [(&str, &str); 2] = [
    ("pfc_sent_paused_priorities", "pauses its peer"),
    ("pfc_received_paused_priorities", "is paused by its peer"),
];

/// A port in one direction: its name, the column, and the meaning of that.
type Row<'a> = (&'a str, &'static str, &'static str);

/// The section; empty if nothing was paused.
pub fn section(drawn: &[Drawn<'_>]) -> String {
    let mut rows = rows(drawn);
    let count = rows.len();
    if count == 0 {
        return String::new();
    }
    rows.sort_by_key(|_, paused_ns| Reverse(*paused_ns));
    rows.truncate(ROWS_MAX);
    let mut drawing = Drawing::default();
    let pitch = STRIP * drawn.len() as f64 + GAP;
    for (place, row) in rows.keys().enumerate() {
        strips(&mut drawing, drawn, *row, TOP + pitch * place as f64);
    }
    let bottom = TOP + pitch * rows.len() as f64;
    let area = Area { x: STRIPS, y: (TOP, bottom) };
    let labels = area.x_labels(&Axis::exact(Quantity::Time, span_ns(drawn) as f64));
    drawing.x_grid(area, &labels);
    drawing.x_labels(bottom, &labels);
    let mut content = html::legend(drawn.iter().map(|drawn| drawn.set.label.as_str()));
    content += &html::note(&format!(
        "Run with the first seed. The shade is the share of a pixel's time that was paused, in quarters. {}",
        if count > ROWS_MAX {
            format!("The {ROWS_MAX} of {count} ports and directions with the longest pauses are drawn.")
        } else {
            "Ports that were never paused are left out.".to_owned()
        }
    ));
    content += &figure("PFC over time", "", (WIDTH, bottom + 24.0), drawing.elements());
    html::section("Pauses", &content)
}

/// The ports and directions with pauses, and the pause time in the run where it is longest.
fn rows<'a>(drawn: &'a [Drawn<'_>]) -> IndexMap<Row<'a>, u64> {
    let mut rows: IndexMap<Row<'a>, u64> = IndexMap::new();
    for timeline in timelines(drawn) {
        for (column, meaning) in DIRECTIONS {
            for found in timeline.columns.iter().filter(|found| found.name == column && found.most() > 0) {
                let longest = rows.entry((found.place.as_str(), column, meaning)).or_default();
                *longest = paused_ns(timeline, &found.values).max(*longest);
            }
        }
    }
    rows
}

fn paused_ns(timeline: &Timeline, values: &[Option<u64>]) -> u64 {
    let spans = timeline.times.windows(2).zip(values);
    spans.filter(|(_, value)| value.is_some_and(|value| value > 0)).map(|(span, _)| span[1] - span[0]).sum()
}

fn strips(drawing: &mut Drawing, drawn: &[Drawn<'_>], (port, column, meaning): Row<'_>, top: f64) {
    let height = STRIP * drawn.len() as f64;
    let (name_end, base) = (STRIPS.0 - 10.0, top + height / 2.0 + 4.0);
    let name = escaped(&shortened(&format!("{port} {meaning}"), NAME));
    drawing.put(format_args!(
        "<text class=\"name\" x=\"{name_end}\" y=\"{base}\" text-anchor=\"end\">{name}</text>"
    ));
    drawing.frame(Area { x: STRIPS, y: (top, top + height) });
    let axis = Axis::exact(Quantity::Time, span_ns(drawn) as f64);
    let x = |time: u64| (STRIPS.0 + axis.place(time as f64) * (STRIPS.1 - STRIPS.0)) as i32;
    for (place, drawn) in drawn.iter().enumerate() {
        let Some(timeline) = &drawn.timeline else { continue };
        let Some(column) = timeline.column(port, column) else { continue };
        let values = timeline.times.iter().zip(&column.values);
        let values: Vec<_> =
            values.filter_map(|(time, value)| Some((x(*time), Interval(*time), (*value)?))).collect();
        drawing.strip(place, (top + STRIP * place as f64 + 1.0, STRIP - 2.0), &shares(&values));
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
