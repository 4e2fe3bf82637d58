//! Clients of the socket, with the test as the gateway and as DPDK.

use super::*;
use crate::socket::Response;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use switch::Ledger;
use telemetry::{MemoryReport, Observation, ReloadsReport, Snapshot};
use tempfile::TempDir;
use units::Nanos;

const PRIVATE: Access = Access { mode: 0o600, group: None };
/// Long enough for any test.
const WAITS: Waits = Waits { receive: Duration::from_secs(60), send: Duration::from_secs(60) };

/// A gateway without workers.
pub(crate) fn observed() -> Snapshot {
    let text = "[[port]]\nname = \"dc0\"\nrate = \"1G\"\n[[port]]\nname = \"lh0\"\nrate = \"1G\"\n";
    let gateway = config::parse(text, "gateway.toml").unwrap();
    Snapshot::new(&Observation {
        gateway: &gateway,
        configured: &gateway,
        started: Nanos(0),
        now: Nanos(7),
        tsc_hz: 1,
        reloads: ReloadsReport { applied: 3, refused: 1 },
        refused_by_kernel: 0,
        memory: MemoryReport { mbufs: 100, mbufs_in_use: 9, ..MemoryReport::default() },
        covered_delays: vec![None; 2],
        negotiated: vec![None, None],
        ledgers: vec![&Ledger::new(2, 1)],
        ports: Vec::new(),
        workers: Vec::new(),
    })
}

/// Answers all who ask for the state.
fn answer_all(events: Receiver<Event>, snapshot: Snapshot) {
    thread::spawn(move || {
        for event in events {
            let Event::Request(_, answer) = event else { panic!("{event:?}") };
            // The client may have gone.
            let _ = answer.send(Response::Shown(Box::new(snapshot.clone())));
        }
    });
}

/// A socket in its own directory, and its gateway.
fn serving(limits: Limits) -> (TempDir, DpdkTelemetry, Receiver<Event>) {
    let directory = tempfile::tempdir().unwrap();
    let (sender, events) = channel();
    let telemetry = DpdkTelemetry::start_with(limits, WAITS, directory.path(), PRIVATE, sender).unwrap();
    (directory, telemetry, events)
}

/// The same, with a gateway that answers.
fn answering() -> (TempDir, DpdkTelemetry) {
    let (directory, telemetry, events) = serving(LIMITS);
    answer_all(events, observed());
    (directory, telemetry)
}

/// A client that has been greeted.
struct Client(OwnedFd);

impl Client {
    fn new(directory: &TempDir) -> Self {
        let client = Self(connect_to(directory));
        let greeting = client.next().unwrap();
        assert_eq!(greeting["pid"], std::process::id());
        assert_eq!(greeting["max_output_len"], ANSWER_BYTES);
        client
    }

    /// The next message; `None` if the connection has ended.
    fn next(&self) -> Option<Value> {
        let message = match Messages::new(&self.0, WAITS).unwrap().receive(ANSWER_BYTES) {
            Ok(message) => message?,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "neither a message nor the end comes");
                return None;
            }
        };
        Some(serde_json::from_slice(&message).unwrap())
    }

    fn ask(&self, command: &str) -> Value {
        self.ask_bytes(command.as_bytes())
    }

    fn ask_bytes(&self, command: &[u8]) -> Value {
        Messages::new(&self.0, WAITS).unwrap().send(command).unwrap();
        self.next().unwrap()
    }
}

fn connect_to(directory: &TempDir) -> OwnedFd {
    messages::connect_to(&directory.path().join(NAME), WAITS).unwrap()
}

/// DPDK's socket, which greets as the process `pid` and answers each command with `answer`.
fn dpdk_in(directory: &TempDir, pid: u32, answer: &'static str) {
    dpdk_that(directory, pid, move |_| answer);
}

/// DPDK's socket, which greets as the process `pid` and answers a command with what `handle` returns. Like DPDK, it has a
/// thread for each client.
fn dpdk_that(directory: &TempDir, pid: u32, handle: impl Fn(&[u8]) -> &'static str + Clone + Send + 'static) {
    let listener = messages::listen_at(&directory.path().join(format!("{NAME}{SUFFIX}"))).unwrap();
    thread::spawn(move || {
        loop {
            let (connection, handle) = (messages::accept(&listener).unwrap(), handle.clone());
            thread::spawn(move || {
                let client = Messages::new(&connection, WAITS).unwrap();
                client.send(json!({ "version": "DPDK", "pid": pid }).to_string().as_bytes()).unwrap();
                if let Ok(Some(command)) = client.receive(1_024) {
                    client.send(handle(&command).as_bytes()).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_client_is_greeted_and_gets_one_answer_after_the_other() {
    let (directory, telemetry) = answering();
    let path = directory.path().join(NAME);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let client = Client::new(&directory);
    assert_eq!(
        client.ask("/longspan/reloads"),
        json!({ "/longspan/reloads": { "applied": 3, "refused": 1 } })
    );
    assert_eq!(client.ask("/longspan/memory")["/longspan/memory"]["mbufs_in_use"], 9);
    assert_eq!(client.ask("/info")["/info"]["pid"], std::process::id());
    let help = client.ask("/help,/longspan/memory");
    assert!(help["/help"]["/longspan/memory"].as_str().unwrap().contains("\"memory\""), "{help}");
    assert!(client.ask("/help,/longspan/nothing")["/help"].is_null());
    drop(telemetry);
    assert!(!path.exists(), "the socket goes with the gateway");
}

#[test]
fn a_command_without_an_answer_is_null_with_a_reason() {
    let (directory, telemetry) = answering();
    let _passage = telemetry.pass();
    let client = Client::new(&directory);
    for (command, name, why) in [
        (&b"/longspan/nothing"[..], "/longspan/nothing", "has no command"),
        (b"/longspan/port", "/longspan/port", "needs the name of a port"),
        (b"/longspan/\xff", "", "UTF-8"),
        (&[b'/'; 1_025], "", "1024 bytes"),
        (b"/ethdev/list", "/ethdev/list", "DPDK's own telemetry does not answer"),
    ] {
        let answer = client.ask_bytes(command);
        assert!(answer[name].is_null() && answer.get(name).is_some(), "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
    }
}

#[test]
fn commands_of_dpdk_are_in_the_list_and_get_dpdks_answers() {
    let (directory, telemetry) = answering();
    let _passage = telemetry.pass();
    dpdk_in(&directory, std::process::id(), r#"{"/":["/","/ethdev/list"],"/ethdev/list":[0,1]}"#);
    let client = Client::new(&directory);
    let list = client.ask("/");
    for name in ["/", "/ethdev/list", "/help", "/info", "/longspan/memory", "/longspan/port"] {
        assert!(list["/"].as_array().unwrap().contains(&name.into()), "{name}: {list}");
    }
    assert_eq!(client.ask("/ethdev/list")["/ethdev/list"], json!([0, 1]));
}

#[test]
fn no_command_reaches_dpdk_with_a_parameter_that_it_does_not_list() {
    let (directory, telemetry) = answering();
    let _passage = telemetry.pass();
    let (asked, questions) = channel();
    dpdk_that(&directory, std::process::id(), move |command| {
        asked.send(String::from_utf8(command.to_vec()).unwrap()).unwrap();
        r#"{"/eal/heap_list":[0],"/eal/memzone_list":[0,7],"/ethdev/list":[0,10],"/mempool/list":["data, 1"]}"#
    });
    let client = Client::new(&directory);
    let long = "9".repeat(900);
    let hostile = [
        "",
        ",",
        ",,,,,,,,",
        ",-1",
        ",1",
        ",2",
        ",99999",
        ",4294967296",
        ",18446744073709551616",
        ",0x0",
        ",00",
    ];
    let hostile = hostile
        .into_iter()
        .chain([", 0", ",0 ", ",0,0", ",0,", ",+0", ",0.0", ",text", ",\0", ",0\0", ",data", ",%s%n"]);
    let hostile: Vec<_> =
        hostile.map(str::to_owned).chain([format!(",{long}"), format!(",0{}", ",".repeat(900))]).collect();
    let takes_one =
        ["/eal/heap_info", "/eal/memzone_info", "/ethdev/info", "/ethdev/link_status", "/ethdev/stats"];
    for name in takes_one.into_iter().chain(["/ethdev/xstats", "/mempool/info"]) {
        for parameter in &hostile {
            let answer = client.ask(&format!("{name}{parameter}"));
            assert!(answer[name].is_null() && answer["error"].is_string(), "{name}{parameter}: {answer}");
        }
    }
    for name in [
        "/eal/app_params",
        "/eal/heap_list",
        "/eal/memzone_list",
        "/eal/params",
        "/ethdev/list",
        "/mempool/list",
    ] {
        let answer = client.ask(&format!("{name},-1"));
        assert_eq!(answer["error"], format!("{name} takes no parameters"));
    }
    let lists = ["/eal/heap_list", "/eal/memzone_list", "/ethdev/list", "/mempool/list"];
    assert!(questions.try_iter().all(|question| lists.contains(&&*question)), "only lists were asked for");
    for safe in [
        "/eal/heap_info,0",
        "/eal/memzone_info,7",
        "/ethdev/xstats,10",
        "/mempool/info,data, 1",
        "/eal/params",
    ] {
        assert!(client.ask(safe).get("error").is_none());
        assert_eq!(questions.try_iter().last().as_deref(), Some(safe));
    }
}

#[test]
fn a_command_of_dpdk_that_no_list_has_is_refused_and_not_named() {
    let (directory, telemetry) = answering();
    let _passage = telemetry.pass();
    let (asked, questions) = channel();
    dpdk_that(&directory, std::process::id(), move |command| {
        asked.send(String::from_utf8(command.to_vec()).unwrap()).unwrap();
        r#"{"/":["/","/ethdev/list","/ethdev/dump_priv","/cnxk/nix/info"],"/help":{}}"#
    });
    let client = Client::new(&directory);
    let names = [
        "/ethdev/dump_priv",
        "/ethdev/module_eeprom",
        "/cnxk/nix/info",
        "/eal",
        "",
        "ethdev/list",
        "/ethdev/list\0",
    ];
    for name in names {
        // DPDK skips commas at the beginning.
        for (message, name) in
            [(format!("{name},"), name), (format!("{name},0"), name), (format!(",{name},0"), "")]
        {
            let answer = client.ask(&message);
            assert!(
                answer[name].is_null() && answer["error"].as_str().unwrap().contains("has no command"),
                "{answer}"
            );
        }
    }
    assert!(client.ask("/help,/ethdev/dump_priv")["error"].as_str().unwrap().contains("has no command"));
    assert!(questions.try_recv().is_err(), "DPDK was not asked");
    let list = client.ask("/");
    assert!(list["/"].as_array().unwrap().contains(&"/ethdev/list".into()), "{list}");
    assert!(!list.to_string().contains("dump_priv") && !list.to_string().contains("cnxk"), "{list}");
    for help in ["/help", "/help,/ethdev/list", "/help,/"] {
        assert!(client.ask(help)["/help"].is_object());
        assert_eq!(questions.try_iter().last().as_deref(), Some(help));
    }
}

#[test]
fn another_process_in_the_place_of_dpdk_is_not_believed() {
    let (directory, telemetry) = answering();
    let _passage = telemetry.pass();
    dpdk_in(&directory, 1, r#"{"/":["/forged"],"/ethdev/list":[7]}"#);
    let client = Client::new(&directory);
    let answer = client.ask("/ethdev/list");
    assert!(answer["/ethdev/list"].is_null(), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("does not run in this process"), "{answer}");
    assert!(!client.ask("/")["/"].as_array().unwrap().contains(&"/forged".into()));
    drop(telemetry);
    assert!(directory.path().join(format!("{NAME}{SUFFIX}")).exists(), "its file is left alone");
}

#[test]
fn a_gateway_that_does_not_answer_in_time_holds_up_nobody() {
    let (directory, _telemetry, _events) = serving(Limits { answer: Duration::from_millis(1), ..LIMITS });
    let answer = Client::new(&directory).ask("/longspan/memory");
    assert_eq!(answer["error"], "the gateway did not answer in time");
}

#[test]
fn a_gateway_that_ends_refuses_commands_at_once() {
    let (directory, _telemetry, events) = serving(Limits { answer: Duration::MAX, ..LIMITS });
    let client = Client::new(&directory);
    // Its control thread has ended, and closes devices. A command that waits for it would wait for ever.
    drop(events);
    for command in ["/longspan/memory", "/longspan/port,dc0", "/longspan/worker,2", "/"] {
        assert_eq!(client.ask(command)["error"], "the gateway did not answer in time", "{command}");
    }
}

#[test]
fn dpdk_is_asked_only_while_its_devices_are_open() {
    let (directory, telemetry) = answering();
    let (asked, questions) = channel();
    dpdk_that(&directory, std::process::id(), move |command| {
        asked.send(()).unwrap();
        if command == b"/ethdev/list" { r#"{"/ethdev/list":[0]}"# } else { r#"{"/ethdev/stats":{}}"# }
    });
    let client = Client::new(&directory);
    let expect_refusal = || {
        let answer = client.ask("/ethdev/stats,0");
        assert!(answer["/ethdev/stats"].is_null(), "{answer}");
        assert_eq!(answer["error"], "DPDK is asked only while the gateway forwards");
        assert!(questions.try_recv().is_err(), "DPDK was not asked");
    };
    expect_refusal();
    let passage = telemetry.pass();
    assert_eq!(client.ask("/ethdev/stats,0"), json!({ "/ethdev/stats": {} }));
    assert_eq!(questions.try_iter().count(), 2, "for its devices, and for the first of them");
    drop(passage);
    expect_refusal();
}

#[test]
fn a_gateway_closes_no_device_before_dpdk_has_answered() {
    let (directory, telemetry) = answering();
    let (asked, questions) = channel();
    let device = Arc::new(Mutex::new(()));
    let slow = device.lock().unwrap();
    let its = device.clone();
    dpdk_that(&directory, std::process::id(), move |command| {
        if command != b"/ethdev/stats,0" {
            return r#"{"/ethdev/list":[0]}"#;
        }
        asked.send(()).unwrap();
        drop(its.lock().unwrap());
        r#"{"/ethdev/stats":{}}"#
    });
    let client = Client::new(&directory);
    let passage = telemetry.pass();
    Messages::new(&client.0, WAITS).unwrap().send(b"/ethdev/stats,0").unwrap();
    questions.recv().unwrap();
    let closing = thread::spawn(move || drop(passage));
    let other = Client::new(&directory);
    while other.ask("/ethdev/list").get("error").is_none() {}
    assert!(!closing.is_finished(), "others are refused at once, but DPDK still has the first command");
    drop(slow);
    assert_eq!(client.next().unwrap(), json!({ "/ethdev/stats": {} }));
    closing.join().unwrap();
}

#[test]
fn silent_clients_of_the_dpdk_telemetry_make_room_for_others() {
    let (directory, _telemetry, events) = serving(Limits { at_once: 2, ..LIMITS });
    answer_all(events, observed());
    let silent: Vec<_> = (0..5).map(|_| Client::new(&directory)).collect();
    assert_eq!(Client::new(&directory).ask("/longspan/gateway").as_object().unwrap().len(), 1);
    assert!(silent[0].next().is_none(), "the oldest had to leave");
}

#[test]
fn a_silent_client_is_disconnected_after_the_limit_of_the_dpdk_telemetry() {
    let (directory, _telemetry, _events) = serving(Limits { patience: Duration::from_millis(1), ..LIMITS });
    assert!(Client::new(&directory).next().is_none());
}

#[test]
fn an_answer_that_is_too_long_is_refused_and_the_client_keeps_its_connection() {
    let (directory, _telemetry, events) = serving(LIMITS);
    let mut snapshot = observed();
    snapshot.config = "x".repeat(ANSWER_BYTES);
    answer_all(events, snapshot);
    let client = Client::new(&directory);
    let answer = client.ask("/longspan/config");
    assert!(
        answer["error"].as_str().unwrap().contains("ask for one port, one worker or one key"),
        "{answer}"
    );
    assert_eq!(client.ask("/longspan/format")["/longspan/format"], 1);
}

#[test]
fn the_longest_answer_reaches_the_client_whole() {
    let (directory, _telemetry, events) = serving(LIMITS);
    let mut snapshot = observed();
    snapshot.config = "x".repeat(ANSWER_BYTES - 100);
    answer_all(events, snapshot.clone());
    assert_eq!(Client::new(&directory).ask("/longspan/config")["/longspan/config"], snapshot.config);
}
