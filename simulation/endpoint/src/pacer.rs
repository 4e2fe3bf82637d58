//! Pacing: when a queue pair may send its next packet.

use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, WireBytes};

/// The exact earliest start of the next packet, including its fraction of a nanosecond.
///
/// The gap after a packet follows the rate at its start; later rate changes affect the next packet. A packet
/// that starts late by up to the gap, because the link was busy, does not delay later packets, so a queue
/// pair gets its full rate. A packet that is later than that starts a new schedule, so no credit builds up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pacer {
    due: Nanos,
    /// Fraction of a nanosecond past `due`, in units of `1 / rate`.
    remainder: u64,
    rate: BitRate,
    /// The last computed gap: the division costs more than the rest.
    bytes: WireBytes,
    gap: Interval,
    gap_remainder: u64,
}

/// Bits per byte times nanoseconds per second.
const SCALE: u64 = 8_000_000_000;

impl Pacer {
    /// A pacer before the first packet.
    pub fn new(rate: BitRate) -> Self {
        let (bytes, gap) = (WireBytes(0), Interval::ZERO);
        Self { due: Nanos::ZERO, remainder: 0, rate, bytes, gap, gap_remainder: 0 }
    }

    /// The first whole nanosecond at which the next packet may start.
    #[inline]
    pub fn due(&self) -> Nanos {
        self.due + Interval(u64::from(self.remainder != 0))
    }

    /// Notes a packet of `bytes` that starts at `start`, not before it is due, at `rate`.
    #[inline]
    pub fn sent(&mut self, start: Nanos, bytes: WireBytes, rate: BitRate) {
        if rate != self.rate || bytes != self.bytes {
            self.set_gap(bytes, rate);
        }
        if start > self.due() && start.since(self.due) > self.gap {
            (self.due, self.remainder) = (start, 0);
        }
        let rest = self.remainder + self.gap_remainder;
        let carry = rest >= self.rate.bits_per_second();
        self.due += self.gap + Interval(u64::from(carry));
        self.remainder = if carry { rest - self.rate.bits_per_second() } else { rest };
    }

    fn set_gap(&mut self, bytes: WireBytes, rate: BitRate) {
        if rate != self.rate {
            // Convert the fraction to the units of the new rate; HPCC changes the rate with nearly every
            // packet.
            let (old, new) = (self.rate.bits_per_second(), rate.bits_per_second());
            self.remainder = (u128::from(self.remainder) * u128::from(new) / u128::from(old)) as u64;
        }
        (self.bytes, self.rate) = (bytes, rate);
        let total = bytes.0.saturating_mul(SCALE);
        self.gap = Interval(total / rate.bits_per_second());
        self.gap_remainder = total % rate.bits_per_second();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::gigabits(7);
    const PACKET: WireBytes = WireBytes(1_106);

    #[test]
    fn a_million_packets_are_due_on_the_exact_nanosecond() {
        let mut pacer = Pacer::new(RATE);
        for _ in 0..1_000_000 {
            pacer.sent(pacer.due(), PACKET, RATE);
        }
        assert_eq!(pacer.due(), Nanos(1_264_000_000), "8848 bits at 7 Gb/s, a million times");
    }

    #[test]
    fn a_rate_that_changes_with_each_packet_loses_no_fractions() {
        let rates = [BitRate::gigabits(1_600), BitRate::new(1_599_999_999_999).unwrap()];
        let mut pacer = Pacer::new(rates[0]);
        for rate in rates.into_iter().cycle().take(1_000_000) {
            pacer.sent(pacer.due(), PACKET, rate);
        }
        let due = pacer.due().0;
        assert!((5_530_000..=5_530_001).contains(&due), "{due}, not 5.53 ns a packet, a million times");
    }

    #[test]
    fn a_little_lateness_moves_nothing_and_a_lot_of_it_everything() {
        let mut pacer = Pacer::new(RATE);
        pacer.sent(Nanos(0), PACKET, RATE);
        assert_eq!(pacer.due(), Nanos(1_264));
        pacer.sent(Nanos(1_500), PACKET, RATE);
        assert_eq!(pacer.due(), Nanos(2_528));
        pacer.sent(Nanos(9_000), PACKET, RATE);
        assert_eq!(pacer.due(), Nanos(10_264));
    }

    #[test]
    fn a_new_rate_acts_behind_the_next_packet() {
        let mut pacer = Pacer::new(RATE);
        pacer.sent(Nanos(0), PACKET, RATE);
        pacer.sent(Nanos(1_264), PACKET, BitRate::gigabits(1));
        assert_eq!(pacer.due(), Nanos(1_264 + 8_848));
    }
}
