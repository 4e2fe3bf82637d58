//! The marks (ECN) of a queue, by the round trip that its senders have.
//!
//! HPCC's marks are for round trips of 13 us. Over a longer one, senders hear of a queue later than it grows, so all of
//! them fall to a fraction of the link. "Empowering Azure Storage with RDMA", section 7.3, marks sparsely where round trips
//! are long: a large Kmax - Kmin, and a small Pmax.

use units::{BitRate, Bytes, Interval, WireBytes};

use super::request::Request;
use crate::core_load::packet_of;
use crate::gateway::Gateway;
use crate::link::Senders;
use crate::round_trip::RoundTripSum;
use crate::scenario::EcnDecl;

/// The round trip that HPCC's marks are for: the T of its paper.
pub(super) const USUAL_ROUND_TRIP: Interval = Interval::from_micros(13);

/// F of DCQCN: the increases that end fast recovery.
pub(super) const FAST_RECOVERY: u64 = 5;

/// Kmin, Kmax and Pmax of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Marks {
    pub kmin: Bytes,
    pub kmax: Bytes,
    pub pmax: f64,
}

/// What marks depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sparse {
    pub round_trip: Interval,
    pub senders: Senders,
    /// The rate of the port, and a full packet on it.
    pub rate: BitRate,
    pub packet: WireBytes,
}

/// The lengths at which marking begins and at which all frames are marked at `rate`, by HPCC.
pub(super) fn usual(rate: BitRate) -> (Bytes, Bytes) {
    let ecn = EcnDecl::default();
    (ecn.scaled(ecn.kmin(), rate), ecn.scaled(ecn.kmax(), rate))
}

impl Sparse {
    /// That of port `own` of a gateway, whose second port is on the long link; `None` without a distance. All of its queues
    /// have senders on the far side of a long link, no faster than that.
    pub fn of(gateway: &Gateway, request: &Request, own: usize) -> Option<Self> {
        let ports = &gateway.program.settings().ports;
        let (port, rate) = (&ports[1], ports[own].rate);
        let round_trip = RoundTripSum::new(port, &gateway.links[1])?.total();
        let senders = Senders { rate: request.senders.rate.min(port.rate), ..request.senders };
        Some(Self { round_trip, senders, rate, packet: packet_of(port.max_frame).0 })
    }

    /// The marks of a queue that is fed by ports which pause at `xoff` each and hold up to `full` together: HPCC's line,
    /// stretched by the round trip, up to all that they can hold, since above Kmax every frame is marked.
    pub fn marks(&self, xoff: Bytes, full: Bytes) -> Marks {
        let kmin = usual(self.rate).0.min(Bytes(xoff.0 / 8));
        let stretched = self.stretched();
        let kmax = if self.is_long() { full } else { full.min(kmin + stretched) };
        let usual = EcnDecl::default().pmax().0;
        let share = (kmax - kmin).0 as f64 / stretched.0 as f64;
        let steep = if self.is_long() { 0.0 } else { usual * share };
        Marks { kmin, kmax, pmax: two_digits(steep.max(self.fixed_point()).min(usual)) }
    }

    /// HPCC's Kmax - Kmin, times as long as the round trip is longer than HPCC's.
    pub fn stretched(&self) -> Bytes {
        let (kmin, kmax) = usual(self.rate);
        let times = u128::from(self.round_trip.max(USUAL_ROUND_TRIP).0);
        let bytes = u128::from((kmax - kmin).0) * times / u128::from(USUAL_ROUND_TRIP.0);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }

    /// Whether a sender has left fast recovery before it hears of its increases, so that marks steer it no longer and no more
    /// are sent than the fewest senders that fill the link need.
    pub fn is_long(&self) -> bool {
        self.round_trip > self.senders.rate_timer * FAST_RECOVERY
    }

    /// Packets that a sender sends between two increases, at the rate of its link.
    pub fn packets(&self) -> f64 {
        let bits = self.sender_rate() * self.senders.rate_timer.0 as f64 / 1e9;
        bits / (8 * self.packet.0.max(1)) as f64
    }

    /// The probability of a mark with which DCQCN stays at the rate of the sender's link: "ECN or Delay: Lessons Learnt from
    /// Analysis of DCQCN and TIMELY" (CoNEXT 2016), the fixed point, with increases by the timer alone.
    pub fn fixed_point(&self) -> f64 {
        let increase = self.senders.additive_increase.bits_per_second() as f64;
        (increase / self.sender_rate()).cbrt() / self.packets()
    }

    fn sender_rate(&self) -> f64 {
        self.senders.rate.min(self.rate).bits_per_second() as f64
    }
}

/// A probability rounded down to two digits, and to millionths, of which it has one at least.
fn two_digits(probability: f64) -> f64 {
    let millionths = ((probability * 1e6) as u64).max(1);
    let unit = 10_u64.pow(millionths.ilog10().saturating_sub(1));
    (millionths / unit * unit) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(micros: u64, sender: u64) -> Sparse {
        let senders = Senders { rate: BitRate::gigabits(sender), ..Senders::default() };
        let round_trip = Interval::from_micros(micros);
        Sparse { round_trip, senders, rate: BitRate::gigabits(100), packet: WireBytes(4_178) }
    }

    /// The marks of a queue that holds 3.3 MB.
    fn marks(micros: u64, sender: u64) -> Marks {
        sparse(micros, sender).marks(Bytes(3_200_000), Bytes(3_300_000))
    }

    #[test]
    fn marks_are_hpccs_at_its_round_trip_and_its_line_is_stretched_over_a_longer_one() {
        let line = |kmax, pmax| Marks { kmin: Bytes(400_000), kmax: Bytes(kmax), pmax };
        assert_eq!([marks(5, 25), marks(13, 25)], [line(1_600_000, 0.2); 2]);
        assert_eq!(marks(26, 25), line(2_800_000, 0.2));
        // Cut off where the queue ends: 2.9 MB of 12.
        assert_eq!(marks(130, 25), line(3_300_000, 0.048));
    }

    #[test]
    fn senders_that_hear_after_fast_recovery_are_marked_as_the_fewest_that_fill_the_link_need() {
        // 117 thousandths, the third root of 40M / 25G, over 41 packets of 4,178 bytes in 55 us.
        assert_eq!([276, 814, 10_000, 100_000].map(|micros| marks(micros, 25).pmax), [0.0028; 4]);
        assert_eq!(marks(814, 25).kmax, Bytes(3_300_000), "no queue is so long that every frame is marked");
        assert_eq!(marks(814, 100).pmax, 0.00044, "fewer marks for faster senders");
        assert_eq!(sparse(814, 25).marks(Bytes(800_000), Bytes(800_000)).kmin, Bytes(100_000));
    }

    #[test]
    fn two_digits_are_left_and_never_none() {
        let rounded = [0.2, 0.123_9, 0.002_89, 0.000_447, 0.000_000_1].map(two_digits);
        assert_eq!(rounded, [0.2, 0.12, 0.002_8, 0.000_44, 0.000_001]);
    }
}
