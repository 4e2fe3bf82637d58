//! The DPDK telemetry socket, read by DPDK's own client.

use crate::configuration::two_ports;
use crate::lab::{Gateway, Lab, PYTHON, Process, USER, ping, script};
use crate::on_the_wire;
use crate::pair::Pair;
use crate::privileges::ids;
use libtest_mimic::Trial;
use rustix::fs::{FileType, Mode};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("dpdks_own_client_reads_the_gateway_and_dpdk", own_client),
        on_the_wire("no_command_of_dpdk_ends_the_gateway", hostile_parameters),
        on_the_wire("clients_that_ask_dpdk_for_closing_devices_are_refused", ask_until_the_end),
    ]
}

/// The answers of the gateway to these commands, by `dpdk-telemetry.py`.
fn ask<const N: usize>(gateway: &Gateway, commands: [&str; N]) -> [Value; N] {
    let answers = ask_all(gateway, &commands.map(str::to_owned));
    answers.try_into().unwrap_or_else(|other| panic!("an answer for each of {commands:?}, and not {other:?}"))
}

/// The same, for any number of commands.
fn ask_all(gateway: &Gateway, commands: &[String]) -> Vec<Value> {
    let mut command = Command::new("dpdk-telemetry.py");
    command.args(["-f", gateway.file_prefix()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().unwrap();
    let lines: String = commands.iter().map(|command| format!("{command}\n")).collect();
    client.stdin.take().expect("it has a pipe").write_all(lines.as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), commands.len(), "each has an answer: {answers:?}");
    answers
}

/// A gateway with a DPDK telemetry socket, and a host at each port.
fn observed(lab: &Lab) -> Pair {
    Pair::new(lab, &format!("{}\n[control]\ndpdk_telemetry = true\n", two_ports("1G", "1G")))
}

fn own_client(lab: &Lab) {
    let pair = observed(lab);
    ping(&pair.near, &pair.far, 20);
    let [list, ports, received, port, devices, statistics, none] = ask(
        &pair.gateway,
        [
            "/",
            "/longspan/ports",
            "/longspan/port/in,dc0",
            "/longspan/port,lh0",
            "/ethdev/list",
            "/ethdev/stats,0",
            "/longspan/port,ge0",
        ],
    );
    for command in ["/ethdev/stats", "/help", "/longspan/memory", "/longspan/port/levels"] {
        assert!(list["/"].as_array().unwrap().contains(&command.into()), "{command}: {list}");
    }
    assert_eq!(ports["/longspan/ports"], json!(["dc0", "lh0"]));
    assert!(received["/longspan/port/in"]["frames"].as_u64().unwrap() >= 20, "{received}");
    assert_eq!(port["/longspan/port"]["device"]["driver"], "net_af_packet");
    assert_eq!(devices["/ethdev/list"], json!([0, 1]));
    assert!(statistics["/ethdev/stats"]["ipackets"].as_u64().unwrap() >= 20, "{statistics}");
    assert!(none["/longspan/port"].is_null(), "{none}");
    expect_private(&pair.gateway);
    let directory = Path::new("/var/run/dpdk").join(pair.gateway.file_prefix());
    let ended = pair.gateway.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.is_empty(), "both sockets go: {left:?}");
    // Its user could not remove it.
    fs::remove_dir(directory).unwrap();
}

fn hostile_parameters(lab: &Lab) {
    let pair = observed(lab);
    let [list] = ask(&pair.gateway, ["/"]);
    let names: Vec<_> =
        list["/"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let of_dpdk = names.iter().filter(|name| !name.starts_with("/longspan/"));
    let long = ["9", ","].map(|one| one.repeat(900));
    let hostile = ["", ",", ",-1", ",32", ",99999", ",4294967295", ",0x7fffffff", ",text", ",0,0", ",%s%n"]
        .map(str::to_owned);
    let hostile: Vec<_> = hostile.into_iter().chain(long.map(|long| format!(",{long}"))).collect();
    let commands: Vec<_> =
        of_dpdk.flat_map(|name| hostile.iter().map(move |it| format!("{name}{it}"))).collect();
    assert!(commands.len() > 100, "{names:?}");
    ask_all(&pair.gateway, &commands);
    // Whatever DPDK lists, it explains.
    let lists = [
        ("/ethdev/list", "/ethdev/xstats"),
        ("/mempool/list", "/mempool/info"),
        ("/eal/heap_list", "/eal/heap_info"),
        ("/eal/memzone_list", "/eal/memzone_info"),
    ];
    for (list, name) in lists {
        let [listed] = ask(&pair.gateway, [list]);
        let text = |one: &Value| one.as_str().map_or_else(|| one.to_string(), str::to_owned);
        let listed: Vec<_> =
            listed[list].as_array().unwrap().iter().map(|one| format!("{name},{}", text(one))).collect();
        assert!(!listed.is_empty(), "{list}");
        for answer in ask_all(&pair.gateway, &listed) {
            assert!(answer[name].is_object(), "{answer}");
        }
    }
    let ended = pair.gateway.end();
    assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
}

fn ask_until_the_end(lab: &Lab) {
    for _ in 0..5 {
        let pair = observed(lab);
        let socket = Path::new("/var/run/dpdk").join(pair.gateway.file_prefix()).join("dpdk_telemetry.v2");
        let clients = ["one", "two", "three", "four"].map(|name| {
            let mut command = pair.namespace.command(PYTHON);
            command.arg(script("ask_dpdk.py")).arg(&socket);
            Process::start(&format!("ask-{name}"), command, lab.directory())
        });
        let clients = clients.map(|mut client| {
            client.wait_for_output("asked");
            client
        });
        let ended = pair.gateway.end();
        assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
        for client in clients {
            let ended = client.ended();
            assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
        }
    }
}

/// Asserts that no one but its user and root reaches the socket or DPDK's, and that their threads have no privileges.
fn expect_private(gateway: &Gateway) {
    let directory = Path::new("/var/run/dpdk").join(gateway.file_prefix());
    let about = fs::symlink_metadata(&directory).unwrap();
    let user = ids(USER)[0].split('\t').next().map(str::to_owned);
    assert_eq!((about.mode() & 0o777, Some(about.uid().to_string())), (0o700, user.clone()));
    let socket = fs::symlink_metadata(directory.join("dpdk_telemetry.v2")).unwrap();
    assert_eq!(FileType::from_raw_mode(socket.mode()), FileType::Socket);
    assert_eq!((Mode::from_raw_mode(socket.mode()).bits(), Some(socket.uid().to_string())), (0o660, user));
    let threads = gateway.threads();
    // DPDK's own thread has its second name since 23.11.
    for names in [&["dpdk-telemetry"][..], &["telemetry-v2", "dpdk-telemet-v2"]] {
        let (name, status) =
            threads.iter().find(|(name, _)| names.contains(&name.as_str())).expect("there is a thread");
        assert_eq!(
            (status["CapEff"].as_str(), status["Seccomp"].as_str()),
            ("0000000000000000", "2"),
            "{name}"
        );
    }
}
