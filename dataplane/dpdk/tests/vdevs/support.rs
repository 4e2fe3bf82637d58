//! Shared by the tests: one DPDK, uniquely named pools and ports, and frames.

use std::sync::OnceLock;

use dpdk::{Eal, EalOptions, Mbuf, Opened, Pool, PoolSettings, Port, PortSettings, RxQueue};
use units::Bytes;

/// DPDK, started by the first test that needs it.
pub fn eal() -> &'static Eal {
    static EAL: OnceLock<Eal> = OnceLock::new();
    EAL.get_or_init(|| Eal::start(&EalOptions::new("longspan_vdevs")).unwrap())
}

/// A pool without thread caches.
pub fn pool(name: &str, mbufs: u32, data_room: u64) -> Pool {
    let settings = PoolSettings { mbufs, cache: 0, data_room: Bytes(data_room), socket: None };
    Pool::new(eal(), name, settings).unwrap()
}

/// Creates a virtual device and opens it.
pub fn open(device: &str, pool: &Pool) -> Opened {
    eal().attach(device).unwrap();
    let name = device.split(',').next().unwrap();
    Port::configure(name, &PortSettings::new(pool)).unwrap()
}

/// All received frames.
pub fn receive_all(rx: &mut RxQueue) -> Vec<Mbuf> {
    let mut frames = Vec::new();
    while rx.receive(&mut frames) > 0 {}
    frames
}

/// Bytes that differ from each other.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// All bytes of a frame.
pub fn content(frame: &Mbuf) -> Vec<u8> {
    frame.segments().flatten().copied().collect()
}

/// XOFF for priority 3 (IEEE 802.1Qbb), as decoded by Wireshark and scapy.
pub fn pfc_frame() -> Vec<u8> {
    let mut frame = vec![
        0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
    ];
    frame.resize(60, 0);
    frame
}

/// Polls until `condition` is true. It depends on a DPDK thread, which takes milliseconds at most; if it
/// never becomes true, the test fails instead of hanging.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !condition() {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "waited in vain until {what}");
        std::thread::yield_now();
    }
}
