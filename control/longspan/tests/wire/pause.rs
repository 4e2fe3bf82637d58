//! PFC frames on the wire: obeyed per priority, and sent before a lossless class loses a frame.

use crate::configuration::{LOSSLESS, LOSSY, OTHER_LOSSLESS, two_ports};
use crate::lab::{Capture, Flow, Frame, Lab, Receiver, Sender, pauses_sent, scapy, tshark};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_pause_stops_its_priority_and_no_other_for_its_time", pause_stops),
        on_the_wire("overload_pauses_the_sender_and_loses_nothing_lossless", overload_pauses),
    ]
}

/// The longest gap between two frames of a DSCP, in nanoseconds of the capture.
pub fn longest_gap_ns(frames: &[Frame], dscp: u8) -> (u64, u64) {
    let stamps: Vec<u64> =
        frames.iter().filter(|frame| frame.dscp() == Some(dscp)).map(|frame| frame.at_ns).collect();
    let gaps = stamps.windows(2).map(|pair| (pair[0], pair[1]));
    gaps.max_by_key(|(from, to)| to - from).expect("there are two frames at least")
}

/// The number of frames of a DSCP that arrived in a gap.
pub fn frames_within(frames: &[Frame], dscp: u8, (from, to): (u64, u64)) -> usize {
    frames.iter().filter(|frame| frame.dscp() == Some(dscp) && (from..to).contains(&frame.at_ns)).count()
}

/// Sends a PFC frame for priority 3 with the maximum time.
pub const PAUSE_PRIORITY_3: &str = "sendp(Ether(dst='01:80:c2:00:00:01')/\
     MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=65535), verbose=False, iface=";

/// The duration of 65535 quanta.
pub const fn longest_pause_ns(link_bps: u64) -> u64 {
    65_535 * 512 * 1_000_000_000 / link_bps
}

fn pause_stops(lab: &Lab) {
    const FAR_BPS: u64 = 100_000_000;
    let pair = Pair::new(lab, &two_ports("1G", "100M"));
    let mut capture = Capture::start(lab, &pair.far.namespace, "eth0");
    let flow = |port, (dscp, priority)| Flow { port, dscp, priority, bps: 1_600_000, count: None };
    let flows = [flow(1, LOSSLESS), flow(2, OTHER_LOSSLESS)];
    let sender = Sender::start(lab, &pair.near, &pair.far, 200, 1_000_000_000, &flows);
    let is_lossless = |frame: &Frame| frame.dscp() == Some(LOSSLESS.0);
    capture.wait_for_frames(10, is_lossless);
    let file = lab.path("pause.pcapng");
    let seen_inside = pair.gateway.capture(lab, "lh0", 1, &file);
    scapy(&pair.far.namespace, &format!("{PAUSE_PRIORITY_3}'eth0')"));
    let before = capture.so_far().into_iter().filter(is_lossless).count();
    capture.wait_for_frames(before + 100, is_lossless);
    let sent = sender.end();
    capture.wait_for_frames(sent.sent.values().sum::<u64>() as usize, |frame| frame.dscp().is_some());
    let frames = capture.end();
    assert!(seen_inside.ended().status.success());
    let history = pair.gateway.received_pauses();
    pair.gateway.end();

    let least_ns = longest_pause_ns(FAR_BPS);
    assert_eq!(history, [("lh0".to_owned(), LOSSLESS.1.into(), least_ns)], "events say the same");
    let fields = ["frame.interface_name", "macc.opcode"];
    assert_eq!(tshark(&file, "frame", &fields), ["lh0 received\t0x0101"], "and so does a capture inside");
    let gap = longest_gap_ns(&frames, LOSSLESS.0);
    // The clock of the timestamps may be slewed by up to 500 ppm.
    let least_ns = least_ns / 1_000 * 999;
    assert!(gap.1 - gap.0 >= least_ns, "{} of {least_ns} ns", gap.1 - gap.0);
    let others = frames_within(&frames, OTHER_LOSSLESS.0, gap);
    assert!(others > 100, "{others} frames of the other priority");
}

fn overload_pauses(lab: &Lab) {
    const SENDER_BPS: u64 = 1_000_000_000;
    let pair = Pair::new(lab, &two_ports("1G", "20M"));
    let capture = Capture::start(lab, &pair.near.namespace, "eth0");
    let mut receiver = Receiver::start(lab, &pair.far);
    let flow = |port, (dscp, priority), bps, count| Flow { port, dscp, priority, bps, count: Some(count) };
    let flows = [flow(1, LOSSLESS, 60_000_000, 4_000), flow(2, LOSSY, 5_000_000, 400)];
    let sent = Sender::start(lab, &pair.near, &pair.far, 1_000, SENDER_BPS, &flows).finished();
    receiver.wait_for_flow(1, sent.sent[&1]);
    let received = receiver.end();
    let told = pauses_sent(&pair.gateway.show(), "dc0");
    let path = capture.path().to_owned();
    capture.end();
    pair.gateway.end();

    eprintln!(
        "overload | {:.1} Mb/s arrived | paused for {} ms",
        received.bits_per_second() / 1e6,
        sent.silent_ns[3] / 1_000_000
    );
    received.expect_complete(1, &sent);
    // The sender ignores pauses once it has sent everything, while the queue still drains.
    let heard = sent.pauses[usize::from(LOSSLESS.1)];
    assert!((1..=told).contains(&heard), "{heard} of {told} pauses were heard: {sent:?}");
    assert_eq!(sent.pauses[usize::from(LOSSY.1)], 0, "{sent:?}");
    let pauses = tshark(&path, "eth.dst == 01:80:c2:00:00:01 && macc.opcode == 0x0101", &["macc.cbfc.enbv"]);
    assert_eq!(pauses.len() as u64, told, "tshark sees what the gateway counts");
    assert!(pauses.iter().all(|enabled| *enabled == pauses[0]), "all are for one priority");
}
