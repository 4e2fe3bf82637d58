//! What happened over time, as a picture: for each port its queues, its slots of Bifrost and its
//! pauses, one beneath the other above one axis of time. The same series gives the same bytes.

pub mod scale;
mod time_axis;
pub mod trace;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use replay::series::{Column, Series};
use scale::{BYTES, COUNTS, RATES, Unit, figure, round_step, unit_for};
use std::io;
use switch::figure::SeriesKind;
use telemetry::table::nanos;
use time_axis::TimeAxis;
use trace::Trace;

const WIDTH: i32 = 1_200;
/// Where axes of time begin and end.
const LEFT: i32 = 84;
const RIGHT: i32 = WIDTH - 28;
/// Above the first panel: the title and what the axis shows.
const TITLE: i32 = 62;
/// Above each panel: its name and its legend.
const HEADING: i32 = 26;
/// A panel with lines.
const LINES: i32 = 170;
/// A strip of pauses.
const STRIP: i32 = 16;
/// Between two panels.
const GAP: i32 = 18;
/// Below the last panel: the labels of time.
const FOOT: i32 = 52;
/// Where the legend of a panel begins, and from one entry to the next.
const LEGEND: (i32, i32) = (LEFT + 300, 290);

/// Colours that colour-blind people tell apart and that print in different greys (Okabe and Ito).
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
const TEXT: RGBColor = RGBColor(40, 40, 40);
const FRAME: RGBColor = RGBColor(130, 130, 130);
const GRID: RGBColor = RGBColor(228, 228, 228);
const CUT: RGBColor = RGBColor(238, 238, 238);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// The picture of `series`, of a gateway called `name` with `ports`.
///
/// # Errors
/// Those of the drawing library.
pub fn svg(series: &Series, name: &str, ports: &[&str]) -> io::Result<String> {
    let axis = TimeAxis::new(series.times(), LEFT, RIGHT);
    let panels = panels(series, &axis, ports);
    let bottom = TITLE + panels.iter().map(|panel| HEADING + panel.height() + GAP).sum::<i32>() - GAP;
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, (WIDTH as u32, (bottom + FOOT) as u32));
    let area = area.into_drawing_area();
    let drawn = draw(&area, series, name, &axis, &panels, bottom);
    drawn.and_then(|()| area.present()).map_err(io::Error::other)?;
    drop(area);
    Ok(picture)
}

/// Columns of one port that share an axis.
struct Panel<'a> {
    title: String,
    kind: SeriesKind,
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    column: Column,
    trace: Trace<'a>,
    colour: RGBColor,
}

impl Panel<'_> {
    fn height(&self) -> i32 {
        match self.kind {
            SeriesKind::Queue | SeriesKind::Slot | SeriesKind::Rate | SeriesKind::Count => LINES,
            SeriesKind::Paused => STRIP * self.lines.len() as i32,
        }
    }
}

/// The panels in which something is to be seen.
fn panels<'a>(series: &'a Series, axis: &'a TimeAxis, ports: &[&str]) -> Vec<Panel<'a>> {
    let columns: Vec<_> = series.columns().iter().copied().enumerate().collect();
    let same = |a: &(usize, Column), b: &(usize, Column)| a.1.port == b.1.port && a.1.kind() == b.1.kind();
    let panels = columns.chunk_by(same).map(|columns| {
        let (port, kind) = (columns[0].1.port, columns[0].1.kind());
        let lines = columns.iter().map(|(place, column)| Line {
            column: *column,
            trace: Trace::new(series, axis, *place),
            colour: colour(series, *column),
        });
        Panel {
            title: format!("{}: {}", shortened(ports[port.index()]), title(kind)),
            kind,
            lines: lines.filter(|line| line.trace.most() > 0).collect(),
        }
    });
    panels.filter(|panel| !panel.lines.is_empty()).collect()
}

/// As much of the name of a port as there is room for before the legend. It is ASCII.
fn shortened(name: &str) -> String {
    const ROOM: usize = 17;
    if name.len() <= ROOM { name.into() } else { format!("{}..", &name[..ROOM - 2]) }
}

/// The colour of a column: the same for one quantity on every port.
fn colour(series: &Series, column: Column) -> RGBColor {
    let mut names: Vec<_> = Vec::new();
    for other in series.columns().iter().filter(|other| other.kind() == column.kind()) {
        if !names.contains(&other.name()) {
            names.push(other.name());
        }
    }
    let place = names.iter().position(|name| *name == column.name()).unwrap_or(0);
    COLOURS[place % COLOURS.len()]
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

fn draw(
    area: &Area<'_>,
    series: &Series,
    name: &str,
    axis: &TimeAxis,
    panels: &[Panel<'_>],
    bottom: i32,
) -> Drawn {
    area.fill(&WHITE)?;
    draw_title(area, series, name, axis)?;
    let mut top = TITLE;
    for panel in panels {
        draw_heading(area, panel, top)?;
        top += HEADING;
        let height = panel.height();
        draw_cuts(area, axis, top, top + height)?;
        match panel.kind {
            SeriesKind::Queue | SeriesKind::Slot | SeriesKind::Rate | SeriesKind::Count => {
                draw_lines(area, panel, axis, top)?
            }
            SeriesKind::Paused => draw_strips(area, panel, top)?,
        }
        let frame = Rectangle::new([(LEFT, top), (RIGHT, top + height)], FRAME.stroke_width(1));
        area.draw(&frame)?;
        top += height + GAP;
    }
    draw_labels_of_time(area, axis, bottom)
}

fn draw_title(area: &Area<'_>, series: &Series, name: &str, axis: &TimeAxis) -> Drawn {
    let title = format!("Replay through gateway \"{name}\"");
    text(area, &title, (LEFT, 22), 18, FontStyle::Bold, HPos::Left)?;
    let length = series.times().last().map_or(0, |last| last.0);
    let cut: u64 = axis.cuts().map(|cut| (cut.time.1 - cut.time.0).0).sum();
    let mut said = format!("{}, sampled every {}", nanos(length), series.interval());
    if cut > 0 {
        said += &format!("; {} without any change left out (grey)", nanos(cut));
    }
    text(area, &said, (LEFT, 44), 13, FontStyle::Normal, HPos::Left)
}

fn draw_heading(area: &Area<'_>, panel: &Panel<'_>, top: i32) -> Drawn {
    let middle = top + HEADING / 2;
    text(area, &panel.title, (LEFT, middle), 14, FontStyle::Bold, HPos::Left)?;
    for (place, line) in panel.lines.iter().enumerate() {
        let x = LEGEND.0 + LEGEND.1 * place as i32;
        let sample = Rectangle::new([(x, middle - 3), (x + 22, middle + 1)], line.colour.filled());
        area.draw(&sample)?;
        text(area, line.column.label(), (x + 30, middle), 13, FontStyle::Normal, HPos::Left)?;
    }
    Ok(())
}

fn draw_cuts(area: &Area<'_>, axis: &TimeAxis, top: i32, bottom: i32) -> Drawn {
    for cut in axis.cuts() {
        area.draw(&Rectangle::new([(cut.x.0, top), (cut.x.1, bottom)], CUT.filled()))?;
    }
    Ok(())
}

/// The units of an axis.
fn units(kind: SeriesKind) -> &'static [Unit] {
    match kind {
        SeriesKind::Queue | SeriesKind::Slot => &BYTES,
        SeriesKind::Rate => &RATES,
        SeriesKind::Count | SeriesKind::Paused => &COUNTS,
    }
}

fn draw_lines(area: &Area<'_>, panel: &Panel<'_>, axis: &TimeAxis, top: i32) -> Drawn {
    const STEPS: u64 = 5;
    let most = panel.lines.iter().map(|line| line.trace.most()).max().unwrap_or(1);
    let step = round_step(most, STEPS);
    let (unit, full) = (unit_for(most, units(panel.kind)), most.next_multiple_of(step));
    // In 128 bits: a column may hold any figure.
    let y = |value: u64| top + LINES - (u128::from(value) * LINES as u128 / u128::from(full)) as i32;
    for value in (0..=full).step_by(step as usize) {
        area.draw(&PathElement::new([(LEFT, y(value)), (RIGHT, y(value))], GRID))?;
        text(area, &figure(value, step, unit), (LEFT - 8, y(value)), 12, FontStyle::Normal, HPos::Right)?;
    }
    for (x, _) in axis.labels() {
        area.draw(&PathElement::new([(x, top), (x, top + LINES)], GRID))?;
    }
    for line in &panel.lines {
        let corners: Vec<_> = line.trace.steps().into_iter().map(|(x, value)| (x, y(value))).collect();
        area.draw(&PathElement::new(corners, line.colour.stroke_width(2)))?;
    }
    Ok(())
}

fn draw_strips(area: &Area<'_>, panel: &Panel<'_>, top: i32) -> Drawn {
    for (place, line) in panel.lines.iter().enumerate() {
        let y = top + STRIP * place as i32;
        for (from, to, share) in line.trace.shares() {
            let shade = line.colour.mix(share as f64 / Trace::SHARES as f64).filled();
            area.draw(&Rectangle::new([(from, y + 2), (to, y + STRIP - 2)], shade))?;
        }
    }
    Ok(())
}

fn draw_labels_of_time(area: &Area<'_>, axis: &TimeAxis, bottom: i32) -> Drawn {
    for (x, label) in axis.labels() {
        area.draw(&PathElement::new([(x, bottom), (x, bottom + 5)], FRAME))?;
        text(area, &label, (x, bottom + 14), 12, FontStyle::Normal, HPos::Center)?;
    }
    let middle = (LEFT + RIGHT) / 2;
    text(area, "time since the first frame", (middle, bottom + 36), 13, FontStyle::Normal, HPos::Center)
}

fn text(area: &Area<'_>, said: &str, at: (i32, i32), size: i32, style: FontStyle, from: HPos) -> Drawn {
    let font = FontDesc::new(FontFamily::SansSerif, f64::from(size), style);
    let style = TextStyle::from(font).color(&TEXT).pos(Pos::new(from, VPos::Center));
    area.draw(&Text::new(said.to_owned(), at, style))
}
