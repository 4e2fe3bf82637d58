//! Gateways whose memif peer disappears and returns, or stands still.

use crate::configuration::{LOSSLESS, port};
use crate::lab::{
    Ended, Flow, Gateway, Host, Lab, Namespace, Receiver, Sender, answers, cores, pauses, ping, wait_until,
};
use crate::{on_the_wire, on_the_wire_with_cores};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_client_goes_on_when_its_killed_server_is_back", |lab| peer_is_killed(lab, SERVER)),
        on_the_wire("a_server_goes_on_when_its_killed_client_is_back", |lab| peer_is_killed(lab, CLIENT)),
        on_the_wire("a_client_goes_on_when_its_server_was_ended_and_is_back", server_is_ended),
        on_the_wire("a_server_whose_client_stalls_serves_its_other_ports", |lab| peer_stalls(lab, CLIENT)),
        on_the_wire("a_client_whose_server_stalls_serves_its_other_ports", |lab| peer_stalls(lab, SERVER)),
        on_the_wire("both_ends_of_a_memif_end_at_once", both_end),
        on_the_wire_with_cores(2, "two_gateways_of_one_machine_choose_different_cores", cores_apart),
    ]
}

const LINK_BPS: u64 = 1_000_000_000;
/// The listening and the connecting end of a memif.
const SERVER: usize = 0;
const CLIENT: usize = 1;
/// How often a peer disappears or stalls.
const TIMES: u16 = 3;

/// Two gateways connected by a memif, each with two hosts.
struct Peers {
    hosts: [Host; 2],
    /// Their neighbours, who need no memif to reach them.
    neighbours: [Host; 2],
    namespaces: [Namespace; 2],
    configurations: [String; 2],
    /// `None` once it has ended.
    gateways: [Option<Gateway>; 2],
}

/// The configuration of one end, with two ports for hosts. Nothing that comes by the memif is lossless: frames that cannot
/// leave are dropped, and the other end is not paused.
fn configuration(end: usize, socket: &str) -> String {
    let role = ["server", "client"][end];
    let allowed = cores();
    let core = allowed[end % allowed.len()];
    format!(
        r#"
[gateway]
name = "{role}"

[control]
drain = "100ms"

[dpdk]
cores = [{core}]
idle = "sleep"

[forwarding]
mode = "bridge"

[[port]]
name = "lh0"
rate = "1G"
mtu = 1500
device = {{ memif = {{ socket = "{socket}", role = "{role}" }} }}

{}
{}
"#,
        port(0, "dc0", "1G"),
        port(1, "dc1", "1G")
    )
}

impl Peers {
    fn new(lab: &Lab) -> Self {
        let namespaces = [lab.namespace("server"), lab.namespace("client")];
        let host = |number, end: usize, interface| Host::new(lab, number, &namespaces[end], interface);
        let hosts = [host(1, SERVER, "dc0"), host(2, CLIENT, "dc0")];
        let neighbours = [host(3, SERVER, "dc1"), host(4, CLIENT, "dc1")];
        let socket = lab.socket("link.memif");
        let socket = socket.to_str().expect("the lab's paths are plain");
        let configurations = [SERVER, CLIENT].map(|end| configuration(end, socket));
        let mut peers = Self { hosts, neighbours, namespaces, configurations, gateways: [None, None] };
        peers.start(lab, SERVER);
        peers.start(lab, CLIENT);
        peers.wait_for_frames();
        peers
    }

    fn start(&mut self, lab: &Lab, end: usize) {
        let name = ["server", "client"][end];
        let gateway = Gateway::start(lab, &self.namespaces[end], name, &self.configurations[end]);
        self.gateways[end] = Some(gateway);
    }

    fn gateway(&mut self, end: usize) -> &mut Gateway {
        self.gateways[end].as_mut().expect("it runs")
    }

    fn take(&mut self, end: usize) -> Gateway {
        self.gateways[end].take().expect("it runs")
    }

    fn wait_for_frames(&self) {
        wait_until("frames to pass", || answers(&self.hosts[1], &self.hosts[0]));
    }

    /// Waits until the gateway at `end` has paused its host, or resumed it.
    fn wait_until_sender_is_paused(&self, end: usize, is_paused: bool) {
        let gateway = self.gateways[end].as_ref().expect("it runs");
        wait_until(if is_paused { "a pause" } else { "a resume" }, || {
            pauses(&gateway.show(), "dc0") == is_paused
        });
    }

    /// Makes both hosts send to each other until the returned load is ended.
    fn load(&self, lab: &Lab) -> [Sender; 2] {
        let [one, other] = &self.hosts;
        [(one, other), (other, one)]
            .map(|(from, to)| Sender::start(lab, from, to, 250, LINK_BPS, &flow(1, None)))
    }

    /// Asserts that all frames pass.
    fn expect_sound(&self, lab: &Lab) {
        let [from, to] = &self.hosts;
        let mut receiver = Receiver::start(lab, to);
        let sent = Sender::start(lab, from, to, 250, LINK_BPS, &flow(2, Some(500))).finished();
        receiver.wait_for_flow(2, 500);
        receiver.end().expect_complete(2, &sent);
    }
}

/// A flow of frames of 250 bytes, at 5,000 per second.
fn flow(port: u16, count: Option<u64>) -> [Flow; 1] {
    let (dscp, priority) = LOSSLESS;
    [Flow { port, dscp, priority, bps: 10_000_000, count }]
}

fn peer_is_killed(lab: &Lab, killed: usize) {
    let mut peers = Peers::new(lab);
    let stays = 1 - killed;
    let idle_mbufs = peers.gateway(stays).mbufs_in_use();
    let load = peers.load(lab);
    for _ in 0..TIMES {
        peers.take(killed).kill();
        wait_until("the link to be seen down", || !link_is_up(peers.gateways[stays].as_ref().unwrap()));
        peers.start(lab, killed);
        peers.wait_for_frames();
        peers.gateway(stays).expect_running();
    }
    let _ = load.map(Sender::end);
    peers.expect_sound(lab);
    let stayed = peers.take(stays);
    wait_until("all mbufs to come back", || stayed.mbufs_in_use() == idle_mbufs);
    let ended = stayed.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    peers.take(killed).end();
}

fn peer_stalls(lab: &Lab, stalled: usize) {
    let mut peers = Peers::new(lab);
    let stays = 1 - stalled;
    let idle_mbufs = peers.gateway(stays).mbufs_in_use();
    let (from, to) = (&peers.hosts[stays], &peers.hosts[stalled]);
    let mut receiver = Receiver::start(lab, to);
    let load = Sender::start(lab, from, to, 250, LINK_BPS, &flow(3, None));
    receiver.wait_for_flow(3, 500);
    for _ in 0..TIMES {
        peers.gateway(stalled).stop();
        peers.wait_until_sender_is_paused(stays, true);
        ping(&peers.hosts[stays], &peers.neighbours[stays], 20);
        peers.gateway(stalled).go_on();
        peers.wait_until_sender_is_paused(stays, false);
    }
    let sent = load.end();
    receiver.wait_for_flow(3, sent.sent[&3]);
    receiver.end().expect_complete(3, &sent);
    let stayed = peers.gateways[stays].as_ref().unwrap();
    wait_until("all mbufs to come back", || stayed.mbufs_in_use() == idle_mbufs);
    let load = Sender::start(lab, &peers.hosts[stays], &peers.hosts[stalled], 250, LINK_BPS, &flow(4, None));
    peers.gateway(stalled).stop();
    peers.wait_until_sender_is_paused(stays, true);
    let ended = peers.take(stays).end();
    assert_eq!(ended.status.code(), Some(1), "it ends without the peer: {}", ended.stderr);
    expect_no_crash(&ended);
    let _ = load.end();
    peers.gateway(stalled).go_on();
    peers.take(stalled).end();
}

fn server_is_ended(lab: &Lab) {
    let mut peers = Peers::new(lab);
    let idle_mbufs = peers.gateway(CLIENT).mbufs_in_use();
    let load = peers.load(lab);
    for _ in 0..TIMES {
        expect_no_crash(&peers.take(SERVER).end());
        wait_until("the link to be seen down", || !link_is_up(peers.gateways[CLIENT].as_ref().unwrap()));
        peers.start(lab, SERVER);
        peers.wait_for_frames();
        peers.gateway(CLIENT).expect_running();
    }
    let _ = load.map(Sender::end);
    peers.expect_sound(lab);
    let client = peers.gateways[CLIENT].as_ref().unwrap();
    wait_until("all mbufs to come back", || client.mbufs_in_use() == idle_mbufs);
}

fn both_end(lab: &Lab) {
    let mut peers = Peers::new(lab);
    let load = peers.load(lab);
    for _ in 0..2 * TIMES {
        let gateways = [peers.take(SERVER), peers.take(CLIENT)];
        for gateway in &gateways {
            gateway.signal(rustix::process::Signal::TERM);
        }
        for gateway in gateways {
            // Another signal would end it at once.
            expect_no_crash(&gateway.ended());
        }
        peers.start(lab, SERVER);
        peers.start(lab, CLIENT);
        peers.wait_for_frames();
    }
    let _ = load.map(Sender::end);
    peers.expect_sound(lab);
}

/// Asserts that it ends by itself: with status 1 if frames that waited for its peer are lost, and with a message.
fn expect_no_crash(ended: &Ended) {
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}: {}", ended.status, ended.stderr);
    assert_eq!(ended.status.success(), !ended.stderr.contains("still queued"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("Invalid memory"), "{}", ended.stderr);
}

/// The state of the gateway's end of the memif.
fn link_is_up(gateway: &Gateway) -> bool {
    let shown = gateway.show();
    crate::lab::port(&shown, "lh0")["device"]["link_up"].as_bool().expect("a device has a link")
}

/// Also with separate network namespaces.
fn cores_apart(lab: &Lab) {
    let port = |name: &str| {
        format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\ndevice = {{ vdev = \"net_null{name}\" }}\n")
    };
    let text = format!("[dpdk]\nidle = \"sleep\"\n[control]\nmetrics = \"none\"\n{}{}", port("0"), port("1"));
    let namespaces = [lab.namespace("one"), lab.namespace("other")];
    let start = |name: &str, namespace| Gateway::start(lab, namespace, name, &text);
    let one = start("one", &namespaces[0]);
    let core = |gateway: &Gateway| gateway.show()["workers"][0]["core"].as_u64().unwrap();
    let (first, other) = (core(&one), start("other", &namespaces[1]));
    assert_ne!(core(&other), first);
    one.end();
    assert_eq!(core(&start("third", &namespaces[0])), first, "it is free again");
}
