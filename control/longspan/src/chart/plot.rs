//! A plot of an experiment: a frame with axes, and curves.

use super::axis::Axis;
use super::drawing::{Area, COLOURS, Drawing};
use super::text::escaped;
use core::fmt::Write;

/// The size of a plot: in pixels if the page has its full width.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
/// The frame, with room for labels around it.
const FRAME: Area = Area { x: (66.0, WIDTH - 26.0), y: (12.0, HEIGHT - 44.0) };

/// A plot under construction.
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    body: Drawing,
}

impl Plot {
    /// The first and last pixel of the horizontal axis.
    pub const PIXELS: (i32, i32) = (FRAME.x.0 as i32, FRAME.x.1 as i32);

    /// An empty frame with axes. `x_title` is the label of the horizontal one.
    pub fn new(title: &str, x_title: &str, x: Axis, y: Axis) -> Self {
        let mut body = Drawing::default();
        let labels = FRAME.x_labels(&x);
        body.y_axis(FRAME, &y);
        body.x_grid(FRAME, &labels);
        body.x_labels(FRAME.y.1, &labels);
        body.frame(FRAME);
        body.text((FRAME.x.0 + FRAME.x.1) / 2.0, HEIGHT - 8.0, "middle", &escaped(x_title));
        Self { title: title.to_owned(), x, y, body }
    }

    /// A line through `points`, in the colour of the curve `colour`. A dashed line is the second one of a curve.
    pub fn line(&mut self, colour: usize, dashed: bool, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (place, point) in points.iter().enumerate() {
            let (command, (x, y)) = (if place == 0 { 'M' } else { 'L' }, self.place(*point));
            write!(path, "{command}{x:.1} {y:.1}").expect("a string takes everything");
        }
        self.body.line(colour, dashed, &path);
    }

    /// Steps through `corners`: a horizontal pixel, and a value.
    pub fn steps(&mut self, colour: usize, corners: Vec<(i32, u64)>) {
        self.body.steps(colour, FRAME, &self.y, corners);
    }

    /// A dot; a hollow one for a figure that is uncertain.
    pub fn dot(&mut self, colour: usize, hollow: bool, point: (f64, f64)) {
        let (x, y) = self.place(point);
        let (colour, class) = (colour % COLOURS, if hollow { 'h' } else { 's' });
        self.body
            .put(format_args!("<circle class=\"{class} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
    }

    /// The figure for the page, with its own legend or an empty one.
    pub fn figure(&self, legend: &str) -> String {
        figure(&self.title, legend, (WIDTH, HEIGHT), self.body.elements())
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (FRAME.x_of(&self.x, x), FRAME.y_of(&self.y, y))
    }
}

/// A figure for a page: a title, a legend that may be empty, and elements in a drawing of this size.
pub fn figure(title: &str, legend: &str, (width, height): (f64, f64), elements: &str) -> String {
    let title = escaped(title);
    format!(
        "<figure><figcaption>{title}</figcaption>{legend}\
         <svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n{elements}</svg></figure>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::Quantity;

    #[test]
    fn what_is_beyond_an_axis_stands_at_its_end() {
        let plot = Plot::new("t", "x", Axis::exact(Quantity::Time, 10.0), Axis::exact(Quantity::Count, 10.0));
        let (left, right) = FRAME.x;
        assert_eq!([-5.0, 0.0, 10.0, 50.0].map(|x| plot.place((x, 0.0)).0), [left, left, right, right]);
        assert_eq!([0.0, 10.0].map(|y| plot.place((0.0, y)).1), [FRAME.y.1, FRAME.y.0]);
    }
}
