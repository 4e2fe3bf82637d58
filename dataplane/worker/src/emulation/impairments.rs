//! Impairments of an emulated link.

use super::EmulationSettings;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// One past the largest draw.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// The fate of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub lost: bool,
    pub duplicated: bool,
    pub held_back: bool,
}

/// A probability in units of 2^-64: 0 is never, 1 is always, and 10^-12 does not round to zero.
#[derive(Clone, Copy)]
struct Chance(u128);

impl Chance {
    fn new(probability: f64) -> Self {
        Self((probability.clamp(0.0, 1.0) * TWO_TO_64) as u128)
    }

    fn strikes(self, rng: &mut Pcg32) -> bool {
        u128::from(rng.next_u64()) < self.0
    }
}

/// Draws the fate of frames.
pub(super) struct Impairments {
    loss: Chance,
    duplicate: Chance,
    reorder: Chance,
    rng: Pcg32,
}

impl Impairments {
    /// `None` if all probabilities are zero.
    pub fn new(settings: &EmulationSettings) -> Option<Self> {
        let impaired = [settings.loss, settings.duplicate, settings.reorder].iter().any(|it| *it > 0.0);
        impaired.then(|| Self {
            loss: Chance::new(settings.loss),
            duplicate: Chance::new(settings.duplicate),
            reorder: Chance::new(settings.reorder),
            rng: Pcg32::seed_from_u64(settings.seed),
        })
    }

    /// The fate of the next frame. Each frame takes three draws whatever their results, so that enabling one
    /// impairment does not change which frames another hits.
    pub fn fate(&mut self) -> Fate {
        Fate {
            lost: self.loss.strikes(&mut self.rng),
            duplicated: self.duplicate.strikes(&mut self.rng),
            held_back: self.reorder.strikes(&mut self.rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certain_impairment_always_occurs_and_an_impossible_one_never() {
        let mut rng = Pcg32::seed_from_u64(1);
        for (probability, expected) in
            [(1.0, true), (2.0, true), (0.0, false), (-1.0, false), (f64::NAN, false)]
        {
            let chance = Chance::new(probability);
            assert!((0..10_000).all(|_| chance.strikes(&mut rng) == expected), "{probability}");
        }
    }

    #[test]
    fn a_probability_as_small_as_that_of_a_good_fibre_is_not_zero() {
        // 10^-15 of 2^64.
        assert_eq!(Chance::new(1e-15).0, 18_446);
    }
}
