//! LLDP and DCBX against `lldpd`, with `tshark` as the judge of our frames.

use crate::configuration::two_ports;
use crate::lab::{Capture, Host, Lab, Process, port, tshark, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire("lldpd_and_the_gateway_know_each_other_and_agree_on_pfc", know_each_other)]
}

/// A host whose PFC is for priority 3 alone; eight traffic classes can have it.
const LLDPD: &str = "configure system hostname host7
configure lldp custom-tlv oui 00,80,c2 subtype 11 oui-info 08,08
";

/// The output of `lldpcli` with these words.
fn lldpcli(host: &Host, socket: &Path, words: &[&str]) -> String {
    let socket = socket.display().to_string();
    host.namespace.run("lldpcli", &[&["-u", &socket], words].concat())
}

/// The fields that tshark reads of our frames, one line for each frame.
fn dissected(capture: &Path) -> Vec<String> {
    let fields = [
        "lldp.chassis.id.mac",
        "lldp.port.id",
        "lldp.time_to_live",
        "lldp.tlv.system.name",
        "lldp.ieee.802_3.max_frame_size",
        "lldp.dcbx.feature.pfc.prio3",
        "lldp.dcbx.feature.pfc.prio4",
        "lldp.dcbx.feature.pfc.prio5",
        "lldp.dcbx.feature.app.proto",
    ];
    tshark(capture, "lldp && eth.src == 02:00:00:00:00:02 && !_ws.malformed", &fields)
}

fn know_each_other(lab: &Lab) {
    let agent = "[port.lldp]\ninterval = \"1s\"\nroce = 3\nwilling = [4]\n";
    let pair = Pair::new(lab, &format!("{}{agent}", two_ports("1G", "1G")));
    let [near, far] = [&pair.near, &pair.far].map(|host| Capture::start(lab, &host.namespace, "eth0"));
    let socket = lab.path("lldpd.sock");
    // It follows the file before its first announcement.
    let file = lab.path("lldpd.conf");
    fs::write(&file, LLDPD).unwrap();
    let mut command = pair.far.namespace.command("lldpd");
    command.arg("-d").arg("-u").arg(&socket).arg("-O").arg(&file);
    command.args(["-C", "eth0", "-I", "eth0", "-S", "a host"]);
    let mut lldpd = Process::start("lldpd", command, lab.directory());
    wait_until("lldpd to listen", || {
        lldpd.expect_running();
        socket.exists()
    });
    let ask = |words: &[&str]| lldpcli(&pair.far, &socket, words);
    let ours = || port(&pair.gateway.show(), "lh0").clone();
    wait_until("the gateway to know lldpd", || ours()["neighbours"][0]["pfc"]["enabled"][0] == 3);
    assert_neighbour(&ours());
    wait_until("lldpd to know the gateway", || ask(&["show", "neighbors"]).contains("lh0"));
    let theirs = ask(&["show", "neighbors", "details", "-f", "json"]);
    assert_known(&theirs);
    for line in [
        "the neighbour is host7 (port ",
        "differs (pfc_priorities): PFC for priorities 3, 4 here, for priority 3 there",
    ] {
        wait_until("the gateway to tell of it", || pair.gateway.log().contains(line));
    }
    wait_until("the gateway to turn priority 4 off", || ours()["negotiated"]["applied"] == 1);
    assert_eq!(ours()["negotiated"]["enabled"], serde_json::json!([3]));
    let told = "PFC is off for priority 4 (lossy now) and on for 3: the neighbour host7 (port ";
    wait_until("the gateway to tell of that", || pair.gateway.log().contains(told));
    wait_until("no difference", || ours()["neighbours"][0]["mismatches"] == serde_json::json!([]));
    // Willing, eight traffic classes, and PFC for priority 3 alone.
    wait_until("lldpd to hear of it", || {
        ask(&["show", "neighbors", "details", "-f", "json"]).contains("\"88,08\"")
    });
    lldpd.end();
    wait_until("the neighbour to leave", || ours()["neighbours"] == serde_json::json!([]));
    pair.gateway.end();
    let (captured, beyond) = (far.path().to_owned(), near.path().to_owned());
    far.end();
    near.end();
    let head = "02:00:00:00:00:01\tlh0\t5\twire\t1522\t";
    let mut read = dissected(&captured);
    let last = read.pop().unwrap_or_default();
    assert_eq!(
        last.trim_end(),
        "02:00:00:00:00:01\tlh0\t0",
        "the end of the gateway is announced, and nothing else"
    );
    for (pfc, when) in [("1\t1\t0", "at first"), ("1\t0\t0", "after the negotiation")] {
        assert!(read.contains(&format!("{head}{pfc}\t0x12b7")), "{when}: {read:?}");
    }
    assert!(read.iter().all(|line| line.starts_with(head)), "{read:?}");
    assert_eq!(tshark(&beyond, "lldp", &["frame.number"]), Vec::<String>::new(), "nothing is forwarded");
}

/// The gateway knows lldpd, and that it has no PFC for priority 4.
fn assert_neighbour(port: &Value) {
    let neighbour = &port["neighbours"][0];
    assert_eq!(neighbour["system"], "host7", "{neighbour}");
    assert_eq!(neighbour["mac"], neighbour["chassis"], "{neighbour}");
    assert_eq!(neighbour["ttl_ns"], 120_000_000_000_u64, "{neighbour}");
    assert_eq!(neighbour["mismatches"][0]["kind"], "pfc_priorities", "{neighbour}");
    assert_eq!(port["lldp"]["discarded_tlvs"], 0, "{port}");
}

/// lldpd knows the gateway, and has read what its TLVs say.
fn assert_known(shown: &str) {
    let neighbours: Value = serde_json::from_str(shown).unwrap();
    let interface = &neighbours["lldp"]["interface"]["eth0"];
    let chassis = &interface["chassis"]["wire"];
    assert_eq!(chassis["id"]["value"], "02:00:00:00:00:01", "{neighbours}");
    assert_eq!(interface["port"]["id"]["value"], "lh0", "{neighbours}");
    assert_eq!(interface["port"]["ttl"], "5", "{neighbours}");
    assert_eq!(interface["port"]["mfs"], "1522", "{neighbours}");
    // PFC, ETS configuration, its recommendation, and applications.
    let tlvs = interface["unknown-tlvs"]["unknown-tlv"].as_array().unwrap();
    let subtypes: Vec<_> = tlvs.iter().map(|tlv| tlv["subtype"].as_str().unwrap_or_default()).collect();
    assert_eq!(subtypes, ["9", "10", "11", "12"], "{neighbours}");
}
