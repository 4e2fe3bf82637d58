//! IRN: selective retransmission with a window of one bandwidth-delay product ("Revisiting Network Support for
//! RDMA", SIGCOMM 2018, sections 3.1 and 3.2). It is for networks without PFC.

use super::Response;
use super::seen::Seen;
use crate::settings;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The maximum number of packets in flight: half of the sequence numbers, less one.
const IN_FLIGHT_MAX: u32 = (1 << 23) - 1;
/// N: fewer packets in flight than this are few (section 4.1).
const FEW: u64 = 3;

/// Loss recovery, from the first loss until everything sent before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recovery {
    /// One past the recovery sequence: the last new packet sent before the first retransmission.
    until: u64,
    /// All lost packets before this one were retransmitted.
    cursor: u64,
    /// Whether the packet at the cursor counts as lost even if no later one arrived: only the first of a
    /// recovery.
    first: bool,
}

/// The sending half of the transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sender {
    settings: settings::Irn,
    /// The packets acknowledged, cumulatively or selectively.
    seen: Seen,
    /// The first packet never sent.
    sent: u64,
    recovery: Option<Recovery>,
    deadline: Nanos,
}

impl Sender {
    pub fn new(settings: settings::Irn) -> Self {
        let window = settings.window.clamp(1, IN_FLIGHT_MAX);
        let settings = settings::Irn { window, ..settings };
        Self { settings, seen: Seen::default(), sent: 0, recovery: None, deadline: Nanos::NEVER }
    }

    #[inline]
    pub fn next_packet(&self, packets: u64) -> Option<u64> {
        if let Some(lost) = self.next_lost() {
            return Some(lost);
        }
        (self.sent < packets && self.in_flight() < u64::from(self.settings.window)).then_some(self.sent)
    }

    pub fn window(&self) -> u64 {
        self.settings.window.into()
    }

    #[inline]
    pub fn replaces_lost(&self) -> bool {
        self.next_lost().is_some()
    }

    /// The next lost packet that was not retransmitted in this recovery. A packet counts as lost if a later
    /// one arrived; the first of a recovery always does.
    fn next_lost(&self) -> Option<u64> {
        let Recovery { cursor, first, .. } = self.recovery?;
        let lost = self.seen.next_missing(cursor);
        (lost < self.seen.end() || (first && lost < self.sent)).then_some(lost)
    }

    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packet: u64) {
        match &mut self.recovery {
            Some(recovery) if packet < self.sent => {
                recovery.cursor = packet + 1;
                recovery.first = false;
                // A retransmission restarts the timer.
                self.deadline = now + self.timeout();
            }
            _ => self.sent = self.sent.max(packet + 1),
        }
        if self.deadline == Nanos::NEVER {
            self.deadline = now + self.timeout();
        }
    }

    #[inline]
    pub fn on_response(&mut self, now: Nanos, response: Response) -> u64 {
        let (before, sacked) = match response {
            Response::Acknowledge { before } => (before, None),
            Response::SequenceError { expected } => (expected, Some(expected)),
            Response::Selective { expected, arrived } => (expected, Some(arrived)),
        };
        if before > self.sent || sacked.is_some_and(|sacked| sacked >= self.sent) {
            return 0;
        }
        let acknowledged = self.seen.missing();
        self.seen.insert_before(before);
        if let Some(sacked) = sacked.filter(|sacked| *sacked > before) {
            self.seen.insert(sacked);
        }
        let newly = self.seen.missing() - acknowledged;
        if self.recovery.is_some_and(|recovery| self.seen.missing() >= recovery.until) {
            self.recovery = None;
        }
        if sacked.is_some_and(|sacked| sacked >= self.seen.missing()) && self.recovery.is_none() {
            self.recover();
        }
        if newly > 0 {
            let all = self.seen.missing() == self.sent;
            self.deadline = if all { Nanos::NEVER } else { now + self.timeout() };
        }
        newly
    }

    fn recover(&mut self) {
        self.recovery = Some(Recovery { until: self.sent, cursor: self.seen.missing(), first: true });
    }

    fn timeout(&self) -> Interval {
        let few = self.in_flight() < FEW;
        if few { self.settings.rto_low } else { self.settings.rto_high }
    }

    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    pub fn on_timeout(&mut self, now: Nanos) {
        self.recover();
        self.deadline = now + self.timeout();
    }

    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.seen.missing()
    }

    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Packets from the first unacknowledged to the last sent, as the BDP cap counts them.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sent - self.seen.missing()
    }
}

/// The receiving half of the transport.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Receiver {
    seen: Seen,
}

impl Receiver {
    #[inline]
    pub fn expected(&self) -> u64 {
        self.seen.missing()
    }

    #[inline]
    pub fn on_packet(&mut self, packet: u64) -> Response {
        self.seen.insert(packet);
        let expected = self.seen.missing();
        match packet > expected {
            true => Response::Selective { expected, arrived: packet },
            false => Response::Acknowledge { before: expected },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: settings::Irn = settings::Irn {
        window: 8,
        rto_low: Interval::from_micros(100),
        rto_high: Interval::from_micros(320),
    };

    /// A sender that sent `count` of a hundred packets at time zero.
    fn sent(count: usize) -> Sender {
        let mut sender = Sender::new(SETTINGS);
        assert_eq!(send(&mut sender, count), (0..count as u64).collect::<Vec<_>>());
        sender
    }

    /// Sends up to `count` packets; returns their numbers.
    fn send(sender: &mut Sender, count: usize) -> Vec<u64> {
        let mut packets = Vec::new();
        while packets.len() < count {
            let Some(packet) = sender.next_packet(100) else { break };
            sender.on_sent(Nanos(0), packet);
            packets.push(packet);
        }
        packets
    }

    fn selective(sender: &mut Sender, expected: u64, arrived: u64) -> u64 {
        sender.on_response(Nanos(0), Response::Selective { expected, arrived })
    }

    fn acknowledge(sender: &mut Sender, before: u64) -> u64 {
        sender.on_response(Nanos(0), Response::Acknowledge { before })
    }

    #[test]
    fn no_more_than_the_cap_is_on_its_way() {
        let mut sender = sent(8);
        assert_eq!(sender.next_packet(100), None);
        assert_eq!(acknowledge(&mut sender, 3), 3);
        assert_eq!(send(&mut sender, 9), [8, 9, 10]);
    }

    #[test]
    fn only_what_was_lost_is_sent_again_and_new_data_follows() {
        // 0 and 1 arrive, 2 and 4 are lost, 3, 5 and 6 arrive.
        let mut sender = sent(7);
        acknowledge(&mut sender, 2);
        assert_eq!(sender.recovery, None);
        assert_eq!(selective(&mut sender, 2, 3), 0);
        let recovery = sender.recovery.unwrap();
        assert_eq!((recovery.until, recovery.cursor), (7, 2));
        assert_eq!(selective(&mut sender, 2, 5), 0);
        assert_eq!(selective(&mut sender, 2, 6), 0);
        assert_eq!(sender.recovery, Some(recovery), "it is one recovery");
        assert_eq!(send(&mut sender, 9), [2, 4, 7, 8, 9], "and no more than the cap");
        assert_eq!(acknowledge(&mut sender, 4), 2);
        assert!(sender.recovery.is_some());
        assert_eq!(acknowledge(&mut sender, 7), 3);
        assert_eq!(sender.recovery, None, "all that was sent before the first loss is there");
    }

    #[test]
    fn the_first_packet_is_sent_again_at_once_and_others_when_a_later_one_has_come() {
        let mut sender = sent(6);
        selective(&mut sender, 0, 1);
        assert_eq!(send(&mut sender, 1), [0]);
        // No packet after 2 has arrived, so 2 is not lost yet.
        assert_eq!(sender.next_packet(100), Some(6));
        selective(&mut sender, 0, 4);
        assert_eq!(send(&mut sender, 3), [2, 3, 6]);
    }

    #[test]
    fn what_is_lost_twice_waits_for_the_timer() {
        let mut sender = sent(4);
        selective(&mut sender, 0, 3);
        assert_eq!(send(&mut sender, 3), [0, 1, 2]);
        // 0 is lost again, 1 and 2 arrive.
        selective(&mut sender, 0, 1);
        selective(&mut sender, 0, 2);
        assert_eq!(sender.next_packet(4), None);
        sender.on_timeout(sender.deadline());
        assert_eq!(sender.next_packet(4), Some(0));
        sender.on_sent(Nanos(0), 0);
        assert_eq!(acknowledge(&mut sender, 4), 4);
        assert_eq!(sender.deadline(), Nanos::NEVER);
    }

    #[test]
    fn a_loss_after_a_recovery_begins_another() {
        let mut sender = sent(4);
        selective(&mut sender, 0, 1);
        assert_eq!(send(&mut sender, 2), [0, 4]);
        acknowledge(&mut sender, 4);
        assert_eq!(send(&mut sender, 1), [5]);
        assert_eq!(sender.recovery, None);
        assert_eq!(selective(&mut sender, 4, 5), 0);
        assert!(sender.recovery.is_some());
        assert_eq!(send(&mut sender, 1), [4]);
    }

    #[test]
    fn the_timeout_is_short_while_few_packets_are_on_their_way() {
        let mut sender = Sender::new(SETTINGS);
        sender.on_sent(Nanos(1_000), 0);
        assert_eq!(sender.deadline(), Nanos(101_000));
        for packet in 1..5 {
            sender.on_sent(Nanos(2_000), packet);
        }
        sender.on_response(Nanos(3_000), Response::Acknowledge { before: 1 });
        assert_eq!(sender.deadline(), Nanos(323_000), "four are on their way");
        sender.on_response(Nanos(4_000), Response::Acknowledge { before: 3 });
        assert_eq!(sender.deadline(), Nanos(104_000), "two are");
    }

    #[test]
    fn what_was_never_sent_cannot_be_acknowledged() {
        let mut sender = sent(4);
        for response in [
            Response::Acknowledge { before: 5 },
            Response::Selective { expected: 2, arrived: 4 },
            Response::Selective { expected: 5, arrived: 3 },
        ] {
            assert_eq!(sender.on_response(Nanos(0), response), 0);
            assert_eq!((sender.acknowledged(), sender.recovery), (0, None));
        }
    }

    #[test]
    fn a_receiver_takes_packets_in_any_order_and_reports_which_arrived() {
        let mut receiver = Receiver::default();
        let selective = |expected, arrived| Response::Selective { expected, arrived };
        let all_before = |before| Response::Acknowledge { before };
        let expected = [
            (0, all_before(1)),
            (2, selective(1, 2)),
            (4, selective(1, 4)),
            (2, selective(1, 2)),
            (1, all_before(3)),
            (0, all_before(3)),
            (3, all_before(5)),
        ];
        for (packet, answer) in expected {
            assert_eq!(receiver.on_packet(packet), answer);
        }
        assert_eq!(receiver.expected(), 5);
    }
}
