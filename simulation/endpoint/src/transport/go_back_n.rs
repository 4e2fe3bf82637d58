//! Go-back-N, as in RoCE NICs: InfiniBand specification volume 1, sections 9.7.5 and 9.9.2.
//!
//! The receiver only accepts packets in order. It answers the first packet after a gap with a negative
//! acknowledgement, a PSN sequence error, and the sender goes back to the expected packet. Further packets
//! after the gap are dropped silently. The retransmission timer recovers all other losses.

use super::Response;
use crate::settings::GoBackN;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The maximum number of packets in flight: half of the sequence numbers, less one, to distinguish old from
/// new (InfiniBand section 9.7.1).
const IN_FLIGHT_MAX: u64 = (1 << 23) - 1;

/// The sending half of the transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sender {
    settings: GoBackN,
    acknowledged: u64,
    next: u64,
    sent: u64,
    deadline: Nanos,
}

impl Sender {
    pub fn new(settings: GoBackN) -> Self {
        Self { settings, acknowledged: 0, next: 0, sent: 0, deadline: Nanos::NEVER }
    }

    #[inline]
    pub fn next_packet(&self, packets: u64) -> Option<u64> {
        (self.next < packets && self.in_flight() < IN_FLIGHT_MAX).then_some(self.next)
    }

    #[inline]
    pub fn requests_ack(&self, packet: u64) -> bool {
        let every = u64::from(self.settings.ack_every.get());
        every == 1 || (packet + 1).is_multiple_of(every)
    }

    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64) {
        if self.deadline == Nanos::NEVER {
            self.deadline = now + self.settings.retransmission_timeout;
        }
        self.next = packet + 1;
        self.sent = self.sent.max(self.next);
    }

    #[inline]
    pub fn on_response(&mut self, now: Nanos, response: Response) -> u64 {
        let (before, back) = match response {
            Response::Acknowledge { before } => (before, false),
            Response::SequenceError { expected } => (expected, true),
            // Go-back-N receivers never send selective acknowledgements.
            Response::Selective { .. } => return 0,
        };
        if before < self.acknowledged || before > self.sent {
            return 0;
        }
        let newly = before - self.acknowledged;
        let loss = back && before < self.next;
        self.acknowledged = before;
        self.next = if back { before } else { self.next.max(before) };
        if newly > 0 || loss {
            self.deadline = match self.acknowledged < self.sent {
                true => now + self.settings.retransmission_timeout,
                false => Nanos::NEVER,
            };
        }
        newly
    }

    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    pub fn on_timeout(&mut self, now: Nanos) {
        self.next = self.acknowledged;
        self.deadline = now + self.settings.retransmission_timeout;
    }

    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.next - self.acknowledged
    }
}

/// The receiving half of the transport.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Receiver {
    expected: u64,
    /// Whether the current gap was reported.
    reported: bool,
}

impl Receiver {
    #[inline]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    #[inline]
    pub fn on_packet(&mut self, packet: u64, ack_requested: bool) -> Option<Response> {
        if packet > self.expected {
            let answer = (!self.reported).then_some(Response::SequenceError { expected: self.expected });
            self.reported = true;
            return answer;
        }
        if packet == self.expected {
            self.expected += 1;
            self.reported = false;
        }
        // A duplicate means that its acknowledgement was lost, so acknowledge everything received.
        ack_requested.then_some(Response::Acknowledge { before: self.expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroU32;
    use units::Interval;

    fn sender() -> Sender {
        let settings = GoBackN {
            ack_every: NonZeroU32::new(4).unwrap(),
            retransmission_timeout: Interval::from_micros(100),
        };
        let mut sender = Sender::new(settings);
        for packet in 0..10 {
            assert_eq!(sender.next_packet(10), Some(packet));
            sender.on_sent(Nanos(packet), packet);
        }
        assert_eq!(sender.next_packet(10), None);
        sender
    }

    #[test]
    fn a_sequence_error_goes_back_to_what_was_expected() {
        let mut sender = sender();
        assert_eq!(sender.on_response(Nanos(20), Response::SequenceError { expected: 3 }), 3);
        assert_eq!((sender.next_packet(10), sender.in_flight()), (Some(3), 0));
        let deadline = sender.deadline();
        assert_eq!(sender.on_response(Nanos(21), Response::SequenceError { expected: 3 }), 0);
        assert_eq!(
            (sender.next_packet(10), sender.deadline()),
            (Some(3), deadline),
            "nothing was sent since"
        );
    }

    #[test]
    fn old_and_impossible_answers_change_nothing() {
        let mut sender = sender();
        sender.on_response(Nanos(20), Response::Acknowledge { before: 8 });
        for response in [
            Response::SequenceError { expected: 7 },
            Response::Acknowledge { before: 8 },
            Response::Acknowledge { before: 11 },
        ] {
            assert_eq!(sender.on_response(Nanos(30), response), 0);
            assert_eq!((sender.acknowledged(), sender.next_packet(10)), (8, None));
        }
    }

    #[test]
    fn the_timer_runs_from_the_last_progress_and_goes_back_to_the_start_of_what_is_missing() {
        let mut sender = sender();
        assert_eq!(sender.deadline(), Nanos(100_000));
        sender.on_response(Nanos(50), Response::Acknowledge { before: 4 });
        assert_eq!(sender.deadline(), Nanos(100_050));
        sender.on_timeout(Nanos(100_050));
        assert_eq!((sender.next_packet(10), sender.deadline()), (Some(4), Nanos(200_050)));
        sender.on_response(Nanos(100_060), Response::Acknowledge { before: 10 });
        assert_eq!((sender.next_packet(10), sender.deadline()), (None, Nanos::NEVER));
    }

    #[test]
    fn each_gap_is_reported_once() {
        let mut receiver = Receiver::default();
        let error = |expected| Some(Response::SequenceError { expected });
        let got: Vec<_> = [0, 2, 3, 1, 3, 4, 2].map(|packet| receiver.on_packet(packet, false)).into();
        assert_eq!(got, [None, error(1), None, None, error(2), None, None]);
        assert_eq!(receiver.expected(), 3);
    }

    #[test]
    fn a_duplicate_is_acknowledged_with_all_that_is_there() {
        let mut receiver = Receiver::default();
        for packet in 0..3 {
            receiver.on_packet(packet, false);
        }
        assert_eq!(receiver.on_packet(1, true), Some(Response::Acknowledge { before: 3 }));
        assert_eq!(receiver.expected(), 3);
    }
}
