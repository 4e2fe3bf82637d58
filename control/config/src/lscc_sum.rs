//! Figures that follow from the settings of LSCC on a port, by the formulas of [`Lscc`]. Where the guide in section
//! III-C of the paper leaves a value open, this file chooses it.

use core::fmt;
use core::net::Ipv4Addr;

use switch::program::{BufferSettings, Lscc, PortSettings};
use units::{BitRate, Bytes, Interval, Priority, WireBytes};

use crate::link::{Link, Senders};
use crate::thresholds::highest_xoff;
use units::human::{count_of, rate};

/// The behaviour of the queue of a port with LSCC, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LsccSum {
    /// The addresses of the feedback: from, to.
    pub addresses: (Ipv4Addr, Ipv4Addr),
    /// Whether feedback carries a tag.
    pub signed: bool,
    /// T.
    pub interval: Interval,
    /// 2D.
    pub round_trip: Interval,
    /// N: the number of rates in flight at a time.
    pub rates_in_flight: usize,
    /// Qref, in bytes on the wire.
    pub reference: Bytes,
    /// How much the rate of the bottleneck may rise within 2D + T before the queue runs dry: Qref over that time, in
    /// bits per second, rounded up.
    pub tolerated: u64,
    /// Delta R.
    pub step: Option<BitRate>,
    /// The bounds that the step should be between.
    pub bounds: StepBounds,
    /// How far the queue exceeds Qref when the bottleneck falls to half of the rate; see [`Lscc::longest_queue`].
    pub halved: Bytes,
    /// How long the rate takes to follow that fall, including the round trip.
    pub follows: Interval,
    /// The protection against loss where LSCC is too slow.
    pub beneath: Protection,
    /// The number of flows that the port knows at once.
    pub flows: u32,
}

/// The bounds of Delta R by equation (12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBounds {
    /// [`Lscc::least_step`] for a dQ of a hundredth of Qref, in bits per second. The paper does not define dQ. Its
    /// own steps of 50 Mb/s and 1 Gb/s are far below the bound for dQ = Qref, and above it for a hundredth of Qref.
    pub above: u64,
    /// [`Lscc::most_step`] for M flows with the DCQCN of the senders, in bits per second.
    pub below: u64,
    /// M: the number of senders that fill the link. More flows can follow a larger step.
    pub flows: u32,
    /// The senders that `flows` counts.
    pub senders: Senders,
}

/// The flow control beneath LSCC, which is not lossless by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Bifrost, which never grants more than its buffer holds.
    Bifrost {
        /// H, in bytes on the wire.
        buffer: Bytes,
    },
    /// PFC with headroom for the link.
    Pfc {
        /// The group that pauses first.
        priority: Priority,
        /// Its XOFF when no other group uses the pool.
        xoff: Bytes,
    },
    /// PFC with less headroom than the bytes in flight on the link.
    Short {
        /// The group with the least headroom.
        priority: Priority,
        /// Its headroom.
        headroom: Bytes,
    },
}

/// Time in which the rate can rise from zero to that of the link. It follows from the paper's steps, 50 Mb/s at 10G
/// and 1 Gb/s at 200G, each every 200 us.
const RAMP: Interval = Interval::from_millis(40);
/// dBR_max as a part of the rate: "in our configuration, it is set to 0.1 of the link bandwidth".
const CHANGE: u64 = 10;
/// dQ as a part of Qref.
const CORRECTION: u64 = 100;
/// Bytes of memory per flow: the cache line that every packet needs, the rest of the entry, and the entry of LSCC.
const FLOW: u64 = 64 + 48 + 12;
/// Bytes of a word of the index, which has two words for each flow, rounded up to a power of two.
const INDEX_WORD: u64 = 4;

/// A part of `rate`, rounded up.
fn part(rate: BitRate, divisor: u64) -> BitRate {
    BitRate::new(rate.bits_per_second().div_ceil(divisor)).unwrap_or(rate)
}

fn bits(rate: Option<BitRate>) -> u64 {
    rate.map_or(0, BitRate::bits_per_second)
}

/// Qref by the guide, which assumes that the bottleneck changes by a tenth of `rate` at most.
pub(crate) fn guided_reference(lscc: &Lscc, rate: BitRate) -> WireBytes {
    lscc.least_reference(part(rate, CHANGE))
}

/// The default of Delta R: that of the paper, moved between the bounds if they leave room. Qref must be set.
pub(crate) fn guided_step(lscc: &Lscc, rate: BitRate, senders: &Senders) -> BitRate {
    let step = u128::from(rate.bits_per_second()) * u128::from(lscc.interval.0) / u128::from(RAMP.0);
    let step = u64::try_from(step).unwrap_or(u64::MAX);
    let StepBounds { above, below, .. } = StepBounds::new(lscc, rate, senders);
    let (least, most) = (above.saturating_add(1), below.saturating_sub(1));
    let step = if least <= most { step.clamp(least, most) } else { step };
    BitRate::new(step).unwrap_or(rate)
}

impl StepBounds {
    /// The bounds for `senders` that fill a link of `rate`.
    fn new(lscc: &Lscc, rate: BitRate, senders: &Senders) -> Self {
        let correction = WireBytes(lscc.calculation.reference.0.div_ceil(CORRECTION));
        let flows = rate.bits_per_second().div_ceil(senders.rate.bits_per_second());
        let flows = u32::try_from(flows).unwrap_or(u32::MAX);
        Self {
            above: bits(lscc.least_step(correction)),
            below: bits(lscc.most_step(flows, senders.additive_increase, senders.rate_timer)),
            flows,
            senders: *senders,
        }
    }

    /// Whether `step` is between the bounds.
    pub fn allow(&self, step: BitRate) -> bool {
        self.above < step.bits_per_second() && step.bits_per_second() < self.below
    }

    /// The assumptions of the upper bound, in words.
    pub(crate) fn assumed(&self) -> String {
        let Senders { rate, additive_increase, rate_timer } = self.senders;
        format!(
            "M = {} senders of {rate:#}, R_AI = {additive_increase:#} and T_i = {rate_timer:#}",
            self.flows
        )
    }
}

impl LsccSum {
    /// The sum of a port; `None` if the port has no LSCC.
    pub fn new(port: &PortSettings, link: &Link, buffer: &BufferSettings) -> Option<Self> {
        let lscc = port.notifiers.lscc.as_ref()?;
        let reference = lscc.calculation.reference;
        let half = part(port.rate, 2);
        let steps = |step: BitRate| half.bits_per_second().div_ceil(step.bits_per_second());
        let steps = lscc.calculation.step.map_or(1, steps);
        Some(Self {
            addresses: (lscc.feedback.local, lscc.feedback.peer),
            signed: lscc.feedback.key.is_some(),
            interval: lscc.interval,
            round_trip: lscc.round_trip,
            rates_in_flight: lscc.rates_in_flight(),
            reference: Bytes(reference.0),
            // Like the least step, this is a queue over 2D + T.
            tolerated: bits(lscc.least_step(reference)),
            step: lscc.calculation.step,
            bounds: StepBounds::new(lscc, port.rate, &link.senders),
            halved: Bytes(lscc.longest_queue(half).0).saturating_sub(Bytes(reference.0)),
            follows: lscc.round_trip + Interval(lscc.interval.0.saturating_mul(steps)),
            beneath: protection(lscc, port, link, buffer),
            flows: lscc.limiting.flows,
        })
    }

    /// The memory of the flow table.
    pub fn flow_table(&self) -> Bytes {
        let flows = u64::from(self.flows);
        Bytes(FLOW * flows + INDEX_WORD * (2 * flows).next_power_of_two())
    }
}

fn protection(lscc: &Lscc, port: &PortSettings, link: &Link, buffer: &BufferSettings) -> Protection {
    if let Some(bifrost) = port.bifrost() {
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

/// A rate as a file takes it, or zero.
pub(crate) fn exact(bits_per_second: u64) -> String {
    BitRate::new(bits_per_second).map_or_else(|| "0".into(), |rate| rate.to_string())
}

/// The two ends, and one line per figure.
impl fmt::Display for LsccSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.addresses;
        let signed = if self.signed { "with" } else { "without" };
        write!(f, "LSCC from {from} to {to}, {signed} a key")?;
        let Self { interval, round_trip, .. } = self;
        let rates = format!("rates on their way: one every {interval:#}, in a round trip of {round_trip:#}");
        let (gain, span) = (rate(self.tolerated), *round_trip + *interval);
        let aim = format!(
            "of queue aimed at (Qref), not empty while the bottleneck gains up to {gain} in {span:#}"
        );
        let (above, below) = (rate(self.bounds.above), rate(self.bounds.below));
        let assumed = self.bounds.assumed();
        let stride = format!(
            "from one rate to the next (dR); by equation (12) above {above}, and below {below} for {assumed}"
        );
        let follows = self.follows;
        let fall = format!(
            "above Qref at most where the bottleneck falls to half of the rate, followed in {follows:#}"
        );
        let (held, protection) = self.held();
        let lines = [
            (self.rates_in_flight.to_string(), rates),
            (format!("{:#}", self.reference), aim),
            (self.step.map_or_else(|| "any".into(), |step| format!("{step:#}")), stride),
            (format!("{:#}", self.halved), fall),
            (format!("{held:#}"), protection),
            (
                format!("{:#}", self.flow_table()),
                format!("of table for {}", count_of(self.flows.into(), "flow")),
            ),
        ];
        lines.into_iter().try_for_each(|(figure, what)| write!(f, "\n  {figure:>14} {what}"))
    }
}

impl LsccSum {
    /// The buffer of the protection beneath, and whether it holds the longest queue.
    fn held(&self) -> (Bytes, String) {
        let (held, what) = match self.beneath {
            Protection::Bifrost { buffer } => (buffer, "of Bifrost's buffer beneath"),
            Protection::Pfc { xoff, .. } => (xoff, "until PFC beneath pauses the link"),
            Protection::Short { headroom, .. } => {
                let what = "of headroom beneath: less than the link holds, so frames are lost";
                return (headroom, what.into());
            }
        };
        let then = match held < self.reference + self.halved {
            true => "less than that, so it holds the link back meanwhile, and nothing is lost",
            false => "enough for that",
        };
        (held, format!("{what}: {then}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switch::program::{Feedback, RateCalculation, RateLimiting};
    use wire::ip::Dscp;

    fn lscc(interval: Interval, round_trip: Interval, step: Option<BitRate>) -> Lscc {
        let (rate, reference) = (BitRate::gigabits(200), WireBytes(0));
        Lscc {
            interval,
            round_trip,
            calculation: RateCalculation { reference, step, least: BitRate::gigabits(2), most: rate },
            limiting: RateLimiting {
                direct_int: None,
                reference,
                limit: None,
                cnp_interval: Interval::from_micros(50),
                long_flow: Some(WireBytes(50_000_000)),
                far_cnp_interval: None,
                flows: 1,
                ageing: Interval::from_secs(1),
                learn: 1,
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
    const SENDERS: Senders = Senders {
        rate: BitRate::gigabits(25),
        additive_increase: BitRate::megabits(40),
        rate_timer: Interval::from_micros(55),
    };

    /// At 200G, though it is asked about other rates.
    fn with_reference(reference: u64, round_trip: Interval) -> Lscc {
        let mut lscc = lscc(T, round_trip, None);
        lscc.calculation.reference = WireBytes(reference);
        lscc
    }

    #[test]
    fn the_guide_for_qref_is_a_tenth_of_what_the_rate_brings_in_a_round_trip_and_t() {
        // The paper's testbed: 25G, 500 us away, Qref = 500 kB.
        let testbed = lscc(T, Interval::from_millis(1), None);
        assert_eq!(guided_reference(&testbed, BitRate::gigabits(25)), WireBytes(375_000));
        assert_eq!(guided_reference(&testbed, BitRate::new(1).unwrap()), WireBytes(1), "rounded up");
    }

    #[test]
    fn the_steps_of_the_paper_are_the_default_and_between_the_bounds() {
        let rate = BitRate::gigabits(10);
        let testbed = with_reference(500_000, Interval::from_millis(1));
        let bounds = StepBounds::new(&testbed, rate, &SENDERS);
        assert_eq!(bounds, StepBounds { above: 33_333_334, below: 145_454_545, flows: 1, senders: SENDERS });
        let step = guided_step(&testbed, rate, &SENDERS);
        assert!(step == BitRate::new(50_000_000).unwrap() && bounds.allow(step));
        let rate = BitRate::gigabits(200);
        for reference in [2_000_000, 5_000_000] {
            let simulated = with_reference(reference, Interval::from_millis(2));
            let bounds = StepBounds::new(&simulated, rate, &SENDERS);
            assert_eq!((bounds.below, bounds.flows), (1_163_636_363, 8));
            let step = guided_step(&simulated, rate, &SENDERS);
            assert!(step == BitRate::gigabits(1) && bounds.allow(step));
        }
    }

    #[test]
    fn the_upper_bound_is_what_the_senders_at_hand_can_follow() {
        let lscc = with_reference(2_000_000, Interval::from_millis(2));
        let nic = Senders { rate: BitRate::gigabits(40), rate_timer: Interval::from_micros(300), ..SENDERS };
        let model =
            Senders { rate: BitRate::gigabits(40), additive_increase: BitRate::megabits(400), ..SENDERS };
        for (senders, below, allowed) in [(nic, 133_333_333, false), (model, 7_272_727_272, true)] {
            let bounds = StepBounds::new(&lscc, BitRate::gigabits(200), &senders);
            assert_eq!((bounds.below, bounds.flows), (below, 5));
            assert_eq!(bounds.allow(BitRate::gigabits(1)), allowed);
        }
    }

    #[test]
    fn a_default_step_is_between_the_bounds_where_there_are_any_between() {
        let rate = BitRate::gigabits(100);
        for reference in (0..20_000_000).step_by(10_000) {
            let lscc = with_reference(reference, Interval::from_millis(1));
            let bounds = StepBounds::new(&lscc, rate, &SENDERS);
            let room = bounds.above + 1 < bounds.below;
            assert_eq!(bounds.allow(guided_step(&lscc, rate, &SENDERS)), room, "{reference}");
        }
    }

    #[test]
    fn neither_bound_is_between_the_bounds() {
        let bounds = StepBounds { above: 100, below: 102, flows: 1, senders: SENDERS };
        let allowed = [99, 100, 101, 102, 103].map(|step| bounds.allow(BitRate::new(step).unwrap()));
        assert_eq!(allowed, [false, false, true, false, false]);
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_types() {
        let (rate, most) = (BitRate::new(u64::MAX).unwrap(), Interval(u64::MAX));
        let mut lscc = lscc(most, most, None);
        lscc.calculation.reference = WireBytes(u64::MAX);
        assert_eq!(StepBounds::new(&lscc, rate, &SENDERS).below, u64::MAX);
        assert!(guided_step(&lscc, rate, &SENDERS) <= rate);
        assert_eq!(guided_reference(&lscc, rate), WireBytes(u64::MAX));
    }
}
