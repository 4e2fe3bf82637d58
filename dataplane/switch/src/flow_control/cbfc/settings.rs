//! The settings of credits on one port, and their check.

use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, PrioritySet, WireBytes};

pub use wire::grants::credit::Counter;

/// Credits on one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cbfc {
    /// The buffer of each lossless priority, on the wire.
    pub buffer: WireBytes,
    /// The time between messages while data comes in.
    pub interval: Interval,
    /// The counter in messages.
    pub counter: Counter,
}

impl Cbfc {
    /// The least buffer with which a priority can fill a link of `rate` with this round trip: what arrives within that
    /// and an interval, the longest frame that does not fit the rest of the credits, and a credit lost to rounding at
    /// each end.
    pub fn for_line_rate(&self, rate: BitRate, round_trip: Interval, max_frame: Bytes) -> WireBytes {
        let rounding = WireBytes(2 * self.counter.credit());
        let under_way = WireBytes(rate.bytes_in(round_trip) + rate.bytes_in(self.interval));
        under_way + WireBytes::of_frame(max_frame) + WireBytes::of_frame(max_frame) + rounding
    }

    /// Checks that the buffer holds two frames of `max_frame` and is within the reach of the counter.
    pub(crate) fn validate(&self, max_frame: Bytes, lossless: PrioritySet) -> Result<(), CbfcError> {
        if lossless.is_empty() {
            return Err(CbfcError::NoLossless);
        }
        if self.interval < Interval::from_micros(1) {
            return Err(CbfcError::Interval { interval: self.interval });
        }
        let least = WireBytes(2 * (WireBytes::of_frame(max_frame).0 + self.counter.credit()));
        let most = self.counter.reach();
        if self.buffer < least || self.buffer > most {
            let [buffer, least, most] = [self.buffer, least, most].map(|it| Bytes(it.0));
            return Err(CbfcError::Buffer { buffer, least, most });
        }
        Ok(())
    }
}

/// An error in the settings of credits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CbfcError {
    /// Nothing on the port is lossless.
    #[error("credits need a lossless priority to limit")]
    NoLossless,
    /// The interval is too short.
    #[error("an interval of {interval} between credits is out of range; expected at least 1us")]
    Interval {
        /// The given interval.
        interval: Interval,
    },
    /// The buffer is too small for two frames, or its limits do not fit the counter.
    #[error(
        "a credit buffer of {buffer} is out of range; expected {least}, two of the longest frames, to {most}, half of the range of the counter"
    )]
    Buffer {
        /// The given buffer.
        buffer: Bytes,
        /// The least.
        least: Bytes,
        /// The most.
        most: Bytes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: BitRate = BitRate::gigabits(8);
    const CBFC: Cbfc =
        Cbfc { buffer: WireBytes(100_000), interval: Interval(10_000), counter: Counter::Wide };

    #[test]
    fn the_buffer_is_two_frames_to_half_of_the_counter() {
        let all = PrioritySet::ALL;
        for (counter, least, most) in
            [(Counter::Wide, 2 * (1_524 + 64), 64 << 31), (Counter::Uec, 2 * (1_524 + 256), 256 << 19)]
        {
            let with =
                |buffer| Cbfc { buffer: WireBytes(buffer), counter, ..CBFC }.validate(Bytes(1_500), all);
            assert_eq!([with(least), with(most)], [Ok(()), Ok(())]);
            for buffer in [least - 1, most + 1] {
                let [buffer, least, most] = [buffer, least, most].map(Bytes);
                assert_eq!(with(buffer.0), Err(CbfcError::Buffer { buffer, least, most }));
            }
        }
        assert_eq!(CBFC.validate(Bytes(1_500), PrioritySet::EMPTY), Err(CbfcError::NoLossless));
        let interval = Interval(999);
        assert_eq!(Cbfc { interval, ..CBFC }.validate(Bytes(60), all), Err(CbfcError::Interval { interval }));
    }

    #[test]
    fn line_rate_takes_a_round_trip_an_interval_two_frames_and_two_credits() {
        let least = CBFC.for_line_rate(RATE, Interval(80_000), Bytes(1_500));
        assert_eq!(least, WireBytes(80_000 + 10_000 + 2 * 1_524 + 128));
    }

    proptest! {
        #[test]
        fn a_limit_is_ahead_by_what_it_was_made_of_less_two_credits(
            sent: u64,
            ahead in 0_u64..1 << 26,
            uec: bool,
        ) {
            let counter = if uec { Counter::Uec } else { Counter::Wide };
            let sent = sent >> 1;
            let least = ahead as i64 - 2 * counter.credit() as i64;
            let found = counter.ahead(counter.of(sent + ahead), sent);
            prop_assert!(found > least && found <= ahead as i64, "{found} of {ahead}");
            let behind = counter.ahead(counter.of(sent), sent + ahead);
            prop_assert!(behind <= -(ahead as i64) && behind > -(ahead as i64) - 2 * counter.credit() as i64);
        }
    }
}
