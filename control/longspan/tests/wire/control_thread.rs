//! Obstacles for the control thread, and functions that must continue nevertheless.

use crate::configuration::two_ports;
use crate::lab::{Lab, PYTHON, cores, ping, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use std::fs;
use std::os::unix::net::UnixStream;

/// The default address of `metrics`.
const SCRAPES: &str = r#"
import os, socket, threading
def keep_silent():
    while True:
        try:
            with socket.create_connection(("127.0.0.1", 9464)) as silent:
                silent.recv(1)
        except OSError:
            pass
for _ in range(12):
    threading.Thread(target=keep_silent, daemon=True).start()
served = 0
for _ in range(60):
    with socket.create_connection(("127.0.0.1", 9464)) as scrape:
        scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: it\r\n\r\n")
        answer = b"".join(iter(lambda: scrape.recv(65536), b""))
    served += answer.startswith(b"HTTP/1.1 200 OK") and b"longspan_" in answer
print(served, flush=True)
os._exit(0)
"#;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("silent_callers_keep_the_metrics_from_nobody", silent_metrics),
        on_the_wire("silent_callers_keep_the_control_socket_from_nobody", silent_socket),
        on_the_wire("a_fifo_as_configuration_is_refused_and_the_gateway_goes_on", fifo),
        on_the_wire("a_running_gateway_shows_the_run_time_of_its_worker", run_time),
        on_the_wire("a_second_signal_ends_a_gateway_whose_control_thread_waits", second_signal),
    ]
}

fn silent_metrics(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let served = pair.namespace.run(PYTHON, &["-c", SCRAPES]);
    assert_eq!(served.trim(), "60", "scrapes that were served, of 60");
    pair.gateway.end();
}

fn silent_socket(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let silent: Vec<_> = (0..24).map(|_| UnixStream::connect(pair.gateway.socket()).unwrap()).collect();
    let served = (0..30).filter(|_| pair.gateway.try_show().is_ok()).count();
    assert_eq!(served, 30, "requests that were answered, of 30");
    drop(silent);
    pair.gateway.end();
}

fn fifo(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let configuration = pair.gateway.configuration();
    fs::remove_file(configuration).unwrap();
    mknodat(CWD, configuration, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    pair.gateway.signal(Signal::HUP);
    wait_until("the hangup to be refused", || pair.gateway.log().contains("it is not a regular file"));
    assert_eq!(pair.gateway.show()["reloads"]["refused"], 1);
    let ended = pair.gateway.end();
    assert!(ended.status.success(), "{}", ended.stderr);
}

fn run_time(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    ping(&pair.near, &pair.far, 20);
    let page = pair.gateway.show_with(&["runtime", "--interval", "20ms"]);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    for title in ["TURNS in ", "BUSY TURNS in ", "IDLE TURNS in ", "TURNS since the start, "] {
        assert!(text.lines().any(|line| line.starts_with(title)), "{title}: {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    let shown = pair.gateway.show();
    assert!(shown["tsc_hz"].as_u64().unwrap() > 0);
    let runtime = &shown["workers"][0]["runtime"];
    let count = |key: &str| runtime["since_start"][key].as_u64().unwrap();
    // Requests and replies, each received once.
    assert!(count("frames") >= 40 && count("bursts") > 0, "{runtime}");
    assert!(count("busy_turns") > 0 && count("busy_ns") > 0 && count("idle_ns") > 0, "{runtime}");
    assert!(runtime["interval"].is_null(), "{runtime}");
    let refused = pair.gateway.show_with(&["ports", "--interval", "20ms"]);
    assert_eq!(refused.status.code(), Some(2));
    pair.gateway.end();
}

fn second_signal(lab: &Lab) {
    let Some([core, ..]) = cores().first_chunk::<1>().copied() else { return };
    // How long the control thread waits for a stalled worker.
    let configuration = format!("{}\n[control]\nstall = \"60s\"\ndrain = \"60s\"\n", two_ports("1G", "1G"));
    let configuration = crate::configuration::on_core(&configuration, core);
    let pair = Pair::new(lab, &configuration);
    let stopped = pair.gateway.stop_worker(lab, &pair.namespace, core);
    pair.gateway.signal(Signal::TERM);
    wait_until("the first signal to be heard", || pair.gateway.log().contains("draining"));
    pair.gateway.signal(Signal::TERM);
    wait_until("the second signal to be heard", || pair.gateway.log().contains("stops at once"));
    stopped.end();
    let socket = pair.gateway.socket().to_owned();
    let ended = pair.gateway.ended();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(!socket.exists(), "the control socket goes");
    assert!(ended.stdout.is_empty(), "the control thread has reported nothing: {}", ended.stdout);
}
