//! The plot of a series: queues, schemes and pauses of each port, above a common time axis. The same series gives the
//! same bytes.

mod time_axis;

use crate::chart::axis::{Axis, Quantity};
use crate::chart::drawing::{COLOURS, Drawing, escaped};
use crate::chart::trace::{corners, shares};
use indexmap::IndexSet;
use replay::series::{Column, Series};
use switch::figure::SeriesKind;
use telemetry::table::nanos;
use time_axis::TimeAxis;
use units::Interval;

const WIDTH: i32 = 1_200;
/// The start and end of the time axis.
const LEFT: i32 = 84;
const RIGHT: i32 = WIDTH - 28;
/// The height of the title above the first panel.
const TITLE: i32 = 62;
/// The height of the name and legend above each panel.
const HEADING: i32 = 26;
/// The height of a panel with lines.
const LINES: i32 = 170;
/// The height of a strip of pauses.
const STRIP: i32 = 16;
/// The gap between two panels.
const GAP: i32 = 18;
/// The height of the time labels below the last panel.
const FOOT: i32 = 52;
/// The start of a legend, and the distance between two entries.
const LEGEND: (i32, i32) = (LEFT + 300, 290);
/// The distance from the middle of a text down to its baseline.
const BASE: i32 = 4;

/// The style, with a white background and without variables, which some viewers do not support. The first colours are
/// safe for colour-blind people, and print in different greys (Okabe and Ito).
const STYLE: &str = include_str!("style.css");

/// Plots the `series` of a gateway called `name` with `ports`.
pub fn svg(series: &Series, name: &str, ports: &[&str]) -> String {
    let axis = TimeAxis::new(series.times(), LEFT, RIGHT);
    let mut drawing = Drawing::default();
    draw_title(&mut drawing, series, name, &axis);
    let mut bottom = TITLE - GAP;
    for panel in panels(series, &axis, ports) {
        let top = bottom + GAP + HEADING;
        draw_heading(&mut drawing, &panel, top - HEADING / 2);
        draw_panel(&mut drawing, &panel, &axis, top);
        bottom = top + panel.height();
    }
    draw_labels_of_time(&mut drawing, &axis, bottom);
    let (height, elements) = (bottom + FOOT, drawing.elements());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n{elements}</svg>\n"
    )
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
    fn height(&self) -> i32 {
        match self.kind {
            SeriesKind::Queue | SeriesKind::Slot | SeriesKind::Rate | SeriesKind::Count => LINES,
            SeriesKind::Paused => STRIP * self.lines.len() as i32,
        }
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
            title: format!("{}: {}", shortened(ports[port.index()]), title(kind)),
            kind,
            lines: lines.filter(|line| line.most() > 0).collect(),
        }
    });
    panels.filter(|panel| !panel.lines.is_empty()).collect()
}

/// Shortens the name of a port, which is ASCII, to the room before the legend.
fn shortened(name: &str) -> String {
    const ROOM: usize = 17;
    if name.len() <= ROOM { name.into() } else { format!("{}..", &name[..ROOM - 2]) }
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
        "<text class=\"title\" x=\"{LEFT}\" y=\"28\">Replay through gateway {name}</text>"
    ));
    let length = series.times().last().map_or(0, |last| last.0);
    let cut: u64 = axis.cuts().map(|cut| (cut.time.1 - cut.time.0).0).sum();
    let mut said = format!("{}, sampled every {}", nanos(length), series.interval());
    if cut > 0 {
        said += &format!("; {} without any change left out (grey)", nanos(cut));
    }
    drawing.text(LEFT, 44 + BASE, "start", &said);
}

fn draw_heading(drawing: &mut Drawing, panel: &Panel, middle: i32) {
    let (title, base) = (escaped(&panel.title), middle + BASE);
    drawing.put(format_args!("<text class=\"heading\" x=\"{LEFT}\" y=\"{base}\">{title}</text>"));
    for (place, line) in panel.lines.iter().enumerate() {
        let (x, y, colour) = (LEGEND.0 + LEGEND.1 * place as i32, middle - 3, line.colour % COLOURS);
        drawing
            .put(format_args!("<rect class=\"s c{colour}\" x=\"{x}\" y=\"{y}\" width=\"22\" height=\"4\"/>"));
        drawing.text(x + 30, base, "start", line.column.label());
    }
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, axis: &TimeAxis, top: i32) {
    let height = panel.height();
    for cut in axis.cuts() {
        let (x, width) = (cut.x.0, cut.x.1 - cut.x.0);
        drawing.put(format_args!(
            "<rect class=\"cut\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }
    match panel.kind {
        SeriesKind::Queue | SeriesKind::Slot => draw_lines(drawing, panel, Quantity::Bytes, axis, top),
        SeriesKind::Rate => draw_lines(drawing, panel, Quantity::Rate, axis, top),
        SeriesKind::Count => draw_lines(drawing, panel, Quantity::Count, axis, top),
        SeriesKind::Paused => {
            for (line, y) in panel.lines.iter().zip((top..).step_by(STRIP as usize)) {
                drawing.strip(line.colour, (f64::from(y + 2), f64::from(STRIP - 4)), &shares(&line.values));
            }
        }
    }
    drawing.frame((LEFT, top), (RIGHT - LEFT, height));
}

fn draw_lines(drawing: &mut Drawing, panel: &Panel, quantity: Quantity, axis: &TimeAxis, top: i32) {
    let bottom = top + LINES;
    let most = panel.lines.iter().map(Line::most).max().unwrap_or(1);
    let values = Axis::linear(quantity, most as f64);
    let y = |value: f64| f64::from(bottom) - values.place(value) * f64::from(LINES);
    for (value, label) in values.labels() {
        let at = y(value);
        drawing.grid(format_args!("M{LEFT} {at:.1}H{RIGHT}"));
        drawing.text(LEFT - 8, format_args!("{:.1}", at + f64::from(BASE)), "end", &label);
    }
    for (x, _) in axis.labels() {
        drawing.grid(format_args!("M{x} {top}V{bottom}"));
    }
    for line in &panel.lines {
        let corners = corners(line.values.iter().map(|(x, _, value)| (*x, *value)));
        drawing.steps(line.colour, corners.into_iter().map(|(x, value)| (x, y(value as f64))));
    }
}

fn draw_labels_of_time(drawing: &mut Drawing, axis: &TimeAxis, bottom: i32) {
    for (x, label) in axis.labels() {
        drawing.put(format_args!("<path class=\"f\" d=\"M{x} {bottom}v5\"/>"));
        drawing.text(x, bottom + 14 + BASE, "middle", &label);
    }
    drawing.text((LEFT + RIGHT) / 2, bottom + 36 + BASE, "middle", "time since the first frame");
}
