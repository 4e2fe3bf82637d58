//! The dashboard on a terminal, the explanation of a pause, and the verdict on a lossless class.

use crate::configuration::{LOSSLESS, two_ports};
use crate::lab::{Flow, Lab, Screen, Sender, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Output};

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire("a_pause_is_seen_on_the_dashboard_explained_and_judged", overload)]
}

/// Output of `longspan` with these arguments, for the gateway of `pair`.
fn longspan(pair: &Pair, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    command.args(arguments).arg("--socket").arg(pair.gateway.socket()).output().unwrap()
}

/// Text between two lines of the shell, which says at last whether the terminal reads lines again.
fn script(pair: &Pair, pid: &str) -> String {
    format!(
        "echo before; sh -c 'echo $$ > {pid}; exec {} top --interval 200ms --socket {}'; echo ended $?; \
         stty -a | grep -o -e '-*icanon'; sleep 600",
        env!("CARGO_BIN_EXE_longspan"),
        pair.gateway.socket().display()
    )
}

fn overload(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "20M"));
    let flow = Flow { port: 1, dscp: LOSSLESS.0, priority: LOSSLESS.1, bps: 60_000_000, count: None };
    let sender = Sender::start(lab, &pair.near, &pair.far, 1_000, 1_000_000_000, &[flow]);
    let pid = lab.path("top.pid");
    let start = |name| Screen::start(lab, name, &script(&pair, pid.to_str().unwrap()));

    let screen = start("quit");
    let shown = screen.wait_for(&["live, every 200 ms", "dc0", "lh0", "Mb/s"]);
    assert!(!shown.contains("before") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    screen.press(&["3"]);
    screen.wait_for(&["[3 pauses]", "yes"]);
    screen.resize(120, 40);
    screen.press(&["?"]);
    screen.wait_for(&["q, Ctrl-C        quit"]);

    // A machine that is busy with other things makes the worker late, which is then the cause that is named.
    let mut text = String::new();
    wait_until("500 ms of overload without a late turn", || {
        let explained = longspan(&pair, &["explain", "dc0", "--interval", "500ms"]);
        assert!(explained.status.success(), "{}", String::from_utf8_lossy(&explained.stderr));
        text = String::from_utf8(explained.stdout).unwrap();
        !text.contains(" was late: ") && text.starts_with("overload (watch), dc0 priority 3\n")
    });
    assert!(text.contains("\ndc0 ") && text.contains(" its peer at priority 3 because "), "{text}");
    assert!(text.contains(" wait for lh0, which sends ") && text.contains("of 20 Mb/s"), "{text}");
    // At the end of an interval, nothing may wait for a moment.
    wait_until("the overload to be judged", || {
        let judged = longspan(&pair, &["show", "roce", "--interval", "500ms"]);
        let text = String::from_utf8(judged.stdout).unwrap();
        assert!(matches!(judged.status.code(), Some(3 | 4)), "{text}");
        text.contains("\noverload (watch), dc0")
    });
    let once = longspan(&pair, &["top", "--once", "--view", "queues", "--interval", "200ms"]);
    let text = String::from_utf8(once.stdout).unwrap();
    assert!(once.status.success() && text.contains("[2 queues]") && text.contains("dc0"), "{text}");
    sender.end();

    let shown_again = start("terminated");
    shown_again.wait_for(&["live, every 200 ms"]);
    let id: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    shown_again.wait_for(&["before", "ended 0", "\nicanon"]);

    let socket = pair.gateway.socket().to_owned();
    pair.gateway.end();
    wait_until("the socket to go", || !socket.exists());
    screen.press(&["Escape"]);
    screen.wait_for(&["NO ANSWER, trying again", "LOST: "]);
    screen.press(&["q"]);
    screen.wait_for(&["before", "ended 0", "\nicanon"]);
}
