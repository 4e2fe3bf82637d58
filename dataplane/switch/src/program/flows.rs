//! The flows that a port keeps, and how far sequence numbers tell whose they are.

use units::{BitRate, Interval, WireBytes};

/// The settings of a port's flow table, and of the resolver of its senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSettings {
    /// How many flows are known at once, in both directions: one at least, [`FlowSettings::MOST`] at most.
    pub capacity: u32,
    /// A flow is forgotten when it has been idle for so long.
    pub ageing: Interval,
    /// Of the link behind the port.
    pub round_trip: Interval,
    /// Of the port.
    pub rate: BitRate,
}

impl FlowSettings {
    /// The most flows that can be asked for.
    pub const MOST: u32 = 1 << 22;
    /// The most PSNs in flight with which they can tell queue pairs apart: a quarter of all, so that of
    /// four wrong ones three are noticed.
    pub const MOST_PSNS: u32 = 1 << 22;
    /// A packet on the wire whose path MTU is 1,024 bytes, the least that an Ethernet MTU of 1,500 brings
    /// about: with the headers of RoCEv2 over IPv4, ICRC, FCS, preamble and gap.
    const SHORT_PACKET: u64 = 1_106;
    /// Longer than that no packet is in flight where PSNs tell queue pairs apart.
    const LONGEST_FLIGHT: Interval = Interval::from_secs(1);

    /// How many PSNs one queue pair can have in flight where it has the link to itself: packets of a path MTU
    /// of 1,024 bytes over two round trips, since queues may take as long as the link.
    pub fn psns_in_flight(&self) -> u64 {
        bdp(self.rate, self.round_trip).0.div_ceil(Self::SHORT_PACKET).saturating_mul(2)
    }

    /// Whether responses can be told by their PSNs. Where not, connection management alone says who sends a flow.
    pub fn pairs_by_psn(&self) -> bool {
        self.round_trip.0.saturating_mul(2) <= Self::LONGEST_FLIGHT.0
            && self.psns_in_flight() <= u64::from(Self::MOST_PSNS)
    }
}

/// The BDP of a link: round trip x rate, rounded up.
pub(super) fn bdp(rate: BitRate, round_trip: Interval) -> WireBytes {
    let bits = u128::from(rate.bits_per_second()) * u128::from(round_trip.0);
    WireBytes(u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psns_tell_queue_pairs_apart_at_100g_up_to_185_ms_and_at_any_rate_up_to_half_a_second() {
        let link = |millis, gigabits| FlowSettings {
            capacity: 1,
            ageing: Interval::from_secs(10),
            round_trip: Interval::from_millis(millis),
            rate: BitRate::gigabits(gigabits),
        };
        // 1.25 GB in packets of 1,106 bytes, twice.
        assert_eq!(link(100, 100).psns_in_flight(), 2 * 1_130_199);
        let covered = |millis, gigabits| link(millis, gigabits).pairs_by_psn();
        assert!(covered(185, 100) && !covered(186, 100));
        assert!(covered(46, 400) && !covered(47, 400));
        assert!(covered(500, 1) && !covered(501, 1));
    }
}
