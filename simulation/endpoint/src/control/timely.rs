//! TIMELY: a rate computed from round-trip times ("TIMELY: RTT-based Congestion Control for the Datacenter",
//! SIGCOMM 2015, algorithm 1 and section 4.3).

use super::Acknowledgement;
use crate::settings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Nanos, SerializationTime, WireBytes};

/// The number of consecutive completion events without a positive gradient that start hyperactive increase (section
/// 4.3).
const HYPER_AFTER: u32 = 5;
/// Payload per completion event. The paper has 16 to 64 KB (section 3.1).
const SEGMENT: Bytes = Bytes(16_000);

/// The rate of one flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Timely {
    settings: settings::Timely,
    /// In bits per second, like the next two fields.
    rate: f64,
    line: f64,
    minimum: f64,
    /// rtt_diff, in nanoseconds.
    difference: f64,
    previous: Option<Interval>,
    /// Consecutive completion events without a positive gradient.
    falling: u32,
    serialization: SerializationTime,
    /// The packet's time on the first link, which is not part of a round trip.
    packet_time: Interval,
    /// Payload acknowledged since the last completion event.
    completed: u64,
    /// The earliest instant of the next completion event.
    not_before: Nanos,
    /// The next completion event also waits for an acknowledgement beyond this byte.
    beyond: u64,
}

impl Timely {
    /// A flow on a port of `line` that already sends `others` flows. It starts with its share of the line
    /// (section 4.3).
    pub fn new(settings: settings::Timely, line: BitRate, others: u32) -> Self {
        let serialization = line.serialization();
        let line = line.bits_per_second() as f64;
        let minimum = (settings.minimum.bits_per_second() as f64).min(line);
        Self {
            settings,
            rate: (line / (f64::from(others) + 1.0)).max(minimum),
            line,
            minimum,
            difference: 0.0,
            previous: None,
            falling: 0,
            serialization,
            packet_time: Interval::ZERO,
            completed: 0,
            not_before: Nanos::ZERO,
            beyond: 0,
        }
    }

    /// The allowed sending rate.
    pub fn rate(&self) -> BitRate {
        // The rate is positive but may round down to zero bits per second.
        BitRate::new(self.rate as u64).unwrap_or(const { BitRate::new(1).expect("it is not zero") })
    }

    /// Notes a sent packet of stored length `length`.
    #[inline]
    pub fn on_sent(&mut self, length: Bytes) {
        self.packet_time = self.serialization.time_of(WireBytes::of_frame(length));
    }

    /// Handles an acknowledgement. If it completes a segment, the segment's round-trip time is that of its
    /// last packet. That equals the paper's value, which subtracts the whole segment's time on the first link
    /// (section 3.1), for packets that are paced one by one.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Nanos, acknowledgement: &Acknowledgement<'_>) {
        let Acknowledgement { acknowledged, newly, sent, round_trip, .. } = *acknowledgement;
        self.completed = self.completed.saturating_add(newly);
        let Some(round_trip) = round_trip else { return };
        let due =
            now >= self.not_before && (acknowledged > self.beyond || !self.settings.once_per_round_trip);
        if self.completed < SEGMENT.0 || !due {
            return;
        }
        self.completed = 0;
        self.not_before = now + self.settings.least_interval;
        self.beyond = sent;
        self.complete(round_trip - self.packet_time);
    }

    /// A completion event: algorithm 1.
    fn complete(&mut self, rtt: Interval) {
        let settings = &self.settings;
        // The first round trip has no predecessor.
        let previous = self.previous.replace(rtt).unwrap_or(rtt);
        let difference = rtt.0 as f64 - previous.0 as f64;
        self.difference = (1.0 - settings.alpha) * self.difference + settings.alpha * difference;
        let gradient = self.difference / settings.min_rtt.0.max(1) as f64;
        self.falling = if gradient <= 0.0 { self.falling.saturating_add(1) } else { 0 };
        let step = settings.step.bits_per_second() as f64;
        let rate = if rtt < settings.t_low {
            self.rate + step
        } else if rtt > settings.t_high {
            self.rate * (1.0 - settings.beta * (1.0 - settings.t_high.0 as f64 / rtt.0 as f64))
        } else if gradient <= 0.0 {
            let hyper = self.falling >= HYPER_AFTER;
            self.rate + step * f64::from(if hyper { settings.hyper_steps } else { 1 })
        } else {
            self.rate * (1.0 - settings.beta * gradient)
        };
        self.rate = rate.max(self.minimum).min(self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::gigabits(10);

    /// The rates after each of these round trips, in Mb/s, starting from half the line.
    fn rates(round_trips_us: &[u64]) -> Vec<f64> {
        let mut timely = Timely::new(settings::Timely::default(), LINE, 1);
        let after = |rtt: &u64| {
            timely.complete(Interval::from_micros(*rtt));
            timely.rate().bits_per_second() as f64 / 1e6
        };
        round_trips_us.iter().map(after).collect()
    }

    fn assert_close(ours: &[f64], by_hand: &[f64]) {
        assert_eq!(ours.len(), by_hand.len());
        for (one, other) in ours.iter().zip(by_hand) {
            assert!((one - other).abs() < 1e-3, "{ours:?}, by hand {by_hand:?}");
        }
    }

    #[test]
    fn a_flow_starts_with_its_share_of_the_line() {
        let start = |others| Timely::new(settings::Timely::default(), LINE, others).rate().bits_per_second();
        assert_eq!((start(0), start(3)), (10_000_000_000, 2_500_000_000));
        assert_eq!(start(1_000_000), 100_000_000, "but never with less than the least");
    }

    #[test]
    fn below_t_low_the_rate_rises_by_a_step_even_while_round_trips_grow() {
        assert_close(&rates(&[20, 30, 49]), &[5_010.0, 5_020.0, 5_030.0]);
    }

    #[test]
    fn above_t_high_the_rate_falls_by_how_far_it_is_above() {
        // 5000 (1 - 0.8 (1 - 500/1000)) = 3000; then 3000 (1 - 0.8 (1 - 500/625)) = 2520.
        assert_close(&rates(&[1_000, 625]), &[3_000.0, 2_520.0]);
    }

    #[test]
    fn between_them_the_gradient_decides() {
        // First, no difference: one step. Then 4 us more: average 3.5 us, gradient 0.175, 5010 (1 - 0.8 x
        // 0.175) = 4308.6. Then 4 us less: average 0.125 x 3.5 - 3.5 = -3.0625 us: one step.
        assert_close(&rates(&[100, 104, 100]), &[5_010.0, 4_308.6, 4_318.6]);
    }

    #[test]
    fn the_fifth_event_in_a_row_that_does_not_grow_takes_five_steps() {
        let ours = rates(&[100, 100, 100, 100, 100, 100, 140, 100]);
        // Then 40 us more: 35 us, gradient 1.75 and a factor of -0.4 give the minimum rate. Then 40 us less.
        assert_close(&ours, &[5_010.0, 5_020.0, 5_030.0, 5_040.0, 5_090.0, 5_140.0, 100.0, 110.0]);
    }

    #[test]
    fn the_rate_stays_between_the_least_and_the_line() {
        let mut timely = Timely::new(settings::Timely::default(), LINE, 0);
        timely.complete(Interval::from_micros(10));
        assert_eq!(timely.rate(), LINE);
        for _ in 0..100 {
            timely.complete(Interval::from_millis(100));
        }
        assert_eq!(timely.rate(), settings::Timely::default().minimum);
    }

    /// Acknowledges `newly` bytes at `now_us` with a round trip of 501 us; returns the rate in Mb/s.
    fn acknowledge(timely: &mut Timely, now_us: u64, newly: u64, measured: bool) -> u64 {
        let acknowledged = 100 * now_us;
        let acknowledgement = Acknowledgement {
            acknowledged,
            newly,
            sent: acknowledged + 10_000,
            round_trip: measured.then_some(Interval::from_micros(501)),
            telemetry: None,
        };
        timely.on_acknowledgement(Nanos(1_000 * now_us), &acknowledgement);
        timely.rate().bits_per_second() / 1_000_000
    }

    fn paced(settings: settings::Timely) -> Timely {
        let mut timely = Timely::new(settings, LINE, 1);
        // 1226 + 24 bytes at 10G take 1 us, so the round trip is 500 us and not above T_high.
        timely.on_sent(Bytes(1_226));
        timely
    }

    #[test]
    fn a_completion_event_comes_with_each_segment_and_leaves_out_the_packets_own_time() {
        let mut timely = paced(settings::Timely::default());
        assert_eq!(acknowledge(&mut timely, 100, 15_999, true), 5_000);
        assert_eq!(acknowledge(&mut timely, 101, 1, false), 5_000, "not measured");
        assert_eq!(acknowledge(&mut timely, 102, 1_000, true), 5_010);
        assert_eq!(acknowledge(&mut timely, 200, 1_000, true), 5_010, "the next segment has begun");
    }

    #[test]
    fn completion_events_keep_their_least_interval() {
        let mut timely = paced(settings::Timely::default());
        let rates = [100, 119, 120, 121].map(|now| acknowledge(&mut timely, now, 16_000, true));
        assert_eq!(rates, [5_010, 5_010, 5_020, 5_020]);
    }

    #[test]
    fn where_it_is_wanted_the_next_one_is_of_something_sent_after_the_last_one() {
        let mut timely = paced(settings::Timely { once_per_round_trip: true, ..settings::Timely::default() });
        // The data in flight takes 100 us.
        let rates = [100, 150, 200, 201].map(|now| acknowledge(&mut timely, now, 16_000, true));
        assert_eq!(rates, [5_010, 5_010, 5_010, 5_020]);
    }
}
