//! Needs of the RNICs at both ends of the long link.

use units::{BitRate, Bytes, Interval, WireBytes};

use super::built::Built;
use super::pauses::Pauses;
use super::step::{Part, Sheet};
use crate::core_load::packet_of;

/// The sizes of messages for which windows are shown.
const MESSAGES: [(&str, u64); 4] =
    [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20), ("8 MiB", 8 << 20)];
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
        let (paused, silent) = (round_trip + pauses.local, port.repair.map(|it| it.outage + round_trip * 3));
        let (exponent, timeout) = timeout(paused.max(silent.unwrap_or_default()));
        let longer = if silent.is_some() { " and {outage + 3 RTT}" } else { "" };
        let mut sheet = Sheet::default();
        sheet
            .term("rate of a host", rate)
            .term("RTT", round_trip)
            .terms([("packet on the wire", wire), ("path MTU", WireBytes(payload))])
            .term("n", exponent)
            .term("RTT + pause_local", paused)
            .term("outage + 3 RTT", silent.unwrap_or_default())
            .step("BDP_host", "{rate of a host} x {RTT} / 8", Bytes(bdp), "without queues")
            .step(
                "packets",
                "{BDP_host} / {packet on the wire}",
                packets,
                "in flight; at most 2^23 on a queue pair (IBTA 9.7.1)",
            )
            .step(
                "window",
                "{packets} x {path MTU}",
                Bytes(window),
                "bytes of messages in flight, all queue pairs of a host",
            )
            .step(
                "ack_timeout",
                &format!("4.096 us x 2^{{n}} > {{RTT + pause_local}}{longer}"),
                timeout,
                "IBTA 9.7.6.1.3; n = 14 is a common default",
            );
        let windows = MESSAGES.map(|(message, bytes)| {
            let depth = window.div_ceil(bytes) + 1;
            Window { message, bytes, depth, reading_pairs: window.div_ceil(bytes).div_ceil(READS) }
        });
        Self {
            part: sheet.part(format!("An RNIC of {rate:#} at either end")),
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
