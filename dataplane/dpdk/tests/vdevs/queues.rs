//! Ports with several pairs of queues, each for a core of its own.

use std::fs;
use std::path::Path;

use dpdk::{Opened, Pool, Port, PortError, PortSettings, RxQueue, TxQueue};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};

use crate::support::{content, eal, pattern, pfc_frame, pool, receive_all, wait_until};

/// Creates a virtual device and opens it with two pairs of queues.
fn open(device: &str, pool: &Pool) -> Result<Opened, PortError> {
    eal().attach(device).unwrap();
    let settings = PortSettings { queues: 2, ..PortSettings::new(pool) };
    Port::configure(device.split(',').next().unwrap(), &settings)
}

/// The port, both pairs of queues, and the control queue.
fn parts(opened: Opened) -> (Port, [(RxQueue, TxQueue); 2], Option<TxQueue>) {
    let Opened { port, rx, tx, mut others, control } = opened;
    let other = others.pop().unwrap();
    assert!(others.is_empty());
    (port, [(rx, tx), (other.rx, other.tx)], control)
}

fn write(path: &Path, lengths: &[usize]) {
    let mut writer = PcapWriter::new(fs::File::create(path).unwrap()).unwrap();
    for length in lengths {
        let bytes = pattern(*length);
        let packet = PcapPacket::new(core::time::Duration::ZERO, *length as u32, &bytes);
        writer.write_packet(&packet).unwrap();
    }
}

fn lengths_in(path: &Path) -> Vec<usize> {
    let mut reader = PcapReader::new(fs::File::open(path).unwrap()).unwrap();
    std::iter::from_fn(|| Some(reader.next_packet()?.unwrap().data.len())).collect()
}

fn lengths_of(rx: &mut RxQueue) -> Vec<usize> {
    receive_all(rx).iter().map(|frame| content(frame).len()).collect()
}

#[test]
fn each_queue_has_the_frames_of_its_own_capture_and_statistics_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let sent: [&[usize]; 2] = [&[60, 61, 62], &[1_000, 1_001]];
    let names = [("in0", "out0"), ("in1", "out1")];
    let mut device = "net_pcap_queues".to_owned();
    for ((input, output), lengths) in names.into_iter().zip(sent) {
        write(&file(input), lengths);
        device += &format!(",rx_pcap={},tx_pcap={}", file(input).display(), file(output).display());
    }
    let pool = pool("queues_pcap", 255, 2_048);
    let (port, mut pairs, control) = parts(open(&device, &pool).unwrap());
    assert!(control.is_none(), "a file has no queue for control frames");
    for ((rx, tx), lengths) in pairs.iter_mut().zip(sent) {
        let mut frames = receive_all(rx);
        assert_eq!(frames.iter().map(|frame| content(frame).len()).collect::<Vec<_>>(), lengths);
        assert_eq!(tx.send(&mut frames), lengths.len());
    }
    let statistics = port.statistics().unwrap();
    assert_eq!((statistics.received, statistics.sent), (5, 5));
    let bytes = sent.concat().iter().map(|length| *length as u64).sum::<u64>();
    assert_eq!((statistics.received_bytes.0, statistics.sent_bytes.0), (bytes, bytes));
    drop((port, pairs));
    assert_eq!(names.map(|(_, output)| lengths_in(&file(output))), sent.map(<[_]>::to_vec));
}

#[test]
fn what_is_sent_through_a_queue_of_a_ring_comes_back_through_the_same_one() {
    let pool = pool("queues_ring", 255, 2_048);
    let (port, [(rx0, tx0), (rx1, tx1)], _) = parts(open("net_ring_queues", &pool).unwrap());
    // Each pair on a thread of its own, as a worker has it.
    let lane = |mut rx: RxQueue, mut tx: TxQueue, length: usize| {
        let mut frames: Vec<_> = (0..10).map(|_| pool.frame(&pattern(length)).unwrap()).collect();
        move || {
            assert_eq!(tx.send(&mut frames), 10);
            assert_eq!(lengths_of(&mut rx), [length; 10]);
        }
    };
    let (one, other) = (lane(rx0, tx0, 60), lane(rx1, tx1, 1_500));
    std::thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
    assert_eq!(port.statistics().unwrap().sent, 20);
}

#[test]
fn the_control_queue_comes_after_those_for_data() {
    let pool = pool("queues_null", 255, 2_048);
    let (port, mut pairs, control) = parts(open("net_null_queues", &pool).unwrap());
    let mut control = control.expect("this driver has one");
    assert_eq!(control.send(&mut vec![pool.frame(&pfc_frame()).unwrap()]), 1);
    for (_, tx) in &mut pairs {
        assert_eq!(
            tx.send(&mut vec![pool.frame(&pattern(60)).unwrap(), pool.frame(&pattern(60)).unwrap()]),
            2
        );
    }
    let statistics = port.statistics().unwrap();
    assert_eq!(statistics.sent, 5);
    let mut burst = Vec::new();
    let received: usize = pairs.iter_mut().map(|(rx, _)| rx.receive(&mut burst)).sum();
    assert_eq!(port.statistics().unwrap().received, received as u64);
}

#[test]
fn a_queue_of_a_memif_ends_at_that_of_the_same_number() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool("queues_memif", 8_191, 2_048);
    // A driver knows a socket by its path, and both ends are in this process.
    let end = |device: &str, role: &str, socket: &str| {
        let socket = format!("{}/{socket}", directory.path().display());
        parts(open(&format!("{device},role={role},id=0,socket={socket},socket-abstract=no"), &pool).unwrap())
    };
    let (server, mut ours, _) = end("net_memif_queues_s", "server", "socket");
    let (client, mut theirs, _) = end("net_memif_queues_c", "client", "./socket");
    wait_until("both ends are up", || server.link().up && client.link().up);
    for ((number, from), to) in (1..).zip(&mut ours).zip(&mut theirs) {
        let mut frames: Vec<_> = (0..number).map(|_| pool.frame(&pattern(60 + number)).unwrap()).collect();
        let mut received = Vec::new();
        wait_until("all have arrived", || {
            from.1.send(&mut frames);
            to.0.receive(&mut received);
            received.len() == number
        });
        assert!(received.iter().all(|frame| content(frame).len() == 60 + number));
    }
    assert_eq!(theirs.map(|(mut rx, _)| rx.receive(&mut Vec::new())), [0, 0], "each came once");
    assert_eq!(server.statistics().unwrap().sent, 3);
    assert_eq!(client.statistics().unwrap().received, 3);
}

#[test]
fn a_device_with_fewer_queues_is_refused_with_the_way_to_more() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.pcap"), directory.path().join("out.pcap"));
    write(&input, &[60]);
    let pool = pool("queues_few", 63, 2_048);
    let device = format!("net_pcap_few,rx_pcap={},tx_pcap={}", input.display(), output.display());
    let error = open(&device, &pool).unwrap_err();
    assert!(matches!(error, PortError::TooFewQueues { wanted: 2, receive: 1, transmit: 1, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("net_pcap_few (net_pcap)") && text.contains("one for each rx_pcap"), "{text}");
}
