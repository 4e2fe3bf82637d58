//! The plot of a series: queues, schemes and pauses of each port, above a common time axis. The same series gives the
//! same bytes.

use crate::chart::axis::{Axis, Quantity};
use crate::chart::drawing::{Area, COLOURS, Drawing, picture};
use crate::chart::text::{escaped, shortened};
use crate::chart::time_axis::TimeAxis;
use crate::chart::trace::{corners, shares};
use indexmap::IndexSet;
use replay::series::{Column, Series};
use switch::figure::SeriesKind;
use units::Interval;
use units::human::nanos;

const WIDTH: f64 = 1_200.0;
/// The start and end of the time axis.
const TIME: (f64, f64) = (84.0, WIDTH - 28.0);
/// The height of the title above the first panel.
const TITLE: f64 = 62.0;
/// The height of the name and legend above each panel.
const HEADING: f64 = 26.0;
/// The height of a panel with lines.
const LINES: f64 = 170.0;
/// The height of a strip of pauses.
const STRIP: f64 = 16.0;
/// The gap between two panels.
const GAP: f64 = 18.0;
/// The height of the time labels below the last panel.
const FOOT: f64 = 52.0;
/// The start of a legend, and the distance between two entries.
const LEGEND: (f64, f64) = (TIME.0 + 300.0, 290.0);
/// The distance from the middle of a text down to its baseline.
const BASE: f64 = 4.0;
/// The maximum length of the name of a port before the legend, in characters.
const NAME: usize = 17;

/// Plots the `series` of a gateway called `name` with `ports`.
pub fn svg(series: &Series, name: &str, ports: &[&str]) -> String {
    let axis = TimeAxis::new(series.times(), TIME.0 as i32, TIME.1 as i32);
    let labels: Vec<_> = axis.labels().into_iter().map(|(x, label)| (f64::from(x), label)).collect();
    let mut drawing = Drawing::default();
    draw_title(&mut drawing, series, name, &axis);
    let mut bottom = TITLE - GAP;
    for panel in panels(series, &axis, ports) {
        let top = bottom + GAP + HEADING;
        bottom = top + panel.height();
        draw_heading(&mut drawing, &panel, top - HEADING / 2.0);
        draw_panel(&mut drawing, &panel, Area { x: TIME, y: (top, bottom) }, &axis, &labels);
    }
    drawing.x_labels(bottom, &labels);
    drawing.text((TIME.0 + TIME.1) / 2.0, bottom + 40.0, "middle", "time since the first frame");
    picture(WIDTH, bottom + FOOT, drawing.elements())
}

/// Columns of one port that share an axis.
struct Panel {
    title: String,
    kind: SeriesKind,
    lines: Vec<Line>,
}

struct Line {
    column: Column,
    /// Pixels, instants and values, without rows in which the column is undefined.
    values: Vec<(i32, Interval, u64)>,
    colour: usize,
}

impl Panel {
    fn height(&self) -> f64 {
        if self.kind == SeriesKind::Paused { STRIP * self.lines.len() as f64 } else { LINES }
    }
}

impl Line {
    fn new(series: &Series, axis: &TimeAxis, place: usize, column: Column) -> Self {
        let rows = series.times().iter().enumerate();
        let values = rows.filter_map(|(row, time)| Some((axis.x(*time), *time, series.row(row)[place]?)));
        Self { column, values: values.collect(), colour: colour(series, column) }
    }

    /// The maximum of the column.
    fn most(&self) -> u64 {
        self.values.iter().map(|(.., value)| *value).max().unwrap_or(0)
    }
}

/// The panels that are not empty.
fn panels(series: &Series, axis: &TimeAxis, ports: &[&str]) -> Vec<Panel> {
    let columns: Vec<_> = series.columns().iter().copied().enumerate().collect();
    let same = |a: &(usize, Column), b: &(usize, Column)| a.1.port == b.1.port && a.1.kind() == b.1.kind();
    let panels = columns.chunk_by(same).map(|columns| {
        let (port, kind) = (columns[0].1.port, columns[0].1.kind());
        let lines = columns.iter().map(|(place, column)| Line::new(series, axis, *place, *column));
        Panel {
            title: format!("{}: {}", shortened(ports[port.index()], NAME), title(kind)),
            kind,
            lines: lines.filter(|line| line.most() > 0).collect(),
        }
    });
    panels.filter(|panel| !panel.lines.is_empty()).collect()
}

/// The colour of a column: the same on all ports.
fn colour(series: &Series, column: Column) -> usize {
    let of_kind = series.columns().iter().filter(|other| other.kind() == column.kind());
    let names: IndexSet<_> = of_kind.map(|other| other.name()).collect();
    names.get_index_of(column.name()).unwrap_or(0)
}

fn title(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::Queue => "buffered bytes",
        SeriesKind::Slot => "Bifrost slots",
        SeriesKind::Rate => "LSCC rates",
        SeriesKind::Count => "direct CNPs",
        SeriesKind::Paused => "pauses",
    }
}

fn draw_title(drawing: &mut Drawing, series: &Series, name: &str, axis: &TimeAxis) {
    let name = escaped(&format!("\"{name}\""));
    drawing.put(format_args!(
        "<text class=\"title\" x=\"{}\" y=\"28\">Replay through gateway {name}</text>",
        TIME.0
    ));
    let length = series.times().last().map_or(0, |last| last.0);
    let cut: u64 = axis.cuts().map(|cut| (cut.time.1 - cut.time.0).0).sum();
    let mut text = format!("{}, sampled every {}", nanos(length), series.interval());
    if cut > 0 {
        text += &format!("; {} without any change left out (grey)", nanos(cut));
    }
    drawing.text(TIME.0, 44.0 + BASE, "start", &text);
}

fn draw_heading(drawing: &mut Drawing, panel: &Panel, middle: f64) {
    let (title, left, base) = (escaped(&panel.title), TIME.0, middle + BASE);
    drawing.put(format_args!("<text class=\"heading\" x=\"{left}\" y=\"{base}\">{title}</text>"));
    for (place, line) in panel.lines.iter().enumerate() {
        let (x, y, colour) = (LEGEND.0 + LEGEND.1 * place as f64, middle - 3.0, line.colour % COLOURS);
        drawing
            .put(format_args!("<rect class=\"s c{colour}\" x=\"{x}\" y=\"{y}\" width=\"22\" height=\"4\"/>"));
        drawing.text(x + 30.0, base, "start", line.column.label());
    }
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, area: Area, time: &TimeAxis, labels: &[(f64, String)]) {
    let (top, height) = (area.y.0, panel.height());
    for cut in time.cuts() {
        let (x, width) = (cut.x.0, cut.x.1 - cut.x.0);
        drawing.put(format_args!(
            "<rect class=\"cut\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }
    if panel.kind == SeriesKind::Paused {
        for (place, line) in panel.lines.iter().enumerate() {
            let y = top + STRIP * place as f64 + 2.0;
            drawing.strip(line.colour, (y, STRIP - 4.0), &shares(&line.values));
        }
    } else {
        let most = panel.lines.iter().map(Line::most).max().unwrap_or(1);
        let axis = Axis::linear(Quantity::of_series(panel.kind), most as f64);
        drawing.y_axis(area, &axis);
        drawing.x_grid(area, labels);
        for line in &panel.lines {
            let corners = corners(line.values.iter().map(|(x, _, value)| (*x, *value)));
            drawing.steps(line.colour, area, &axis, corners);
        }
    }
    drawing.frame(area);
}
