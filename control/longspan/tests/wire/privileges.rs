//! The remaining privileges of a gateway once its devices run.

use crate::configuration::two_ports;
use crate::lab::{Gateway, Host, Lab, Namespace, Process, USER, ping, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_gateway_started_as_root_goes_on_as_its_user_with_nothing_left", all_goes),
        on_the_wire("a_gateway_that_stays_root_has_no_capability_left", stays_root),
        on_the_wire("a_gateway_that_is_told_so_keeps_its_privileges", keeps),
        on_the_wire("a_gateway_on_af_xdp_keeps_what_takes_its_programs_off_the_interfaces", af_xdp),
        on_the_wire("a_gateway_started_as_its_user_gives_up_what_it_was_given", started_as_user),
        on_the_wire("virtual_devices_run_without_root", without_root),
        on_the_wire("af_packet_without_its_capabilities_is_refused_by_name", af_packet_without_root),
        on_the_wire("the_control_socket_belongs_to_its_group", socket_of_a_group),
    ]
}

/// The capability sets of a thread.
const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
const NONE: &str = "0000000000000000";
/// CAP_NET_ADMIN.
const NET_ADMIN: &str = "0000000000001000";

/// The IDs of a user and of its group, four times each, as in `status`.
pub fn ids(user: &str) -> [String; 2] {
    ["-u", "-g"].map(|which| {
        let output = Command::new("id").args([which, user]).output().unwrap();
        let id = String::from_utf8(output.stdout).unwrap();
        [id.trim(); 4].join("\t")
    })
}

/// Asserts that all threads belong to `user`, can gain nothing, and have no capability except the control thread's.
fn expect_little(gateway: &Gateway, user: &str, of_control: &str) {
    let [uid, gid] = ids(user);
    let threads = gateway.threads();
    for expected in ["longspan", "worker-", "signals", "metrics", "control-socket"] {
        assert!(threads.iter().any(|(name, _)| name.starts_with(expected)), "there is a thread {expected}");
    }
    assert!(threads.iter().any(|(name, _)| name.contains("intr")), "DPDK has a thread: {threads:?}");
    for (name, status) in &threads {
        assert_eq!((&status["Uid"], &status["Gid"]), (&uid, &gid), "{name}");
        assert_eq!((status["NoNewPrivs"].as_str(), status["Seccomp"].as_str()), ("1", "2"), "{name}");
        for set in SETS {
            let is_control = name == "longspan" && (set == "CapPrm" || set == "CapEff");
            assert_eq!(status[set], if is_control { of_control } else { NONE }, "{set} of {name}");
        }
    }
    assert_eq!(gateway.limit("Max core file size"), "0");
}

/// Asserts that it forwards, answers, reloads in both ways, and leaves nothing behind.
fn expect_sound(pair: Pair, good: &str, lab: &Lab) {
    let Pair { near, far, gateway, .. } = pair;
    ping(&near, &far, 10);
    let reloaded = gateway.reload(&good.replace("64KiB", "96KiB"));
    assert!(reloaded.status.success(), "{}", String::from_utf8_lossy(&reloaded.stderr));
    gateway.write(good);
    gateway.signal(Signal::HUP);
    wait_until("the hangup to be heard", || gateway.show()["reloads"]["applied"] == 2);
    ping(&far, &near, 10);
    let socket = gateway.socket().to_owned();
    let ended = gateway.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(!ended.stderr.contains("cannot remove the socket"), "{}", ended.stderr);
    assert!(!socket.exists(), "the control socket");
    assert_eq!(crate::reload::left_behind(lab), crate::reload::NOTHING);
}

fn all_goes(lab: &Lab) {
    let configuration = two_ports("1G", "1G");
    let pair = Pair::new(lab, &configuration);
    expect_little(&pair.gateway, USER, NONE);
    assert!(pair.gateway.log().contains("runs as user nobody, with no capabilities"));
    expect_sound(pair, &configuration, lab);
}

fn stays_root(lab: &Lab) {
    let configuration = format!("{}\n[process]\nuser = \"root\"\n", two_ports("1G", "1G"));
    let pair = Pair::new(lab, &configuration);
    expect_little(&pair.gateway, "root", NONE);
    expect_sound(pair, &configuration, lab);
}

fn keeps(lab: &Lab) {
    let configuration = format!("{}\n[process]\nprivileges = \"keep\"\n", two_ports("1G", "1G"));
    let pair = Pair::new(lab, &configuration);
    assert!(pair.gateway.log().contains("the gateway keeps every privilege"), "the log says so");
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap();
    for (name, status) in pair.gateway.threads() {
        assert_eq!((status["CapEff"].as_str(), status["Seccomp"].as_str()), (own, "0"), "{name}");
    }
    expect_sound(pair, &configuration, lab);
}

fn af_xdp(lab: &Lab) {
    let namespace = lab.namespace("gw");
    let [near, far] = [(1, "dc0"), (2, "lh0")].map(|(number, port)| Host::new(lab, number, &namespace, port));
    let path = crate::lab::repository("config/gateways/wire-af-xdp.toml");
    let gateway = Gateway::start(lab, &namespace, "gw", &fs::read_to_string(path).unwrap());
    expect_little(&gateway, USER, NET_ADMIN);
    ping(&near, &far, 10);
    let programs = || namespace.ip("-details link show").matches("prog/xdp").count();
    assert_eq!(programs(), 2);
    let ended = gateway.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert_eq!(programs(), 0, "the interfaces are as they were");
}

/// Starts a program as [`USER`] with these capabilities, like a service manager.
fn launcher(capabilities: &str) -> Vec<String> {
    let [uid, gid] = ids(USER).map(|ids| ids.split('\t').next().unwrap_or_default().to_owned());
    let arguments = ["setpriv", "--clear-groups", "--inh-caps", capabilities, "--ambient-caps", capabilities];
    let ids = [format!("--reuid={uid}"), format!("--regid={gid}")];
    arguments.into_iter().map(str::to_owned).chain(ids).collect()
}

/// The directory of sockets, which a service manager creates for the user.
fn make_runtime_directory(lab: &Lab) {
    let directory = lab.socket("");
    fs::create_dir(&directory).unwrap();
    let [uid, gid] = ids(USER).map(|ids| ids.split('\t').next().and_then(|id| id.parse().ok()));
    chown(directory, uid, gid).unwrap();
}

fn start_as_user(lab: &Lab, namespace: &Namespace, capabilities: &str, text: &str) -> Gateway {
    make_runtime_directory(lab);
    let launcher = launcher(capabilities);
    let mut launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let runtime = format!("RUNTIME_DIRECTORY={}", lab.socket("").display());
    launcher.extend(["env", &runtime]);
    Gateway::start_by(&launcher, lab, namespace, "gateway", text)
}

fn started_as_user(lab: &Lab) {
    let configuration = two_ports("1G", "1G");
    let namespace = lab.namespace("gw");
    let near = Host::new(lab, 1, &namespace, "dc0");
    let far = Host::new(lab, 2, &namespace, "lh0");
    let gateway = start_as_user(lab, &namespace, "+net_raw,+net_admin,+ipc_lock", &configuration);
    for (name, status) in gateway.threads() {
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status[set], NONE, "{set} of {name}");
        }
        assert_eq!((status["NoNewPrivs"].as_str(), status["Seccomp"].as_str()), ("1", "2"), "{name}");
    }
    expect_sound(Pair { near, far, gateway, namespace }, &configuration, lab);
}

/// Two ports of virtual devices without peers.
fn virtual_ports(one: &str, other: &str) -> String {
    let port = |name: &str, vdev: &str| {
        format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\ndevice = {{ {vdev} }}\n")
    };
    format!("[control]\nmetrics = \"none\"\n{}{}", port("dc0", one), port("lh0", other))
}

fn without_root(lab: &Lab) {
    let memif = format!("memif = {{ socket = \"{}\", role = \"server\" }}", lab.socket("m").display());
    let pcap = "vdev = \"net_pcap0,rx_pcap=CAPTURE,infinite_rx=1\"";
    let capture = crate::lab::repository("tests/data/captures").canonicalize().unwrap();
    let capture = fs::read_dir(capture).unwrap().flatten().map(|file| file.path());
    let capture =
        capture.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "pcap")).unwrap();
    let copy = lab.path("in.pcap");
    fs::copy(capture, &copy).unwrap();
    let pcap = pcap.replace("CAPTURE", copy.to_str().expect("the lab's paths are plain"));
    let namespace = lab.namespace("gw");
    make_runtime_directory(lab);
    for (one, other) in [("vdev = \"net_null0\"", "vdev = \"net_ring0\""), (&*pcap, &*memif)] {
        let launcher = launcher("-all");
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let gateway = Gateway::start_by(&launcher, lab, &namespace, "gateway", &virtual_ports(one, other));
        assert_eq!(gateway.show()["ports"].as_array().map(Vec::len), Some(2));
        let socket = gateway.socket().to_owned();
        gateway.end();
        assert!(!socket.exists(), "the control socket");
    }
}

fn af_packet_without_root(lab: &Lab) {
    let pair_of = |namespace: &Namespace| {
        [(1, "dc0"), (2, "lh0")].map(|(number, port)| Host::new(lab, number, namespace, port))
    };
    let namespace = lab.namespace("gw");
    let _hosts = pair_of(&namespace);
    make_runtime_directory(lab);
    let configuration = lab.path("gateway.toml");
    let socket =
        format!("[control]\nsocket = \"{}\"\n[dpdk]\nhugepages = \"never\"\n", lab.socket("s").display());
    let ports = virtual_ports("interface = \"dc0\"", "interface = \"lh0\"");
    fs::write(&configuration, ports.replace("[control]\n", &socket).replace("metrics = \"none\"\n", ""))
        .unwrap();
    for (capabilities, missing) in [("-all", "CAP_NET_RAW"), ("+net_raw", "CAP_IPC_LOCK")] {
        // Its rings exceed that limit, and remain.
        let mut command = namespace.command("prlimit");
        command.arg("--memlock=65536").args(launcher(capabilities)).arg(env!("CARGO_BIN_EXE_longspan"));
        command.arg("run").arg("--config").arg(&configuration);
        let ended = Process::start("gateway", command, lab.directory()).ended();
        assert_eq!(ended.status.code(), Some(2));
        let named = format!("requires {missing}, which this process does not have");
        assert!(ended.stderr.contains(&named), "{}", ended.stderr);
    }
}

fn socket_of_a_group(lab: &Lab) {
    let configuration = format!("{}\n[control]\ngroup = \"daemon\"\n", two_ports("1G", "1G"));
    let pair = Pair::new(lab, &configuration);
    let about = fs::metadata(pair.gateway.socket()).unwrap();
    let [group, user] = [ids("daemon")[1].clone(), ids(USER)[0].clone()];
    let first = |ids: &str| ids.split('\t').next().map(str::to_owned);
    assert_eq!((Some(about.gid().to_string()), Some(about.uid().to_string())), (first(&group), first(&user)));
    assert_eq!(about.mode() & 0o777, 0o660);
    pair.gateway.end();
}
