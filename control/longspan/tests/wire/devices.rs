//! Devices at the start, and what they do not send.

use crate::configuration::{LOSSLESS, two_ports};
use crate::lab::{Flow, Gateway, Host, Lab, Namespace, Process, Receiver, Sender, port, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

const LINK_BPS: u64 = 1_000_000_000;
const FRAMES: u64 = 100;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("frames_beyond_an_mtu_that_shrinks_are_dropped_by_name_and_all_others_arrive", shrinks),
        on_the_wire("the_mtu_of_an_interface_is_raised_to_that_of_its_port_at_the_start", raises),
        on_the_wire("what_the_kernel_drops_behind_af_xdp_is_counted_as_not_sent", dropped_below),
        on_the_wire("an_mtu_that_is_not_raised_is_refused_where_frames_are_lossless", refuses_short_mtu),
        on_the_wire(
            "a_device_that_may_come_or_be_free_later_ends_a_start_with_another_status_than_a_wrong_one",
            statuses,
        ),
    ]
}

/// A lossless flow from UDP port `port`, of [`FRAMES`] frames.
fn flow(port: u16) -> [Flow; 1] {
    let (dscp, priority) = LOSSLESS;
    [Flow { port, dscp, priority, bps: 20_000_000, count: Some(FRAMES) }]
}

/// Sends [`FRAMES`] frames of `length` bytes through the gateway.
fn send(lab: &Lab, pair: &Pair, port: u16, length: usize) {
    Sender::start(lab, &pair.near, &pair.far, length, LINK_BPS, &flow(port)).finished();
}

/// Lossless frames that came in through `dc0` and were dropped as longer than the port.
fn oversize(gateway: &Gateway) -> u64 {
    let shown = gateway.show();
    let priority = &port(&shown, "dc0")["priorities"][usize::from(LOSSLESS.1)];
    priority["ingress"]["dropped"]["oversize"]["frames"].as_u64().unwrap_or(0)
}

fn transmit_errors(gateway: &Gateway) -> u64 {
    port(&gateway.show(), "lh0")["counters"]["transmit_errors"].as_u64().expect("a device counts them")
}

fn mtu(namespace: &Namespace, interface: &str) -> u64 {
    let links: Value = serde_json::from_str(&namespace.ip(&format!("-json link show {interface}"))).unwrap();
    links[0]["mtu"].as_u64().expect("an interface has an MTU")
}

fn shrinks(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let mut receiver = Receiver::start(lab, &pair.far);
    pair.namespace.ip("link set lh0 mtu 1000");
    wait_until("the gateway to notice", || pair.gateway.log().contains("the MTU of lh0 is now 1000"));
    // The longest that leaves, and one byte more.
    send(lab, &pair, 1, 1_014);
    send(lab, &pair, 2, 1_015);
    receiver.wait_for_flow(1, FRAMES);
    wait_until("the others to be dropped", || oversize(&pair.gateway) == FRAMES);
    let health = pair.gateway.show_with(&["roce"]);
    let page = String::from_utf8_lossy(&health.stdout).into_owned();
    assert!(page.contains("short_mtu") && page.contains("an MTU of 1000,"), "{page}");
    let events =
        pair.gateway.command(&["events", "--last", "9", "--kind", "device_mtu", "--json"]).output().unwrap();
    let events = String::from_utf8_lossy(&events.stdout).into_owned();
    assert!(events.contains(r#""kind":"device_mtu","mtu_bytes":1000,"promised_bytes":1500"#), "{events}");

    pair.namespace.ip("link set lh0 mtu 1500");
    wait_until("the gateway to notice", || pair.gateway.log().contains("the MTU of lh0 is now 1500"));
    send(lab, &pair, 3, 1_514);
    receiver.wait_for_flow(3, FRAMES);
    let received = receiver.end();
    assert_eq!([1, 2, 3].map(|flow| received.flow(flow).received), [FRAMES, 0, FRAMES]);
    assert_eq!((oversize(&pair.gateway), transmit_errors(&pair.gateway)), (FRAMES, 0));
    pair.gateway.end();
}

/// Two ports on interfaces, with packets of `mtu` bytes.
fn on_interfaces(driver: &str, mtu: u64) -> String {
    let port = |name: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nrate = \"1G\"\nmtu = {mtu}\ndistance = \"10m\"\n\
             classify = {{ trust = \"dscp\", default = 0, dscp = {{ \"26\" = 3 }} }}\n\
             device = {{ interface = \"{name}\", driver = \"{driver}\" }}\n\
             [[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nheadroom = \"256KiB\"\n"
        )
    };
    let buffer = "[gateway]\nname = \"wire\"\n[buffer]\nshared = \"4MiB\"\n[dpdk]\nidle = \"sleep\"\n";
    [buffer, &port("dc0"), &port("lh0")].concat()
}

/// A bridge is its own link, as a card is.
fn raises(lab: &Lab) {
    let namespace = lab.namespace("gw");
    let _near = Host::new(lab, 1, &namespace, "dc0");
    namespace.ip("link set dc0 mtu 4000");
    namespace.ip("link add lh0 type bridge");
    namespace.ip("link set lh0 mtu 1500 up");
    let gateway = Gateway::start(lab, &namespace, "gateway", &on_interfaces("af_packet", 4_000));
    assert_eq!(["dc0", "lh0"].map(|interface| mtu(&namespace, interface)), [4_000; 2]);
    assert!(gateway.log().contains("raised the MTU of lh0 from 1500 to 4000"), "{}", gateway.log());
    gateway.end();
}

/// The other end of a veth pair takes no more than its own MTU. The kernel drops what is longer, and says so of the interface;
/// the driver has counted it as sent.
fn dropped_below(lab: &Lab) {
    let namespace = lab.namespace("gw");
    let near = Host::new(lab, 1, &namespace, "dc0");
    let far = Host::new(lab, 2, &namespace, "lh0");
    for interface in ["dc0", "lh0"] {
        namespace.ip(&format!("link set {interface} mtu 2000"));
    }
    near.namespace.ip("link set eth0 mtu 2000");
    let gateway = Gateway::start(lab, &namespace, "gateway", &on_interfaces("af_xdp", 2_000));
    let pair = Pair { near, far, gateway, namespace };
    let mut receiver = Receiver::start(lab, &pair.far);
    send(lab, &pair, 1, 2_014);
    wait_until("the kernel to drop them", || transmit_errors(&pair.gateway) == FRAMES);
    let drops = String::from_utf8(pair.gateway.show_with(&["drops"]).stdout).unwrap();
    assert!(drops.contains("transmit errors"), "{drops}");
    pair.far.namespace.ip("link set eth0 mtu 2000");
    send(lab, &pair, 2, 2_014);
    receiver.wait_for_flow(2, FRAMES);
    let received = receiver.end();
    assert_eq!([1, 2].map(|flow| received.flow(flow).received), [0, FRAMES]);
    assert_eq!((oversize(&pair.gateway), transmit_errors(&pair.gateway)), (0, FRAMES));
    pair.gateway.end();
}

/// The status and the last line of a gateway that does not start, by `launcher`.
fn refused(lab: &Lab, namespace: &Namespace, launcher: &[&str], text: &str) -> (Option<i32>, String) {
    let path = lab.path("refused.toml");
    let socket = lab.socket("refused.sock");
    let common = format!(
        "[control]\nsocket = \"{}\"\nmetrics = \"none\"\n[process]\nuser = \"root\"\n",
        socket.display()
    );
    let text = text.replace("[dpdk]\n", "[dpdk]\nhugepages = \"never\"\n");
    fs::write(&path, format!("{text}{common}")).unwrap();
    fs::create_dir_all(socket.parent().expect("it is in a directory")).unwrap();
    let mut command = namespace.command(launcher[0]);
    command.args(&launcher[1..]).arg(env!("CARGO_BIN_EXE_longspan")).arg("run").arg("--config").arg(&path);
    let ended = Process::start("refused", command, lab.directory()).ended();
    (ended.status.code(), ended.stderr.lines().last().unwrap_or_default().to_owned())
}

const AS_IT_IS: [&str; 1] = ["env"];
fn refuses_short_mtu(lab: &Lab) {
    let namespace = lab.namespace("gw");
    let _hosts = [(1, "dc0"), (2, "lh0")].map(|(number, port)| Host::new(lab, number, &namespace, port));
    namespace.ip("link set dc0 mtu 4000");
    let (status, line) = refused(lab, &namespace, &AS_IT_IS, &on_interfaces("af_packet", 4_000));
    assert_eq!(status, Some(1), "{line}");
    for part in ["port lh0", "the MTU of lh0 is 1500", "mtu = 4000", "`ip link set lh0 mtu 4000`"] {
        assert!(line.contains(part), "{line}");
    }
}

/// A gateway between two virtual devices.
fn on_virtual_devices(one: &str) -> String {
    let port = |name: &str, vdev: &str| {
        format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\ndevice = {{ vdev = \"{vdev}\" }}\n")
    };
    format!(
        "[gateway]\nname = \"wire\"\n[dpdk]\nidle = \"sleep\"\n{}{}",
        port("dc0", one),
        port("lh0", "net_null9")
    )
}

/// A capture of one cooked frame: LINUX_SLL2.
fn write_cooked(path: &Path) {
    let header =
        [0xa1b2_c3d4_u32.to_le_bytes(), [2, 0, 4, 0], [0; 4], [0; 4], [0, 0, 4, 0], 276_u32.to_le_bytes()];
    let frame = [[0; 4], [0; 4], 20_u32.to_le_bytes(), 20_u32.to_le_bytes()].concat();
    fs::write(path, [header.concat(), frame, vec![0; 20]].concat()).unwrap();
}

fn statuses(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let capture = lab.path("cooked.pcap");
    write_cooked(&capture);
    let (cooked, nowhere) =
        (format!("net_pcap0,rx_pcap={}", capture.display()), "net_pcap0,rx_pcap=/nowhere/in.pcap");
    let cases = [
        // The same interfaces as those of the first gateway.
        (on_interfaces("af_packet", 1_500), 1, "port dc0: the interface dc0 is used by another gateway"),
        (on_virtual_devices("net_af_packet0,iface=late0"), 1, "port dc0: there is no interface late0"),
        (
            on_virtual_devices("net_pcp0,tx_pcap=out.pcap"),
            2,
            "no driver for net_pcp0; did you mean net_pcap?",
        ),
        (on_virtual_devices(&cooked), 2, "link type is LINUX_SLL2 (276), but only Ethernet (1) is supported"),
        (on_virtual_devices(nowhere), 2, "/nowhere/in.pcap: cannot be opened"),
        (on_virtual_devices("net_null0").replace("1G", "1"), 2, "port.rate"),
    ];
    for (text, status, part) in cases {
        let (ended, line) = refused(lab, &pair.namespace, &AS_IT_IS, &text);
        assert!(ended == Some(status) && line.contains(part), "{ended:?}: {line}");
    }
    // The first gateway has lost nothing of its own.
    let mut receiver = Receiver::start(lab, &pair.far);
    send(lab, &pair, 1, 250);
    receiver.wait_for_flow(1, FRAMES);
    receiver.end();
    pair.gateway.end();
}
