//! The behaviour of different devices.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::thread;

use dpdk::{Opened, PfcPassage, Port, PortError, PortSettings};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use switch::Frame;

use crate::support::{content, eal, open, pattern, pfc_frame, pool, receive_all, wait_until};

/// Frames of all lengths, including one that bridges do not forward.
fn traffic() -> Vec<Vec<u8>> {
    vec![pattern(60), pfc_frame(), pattern(1_514), pattern(9_216), pattern(61)]
}

fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut writer = PcapWriter::new(fs::File::create(path).unwrap()).unwrap();
    for frame in frames {
        let packet = PcapPacket::new(std::time::Duration::ZERO, frame.len() as u32, frame);
        writer.write_packet(&packet).unwrap();
    }
}

fn read_capture(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(fs::File::open(path).unwrap()).unwrap();
    std::iter::from_fn(|| Some(reader.next_packet()?.unwrap().data.into_owned())).collect()
}

#[test]
fn a_capture_goes_in_and_comes_out_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.pcap"), directory.path().join("out.pcap"));
    write_capture(&input, &traffic());
    let pool = pool("devices_pcap", 255, 2_048);
    let device = format!("net_pcap_io,rx_pcap={},tx_pcap={}", input.display(), output.display());
    let Opened { port, mut rx, mut tx, control, .. } = open(&device, &pool);
    assert!(control.is_none(), "a file has no second queue");
    let mut frames = receive_all(&mut rx);
    assert_eq!(frames.iter().map(content).collect::<Vec<_>>(), traffic());
    assert_eq!(tx.send(&mut frames), traffic().len());
    let statistics = port.statistics().unwrap();
    assert_eq!((statistics.received, statistics.sent), (5, 5));
    assert_eq!(statistics.sent_bytes.0, traffic().iter().map(|frame| frame.len() as u64).sum());
    drop((port, rx, tx));
    assert_eq!(read_capture(&output), traffic());
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_pool_that_is_empty_is_counted_and_frames_go_on_when_it_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.pcap");
    write_capture(&input, &vec![pattern(60); 10]);
    let pool = pool("devices_empty", 15, 2_048);
    let held: Vec<_> = (0..15).map(|_| pool.frame(&[0; 60]).unwrap()).collect();
    let mut opened = open(&format!("net_pcap_empty,rx_pcap={}", input.display()), &pool);
    assert!(receive_all(&mut opened.rx).is_empty());
    assert_eq!(opened.port.statistics().unwrap().receive_without_mbuf, 1, "the device tries once");
    drop(held);
    assert_eq!(receive_all(&mut opened.rx).len(), 10 - 1, "the rest of the capture");
}

#[test]
fn two_ends_of_a_memif_carry_every_frame_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    // One socket under two names, because the driver rejects both ends of one socket in one process.
    let name = directory.path().display();
    let pool = pool("devices_memif", 8_191, 2_048);
    let mut server = memif("net_memif_server", "server", &format!("{name}/socket"), &pool);
    let mut client = memif("net_memif_client", "client", &format!("{name}/./socket"), &pool);
    assert!(server.control.is_none(), "one receive queue on the other side serves one here");
    wait_until("both ends are up", || server.port.link().up && client.port.link().up);
    exchange(&mut server, &mut client, &pool);
    exchange(&mut client, &mut server, &pool);
    drop(client);
    wait_until("the server's link is down", || !server.port.link().up);
    assert_eq!(server.tx.send(&mut vec![pool.frame(&pattern(60)).unwrap()]), 0);
    assert!(receive_all(&mut server.rx).is_empty());
    drop(server);
    assert_eq!(pool.in_use(), 0);
}

/// One end of a memif.
fn memif(device: &str, role: &str, socket: &str, pool: &dpdk::Pool) -> Opened {
    open(&format!("{device},role={role},id=0,socket={socket},socket-abstract=no,bsize=2048"), pool)
}

#[test]
fn a_client_that_is_restarted_finds_its_server_again() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["socket", "./socket"].map(|name| format!("{}/{name}", directory.path().display()));
    let pool = pool("devices_restart", 8_191, 2_048);
    // The driver closes sockets incorrectly; this server keeps the socket open.
    let keeper = format!("net_memif_restart_k,role=server,id=1,socket={one},socket-abstract=no,bsize=2048");
    let _keeper = open(&keeper, &pool);
    let mut server = memif("net_memif_restart_s0", "server", &one, &pool);
    let mut client = memif("net_memif_restart_c", "client", &other, &pool);
    for round in 1..=20 {
        wait_until("both ends are up", || server.port.link().up && client.port.link().up);
        exchange(&mut server, &mut client, &pool);
        client.port.restart().unwrap();
        assert!(client.port.link().up, "a link that is up stays so");

        drop(server);
        wait_until("the client's link is down", || !client.port.link().up);
        assert!(receive_all(&mut client.rx).is_empty());
        let mut frames = vec![pool.frame(&pattern(60)).unwrap()];
        assert_eq!((client.tx.send(&mut frames), frames.len()), (0, 1));

        server = memif(&format!("net_memif_restart_s{round}"), "server", &one, &pool);
        client.port.restart().unwrap();
    }
    // The driver forgets its listening socket while the interrupt thread still watches it, and a connection that waits
    // there would wake that thread.
    wait_until("both ends are up", || server.port.link().up && client.port.link().up);
    drop((server, client));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_peer_may_go_at_any_time_while_bursts_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["socket", "./socket"].map(|name| format!("{}/{name}", directory.path().display()));
    let pool = pool("devices_peers", 8_191, 2_048);
    let Opened { port, mut rx, mut tx, .. } = memif("net_memif_peers_s", "server", &one, &pool);
    let (ended, received) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let mut frames: Vec<_> = (0..8).filter_map(|_| pool.frame(&pattern(60))).collect();
                tx.send(&mut frames);
                frames.clear();
                received.fetch_add(rx.receive(&mut frames) as u64, Ordering::Relaxed);
            }
        });
        let visit = |round| {
            let mut client = memif(&format!("net_memif_peers_c{round}"), "client", &other, &pool);
            let before = received.load(Ordering::Relaxed);
            wait_until("frames pass both ways", || {
                client.tx.send(&mut vec![pool.frame(&pattern(60)).unwrap()]);
                let some = client.rx.receive(&mut Vec::new()) > 0;
                some && received.load(Ordering::Relaxed) > before
            });
            drop(client);
            wait_until("the server's link is down", || !port.link().up);
        };
        // A thread that no one ends would keep a failed test from ending.
        let outcome = catch_unwind(AssertUnwindSafe(|| (0..20).for_each(visit)));
        ended.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
    });
    drop((port, rx, tx));
    assert_eq!(pool.in_use(), 0);
}

fn exchange(from: &mut Opened, to: &mut Opened, pool: &dpdk::Pool) {
    let mut frames: Vec<_> = traffic().iter().map(|bytes| pool.frame(bytes).unwrap()).collect();
    let mut received = Vec::new();
    // Polling the receiver lends its buffers to the sender.
    wait_until("all frames are there", || {
        from.tx.send(&mut frames);
        to.rx.receive(&mut received);
        received.len() == traffic().len()
    });
    assert!(frames.is_empty());
    assert_eq!(received.iter().map(content).collect::<Vec<_>>(), traffic());
}

#[test]
fn control_frames_have_their_own_queue_where_the_device_has_one() {
    let pool = pool("devices_null", 255, 2_048);
    eal().attach("net_null_control").unwrap();
    let mut settings = PortSettings::new(&pool);
    settings.control_queue = true;
    let mut opened = Port::configure("net_null_control", &settings).unwrap();
    let mut control = opened.control.take().unwrap();
    assert_eq!(control.send(&mut vec![pool.frame(&pfc_frame()).unwrap()]), 1);
    assert_eq!(opened.tx.send(&mut vec![pool.frame(&pattern(60)).unwrap()]), 1);
    drop((opened, control));
    eal().attach("net_null_single").unwrap();
    settings.control_queue = false;
    assert!(Port::configure("net_null_single", &settings).unwrap().control.is_none());
}

#[test]
fn a_port_says_what_it_is() {
    let pool = pool("devices_port", 63, 2_048);
    let ring = open("net_ring_says", &pool);
    assert_eq!((ring.port.name(), ring.port.driver()), ("net_ring_says", "net_ring"));
    assert_eq!(ring.port.pfc_passage(), PfcPassage::Passes);
    assert_eq!(ring.port.mtu(), None, "memory takes frames of any length");
    assert!(ring.port.link().up);
    assert!(!ring.port.mac().is_multicast());
}

#[test]
fn a_pfc_frame_passes_a_ring() {
    let pool = pool("devices_pfc", 63, 2_048);
    let mut ring = open("net_ring_pfc", &pool);
    ring.tx.send(&mut vec![pool.frame(&pfc_frame()).unwrap()]);
    assert_eq!(receive_all(&mut ring.rx)[0].headers(), pfc_frame());
}

#[test]
fn a_device_is_taken_once_and_stops_with_its_last_queue() {
    let pool = pool("devices_once", 63, 2_048);
    let ring = open("net_ring_once", &pool);
    let again = Port::configure("net_ring_once", &PortSettings::new(&pool));
    assert!(matches!(again, Err(PortError::Taken(name)) if name == "net_ring_once"));
    let Opened { port, mut rx, mut tx, .. } = ring;
    drop(port);
    assert_eq!(tx.send(&mut vec![pool.frame(&pattern(60)).unwrap()]), 1);
    assert_eq!(receive_all(&mut rx).len(), 1);
    drop((rx, tx));
    let gone = Port::configure("net_ring_once", &PortSettings::new(&pool));
    assert!(matches!(gone, Err(PortError::NotFound(name)) if name == "net_ring_once"));
}
