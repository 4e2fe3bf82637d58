//! Readings of devices that pass pauses, keep them, lose them, and begin anew.

use super::*;

/// A port with the totals of its readings.
struct Bench {
    port: OfPort,
    reading: Reading,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { port: OfPort::UNKNOWN, reading: Reading::default() };
        bench.reading.counted = Some(PausesCounted::default());
        bench.look(0, 0, 0);
        bench
    }

    /// A look after which the device has counted, the switch has seen, and the ring has lost so many frames more.
    fn look(&mut self, counted: u64, seen: u64, lost: u64) -> (Passage, u64) {
        if let Some(all) = &mut self.reading.counted {
            all.frames += counted;
        }
        self.reading.seen += seen;
        self.reading.lost += lost;
        self.port.see(self.reading);
        (self.port.passes, self.port.kept)
    }
}

#[test]
fn a_single_pause_that_a_device_keeps_is_found_within_a_second() {
    let mut bench = Bench::new();
    assert_eq!(bench.look(1, 0, 0), (Passage::Unknown, 0), "it may still be in the ring");
    assert_eq!(bench.look(0, 0, 0), (Passage::No, 1));
    // The control thread looks at most one interval of its own late, twice.
    assert!(2 * (LOOK + crate::control::WATCH) < Duration::from_secs(1));
}

#[test]
fn a_pause_in_flight_between_the_device_and_the_switch_is_not_kept() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.look(1, 0, 0);
        assert_eq!(bench.look(0, 1, 0), (Passage::Yes, 0));
        bench.look(0, 0, 0);
    }
    assert_eq!(bench.look(0, 0, 0), (Passage::Yes, 0));
}

#[test]
fn a_device_that_counts_a_pause_after_it_has_handed_it_over_does_not_keep_it() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.look(0, 1, 0);
        bench.look(1, 0, 0);
        bench.look(0, 0, 0);
        assert_eq!(bench.look(0, 0, 0), (Passage::Yes, 0));
    }
}

#[test]
fn a_peer_that_sends_pauses_at_line_rate_is_counted_and_one_whose_pauses_arrive_in_part_raises_nothing() {
    let mut kept = Bench::new();
    let of_a_look = 148_809_523 * 2 / 5;
    for _ in 0..10 {
        kept.look(of_a_look, 0, 0);
    }
    assert_eq!((kept.port.passes, kept.port.kept), (Passage::No, 9 * of_a_look));
    let mut passed = Bench::new();
    for _ in 0..10 {
        assert_eq!(passed.look(of_a_look, 1_000, of_a_look - 1_000), (Passage::Yes, 0));
    }
}

#[test]
fn a_pause_that_a_full_ring_may_have_lost_is_not_kept() {
    let mut bench = Bench::new();
    bench.look(1, 0, 0);
    assert_eq!(bench.look(1, 0, 1), (Passage::Unknown, 0));
    assert_eq!(bench.look(0, 0, 0), (Passage::Unknown, 0));
}

#[test]
fn counters_that_begin_anew_are_no_pauses_and_those_after_them_are() {
    let mut bench = Bench::new();
    bench.look(0, 0, 0);
    bench.reading.counted = Some(PausesCounted { frames: u64::MAX, by_priority: 7 });
    bench.port.before = Some(bench.reading);
    bench.reading.counted = Some(PausesCounted::default());
    bench.look(0, 0, 0);
    assert_eq!(bench.look(0, 0, 0), (Passage::Unknown, 0));
    bench.look(2, 0, 0);
    assert_eq!(bench.look(0, 0, 0), (Passage::No, 2));
}

#[test]
fn a_driver_without_counters_never_raises_an_alert_and_a_pause_that_arrives_still_shows_that_it_passes() {
    let mut bench = Bench::new();
    bench.reading.counted = None;
    for _ in 0..5 {
        assert_eq!(bench.look(0, 0, 0), (Passage::Unknown, 0));
    }
    assert_eq!(bench.look(0, 1, 0), (Passage::Yes, 0));
}

#[test]
fn a_device_that_begins_to_keep_pauses_is_found_and_one_that_stops_is_too() {
    let mut bench = Bench::new();
    assert_eq!(bench.look(1, 1, 0), (Passage::Yes, 0));
    for _ in 0..3 {
        bench.look(3, 0, 0);
    }
    // The first reading after a pause that arrived is excused.
    assert_eq!(bench.look(0, 0, 0), (Passage::No, 6));
    assert_eq!(bench.look(3, 3, 0), (Passage::Yes, 6));
}

#[test]
fn kept_pauses_are_told_at_once_and_then_now_and_then_and_a_device_that_wavers_is_told_seldom() {
    let (start, minute) = (Instant::now(), Duration::from_secs(60));
    let mut port = OfPort { passes: Passage::No, kept: 2, ..OfPort::UNKNOWN };
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(port.news(minute, at(0)), Some((Passage::No, 2)));
    assert_eq!(port.news(minute, at(99)), None, "no more were kept");
    port.kept = 9;
    assert_eq!((port.news(minute, at(59)), port.news(minute, at(60))), (None, Some((Passage::No, 7))));
    port.passes = Passage::Yes;
    assert_eq!((port.news(minute, at(69)), port.news(minute, at(70))), (None, Some((Passage::Yes, 0))));
    let told = (71..170).filter(|second| {
        port.passes = if second % 2 == 0 { Passage::No } else { Passage::Yes };
        port.news(minute, at(*second)).is_some()
    });
    assert!(told.count() <= 10);
}
