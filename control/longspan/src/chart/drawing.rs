//! SVG elements. The picture or page that contains them has styles for their classes: `g` for a grid, `f` for a
//! frame, `l` for a line and `s` for a surface. Lines and surfaces have the colour of their class `c0`, `c1`, ...

use super::axis::Axis;
use core::fmt::{Arguments, Display, Write};

/// The number of colours in a style.
pub const COLOURS: usize = 8;

/// The style of pictures, with a white background and without variables, which some viewers do not support. The first
/// colours are safe for colour-blind people, and print in different greys (Okabe and Ito).
const STYLE: &str = include_str!("style.css");

/// A picture of this size, in pixels.
pub fn picture(width: f64, height: f64, elements: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n{elements}</svg>\n"
    )
}

/// The number of shades in a strip.
pub const SHADES: u64 = 4;

/// The rectangle of a chart in a picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its left and right edge.
    pub x: (f64, f64),
    /// Its upper and lower edge.
    pub y: (f64, f64),
}

impl Area {
    /// The horizontal position of `value`.
    pub fn x_of(&self, axis: &Axis, value: f64) -> f64 {
        self.x.0 + axis.place(value) * (self.x.1 - self.x.0)
    }

    /// The vertical position of `value`.
    pub fn y_of(&self, axis: &Axis, value: f64) -> f64 {
        self.y.1 - axis.place(value) * (self.y.1 - self.y.0)
    }

    /// The positions and texts of the labels of a horizontal `axis`.
    pub fn x_labels(&self, axis: &Axis) -> Vec<(f64, String)> {
        axis.labels().into_iter().map(|(value, label)| (self.x_of(axis, value), label)).collect()
    }
}

/// Elements, one per line. Coordinates are pixels of the picture.
#[derive(Default)]
pub struct Drawing(String);

impl Drawing {
    /// The elements so far.
    pub fn elements(&self) -> &str {
        &self.0
    }

    /// Adds an element.
    pub fn put(&mut self, element: Arguments<'_>) {
        writeln!(self.0, "{element}").expect("a string takes everything");
    }

    /// A text, already escaped. `anchor` determines what is at `x`: its `start`, `middle` or `end`.
    pub fn text(&mut self, x: impl Display, y: impl Display, anchor: &str, text: &str) {
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// The frame around a chart.
    pub fn frame(&mut self, Area { x: (left, right), y: (top, bottom) }: Area) {
        let (width, height) = (right - left, bottom - top);
        self.put(format_args!(
            "<rect class=\"f\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// The grid and the labels of a vertical axis.
    pub fn y_axis(&mut self, area: Area, axis: &Axis) {
        let (left, right) = area.x;
        for (value, label) in axis.labels() {
            let y = area.y_of(axis, value);
            self.put(format_args!("<path class=\"g\" d=\"M{left} {y:.1}H{right}\"/>"));
            self.text(left - 7.0, format_args!("{:.1}", y + 4.0), "end", &label);
        }
    }

    /// The grid of a horizontal axis with these labels.
    pub fn x_grid(&mut self, area: Area, labels: &[(f64, String)]) {
        let (top, bottom) = area.y;
        for (x, _) in labels {
            self.put(format_args!("<path class=\"g\" d=\"M{x:.1} {top}V{bottom}\"/>"));
        }
    }

    /// The labels of a horizontal axis below a chart that ends at `bottom`.
    pub fn x_labels(&mut self, bottom: f64, labels: &[(f64, String)]) {
        for (x, label) in labels {
            self.text(format_args!("{x:.1}"), bottom + 17.0, "middle", label);
        }
    }

    /// A line along `path`.
    pub fn line(&mut self, colour: usize, dashed: bool, path: &str) {
        let (colour, dashes) = (colour % COLOURS, if dashed { " d" } else { "" });
        self.put(format_args!("<path class=\"l c{colour}{dashes}\" d=\"{path}\"/>"));
    }

    /// A line in steps through `corners`, which are horizontal pixels and values: each part is horizontal or vertical.
    pub fn steps(&mut self, colour: usize, area: Area, axis: &Axis, corners: Vec<(i32, u64)>) {
        let mut path = String::new();
        let mut last: Option<(i32, i64)> = None;
        for (x, value) in corners {
            // In tenths and relative, to save space: a page has many of these.
            let y = (area.y_of(axis, value as f64) * 10.0).round() as i64;
            match last {
                None => write!(path, "M{x} {}", tenths(y)),
                Some(same) if same == (x, y) => continue,
                Some((from, same)) if same == y => write!(path, "h{}", x - from),
                Some((same, from)) if same == x => write!(path, "v{}", tenths(y - from)),
                Some((from_x, from_y)) => write!(path, "l{} {}", x - from_x, tenths(y - from_y)),
            }
            .expect("a string takes everything");
            last = Some((x, y));
        }
        self.line(colour, false, &path);
    }

    /// A strip of the stretches in `shares`: start, end, and shade in units of `1 / SHADES`.
    pub fn strip(&mut self, colour: usize, (y, height): (f64, f64), shares: &[(i32, i32, u64)]) {
        for (from, to, share) in shares {
            let (colour, width, shade) = (colour % COLOURS, to - from, *share as f64 / SHADES as f64);
            self.put(format_args!(
                "<rect class=\"s c{colour}\" x=\"{from}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 opacity=\"{shade}\"/>"
            ));
        }
    }
}

/// Formats a number of tenths, without a decimal if it is zero.
fn tenths(value: i64) -> String {
    if value % 10 == 0 { (value / 10).to_string() } else { format!("{:.1}", value as f64 / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::Quantity;

    #[test]
    fn steps_go_along_one_axis_at_a_time_and_say_nothing_twice() {
        let mut drawing = Drawing::default();
        let (area, axis) = (Area { x: (0.0, 90.0), y: (12.0, 236.0) }, Axis::exact(Quantity::Count, 224.0));
        drawing.steps(9, area, &axis, vec![(70, 0), (80, 0), (80, 112), (80, 112), (90, 112)]);
        assert_eq!(drawing.elements(), "<path class=\"l c1\" d=\"M70 236h10v-112h10\"/>\n");
        assert_eq!([25, -25, 30, -5].map(tenths), ["2.5", "-2.5", "3", "-0.5"]);
    }
}
