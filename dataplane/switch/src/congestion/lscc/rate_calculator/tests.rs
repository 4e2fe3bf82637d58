//! The law in a fluid model: an ideal upstream sends at each rate from exactly one round trip after it was
//! told. Times are multiples of 8 us and rates whole Mb/s, so that the model has whole bytes.

use super::*;
use crate::program::RateCalculation;
use proptest::prelude::*;

/// All times of the model are multiples of it.
const GRAIN: u64 = 8_000;

fn megabits(count: i64) -> BitRate {
    BitRate::new(count.unsigned_abs() * rate_feedback::RATE_UNIT).unwrap()
}

/// A law without clamps: any rate that can be told.
fn unclamped(interval: u64, round_trip: u64, reference: u64) -> Lscc {
    let (reference, most) = (WireBytes(reference), megabits(HIGHEST / UNIT));
    Lscc {
        interval: Interval(interval),
        round_trip: Interval(round_trip),
        calculation: RateCalculation { reference, most, ..Lscc::PLAIN.calculation },
        ..Lscc::PLAIN
    }
}

fn clamped(settings: Lscc, step: Option<i64>, most: i64) -> Lscc {
    let calculation =
        RateCalculation { step: step.map(megabits), most: megabits(most), ..settings.calculation };
    Lscc { calculation, ..settings }
}

/// Wire bytes at `rate`, in Mb/s, within `nanos`.
fn bytes(rate: i64, nanos: u64) -> i64 {
    rate * (nanos / GRAIN) as i64
}

/// The end of an interval.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Nanos,
    queue: i64,
    /// In bits per second, as the rest.
    bottleneck: i64,
    rate: i64,
}

impl Sample {
    fn adjustment(&self) -> i64 {
        self.bottleneck - self.rate
    }
}

/// Both ends of a link.
struct Model {
    settings: Lscc,
    calculator: RateCalculator,
    now: Nanos,
    /// At which rate the upstream sends until the first one that it was told arrives, in Mb/s.
    initial: i64,
    queue: i64,
    departed: i64,
    samples: Vec<Sample>,
}

impl Model {
    /// A link on which the upstream has sent at `initial` for long.
    fn new(settings: Lscc, initial: i64, queue: i64) -> Self {
        let mut calculator = RateCalculator::new(&settings, 0);
        calculator.wake(Nanos::ZERO);
        Self { settings, calculator, now: Nanos::ZERO, initial, queue, departed: 0, samples: Vec::new() }
    }

    /// Bytes that come in from `from` to `to`, as far as the advertised rates settle them.
    fn arrivals(&self, from: Nanos, to: Nanos) -> i64 {
        let mut total = 0;
        let mut until = to;
        for sample in self.samples.iter().rev() {
            let adopted = (sample.at + self.settings.round_trip).max(from);
            total += bytes(sample.rate / UNIT, until.since(adopted).0);
            until = until.min(adopted);
            if until <= from {
                break;
            }
        }
        total + bytes(self.initial, until.since(from).0)
    }

    /// Plays an interval of the downstream draining at `drain`, in Mb/s, that ends late.
    fn step(&mut self, drain: i64, late: u64) -> Sample {
        let began = self.now;
        self.calculator.wake(began);
        self.now = self.calculator.deadline() + Interval(late);
        let elapsed = self.now.since(began).0;
        self.queue += self.arrivals(began, self.now);
        let left = bytes(drain, elapsed).min(self.queue);
        self.queue -= left;
        self.departed += left;
        let told = self.calculator.end_interval(self.now, self.queue as u64, self.departed as u64);
        let sample = Sample {
            at: self.now,
            queue: self.queue,
            bottleneck: bottleneck_rate(left as u64, Interval(elapsed)),
            rate: told.bits_per_second() as i64,
        };
        self.samples.push(sample);
        sample
    }

    fn play(&mut self, drain: i64, intervals: usize) -> &[Sample] {
        let before = self.samples.len();
        for _ in 0..intervals {
            self.step(drain, 0);
        }
        &self.samples[before..]
    }

    fn reference(&self) -> i64 {
        self.settings.calculation.reference.0 as i64
    }

    /// The error of rounding down to whole units: one of them within T, and a byte for the rounding of the
    /// bottleneck rate and of the adjustment.
    fn quantum(&self) -> i64 {
        bytes(1, self.settings.interval.0) + 1
    }
}

/// Rates in bits per second over a whole number of nanoseconds, as bytes; rounded toward zero.
fn volume(rate: i64, nanos: u64) -> i64 {
    (i128::from(rate) * i128::from(nanos) / BYTE_PER_NANOSECOND) as i64
}

fn intervals() -> impl Strategy<Value = u64> {
    (1_u64..=250).prop_map(|grains| grains * GRAIN)
}

/// Any at all, and those of links.
fn any_rate() -> impl Strategy<Value = BitRate> {
    prop_oneof![1_u64.., 1_u64..1 << 40].prop_map(|bits| BitRate::new(bits).unwrap())
}

proptest! {
    #[test]
    fn equations_3_4_and_9_hold_for_any_bottleneck_while_nothing_clamps(
        interval in intervals(),
        entries in 1_usize..=50,
        drains in proptest::collection::vec(40_000_i64..60_000, 210..300),
    ) {
        // Between them rates stay within 20 and 80 Gb/s, and the queue within what N + 1 intervals make.
        let reference = 20_000 * (entries as u64 + 1) * (interval / GRAIN);
        let settings = unclamped(interval, interval * entries as u64, reference);
        let mut model = Model::new(settings, drains[0], reference as i64);
        model.play(drains[0], 2 * entries + 2);
        for drain in drains {
            model.step(drain, 0);
        }
        let (reference, quantum) = (model.reference(), model.quantum());
        let samples = &model.samples;
        let in_bytes = |rate: i64| volume(rate, interval);
        for k in 2 * entries + 2..samples.len() {
            let (here, before) = (samples[k], samples[k - 1]);
            let sum: i64 = samples[k - entries..=k].iter().map(Sample::adjustment).sum();
            let by_3 = reference + in_bytes(sum);
            prop_assert!((here.queue - by_3).abs() <= quantum, "(3) {} {by_3}", here.queue);

            let growth = in_bytes(here.adjustment() - samples[k - entries - 1].adjustment());
            prop_assert!((here.queue - before.queue - growth).abs() <= 2 * quantum, "(4)");

            let of = |range: core::ops::RangeInclusive<usize>| -> i64 {
                samples[range].iter().map(|sample| sample.bottleneck).sum()
            };
            let by_9 = reference + in_bytes(of(k - 2 * entries - 1..=k - entries - 1) - of(k - entries..=k));
            prop_assert!((here.queue - by_9).abs() <= quantum, "(9) {} {by_9}", here.queue);
        }
    }

    #[test]
    fn the_list_is_what_is_in_flight_however_late_intervals_end(
        interval in intervals(),
        round_trip in (0_u64..2_000).prop_map(|grains| grains * GRAIN),
        steps in proptest::collection::vec((0_i64..100_000, prop_oneof![Just(0), 0_u64..600]), 1..60),
    ) {
        let mut model = Model::new(unclamped(interval, round_trip, 1 << 20), 50_000, 0);
        for (drain, late) in steps {
            model.step(drain, late * GRAIN);
            let mut expected = 0;
            for (sample, next) in model.samples.iter().zip(&model.samples[1..]) {
                let since = sample.at.max(model.now - model.settings.round_trip);
                expected += i128::from(sample.adjustment()) * i128::from(next.at.since(since).0);
            }
            prop_assert_eq!(model.calculator.in_flight.sum(), expected);
            let entries = model.calculator.in_flight.entries();
            let covered: u64 = entries.iter().map(|(_, lasted)| lasted.0).sum();
            prop_assert_eq!(covered, round_trip, "just the last round trip");
            prop_assert!(entries.len() <= model.settings.rates_in_flight().max(1));
        }
    }

    #[test]
    fn a_rate_makes_up_for_the_queue_after_its_round_trip_and_interval_however_late_others_ended(
        interval in intervals(),
        round_trip in (0_u64..5_000).prop_map(|grains| grains * GRAIN),
        excess in -10_i64..=10,
        late in proptest::collection::vec(prop_oneof![Just(0.0), 0.0..1.0], 1..200),
    ) {
        let drain = 100_000;
        // A hundredth of what the drain takes in an interval, so that no rate comes to nothing.
        let hundredth = bytes(drain, interval) / 100;
        let settings = unclamped(interval, round_trip, hundredth.unsigned_abs() * 100);
        let mut model = Model::new(settings, drain, 100 * hundredth + excess * hundredth);
        for late in late {
            let late = ((interval / GRAIN) as f64 * late) as u64 * GRAIN;
            let here = model.step(drain, late);
            // The rate holds at least until then, whenever the next one is told.
            let settled = here.at + model.settings.round_trip + model.settings.interval;
            let left = bytes(drain, settled.since(here.at).0);
            let queue = here.queue + model.arrivals(here.at, settled) - left;
            prop_assert!((queue - model.reference()).abs() <= model.quantum(), "{queue}");
        }
    }

    #[test]
    fn without_delta_r_a_new_bottleneck_is_forgotten_after_two_round_trips(
        interval in intervals(),
        entries in 1_usize..=50,
        before in 40_000_i64..60_000,
        after in 40_000_i64..60_000,
    ) {
        let reference = 20_000 * (entries as u64 + 1) * (interval / GRAIN);
        let settings = unclamped(interval, interval * entries as u64, reference);
        let mut model = Model::new(settings, before, reference as i64);
        model.play(before, 3);
        let (reference, quantum) = (model.reference(), model.quantum());
        let samples = model.play(after, 4 * entries + 8);
        let (transient, rest) = samples.split_at(2 * entries + 1);
        let furthest = transient.iter().map(|sample| (sample.queue - reference).abs()).max().unwrap();
        let expected = bytes((after - before).abs(), interval * (entries as u64 + 1));
        prop_assert!((furthest - expected).abs() <= quantum, "(N + 1) T of the difference: {furthest}");
        for sample in rest {
            prop_assert!((sample.queue - reference).abs() <= quantum);
            prop_assert!((sample.rate - after * UNIT).abs() <= 2 * UNIT);
        }
    }

    #[test]
    fn rates_keep_within_their_bounds_and_their_step_for_any_input(
        interval in 1_u64..,
        round_trip in 0_u64..1 << 40,
        reference: u64,
        step in proptest::option::of(any_rate()),
        bounds in (any_rate(), any_rate()),
        inputs in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()), 0..50),
    ) {
        let interval = interval.max(round_trip / 10_000 + 1);
        let mut settings = unclamped(interval, round_trip, reference);
        let (least, most) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        let calculation = &mut settings.calculation;
        *calculation = RateCalculation { step, least, most, ..*calculation };
        let mut calculator = RateCalculator::new(&settings, 0);
        let expected = Bounds::new(step, least, most);
        let mut last = expected.most;
        for (index, (now, queue, departed, wake)) in inputs.into_iter().enumerate() {
            if wake {
                calculator.wake(Nanos(now));
            }
            let told = calculator.end_interval(Nanos(now), queue, departed);
            prop_assert_eq!(rate_feedback::Message::carried(told), told);
            let rate = told.bits_per_second() as i64;
            prop_assert!((expected.least..=expected.most).contains(&rate));
            prop_assert!(expected.step.is_none_or(|step| (rate - last).abs() <= step));
            prop_assert_eq!(calculator.counters().intervals, index as u64 + 1);
            last = rate;
        }
    }

    #[test]
    fn with_delta_r_the_queue_settles_around_its_reference_after_any_step_of_the_bottleneck(
        entries in 1_usize..=50,
        interval in (3_u64..=50).prop_map(|grains| grains * GRAIN),
        steps_to_line in prop_oneof![Just(20), Just(50), Just(100), Just(200)],
        before in 50_i64..=950,
        after in 50_i64..=950,
    ) {
        let (line, step) = (200_000, 200_000 / steps_to_line);
        let reference = bytes(line, interval * entries as u64) / 2;
        let settings = unclamped(interval, interval * entries as u64, reference as u64);
        let settings = clamped(settings, Some(step), line);
        let mut model = Model::new(settings, 0, 0);
        // Rmin takes a queue of a few BDP down at 5 % of the line.
        let long = 40 * (steps_to_line as usize + entries);
        let ripple = bytes(step, interval * (entries as u64 + 1)) + model.quantum();
        for drain in [before, after, before] {
            let samples = model.play(line * drain / 1_000, 4 * long);
            for sample in &samples[4 * long - long / 10..] {
                prop_assert!((sample.queue - reference).abs() <= ripple, "{} {reference}", sample.queue);
            }
        }
    }

    #[test]
    fn with_delta_r_the_peak_after_a_drop_of_the_bottleneck_is_the_one_foreseen(
        entries in 1_usize..=50,
        interval in (3_u64..=50).prop_map(|grains| grains * GRAIN),
        steps_to_line in prop_oneof![Just(50), Just(100), Just(200)],
        before in 400_i64..=950,
        after in 50_i64..=950,
    ) {
        let (line, step) = (200_000, 200_000 / steps_to_line);
        let after = after.min(before / 2);
        let reference = bytes(line, interval * entries as u64) / 2;
        let settings = unclamped(interval, interval * entries as u64, reference as u64);
        let settings = clamped(settings, Some(step), line);
        let mut model = Model::new(settings, 0, 0);
        model.play(line * before / 1_000, 160 * (steps_to_line as usize + entries));
        let samples = model.play(line * after / 1_000, 10 * (steps_to_line as usize + entries));
        let peak = samples.iter().map(|sample| sample.queue).max().unwrap() as f64;
        let change = line * before / 1_000 - line * after / 1_000;
        let foreseen = model.settings.longest_queue(megabits(change)).0 as f64;
        // Before the drop the rate moves around the bottleneck's by up to half the rates in flight.
        let ripple = bytes(step, interval * (entries as u64 + 1)) as f64;
        prop_assert!(peak <= 1.02 * foreseen + ripple && peak >= 0.95 * foreseen - ripple, "{peak} {foreseen}");
    }

    #[test]
    fn without_delta_r_the_queue_stays_within_an_interval_of_the_line_though_rates_cycle_between_their_bounds(
        entries in 1_usize..=20,
        interval in intervals(),
        drain in 50_i64..=950,
        intervals_in_reference in 1_i64..=20,
    ) {
        let line = 200_000;
        let reference = bytes(line, interval) * intervals_in_reference;
        let settings = unclamped(interval, interval * entries as u64, reference as u64);
        let mut model = Model::new(clamped(settings, None, line), line * drain / 1_000, 0);
        // At 95 % of the line the queue fills at a twentieth.
        model.play(line * drain / 1_000, 40 * (20 + entries));
        for sample in model.play(line * drain / 1_000, 20 * (entries + 1)) {
            prop_assert!((sample.queue - reference).abs() <= bytes(line, interval), "{}", sample.queue);
        }
    }
}

/// 200G over 2 ms, with the rates of a line that is a little faster, so that the law holds the queue.
#[test]
fn half_the_bottleneck_of_200g_over_2_ms_peaks_at_151_megabytes_above_the_reference() {
    let settings = clamped(unclamped(200_000, 2_000_000, 20_000_000), Some(1_000), 250_000);
    let mut model = Model::new(settings, 0, 0);
    model.play(200_000, 5_000);
    let samples = model.play(100_000, 2_000);
    let peak = samples.iter().map(|sample| sample.queue).max().unwrap() - model.reference();
    // 25 MB of the round trip, 125 MB while rates fall, 1.25 MB of half an interval.
    assert!((peak - 151_250_000).abs() <= bytes(1_000, 2_200_000), "{peak}");
}

#[test]
fn an_interval_that_ends_late_is_measured_over_the_time_that_it_took() {
    let mut calculator = RateCalculator::new(&unclamped(8_000, 80_000, 0), 1_000);
    calculator.wake(Nanos(1_000));
    assert_eq!(calculator.deadline(), Nanos(9_000));
    let told = calculator.end_interval(Nanos(13_000), 0, 1_000 + 150_000);
    assert_eq!(told, megabits(100_000), "150 kB in 12 us, not in 8");
    assert_eq!(calculator.counters().last_bottleneck_rate, Some(megabits(100_000)));
    assert_eq!(calculator.lateness().longest(), Interval(4_000));
    assert_eq!(calculator.deadline(), Nanos(21_000), "the next interval starts where this one ended");
}

/// Lets `calculator` end its intervals, with nothing there, until it rests; returns what it told.
fn rest(calculator: &mut RateCalculator, departed: u64) -> Vec<BitRate> {
    let mut told = Vec::new();
    while calculator.deadline() != Nanos::NEVER {
        told.push(calculator.end_interval(calculator.deadline(), 0, departed));
    }
    told
}

#[test]
fn a_port_without_traffic_has_no_intervals_and_its_last_rate_satisfies_the_law() {
    // Qref in each 110 us: 10 Gb/s.
    let settings = unclamped(10_000, 100_000, 137_500);
    let mut calculator = RateCalculator::new(&settings, 7);
    assert_eq!(calculator.deadline(), Nanos::NEVER);
    calculator.wake(Nanos::ZERO);
    calculator.end_interval(Nanos(10_000), 0, 125_007);
    let told = rest(&mut calculator, 125_007);
    assert_eq!(told.len(), settings.rates_in_flight() + 1);
    assert_eq!(told.last(), Some(&megabits(10_000)));

    // Once all that is in flight is the last rate, the law itself would tell it again.
    calculator.wake(Nanos(1_000_000));
    assert_eq!(calculator.deadline(), Nanos(1_010_000));
    let told = calculator.end_interval(Nanos(1_010_000), 0, 125_007);
    assert_eq!(told, megabits(10_000));
    assert_eq!(calculator.in_flight.entries(), [(-10_000 * UNIT, Interval(100_000))]);
}

#[test]
fn a_port_that_wakes_is_asked_for_what_left_besides_the_rate_at_rest() {
    let mut calculator = RateCalculator::new(&unclamped(10_000, 100_000, 137_500), 0);
    calculator.wake(Nanos::ZERO);
    rest(&mut calculator, 0);
    calculator.wake(Nanos(1_000_000));
    let told = calculator.end_interval(Nanos(1_010_000), 0, 6_250);
    assert_eq!(told, megabits(15_000), "5 Gb/s left");
}

#[test]
fn a_port_that_starts_is_at_rest_and_goes_on_from_there_by_delta_r() {
    let settings = clamped(unclamped(10_000, 100_000, 137_500), Some(3_000), 100_000);
    let mut calculator = RateCalculator::at_rest(&settings, 0);
    assert_eq!(calculator.deadline(), Nanos::NEVER);
    calculator.wake(Nanos(1_000));
    let told = calculator.end_interval(Nanos(11_000), 0, 0);
    assert_eq!(told, megabits(10_000), "the law itself tells it where nothing leaves");
    let told = calculator.end_interval(Nanos(21_000), 0, 100_000);
    assert_eq!(told, megabits(13_000));
}

#[test]
fn with_delta_r_the_rate_at_rest_is_reached_step_by_step() {
    let settings = clamped(unclamped(10_000, 100_000, 137_500), Some(3_000), 100_000);
    let mut calculator = RateCalculator::new(&settings, 0);
    calculator.wake(Nanos::ZERO);
    let told = rest(&mut calculator, 0);
    assert!(
        told.windows(2)
            .all(|pair| { pair[0].bits_per_second().abs_diff(pair[1].bits_per_second()) <= 3_000_000_000 })
    );
    assert_eq!(told.last(), Some(&megabits(10_000)));
}

#[test]
fn the_rate_at_rest_keeps_within_the_bounds() {
    let mut settings = unclamped(10_000, 100_000, 0);
    settings.calculation.least = megabits(500);
    let mut calculator = RateCalculator::new(&settings, 0);
    calculator.wake(Nanos::ZERO);
    assert_eq!(rest(&mut calculator, 0).last(), Some(&megabits(500)));
}

#[test]
fn the_first_rate_differs_from_the_highest_by_delta_r_at_most() {
    let settings = clamped(unclamped(8_000, 80_000, 0), Some(1_000), 100_000);
    let mut calculator = RateCalculator::new(&settings, 0);
    calculator.wake(Nanos::ZERO);
    assert_eq!(calculator.end_interval(Nanos(8_000), 1 << 30, 0), megabits(99_000));
    let counters = calculator.counters();
    assert_eq!((counters.clamped_by_step, counters.clamped_to_min, counters.clamped_to_max), (1, 0, 0));
    assert_eq!(counters.longest_queue, WireBytes(1 << 30));
    assert_eq!(counters.last_rate, Some(megabits(99_000)));
}

#[test]
fn rates_beyond_the_bounds_are_counted_by_the_bound() {
    let mut settings = clamped(unclamped(8_000, 80_000, 0), None, 100_000);
    settings.calculation.least = megabits(500);
    let mut calculator = RateCalculator::new(&settings, 0);
    calculator.wake(Nanos::ZERO);
    assert_eq!(calculator.end_interval(Nanos(8_000), 1 << 30, 0), megabits(500));
    assert_eq!(calculator.end_interval(Nanos(16_000), 0, 1 << 30), megabits(100_000));
    let counters = calculator.counters();
    assert_eq!((counters.clamped_by_step, counters.clamped_to_min, counters.clamped_to_max), (0, 1, 1));
}

#[test]
fn bounds_that_no_message_carries_are_narrowed_to_those_that_one_does() {
    let rate = |bits| BitRate::new(bits).unwrap();
    let bounds = Bounds::new(Some(rate(1)), rate(1_000_001), rate(2_999_999));
    assert_eq!((bounds.step, bounds.least, bounds.most), (Some(UNIT), 2 * UNIT, 2 * UNIT));
    let bounds = Bounds::new(None, rate(1), rate(u64::MAX));
    assert_eq!((bounds.step, bounds.least, bounds.most), (None, UNIT, HIGHEST));
}

#[test]
fn a_rate_at_a_bound_is_not_counted_as_one_beyond_it() {
    let mut calculator = RateCalculator::at_rest(&Lscc::PLAIN, 0);
    let Bounds { least, most, .. } = calculator.bounds;
    let counted = [least, most, least - 1, most + 1].map(|wanted| {
        calculator.clamp(wanted.into());
        (calculator.counters.clamped_to_min, calculator.counters.clamped_to_max)
    });
    assert_eq!(counted, [(0, 0), (0, 0), (1, 0), (1, 1)]);
}

#[test]
fn an_adjustment_that_was_the_latest_for_no_time_is_not_kept() {
    let mut in_flight = InFlight::new(4, Interval(100));
    in_flight.push(5, Interval(40));
    in_flight.push(7, Interval::ZERO);
    assert_eq!(in_flight.entries(), [(0, Interval(60)), (5, Interval(40))]);
    in_flight.push(9, Interval(60));
    assert_eq!(in_flight.entries(), [(5, Interval(40)), (9, Interval(60))]);
}
