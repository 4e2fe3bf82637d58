//! Bursts in and out over a loopback ring.

use dpdk::{BURST, Mbuf};
use switch::Frame;

use crate::support::{content, open, pattern, pool, receive_all};

fn numbered(pool: &dpdk::Pool, numbers: std::ops::Range<u32>) -> Vec<Mbuf> {
    numbers.map(|number| pool.frame(&number.to_be_bytes()).unwrap()).collect()
}

fn numbers(frames: &[Mbuf]) -> Vec<u32> {
    frames.iter().map(|frame| u32::from_be_bytes(frame.headers().try_into().unwrap())).collect()
}

#[test]
fn a_burst_is_at_most_32_frames_behind_those_that_are_there() {
    let pool = pool("bursts_at_most", 255, 256);
    let mut ring = open("net_ring_at_most", &pool);
    assert_eq!(ring.tx.send(&mut numbered(&pool, 0..40)), 40);
    let mut frames = numbered(&pool, 100..101);
    assert_eq!(ring.rx.receive(&mut frames), BURST);
    assert_eq!(ring.rx.receive(&mut frames), 8);
    assert_eq!(ring.rx.receive(&mut frames), 0);
    assert_eq!(numbers(&frames), std::iter::once(100).chain(0..40).collect::<Vec<_>>());
}

#[test]
fn receiving_into_spare_capacity_does_not_move_the_frames() {
    let pool = pool("bursts_spare", 255, 256);
    let mut ring = open("net_ring_spare", &pool);
    assert_eq!(ring.tx.send(&mut numbered(&pool, 0..64)), 64);
    let mut frames = Vec::with_capacity(2 * BURST);
    let before = frames.as_ptr();
    ring.rx.receive(&mut frames);
    ring.rx.receive(&mut frames);
    assert_eq!((frames.len(), frames.as_ptr()), (2 * BURST, before));
}

#[test]
fn what_a_full_device_does_not_take_stays_in_order_and_goes_later() {
    let pool = pool("bursts_full", 4_095, 128);
    let mut ring = open("net_ring_full", &pool);
    let mut frames = numbered(&pool, 0..3_000);
    let mut received = Vec::new();
    let taken = ring.tx.send(&mut frames);
    assert!((1..3_000).contains(&taken), "a ring of the driver holds some, and not all: {taken}");
    assert_eq!(numbers(&frames), (taken as u32..3_000).collect::<Vec<_>>());
    assert_eq!(ring.tx.send(&mut frames), 0, "it is full");
    assert_eq!(frames.len(), 3_000 - taken);
    while !frames.is_empty() {
        received.append(&mut receive_all(&mut ring.rx));
        ring.tx.send(&mut frames);
    }
    received.append(&mut receive_all(&mut ring.rx));
    assert_eq!(numbers(&received), (0..3_000).collect::<Vec<_>>());
    drop(received);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn sending_nothing_sends_nothing() {
    let pool = pool("bursts_nothing", 63, 128);
    let mut ring = open("net_ring_nothing", &pool);
    assert_eq!(ring.tx.send(&mut Vec::new()), 0);
    assert_eq!(ring.port.statistics().unwrap().sent, 0);
}

#[test]
fn a_frame_in_several_mbufs_passes_whole() {
    let pool = pool("bursts_segments", 255, 2_048);
    let mut ring = open("net_ring_segments", &pool);
    let jumbo = pattern(9_216);
    assert_eq!(ring.tx.send(&mut vec![pool.frame(&jumbo).unwrap()]), 1);
    let frames = receive_all(&mut ring.rx);
    assert_eq!(frames[0].segment_count(), 5);
    assert_eq!(content(&frames[0]), jumbo);
    assert_eq!(ring.tx.unsendable(), 0);
}

#[test]
fn queues_work_on_a_thread_that_is_registered() {
    let pool = dpdk::Pool::new(
        crate::support::eal(),
        "bursts_thread",
        dpdk::PoolSettings { mbufs: 511, cache: 32, ..dpdk::PoolSettings::default() },
    )
    .unwrap();
    let ring = open("net_ring_thread", &pool);
    let worker = std::thread::spawn({
        let (pool, mut rx, mut tx) = (pool.clone(), ring.rx, ring.tx);
        move || {
            let _registered = crate::support::eal().register_thread().unwrap();
            let mut frames = Vec::new();
            let mut seen = 0;
            for _ in 0..1_000 {
                frames.extend((0..BURST).filter_map(|_| pool.frame(&[1; 60])));
                assert_eq!(tx.send(&mut frames), BURST);
                seen += rx.receive(&mut frames);
                frames.clear();
            }
            seen
        }
    });
    assert_eq!(worker.join().unwrap(), 1_000 * BURST);
    assert_eq!((pool.in_use(), pool.available()), (0, 511));
}
