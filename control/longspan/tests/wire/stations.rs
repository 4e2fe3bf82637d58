//! Tests of the lab itself: senders obey, and receivers count.

use crate::configuration::{LOSSLESS, OTHER_LOSSLESS, two_ports};
use crate::lab::{Capture, Flow, Host, Lab, Receiver, Sender, scapy, tshark};
use crate::on_the_wire;
use crate::pair::Pair;
use crate::pause::{PAUSE_PRIORITY_3, frames_within, longest_gap_ns, longest_pause_ns};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("the_sender_obeys_a_pause_of_its_priority_and_no_other", obeys),
        on_the_wire("the_sender_hears_the_cnps_of_its_queue_pairs", hears),
        on_the_wire("the_receiver_sees_what_is_missing_and_what_is_late", sees),
        on_the_wire("numbered_frames_cross_and_are_acknowledged", frames_cross),
    ]
}

fn flow(port: u16, (dscp, priority): (u8, u8)) -> Flow {
    Flow { port, dscp, priority, bps: 1_600_000, count: None }
}

fn obeys(lab: &Lab) {
    const LINK_BPS: u64 = 100_000_000;
    let peer = lab.namespace("peer");
    let host = Host::new(lab, 1, &peer, "dc0");
    let mut capture = Capture::start(lab, &peer, "dc0");
    let flows = [flow(1, LOSSLESS), flow(2, OTHER_LOSSLESS)];
    let sender = Sender::start(lab, &host, &host, 200, LINK_BPS, &flows);
    capture.wait_for_frames(10, |frame| frame.dscp() == Some(LOSSLESS.0));
    scapy(&peer, &format!("{PAUSE_PRIORITY_3}'dc0')"));
    let before = capture.so_far().iter().filter(|frame| frame.dscp() == Some(LOSSLESS.0)).count();
    capture.wait_for_frames(before + 100, |frame| frame.dscp() == Some(LOSSLESS.0));
    let sent = sender.end();
    let frames = capture.end();

    assert_eq!(sent.pauses, [0, 0, 0, 1, 0, 0, 0, 0]);
    let (from, to) = longest_gap_ns(&frames, LOSSLESS.0);
    let least_ns = longest_pause_ns(LINK_BPS) / 1_000 * 999;
    assert!(to - from >= least_ns, "{} of {least_ns} ns", to - from);
    assert!(frames_within(&frames, OTHER_LOSSLESS.0, (from, to)) > 100);
}

fn hears(lab: &Lab) {
    let peer = lab.namespace("peer");
    let host = Host::new(lab, 1, &peer, "dc0");
    let mut capture = Capture::start(lab, &peer, "dc0");
    let flows = [flow(1, LOSSLESS), flow(2, OTHER_LOSSLESS)];
    let sender = Sender::start(lab, &host, &host, 200, 1_000_000_000, &flows);
    scapy(
        &peer,
        "from scapy.contrib.roce import *\n\
         frame = Ether(dst='02:00:00:00:77:01')/IP(dst='10.77.0.1')/UDP(sport=0)/cnp(dqpn=0x800002)\n\
         sendp([frame] * 3, iface='dc0', verbose=False)",
    );
    let before = capture.so_far().len();
    capture.wait_for_frames(before + 10, |frame| frame.dscp() == Some(LOSSLESS.0));
    let sent = sender.end();
    assert_eq!((sent.cnps[&1], sent.cnps[&2]), (0, 3));
    assert!(sent.sent[&2] < sent.sent[&1], "{sent:?}");
}

fn sees(lab: &Lab) {
    let peer = lab.namespace("peer");
    let host = Host::new(lab, 1, &peer, "dc0");
    let mut receiver = Receiver::start(lab, &host);
    scapy(
        &peer,
        "frame = Ether(dst='02:00:00:00:77:01')/IP(dst='10.77.0.1')/UDP(sport=7, dport=4791)/Raw(bytes(12))\n\
         frames = [frame/Raw(number.to_bytes(8, 'big')) for number in (0, 1, 3, 2, 4)]\n\
         sendp(frames, iface='dc0', verbose=False)",
    );
    receiver.wait_for_flow(7, 5);
    let seen = receiver.end().flow(7);
    assert_eq!((seen.received, seen.next, seen.missing, seen.late), (5, 5, 1, 1));
}

fn frames_cross(lab: &Lab) {
    const FRAMES: u64 = 6_400;
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let capture = Capture::start(lab, &pair.near.namespace, "eth0");
    let mut receiver = Receiver::start(lab, &pair.far);
    let flow = Flow { bps: 100_000_000, count: Some(FRAMES), ..flow(1, LOSSLESS) };
    let sent = Sender::start(lab, &pair.near, &pair.far, 1_000, 1_000_000_000, &[flow]).finished();
    receiver.wait_for_flow(1, FRAMES);
    receiver.end().expect_complete(1, &sent);
    let path = capture.path().to_owned();
    capture.end();
    pair.gateway.end();
    let acknowledgements = tshark(&path, "infiniband.bth.opcode == 0x11", &["infiniband.bth.destqp"]);
    assert_eq!(acknowledgements, vec!["0x800001"; 200]);
}
