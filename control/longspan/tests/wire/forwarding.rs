//! Traffic that must pass the gateway unchanged.

use crate::configuration::{priority, two_ports};
use crate::lab::{
    Capture, Frame, IPERF3_BLOCK, Lab, iperf3, ping, read_capture, repository, tcpreplay, tshark_write,
};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("hosts_find_and_ping_each_other", hosts_ping),
        on_the_wire("tcp_runs_both_ways", tcp_runs),
        on_the_wire("soft_roce_arrives_complete_and_unchanged", soft_roce_arrives),
        on_the_wire("tagged_frames_and_cnps_arrive_complete_and_unchanged", vectors_arrive),
    ]
}

fn hosts_ping(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("10G", "10G"));
    ping(&pair.near, &pair.far, 20);
    ping(&pair.far, &pair.near, 20);
    pair.gateway.end();
}

fn tcp_runs(lab: &Lab) {
    /// More than twice the capacity of both socket buffers, which Linux grows to 4 and 6 MiB.
    const BYTES: u64 = 40_000_000;
    let pair = Pair::new(lab, &two_ports("10G", "10G"));
    for (from, to) in [(&pair.near, &pair.far), (&pair.far, &pair.near)] {
        let carried = iperf3(lab, from, to, BYTES);
        // It stops after the block that reaches the total.
        assert!((BYTES..BYTES + 2 * IPERF3_BLOCK).contains(&carried.sent), "{carried:?}");
        // The last data in both socket buffers may never be read.
        assert!(carried.received <= carried.sent && carried.received >= carried.sent / 2, "{carried:?}");
    }
    pair.gateway.end();
}

fn soft_roce_arrives(lab: &Lab) {
    let capture = repository("tests/data/captures/rxe-cm-multiqp.pcap");
    let roce_frames = arrives_unchanged(lab, &capture);
    assert_eq!(roce_frames, 643);
}

fn vectors_arrive(lab: &Lab) {
    // The gateway consumes MAC control frames.
    let capture = lab.path("vectors.pcap");
    tshark_write(&repository("tests/data/captures/wire-vectors.pcap"), "!macc", &capture);
    let roce_frames = arrives_unchanged(lab, &capture);
    assert!(roce_frames > 3, "{roce_frames}");
}

/// Replays a capture, compares each frame, and returns the number of frames with a valid ICRC on both sides.
///
/// The frames of a priority are compared in order, so the comparison covers all of them: none is missing, duplicated
/// or made up.
fn arrives_unchanged(lab: &Lab, path: &Path) -> usize {
    let pair = Pair::new(lab, &two_ports("10G", "10G"));
    let sent = read_capture(path);
    let mut capture = Capture::start(lab, &pair.far.namespace, "eth0");
    tcpreplay(&pair.near, path, 2000);
    capture.wait_for_frames(sent.len(), |_| true);
    let arrived = capture.end();
    pair.gateway.end();

    for (number, frame) in arrived.iter().enumerate() {
        assert!(has_valid_ip_checksum(&frame.bytes), "frame {} that arrived", number + 1);
    }
    // Priorities may overtake each other, but frames of one priority stay in order.
    let (sent, arrived_in_order) = (by_priority(&sent), by_priority(&arrived));
    for priority in 0..8 {
        let (before, after) = (&sent[priority], &arrived_in_order[priority]);
        assert_eq!(before.len(), after.len(), "frames of priority {priority}");
        for (number, (before, after)) in before.iter().zip(after).enumerate() {
            assert_eq!(before, after, "frame {} of priority {priority}", number + 1);
        }
    }
    arrived.iter().filter(|frame| icrc(&frame.bytes) == Some(true)).count()
}

const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// The offset of the IPv4 header.
fn ipv4(frame: &[u8]) -> Option<usize> {
    let tagged = frame.get(ADDRESSES..ADDRESSES + 2)? == [0x81, 0];
    let at = ADDRESSES + if tagged { TAG } else { 0 };
    (frame.get(at..at + 3)? == [8, 0, 0x45]).then_some(at + 2)
}

/// Whether the ICRC is correct; `None` if the frame is not RoCEv2 over IPv4.
fn icrc(frame: &[u8]) -> Option<bool> {
    let at = ipv4(frame)?;
    let is_roce = frame.get(at + 9)? == &17 && frame.get(at + 22..at + 24)? == [0x12, 0xb7];
    is_roce.then(|| wire::roce::icrc::verify(&frame[at..]).unwrap())
}

fn has_valid_ip_checksum(frame: &[u8]) -> bool {
    let Some(at) = ipv4(frame) else { return true };
    let words = frame[at..at + 20].chunks(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]])));
    words.sum::<u64>() % 0xFFFF == 0
}

/// A frame without its mutable fields, and whether its ICRC is correct, if it has one.
type Compared = (Vec<u8>, Option<bool>);

fn by_priority(frames: &[Frame]) -> [Vec<Compared>; 8] {
    let mut sorted: [Vec<Compared>; 8] = Default::default();
    for Frame { bytes, .. } in frames {
        let dscp = ipv4(bytes).map(|at| bytes[at + 1] >> 2);
        let mut compared = (bytes.clone(), icrc(bytes));
        blank_what_may_change(&mut compared.0);
        sorted[usize::from(priority(dscp))].push(compared);
    }
    sorted
}

/// Addresses, ECN, TTL and the checksum.
fn blank_what_may_change(frame: &mut [u8]) {
    frame[..ADDRESSES].fill(0);
    if let Some(at) = ipv4(frame) {
        frame[at + 1] &= !3;
        frame[at + 8] = 0;
        frame[at + 10..at + 12].fill(0);
    }
}
