//! The rate calculation module of LSCC: it calculates the rate at which the other end of a long link is to send.
//!
//! "LSCC: Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III-B and algorithm 1.
//! At the end of each interval T, the receiving port has two inputs: BR, the rate at which the bytes that came in
//! through it left, and Q, the length of their queue. It asks for the rate BR, less the rate that would take the
//! queue back to Qref within T, plus the adjustments that it has asked for before and that have not arrived: the
//! rates of the last round trip are still in flight.
//!
//! Queue and totals are bytes on the wire, and rates are those of the wire.
//!
//! Differences from the paper:
//!
//! - An interval is elapsed time. If it ends late, its BR is measured over the whole time.
//! - The rate advertised at its beginning then holds for longer than T, and so does its adjustment. So each entry
//!   of the list counts by the time for which it was the latest, in units of T, and the list covers exactly the
//!   last round trip: of the oldest entry, only the part counts that has not taken effect. With that, equation (3)
//!   holds for intervals of any length, and for a round trip that is no multiple of T. On time and with 2D = N T,
//!   it is the paper's list of N entries, each of which counts once.
//! - A rate is one that its message can carry. The advertised rate is rounded down to that, and the list gets the
//!   advertised rate; Rmin, Rmax and Delta R are whole units too.
//! - A switch that starts is at rest, see below: the law would have arrived there before the first frame. If the
//!   law begins while frames pass, no rate has been advertised: the other end sends at its line rate, so the first
//!   rate may differ from Rmax by Delta R, and the list is empty.
//! - A port without traffic has no intervals. The paper's law would go on advertising rates that fill an empty
//!   queue up to Qref, again and again. Instead, after N + 1 intervals without traffic, rates approach their mean
//!   ([`Lscc::rate_at_rest`]), by Delta R at a time, and stay there.

mod in_flight;

#[cfg(test)]
mod tests;

use crate::histogram::DelayHistogram;
use crate::program::Lscc;
use in_flight::InFlight;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, WireBytes};
use wire::rate_feedback;

/// A byte per nanosecond, in bits per second.
const BYTE_PER_NANOSECOND: i128 = 8_000_000_000;
/// The finest step between rates that messages carry (Delta F), in bits per second.
const UNIT: i64 = rate_feedback::RATE_UNIT as i64;
/// The highest rate that a message can carry.
const HIGHEST: i64 = u32::MAX as i64 * UNIT;

/// Counters of the rate calculation of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCounters {
    /// Intervals that have ended, which is also the number of advertised rates. A port without traffic counts none.
    pub intervals: u64,
    /// Rates limited by Delta R: too far from the one before.
    pub clamped_by_step: u64,
    /// Rates raised to Rmin.
    pub clamped_to_min: u64,
    /// Rates lowered to Rmax.
    pub clamped_to_max: u64,
    /// The rate that was advertised last.
    pub last_rate: Option<BitRate>,
    /// The rate of departures in the last interval; `None` if nothing left.
    pub last_bottleneck_rate: Option<BitRate>,
    /// The longest queue at the end of an interval, in wire bytes.
    pub longest_queue: WireBytes,
}

/// The latest advertisement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Latest {
    at: Nanos,
    /// Ra: the bottleneck rate less `rate`.
    adjustment: i64,
}

/// Bounds of advertised rates, in bits per second and in whole units.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bounds {
    /// Delta R.
    step: Option<i64>,
    /// Rmin.
    least: i64,
    /// Rmax.
    most: i64,
}

/// The downstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RateCalculator {
    interval: Interval,
    /// Qref.
    reference: u64,
    bounds: Bounds,
    /// The rate that a port without traffic advertises.
    idle_rate: i64,
    /// Intervals without traffic until it does.
    patience: usize,
    /// Intervals without traffic so far.
    idle: usize,
    /// The start of the running interval; `None` while there is no traffic.
    began: Option<Nanos>,
    /// The wire bytes that had left at that time.
    departed: u64,
    /// The rate in force: the one advertised last, in bits per second.
    last: i64,
    latest: Option<Latest>,
    in_flight: InFlight,
    counters: RateCounters,
    lateness: DelayHistogram,
}

impl RateCalculator {
    /// A port that has had no traffic for long.
    pub fn at_rest(settings: &Lscc, departed: u64) -> Self {
        let mut rests = Self::new(settings, departed);
        rests.last = rests.idle_rate;
        rests.in_flight.fill(-rests.idle_rate);
        rests
    }

    /// A port on which the law starts while it runs, after `departed` wire bytes have left.
    pub fn new(settings: &Lscc, departed: u64) -> Self {
        let calculation = &settings.calculation;
        let bounds = Bounds::new(calculation.step, calculation.least, calculation.most);
        let entries = settings.rates_in_flight();
        Self {
            interval: settings.interval,
            reference: calculation.reference.0,
            bounds,
            idle_rate: bounds.carried(settings.rate_at_rest().bits_per_second().into()),
            patience: entries + 1,
            idle: 0,
            began: None,
            departed,
            last: bounds.most,
            latest: None,
            in_flight: InFlight::new(entries, settings.round_trip),
            counters: RateCounters::default(),
            lateness: DelayHistogram::default(),
        }
    }

    /// Whether there is no traffic.
    pub fn is_at_rest(&self) -> bool {
        self.began.is_none()
    }

    /// The end of the running interval: never while there is no traffic.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.began.map_or(Nanos::NEVER, |began| began + self.interval)
    }

    /// Notes that bytes come in at `now`: a port at rest begins its first interval.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.began.is_none() {
            self.began = Some(now);
            self.idle = 0;
        }
    }

    /// Ends the interval at its deadline or later (algorithm 1). Of the bytes that came in through this port,
    /// `queue` are inside, and `departed` have left so far, both on the wire. Returns R, as its message carries it.
    pub fn end_interval(&mut self, now: Nanos, queue: u64, departed: u64) -> BitRate {
        let began = self.began.unwrap_or(now);
        self.lateness.record(now.since(began + self.interval));
        let left = departed.saturating_sub(core::mem::replace(&mut self.departed, departed));
        let bottleneck = bottleneck_rate(left, now.since(began));
        if let Some(latest) = self.latest {
            self.in_flight.push(latest.adjustment, now.since(latest.at));
        }

        self.idle = if queue == 0 && left == 0 { self.idle.saturating_add(1) } else { 0 };
        let idle = self.idle >= self.patience;
        let wanted = if idle { self.idle_rate.into() } else { self.wanted(queue, bottleneck) };
        let rate = self.clamp(wanted);
        self.latest = Some(Latest { at: now, adjustment: bottleneck - rate });
        self.last = rate;
        self.note_interval(queue, bottleneck, rate);

        let at_rest = idle && rate == self.idle_rate;
        self.began = (!at_rest).then_some(now);
        as_rate(rate)
    }

    /// Lines 1 to 3: `BR - ((Q - Qref) / T - Ra_sent)`.
    fn wanted(&self, queue: u64, bottleneck: i64) -> i128 {
        let excess = (i128::from(queue) - i128::from(self.reference)) * BYTE_PER_NANOSECOND;
        let adjustment = (excess - self.in_flight.sum()) / i128::from(self.interval.0);
        i128::from(bottleneck) - adjustment
    }

    /// Lines 4 to 11, rounded to what the message can carry.
    fn clamp(&mut self, wanted: i128) -> i64 {
        let (Bounds { step, least, most }, last) = (self.bounds, self.last);
        let stepped = step.map_or(wanted, |step| wanted.clamp((last - step).into(), (last + step).into()));
        self.counters.clamped_by_step += u64::from(stepped != wanted);
        self.counters.clamped_to_min += u64::from(stepped < least.into());
        self.counters.clamped_to_max += u64::from(stepped > most.into());
        self.bounds.carried(stepped)
    }

    fn note_interval(&mut self, queue: u64, bottleneck: i64, rate: i64) {
        let counters = &mut self.counters;
        counters.intervals += 1;
        counters.last_rate = Some(as_rate(rate));
        counters.last_bottleneck_rate = BitRate::new(bottleneck.unsigned_abs());
        counters.longest_queue.0 = counters.longest_queue.0.max(queue);
    }

    pub fn counters(&self) -> &RateCounters {
        &self.counters
    }

    /// Lateness of interval ends.
    pub fn lateness(&self) -> &DelayHistogram {
        &self.lateness
    }
}

impl Bounds {
    /// Rmin is rounded up to a whole unit, Rmax and Delta R down, but not to zero.
    fn new(step: Option<BitRate>, least: BitRate, most: BitRate) -> Self {
        let bits = |rate: BitRate| rate.bits_per_second().min(HIGHEST.unsigned_abs()) as i64;
        let down = |rate| (bits(rate) / UNIT).max(1) * UNIT;
        let least = (bits(least) + UNIT - 1) / UNIT * UNIT;
        Self { step: step.map(down), least, most: down(most).max(least) }
    }

    /// The advertised rate for the wanted `rate`, in bits per second.
    fn carried(&self, rate: i128) -> i64 {
        let within = rate.clamp(self.least.into(), self.most.into()) as i64;
        within / UNIT * UNIT
    }
}

/// BR: `left` over the elapsed time, in bits per second, rounded down.
fn bottleneck_rate(left: u64, elapsed: Interval) -> i64 {
    let rate = i128::from(left) * BYTE_PER_NANOSECOND / i128::from(elapsed.0.max(1));
    rate.min(HIGHEST.into()) as i64
}

fn as_rate(bits_per_second: i64) -> BitRate {
    BitRate::new(bits_per_second.unsigned_abs()).expect("what is advertised is at least one unit")
}
