//! The flows that a port keeps, and the limits of PSNs for telling queue pairs apart.

use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, WireBytes};

/// The settings of a port's flow table, and of the resolver of its senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowSettings {
    /// The most flows in the table, in both directions: 1 to [`FlowSettings::MOST`].
    pub capacity: u32,
    /// The idle time after which a flow is forgotten, if the port sees all packets; see
    /// [`FlowSettings::forgets_after`].
    pub ageing: Interval,
    /// Round trip of the link behind the port.
    pub round_trip: Interval,
    /// Rate of the port.
    pub rate: BitRate,
    /// The resolver learns from one PSN in so many: a power of two, 1 to [`FlowSettings::MOST_LEARN`]. With 1,
    /// every packet is looked up.
    pub learn: u32,
}

impl FlowSettings {
    /// The largest permitted number of flows.
    pub const MOST: u32 = 1 << 22;
    /// The most PSNs in flight for which they can tell queue pairs apart: a quarter of all, so that three of four
    /// wrong pairs are noticed.
    pub const MOST_PSNS: u32 = 1 << 22;
    /// Wire bytes of a packet with a path MTU of 1,024 bytes, the least that an Ethernet MTU of 1,500 leads to:
    /// with the headers of RoCEv2 over IPv4, ICRC, FCS, preamble and gap.
    const SHORT_PACKET: u64 = 1_106;
    /// The rarest sample: a look-up of one packet in more would gain little.
    pub const MOST_LEARN: u32 = 16;
    /// The longest flight of a packet for which PSNs tell queue pairs apart.
    const LONGEST_FLIGHT: Interval = Interval::from_secs(1);

    /// Settings that serve two schemes of one port: the larger table and sample, the longer ageing and round trip.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            capacity: self.capacity.max(other.capacity),
            ageing: self.ageing.max(other.ageing),
            round_trip: self.round_trip.max(other.round_trip),
            rate: self.rate,
            learn: self.learn.min(other.learn),
        }
    }

    /// Settings of the flows that two links of a bundle keep together. A queue pair may use both.
    #[must_use]
    pub fn bundled(self, other: Self) -> Self {
        let both = self.rate.bits_per_second().saturating_add(other.rate.bits_per_second());
        Self { rate: BitRate::new(both).unwrap_or(self.rate), ..self.joined(other) }
    }

    /// The time without a packet in the sample after which a flow is forgotten. A live flow has one packet in so many
    /// there, so the sample of a flow is idle for so much longer.
    pub const fn forgets_after(&self) -> Interval {
        Interval(self.ageing.0.saturating_mul(self.learn as u64))
    }

    /// The number of PSNs that one queue pair can have in flight if it has the link to itself: packets with a path
    /// MTU of 1,024 bytes over two round trips, since queues may take as long as the link.
    pub fn psns_in_flight(&self) -> u64 {
        bdp(self.rate, self.round_trip).0.div_ceil(Self::SHORT_PACKET).saturating_mul(2)
    }

    /// Whether PSNs can tell which flow a response belongs to. If not, only connection management identifies the
    /// sender of a flow.
    pub fn pairs_by_psn(&self) -> bool {
        self.round_trip.0.saturating_mul(2) <= Self::LONGEST_FLIGHT.0
            && self.psns_in_flight() <= u64::from(Self::MOST_PSNS)
    }
}

/// The BDP of a link: round trip x rate, rounded up.
pub(crate) fn bdp(rate: BitRate, round_trip: Interval) -> WireBytes {
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
            learn: 1,
        };
        // 1.25 GB in packets of 1,106 bytes, twice.
        assert_eq!(link(100, 100).psns_in_flight(), 2 * 1_130_199);
        let covered = |millis, gigabits| link(millis, gigabits).pairs_by_psn();
        assert!(covered(185, 100) && !covered(186, 100));
        assert!(covered(46, 400) && !covered(47, 400));
        assert!(covered(500, 1) && !covered(501, 1));
    }

    #[test]
    fn two_schemes_share_the_larger_table_and_sample_and_two_links_the_longer_round_trip_and_both_rates() {
        let of = |capacity, ageing, round_trip, learn| FlowSettings {
            capacity,
            ageing: Interval::from_secs(ageing),
            round_trip: Interval::from_millis(round_trip),
            rate: BitRate::gigabits(100),
            learn,
        };
        assert_eq!(of(1, 20, 3, 16).joined(of(10, 2, 4, 1)), of(10, 20, 4, 1));
        let bundle = of(10, 20, 3, 16).bundled(of(10, 20, 4, 16));
        assert_eq!(bundle, FlowSettings { rate: BitRate::gigabits(200), ..of(10, 20, 4, 16) });
    }
}
