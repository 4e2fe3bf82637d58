//! Gateways whose ports are shared by two lanes.

use crate::configuration::{LOSSLESS, LOSSY, port, two_ports};
use crate::lab::{Flow, Gateway, Host, Lab, Namespace, Receiver, Sender, answers, pauses_sent, wait_until};
use crate::on_the_wire_with_cores;
use crate::pair::Pair;
use libtest_mimic::Trial;
use serde_json::Value;

pub fn tests() -> Vec<Trial> {
    let test = |name, test| on_the_wire_with_cores(2, name, test);
    vec![
        test("two_lanes_of_a_pair_lose_no_frame_and_report_one_gateway", one_gateway),
        test("two_gateways_with_two_lanes_between_them_lose_no_frame", two_gateways),
        test("lanes_take_a_reload_without_a_loss_and_a_pause_stops_all_of_them", reload_and_pause),
        test("a_device_with_fewer_queues_than_lanes_is_refused_by_name", too_few_queues),
    ]
}

const LINK_BPS: u64 = 1_000_000_000;
/// Flows, which the kernel and devices spread over the lanes, and the frames of each.
const FLOWS: u16 = 16;
const FRAMES: u64 = 250;

/// [`FLOWS`] flows from UDP port `first` on, every other one lossless.
fn flows(first: u16) -> Vec<Flow> {
    let flow = |port: u16| {
        let (dscp, priority) = if port.is_multiple_of(2) { LOSSLESS } else { LOSSY };
        Flow { port, dscp, priority, bps: 1_000_000, count: Some(FRAMES) }
    };
    (first..first + FLOWS).map(flow).collect()
}

fn with_lanes(configuration: &str) -> String {
    configuration.replace("[dpdk]\n", "[dpdk]\nlanes = 2\n")
}

/// Sends flows both ways between two hosts, and asserts that all of it arrives in order.
fn exchange(lab: &Lab, one: &Host, other: &Host, first: u16) {
    exchange_flows(lab, [(one, other, flows(first)), (other, one, flows(first + FLOWS))]);
}

/// As [`exchange`], from one host to the other each, flows that end.
pub fn exchange_flows(lab: &Lab, ways: [(&Host, &Host, Vec<Flow>); 2]) {
    let receivers = ways.each_ref().map(|(_, to, _)| Receiver::start(lab, to));
    let senders = ways.each_ref().map(|(from, to, flows)| Sender::start(lab, from, to, 500, LINK_BPS, flows));
    let sent = senders.map(Sender::finished);
    for ((mut receiver, sent), (_, _, flows)) in receivers.into_iter().zip(sent).zip(&ways) {
        flows.iter().for_each(|flow| receiver.wait_for_flow(flow.port, flow.count.expect("an end")));
        let received = receiver.end();
        flows.iter().for_each(|flow| received.expect_complete(flow.port, &sent));
    }
}

/// Two gateways with a memif between them, and a host at each; `end` gives the file of one in this role, with this socket.
pub fn joined(lab: &Lab, end: fn(&str, &str) -> String) -> ([Host; 2], [Gateway; 2]) {
    let socket = lab.socket("link.memif");
    let socket = socket.to_str().expect("the lab's paths are plain");
    let roles = ["server", "client"];
    let namespaces: [Namespace; 2] = roles.map(|role| lab.namespace(role));
    let hosts = [0, 1].map(|end| Host::new(lab, end as u8 + 1, &namespaces[end], "dc0"));
    let gateways = [0, 1].map(|number| {
        let role = roles[number];
        Gateway::start(lab, &namespaces[number], role, &end(role, socket))
    });
    wait_until("frames to pass", || answers(&hosts[1], &hosts[0]));
    (hosts, gateways)
}

/// The frames that each worker has taken from devices.
fn frames_of_workers(shown: &Value) -> Vec<u64> {
    let frames =
        |worker: &Value| worker["runtime"]["since_start"]["frames"].as_u64().expect("a worker counts");
    shown["workers"].as_array().expect("show has workers").iter().map(frames).collect()
}

/// Asserts that a gateway with two lanes shows each port once, with the figures of both lanes.
fn expect_two_lanes(gateway: &Gateway) {
    let shown = gateway.show();
    let ports: Vec<_> = shown["ports"].as_array().unwrap().iter().map(|port| &port["name"]).collect();
    let workers = shown["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    workers.iter().for_each(|worker| assert_eq!(worker["ports"].as_array().unwrap().len(), ports.len()));
    let frames = frames_of_workers(&shown);
    assert!(frames.iter().all(|frames| *frames > 0), "both lanes carry some: {frames:?}");
    let counted = |port: &Value| port["counters"]["received"].as_u64().expect("a device counts");
    let received: u64 = shown["ports"].as_array().unwrap().iter().map(counted).sum();
    assert_eq!(received, frames.iter().sum::<u64>(), "ports count what the lanes took");
    assert_eq!(gateway.unaccounted_frames(), 0);
}

fn one_gateway(lab: &Lab) {
    let pair = Pair::new(lab, &with_lanes(&two_ports("1G", "1G")));
    exchange(lab, &pair.near, &pair.far, 1_000);
    expect_two_lanes(&pair.gateway);
    let page = String::from_utf8_lossy(&pair.gateway.show_with(&["ports"]).stdout).into_owned();
    let lines = |port| page.lines().filter(|line| line.starts_with(&format!("  {port}   up"))).count();
    assert_eq!(["dc0", "lh0"].map(lines), [1, 1], "{page}");
    pair.gateway.end();
}

/// One end of a memif, whose queues pair the lanes of both gateways, with a port for a host.
fn end(role: &str, socket: &str) -> String {
    format!(
        "[gateway]\nname = \"{role}\"\n[buffer]\nshared = \"8MiB\"\n[dpdk]\nlanes = 2\nidle = \"sleep\"\n\
         [forwarding]\nmode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]\n\
         [[port]]\nname = \"lh0\"\nrate = \"1G\"\nmtu = 1500\ndistance = \"10m\"\n\
         device = {{ memif = {{ socket = \"{socket}\", role = \"{role}\" }} }}\n\
         classify = {{ trust = \"dscp\", default = 0, dscp = {{ \"26\" = 3 }} }}\n\
         [[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nxon = \"32KiB\"\nheadroom = \"1MiB\"\n{}",
        port(0, "dc0", "1G")
    )
}

fn two_gateways(lab: &Lab) {
    let ([one, other], gateways) = joined(lab, end);
    exchange(lab, &one, &other, 1_000);
    gateways.iter().for_each(expect_two_lanes);
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}

/// The far port is slower than what comes, so that the near one pauses its host.
fn reload_and_pause(lab: &Lab) {
    let configuration = with_lanes(&two_ports("1G", "20M"));
    let pair = Pair::new(lab, &configuration);
    let fast = |port: u16| Flow { bps: 4_000_000, count: None, ..flows(2 * port)[0].clone() };
    let flows: Vec<_> = (500..500 + FLOWS).map(fast).collect();
    let mut receiver = Receiver::start(lab, &pair.far);
    let sender = Sender::start(lab, &pair.near, &pair.far, 1_000, LINK_BPS, &flows);
    wait_until("a pause", || pauses_sent(&pair.gateway.show(), "dc0") > 0);
    for xoff in ["48KiB", "64KiB"] {
        let changed = configuration.replace("xoff = \"64KiB\"", &format!("xoff = \"{xoff}\""));
        let reloaded = pair.gateway.reload(&changed);
        assert!(reloaded.status.success(), "{}", String::from_utf8_lossy(&reloaded.stderr));
    }
    let sent = sender.end();
    assert!(sent.pauses[usize::from(LOSSLESS.1)] > 0, "its host has seen it");
    flows.iter().for_each(|flow| receiver.wait_for_flow(flow.port, sent.sent[&flow.port]));
    let received = receiver.end();
    flows.iter().for_each(|flow| received.expect_complete(flow.port, &sent));
    expect_two_lanes(&pair.gateway);
    pair.gateway.end();
}

fn too_few_queues(lab: &Lab) {
    let namespace = lab.namespace("gw");
    let capture = lab.path("out.pcap");
    let capture = format!("device = {{ vdev = \"net_pcap0,tx_pcap={}\" }}", capture.display());
    let configuration = with_lanes(&two_ports("1G", "1G"));
    let is_first = |line: &&str| line.contains("net_af_packet0,");
    let device = configuration.lines().find(is_first).expect("a port has a device");
    let configuration = configuration.replace(device, &capture);
    let path = lab.path("few.toml");
    std::fs::write(&path, configuration).unwrap();
    let mut command = namespace.command(env!("CARGO_BIN_EXE_longspan"));
    let refused = command.arg("run").arg("--config").arg(&path).output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("one for each rx_pcap and tx_pcap"), "{text}");
}
