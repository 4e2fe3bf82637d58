//! The kernel path: TAPs in a network namespace, and the routes and neighbours of that.

use crate::configuration::{LOSSLESS, LOSSY, port};
use crate::lab::{
    Flow, Gateway, Host, Lab, Namespace, Receiver, Sender, USER, answers, port as shown_port, scapy,
    wait_until,
};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire(
            "routes_and_neighbours_of_the_kernel_are_followed_and_it_answers_itself",
            routes_are_followed,
        ),
        on_the_wire(
            "claims_of_addresses_move_no_permanent_neighbour_and_are_not_learned_on_a_long_port",
            claims,
        ),
        on_the_wire("a_flood_to_the_gateway_and_a_storm_of_routes_cost_no_lossless_frame", flood_and_storm),
        on_the_wire("a_tap_has_a_carrier_while_enough_members_of_its_bundle_carry_data", carrier_follows),
        on_the_wire("a_kernel_path_without_its_namespace_says_so", no_namespace),
    ]
}

/// The default address of the first port of a gateway.
const FIRST_MAC: &str = "02:00:00:00:00:01";
const FAR_MAC: &str = "02:00:00:00:77:02";
/// An address beyond the far host.
const BEYOND: &str = "10.99.0.1";

/// A TAP of the gateway's kernel, with this address.
pub fn tap(kernel: &Namespace, name: &str, address: &str) {
    kernel.ip(&format!("tuntap add dev {name} mode tap user {USER}"));
    kernel.ip(&format!("addr add {address} dev {name}"));
    kernel.ip(&format!("link set {name} up"));
}

/// Host `number` in the network 10.77.`number`.0/24, whose gateway is at .254. Senders take `mac` for its address: its own, or that of their
/// gateway.
pub fn station(lab: &Lab, number: u8, gateway: &Namespace, interface: &str, mac: &str) -> Host {
    let namespace = lab.namespace(&format!("h{number}"));
    gateway.connect(interface, &namespace, "eth0", 1_500);
    let address = format!("10.77.{number}.1");
    namespace.ip(&format!("link set eth0 address 02:00:00:00:77:{number:02x}"));
    namespace.ip(&format!("addr add {address}/24 dev eth0"));
    namespace.ip(&format!("route add default via 10.77.{number}.254"));
    Host { namespace, mac: mac.into(), address }
}

/// A routed port, with more keys.
pub fn routed(index: usize, name: &str, more: &str) -> String {
    port(index, name, "1G").replacen("[[port]]\n", &format!("[[port]]\n{more}"), 1)
}

pub fn reaches(from: &Host, address: &str) -> bool {
    let mut ping = from.namespace.command("ping");
    ping.args(["-c", "1", "-W", "1", address]).output().unwrap().status.success()
}

fn frames(shown: &Value, name: &str, kind: &str, reason: &str) -> u64 {
    let port = shown_port(shown, name);
    let of = |table: &Value| table[reason]["frames"].as_u64().unwrap_or(0);
    match kind {
        "consumed" => of(&port["consumed"]),
        _ => port["priorities"].as_array().unwrap().iter().map(|it| of(&it["ingress"]["dropped"])).sum(),
    }
}

/// The events of the kernel path: the time, the number of routes, and why they were refused.
pub fn tables(gateway: &Gateway) -> Vec<(u64, u64, Option<String>)> {
    let mut command = gateway.command(&["events", "--last", "1000", "--kind", "kernel", "--json"]);
    let output = command.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let refused = event["refused"].as_str().map(Into::into);
        (event["at_ns"].as_u64().unwrap(), event["routes"].as_u64().unwrap(), refused)
    };
    lines.lines().map(event).collect()
}

/// A gateway between a near and a far host, and the namespace of its kernel.
struct Site {
    kernel: Namespace,
    near: Host,
    far: Host,
    gateway: Gateway,
}

impl Site {
    fn start(lab: &Lab) -> Self {
        let (namespace, kernel) = (lab.namespace("gw"), lab.namespace("kernel"));
        let near = station(lab, 1, &namespace, "dc0", "02:00:00:00:77:01");
        let far = station(lab, 2, &namespace, "lh0", FIRST_MAC);
        far.namespace.ip(&format!("addr add {BEYOND}/32 dev lo"));
        tap(&kernel, "dc0", "10.77.1.254/24");
        tap(&kernel, "lh0", "10.77.2.254/24");
        let text = format!(
            "[gateway]\nname = \"gw\"\n[dpdk]\nidle = \"sleep\"\n[kernel]\nnamespace = \"{}\"\nlearn = [\"dc0\"]\n\
             [forwarding]\nmode = \"route\"\n{}{}",
            kernel.name(),
            routed(0, "dc0", "addresses = [\"10.77.1.254/24\"]\n"),
            routed(1, "lh0", "addresses = [\"10.77.2.254/24\"]\n"),
        );
        let gateway = Gateway::start(lab, &namespace, "gw", &text);
        Self { kernel, near, far, gateway }
    }

    /// Tells the kernel the address of the far host for good.
    fn know_far(&self) {
        self.kernel.ip(&format!("neigh replace {} lladdr {FAR_MAC} dev lh0 nud permanent", self.far.address));
    }
}

fn routes_are_followed(lab: &Lab) {
    let site = Site::start(lab);
    let Site { kernel, near, far, gateway } = &site;
    wait_until("the kernel to answer", || reaches(near, "10.77.1.254"));
    let dropped = |reason: &str| frames(&gateway.show(), "dc0", "dropped", reason);
    assert!(frames(&gateway.show(), "dc0", "consumed", "punt_other") > 0, "an echo");
    assert!(frames(&gateway.show(), "dc0", "consumed", "punt_neighbour") > 0, "ARP");
    assert!(!reaches(near, BEYOND));
    assert!(dropped("no_route") > 0);

    site.know_far();
    // Nobody has told the kernel of the near host: the first answers to it are missed, and it looks.
    wait_until("neighbours to be found", || answers(far, near));
    kernel.ip(&format!("route add 10.99.0.0/24 via {}", far.address));
    wait_until("the route to be followed", || reaches(near, BEYOND));
    kernel.ip("route del 10.99.0.0/24");
    wait_until("the route to go", || !reaches(near, BEYOND));
    let before = dropped("no_route");
    assert!(!reaches(near, BEYOND));
    assert!(dropped("no_route") > before);

    // A reload keeps what the kernel knows.
    kernel.ip(&format!("route add 10.99.0.0/24 via {}", far.address));
    wait_until("the route to be followed", || reaches(near, BEYOND));
    let text = fs::read_to_string(gateway.configuration()).unwrap();
    assert!(gateway.reload(&format!("{text}\n[buffer]\nshared = \"8MiB\"\n")).status.success());
    assert!(reaches(near, BEYOND));
    site.gateway.end();
}

fn claims(lab: &Lab) {
    const CLAIM: &str = "
def claim(address, of=2, op=2):
    arp = ARP(op=op, hwsrc='02:00:00:00:66:66', psrc=address, pdst=f'10.77.{of}.254')
    sendp([Ether(src='02:00:00:00:66:66', dst=f'02:00:00:00:00:{of:02}')/arp] * 3, iface='eth0', verbose=False)
";
    let site = Site::start(lab);
    let Site { kernel, near, far, gateway } = &site;
    wait_until("the kernel to find the far host", || {
        let mut ping = kernel.command("ping");
        ping.args(["-c", "1", "-W", "1", &far.address]).output().unwrap().status.success()
    });
    assert!(!reaches(near, &far.address), "a long port does not learn it");
    site.know_far();
    wait_until("a permanent neighbour to be taken", || reaches(near, &far.address));
    let of = |kind: &str, reason: &str| frames(&gateway.show(), "lh0", kind, reason);
    let before = of("consumed", "punt_neighbour");
    scapy(&far.namespace, &format!("{CLAIM}\nclaim('{}')\nclaim('10.77.2.254')", far.address));
    wait_until("the claims to come", || {
        of("consumed", "punt_neighbour") >= before + 3 && of("dropped", "spoofed_address") >= 3
    });
    assert_eq!(of("dropped", "spoofed_address"), 3);
    assert!(kernel.ip("neigh show dev lh0").contains(&format!("{} lladdr {FAR_MAC} PERMANENT", far.address)));
    assert!(reaches(near, &far.address));
    // A port that learns gives its kernel a neighbour of this address, to which nothing moves.
    scapy(&near.namespace, &format!("{CLAIM}\nclaim('{}', of=1, op=1)", far.address));
    wait_until("the claim to be learned", || kernel.ip("neigh show dev dc0").contains(&far.address));
    let before = tables(gateway).len();
    kernel.ip(&format!("route add 10.99.0.0/24 via {}", far.address));
    wait_until("what the kernel knows to be followed", || tables(gateway).len() > before);
    assert!(reaches(near, &far.address) && reaches(near, BEYOND));
    site.gateway.end();
}

fn flood_and_storm(lab: &Lab) {
    const ROUTES: u64 = 10_000;
    let site = Site::start(lab);
    let Site { kernel, near, far, gateway } = &site;
    site.know_far();
    wait_until("neighbours to be found", || answers(far, near));

    let mut receiver = Receiver::start(lab, far);
    let flow = |port, (dscp, priority), bps| Flow { port, dscp, priority, bps, count: None };
    let lossless = Sender::start(lab, near, far, 1_000, 1_000_000_000, &[flow(1, LOSSLESS, 10_000_000)]);
    let print_turns = |when: &str| {
        let turn = &gateway.show()["workers"][0]["turn"];
        eprintln!("turn {when} the flood: p50 {} ns, p99 {} ns", turn["p50_ns"], turn["p99_ns"]);
    };
    print_turns("before");
    let itself =
        Host { namespace: lab.namespace("none"), mac: FIRST_MAC.into(), address: "10.77.1.254".into() };
    let flood = Sender::start(lab, near, &itself, 100, 1_000_000_000, &[flow(2, LOSSY, 4_000_000)]);
    let limited = || frames(&gateway.show(), "dc0", "dropped", "punt_limit");
    wait_until("the flood to be limited", || limited() > 2_000);

    let batch = |verb: &str, last: u64| {
        let line = |number: u64| {
            format!("route {verb} 10.{}.{}.0/24 via {}\n", 100 + number / 256, number % 256, far.address)
        };
        let path = lab.path("routes");
        fs::write(&path, (0..last).map(line).collect::<String>()).unwrap();
        kernel.run("ip", &["-batch", path.to_str().unwrap()]);
    };
    batch("add", ROUTES);
    wait_until("all routes to be in force", || tables(gateway).last().is_some_and(|it| it.1 >= ROUTES));
    let seen = receiver.so_far().flow(1).next;
    receiver.wait_for_flow(1, seen + 100);
    print_turns("with");
    flood.end();
    let sent = lossless.end();
    receiver.wait_for_flow(1, sent.sent[&1]);
    receiver.end().expect_complete(1, &sent);

    // Twenty exchanges a second at most: the gateway waits, whatever the load.
    let times: Vec<_> = tables(gateway).iter().map(|it| it.0).collect();
    assert!(times.windows(21).all(|span| span[20] - span[0] >= 1_000_000_000), "{times:?}");
    // Beyond the bound the routes before stay in force, until there are fewer again.
    far.namespace.ip("addr add 10.100.5.1/32 dev lo");
    wait_until("a route of the storm to be followed", || reaches(near, "10.100.5.1"));
    batch("replace", ROUTES + 300);
    wait_until("the kernel to have too many", || tables(gateway).last().is_some_and(|it| it.2.is_some()));
    assert!(reaches(near, "10.100.5.1"));
    batch("del", ROUTES + 300);
    wait_until("the routes to go", || tables(gateway).last().is_some_and(|it| it.2.is_none() && it.1 < 100));
    assert!(!reaches(near, "10.100.5.1"));
    site.gateway.end();
}

fn has_carrier(kernel: &Namespace, name: &str) -> bool {
    kernel.run("cat", &[&format!("/sys/class/net/{name}/carrier")]).trim() == "1"
}

fn carrier_follows(lab: &Lab) {
    let (namespace, kernel, peer) = (lab.namespace("gw"), lab.namespace("kernel"), lab.namespace("peer"));
    for link in ["dc0", "lh0", "lh1"] {
        namespace.connect(link, &peer, link, 1_500);
    }
    tap(&kernel, "dc0", "10.77.1.254/24");
    tap(&kernel, "lh", "10.77.2.254/24");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[dpdk]\nidle = \"sleep\"\n[kernel]\nnamespace = \"{}\"\n[forwarding]\nmode = \"route\"\n\
         [[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\nleast = 2\n{}{}{}",
        kernel.name(),
        routed(0, "dc0", "addresses = [\"10.77.1.254/24\"]\n"),
        routed(1, "lh0", "addresses = [\"10.77.2.254/24\"]\n"),
        routed(2, "lh1", ""),
    );
    let gateway = Gateway::start(lab, &namespace, "gw", &text);
    wait_until("a carrier", || has_carrier(&kernel, "lh") && has_carrier(&kernel, "dc0"));
    namespace.ip("link set lh1 down");
    wait_until("the carrier to go", || !has_carrier(&kernel, "lh"));
    assert!(has_carrier(&kernel, "dc0"));
    namespace.ip("link set lh1 up");
    wait_until("the carrier to come back", || has_carrier(&kernel, "lh"));
    namespace.ip("link set dc0 down");
    wait_until("the carrier to go", || !has_carrier(&kernel, "dc0"));
    kernel.ip("link del dc0");
    let is_noted =
        || tables(&gateway).iter().any(|it| it.2.as_ref().is_some_and(|it| it.contains("dc0 is gone")));
    wait_until("the loss of the TAP to be noted", is_noted);
    namespace.ip("link set lh1 down");
    wait_until("the carrier of the other one to go", || !has_carrier(&kernel, "lh"));
    gateway.end();
}

fn no_namespace(lab: &Lab) {
    let text = format!(
        "[gateway]\nname = \"gw\"\n[kernel]\nnamespace = \"{0}\"\n[forwarding]\nmode = \"route\"\n[dpdk]\nhugepages = \"never\"\n\
         file_prefix = \"{0}\"\n[control]\nsocket = \"{1}\"\n[process]\nuser = \"{USER}\"\n{2}{3}",
        lab.unique("nowhere"),
        lab.socket("gw.sock").display(),
        routed(0, "dc0", ""),
        routed(1, "lh0", ""),
    );
    let path = lab.path("gw.toml");
    fs::write(&path, text).unwrap();
    let namespace = lab.namespace("gw");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_longspan"));
    let output = command.arg("run").arg("--config").arg(&path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && error.contains("kernel.namespace: cannot enter /run/netns/"),
        "{error}"
    );
}
