//! TIMELY: a rate from round-trip times ("TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
//! algorithm 1 and section 4.3).

use crate::settings;
use units::{BitRate, Bytes, Interval, SerializationTime, WireBytes};

/// The rate of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timely {
    settings: settings::Timely,
    /// In bits per second, as the next two.
    rate: f64,
    line: f64,
    minimum: f64,
    /// rtt_diff, in nanoseconds.
    difference: f64,
    previous: Option<Interval>,
    /// Completion events in a row with a gradient that is not positive.
    falling: u32,
    serialization: SerializationTime,
    /// What a packet takes on the first link, which is no part of a round trip.
    packet_time: Interval,
    /// Payload that was acknowledged since the last completion event.
    completed: u64,
}

impl Timely {
    /// A flow on a port of `line` that sends `others` flows already, and starts with its share of the line
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
        }
    }

    /// The rate at which it may send.
    pub fn rate(&self) -> BitRate {
        // It is clamped above zero; less than one bit per second is no rate.
        BitRate::new(self.rate as u64).unwrap_or(const { BitRate::new(1).expect("it is not zero") })
    }

    /// A packet of stored length `length` was sent.
    #[inline]
    pub fn on_sent(&mut self, length: Bytes) {
        self.packet_time = self.serialization.time_of(WireBytes::of_frame(length));
    }

    /// So many bytes were acknowledged. Where they end a segment, it is complete, and its round-trip time is that
    /// of its last packet: what the paper gets by taking off the time of the whole segment on the first link
    /// (section 3.1), with packets that are paced one by one.
    #[inline]
    pub fn on_acknowledgement(&mut self, newly: u64, round_trip: Option<Interval>) {
        self.completed = self.completed.saturating_add(newly);
        if self.completed >= self.settings.segment.0
            && let Some(round_trip) = round_trip
        {
            self.completed = 0;
            self.complete(round_trip - self.packet_time);
        }
    }

    /// A completion event: algorithm 1.
    fn complete(&mut self, rtt: Interval) {
        let settings = &self.settings;
        // The first one has nothing to differ from.
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
            let hyper = self.falling >= settings.hyper_after;
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

    /// The rates after each of these round trips, in Mb/s, from half the line on.
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
        assert_eq!(start(1_000_000), 10_000_000, "but never with less than the least");
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
        // First no difference: one step. Then 4 us more: average 3.5 us, gradient 0.175,
        // 5010 (1 - 0.8 x 0.175) = 4308.6. Then 4 us less: average 0.125 x 3.5 - 3.5 = -3.0625 us: one step.
        assert_close(&rates(&[100, 104, 100]), &[5_010.0, 4_308.6, 4_318.6]);
    }

    #[test]
    fn the_fifth_event_in_a_row_that_does_not_grow_takes_five_steps() {
        let ours = rates(&[100, 100, 100, 100, 100, 100, 140, 100]);
        // Then 40 us more: 35 us, gradient 1.75, and a factor of -0.4: the least rate. Then 40 us less.
        assert_close(&ours, &[5_010.0, 5_020.0, 5_030.0, 5_040.0, 5_090.0, 5_140.0, 10.0, 20.0]);
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

    #[test]
    fn a_completion_event_comes_with_each_segment_and_leaves_out_the_packets_own_time() {
        let mut timely = Timely::new(settings::Timely::default(), LINE, 1);
        // 1226 + 24 bytes at 10G last 1 us, so the round trip is 500 us and not above T_high.
        timely.on_sent(Bytes(1_226));
        timely.on_acknowledgement(15_999, Some(Interval::from_micros(501)));
        assert_eq!(timely.rate().bits_per_second(), 5_000_000_000);
        timely.on_acknowledgement(1, None);
        assert_eq!(timely.rate().bits_per_second(), 5_000_000_000, "not measured");
        timely.on_acknowledgement(1_000, Some(Interval::from_micros(501)));
        assert_eq!(timely.rate().bits_per_second(), 5_010_000_000);
        timely.on_acknowledgement(1_000, Some(Interval::from_micros(501)));
        assert_eq!(timely.rate().bits_per_second(), 5_010_000_000, "the next segment has begun");
    }
}
