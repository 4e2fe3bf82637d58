use super::*;
use units::Interval;

const MILLISECOND: u64 = 1_000_000;

const SETTINGS: settings::NewReno =
    settings::NewReno { rto_initial: Interval::from_secs(1), rto_least: Interval::from_millis(10) };

struct Connection {
    sender: Sender,
    now: Nanos,
}

impl Connection {
    fn new() -> Self {
        // A window of two segments shows the first steps of slow start.
        Self { sender: Sender { window: 2.0, ..Sender::new(SETTINGS) }, now: Nanos::ZERO }
    }

    /// Sends all segments of a message of a thousand that may be sent now.
    fn send(&mut self) -> Vec<u64> {
        let mut segments = Vec::new();
        while let Some(segment) = self.sender.next_packet(1_000) {
            self.sender.on_sent(self.now, segment);
            segments.push(segment);
        }
        segments
    }

    fn acknowledge(&mut self, before: u64) -> u64 {
        self.sender.on_response(self.now, Response::Acknowledge { before })
    }

    /// Acknowledges everything before `before`; returns the segments that are sent next.
    fn after(&mut self, before: u64) -> Vec<u64> {
        self.acknowledge(before);
        self.send()
    }

    /// Sends segments and acknowledges them one by one until `window` unacknowledged segments are in flight.
    fn grown_to(window: f64) -> Self {
        let mut connection = Self::new();
        connection.send();
        while connection.sender.window < window {
            connection.after(connection.sender.acknowledged + 1);
        }
        connection
    }
}

#[test]
fn in_slow_start_each_acknowledgement_lets_two_segments_go() {
    let mut connection = Connection::new();
    assert_eq!(connection.send(), [0, 1]);
    assert_eq!(connection.after(1), [2, 3]);
    assert_eq!(connection.after(2), [4, 5]);
    assert_eq!(connection.after(4), [6, 7, 8], "one more for each acknowledgement, however much it is of");
}

#[test]
fn in_congestion_avoidance_the_window_grows_by_one_in_a_round_trip() {
    let mut connection = Connection::grown_to(4.0);
    connection.sender.threshold = 4.0;
    for before in 0..4 {
        connection.after(connection.sender.acknowledged + 1);
        assert!(connection.sender.window < 5.0, "{before}");
    }
    // 4 + 1/4 + 1/4.25 + 1/4.485 + 1/4.708.
    assert!((connection.sender.window - 4.920_65).abs() < 1e-4, "{}", connection.sender.window);
}

#[test]
fn the_third_duplicate_sends_one_segment_again_and_halves_what_is_on_its_way() {
    let mut connection = Connection::grown_to(8.0);
    // Segments 6 to 13 are in flight; 6 is lost.
    assert_eq!((connection.sender.acknowledged, connection.sender.sent), (6, 14));
    assert_eq!(connection.acknowledge(6), 0);
    assert_eq!(connection.after(6), []);
    assert!(!connection.sender.in_recovery);
    assert_eq!(connection.acknowledge(6), 0);
    assert!(connection.sender.in_recovery);
    assert_eq!((connection.sender.threshold, connection.sender.window), (4.0, 7.0));
    assert_eq!(connection.send(), [6]);
    // Each further duplicate opens the window by one, and from the fifth beyond the eight in flight.
    assert_eq!(connection.after(6), []);
    assert_eq!(connection.after(6), [14]);
    assert_eq!(connection.after(6), [15]);
    // Everything sent before has arrived; two are in flight.
    assert_eq!(connection.acknowledge(14), 8);
    assert_eq!(connection.sender.window, 3.0);
    assert!(!connection.sender.in_recovery);
}

#[test]
fn a_partial_acknowledgement_sends_the_next_hole_again_at_once() {
    let mut connection = Connection::grown_to(8.0);
    // 6 and 9 are lost, five others arrive.
    for _ in 0..3 {
        connection.acknowledge(6);
    }
    assert_eq!(connection.send(), [6]);
    connection.acknowledge(6);
    connection.acknowledge(6);
    assert_eq!(connection.sender.window, 9.0);
    assert_eq!(connection.send(), [14]);
    // 6, 7 and 8 have arrived: 9 - 3 + 1.
    assert_eq!(connection.after(9), [9, 15]);
    assert_eq!(connection.sender.window, 7.0);
    assert!(connection.sender.in_recovery);
    assert_eq!(connection.after(14).len(), 1);
    assert_eq!((connection.sender.in_recovery, connection.sender.window), (false, 3.0));
}

#[test]
fn a_timeout_begins_again_with_one_segment() {
    let mut connection = Connection::grown_to(8.0);
    connection.now = connection.sender.deadline();
    connection.sender.on_timeout(connection.now);
    assert_eq!((connection.sender.threshold, connection.sender.window), (4.0, 1.0));
    assert_eq!(connection.send(), [6]);
    assert_eq!(connection.after(7), [7, 8]);
    // Segments that already arrived are skipped.
    assert_eq!(connection.after(14), [14, 15, 16]);
}

#[test]
fn duplicates_of_what_was_sent_before_a_timeout_tell_of_no_loss() {
    let mut connection = Connection::grown_to(8.0);
    connection.sender.on_timeout(connection.now);
    assert_eq!(connection.send(), [6]);
    for _ in 0..5 {
        assert_eq!(connection.acknowledge(6), 0);
        assert!(!connection.sender.in_recovery);
    }
    assert_eq!(connection.send(), []);
}

#[test]
fn a_second_timeout_in_a_row_keeps_the_threshold_and_doubles_the_time() {
    let mut connection = Connection::grown_to(8.0);
    for time in [20, 40, 80] {
        connection.sender.on_timeout(connection.now);
        assert_eq!(connection.send(), [6]);
        assert_eq!(connection.sender.deadline(), connection.now + Interval::from_millis(time));
    }
    assert_eq!(connection.sender.threshold, 4.0);
}

#[test]
fn the_timeout_follows_the_round_trips_measured() {
    let mut connection = Connection::new();
    connection.send();
    assert_eq!(connection.sender.deadline(), Nanos(1_000 * MILLISECOND));
    // 100 ms: SRTT 100, RTTVAR 50, RTO 300.
    connection.now = Nanos(100 * MILLISECOND);
    connection.acknowledge(1);
    assert_eq!(connection.sender.deadline(), Nanos(400 * MILLISECOND));
    connection.send();
    // 180 ms: RTTVAR 0.75 x 50 + 0.25 x 80 = 57.5, SRTT 110, RTO 340.
    connection.now = Nanos(280 * MILLISECOND);
    connection.acknowledge(3);
    assert_eq!(connection.sender.deadline(), Nanos(620 * MILLISECOND));
}

#[test]
fn what_was_sent_again_is_not_measured() {
    let mut connection = Connection::new();
    connection.send();
    connection.now = connection.sender.deadline();
    connection.sender.on_timeout(connection.now);
    connection.send();
    connection.now += Interval::from_millis(1);
    connection.acknowledge(2);
    assert!(connection.send().len() > 1);
    assert_eq!(connection.sender.deadline(), connection.now + Interval::from_secs(2), "backed off as before");
}

#[test]
fn the_timer_stands_still_while_nothing_is_on_its_way() {
    let mut connection = Connection::new();
    assert_eq!(connection.sender.deadline(), Nanos::NEVER);
    connection.send();
    connection.acknowledge(2);
    assert_eq!(connection.sender.deadline(), Nanos::NEVER);
}

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut connection = Connection::new();
    connection.send();
    assert_eq!(connection.acknowledge(3), 0);
    assert_eq!(connection.sender.acknowledged(), 0);
}

#[test]
fn a_receiver_keeps_what_comes_behind_a_gap() {
    let mut receiver = Receiver::default();
    let before: Vec<_> = [0, 2, 3, 2, 1, 0].map(|segment| receiver.on_packet(segment)).into();
    let expected = [1, 1, 1, 1, 4, 4].map(|before| Response::Acknowledge { before });
    assert_eq!(before, expected);
}
