//! Two gateways with a bundle of two links between them, one of which is cut and comes back under load.

use crate::configuration::{LOSSLESS, port};
use crate::lab::{Flow, Gateway, Host, Lab, Receiver, Sender, answers, port as shown_port, wait_until};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire("a_link_of_a_bundle_is_cut_and_comes_back_and_flows_keep_their_order", cut)]
}

/// Together these offer more than one link carries, and less than two.
const FLOWS: core::ops::Range<u16> = 600..608;
const FLOW_BPS: u64 = 6_000_000;
const LINK: &str = "40M";
const FRAME_BYTES: usize = 1_000;
/// Frames of each flow that pass between two events.
const FRAMES: u64 = 200;
/// The most frames that a cut destroys: what 40M carries in 40 ms, until the gateway sees it, and what the kernel holds.
const LOST_MAX: u64 = 400;

/// The most frames that a device keeps over a cut.
const HELD_MAX: u64 = 32;

fn configuration(name: &str) -> String {
    let links = [port(1, "lh0", LINK), port(2, "lh1", LINK)];
    format!(
        "[gateway]\nname = \"{name}\"\n[buffer]\nshared = \"8MiB\"\n[dpdk]\nidle = \"sleep\"\n[forwarding]\nmode = \"patch\"\n\
         pairs = [[\"dc0\", \"lh\"]]\n[[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\n{}{}",
        port(0, "dc0", "1G"),
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

fn cut(lab: &Lab) {
    let names = ["near", "far"];
    let namespaces = names.map(|name| lab.namespace(name));
    for link in ["lh0", "lh1"] {
        namespaces[0].connect(link, &namespaces[1], link, 1_500);
    }
    let [near, far] = [0, 1].map(|side| Host::new(lab, side as u8 + 1, &namespaces[side], "dc0"));
    let gateways =
        [0, 1].map(|side| Gateway::start(lab, &namespaces[side], names[side], &configuration(names[side])));
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
    let sent = sender.end();
    for (flow, frames) in &sent.sent {
        receiver.wait_for_flow(*flow, *frames);
    }
    let received = receiver.end();
    let (mut lost, mut late) = (0, 0);
    for (flow, frames) in &sent.sent {
        let seen = received.flow(*flow);
        assert_eq!(seen.received - seen.late + seen.missing, *frames, "flow {flow}: {seen:?}");
        lost += seen.missing - seen.late;
        late += seen.late;
    }
    assert_eq!(late, held, "no frame overtakes another as the link returns");
    let shown = gateways.each_ref().map(Gateway::show);
    println!(
        "two cuts: {lost} of {} frames went with the link, {} moved, {late} were kept by the device",
        sent.sent.values().sum::<u64>(),
        counted(&shown[0], "lh0", "moved_out")
    );
    assert!(lost <= 2 * LOST_MAX, "{lost}");
    assert!(counted(&shown[0], "lh0", "moved_out") > 0);
    assert_eq!(shown.each_ref().map(dropped), [0; 2], "nothing lossless is lost inside");
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}
