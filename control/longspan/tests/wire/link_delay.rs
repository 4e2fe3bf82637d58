//! Peer delay against `ptp4l`, in both roles at once.

use crate::configuration::two_ports;
use crate::lab::{Capture, Lab, Process, port, tshark, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use std::fs;

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire("ptp4l_and_the_gateway_measure_the_link_between_them", both_measure)]
}

/// The gPTP profile, with software timestamps; a delay as long as ours would otherwise stop it.
const PROFILE: &str = "[global]
gmCapable 1
transportSpecific 0x1
ptp_dst_mac 01:80:C2:00:00:0E
p2p_dst_mac 01:80:C2:00:00:0E
network_transport L2
delay_mechanism P2P
neighborPropDelayThresh 1000000000
logMinPdelayReqInterval -3
time_stamping software
tx_timestamp_timeout 1000
free_running 1
logging_level 7
verbose 1
use_syslog 0
";

/// More than a turn of a busy machine takes, and less than what a wrong sign or unit would make of it.
const MOST_NS: u64 = 100_000_000;

/// The last delay that ptp4l has printed, in nanoseconds.
fn delay_of(printed: &str) -> Option<u64> {
    let line = printed.lines().rfind(|line| line.contains("delay   filtered"))?;
    line.split_whitespace().skip_while(|word| *word != "filtered").nth(1)?.parse().ok()
}

fn both_measure(lab: &Lab) {
    let measure = "[port.link_delay]\ninterval = \"125ms\"\napply = false\n";
    let pair = Pair::new(lab, &format!("{}{measure}", two_ports("1G", "1G")));
    let capture = Capture::start(lab, &pair.near.namespace, "eth0");
    let profile = lab.path("gptp.cfg");
    let socket = format!("uds_address {}\n", lab.path("ptp4l").display());
    fs::write(&profile, format!("{PROFILE}{socket}")).unwrap();
    let mut command = pair.far.namespace.command("ptp4l");
    command.arg("-f").arg(&profile).args(["-i", "eth0"]);
    let mut ptp4l = Process::start("ptp4l", command, lab.directory());
    let figure = |key: &str| port(&pair.gateway.show(), "lh0")["link_delay"][key].as_u64();
    wait_until("both ends to measure the link", || {
        ptp4l.expect_running();
        delay_of(&ptp4l.stdout()).is_some()
            && figure("delay_ns").is_some()
            && figure("answered").is_some_and(|answered| answered >= 16)
    });
    let theirs = delay_of(&ptp4l.stdout()).unwrap();
    let ours = figure("delay_ns").unwrap();
    eprintln!("peer delay | ptp4l measures {theirs} ns | the gateway measures {ours} ns");
    assert!((1..MOST_NS).contains(&theirs) && (1..MOST_NS).contains(&ours), "{theirs} and {ours} ns");
    assert_eq!(figure("doubtful"), Some(0), "no one else answers");
    ptp4l.end();
    let path = capture.path().to_owned();
    capture.end();
    assert_eq!(tshark(&path, "eth.type == 0x88f7", &["frame.number"]), Vec::<String>::new());
    pair.gateway.end();
}
