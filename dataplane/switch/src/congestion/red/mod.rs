//! RED that marks: congestion experienced, by the length of the egress queue.
//!
//! Up to Kmin nothing is marked. From Kmin to Kmax the probability rises linearly to Pmax, and above Kmax
//! everything is marked (DCQCN, "Congestion control for large-scale RDMA deployments", section 3.1 and figure 5).
//! The length is that of the moment, not an average.

pub(crate) mod settings;

pub use settings::RedError;

use crate::program;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// One past the largest draw.
const TWO_TO_32: f64 = 4_294_967_296.0;

/// The marking rule of one queue, prepared for the turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Red {
    kmin: u64,
    kmax: u64,
    /// Probability per byte above Kmin, in units of 2^-32.
    slope: f64,
    pub at: program::MarkAt,
}

impl Red {
    pub fn new(settings: &program::Red) -> Self {
        let range = (settings.kmax - settings.kmin).0 as f64;
        Self {
            kmin: settings.kmin.0,
            kmax: settings.kmax.0,
            slope: settings.pmax * TWO_TO_32 / range,
            at: settings.mark_at,
        }
    }

    /// Decides whether to mark a frame while `queue` bytes wait beside it.
    #[inline]
    pub fn marks(&self, queue: Bytes, rng: &mut impl Rng) -> bool {
        if queue.0 <= self.kmin {
            return false;
        }
        queue.0 > self.kmax || f64::from(rng.next_u32()) < (queue.0 - self.kmin) as f64 * self.slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_pcg::Pcg32;

    const RED: program::Red = program::Red {
        kmin: Bytes(100_000),
        kmax: Bytes(400_000),
        pmax: 0.2,
        mark_at: program::MarkAt::Dequeue,
        adaptive: None,
    };

    fn marked(queue: u64, frames: u32) -> u32 {
        let (red, mut rng) = (Red::new(&RED), Pcg32::seed_from_u64(7));
        (0..frames).map(|_| u32::from(red.marks(Bytes(queue), &mut rng))).sum()
    }

    #[test]
    fn nothing_is_marked_up_to_kmin_and_everything_above_kmax() {
        assert_eq!(marked(100_000, 10_000), 0);
        assert_eq!(marked(400_001, 10_000), 10_000);
    }

    #[test]
    fn between_them_the_probability_rises_linearly_to_pmax() {
        for (queue, probability) in [(175_000, 0.05), (250_000, 0.1), (400_000, 0.2)] {
            let frames = 100_000.0;
            let deviation = f64::sqrt(frames * probability * (1.0 - probability));
            let distance = f64::from(marked(queue, 100_000)) - frames * probability;
            assert!(distance.abs() < 4.0 * deviation, "queue {queue}: off by {distance}");
        }
    }
}
