//! Two gateways with a long link between them: several senders, one slow receiver.

use crate::configuration::{LOSSLESS, LongHaulEnd};
use crate::lab::{
    Flow, Gateway, Host, Lab, Namespace, Receiver, Sender, Sent, answers, pauses_sent, ping, port,
    repository, wait_until,
};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;
use std::sync::Mutex;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("senders_lose_nothing_over_80_km_with_pfc", |lab| congest(lab, "PFC", &pfc)),
        on_the_wire("senders_lose_nothing_over_80_km_with_bifrost", |lab| congest(lab, "Bifrost", &bifrost)),
        on_the_wire("senders_lose_nothing_over_80_km_with_lscc", |lab| congest(lab, "LSCC", &lscc)),
        on_the_wire("a_gateway_whose_peer_was_killed_carries_again", peer_comes_back),
    ]
}

const SENDERS: u8 = 3;
const RECEIVER: u8 = 9;
const HOST_LINK_BPS: u64 = 1_000_000_000;
/// The rate of the receiver's link.
const BOTTLENECK: (&str, f64) = ("20M", 20e6);
/// The offered rate of each sender, and its duration if it were alone: some seconds at the bottleneck.
const OFFERED_BPS: u64 = 20_000_000;
const FRAME_BYTES: usize = 1_000;
const FRAMES: u64 = 2_500;
/// Frame check sequence, preamble and gap.
const BETWEEN_FRAMES_BYTES: f64 = 24.0;

/// The settings of a scheme at the port of the long link: at the gateway of the senders (0) and at that of the receiver
/// (1).
type Scheme = dyn Fn(u8) -> String;

fn pfc(_: u8) -> String {
    "[[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nxon = \"32KiB\"\nheadroom = \"1MiB\"\n".to_owned()
}

fn bifrost(_: u8) -> String {
    // Workers share their cores with everything else on this machine, and may be suspended for this long. Late use of
    // grants by the near gateway is jitter. A late end of slots at the far gateway is lateness, and an equal holdover
    // keeps a stopped upstream from using them.
    let patient =
        "[port.bifrost]\nslot = \"200us\"\njitter = \"50ms\"\nlateness = \"50ms\"\nholdover = \"50ms\"\n";
    format!("flow_control = \"bifrost\"\n\n[[port.lossless]]\npriorities = [3]\n\n{patient}")
}

fn lscc(side: u8) -> String {
    let key = repository("config/keys/example.key").canonicalize().unwrap();
    let (local, peer) = (side + 1, 2 - side);
    // Nothing else is congested here, so no flow is flagged, and all flows are young.
    let lscc = format!(
        r#"
[port.lscc]
local = "10.255.0.{local}"
peer = "10.255.0.{peer}"
key_file = {key:?}
step = "500k"
least = "1M"
long_flow = "100MB"
"#
    );
    bifrost(side) + &lscc
}

/// The common part of both gateways: a bridge, and the port `lh0`, 80 km from the other one.
fn gateway(side: u8, socket: &str, scheme: &Scheme, hosts: &[(String, &str)]) -> String {
    let hosts: Vec<_> = hosts.iter().map(|(name, rate)| (name.as_str(), *rate)).collect();
    let (name, scheme) = (format!("side-{side}"), scheme(side));
    let (shared, rate) = ("8MiB", "100M");
    LongHaulEnd { name: &name, side: side.into(), socket, shared, rate, scheme: &scheme }.bridge(&hosts)
}

/// The port of a host.
fn name(number: u8) -> String {
    format!("dc{number}")
}

/// Two gateways, for the senders (0) and the receiver (1), in separate namespaces.
struct LongHaul {
    senders: Vec<Host>,
    receiver: Host,
    namespaces: [Namespace; 2],
    configurations: [String; 2],
    gateways: [Gateway; 2],
}

impl LongHaul {
    fn new(lab: &Lab, scheme: &Scheme) -> Self {
        let namespaces = [lab.namespace("near"), lab.namespace("far")];
        let senders: Vec<Host> =
            (1..=SENDERS).map(|number| Host::new(lab, number, &namespaces[0], &name(number))).collect();
        let receiver = Host::new(lab, RECEIVER, &namespaces[1], &name(RECEIVER));
        let socket = lab.socket("link.memif");
        let socket = socket.to_str().expect("the lab's paths are plain");
        let ports: Vec<(String, &str)> = (1..=SENDERS).map(|number| (name(number), "1G")).collect();
        let configurations = [
            gateway(0, socket, scheme, &ports),
            gateway(1, socket, scheme, &[(name(RECEIVER), BOTTLENECK.0)]),
        ];
        let gateways = [
            Gateway::start(lab, &namespaces[0], "near", &configurations[0]),
            Gateway::start(lab, &namespaces[1], "far", &configurations[1]),
        ];
        Self { senders, receiver, namespaces, configurations, gateways }
    }

    /// Makes both bridges learn all stations.
    fn learn(&self) {
        for sender in &self.senders {
            ping(&self.receiver, sender, 1);
        }
    }
}

fn congest(lab: &Lab, scheme_name: &'static str, scheme: &Scheme) {
    let long_haul = LongHaul::new(lab, scheme);
    long_haul.learn();
    let mut receiver = Receiver::start(lab, &long_haul.receiver);
    // The number of a flow's queue pair is its port; 1 is that of connection management.
    let senders: Vec<Sender> = (2..)
        .zip(&long_haul.senders)
        .map(|(port, host)| {
            let (dscp, priority) = LOSSLESS;
            let flow = Flow { port, dscp, priority, bps: OFFERED_BPS, count: Some(FRAMES) };
            Sender::start(lab, host, &long_haul.receiver, FRAME_BYTES, HOST_LINK_BPS, &[flow])
        })
        .collect();
    let sent: Vec<Sent> = senders.into_iter().map(Sender::finished).collect();
    for flow in sent.iter().flat_map(|sent| sent.sent.keys()) {
        receiver.wait_for_flow(*flow, FRAMES);
    }
    let received = receiver.end();
    let near = long_haul.gateways[0].show();
    let far = long_haul.gateways[1].show();
    let [near_gateway, far_gateway] = long_haul.gateways;
    near_gateway.end();
    far_gateway.end();

    let on_the_wire = (FRAME_BYTES as f64 + BETWEEN_FRAMES_BYTES) / FRAME_BYTES as f64;
    let (held, bound) = held_and_bound(&far);
    let counts = sent.iter().flat_map(|sent| &sent.sent);
    let row = Row {
        scheme: scheme_name,
        lost: counts.map(|(flow, count)| count.abs_diff(received.flow(*flow).received)).sum(),
        busy_percent: received.bits_per_second() * on_the_wire / BOTTLENECK.1 * 100.0,
        held,
        bound,
        far_pauses: pauses_sent(&far, "lh0"),
        near_pauses: (1..=SENDERS).map(|number| pauses_sent(&near, &name(number))).sum(),
        direct_cnps: port(&near, "lh0")["lscc"]["cnps"]["direct"].as_u64(),
    };
    let told = row.direct_cnps;
    ROWS.lock().unwrap().push(row);
    for sent in &sent {
        for flow in sent.sent.keys() {
            received.expect_complete(*flow, sent);
        }
    }
    assert!(held <= bound, "{held} of {bound} bytes");
    let marked = received.flows.values().map(|seen| seen.marked).sum();
    expect_told(scheme_name, told, &sent, marked);
}

/// LSCC alone notifies the senders. Together they offer three times the rate of the bottleneck, so each of them is
/// notified at least once, and receives the notification.
fn expect_told(scheme: &str, told: Option<u64>, sent: &[Sent], marked: u64) {
    assert_eq!(told.is_some(), scheme == "LSCC");
    let Some(told) = told else { return };
    // Beside these there are those of the receiver, at most one for each frame that came marked.
    let heard: Vec<u64> = sent.iter().flat_map(|sent| sent.cnps.values().copied()).collect();
    let all: u64 = heard.iter().sum();
    assert!(heard.iter().all(|cnps| *cnps >= 1) && all <= told + marked, "{heard:?}, {told} and {marked}");
}

/// The results of a scheme.
struct Row {
    scheme: &'static str,
    lost: u64,
    busy_percent: f64,
    held: u64,
    bound: u64,
    far_pauses: u64,
    near_pauses: u64,
    /// `None` without LSCC.
    direct_cnps: Option<u64>,
}

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

/// Prints the results of all schemes that were tested.
pub fn print_table() {
    let rows = ROWS.lock().unwrap();
    if rows.is_empty() {
        return;
    }
    let [rate, bottleneck] = [OFFERED_BPS as f64 * f64::from(SENDERS), BOTTLENECK.1].map(|bps| bps / 1e6);
    println!("{SENDERS} senders of {rate} Mb/s in all, over 80 km, to a receiver of {bottleneck} Mb/s\n");
    println!(
        "| scheme  | lost | bottleneck busy | held at most |     bound | pauses over 80 km | pauses to hosts | direct CNPs |"
    );
    println!(
        "|---------|-----:|----------------:|-------------:|----------:|------------------:|----------------:|------------:|"
    );
    for Row { scheme, lost, busy_percent, held, bound, far_pauses, near_pauses, direct_cnps } in &*rows {
        let cnps = direct_cnps.map_or("-".to_owned(), |cnps| cnps.to_string());
        println!(
            "| {scheme:7} | {lost:4} | {busy_percent:13.1} % | {held:12} | {bound:9} | {far_pauses:17} | {near_pauses:15} | {cnps:>11} |"
        );
    }
}

fn peer_comes_back(lab: &Lab) {
    let long_haul = LongHaul::new(lab, &pfc);
    long_haul.learn();
    let idle_mbufs = long_haul.gateways[0].mbufs_in_use();
    let LongHaul { senders, receiver, namespaces, configurations, gateways: [mut near, far] } = long_haul;
    let (dscp, priority) = LOSSLESS;
    let flow = |port, count| [Flow { port, dscp, priority, bps: 4_000_000, count }];
    let sender = Sender::start(lab, &senders[0], &receiver, FRAME_BYTES, HOST_LINK_BPS, &flow(2, None));
    far.kill();
    // If no one takes lossless frames, they wait, and so does their sender.
    wait_until("the sender to be paused", || pauses_sent(&near.show(), &name(1)) > 0);
    near.expect_running();
    let far = Gateway::start(lab, &namespaces[1], "far", &configurations[1]);
    wait_until("frames to pass again", || answers(&receiver, &senders[0]));
    sender.end();

    let mut counted = Receiver::start(lab, &receiver);
    let sent = Sender::start(lab, &senders[0], &receiver, FRAME_BYTES, HOST_LINK_BPS, &flow(3, Some(500)))
        .finished();
    counted.wait_for_flow(3, 500);
    counted.end().expect_complete(3, &sent);
    wait_until("all mbufs to come back", || near.mbufs_in_use() == idle_mbufs);
    far.end();
    near.end();
}

/// The maximum occupancy of the long link's lossless group, and its limit.
fn held_and_bound(shown: &Value) -> (u64, u64) {
    let group = &port(shown, "lh0")["priorities"][usize::from(LOSSLESS.1)]["ingress"];
    let bytes = |value: &Value| value.as_u64().expect("it is in bytes");
    let held = bytes(&group["watermark_bytes"]) + bytes(&group["headroom_watermark_bytes"]);
    (held, bytes(&group["limits"]["xoff_bytes"]) + bytes(&group["limits"]["headroom_bytes"]))
}
