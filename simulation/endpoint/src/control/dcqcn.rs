//! DCQCN, the reaction point: "Congestion Control for Large-Scale RDMA Deployments" (Zhu et al., SIGCOMM
//! 2015), section 3.1. Where the paper is silent, this follows QCN (IEEE 802.1Q clause 30), its origin.
//!
//! It needs no timers of the host: a rate matters only when a packet starts. At that instant, the timer
//! events since the last one are applied in order, each at its own time.

use crate::settings::Dcqcn as Settings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Nanos};

/// A rate within this distance of the port's rate, in bits per second, becomes the port's rate, because
/// halving the distance would never end.
const CLOSE: f64 = 1.0;

/// The reaction point of a queue pair. Rates are in bits per second.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Dcqcn {
    settings: Settings,
    line: BitRate,
    /// Rc.
    current: f64,
    /// Rt.
    target: f64,
    /// The value at `reduced`, set by the last reduction.
    alpha: f64,
    /// The last rate reduction, when all timers restart. `None` before the first notification.
    reduced: Option<Nanos>,
    /// Whether a notification waits for the end of the monitor period.
    pending: bool,
    /// The next expiry of the rate timer.
    timer_due: Nanos,
    /// T: expiries since the last reduction.
    timer_stage: u32,
    /// Bytes sent since the byte counter restarted.
    bytes: u64,
    /// BC: restarts of the byte counter since the last reduction.
    byte_stage: u32,
}

impl Dcqcn {
    /// Starts at the rate of the port, `line`.
    pub fn new(settings: Settings, line: BitRate) -> Self {
        let rate = line.bits_per_second() as f64;
        Self {
            settings,
            line,
            current: rate,
            target: rate,
            alpha: settings.initial_alpha,
            reduced: None,
            pending: false,
            timer_due: Nanos::NEVER,
            timer_stage: 0,
            bytes: 0,
            byte_stage: 0,
        }
    }

    fn line_rate(&self) -> f64 {
        self.line.bits_per_second() as f64
    }

    fn is_limited(&self) -> bool {
        self.current < self.line_rate()
    }

    /// The rate of the packet that starts at `now`; `None` for the port's rate.
    #[inline]
    pub fn rate(&mut self, now: Nanos) -> Option<BitRate> {
        if !(self.is_limited() || self.pending) {
            return None;
        }
        self.advance(now);
        // Rounded down to whole bits per second. The minimum rate is at least one.
        self.is_limited().then(|| BitRate::new(self.current as u64)).flatten()
    }

    /// Counts a packet that starts at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, length: Bytes) {
        if !(self.is_limited() || self.pending) {
            return;
        }
        self.advance(now);
        let Some(byte_counter) = self.settings.byte_counter else { return };
        self.bytes += length.0;
        if self.bytes >= byte_counter.0 {
            self.bytes -= byte_counter.0;
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.increase();
        }
    }

    /// Handles a congestion notification.
    pub fn on_cnp(&mut self, now: Nanos) {
        self.advance(now);
        match self.monitor_ends() {
            Some(end) if now < end => self.pending = true,
            _ => self.reduce(now),
        }
    }

    /// The end of the period without a further reduction.
    fn monitor_ends(&self) -> Option<Nanos> {
        self.reduced.map(|reduced| reduced + self.settings.rate_reduce_monitor_period)
    }

    /// Applies everything that is due by `now`.
    fn advance(&mut self, now: Nanos) {
        loop {
            let reduction = self.monitor_ends().filter(|_| self.pending).unwrap_or(Nanos::NEVER);
            if reduction <= now && reduction <= self.timer_due {
                self.reduce(reduction);
            } else if self.timer_due <= now {
                self.timer_due += self.settings.rate_timer.max(Interval(1));
                self.timer_stage = self.timer_stage.saturating_add(1);
                self.increase();
            } else {
                return;
            }
        }
    }

    /// Equation 1.
    fn reduce(&mut self, now: Nanos) {
        let alpha = self.alpha_at(now);
        let has_risen = self.timer_stage > 0 || self.byte_stage > 0;
        if self.settings.clamp_target_rate || has_risen || self.reduced.is_none() {
            self.target = self.current;
        }
        let least = self.settings.minimum_rate.bits_per_second() as f64;
        self.current = (self.current * (1.0 - alpha / 2.0)).max(least.min(self.line_rate()));
        self.alpha = (1.0 - self.settings.g) * alpha + self.settings.g;
        self.pending = false;
        self.reduced = Some(now);
        self.timer_due = now + self.settings.rate_timer;
        (self.timer_stage, self.byte_stage, self.bytes) = (0, 0, 0);
    }

    /// Equation 2: alpha after the updates since the last reduction. Each interval K reduces it by the
    /// fraction g.
    fn alpha_at(&self, now: Nanos) -> f64 {
        let Some(reduced) = self.reduced else { return self.alpha };
        let intervals = now.since(reduced).0 / self.settings.alpha_timer.0.max(1);
        self.alpha * power(1.0 - self.settings.g, intervals)
    }

    /// Handles an expiry of the timer or byte counter: fast recovery (equation 3), additive increase
    /// (equation 4) or hyper increase.
    fn increase(&mut self) {
        let steps = self.settings.fast_recovery_steps;
        let byte_stage = self.settings.byte_counter.map_or(self.timer_stage, |_| self.byte_stage);
        let (most, least) = (self.timer_stage.max(byte_stage), self.timer_stage.min(byte_stage));
        if least > steps {
            let hyper = self.settings.hyper_increase.bits_per_second() as f64;
            self.target += f64::from(least - steps) * hyper;
        } else if most >= steps {
            self.target += self.settings.additive_increase.bits_per_second() as f64;
        }
        self.target = self.target.min(self.line_rate());
        self.current = (self.target + self.current) / 2.0;
        if self.line_rate() - self.current < CLOSE {
            self.current = self.line_rate();
            // The rate is fully recovered.
            self.timer_due = Nanos::NEVER;
        }
    }
}

/// `base` to the power of `exponent`. The standard library's result may differ in its last bits between
/// platforms, but runs must be reproducible.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::gigabits(100);
    const G: f64 = 1.0 / 256.0;

    fn gigabits(dcqcn: &mut Dcqcn, at_us: u64) -> f64 {
        dcqcn.rate(us(at_us)).map_or(100.0, |rate| rate.bits_per_second() as f64 / 1e9)
    }

    fn us(at: u64) -> Nanos {
        Nanos(at * 1_000)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-8
    }

    fn dcqcn(adjust: impl FnOnce(&mut Settings)) -> Dcqcn {
        let mut settings = Settings::default();
        adjust(&mut settings);
        Dcqcn::new(settings, LINE)
    }

    #[test]
    fn the_first_notification_halves_the_rate_and_the_next_ones_use_alpha() {
        let mut dcqcn = dcqcn(|_| {});
        assert_eq!(dcqcn.rate(us(0)), None, "it starts at the rate of the port");
        dcqcn.on_cnp(us(100));
        assert_eq!(gigabits(&mut dcqcn, 100), 50.0);
        dcqcn.on_cnp(us(150));
        assert_eq!(gigabits(&mut dcqcn, 150), 25.0, "alpha of 1 stays 1 while notifications come");
        // 120 us are two intervals K: alpha = (255/256)^2.
        dcqcn.on_cnp(us(270));
        let alpha = (1.0 - G) * (1.0 - G);
        // Meanwhile the timer expired twice, toward a target of 50 Gb/s: 37.5, then 43.75.
        let rate = 43.75 * (1.0 - alpha / 2.0);
        assert!(near(gigabits(&mut dcqcn, 270), rate));
        assert!(near(dcqcn.alpha, (1.0 - G) * alpha + G));
        assert!(near(dcqcn.target, 43.75e9));
    }

    #[test]
    fn fast_recovery_halves_the_distance_four_times_and_then_the_target_rises() {
        let mut dcqcn = dcqcn(|_| {});
        dcqcn.on_cnp(us(0));
        dcqcn.on_cnp(us(0));
        let rates: Vec<f64> = (1..=6).map(|step| gigabits(&mut dcqcn, 55 * step)).collect();
        // From 25 toward 50. At the fifth event max(T, BC) is F, and the target rises by 40 Mb/s.
        let mut expected = vec![37.5, 43.75, 46.875, 48.4375];
        expected.push((48.4375 + 50.04) / 2.0);
        expected.push((expected[4] + 50.08) / 2.0);
        assert!(rates.iter().zip(&expected).all(|(rate, expected)| near(*rate, *expected)), "{rates:?}");
    }

    #[test]
    fn the_rate_rises_at_the_instant_of_the_timer_and_not_before() {
        let mut dcqcn = dcqcn(|_| {});
        dcqcn.on_cnp(us(10));
        assert_eq!(dcqcn.rate(Nanos(64_999)), BitRate::new(50_000_000_000));
        assert_eq!(dcqcn.rate(Nanos(65_000)), BitRate::new(75_000_000_000));
    }

    #[test]
    fn the_byte_counter_is_a_second_clock() {
        let mut dcqcn = dcqcn(|settings| settings.rate_timer = Interval::from_secs(1));
        dcqcn.on_cnp(us(0));
        for _ in 0..9_999 {
            dcqcn.on_sent(us(1), Bytes(1_000));
        }
        assert_eq!(gigabits(&mut dcqcn, 1), 50.0);
        dcqcn.on_sent(us(1), Bytes(1_000));
        assert_eq!(gigabits(&mut dcqcn, 1), 75.0);
    }

    #[test]
    fn without_a_byte_counter_the_timer_alone_leads_to_hyper_increase() {
        let mut dcqcn = dcqcn(|settings| settings.byte_counter = None);
        for _ in 0..4 {
            dcqcn.on_cnp(us(0));
        }
        dcqcn.on_sent(us(1), Bytes(100_000_000));
        assert!(near(dcqcn.target, 12.5e9), "bytes are no clock");
        // Four events of fast recovery, the fifth additive, the sixth beyond F.
        let targets = [4, 5, 6].map(|timer| {
            let _ = dcqcn.rate(us(timer * 55));
            dcqcn.target
        });
        assert!(
            near(targets[0], 12.5e9) && near(targets[1], 12.54e9) && near(targets[2], 12.94e9),
            "{targets:?}"
        );
    }

    #[test]
    fn hyper_increase_needs_both_clocks_beyond_fast_recovery() {
        let mut dcqcn = dcqcn(|settings| settings.byte_counter = Some(Bytes(1_000)));
        for _ in 0..4 {
            dcqcn.on_cnp(us(0));
        }
        // The target is 12.5 Gb/s. Six byte events: the fifth and sixth are additive.
        for _ in 0..6 {
            dcqcn.on_sent(us(1), Bytes(1_000));
        }
        assert!(near(dcqcn.target, 12.58e9));
        // Five timer events are additive. The sixth is the first with both stages above F.
        let _ = dcqcn.rate(us(5 * 55));
        assert!(near(dcqcn.target, 12.78e9));
        let _ = dcqcn.rate(us(6 * 55));
        assert!(near(dcqcn.target, 13.18e9));
        dcqcn.on_sent(us(331), Bytes(1_000));
        assert!(near(dcqcn.target, 13.58e9), "the least of both stages counts");
        let _ = dcqcn.rate(us(7 * 55));
        assert!(near(dcqcn.target, 14.38e9), "twice R_HAI");
    }

    #[test]
    fn a_recovered_queue_pair_has_the_rate_of_its_port_and_alpha_goes_on_falling() {
        let mut dcqcn = dcqcn(|_| {});
        dcqcn.on_cnp(us(0));
        assert_eq!(dcqcn.rate(us(1_000_000)), None);
        assert_eq!(dcqcn.timer_due, Nanos::NEVER);
        let intervals = 2_000_000 / 55;
        dcqcn.on_cnp(us(2_000_000));
        let alpha = (1.0 - G).powi(intervals);
        assert!(near(gigabits(&mut dcqcn, 2_000_000), 100.0 * (1.0 - alpha / 2.0)));
    }

    #[test]
    fn the_rate_never_falls_below_the_least() {
        let mut dcqcn = dcqcn(|settings| settings.minimum_rate = BitRate::gigabits(1));
        for _ in 0..20 {
            dcqcn.on_cnp(us(0));
        }
        assert_eq!(gigabits(&mut dcqcn, 0), 1.0);
    }

    #[test]
    fn within_the_monitor_period_notifications_count_as_one_at_its_end() {
        let mut dcqcn = dcqcn(|settings| settings.rate_reduce_monitor_period = Interval::from_micros(50));
        dcqcn.on_cnp(us(0));
        dcqcn.on_cnp(us(10));
        dcqcn.on_cnp(us(20));
        assert_eq!(gigabits(&mut dcqcn, 49), 50.0);
        assert_eq!(gigabits(&mut dcqcn, 50), 25.0);
        assert_eq!(gigabits(&mut dcqcn, 104), 25.0, "and nothing more at the end of the next one");
        assert_eq!(gigabits(&mut dcqcn, 105), 37.5, "the timer began anew at 50 us");
    }

    #[test]
    fn a_target_that_is_not_clamped_stays_until_the_rate_has_risen() {
        let targets = |clamp_target_rate| {
            let mut dcqcn = dcqcn(|settings| settings.clamp_target_rate = clamp_target_rate);
            dcqcn.on_cnp(us(0));
            dcqcn.on_cnp(us(50));
            let at_once = dcqcn.target / 1e9;
            // The timer expires once.
            dcqcn.on_cnp(us(110));
            (at_once, dcqcn.target / 1e9)
        };
        assert_eq!(targets(true), (50.0, 37.5));
        assert_eq!(targets(false), (100.0, 62.5), "from 25 halfway to 100");
    }

    #[test]
    fn looking_at_the_rate_in_between_changes_nothing() {
        let run = |looks: u64| {
            let mut dcqcn = dcqcn(|_| {});
            for at in 0..5_000 {
                if at % 700 == 0 {
                    dcqcn.on_cnp(us(at));
                }
                if looks != 0 && at % looks == 0 {
                    let _ = dcqcn.rate(us(at));
                }
            }
            (dcqcn.rate(us(5_000)), dcqcn.alpha.to_bits(), dcqcn.target.to_bits())
        };
        assert_eq!(run(0), run(1));
        assert_eq!(run(0), run(37));
    }
}
