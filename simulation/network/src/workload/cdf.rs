//! Distributions of flow sizes, as files list them: a size in bytes, and the percent of flows up to it.

use super::random::Random;

/// A distribution of sizes, linear between its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Sizes in bytes, each with the share of flows up to it, from 0 to 1; neither falls.
    rows: Vec<(f64, f64)>,
}

/// The reason why a text is not a valid distribution. Lines are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdfError {
    /// A line is not two numbers.
    #[error("line {line}: \"{got}\" is not a size in bytes and a cumulative percentage")]
    Malformed {
        /// The number of the line.
        line: usize,
        /// The text of the line.
        got: String,
    },
    /// A row is lower than the one before it.
    #[error(
        "line {line}: sizes and percentages must not decrease, and different percentages need different sizes"
    )]
    Falling {
        /// The number of the line.
        line: usize,
    },
    /// A number is out of range.
    #[error("line {line}: a size or percentage is out of range; expected up to 2^53 bytes and 0 to 100")]
    OutOfRange {
        /// The number of the line.
        line: usize,
    },
    /// It does not reach 100 %.
    #[error("the last row must have 100 percent")]
    Unfinished,
    /// All sizes are zero.
    #[error("all sizes are zero")]
    Empty,
}

impl Cdf {
    /// Parses rows of a size in bytes and a cumulative percent. Empty lines and lines that begin with `#` are
    /// skipped. If the first row is above 0 %, that share of flows has its size.
    ///
    /// # Errors
    /// [`CdfError`] names the first line at fault.
    pub fn parse(text: &str) -> Result<Self, CdfError> {
        let mut rows: Vec<(f64, f64)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut columns = line.split_whitespace().map(str::parse::<f64>);
            let (Some(Ok(size)), Some(Ok(percent)), None) = (columns.next(), columns.next(), columns.next())
            else {
                let got = line.chars().take(80).collect();
                return Err(CdfError::Malformed { line: number, got });
            };
            if !(0.0..=9_007_199_254_740_992.0).contains(&size) || !(0.0..=100.0).contains(&percent) {
                return Err(CdfError::OutOfRange { line: number });
            }
            let share = percent / 100.0;
            if let Some(&(size_before, share_before)) = rows.last()
                && (size < size_before || share < share_before)
            {
                return Err(CdfError::Falling { line: number });
            }
            rows.push((size, share));
        }
        match rows.last() {
            Some((1.0.., 1.0..)) => Ok(Self { rows }),
            Some((_, 1.0..)) => Err(CdfError::Empty),
            _ => Err(CdfError::Unfinished),
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let (first, share) = self.rows[0];
        let pairs = self.rows.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0);
        first * share + pairs.sum::<f64>()
    }

    /// The size in bytes that a share `fraction` of all flows, from 0 to 1, does not exceed; at least one.
    pub fn quantile(&self, fraction: f64) -> u64 {
        let above = self.rows.partition_point(|(_, share)| *share <= fraction);
        let size = match (above.checked_sub(1).map(|below| self.rows[below]), self.rows.get(above)) {
            (Some((size, share)), Some((next, next_share))) => {
                size + (fraction - share) / (next_share - share) * (next - size)
            }
            (None, Some((size, _))) => *size,
            (Some((size, _)), None) => size,
            (None, None) => 1.0,
        };
        (size.round() as u64).max(1)
    }

    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        self.quantile(random.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEB_SEARCH: &str = include_str!("../../../../config/workloads/websearch.cdf");
    const INTER_DC: &str = include_str!("../../../../config/workloads/ali-interdc-2021.cdf");

    #[test]
    fn the_means_are_those_of_the_areas_under_the_curves() {
        // 0.15 x 5000 + 0.05 x 15000 + 0.1 x 25000 + ... + 0.03 x 20 MB.
        let mean = Cdf::parse(WEB_SEARCH).unwrap().mean();
        assert!((mean - 1_711_250.0).abs() < 1.0, "{mean}");
        let mean = Cdf::parse(INTER_DC).unwrap().mean();
        assert!((60e6..70e6).contains(&mean), "the list says 64 MB, and it is {mean}");
    }

    #[test]
    fn sizes_lie_between_their_rows() {
        let cdf = Cdf::parse("0 0\n1000 50\n2000 100\n").unwrap();
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|share| cdf.quantile(share)), [1, 500, 1_000, 1_500]);
        assert_eq!(Cdf::parse("8000 100").unwrap().quantile(0.3), 8_000, "a single size");
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_line() {
        let refused = |text: &str| Cdf::parse(text).unwrap_err();
        assert!(matches!(refused("0 0\nten 100"), CdfError::Malformed { line: 2, .. }));
        assert!(matches!(refused("0 0\n-5 100"), CdfError::OutOfRange { line: 2 }));
        assert!(matches!(refused("0 0\n9 50\n8 100"), CdfError::Falling { line: 3 }));
        assert!(matches!(refused("0 0\n9 101"), CdfError::OutOfRange { line: 2 }));
        assert!(matches!(refused("0 0\n9 50"), CdfError::Unfinished));
        assert!(matches!(refused("# nothing"), CdfError::Unfinished));
        assert!(matches!(refused("0 0\n0 100"), CdfError::Empty));
    }

    proptest! {
        #[test]
        fn the_mean_of_what_is_drawn_is_that_of_the_distribution(
            steps in prop::collection::vec((1_u32..1_000_000, 1_u32..100), 1..12),
            seed: u64,
        ) {
            let total: u32 = steps.iter().map(|(_, share)| share).sum();
            let (mut size, mut share, mut text) = (0_u64, 0_u32, String::from("0 0\n"));
            for (grown, part) in &steps {
                (size, share) = (size + u64::from(*grown), share + part);
                text += &format!("{size} {}\n", 100.0 * f64::from(share) / f64::from(total));
            }
            let cdf = Cdf::parse(&text).unwrap();
            let mut random = Random::new(seed, 0);
            let count = 20_000;
            let mean = (0..count).map(|_| cdf.draw(&mut random) as f64).sum::<f64>() / f64::from(count);
            // Six standard deviations, for a size between zero and the largest.
            let bound = 6.0 * size as f64 / 2.0 / f64::from(count).sqrt() + 1.0;
            prop_assert!((mean - cdf.mean()).abs() < bound, "{} is not {}", mean, cdf.mean());
        }

        #[test]
        fn any_text_is_read_or_refused_and_what_is_read_can_be_drawn_from(text in "[0-9. \n#a-]{0,60}") {
            if let Ok(cdf) = Cdf::parse(&text) {
                let mut random = Random::new(1, 1);
                let largest = cdf.rows[cdf.rows.len() - 1].0;
                prop_assert!((1.0..=largest.max(1.0)).contains(&(cdf.draw(&mut random) as f64)));
                prop_assert!(cdf.mean() > 0.0 && cdf.mean() <= largest * (1.0 + 1e-9));
            }
        }
    }
}
