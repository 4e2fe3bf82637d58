//! The commands of a DPDK telemetry socket.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{snapshot, snapshot_of_early_pauses};
use proptest::prelude::*;
use serde_json::{Value, json};
use telemetry::Snapshot;
use telemetry::commands::{Command, CommandError, PREFIX, commands, help};

fn ask(snapshot: &Snapshot, message: &str) -> Result<Value, CommandError> {
    Command::parse(message).answer(snapshot)
}

#[test]
fn each_key_of_the_snapshot_and_of_its_ports_is_a_command() {
    let snapshot = snapshot();
    let tree = serde_json::to_value(&snapshot).unwrap();
    let names = commands(&snapshot);
    for (key, value) in tree.as_object().unwrap() {
        let command = format!("{PREFIX}{key}");
        assert!(names.contains(&command) && help(&command).is_some(), "{command}");
        let expected = if key == "ports" { &json!(["dc0", "lh0"]) } else { value };
        assert_eq!(ask(&snapshot, &command).as_ref(), Ok(expected), "{command}");
    }
    for port in tree["ports"].as_array().unwrap() {
        let name = port["name"].as_str().unwrap();
        assert_eq!(ask(&snapshot, &format!("{PREFIX}port,{name}")).as_ref(), Ok(port));
        for (key, value) in port.as_object().unwrap() {
            let command = format!("{PREFIX}port/{key}");
            match ask(&snapshot, &format!("{command},{name}")) {
                Ok(answer) => assert!(&answer == value && names.contains(&command), "{command}"),
                Err(CommandError::NotThere { .. } | CommandError::Unknown(_)) => {
                    assert!(value.is_null(), "{command}")
                }
                Err(error) => panic!("{command}: {error}"),
            }
        }
    }
}

#[test]
fn each_worker_and_each_key_of_a_worker_is_an_answer_by_its_core() {
    let mut snapshot = snapshot();
    let mut another = snapshot.workers[0].clone();
    (another.core, another.covered_lateness_ns) = (7, None);
    snapshot.workers.push(another);
    let workers = serde_json::to_value(&snapshot.workers).unwrap();
    let names = commands(&snapshot);
    for worker in workers.as_array().unwrap() {
        let core = &worker["core"];
        assert_eq!(ask(&snapshot, &format!("/longspan/worker,{core}")).as_ref(), Ok(worker));
        for (key, value) in worker.as_object().unwrap() {
            let command = format!("/longspan/worker/{key}");
            assert!(names.contains(&command) && help(&command).is_some(), "{command}");
            match ask(&snapshot, &format!("{command},{core}")) {
                Ok(answer) => assert_eq!(&answer, value, "{command}"),
                Err(error) => assert!(value.is_null(), "{command}: {error}"),
            }
        }
    }
    let busy = ask(&snapshot, "/longspan/worker/busy_share").unwrap();
    assert_eq!(busy.as_object().unwrap().len(), snapshot.workers.len());
    let covered = ask(&snapshot, "/longspan/worker/covered_lateness_ns").unwrap();
    let known = snapshot.workers.iter().filter(|it| it.covered_lateness_ns.is_some()).count();
    assert_eq!(covered.as_object().unwrap().len(), known);
    assert!(known < snapshot.workers.len());
}

#[test]
fn every_command_of_the_list_has_an_answer_and_a_help() {
    for snapshot in [snapshot(), snapshot_of_early_pauses()] {
        for command in commands(&snapshot) {
            let parameters = match command.as_str() {
                "/longspan/port" => ",dc0".to_owned(),
                "/longspan/worker" => format!(",{}", snapshot.workers[0].core),
                _ => String::new(),
            };
            let answer = ask(&snapshot, &format!("{command}{parameters}")).unwrap();
            assert!(!answer.is_null() && help(&command).is_some(), "{command}");
        }
    }
}

#[test]
fn without_a_name_a_key_is_that_of_each_port_that_has_it() {
    let lscc = ask(&snapshot(), "/longspan/port/lscc").unwrap();
    assert_eq!(lscc.as_object().unwrap().keys().collect::<Vec<_>>(), ["lh0"]);
    let received = ask(&snapshot(), "/longspan/port/in").unwrap();
    assert_eq!(received.as_object().unwrap().len(), 2);
}

#[test]
fn a_command_that_means_nothing_here_says_why() {
    let snapshot = snapshot();
    for (message, why) in [
        ("/longspan/nothing", "the gateway has no command \"/longspan/nothing\"; / lists all commands"),
        (
            "/longspan/port/nothing,lh0",
            "the gateway has no command \"/longspan/port/nothing\"; / lists all commands",
        ),
        ("/ethdev/list", "the gateway has no command \"/ethdev/list\"; / lists all commands"),
        ("/longspan/port", "/longspan/port needs the name of a port, as in /longspan/port,NAME"),
        ("/longspan/port,", "/longspan/port needs the name of a port, as in /longspan/port,NAME"),
        ("/longspan/port,ge0", "the gateway has no port \"ge0\"; its ports are dc0, lh0"),
        ("/longspan/port/in,ge0", "the gateway has no port \"ge0\"; its ports are dc0, lh0"),
        ("/longspan/port/lscc,dc0", "port dc0 has no \"lscc\""),
        ("/longspan/worker", "/longspan/worker needs the core of a worker, as in /longspan/worker,CORE"),
        ("/longspan/worker,99", "the gateway has no worker on core \"99\"; its cores are 2, 3"),
        ("/longspan/worker/turns,99", "the gateway has no worker on core \"99\"; its cores are 2, 3"),
        (
            "/longspan/worker/nothing",
            "the gateway has no command \"/longspan/worker/nothing\"; / lists all commands",
        ),
        ("/longspan/memory,dc0", "/longspan/memory takes no parameters"),
    ] {
        assert_eq!(ask(&snapshot, message).unwrap_err().to_string(), why, "{message}");
    }
    assert_eq!(help("/ethdev/stats"), None);
}

/// The names of commands, and others.
fn names() -> impl Strategy<Value = String> {
    let known = commands(&snapshot()).into_iter().collect::<Vec<_>>();
    prop_oneof![proptest::sample::select(known), "(/longspan/)?(port/|worker/)?[a-z_]{0,9}", "\\PC{0,40}"]
}

proptest! {
    #[test]
    fn a_message_has_an_answer_if_its_command_is_in_the_list_and_its_parameters_are_a_port_that_has_it(
        name in names(),
        parameters in prop_oneof![Just(""), Just(",dc0"), Just(",lh0"), Just(",,"), Just(",ge0")],
    ) {
        thread_local!(static SNAPSHOT: Snapshot = snapshot());
        prop_assume!(!name.contains(','));
        let port = parameters.strip_prefix(',').map(str::to_owned);
        SNAPSHOT.with(|snapshot| {
            let tree = serde_json::to_value(snapshot).unwrap();
            let port = tree["ports"].as_array().unwrap().iter().find(|it| it["name"].as_str() == port.as_deref());
            let expected = commands(snapshot).contains(&name) && match name.strip_prefix("/longspan/port") {
                Some("") => port.is_some(),
                Some(key) if key.starts_with('/') => {
                    parameters.is_empty() || port.is_some_and(|port| !port[&key[1..]].is_null())
                }
                _ => parameters.is_empty() && name != "/longspan/worker",
            };
            let answer = ask(snapshot, &format!("{name}{parameters}"));
            prop_assert_eq!(answer.is_ok(), expected, "{:?}", answer);
            Ok(())
        })?;
    }
}
