//! Needs of the RNICs at both ends of the long link.

use units::{BitRate, Interval};

use super::built::Built;
use super::pauses::Pauses;
use super::step::{Part, Quantity, Step};
use crate::core_load::packet_of;
use crate::headroom::grouped;

/// The sizes of messages for which windows are shown.
const MESSAGES: [(&str, u64); 4] =
    [("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20), ("8MiB", 8 << 20)];
/// RDMA reads that a queue pair may have in flight: the limit of ConnectX NICs.
const READS: u64 = 16;
/// Packets that a queue pair may have in flight: half of the 24-bit sequence numbers.
const MOST_PACKETS: u64 = 1 << 23;

/// Needs of a host that fills its own link over the distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The formulas.
    pub part: Part,
    /// The rate of a host.
    pub rate: BitRate,
    /// For each size of messages.
    pub windows: Vec<Window>,
    /// Whether one queue pair can have a whole BDP in flight.
    pub fits_sequence: bool,
}

/// Needs of messages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The size in words.
    pub message: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Messages in flight that fill the BDP, and one that is being written.
    pub depth: u64,
    /// Queue pairs that RDMA reads of this size need, at 16 reads each.
    pub reading_pairs: u64,
}

impl Hosts {
    /// The hosts of a plan.
    pub fn new(built: &Built, pauses: &Pauses) -> Self {
        let (port, _) = built.long();
        let rate = built.request.senders.rate.min(built.request.rate);
        let round_trip = built.round_trip().total();
        let (wire, payload) = packet_of(port.max_frame);
        let bdp = rate.bytes_in(round_trip);
        let packets = bdp.div_ceil(wire.0.max(1));
        let window = packets * payload;
        let (exponent, timeout) = timeout(round_trip + pauses.local);
        let longest = round_trip + pauses.local;
        let steps = vec![
            Step::new(
                "BDP_host",
                "rate of a host x RTT / 8",
                format!("{rate} x {round_trip} / 8"),
                Quantity::Bytes(bdp),
                "without queues",
            ),
            Step::new(
                "packets",
                "BDP_host / packet on the wire",
                format!("{} / {}", grouped(bdp), grouped(wire.0)),
                Quantity::Count(packets),
                "in flight; at most 2^23 on a queue pair (IBTA 9.7.1)",
            ),
            Step::new(
                "window",
                "packets x path MTU",
                format!("{} x {}", grouped(packets), grouped(payload)),
                Quantity::Bytes(window),
                "bytes of messages in flight, all queue pairs of a host",
            ),
            Step::new(
                "ack_timeout",
                "4.096us x 2^n > RTT + pause_local",
                format!("4.096us x 2^{exponent} > {longest}"),
                Quantity::Time(timeout),
                "IBTA 9.7.6.1.3; n = 14 is a common default",
            ),
        ];
        let windows = MESSAGES.map(|(message, bytes)| {
            let depth = window.div_ceil(bytes) + 1;
            Window { message, bytes, depth, reading_pairs: window.div_ceil(bytes).div_ceil(READS) }
        });
        let title = format!("An RNIC of {rate} at either end");
        Self {
            part: Part { title, steps },
            rate,
            windows: windows.into(),
            fits_sequence: packets <= MOST_PACKETS,
        }
    }
}

/// The least exponent of an ACK timeout that is longer than `time`, and that timeout. At most 31, as five bits have it.
fn timeout(time: Interval) -> (u32, Interval) {
    let of = |exponent: u32| Interval(4_096_u64 << exponent);
    let exponent = (0..31).find(|exponent| of(*exponent) > time).unwrap_or(31);
    (exponent, of(exponent))
}
