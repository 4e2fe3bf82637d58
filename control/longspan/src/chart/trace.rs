//! Reducing a column to as many points as there are pixels.

use super::drawing::SHADES;
use units::Interval;

/// The values of a column within one pixel.
struct Pixel {
    x: i32,
    least: u64,
    most: u64,
    last: u64,
}

/// The corners of the steps through `values`, each of which is at a pixel. Within a pixel, the line covers all values.
pub fn corners(values: impl Iterator<Item = (i32, u64)>) -> Vec<(i32, u64)> {
    let mut corners = Vec::new();
    let mut pixel: Option<Pixel> = None;
    for (x, value) in values {
        pixel = Some(match pixel {
            Some(Pixel { x: same, least, most, .. }) if same == x => {
                Pixel { x, least: least.min(value), most: most.max(value), last: value }
            }
            Some(done) => {
                // The last value applies until here.
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

impl Pixel {
    fn corners(self) -> [(i32, u64); 3] {
        [(self.x, self.least), (self.x, self.most), (self.x, self.last)]
    }
}

/// The share of each pixel's time in which `values` are above zero: first pixel, end, and share in units of
/// `1 / SHADES`. `values` are pixels, instants and values, in order; each value applies until the next one.
pub fn shares(values: &[(i32, Interval, u64)]) -> Vec<(i32, i32, u64)> {
    bars(&held_by_pixel(values))
}

/// For each pixel, how long the value is above zero and how long the pixel lasts, in fractions of a nanosecond.
fn held_by_pixel(values: &[(i32, Interval, u64)]) -> Vec<(i32, u128, u128)> {
    let mut pixels: Vec<(i32, u128, u128)> = Vec::new();
    for pair in values.windows(2) {
        let ((first, from, value), (last, to, _)) = (pair[0], pair[1]);
        // Each pixel that it touches gets an equal part. Within one pixel this is exact; otherwise the error is
        // invisible.
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

/// Joins neighbouring pixels with the same share, and drops those with none: first pixel, end, and share.
fn bars(pixels: &[(i32, u128, u128)]) -> Vec<(i32, i32, u64)> {
    let mut bars: Vec<(i32, i32, u64)> = Vec::new();
    for (x, held, whole) in pixels {
        let share = (held * u128::from(SHADES)).div_ceil((*whole).max(1)) as u64;
        match bars.last_mut() {
            Some((_, end, same)) if *end == *x && *same == share => *end = x + 1,
            _ if share > 0 => bars.push((*x, x + 1, share)),
            _ => {}
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_goes_in_steps() {
        assert_eq!(corners([(0, 5), (10, 7)].into_iter()), [(0, 5), (10, 5), (10, 7)]);
        assert!(corners([].into_iter()).is_empty());
    }

    #[test]
    fn a_strip_tells_how_much_of_a_pixel_is_paused() {
        let at = |x, time, value| (x, Interval(time), value);
        // The first pixel is paused for a quarter of its time, the next five throughout.
        let values = [at(0, 0, 0), at(0, 750, 2), at(0, 1_000, 0), at(1, 1_000, 1), at(5, 6_000, 0)];
        assert_eq!(shares(&values), [(0, 1, 1), (1, 6, 4)]);
        assert!(shares(&[at(0, 0, 0), at(9, 9_000, 0)]).is_empty());
    }

    proptest! {
        #[test]
        fn however_many_values_a_pixel_has_the_line_covers_them_with_few_corners(
            values in proptest::collection::vec((0_i32..8, 0_u64..100), 1..200)
        ) {
            let mut values = values;
            values.sort_by_key(|(x, _)| *x);
            let corners = corners(values.iter().copied());
            prop_assert!(corners.len() <= 8 * 4);
            for (x, value) in &values {
                let at = || corners.iter().filter(|(corner, _)| corner == x).map(|(_, value)| *value);
                prop_assert!(at().min() <= Some(*value) && Some(*value) <= at().max());
            }
            prop_assert_eq!(corners.last(), values.last());
        }
    }
}
