//! The settings of LSCC on a long-haul port.

use crate::flows::settings::{self as flows, FlowSettings};
use core::net::Ipv4Addr;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Priority, PrioritySet, WireBytes};
use wire::ip::Dscp;
use wire::rate_feedback;

/// Link-segmented congestion control on a port ("LSCC: Link-Segmented Congestion Control for RDMA in
/// Cross-Datacenter Networks", table II). Both ends of the link run both modules: each calculates the rate at which
/// it is willing to receive, and limits its traffic to the rate that the other end advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lscc {
    /// T: the interval at which a rate is calculated and advertised to the other end, and the time for which a flow
    /// stays flagged.
    pub interval: Interval,
    /// 2D: the time from the advertisement of a rate until the arrival of the first byte sent at that rate.
    pub round_trip: Interval,
    /// The rate calculation module.
    pub calculation: RateCalculation,
    /// The rate limiting module.
    pub limiting: RateLimiting,
    /// The messages between the two ends.
    pub feedback: Feedback,
}

/// The rate calculation module (algorithm 1), at the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCalculation {
    /// Qref: the target length of the ingress queue.
    pub reference: WireBytes,
    /// Delta R: the greatest difference of successive rates; `None` for no such clamp.
    pub step: Option<BitRate>,
    /// Rmin: the least rate.
    pub least: BitRate,
    /// Rmax: the greatest rate.
    pub most: BitRate,
}

/// The rate limiting module (algorithm 2), at the sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimiting {
    /// Q*ref: the length of the pseudo-queue above which direct CNPs are sent.
    pub reference: WireBytes,
    /// The longest pseudo-queue, above `reference`: what does not fit is not counted. `None` is without a limit.
    pub limit: Option<WireBytes>,
    /// The least interval between direct CNPs to a flow.
    pub cnp_interval: Interval,
    /// HPCC*: the least interval between direct INTs to a flow whose packets collect telemetry (section III-D); zero
    /// makes one of each packet. `None` sends all senders direct CNPs. With it, the rate of the port needs a code
    /// ([`wire::int::LinkRate`]).
    pub direct_int: Option<Interval>,
    /// A flow that has sent less than this is young: it gets direct CNPs even if it is not flagged. At least one
    /// BDP of the link. With `None` every flow is young.
    pub long_flow: Option<WireBytes>,
    /// The least interval between CNPs from the far side that are passed on for a flow; `None` passes on all.
    pub far_cnp_interval: Option<Interval>,
    /// The most flows in the table, in both directions.
    pub flows: u32,
    /// The idle time after which a flow is forgotten.
    pub ageing: Interval,
    /// Senders are found by one sequence number in so many: a power of two up to [`FlowSettings::MOST_LEARN`].
    /// While no CNP is near, other packets are not looked up. With 1, and with direct INT, all are.
    pub learn: u32,
    /// DSCP of direct CNPs.
    pub cnp_dscp: Dscp,
    /// PCP of direct CNPs to a tagged flow.
    pub cnp_priority: Priority,
}

impl RateLimiting {
    /// The least room above any reference.
    const LEAST_ABOVE: WireBytes = WireBytes(64 << 10);

    /// The default of `limit`: twice the reference, and at least some frames above it.
    pub fn default_limit(reference: WireBytes) -> WireBytes {
        WireBytes(reference.0.saturating_add(reference.0.max(Self::LEAST_ABOVE.0)))
    }
}

/// The feedback message between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The source address of messages.
    pub local: Ipv4Addr,
    /// The destination address of messages, and the only accepted source.
    pub peer: Ipv4Addr,
    /// The key that both ends share; if it is set, only messages with a valid tag are accepted.
    pub key: Option<rate_feedback::Key>,
    /// DSCP of messages.
    pub dscp: Dscp,
}

impl Lscc {
    /// The most rates in flight at a time.
    pub const MOST_IN_FLIGHT: usize = 1 << 16;

    /// The BDP of the link at `rate`: round trip x rate, rounded up.
    pub fn bdp(&self, rate: BitRate) -> WireBytes {
        flows::bdp(rate, self.round_trip)
    }

    /// The flow table of the rate limiting module, at a port of `rate`.
    pub fn flows(&self, rate: BitRate) -> FlowSettings {
        let RateLimiting { flows: capacity, ageing, learn, direct_int, .. } = self.limiting;
        // Direct INT reads telemetry from each packet.
        let learn = if direct_int.is_some() { 1 } else { learn };
        FlowSettings { capacity, ageing, round_trip: self.round_trip, rate, learn }
    }

    /// The number of rates in flight at a time: N, the round trip over T, rounded up.
    pub const fn rates_in_flight(&self) -> usize {
        self.round_trip.0.div_ceil(self.interval.0) as usize
    }

    /// `(N + 1) T`: from the beginning of an interval until the rate advertised at its end takes effect here.
    const fn horizon(&self) -> u128 {
        self.round_trip.0 as u128 + self.interval.0 as u128
    }

    /// The rate that a port without traffic settles at: it fills an empty queue up to Qref in each round trip plus
    /// T, `Qref / (2D + T)`, within Rmin and Rmax. It is the mean of the rates by the paper's law, and it satisfies
    /// equation (3).
    pub fn rate_at_rest(&self) -> BitRate {
        let RateCalculation { reference, least, most, .. } = self.calculation;
        let bits = u128::from(reference.0) * BYTE_PER_NANOSECOND / self.horizon().max(1);
        saturated_rate(bits).map_or(least, |rate| rate.min(most).max(least))
    }

    /// The lower bound of Delta R, exclusive, for rates to take the queue back by `correction` before any
    /// advertised rate takes effect (equation 12, left side): `correction / (2D + T)`, rounded up. `None` if there
    /// is nothing to correct.
    pub fn least_step(&self, correction: WireBytes) -> Option<BitRate> {
        let bits = u128::from(correction.0) * BYTE_PER_NANOSECOND;
        saturated_rate(bits.div_ceil(self.horizon().max(1)))
    }

    /// The upper bound of Delta R, exclusive, for the senders of `flows` flows to follow within T (equation 12,
    /// right side): `flows T R_AI / T_i`, rounded down, where DCQCN adds `increase` to the rate of a flow every
    /// `timer`. `None` if they cannot follow at all.
    pub fn most_step(&self, flows: u32, increase: BitRate, timer: Interval) -> Option<BitRate> {
        let added = u128::from(flows) * u128::from(increase.bits_per_second());
        saturated_rate(added.saturating_mul(u128::from(self.interval.0)) / u128::from(timer.0.max(1)))
    }

    /// The lower bound of Qref, exclusive, for the queue not to run empty when the mean bottleneck rate changes by
    /// up to `change` from one round trip plus T to the next (section III-C): `change (2D + T)`, rounded up.
    pub fn least_reference(&self, change: BitRate) -> WireBytes {
        let bits = u128::from(change.bits_per_second()).saturating_mul(self.horizon());
        saturated_bytes(bits.div_ceil(BYTE_PER_NANOSECOND))
    }

    /// The length to which the queue grows if it is at Qref and the bottleneck rate drops by `drop` for good, in a
    /// fluid model with an ideal upstream; rounded up.
    ///
    /// Bytes in flight arrive at the old rate for a round trip, and so do the rates advertised until the drop is
    /// noticed; then rates fall by Delta R per T. That is `Qref + drop 2D + drop^2 T / (2 Delta R)`, plus `drop T /
    /// 2` for whole intervals. This is not in the paper. A drop by Delta R or less, and any drop without Delta R,
    /// is corrected at once: `Qref + drop (2D + T)`, equation 9. Rmin must be below the new rate, and Rmax above
    /// the old one.
    pub fn longest_queue(&self, drop: BitRate) -> WireBytes {
        let rate = u128::from(drop.bits_per_second());
        // In units of half an interval; one bit per second too much, from rounding up.
        let falling = self.calculation.step.map_or(rate, |step| {
            let step = u128::from(step.bits_per_second());
            if rate <= step { rate } else { (rate * rate).div_ceil(step) }
        });
        let falling = (rate + falling).saturating_mul(u128::from(self.interval.0)).div_ceil(2);
        let bits = (rate * u128::from(self.round_trip.0)).saturating_add(falling);
        let above = saturated_bytes(bits.div_ceil(BYTE_PER_NANOSECOND));
        WireBytes(self.calculation.reference.0.saturating_add(above.0))
    }
}

/// An error in the settings of LSCC on one port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum LsccError {
    #[error("LSCC needs a lossless priority")]
    WithoutLossless,
    #[error(
        "an LSCC interval of {interval} is out of range; expected {least} to {most}, at most a round trip"
    )]
    Interval { interval: Interval, least: Interval, most: Interval },
    #[error("{count} LSCC rates would be in flight, more than the {most} that LSCC remembers")]
    InFlight { count: usize, most: usize },
    #[error(
        "the lowest LSCC rate ({least}) must not exceed the highest ({most}), nor the highest the link rate ({rate})"
    )]
    Rates { least: BitRate, most: BitRate, rate: BitRate },
    #[error("the LSCC reference must be above zero")]
    Reference,
    #[error("the LSCC pseudo-reference must be above zero, or LSCC slows down an idle link")]
    PseudoReference,
    #[error(
        "a pseudo-queue limit of {limit} is too low; expected more than the pseudo-reference, {reference}, or LSCC notifies no sender"
    )]
    PseudoLimit { limit: Bytes, reference: Bytes },
    #[error("direct CNPs of a flow every {interval} are too frequent; expected at least {least}")]
    CnpInterval { interval: Interval, least: Interval },
    #[error(
        "the long-flow threshold of {long_flow} is below the BDP of the link, {least}; direct CNPs alone slow down younger flows"
    )]
    LongFlow { long_flow: Bytes, least: Bytes },
    #[error("an LSCC table of {flows} flows is out of range; expected 1 to {most}")]
    Flows { flows: u32, most: u32 },
    #[error("the LSCC ageing time must be above zero")]
    Ageing,
    #[error("LSCC cannot learn from one packet in {learn}; expected a power of two, 1 to {most}")]
    Learn { learn: u32, most: u32 },
    #[error("LSCC cannot use the address {address}, which no host can have")]
    Address { address: Ipv4Addr },
    #[error("both ends of LSCC have the address {address}")]
    ToItself { address: Ipv4Addr },
}

/// An error in the settings of two ports, of which one has LSCC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum LsccPortsError {
    #[error("ports {port} and {other} both use the address {address} for LSCC")]
    AddressTwice { port: String, other: String, address: Ipv4Addr },
    #[error(
        "port {port} marks priority {priority} from port {long}, where LSCC keeps a queue on purpose, so ECN would slow the senders down"
    )]
    Marking { port: String, long: String, priority: Priority },
}

/// The shortest times of LSCC.
const LEAST: Interval = Interval::from_micros(1);

impl Lscc {
    /// Checks LSCC on a port of `rate` with these `lossless` priorities.
    ///
    /// # Errors
    /// [`LsccError`] for what is out of range.
    pub(crate) fn validate(&self, rate: BitRate, lossless: PrioritySet) -> Result<(), LsccError> {
        let Self { interval, round_trip, calculation, limiting, feedback: Feedback { local, peer, .. } } =
            *self;
        if lossless.is_empty() {
            return Err(LsccError::WithoutLossless);
        }
        if interval < LEAST || interval > round_trip {
            return Err(LsccError::Interval { interval, least: LEAST, most: round_trip });
        }
        let (count, most) = (self.rates_in_flight(), Self::MOST_IN_FLIGHT);
        if count > most {
            return Err(LsccError::InFlight { count, most });
        }
        let RateCalculation { reference, least, most, step: _ } = calculation;
        if reference == WireBytes(0) {
            return Err(LsccError::Reference);
        }
        if least > most || most > rate {
            return Err(LsccError::Rates { least, most, rate });
        }
        limiting.validate(self.bdp(rate))?;
        let of_no_host =
            |it: &Ipv4Addr| it.is_unspecified() || it.is_multicast() || it.is_broadcast() || it.is_loopback();
        match [local, peer].into_iter().find(of_no_host) {
            Some(address) => Err(LsccError::Address { address }),
            None if local == peer => Err(LsccError::ToItself { address: peer }),
            None => Ok(()),
        }
    }
}

impl RateLimiting {
    /// Checks the rate limiting module on a link of this `bdp`.
    fn validate(&self, bdp: WireBytes) -> Result<(), LsccError> {
        let Self { reference, limit, cnp_interval: interval, long_flow, flows, ageing, learn, .. } = *self;
        let most = FlowSettings::MOST;
        let bytes = |WireBytes(size)| Bytes(size);
        Err(if reference == WireBytes(0) {
            LsccError::PseudoReference
        } else if let Some(limit) = limit.filter(|limit| *limit <= reference) {
            LsccError::PseudoLimit { limit: bytes(limit), reference: bytes(reference) }
        } else if interval < LEAST {
            LsccError::CnpInterval { interval, least: LEAST }
        } else if let Some(long_flow) = long_flow.filter(|it| *it < bdp) {
            LsccError::LongFlow { long_flow: bytes(long_flow), least: bytes(bdp) }
        } else if flows == 0 || flows > most {
            LsccError::Flows { flows, most }
        } else if ageing == Interval::ZERO {
            LsccError::Ageing
        } else if !learn.is_power_of_two() || learn > FlowSettings::MOST_LEARN {
            LsccError::Learn { learn, most: FlowSettings::MOST_LEARN }
        } else {
            return Ok(());
        })
    }
}

/// A byte per nanosecond, in bits per second.
const BYTE_PER_NANOSECOND: u128 = 8_000_000_000;

fn saturated_rate(bits_per_second: u128) -> Option<BitRate> {
    BitRate::new(u64::try_from(bits_per_second).unwrap_or(u64::MAX))
}

fn saturated_bytes(bytes: u128) -> WireBytes {
    WireBytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
impl Lscc {
    /// A law without clamps and a limiter that does nothing, for tests to set what they are about.
    pub(crate) const PLAIN: Self = Self {
        interval: Interval::from_micros(100),
        round_trip: Interval::from_millis(1),
        calculation: RateCalculation {
            reference: WireBytes(0),
            step: None,
            least: BitRate::new(1_000_000).expect("a rate"),
            most: BitRate::gigabits(200),
        },
        limiting: RateLimiting {
            reference: WireBytes(0),
            limit: None,
            cnp_interval: Interval::from_micros(50),
            direct_int: None,
            long_flow: Some(WireBytes(0)),
            far_cnp_interval: None,
            flows: 1,
            ageing: Interval::from_secs(10),
            learn: 1,
            cnp_dscp: Dscp::DEFAULT,
            cnp_priority: Priority::from_low_bits(0),
        },
        feedback: Feedback {
            local: Ipv4Addr::new(10, 0, 0, 1),
            peer: Ipv4Addr::new(10, 0, 0, 2),
            key: None,
            dscp: Dscp::DEFAULT,
        },
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// T and 2D in microseconds, Qref in bytes, Delta R in Mb/s.
    fn lscc(interval: u64, round_trip: u64, reference: u64, step: Option<u64>) -> Lscc {
        let (reference, step) = (WireBytes(reference), step.map(megabits));
        Lscc {
            interval: Interval::from_micros(interval),
            round_trip: Interval::from_micros(round_trip),
            calculation: RateCalculation { reference, step, ..Lscc::PLAIN.calculation },
            ..Lscc::PLAIN
        }
    }

    fn megabits(count: u64) -> BitRate {
        BitRate::new(count * 1_000_000).unwrap()
    }

    #[test]
    fn a_part_of_an_interval_counts_as_a_rate_on_its_way() {
        assert_eq!(lscc(200, 2_000, 0, None).rates_in_flight(), 10);
        assert_eq!(lscc(200, 2_001, 0, None).rates_in_flight(), 11);
        assert_eq!(lscc(200, 100, 0, None).rates_in_flight(), 1);
    }

    #[test]
    fn at_rest_an_empty_queue_is_filled_in_a_round_trip_and_an_interval_within_the_bounds() {
        let rest = |reference| lscc(200, 2_000, reference, None).rate_at_rest();
        assert_eq!(rest(2_750_000), megabits(10_000));
        assert_eq!(rest(0), Lscc::PLAIN.calculation.least);
        assert_eq!(rest(u64::MAX), Lscc::PLAIN.calculation.most);
    }

    #[test]
    fn a_pseudo_queue_is_limited_to_twice_its_reference_and_64_kib_above_a_short_one() {
        let limit = |reference| RateLimiting::default_limit(WireBytes(reference)).0;
        assert_eq!(
            [0, 1, 65_535, 65_536, 65_537, 1_000_000].map(limit),
            [65_536, 65_537, 131_071, 131_072, 131_074, 2_000_000]
        );
        assert_eq!(limit(u64::MAX), u64::MAX);
    }

    /// The testbed of section IV-A: 10G, 500 us one way, T of 200 us, Qref of 500 kB, Delta R of 50 Mb/s.
    #[test]
    fn delta_r_of_the_papers_testbed_lies_within_equation_12() {
        let lscc = lscc(200, 1_000, 500_000, Some(50));
        // 50 Mb/s in each of 6 intervals: 7.5 kB.
        assert_eq!(lscc.least_step(WireBytes(7_500)), Some(megabits(50)));
        assert_eq!(lscc.least_step(WireBytes(7_501)), BitRate::new(50_006_667), "rounded up");
        assert_eq!(lscc.least_step(WireBytes(0)), None);
        // DCQCN's 40 Mb/s every 55 us, two flows.
        let most = lscc.most_step(2, megabits(40), Interval::from_micros(55));
        assert_eq!(most, BitRate::new(290_909_090), "rounded down");
    }

    #[test]
    fn senders_that_never_add_to_their_rate_follow_no_step() {
        let lscc = lscc(200, 1_000, 0, None);
        assert_eq!(lscc.most_step(0, megabits(40), Interval::from_micros(55)), None);
        assert_eq!(lscc.most_step(1, BitRate::new(1).unwrap(), Interval::from_secs(1)), None);
    }

    #[test]
    fn a_change_of_10g_over_2_ms_and_t_wants_2_75_megabytes() {
        let lscc = lscc(200, 2_000, 0, None);
        assert_eq!(lscc.least_reference(BitRate::gigabits(10)), WireBytes(2_750_000));
        assert_eq!(lscc.least_reference(BitRate::new(1).unwrap()), WireBytes(1), "rounded up");
    }

    #[test]
    fn half_of_200g_over_2_ms_peaks_at_three_bdp_and_half_an_interval_above_the_reference() {
        let lscc = lscc(200, 2_000, 20_000_000, Some(1_000));
        assert_eq!(lscc.longest_queue(BitRate::gigabits(100)), WireBytes(171_250_000));
    }

    #[test]
    fn a_drop_within_delta_r_or_without_it_is_noticed_after_an_interval() {
        let peak = WireBytes(20_000_000 + 2_750_000);
        for step in [Some(10_000), Some(50_000), None] {
            assert_eq!(lscc(200, 2_000, 20_000_000, step).longest_queue(BitRate::gigabits(10)), peak);
        }
    }

    proptest! {
        #[test]
        fn no_setting_overflows(
            interval in 1_u64..,
            round_trip: u64,
            reference: u64,
            rates in (1_u64.., 1_u64..),
            flows: u32,
            timer: u64,
            correction: u64,
        ) {
            let mut lscc = lscc(1, 1, reference, None);
            (lscc.interval, lscc.round_trip) = (Interval(interval), Interval(round_trip));
            let (step, change) = (BitRate::new(rates.0).unwrap(), BitRate::new(rates.1).unwrap());
            lscc.calculation.step = Some(step);
            lscc.least_step(WireBytes(correction));
            lscc.most_step(flows, change, Interval(timer));
            prop_assert!(lscc.longest_queue(change) >= lscc.calculation.reference);
            prop_assert!(lscc.longest_queue(change) >= lscc.least_reference(change));
        }
    }
}
