//! A column as it is drawn: no more points than there are pixels to tell them apart.

use super::time_axis::TimeAxis;
use replay::series::Series;
use units::Interval;

/// A column of a series, from the first row in which it means something on.
pub struct Trace<'a> {
    series: &'a Series,
    axis: &'a TimeAxis,
    column: usize,
}

/// What a column comes to within one pixel.
struct Pixel {
    x: i32,
    least: u64,
    most: u64,
    last: u64,
}

impl<'a> Trace<'a> {
    /// The column at place `column`.
    pub fn new(series: &'a Series, axis: &'a TimeAxis, column: usize) -> Self {
        Self { series, axis, column }
    }

    /// Instants and values.
    fn values(&self) -> impl Iterator<Item = (Interval, u64)> {
        let times = self.series.times().iter().enumerate();
        times.filter_map(|(row, time)| Some((*time, self.series.row(row)[self.column]?)))
    }

    /// The most that it comes to.
    pub fn most(&self) -> u64 {
        self.values().map(|(_, value)| value).max().unwrap_or(0)
    }

    /// The corners of its steps: pixels from the left, and values.
    pub fn steps(&self) -> Vec<(i32, u64)> {
        let mut corners = Vec::new();
        let mut pixel: Option<Pixel> = None;
        for (time, value) in self.values() {
            let x = self.axis.x(time);
            pixel = Some(match pixel {
                Some(Pixel { x: same, least, most, .. }) if same == x => {
                    Pixel { x, least: least.min(value), most: most.max(value), last: value }
                }
                Some(done) => {
                    // It stands until here.
                    let last = done.last;
                    corners.extend(done.corners());
                    corners.push((x, last));
                    Pixel { x, least: last.min(value), most: last.max(value), last: value }
                }
                None => Pixel { x, least: value, most: value, last: value },
            });
        }
        corners.extend(pixel.into_iter().flat_map(Pixel::corners));
        corners.dedup();
        corners
    }

    /// How much of the time of each pixel it is above zero: pixels from and to, and the share in
    /// `1 / SHARES`.
    pub fn shares(&self) -> Vec<(i32, i32, u64)> {
        let mut bars: Vec<(i32, i32, u64)> = Vec::new();
        for (x, held, whole) in self.held_by_pixel() {
            let share = (held * u128::from(Self::SHARES)).div_ceil(whole.max(1)) as u64;
            match bars.last_mut() {
                Some((_, end, same)) if *end == x && *same == share => *end = x + 1,
                _ if share > 0 => bars.push((x, x + 1, share)),
                _ => {}
            }
        }
        bars
    }

    /// Shades that are told apart.
    pub const SHARES: u64 = 4;

    /// For each pixel how long it is above zero, and how long the pixel lasts, in parts of a
    /// nanosecond.
    fn held_by_pixel(&self) -> Vec<(i32, u128, u128)> {
        let mut pixels: Vec<(i32, u128, u128)> = Vec::new();
        let values: Vec<_> = self.values().collect();
        for pair in values.windows(2) {
            let ((from, value), (to, _)) = (pair[0], pair[1]);
            let (first, last) = (self.axis.x(from), self.axis.x(to));
            // Of each pixel that it reaches into an equal part: exact where it is within one, and as
            // good as one can see elsewhere.
            let each = (u128::from((to - from).0) << 16) / (last - first + 1) as u128;
            for x in first..=last {
                if pixels.last().is_none_or(|(newest, ..)| *newest < x) {
                    pixels.push((x, 0, 0));
                }
                if let Some((_, held, whole)) = pixels.last_mut() {
                    *held += if value > 0 { each } else { 0 };
                    *whole += each;
                }
            }
        }
        pixels
    }
}

impl Pixel {
    fn corners(self) -> [(i32, u64); 3] {
        [(self.x, self.least), (self.x, self.most), (self.x, self.last)]
    }
}
