//! Random choices that are the same on every machine: integers and comparisons, no math library.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A seeded generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg32);

impl Random {
    /// The generator number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        // Neighbouring seeds must not give neighbouring generators; the factor is 2^64 over the golden ratio.
        Self(Pcg32::seed_from_u64(seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// A number from 0 up to, but not including, 1, with 53 random bits.
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `count`, which must not be zero. The bias is below `count` / 2^64.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }

    /// An exponentially distributed number with mean 1, by comparisons alone (von Neumann, "Various
    /// techniques used in connection with random digits", 1951): a run of falling numbers that begins with x
    /// and is of odd length accepts x; each rejection adds one.
    pub fn exponential(&mut self) -> f64 {
        let mut whole = 0.0;
        loop {
            let first = self.fraction();
            let (mut last, mut odd) = (first, true);
            loop {
                let next = self.fraction();
                if next >= last {
                    break;
                }
                (last, odd) = (next, !odd);
            }
            if odd {
                return whole + first;
            }
            whole += 1.0;
        }
    }

    /// Shuffles `items`; all orders are equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_mean_and_variance_one_and_no_memory() {
        let mut random = Random::new(7, 0);
        let drawn: Vec<f64> = (0..200_000).map(|_| random.exponential()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
        let beyond = |x: f64| drawn.iter().filter(|it| **it > x).count() as f64 / drawn.len() as f64;
        for x in [0.5, 1.0, 2.0, 3.0] {
            assert!((beyond(x) - (-x).exp()).abs() < 0.005, "{x}");
        }
    }

    #[test]
    fn a_seed_and_a_stream_say_everything_and_streams_differ() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.below(1 << 30), random.below(1 << 30)]
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }
}
