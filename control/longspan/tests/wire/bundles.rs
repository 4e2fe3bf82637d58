//! Two gateways with a bundle of two links between them, one of which is cut and comes back under load: with its carrier, or
//! behind devices that keep the light on, in one direction.

use crate::configuration::{LOSSLESS, port};
use crate::lab::{
    Flow, Gateway, Host, Lab, Namespace, Receiver, Sender, answers, port as shown_port, wait_until,
};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_link_of_a_bundle_is_cut_and_comes_back_and_flows_keep_their_order", cut),
        on_the_wire("a_link_that_comes_back_longer_than_it_may_be_carries_no_data", come_back_longer),
        on_the_wire("hellos_tell_of_a_bundle_what_no_carrier_shows_and_take_no_strange_ones", cut_one_way),
    ]
}

/// Together these offer more than one link carries, and less than two.
const FLOWS: core::ops::Range<u16> = 600..608;
const FLOW_BPS: u64 = 6_000_000;
/// With this much of each flow, one link carries all.
const EASY_BPS: u64 = 4_000_000;
const LINK: &str = "40M";
const FRAME_BYTES: usize = 1_000;
/// Frames of each flow that pass between two events.
const FRAMES: u64 = 200;
/// The most frames that a cut destroys: what 40M carries in 40 ms, until the gateway sees it, and what the kernel holds.
const LOST_MAX: u64 = 400;

/// The most frames that a device keeps over a cut.
const HELD_MAX: u64 = 32;

/// The most frames that a cut destroys if hellos tell: what 40M carries in 60 ms, and while a busy machine is late.
const UNHEARD_MAX: u64 = 1_000;

const HELLOS: &str = "liveness = \"hello\"\nkey = \"5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c0f\"\ninterval = \"20ms\"\n\
                      return_after = \"100ms\"\n";

/// Sends a hello again that has come to n0, and once more with another tag.
const STRANGER: &str = "
import socket
near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
near.setsockopt(263, 23, 1)
near.bind(('n0', 3))
def hello():
    while True:
        frame = near.recv(2048)
        if frame[:6] == bytes.fromhex('0180c2000003') and frame[12:18] == bytes.fromhex('88b501000004'):
            return frame
old = hello()
hello()
far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
far.bind(('f0', 0))
far.send(old)
far.send(old[:81] + bytes([old[81] ^ 1]) + old[82:])
";

fn configuration(name: &str, liveness: &str) -> String {
    with_links(name, liveness, &[port(1, "lh0", LINK), port(2, "lh1", LINK)])
}

fn with_links(name: &str, liveness: &str, links: &[String; 2]) -> String {
    let mac = format!("mac = \"02:00:5e:00:00:{:02x}\"\n", name.len());
    let data_center = port(0, "dc0", "1G").replacen("[[port]]\n", &format!("[[port]]\n{mac}"), 1);
    format!(
        "[gateway]\nname = \"{name}\"\n[buffer]\nshared = \"8MiB\"\n[dpdk]\nidle = \"sleep\"\n[forwarding]\nmode = \"patch\"\n\
         pairs = [[\"dc0\", \"lh\"]]\n[[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\n{liveness}{}{}",
        data_center,
        links.concat()
    )
}

/// A counter of a member of the bundle.
fn counted(shown: &Value, member: &str, counter: &str) -> u64 {
    shown_port(shown, member)["bundle"][counter].as_u64().expect("a member counts")
}

fn dropped(shown: &Value) -> u64 {
    let ports = shown["ports"].as_array().expect("there are ports").iter();
    let of = |port: &Value, side: &str| {
        let dropped = &port["priorities"][usize::from(LOSSLESS.1)][side]["dropped"];
        let reasons = dropped.as_object().into_iter().flat_map(|reasons| reasons.values());
        reasons.filter_map(|count| count["frames"].as_u64()).sum::<u64>()
    };
    ports.map(|port| of(port, "ingress") + of(port, "egress")).sum()
}

/// Frames sent, frames that never came, and frames that came late.
struct Toll {
    sent: u64,
    lost: u64,
    late: u64,
}

/// Ends the load, and counts.
fn toll(sender: Sender, mut receiver: Receiver) -> Toll {
    let sent = sender.end().sent;
    for (flow, frames) in &sent {
        receiver.wait_for_flow(*flow, *frames);
    }
    let received = receiver.end();
    let mut toll = Toll { sent: sent.values().sum(), lost: 0, late: 0 };
    for (flow, frames) in &sent {
        let seen = received.flow(*flow);
        assert_eq!(seen.received - seen.late + seen.missing, *frames, "flow {flow}: {seen:?}");
        toll.lost += seen.missing - seen.late;
        toll.late += seen.late;
    }
    toll
}

fn cut(lab: &Lab) {
    let names = ["near", "far"];
    let namespaces = names.map(|name| lab.namespace(name));
    for link in ["lh0", "lh1"] {
        namespaces[0].connect(link, &namespaces[1], link, 1_500);
    }
    let [near, far] = [0, 1].map(|side| Host::new(lab, side as u8 + 1, &namespaces[side], "dc0"));
    let gateways = [0, 1]
        .map(|side| Gateway::start(lab, &namespaces[side], names[side], &configuration(names[side], "")));
    wait_until("frames to pass", || answers(&far, &near));

    let mut receiver = Receiver::start(lab, &far);
    let (dscp, priority) = LOSSLESS;
    let flows: Vec<_> = FLOWS.map(|port| Flow { port, dscp, priority, bps: FLOW_BPS, count: None }).collect();
    let sender = Sender::start(lab, &near, &far, FRAME_BYTES, 1_000_000_000, &flows);
    let pass_more = |receiver: &mut Receiver| {
        let seen = receiver.so_far();
        FLOWS.for_each(|flow| receiver.wait_for_flow(flow, seen.flow(flow).next + FRAMES));
    };
    pass_more(&mut receiver);
    let mut held = 0;
    for round in 1..=2 {
        namespaces[0].ip("link set lh0 down");
        for gateway in &gateways {
            wait_until("a failure to be seen", || counted(&gateway.show(), "lh0", "failures") == round);
        }
        pass_more(&mut receiver);
        let late = FLOWS.map(|flow| receiver.so_far().flow(flow).late).sum::<u64>();
        assert_eq!(late, held, "no frame overtakes another as they move");
        namespaces[0].ip("link set lh0 up");
        for gateway in &gateways {
            wait_until("the link to send again", || counted(&gateway.show(), "lh0", "returns") == round);
        }
        pass_more(&mut receiver);
        // The device keeps what it was given before the cut, and sends that now.
        held = FLOWS.map(|flow| receiver.so_far().flow(flow).late).sum::<u64>();
        assert!(held <= round * HELD_MAX, "{held}");
    }
    let Toll { sent, lost, late } = toll(sender, receiver);
    assert_eq!(late, held, "no frame overtakes another as the link returns");
    let shown = gateways.each_ref().map(Gateway::show);
    println!(
        "two cuts: {lost} of {sent} frames went with the link, {} moved, {late} were kept by the device",
        counted(&shown[0], "lh0", "moved_out")
    );
    assert!(lost <= 2 * LOST_MAX, "{lost}");
    assert!(counted(&shown[0], "lh0", "moved_out") > 0);
    assert_eq!(shown.each_ref().map(dropped), [0; 2], "nothing lossless is lost inside");
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}

/// Two links that measure their delay. Frames to the first one take `detour` on top, where it is longer than 20 ms.
fn measuring(name: &str, detour: Option<&str>) -> String {
    let link = |number: usize, most: &str, more: &str| {
        let port = port(number, &format!("lh{}", number - 1), LINK).replace("headroom = \"1MiB\"\n", "");
        let measures =
            format!("[port.link_delay]\ninterval = \"200ms\"\nleast = \"1ns\"\nmost = \"{most}\"\n");
        format!("{port}{measures}{more}")
    };
    let first = match detour {
        None => link(1, "20ms", ""),
        Some(delay) => link(1, "200ms", &format!("[port.emulation]\ndelay = \"{delay}\"\n"))
            .replace("distance = \"10m\"\n", ""),
    };
    with_links(name, "return_after = \"100ms\"\n", &[first, link(2, "20ms", "")])
}

/// A restored link may run a longer way. Here it does once the far gateway has started anew, until it starts again.
fn come_back_longer(lab: &Lab) {
    let names = ["near", "far"];
    let namespaces = names.map(|name| lab.namespace(name));
    for link in ["lh0", "lh1"] {
        namespaces[0].connect(link, &namespaces[1], link, 1_500);
    }
    let [near, far] = [0, 1].map(|side| Host::new(lab, side as u8 + 1, &namespaces[side], "dc0"));
    let start = |side: usize, detour: Option<&str>| {
        Gateway::start(lab, &namespaces[side], names[side], &measuring(names[side], detour))
    };
    const EXCHANGES: u64 = 20;
    let gateway = start(0, None);
    let delay_of = |key: &str| shown_port(&gateway.show(), "lh0")["link_delay"][key].as_u64().unwrap_or(0);
    for detour in [None, Some("100ms"), None] {
        let peer = start(1, detour);
        wait_until("frames to pass", || answers(&far, &near));
        let before = delay_of("answered");
        match detour {
            None => {
                wait_until("the link to carry data", || is_up(&gateway, "lh0"));
                assert!(delay_of("answered") < before + EXCHANGES, "a link of the usual length needs eight");
            }
            Some(_) => {
                wait_until("the link to be measured", || delay_of("answered") >= before + EXCHANGES);
                assert!(!is_up(&gateway, "lh0") && is_up(&gateway, "lh1"));
                assert!(answers(&far, &near), "frames pass through the other link");
            }
        }
        namespaces[0].ip("link set lh0 down");
        wait_until("the failure to be seen", || !is_up(&gateway, "lh0"));
        drop(peer.end());
        namespaces[0].ip("link set lh0 up");
    }
    drop(gateway.end());
}

/// Lets all that comes in through an interface of a device between both gateways leave through another one.
fn pass(fibre: &Namespace, from: &str, to: &str) {
    let filter = "parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev";
    let words = format!("filter add dev {from} {filter} {to}");
    fibre.run("tc", &words.split(' ').collect::<Vec<_>>());
}

fn stop(fibre: &Namespace, from: &str) {
    fibre.run("tc", &["filter", "del", "dev", from, "parent", "ffff:"]);
}

/// A counter of the liveness of lh0.
fn lived(gateway: &Gateway, counter: &str) -> u64 {
    shown_port(&gateway.show(), "lh0")["liveness"][counter].as_u64().expect("liveness counts")
}

fn is_up(gateway: &Gateway, member: &str) -> bool {
    shown_port(&gateway.show(), member)["liveness"]["is_up"] == 1
}

/// Joins both links through a device that keeps their carriers up.
fn fibre(lab: &Lab, namespaces: &[Namespace; 2]) -> Namespace {
    let fibre = lab.namespace("fibre");
    for number in [0, 1] {
        let [link, near, far] = ["lh", "n", "f"].map(|name| format!("{name}{number}"));
        namespaces[0].connect(&link, &fibre, &near, 1_500);
        fibre.connect(&far, &namespaces[1], &link, 1_500);
        for (from, to) in [(&near, &far), (&far, &near)] {
            fibre.run("tc", &["qdisc", "add", "dev", from, "ingress"]);
            pass(&fibre, from, to);
        }
    }
    fibre
}

/// Takes lh0 out of use at the near end, which both ends do, and puts it to use again.
fn drain_and_end(near: &Gateway, wait_for_both: &WaitForBoth<'_>, pass_more: &mut dyn FnMut()) {
    let failures = lived(near, "failures");
    for (liveness, is_used) in
        [(&format!("{HELLOS}drained = [\"lh0\"]\n"), false), (&HELLOS.to_owned(), true)]
    {
        let reloaded = near.reload(&configuration("near", liveness));
        assert!(reloaded.status.success(), "{}", String::from_utf8_lossy(&reloaded.stderr));
        wait_for_both("both ends to follow the operator", &|it| is_up(it, "lh0") == is_used);
        pass_more();
    }
    assert_eq!(lived(near, "failures"), failures, "a drain is no failure");
}

/// Waits until both gateways are so.
type WaitForBoth<'a> = dyn Fn(&str, &dyn Fn(&Gateway) -> bool) + 'a;

fn cut_one_way(lab: &Lab) {
    let names = ["near", "far"];
    let namespaces = names.map(|name| lab.namespace(name));
    let fibre = fibre(lab, &namespaces);
    let [near, far] = [0, 1].map(|side| Host::new(lab, side as u8 + 1, &namespaces[side], "dc0"));
    let gateways = [0, 1]
        .map(|side| Gateway::start(lab, &namespaces[side], names[side], &configuration(names[side], HELLOS)));
    let wait_for_both = |what: &str, is_true: &dyn Fn(&Gateway) -> bool| {
        gateways.iter().for_each(|gateway| wait_until(what, || is_true(gateway)));
    };
    wait_for_both("both links to live", &|it| ["lh0", "lh1"].iter().all(|member| is_up(it, member)));
    wait_until("frames to pass", || answers(&far, &near));

    let mut receiver = Receiver::start(lab, &far);
    let (dscp, priority) = LOSSLESS;
    let flows: Vec<_> = FLOWS.map(|port| Flow { port, dscp, priority, bps: EASY_BPS, count: None }).collect();
    let sender = Sender::start(lab, &near, &far, FRAME_BYTES, 1_000_000_000, &flows);
    let pass_more = |receiver: &mut Receiver| {
        let seen = receiver.so_far();
        FLOWS.for_each(|flow| receiver.wait_for_flow(flow, seen.flow(flow).next + FRAMES));
    };
    pass_more(&mut receiver);
    // The way of the data, which the far end notices and tells; and the way back, which the near end does.
    for (from, to) in [("n0", "f0"), ("f0", "n0")] {
        let before = gateways.each_ref().map(|it| lived(it, "failures"));
        stop(&fibre, from);
        let cut = Instant::now();
        for (gateway, before) in gateways.iter().zip(before) {
            wait_until("the cut to be noticed", || lived(gateway, "failures") > before);
        }
        println!(
            "a cut of {from} to {to} showed at both ends {} ms after it, or before",
            cut.elapsed().as_millis()
        );
        pass_more(&mut receiver);
        // Back, but to the wrong member: that is no proof of a link.
        pass(&fibre, from, &to.replace('0', "1"));
        let hears = &gateways[usize::from(from == "n0")];
        let other = |it: &Gateway| shown_port(&it.show(), "lh1")["liveness"]["crossed"].as_u64() > Some(0);
        wait_until("a hello of another link to be named", || other(hears));
        pass_more(&mut receiver);
        assert!(gateways.iter().all(|it| !is_up(it, "lh0") && is_up(it, "lh1")));
        stop(&fibre, from);
        pass(&fibre, from, to);
        wait_for_both("the link to live again", &|it| is_up(it, "lh0"));
        pass_more(&mut receiver);
    }
    drain_and_end(&gateways[0], &wait_for_both, &mut || pass_more(&mut receiver));
    fibre.run("python3", &["-c", STRANGER]);
    wait_until("strange hellos to be named", || {
        ["replayed", "forged"].iter().all(|it| lived(&gateways[1], it) > 0)
    });
    assert!(gateways.iter().all(|it| is_up(it, "lh0")), "strange hellos change nothing");
    let Toll { sent, lost, late } = toll(sender, receiver);
    let shown = gateways.each_ref().map(Gateway::show);
    let moved = counted(&shown[0], "lh0", "moved_out");
    println!(
        "two cuts of one way: {lost} of {sent} frames went with the link, {moved} moved, {late} came late"
    );
    assert!(lost <= 2 * UNHEARD_MAX && moved > 0, "{lost}");
    assert_eq!(late, 0, "no frame overtakes another");
    assert_eq!(shown.each_ref().map(dropped), [0; 2], "nothing lossless is lost inside");
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}
