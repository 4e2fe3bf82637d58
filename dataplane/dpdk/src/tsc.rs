//! The time stamp counter as a clock.

use core::time::Duration;
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;
use units::Nanos;

/// A reading of CLOCK_MONOTONIC_RAW between two readings of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The counter before the clock was read.
    pub before: u64,
    /// The clock, in nanoseconds.
    pub clock: Nanos,
    /// The counter after the clock was read.
    pub after: u64,
}

/// Why the counter cannot be used as a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CalibrationError {
    /// There are fewer than two samples, or all are of one instant.
    #[error("too few samples to calibrate the time stamp counter")]
    TooFewSamples,
    /// The counter stopped, went back, or is slower than one tick in 10 us.
    #[error("the time stamp counter advanced by {ticks} ticks in {nanos} ns, which is implausible")]
    Implausible {
        /// The advance of the counter.
        ticks: i128,
        /// The advance of the clock.
        nanos: u64,
    },
}

/// Fractional bits of a multiplier. Ticks shorter than 65 us fit, and a multiplier for a tick of 0.1 ns is
/// still exact to 4e-14.
const SHIFT: u32 = 48;

/// A clock based on the time stamp counter: Unix time in nanoseconds at the calibration, advanced by the
/// counter alone. It never goes back on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsc {
    base_ticks: u64,
    base: Nanos,
    /// Nanoseconds per tick, with [`SHIFT`] fractional bits.
    multiplier: u64,
}

impl Tsc {
    /// The counter of this core.
    #[inline(always)]
    pub fn ticks() -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction, and Linux allows it for all processes.
        unsafe {
            core::arch::x86_64::_rdtsc()
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: reads a register.
        unsafe {
            dpdk_sys::shim_ticks()
        }
    }

    /// The current instant.
    #[inline(always)]
    pub fn now(&self) -> Nanos {
        self.at(Self::ticks())
    }

    /// The instant at which the counter reads `ticks`. For ticks before the calibration, this is the instant
    /// of the calibration.
    #[inline(always)]
    pub fn at(&self, ticks: u64) -> Nanos {
        let since = u128::from(ticks.saturating_sub(self.base_ticks)) * u128::from(self.multiplier);
        Nanos(self.base.0.saturating_add((since >> SHIFT) as u64))
    }

    /// Ticks per second, rounded down.
    pub fn ticks_per_second(&self) -> u64 {
        ((1_000_000_000_u128 << SHIFT) / u128::from(self.multiplier)) as u64
    }

    /// Compares the counter with CLOCK_MONOTONIC_RAW for `duration`, mostly asleep. A fifth of a second gives
    /// a precision of one millionth.
    ///
    /// # Errors
    ///
    /// The counter does not count as one should.
    pub fn calibrate(duration: Duration) -> Result<Self, CalibrationError> {
        let mut samples = Vec::new();
        take_samples(&mut samples);
        thread::sleep(duration);
        take_samples(&mut samples);
        let base_ticks = Self::ticks();
        Self::from_samples(&samples, base_ticks, clock(ClockId::Realtime))
    }

    /// The clock according to `samples`, in the order they were taken, that reads `base` when the counter is
    /// at `base_ticks`.
    ///
    /// The rate is taken between the sharpest sample of the first half and that of the second. In a sharp
    /// sample, little time passed between the two readings of the counter, so it was not interrupted.
    ///
    /// # Errors
    ///
    /// The samples are too few, or the counter did not count as one should.
    pub fn from_samples(samples: &[Sample], base_ticks: u64, base: Nanos) -> Result<Self, CalibrationError> {
        let (first, second) = samples.split_at(samples.len() / 2);
        let (Some(first), Some(second)) = (sharpest(first), sharpest(second)) else {
            return Err(CalibrationError::TooFewSamples);
        };
        let nanos = second.clock.since(first.clock).0;
        if nanos == 0 {
            return Err(CalibrationError::TooFewSamples);
        }
        let half_ticks = second.twice_middle() - first.twice_middle();
        let implausible = CalibrationError::Implausible { ticks: half_ticks / 2, nanos };
        let half_ticks = u128::try_from(half_ticks).map_err(|_| implausible)?;
        let multiplier = (u128::from(nanos) << (SHIFT + 1)).checked_div(half_ticks).ok_or(implausible)?;
        let multiplier = u64::try_from(multiplier).map_err(|_| implausible)?;
        if multiplier == 0 {
            return Err(implausible);
        }
        Ok(Self { base_ticks, base, multiplier })
    }
}

impl Sample {
    /// Twice the counter's value at the middle of the sample, when the clock was read.
    fn twice_middle(&self) -> i128 {
        i128::from(self.before) + i128::from(self.after)
    }
}

fn sharpest(samples: &[Sample]) -> Option<&Sample> {
    samples
        .iter()
        .filter(|sample| sample.after >= sample.before)
        .min_by_key(|sample| sample.after - sample.before)
}

/// The number of samples taken at a time, so that at least one is not interrupted.
const AT_A_TIME: usize = 100;

fn take_samples(samples: &mut Vec<Sample>) {
    for _ in 0..AT_A_TIME {
        let before = Tsc::ticks();
        let clock = clock(ClockId::MonotonicRaw);
        samples.push(Sample { before, clock, after: Tsc::ticks() });
    }
}

fn clock(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    // Neither clock is ever before its epoch.
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Samples of a counter of this rate: two rough and two sharp ones, each a second apart.
    fn samples(ticks_per_second: u64, start: u64) -> Vec<Sample> {
        let sample = |second: u64, before: u64, after: u64| {
            let middle = start + ticks_per_second * second;
            Sample { before: middle - before, clock: Nanos(second * 1_000_000_000), after: middle + after }
        };
        vec![sample(1, 10, 90_000), sample(2, 30, 30), sample(3, 30, 30), sample(4, 70_000, 5)]
    }

    #[test]
    fn an_interrupted_sample_says_nothing() {
        let tsc = Tsc::from_samples(&samples(2_500_000_000, 1 << 40), 0, Nanos(0)).unwrap();
        assert_eq!(tsc.ticks_per_second(), 2_500_000_000);
    }

    #[test]
    fn a_counter_that_stands_still_or_goes_back_is_no_clock() {
        let still = Sample { before: 5, clock: Nanos(1), after: 5 };
        let later = Sample { clock: Nanos(1_000), ..still };
        let back = Sample { before: 2, clock: Nanos(1_000), after: 3 };
        for second in [later, back] {
            assert!(matches!(
                Tsc::from_samples(&[still, second], 0, Nanos(0)),
                Err(CalibrationError::Implausible { .. })
            ));
        }
        for too_few in [&[][..], &[still], &[still, still]] {
            assert_eq!(Tsc::from_samples(too_few, 0, Nanos(0)), Err(CalibrationError::TooFewSamples));
        }
    }

    proptest! {
        #[test]
        fn a_day_is_right_to_one_millionth_and_time_never_goes_back(
            rate in 20_000_000_u64..8_000_000_000,
            start in 100_000_u64..1 << 60,
            base in 0_u64..1 << 61,
            mut seconds in prop::collection::vec(0_u64..86_400, 1..20),
        ) {
            let tsc = Tsc::from_samples(&samples(rate, start), start, Nanos(base)).unwrap();
            seconds.sort_unstable();
            let mut last = Nanos(base);
            for second in seconds {
                let now = tsc.at(start + rate * second);
                let expected = second * 1_000_000_000;
                let error = now.since(Nanos(base)).0.abs_diff(expected);
                prop_assert!(error <= expected / 1_000_000 + 1, "{second} s: off by {error} ns");
                prop_assert!(now >= last);
                prop_assert!(tsc.at(start + rate * second + 1) >= now);
                last = now;
            }
            prop_assert_eq!(tsc.at(start - 1), Nanos(base));
        }
    }

    #[test]
    fn the_counter_of_this_machine_follows_its_clock() {
        let tsc = Tsc::calibrate(Duration::from_millis(20)).unwrap();
        let (first, second) = (tsc.now(), tsc.now());
        assert!(second >= first);
        // Within a day: this compares the epoch, not the rate.
        assert!(clock(ClockId::Realtime).0.abs_diff(second.0) < 86_400_000_000_000);
    }
}
