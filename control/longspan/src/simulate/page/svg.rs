//! A plot as SVG: a frame with axes, and curves in the colours of the page's style.

use super::axis::Axis;
use super::html::{COLOURS, escaped};
use core::fmt::Write;

/// A plot's size, in the units of its drawing: pixels where the page is as wide as it gets.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
/// Room at the left for the figures of the axis, and on the other sides.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 26.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// A plot under construction.
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    body: String,
}

impl Plot {
    /// An empty frame with axes. `x_title` says what goes along the lower one.
    pub fn new(title: &str, x_title: &str, x: Axis, y: Axis) -> Self {
        let mut plot = Self { title: title.to_owned(), x, y, body: String::new() };
        for (value, label) in plot.y.labels() {
            let at = plot.y_of(value);
            plot.put(format_args!("<path class=\"g\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>"));
            let (right, below) = (LEFT - 7.0, at + 4.0);
            plot.put(format_args!("<text x=\"{right}\" y=\"{below:.1}\" text-anchor=\"end\">{label}</text>"));
        }
        for (value, label) in plot.x.labels() {
            let at = plot.x_of(value);
            plot.put(format_args!("<path class=\"g\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>"));
            let below = BOTTOM + 17.0;
            plot.put(format_args!("<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>"));
        }
        let (width, height) = (RIGHT - LEFT, BOTTOM - TOP);
        plot.put(format_args!(
            "<rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\"/>"
        ));
        let (middle, lowest) = ((LEFT + RIGHT) / 2.0, HEIGHT - 8.0);
        let x_title = escaped(x_title);
        plot.put(format_args!("<text x=\"{middle}\" y=\"{lowest}\" text-anchor=\"middle\">{x_title}</text>"));
        plot
    }

    /// From which pixel to which time or whatever goes along the lower axis is drawn.
    pub const PIXELS: (i32, i32) = (LEFT as i32, RIGHT as i32);

    /// A line through `points`, in the colour of the curve `colour`; the other stroke for a second line of
    /// one curve.
    pub fn line(&mut self, colour: usize, dashed: bool, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (place, (x, y)) in points.iter().enumerate() {
            let command = if place == 0 { 'M' } else { 'L' };
            let (x, y) = (self.x_of(*x), self.y_of(*y));
            write!(path, "{command}{x:.1} {y:.1}").expect("a string takes everything");
        }
        self.path(colour, dashed, &path);
    }

    /// Steps through `corners`: a pixel from the left, and a value. From one to the next it goes along one
    /// axis.
    pub fn steps(&mut self, colour: usize, corners: &[(i32, u64)]) {
        let mut path = String::new();
        let mut last: Option<(i32, i64)> = None;
        for (x, value) in corners {
            // In tenths, and as differences: a page has many of these.
            let y = (self.y_of(*value as f64) * 10.0).round() as i64;
            match last {
                None => write!(path, "M{x} {}", tenths(y)),
                Some(same) if same == (*x, y) => continue,
                Some((from, same)) if same == y => write!(path, "h{}", x - from),
                Some((same, from)) if same == *x => write!(path, "v{}", tenths(y - from)),
                Some((from_x, from_y)) => write!(path, "l{} {}", x - from_x, tenths(y - from_y)),
            }
            .expect("a string takes everything");
            last = Some((*x, y));
        }
        self.path(colour, false, &path);
    }

    fn path(&mut self, colour: usize, dashed: bool, path: &str) {
        let (colour, dashes) = (colour % COLOURS, if dashed { " d" } else { "" });
        self.put(format_args!("<path class=\"l c{colour}{dashes}\" d=\"{path}\"/>"));
    }

    /// A dot at a point; a hollow one for what is to be taken with a grain of salt.
    pub fn dot(&mut self, colour: usize, hollow: bool, (x, y): (f64, f64)) {
        let (x, y) = (self.x_of(x), self.y_of(y));
        let (colour, class) = (colour % COLOURS, if hollow { 'h' } else { 's' });
        self.put(format_args!("<circle class=\"{class} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
    }

    /// A line from `least` to `most` at `x`: the spread over seeds.
    pub fn spread(&mut self, colour: usize, x: f64, least: f64, most: f64) {
        let (x, low, high) = (self.x_of(x), self.y_of(least), self.y_of(most));
        let colour = colour % COLOURS;
        self.put(format_args!("<path class=\"l c{colour}\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>"));
    }

    /// The figure for the page.
    pub fn figure(&self) -> String {
        figure(&self.title, WIDTH, HEIGHT, &self.body)
    }

    /// The figure for the page, with a legend of its own.
    pub fn figure_with(&self, legend: &str) -> String {
        framed(&self.title, legend, WIDTH, HEIGHT, &self.body)
    }

    fn put(&mut self, element: core::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("a string takes everything");
        self.body.push('\n');
    }

    fn x_of(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (RIGHT - LEFT)
    }

    fn y_of(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }
}

/// A figure for the page, of elements that are drawn on `width` by `height`.
pub fn figure(title: &str, width: f64, height: f64, elements: &str) -> String {
    framed(title, "", width, height, elements)
}

fn framed(title: &str, legend: &str, width: f64, height: f64, elements: &str) -> String {
    let title = escaped(title);
    format!(
        "<figure><figcaption>{title}</figcaption>{legend}\
         <svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n{elements}</svg></figure>\n"
    )
}

/// A number of tenths, without needless characters.
fn tenths(value: i64) -> String {
    if value % 10 == 0 { (value / 10).to_string() } else { format!("{:.1}", value as f64 / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Quantity;
    use super::*;

    #[test]
    fn steps_go_along_one_axis_at_a_time_and_say_nothing_twice() {
        let mut plot =
            Plot::new("t", "x", Axis::exact(Quantity::Time, 10.0), Axis::exact(Quantity::Count, 10.0));
        plot.body.clear();
        plot.steps(9, &[(70, 0), (80, 0), (80, 5), (80, 5), (90, 5)]);
        assert_eq!(plot.body, "<path class=\"l c1\" d=\"M70 236h10v-112h10\"/>\n");
        assert_eq!([25, -25, 30, -5].map(tenths), ["2.5", "-2.5", "3", "-0.5"]);
    }

    #[test]
    fn what_is_beyond_an_axis_stands_at_its_end() {
        let plot = Plot::new("t", "x", Axis::exact(Quantity::Time, 10.0), Axis::exact(Quantity::Count, 10.0));
        assert_eq!([-5.0, 0.0, 10.0, 50.0].map(|value| plot.x_of(value)), [LEFT, LEFT, RIGHT, RIGHT]);
        assert_eq!([0.0, 10.0].map(|value| plot.y_of(value)), [BOTTOM, TOP]);
    }
}
