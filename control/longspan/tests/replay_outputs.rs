//! The output of a replay: the right frames at the right instants, and always the same bytes.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use wire::ethernet::EtherType;
use wire::roce::icrc;
use wire::{ipv4, udp, vlan};

const REPLAY: &str = "config/gateways/replay.toml";
const BOTH_SIDES: [&str; 4] = ["--from", "dc0=52:54:00:00:00:01", "--from", "lh0=52:54:00:00:00:02"];

/// Replays both directions of the soft-RoCE capture through the gateway made for it.
fn both_directions(directory: &str) -> Run {
    let (config, capture) = (repository(REPLAY), soft_roce());
    let (config, capture) = (config.to_str().unwrap(), capture.to_str().unwrap());
    let arguments = ["--config", config, "--split", capture, "--out-dir", directory];
    replayed(&[&arguments[..], &BOTH_SIDES].concat())
}

fn slow_haul(scratch: &Scratch, capture: &[u8]) -> Run {
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = scratch.write("in.pcap", capture);
    let input = format!("dc0={capture}");
    replayed(&["--config", &config, "--in", &input, "--out-dir", &scratch.path("out")])
}

fn report(scratch: &Scratch) -> Value {
    json(&std::fs::read_to_string(scratch.path("out/report.json")).unwrap())
}

#[test]
fn every_frame_of_a_real_capture_leaves_or_is_named() {
    let scratch = Scratch::new();
    both_directions(&scratch.path("out"));
    let report = report(&scratch);
    assert_eq!(report["conservation"]["holds"], true);
    assert_eq!(report["ending"]["state"], "drained");
    assert_eq!(report["input"]["read"]["frames"], 711);
    assert_eq!(report["input"]["unassigned"]["frames"], 0);
    let out = |port: usize| report["ports"][port]["out"]["frames"].as_u64().unwrap();
    assert_eq!(out(0) + out(1), 711, "nothing is dropped");
    for (port, name) in ["dc0", "lh0"].into_iter().enumerate() {
        let frames = frames_of(scratch.path(&format!("out/{name}.pcap"))).len() as u64;
        let control = report["ports"][port]["control_out"]["frames"].as_u64().unwrap();
        assert_eq!(frames, out(port) + control);
    }
}

#[test]
fn the_same_frames_give_the_same_bytes_from_pcap_and_from_pcapng_and_again() {
    let capture = frames_of(soft_roce());
    let runs = [pcap(&capture), pcap(&capture), pcapng(&capture)].map(|capture| {
        let scratch = Scratch::new();
        slow_haul(&scratch, &capture);
        ["dc0.pcap", "lh0.pcap", "report.json"]
            .map(|file| std::fs::read(scratch.path(&format!("out/{file}"))).unwrap())
    });
    assert!(runs[0] == runs[1], "twice the same");
    assert!(runs[0] == runs[2], "whatever the format");
}

#[test]
fn every_roce_packet_that_leaves_still_verifies() {
    let scratch = Scratch::new();
    both_directions(&scratch.path("out"));
    let (mut verified, mut marked) = (0, 0);
    for name in ["dc0", "lh0"] {
        for (_, frame, _) in frames_of(scratch.path(&format!("out/{name}.pcap"))) {
            let (roce, ce) = verify_roce(&frame);
            verified += u64::from(roce);
            marked += u64::from(ce);
        }
    }
    assert_eq!(verified, 643);
    assert!(marked > 50, "{marked} frames were marked on the way");
}

/// Checks an IPv4 header and, for UDP port 4791, the ICRC. Returns whether there was an ICRC, and whether the frame
/// is marked.
fn verify_roce(frame: &[u8]) -> (bool, bool) {
    let stack = vlan::Stack::parse(frame).unwrap();
    if stack.ether_type != EtherType::IPV4 {
        return (false, false);
    }
    let packet = &frame[stack.payload_offset..];
    let ip = ipv4::View::parse(packet).unwrap();
    assert!(ip.verify_checksum());
    let ce = ip.ecn() == wire::ip::Ecn::Ce;
    let is_roce = udp::View::parse(ip.payload()).is_ok_and(|udp| udp.destination_port() == 4791);
    if is_roce && ip.protocol() == wire::ip::IpProtocol::UDP {
        assert_eq!(icrc::verify(&packet[..ip.total_len()]), Ok(true));
        return (true, ce);
    }
    (false, ce)
}

#[test]
fn routed_roce_packets_still_verify_though_their_ttl_is_lower() {
    const ROUTER: &str = r#"
[forwarding]
mode = "route"
[[forwarding.neighbour]]
address = "10.9.0.2"
mac = "02:00:00:00:20:02"
port = "lh0"
[[forwarding.route]]
prefix = "10.0.0.0/24"
next_hops = ["10.9.0.2"]
[[port]]
name = "dc0"
rate = "100G"
mac = "02:00:00:00:00:01"
addresses = ["10.8.0.1/24"]
[[port]]
name = "lh0"
rate = "100G"
mac = "02:00:00:00:00:02"
addresses = ["10.9.0.1/24"]
"#;
    let scratch = Scratch::new();
    let mut frames = frames_of(soft_roce());
    frames.iter_mut().for_each(|(_, frame, _)| frame[..6].copy_from_slice(&DC0));
    let capture = scratch.write("in.pcap", pcap(&frames));
    let config = scratch.write("gateway.toml", ROUTER);
    let input = format!("dc0={capture}");
    replayed(&["--config", &config, "--in", &input, "--out-dir", &scratch.path("out")]);
    let routed = frames_of(scratch.path("out/lh0.pcap"));
    assert_eq!(routed.iter().filter(|(_, frame, _)| verify_roce(frame).0).count(), 643);
    assert_eq!(report(&scratch)["conservation"]["holds"], true);
}

#[test]
fn tshark_takes_every_frame_for_what_it_was_and_every_pause_for_a_pause() {
    let scratch = Scratch::new();
    both_directions(&scratch.path("out"));
    let mut before = tshark(soft_roce(), &["frame.protocols"]);
    let mut after = Vec::new();
    for name in ["dc0", "lh0"] {
        let fields = ["frame.protocols", "_ws.col.Info", "macc.opcode"];
        for line in tshark(scratch.path(&format!("out/{name}.pcap")), &fields) {
            let mut columns = line.split('\t');
            let protocols = columns.next().unwrap().to_owned();
            if protocols.contains("macc") {
                let rest: Vec<_> = columns.collect();
                assert_eq!(rest[1], "0x0101", "{line}");
                assert!(rest[0].contains("Class Based Flow Control"), "{line}");
            } else {
                after.push(protocols);
            }
        }
    }
    // Frames may wait in a queue while others overtake them.
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(before, after);
}

#[test]
fn frames_leave_at_the_exact_instants_at_which_the_link_is_free() {
    let scratch = Scratch::new();
    // 976 bytes and 24 of overhead at 100 Mb/s: 80 us each.
    slow_haul(&scratch, &pcap(&stream(4, 976, 1_000)));
    let starts: Vec<_> = frames_of(scratch.path("out/lh0.pcap")).iter().map(|frame| frame.0).collect();
    assert_eq!(starts, [0, 80_000, 160_000, 240_000].map(|after| 1_000_000_000 + after));
}

#[test]
fn pauses_leave_when_the_threshold_is_reached_are_refreshed_and_end() {
    let scratch = Scratch::new();
    slow_haul(&scratch, &pcap(&stream(100, 976, 1_000)));
    let pauses = frames_of(scratch.path("out/dc0.pcap"));
    let quanta: Vec<_> = pauses.iter().map(|(_, frame, _)| (frame[24], frame[25])).collect();
    assert_eq!(quanta.first(), Some(&(0xff, 0xff)));
    assert_eq!(quanta.last(), Some(&(0, 0)), "the last frame resumes");
    assert_eq!(quanta.iter().filter(|time| **time == (0, 0)).count(), 1);
    assert_eq!(pauses[0].0, 1_000_000_000 + 25_000, "the first has left, 25 of 976 bytes are inside");

    let report = report(&scratch);
    let sent = &report["ports"][0]["priorities"][3]["pauses_sent"];
    assert_eq!((&sent["xoff"], &sent["xon"]), (&1.into(), &1.into()));
    let paused = pauses.last().unwrap().0 - pauses[0].0;
    assert_eq!(sent["paused_ns"], paused, "to the nanosecond, from the frames");
    assert_eq!(report["ports"][0]["dropped_at_ingress"], json("{}"));
}

#[test]
fn a_received_pause_holds_frames_until_it_expires_and_the_replay_goes_on_until_then() {
    const OBEYING: &str = r#"
[[port]]
name = "dc0"
rate = "10G"
[[port]]
name = "lh0"
rate = "10G"
[[port.lossless]]
priorities = [3]
xoff = "24kB"
xon = "16kB"
headroom = "8MiB"
"#;
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", OBEYING);
    let pause = scratch.write("pause.pcap", pcap(&[(1_000_000_000, pfc_frame(1_000), 60)]));
    let data: Vec<Kept> = stream(3, 976, 0).into_iter().map(|(at, data, n)| (at + 10, data, n)).collect();
    let data = scratch.write("data.pcap", pcap(&data));
    let inputs = [format!("lh0={pause}"), format!("dc0={data}")];
    let run = run(["replay", "--config", &config, "--in", &inputs[0], "--in", &inputs[1]]
        .into_iter()
        .chain(["--out-dir", &scratch.path("out")]));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let left = frames_of(scratch.path("out/lh0.pcap"));
    // A quantum is 51.2 ns at 10 Gb/s.
    assert_eq!(
        left.iter().map(|frame| frame.0 - 1_000_000_000).collect::<Vec<_>>(),
        [51_200, 52_000, 52_800]
    );
    let report = report(&scratch);
    assert_eq!(report["ports"][1]["consumed"]["pfc"]["frames"], 1);
    assert_eq!(report["ports"][1]["priorities"][3]["pauses_received"]["paused_ns"], 51_200);
    assert_eq!(report["ending"]["state"], "drained");
}

#[test]
fn a_link_that_takes_years_ends_the_replay_after_a_minute_with_its_frames_counted() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL.replace("100M", "1k"));
    let capture = scratch.write("in.pcap", pcap(&stream(100, 976, 1_000)));
    let input = format!("dc0={capture}");
    let run = replayed(&["--config", &config, "--in", &input, "--out-dir", &scratch.path("out")]);
    assert!(run.stdout.contains("Not drained: frames were still queued a minute after the last arrival."));
    let report = report(&scratch);
    assert_eq!(report["ending"]["state"], "drain_limit");
    assert_eq!(report["ending"]["queued"]["frames"], 92, "8 s each; the last of 8 starts at 56 s");
    assert_eq!(report["conservation"]["holds"], true);
}

#[test]
fn frames_cut_by_the_snap_length_keep_their_original_length() {
    let scratch = Scratch::new();
    let mut frames = stream(3, 976, 1_000_000);
    frames.iter_mut().for_each(|(_, data, _)| data.truncate(96));
    slow_haul(&scratch, &pcap(&frames));
    let left = frames_of(scratch.path("out/lh0.pcap"));
    assert!(left.iter().all(|(_, data, original)| (data.len(), *original) == (96, 976)));
    assert_eq!(report(&scratch)["ports"][1]["out"]["bytes"], 3 * 976);
}

#[test]
fn frames_without_a_header_are_dropped_by_name() {
    let scratch = Scratch::new();
    let frames = [(5, vec![], 0), (6, vec![1; 13], 13), (7, udp_frame(60, 0), 60), (8, vec![], 60)];
    slow_haul(&scratch, &pcap(&frames));
    let report = report(&scratch);
    assert_eq!(report["ports"][0]["dropped_at_ingress"]["runt"]["frames"], 3);
    assert_eq!(report["conservation"]["holds"], true);
    assert_eq!(frames_of(scratch.path("out/lh0.pcap")).len(), 1);
}

#[test]
fn a_capture_without_frames_is_replayed_and_leaves_captures_without_frames() {
    let scratch = Scratch::new();
    slow_haul(&scratch, &pcap(&[]));
    assert_eq!(frames_of(scratch.path("out/lh0.pcap")), []);
    assert_eq!(report(&scratch)["clock"]["end_ns"], Value::Null);
}

#[test]
fn frames_of_neither_side_are_counted_and_named() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = soft_roce();
    let arguments = ["--config", &config, "--split", capture.to_str().unwrap(), "--from", "dc0=10.0.0.1"];
    let run = replayed(&[&arguments[..], &["--out-dir", &scratch.path("out")]].concat());
    assert!(run.stdout.contains("match no --from and were not replayed"), "{}", run.stdout);
    assert!(run.stdout.contains("from 52:54:00:00:00:02"));
    let report = report(&scratch);
    let read = report["input"]["read"]["frames"].as_u64().unwrap();
    let unassigned = report["input"]["unassigned"]["frames"].as_u64().unwrap();
    assert_eq!(report["ports"][0]["in"]["frames"], read - unassigned);
    assert!(unassigned > 200);
}

#[test]
fn a_faster_replay_and_the_line_rate_move_frames_together_and_loops_repeat_them() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL.replace("100M", "100G"));
    let capture = scratch.write("in.pcap", pcap(&stream(3, 976, 1_000_000)));
    let input = format!("dc0={capture}");
    let starts = |more: &[&str]| {
        let out = format!("lh0={}", scratch.path("out.pcap"));
        replayed(&[&["--config", &config, "--in", &input, "--out", &out], more].concat());
        let frames = frames_of(scratch.path("out.pcap"));
        frames.iter().map(|frame| frame.0 - 1_000_000_000).collect::<Vec<_>>()
    };
    assert_eq!(starts(&[]), [0, 1_000_000, 2_000_000]);
    assert_eq!(starts(&["--speed", "1000x"]), [0, 1_000, 2_000]);
    assert_eq!(starts(&["--speed", "0.5x"]), [0, 2_000_000, 4_000_000]);
    assert_eq!(starts(&["--speed", "line-rate"]), [0, 80, 160]);
    assert_eq!(starts(&["--loop", "2"]), [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
}

#[test]
fn a_pace_of_centuries_comes_to_its_end() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = scratch.write("in.pcap", pcap(&stream(3, 976, 1_000_000)));
    let report = scratch.path("report.json");
    let input = format!("dc0={capture}");
    let speed = "1/99999999999999x";
    replayed(&["--config", &config, "--in", &input, "--speed", speed, "--report", &report]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["ending"]["state"], "drained");
}

#[test]
fn a_capture_on_standard_input_is_replayed_like_a_file() {
    use std::io::Write;
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = pcap(&frames_of(soft_roce()));
    slow_haul(&scratch, &capture);
    let piped = scratch.path("piped");
    let mut child = longspan()
        .args(["replay", "--config", &config, "--in", "dc0=-", "--out-dir", &piped])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&capture).unwrap();
    assert!(child.wait().unwrap().success());
    for file in ["dc0.pcap", "lh0.pcap", "report.json"] {
        let of = |directory: &str| std::fs::read(scratch.path(&format!("{directory}/{file}"))).unwrap();
        assert!(of("out") == of("piped"), "{file}");
    }
}
