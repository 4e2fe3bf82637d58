//! SVG elements. The picture or page that contains them has styles for their classes: `g` for a grid, `f` for a
//! frame, `l` for a line and `s` for a surface. Lines and surfaces have the colour of their class `c0`, `c1`, ...

use core::fmt::{Arguments, Display, Write};

/// The number of colours in a style.
pub const COLOURS: usize = 8;

/// The number of shades in a strip.
pub const SHADES: u64 = 4;

/// Escapes `text` for elements and attributes of HTML and SVG.
pub fn escaped(text: &str) -> String {
    let characters = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    characters.into_iter().fold(text.to_owned(), |text, (character, safe)| text.replace(character, safe))
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

    /// A line of the grid.
    pub fn grid(&mut self, path: Arguments<'_>) {
        self.put(format_args!("<path class=\"g\" d=\"{path}\"/>"));
    }

    /// The frame around a chart.
    pub fn frame(
        &mut self,
        (x, y): (impl Display, impl Display),
        (width, height): (impl Display, impl Display),
    ) {
        self.put(format_args!(
            "<rect class=\"f\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// A line along `path`.
    pub fn line(&mut self, colour: usize, dashed: bool, path: &str) {
        let (colour, dashes) = (colour % COLOURS, if dashed { " d" } else { "" });
        self.put(format_args!("<path class=\"l c{colour}{dashes}\" d=\"{path}\"/>"));
    }

    /// A line in steps: each part is horizontal or vertical.
    pub fn steps(&mut self, colour: usize, corners: impl Iterator<Item = (i32, f64)>) {
        let mut path = String::new();
        let mut last: Option<(i32, i64)> = None;
        for (x, y) in corners {
            // In tenths and relative, to save space: a page has many of these.
            let y = (y * 10.0).round() as i64;
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

    #[test]
    fn nothing_that_a_scenario_says_becomes_markup() {
        assert_eq!(escaped("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
        assert_eq!(escaped("80 km, 400 us"), "80 km, 400 us");
    }

    #[test]
    fn steps_go_along_one_axis_at_a_time_and_say_nothing_twice() {
        let mut drawing = Drawing::default();
        let corners = [(70, 236.0), (80, 236.0), (80, 124.0), (80, 124.0), (90, 124.0)];
        drawing.steps(9, corners.into_iter());
        assert_eq!(drawing.elements(), "<path class=\"l c1\" d=\"M70 236h10v-112h10\"/>\n");
        assert_eq!([25, -25, 30, -5].map(tenths), ["2.5", "-2.5", "3", "-0.5"]);
    }
}
