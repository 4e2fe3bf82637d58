//! What the settings of LSCC on a port amount to, by the guide in section III-C of the paper and
//! our own formula for the peak of the queue.

use core::fmt;
use core::net::Ipv4Addr;

use switch::program::{BufferSettings, Lscc, PortSettings};
use units::{BitRate, Bytes, Interval, Priority, WireBytes};

use crate::gateway::Link;
use crate::headroom::grouped;
use crate::physics::highest_xoff;

/// What the queue of a port with LSCC may do, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LsccSum {
    /// Between which addresses feedback travels: from, to.
    pub addresses: (Ipv4Addr, Ipv4Addr),
    /// Whether feedback carries a tag.
    pub signed: bool,
    /// T.
    pub interval: Interval,
    /// 2D.
    pub round_trip: Interval,
    /// N: how many rates are on their way at a time.
    pub rates_in_flight: usize,
    /// Qref, in bytes on the wire.
    pub reference: Bytes,
    /// How much the bottleneck may gain within 2D + T before the queue runs dry: Qref over that
    /// time, in bits per second.
    pub tolerated: u64,
    /// Delta R.
    pub step: Option<BitRate>,
    /// Between what it should be.
    pub bounds: StepBounds,
    /// How far the queue passes Qref where the bottleneck falls to half of the rate: see
    /// [`LsccSum::peak`].
    pub halved: Bytes,
    /// How long the rate takes to follow there, round trip included.
    pub follows: Interval,
    /// What holds the queue where LSCC does not.
    pub beneath: Protection,
    /// How many flows are known at once.
    pub flows: u32,
}

/// Between which rates Delta R should be: equation (12), with what it leaves open filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBounds {
    /// `dQ / (T (N + 1))`, in bits per second, where dQ is a hundredth of Qref and `T N` the round
    /// trip. The paper does not say what dQ is; with Qref itself, its own 50 Mb/s and 1 Gb/s would
    /// be far below the bound, and with a hundredth of it they hold.
    pub above: u64,
    /// `M T R_AI / T_i`, in bits per second, with R_AI = 40 Mb/s and T_i = 55 us of DCQCN.
    pub below: u64,
    /// M: how many flows of 25 Gb/s fill the link. More can follow a larger step.
    pub flows: u64,
}

/// What stands beneath LSCC, which alone is not lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Bifrost, which grants nothing beyond its buffer.
    Bifrost {
        /// H.
        buffer: Bytes,
    },
    /// PFC with headroom for the link.
    Pfc {
        /// The group that pauses first.
        priority: Priority,
        /// Where it pauses, when it is alone.
        xoff: Bytes,
    },
    /// PFC with less headroom than the link holds.
    Short {
        /// The group that has least.
        priority: Priority,
        /// What it has.
        headroom: Bytes,
    },
}

/// Additive increase of DCQCN, R_AI, in bits per second.
const ADDITIVE_INCREASE: u128 = 40_000_000;
/// How often it takes place, T_i.
const INCREASE_TIMER: Interval = Interval::from_micros(55);
/// Rate of a sender of which M fill the link.
const SENDER: BitRate = BitRate::gigabits(25);
/// In this time the rate can go from nothing to the link's. The paper's steps, 50 Mb/s at 10G and
/// 1 Gb/s at 200G, each every 200 us, both come to it.
const RAMP: Interval = Interval::from_millis(40);
/// dBR_max as a part of the rate: "in our configuration, it is set to 0.1 of the link bandwidth".
const CHANGE: u128 = 10;
/// dQ as a part of Qref.
const CORRECTION: u128 = 100;
/// What the flow table holds for each flow, with its share of the hash table.
const FLOW: Bytes = Bytes(123);

/// Nanoseconds and bits: `bits per second x nanoseconds / this` are bytes.
const BITS: u128 = 8_000_000_000;

fn fits(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn bits(rate: BitRate) -> u128 {
    rate.bits_per_second().into()
}

/// Qref by the guide, `0.1 x rate x span` for a span of 2D + T, rounded up.
pub(crate) fn guided_reference(rate: BitRate, span: Interval) -> WireBytes {
    WireBytes(fits((bits(rate) * u128::from(span.0)).div_ceil(BITS * CHANGE)))
}

/// Delta R where none is stated: the paper's, kept between the bounds if there is room.
pub(crate) fn guided_step(rate: BitRate, interval: Interval, bounds: &StepBounds) -> BitRate {
    let step = fits(bits(rate) * u128::from(interval.0) / u128::from(RAMP.0));
    let (least, most) = (bounds.above.saturating_add(1), bounds.below.saturating_sub(1));
    let step = if least <= most { step.clamp(least, most) } else { step };
    BitRate::new(step).unwrap_or(rate)
}

impl StepBounds {
    pub(crate) fn new(rate: BitRate, reference: WireBytes, interval: Interval, round_trip: Interval) -> Self {
        let span = u128::from((round_trip + interval).0).max(1);
        let flows = bits(rate).div_ceil(bits(SENDER));
        let increases = flows * ADDITIVE_INCREASE * u128::from(interval.0);
        Self {
            above: fits(u128::from(reference.0) * BITS / (CORRECTION * span)),
            below: fits(increases / u128::from(INCREASE_TIMER.0)),
            flows: fits(flows),
        }
    }

    /// Whether `step` is between them.
    pub fn allow(&self, step: BitRate) -> bool {
        self.above < step.bits_per_second() && step.bits_per_second() < self.below
    }
}

impl LsccSum {
    /// The sum for a port; `None` where it has no LSCC.
    pub fn new(port: &PortSettings, link: &Link, buffer: &BufferSettings) -> Option<Self> {
        let lscc = port.lscc.as_ref()?;
        let reference = lscc.calculation.reference;
        let span = u128::from((lscc.round_trip + lscc.interval).0).max(1);
        let half = port.rate.bits_per_second() / 2;
        let steps = lscc.calculation.step.map_or(1, |step| half.div_ceil(step.bits_per_second()));
        Some(Self {
            addresses: (lscc.feedback.local, lscc.feedback.peer),
            signed: lscc.feedback.key.is_some(),
            interval: lscc.interval,
            round_trip: lscc.round_trip,
            rates_in_flight: lscc.rates_in_flight(),
            reference: Bytes(reference.0),
            tolerated: fits(u128::from(reference.0) * BITS / span),
            step: lscc.calculation.step,
            bounds: StepBounds::new(port.rate, reference, lscc.interval, lscc.round_trip),
            halved: Self::peak(lscc, half),
            follows: lscc.round_trip + Interval(lscc.interval.0.saturating_mul(steps)),
            beneath: protection(lscc, port, link, buffer),
            flows: lscc.limiting.flows,
        })
    }

    /// How far the queue passes Qref where the bottleneck falls by `drop` bits per second:
    /// `drop x 2D` before the first new rate acts, and the triangle `drop^2 T / (2 dR)` while the
    /// rate comes down step by step; without steps, `drop (2D + T)` after equation (9).
    pub fn peak(lscc: &Lscc, drop: u64) -> Bytes {
        let drop = u128::from(drop);
        let (interval, round_trip) = (u128::from(lscc.interval.0), u128::from(lscc.round_trip.0));
        let descent = match lscc.calculation.step {
            Some(step) => (drop * drop / (2 * bits(step))).saturating_mul(interval),
            None => drop * interval,
        };
        Bytes(fits((drop * round_trip).saturating_add(descent) / BITS))
    }

    /// What the flow table takes.
    pub fn flow_table(&self) -> Bytes {
        Bytes(FLOW.0 * u64::from(self.flows))
    }
}

fn protection(lscc: &Lscc, port: &PortSettings, link: &Link, buffer: &BufferSettings) -> Protection {
    if let Some(bifrost) = &port.bifrost {
        return Protection::Bifrost { buffer: Bytes(bifrost.buffer.0) };
    }
    let bdp = Bytes(lscc.bdp(port.rate).0);
    let groups = || Priority::all().filter_map(|it| Some((it, port.groups[it.index()].lossless()?)));
    let least = groups().min_by_key(|(_, group)| group.headroom);
    let first = groups().map(|(priority, group)| (priority, highest_xoff(group, buffer)));
    match (least, first.min_by_key(|(_, xoff)| *xoff)) {
        // With a distance, less than the link needs is an error.
        (Some((priority, group)), _) if link.distance.is_none() && group.headroom < bdp => {
            Protection::Short { priority, headroom: group.headroom }
        }
        (_, Some((priority, xoff))) => Protection::Pfc { priority, xoff },
        (_, None) => Protection::Short { priority: Priority::default(), headroom: Bytes::ZERO },
    }
}

/// A rate in four figures, for people.
pub(crate) fn rounded(bits_per_second: u64) -> String {
    let unit = 10_u64.pow(bits_per_second.max(1).ilog10().saturating_sub(3));
    let rounded = bits_per_second.saturating_add(unit / 2) / unit * unit;
    BitRate::new(rounded).map_or_else(|| "0".into(), |rate| rate.to_string())
}

/// Who speaks to whom, and one line per figure.
impl fmt::Display for LsccSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.addresses;
        let signed = if self.signed { "with" } else { "without" };
        write!(f, "LSCC from {from} to {to}, {signed} a key")?;
        let lines = [self.flight(), self.aim(), self.stride(), self.fall(), self.held(), self.table()];
        lines.into_iter().try_for_each(|(figure, what)| write!(f, "\n  {figure:>14} {what}"))
    }
}

/// The lines: a figure, and what it is.
impl LsccSum {
    fn flight(&self) -> (String, String) {
        let what = format!(
            "rates on their way: one every {}, in a round trip of {}",
            self.interval, self.round_trip
        );
        (self.rates_in_flight.to_string(), what)
    }

    fn aim(&self) -> (String, String) {
        let (gain, span) = (rounded(self.tolerated), self.round_trip + self.interval);
        let what = format!(
            "bytes of queue aimed at (Qref), not empty while the bottleneck gains up to {gain} in {span}"
        );
        (grouped(self.reference.0), what)
    }

    fn stride(&self) -> (String, String) {
        let StepBounds { above, below, flows } = self.bounds;
        let (above, below) = (rounded(above), rounded(below));
        let what = format!(
            "from one rate to the next (dR); by equation (12) above {above}, and below {below} for M = {flows}"
        );
        (self.step.map_or_else(|| "any".into(), |step| step.to_string()), what)
    }

    fn fall(&self) -> (String, String) {
        let follows = match self.follows.0 / 1_000 {
            micros @ ..10_000 => format!("{micros}us"),
            micros => format!("{}ms", micros / 1_000),
        };
        let what = format!(
            "bytes above Qref at most where the bottleneck falls to half of the rate, followed in {follows}"
        );
        (grouped(self.halved.0), what)
    }

    /// What is beneath, and whether it acts at the peak.
    fn held(&self) -> (String, String) {
        let (held, what) = match self.beneath {
            Protection::Bifrost { buffer } => (buffer, "bytes of Bifrost's buffer beneath"),
            Protection::Pfc { xoff, .. } => (xoff, "bytes until PFC beneath pauses the link"),
            Protection::Short { headroom, .. } => {
                let what = "bytes of headroom beneath: less than the link holds, so frames are lost";
                return (grouped(headroom.0), what.into());
            }
        };
        let then = match held < self.reference + self.halved {
            true => "less than that, so it holds the link back meanwhile, and nothing is lost",
            false => "enough for that",
        };
        (grouped(held.0), format!("{what}: {then}"))
    }

    fn table(&self) -> (String, String) {
        (grouped(self.flow_table().0), format!("bytes of table for {} flows", grouped(self.flows.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switch::program::{Feedback, RateCalculation, RateLimiting};
    use wire::ip::Dscp;

    fn lscc(interval: Interval, round_trip: Interval, step: Option<BitRate>) -> Lscc {
        let rate = BitRate::gigabits(200);
        let reference = guided_reference(rate, round_trip + interval);
        Lscc {
            interval,
            round_trip,
            calculation: RateCalculation { reference, step, least: BitRate::gigabits(2), most: rate },
            limiting: RateLimiting {
                reference,
                cnp_interval: Interval::from_micros(50),
                long_flow: WireBytes(50_000_000),
                far_cnp_interval: None,
                flows: 1,
                ageing: Interval::from_secs(1),
                cnp_dscp: Dscp::DEFAULT,
                cnp_priority: Priority::default(),
            },
            feedback: Feedback {
                local: Ipv4Addr::new(10, 0, 0, 1),
                peer: Ipv4Addr::new(10, 0, 0, 2),
                key: None,
                dscp: Dscp::DEFAULT,
            },
        }
    }

    const T: Interval = Interval::from_micros(200);

    fn bounds(rate: BitRate, reference: u64, round_trip: Interval) -> StepBounds {
        StepBounds::new(rate, WireBytes(reference), T, round_trip)
    }

    #[test]
    fn a_halved_bottleneck_at_200g_over_200_km_takes_three_bdp_beyond_qref() {
        let (round_trip, half) = (Interval::from_millis(2), 100_000_000_000);
        let with_steps = lscc(T, round_trip, Some(BitRate::gigabits(1)));
        assert_eq!(LsccSum::peak(&with_steps, half), Bytes(25_000_000 + 125_000_000));
        assert_eq!(with_steps.bdp(BitRate::gigabits(200)), WireBytes(50_000_000));
        let dead_beat = lscc(T, round_trip, None);
        assert_eq!(LsccSum::peak(&dead_beat, half), Bytes(27_500_000), "equation (9)");
    }

    #[test]
    fn the_guide_for_qref_is_a_tenth_of_what_the_rate_brings_in_a_round_trip_and_t() {
        // The paper's testbed: 25G, 500 us away, Qref = 500 kB.
        let span = Interval::from_millis(1) + T;
        assert_eq!(guided_reference(BitRate::gigabits(25), span), WireBytes(375_000));
        assert_eq!(guided_reference(BitRate::new(1).unwrap(), Interval(1)), WireBytes(1), "rounded up");
    }

    #[test]
    fn the_steps_of_the_paper_are_the_default_and_between_the_bounds() {
        let testbed = bounds(BitRate::gigabits(10), 500_000, Interval::from_millis(1));
        assert_eq!((testbed.above, testbed.below, testbed.flows), (33_333_333, 145_454_545, 1));
        let step = guided_step(BitRate::gigabits(10), T, &testbed);
        assert!(step == BitRate::new(50_000_000).unwrap() && testbed.allow(step));
        for reference in [2_000_000, 5_000_000] {
            let simulated = bounds(BitRate::gigabits(200), reference, Interval::from_millis(2));
            assert_eq!((simulated.below, simulated.flows), (1_163_636_363, 8));
            let step = guided_step(BitRate::gigabits(200), T, &simulated);
            assert!(step == BitRate::gigabits(1) && simulated.allow(step));
        }
    }

    #[test]
    fn a_default_step_is_between_the_bounds_where_there_are_any_between() {
        let (rate, round_trip) = (BitRate::gigabits(100), Interval::from_millis(1));
        for reference in (0..20_000_000).step_by(10_000) {
            let bounds = bounds(rate, reference, round_trip);
            let room = bounds.above + 1 < bounds.below;
            assert_eq!(bounds.allow(guided_step(rate, T, &bounds)), room, "{reference}");
        }
    }

    #[test]
    fn neither_bound_is_between_the_bounds() {
        let bounds = StepBounds { above: 100, below: 102, flows: 1 };
        let allowed = [99, 100, 101, 102, 103].map(|step| bounds.allow(BitRate::new(step).unwrap()));
        assert_eq!(allowed, [false, false, true, false, false]);
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_types() {
        let (rate, most) = (BitRate::new(u64::MAX).unwrap(), Interval(u64::MAX));
        let bounds = StepBounds::new(rate, WireBytes(u64::MAX), most, most);
        assert_eq!(bounds.below, u64::MAX);
        assert!(guided_step(rate, most, &bounds) <= rate);
        assert_eq!(guided_reference(rate, most), WireBytes(u64::MAX));
        for step in [None, BitRate::new(1)] {
            assert_eq!(LsccSum::peak(&lscc(most, most, step), u64::MAX), Bytes::MAX);
        }
    }

    #[test]
    fn rates_are_shown_in_four_figures() {
        let shown = [0, 7, 12_345, 145_454_545, 99_999_999_999, 100_000_000_000].map(rounded);
        assert_eq!(shown, ["0", "7bps", "12.35k", "145.5M", "100G", "100G"]);
    }
}
