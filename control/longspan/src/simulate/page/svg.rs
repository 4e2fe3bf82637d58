//! A plot as SVG: a frame with axes, and curves in the colours of the page's style.

use crate::chart::axis::Axis;
use crate::chart::drawing::{COLOURS, Drawing, escaped};
use core::fmt::Write;

/// The size of a plot: in pixels if the page has its full width.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
/// The frame, with room for labels around it.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 26.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// A plot under construction.
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    body: Drawing,
}

impl Plot {
    /// The first and last pixel of the horizontal axis.
    pub const PIXELS: (i32, i32) = (LEFT as i32, RIGHT as i32);

    /// An empty frame with axes. `x_title` is the label of the horizontal one.
    pub fn new(title: &str, x_title: &str, x: Axis, y: Axis) -> Self {
        let mut plot = Self { title: title.to_owned(), x, y, body: Drawing::default() };
        for (value, label) in plot.y.labels() {
            let at = plot.y_of(value);
            plot.body.grid(format_args!("M{LEFT} {at:.1}H{RIGHT}"));
            plot.body.text(LEFT - 7.0, format_args!("{:.1}", at + 4.0), "end", &label);
        }
        for (value, label) in plot.x.labels() {
            let at = plot.x_of(value);
            plot.body.grid(format_args!("M{at:.1} {TOP}V{BOTTOM}"));
            plot.body.text(format_args!("{at:.1}"), BOTTOM + 17.0, "middle", &label);
        }
        plot.body.frame((LEFT, TOP), (RIGHT - LEFT, BOTTOM - TOP));
        plot.body.text((LEFT + RIGHT) / 2.0, HEIGHT - 8.0, "middle", &escaped(x_title));
        plot
    }

    /// A line through `points`, in the colour of the curve `colour`. A dashed line is the second one of a curve.
    pub fn line(&mut self, colour: usize, dashed: bool, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (place, (x, y)) in points.iter().enumerate() {
            let command = if place == 0 { 'M' } else { 'L' };
            let (x, y) = (self.x_of(*x), self.y_of(*y));
            write!(path, "{command}{x:.1} {y:.1}").expect("a string takes everything");
        }
        self.body.line(colour, dashed, &path);
    }

    /// Steps through `corners`: a horizontal pixel, and a value.
    pub fn steps(&mut self, colour: usize, corners: &[(i32, u64)]) {
        let (y, body) = (&self.y, &mut self.body);
        body.steps(colour, corners.iter().map(|(x, value)| (*x, height_of(y, *value as f64))));
    }

    /// A dot; a hollow one for a figure that is uncertain.
    pub fn dot(&mut self, colour: usize, hollow: bool, (x, y): (f64, f64)) {
        let (x, y) = (self.x_of(x), self.y_of(y));
        let (colour, class) = (colour % COLOURS, if hollow { 'h' } else { 's' });
        self.body
            .put(format_args!("<circle class=\"{class} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
    }

    /// A line from `least` to `most` at `x`: the spread over seeds.
    pub fn spread(&mut self, colour: usize, x: f64, least: f64, most: f64) {
        let (x, low, high) = (self.x_of(x), self.y_of(least), self.y_of(most));
        self.body.line(colour, false, &format!("M{x:.1} {low:.1}V{high:.1}"));
    }

    /// The figure for the page, with a legend of its own or an empty one.
    pub fn figure(&self, legend: &str) -> String {
        figure(&self.title, legend, (WIDTH, HEIGHT), self.body.elements())
    }

    fn x_of(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (RIGHT - LEFT)
    }

    fn y_of(&self, value: f64) -> f64 {
        height_of(&self.y, value)
    }
}

/// The vertical position of `value` on the axis `y`.
fn height_of(y: &Axis, value: f64) -> f64 {
    BOTTOM - y.place(value) * (BOTTOM - TOP)
}

/// A figure for the page: a title, a legend that may be empty, and elements in a drawing of this size.
pub fn figure(title: &str, legend: &str, (width, height): (f64, f64), elements: &str) -> String {
    let title = escaped(title);
    format!(
        "<figure><figcaption>{title}</figcaption>{legend}\
         <svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n{elements}</svg></figure>\n"
    )
}

/// The last `room` characters of a name that is too long, because names differ mostly at their ends.
pub fn shortened(name: &str, room: usize) -> String {
    let count = name.chars().count();
    if count <= room {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(count - (room - 2)).collect();
    format!("..{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::Quantity;

    #[test]
    fn what_is_beyond_an_axis_stands_at_its_end() {
        let plot = Plot::new("t", "x", Axis::exact(Quantity::Time, 10.0), Axis::exact(Quantity::Count, 10.0));
        assert_eq!([-5.0, 0.0, 10.0, 50.0].map(|value| plot.x_of(value)), [LEFT, LEFT, RIGHT, RIGHT]);
        assert_eq!([0.0, 10.0].map(|value| plot.y_of(value)), [BOTTOM, TOP]);
    }

    #[test]
    fn of_a_long_name_the_end_is_shown() {
        assert_eq!(shortened("bifrost", 25), "bifrost");
        let long = shortened("bifrost long_haul.bifrost.slot=100us", 25);
        assert_eq!(long, "..haul.bifrost.slot=100us");
        assert_eq!(long.len(), 25);
    }
}
