//! Frames counted as sent are frames that arrive: one test for each kind of device that needs no interface of the kernel.

use std::fs;

use dpdk::{Opened, Pool};
use pcap_file::pcap::PcapReader;

use crate::support::{content, open, pattern, pool, receive_all, wait_until};

/// Lengths around those of buffers, and the shortest and the longest.
const LENGTHS: [usize; 6] = [60, 2_047, 2_048, 2_049, 9_216, 61];

/// Frames of these lengths, in turn.
fn frames(pool: &Pool, count: usize) -> Vec<dpdk::Mbuf> {
    LENGTHS.iter().cycle().take(count).map(|length| pool.frame(&pattern(*length)).unwrap()).collect()
}

/// Sends in bursts until the device takes no more, or all are gone. Returns how many it took.
fn send_all(from: &mut Opened, frames: &mut Vec<dpdk::Mbuf>) -> usize {
    let before = frames.len();
    while !frames.is_empty() && from.tx.send(frames) > 0 {}
    before - frames.len()
}

#[test]
fn a_ring_that_is_full_takes_no_frame_that_does_not_arrive() {
    let pool = pool("truth_ring", 16_383, 2_048);
    let mut ring = open("net_ring_truth", &pool);
    // A ring has room for about a thousand.
    let mut waiting = frames(&pool, 2_000);
    let taken = send_all(&mut ring, &mut waiting);
    assert!(taken > 0 && !waiting.is_empty());
    assert_eq!(ring.port.statistics().unwrap().sent, taken as u64);
    let arrived: Vec<_> = receive_all(&mut ring.rx).iter().map(content).collect();
    let expected: Vec<_> = LENGTHS.iter().cycle().take(taken).map(|length| pattern(*length)).collect();
    assert!(arrived == expected, "{} of {taken}", arrived.len());
}

#[test]
fn a_capture_has_every_frame_that_was_counted_as_sent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pcap");
    let pool = pool("truth_pcap", 8_191, 2_048);
    let mut device = open(&format!("net_pcap_truth,tx_pcap={}", path.display()), &pool);
    let taken = send_all(&mut device, &mut frames(&pool, 600));
    let counted = device.port.statistics().unwrap().sent;
    drop(device);
    let mut reader = PcapReader::new(fs::File::open(path).unwrap()).unwrap();
    let written = std::iter::from_fn(|| Some(reader.next_packet()?.unwrap().data.len()));
    let expected: Vec<_> = LENGTHS.iter().cycle().take(600).copied().collect();
    assert_eq!((taken, counted), (600, 600));
    assert_eq!(written.collect::<Vec<_>>(), expected);
}

/// Buffers hold the longest frame, as those of a gateway do: where a frame takes several, the driver of DPDK 22.11 leaves a
/// mark in the ring, and later frames are joined to one. Slots come round many times, and the ring is full most of the time.
#[test]
fn a_memif_that_is_full_carries_every_frame_that_it_takes_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["socket", "./socket"].map(|name| format!("{}/{name}", directory.path().display()));
    let pool = pool("truth_memif", 8_191, 9_216);
    let end = |device: &str, role: &str, socket: &str| {
        let ring = "socket-abstract=no,rsize=6,bsize=16384";
        open(&format!("{device},role={role},id=0,socket={socket},{ring}"), &pool)
    };
    let (mut server, mut client) =
        (end("net_memif_truth_s", "server", &one), end("net_memif_truth_c", "client", &other));
    wait_until("both ends are up", || server.port.link().up && client.port.link().up);
    let expected: Vec<_> = LENGTHS.iter().cycle().take(3_000).map(|length| pattern(*length)).collect();
    crosses(&mut server, &mut client, &pool, &expected);
    crosses(&mut client, &mut server, &pool, &expected);
}

/// Asserts that these frames cross, in their order, and are counted.
fn crosses(from: &mut Opened, to: &mut Opened, pool: &Pool, expected: &[Vec<u8>]) {
    let (mut waiting, mut burst, mut arrived) = (frames(pool, expected.len()), Vec::new(), Vec::new());
    let before = from.port.statistics().unwrap().sent;
    wait_until("all frames have arrived", || {
        from.tx.send(&mut waiting);
        to.rx.receive(&mut burst);
        arrived.extend(burst.drain(..).map(|frame| content(&frame)));
        arrived.len() >= expected.len()
    });
    assert_eq!(
        arrived.iter().map(Vec::len).collect::<Vec<_>>(),
        expected.iter().map(Vec::len).collect::<Vec<_>>()
    );
    assert!(arrived == expected && waiting.is_empty());
    assert_eq!(from.port.statistics().unwrap().sent - before, expected.len() as u64);
}
