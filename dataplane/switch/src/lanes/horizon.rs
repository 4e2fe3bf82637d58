//! The time of one link, which its lanes claim from each other.

use crate::sync::{AtomicU64, Ordering};
use units::{BitRate, Nanos};

/// The bytes that a link of `rate` carries from the epoch to `now`, rounded down, modulo 2^64: instants as a link counts them,
/// exact at any rate.
pub(crate) fn bytes_at(now: Nanos, rate: BitRate) -> u64 {
    (u128::from(now.0) * u128::from(rate.bits_per_second()) / 8_000_000_000) as u64
}

/// Bytes beyond which a horizon is none that a lane has left: 86 ms at 400G, and no window is as long.
const FAR: u64 = 1 << 32;

/// The end of what lanes have claimed of a link.
#[derive(Default)]
pub(super) struct Horizon(AtomicU64);

/// Time of a link that one lane has for itself, in [`bytes_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// From now to its start.
    pub lead: u64,
    /// Its length.
    pub bytes: u64,
    /// From now to the last instant at which a frame may begin within it.
    pub last: u64,
}

impl Horizon {
    /// Claims up to `most` bytes behind all other claims: what fits into `window` from `now` on, and one frame of `longest`
    /// bytes that begins within it.
    ///
    /// # Errors
    /// The bytes that the link is ahead of `now`, if that is more than the window.
    pub fn claim(&self, now: u64, window: u64, longest: u64, most: u64) -> Result<Claim, u64> {
        let mut horizon = self.0.load(Ordering::Acquire);
        loop {
            let lead = lead(horizon, now);
            if lead > window {
                return Err(lead);
            }
            let bytes = most.min(window - lead + longest);
            let end = now.wrapping_add(lead).wrapping_add(bytes);
            match self.0.compare_exchange(horizon, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(Claim { lead, bytes, last: window.min(lead + bytes) }),
                Err(moved) => horizon = moved,
            }
        }
    }

    /// How far the link is ahead of `now`.
    pub fn lead(&self, now: u64) -> u64 {
        lead(self.0.load(Ordering::Acquire), now)
    }

    /// Gives back what a claim of `claimed` bytes has not used, or adds what it has used beyond. Behind a call in which the lane
    /// was suspended, the link has passed over the claim, and others get that time again: no more than a window and a frame.
    pub fn settle(&self, claimed: u64, used: u64) {
        if claimed != used {
            self.0.fetch_add(used.wrapping_sub(claimed), Ordering::AcqRel);
        }
    }
}

/// How far `horizon` is ahead of `now`.
fn lead(horizon: u64, now: u64) -> u64 {
    Some(horizon.wrapping_sub(now)).filter(|lead| *lead < FAR).unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONGEST: u64 = 1_106;

    #[test]
    fn instants_are_whole_bytes_of_the_link() {
        assert_eq!(bytes_at(Nanos(1), BitRate::gigabits(400)), 50);
        assert_eq!(bytes_at(Nanos(9), BitRate::gigabits(1)), 1);
        let year_2100 = Nanos(4_102_444_800_000_000_000);
        let next = bytes_at(Nanos(year_2100.0 + 80), BitRate::gigabits(100));
        assert_eq!(next.wrapping_sub(bytes_at(year_2100, BitRate::gigabits(100))), 1_000);
    }

    #[test]
    fn a_claim_begins_behind_the_others_and_is_refused_beyond_the_window() {
        let horizon = Horizon::default();
        let claim = |now, most| horizon.claim(now, 10_000, LONGEST, most);
        let of = |lead, bytes, last| Ok(Claim { lead, bytes, last });
        assert_eq!(claim(5_000_000_000, 4_000), of(0, 4_000, 4_000), "idle for long");
        assert_eq!(claim(5_000_000_000, 6_000), of(4_000, 6_000, 10_000));
        assert_eq!(claim(5_000_000_000, 9_000), of(10_000, LONGEST, 10_000), "one frame");
        assert_eq!(claim(5_000_000_000, 1), Err(11_106));
        assert_eq!(claim(5_000_001_106, 1), of(10_000, 1, 10_000), "the link has moved on");
        horizon.settle(1, 0);
        assert_eq!(claim(5_000_001_106, 1), of(10_000, 1, 10_000), "it was given back");
    }

    proptest! {
        /// What lanes send in a stretch of time is the capacity of the link, its window and a frame, and as much again for each
        /// other lane that may be suspended within its call: it settles when the link has passed over its claim.
        #[test]
        fn claims_within_any_time_fit_the_link_and_a_window_for_each_lane(
            start in any::<u64>(),
            lanes in 1..4_usize,
            steps in proptest::collection::vec((0_u64..5_000, 0..4_usize, 1_u64..20_000, 0_u64..=100), 1..200),
        ) {
            let (horizon, window) = (Horizon::default(), 10_000);
            let (mut now, mut open, mut sent) = (start, vec![None; lanes], Vec::new());
            // Away from the ambiguity of a horizon that nobody has claimed.
            horizon.0.store(start, Ordering::Relaxed);
            for (step, lane, most, share) in steps {
                let lane = lane % lanes;
                if let Some((claimed, used)) = open[lane].take() {
                    horizon.settle(claimed, used);
                }
                // A call takes time of another lane's clock only.
                now = now.wrapping_add(step);
                if let Ok(claim) = horizon.claim(now, window, LONGEST, most) {
                    let used = claim.bytes * share / 100;
                    sent.push((now.wrapping_sub(start), used));
                    if lanes == 1 {
                        horizon.settle(claim.bytes, used);
                    } else {
                        open[lane] = Some((claim.bytes, used));
                    }
                }
            }
            for (first, (from, _)) in sent.iter().enumerate() {
                let mut sum = 0;
                for (to, used) in &sent[first..] {
                    sum += used;
                    let most = to - from + lanes as u64 * (window + LONGEST);
                    prop_assert!(sum <= most, "{sum} bytes from {from} to {to}, and {most} are allowed");
                }
            }
        }
    }
}
