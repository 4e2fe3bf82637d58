//! A gateway under test.

use super::capture::script;
use super::process::{Ended, Process};
use super::wait::{PATIENCE, wait_until};
use super::{Lab, Namespace, PYTHON};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use toml::Table;

/// The account that gateways go on as, where a test says nothing else.
pub const USER: &str = "nobody";

/// The counters of a port that never fall.
const TOTALS: [&str; 7] =
    ["in", "out", "control_out", "consumed", "dropped_at_ingress", "dropped_at_egress", "counters"];

/// A running gateway.
pub struct Gateway {
    process: Process,
    configuration: PathBuf,
    /// What tells it from DPDK's other processes.
    file_prefix: String,
    socket: PathBuf,
}

impl Gateway {
    /// Starts a gateway in `namespace`; it is ready when this returns. `name` tells it from the
    /// lab's others, and `text` is its configuration, which may leave out what depends on the machine.
    pub fn start(lab: &Lab, namespace: &Namespace, name: &str, text: &str) -> Self {
        // Buffers cover a worker that is away for a while, but not for as long as a busy machine may keep it.
        Self::start_by(&["nice", "-n", "-5"], lab, namespace, name, text)
    }

    /// The same, started by another program, which takes the place of itself by the gateway.
    pub fn start_by(launcher: &[&str], lab: &Lab, namespace: &Namespace, name: &str, text: &str) -> Self {
        let socket = lab.socket(&format!("{name}.sock"));
        let configuration = lab.path(&format!("{name}.toml"));
        let file_prefix = lab.unique(name);
        fs::write(&configuration, complete(text, &file_prefix, &socket)).unwrap();
        let process = start_longspan(launcher, lab, namespace, name, &configuration);
        Self { process, configuration, file_prefix, socket }
    }

    /// Replaces the configuration's file.
    pub fn write(&self, text: &str) {
        fs::write(&self.configuration, complete(text, &self.file_prefix, &self.socket)).unwrap();
    }

    /// Replaces the configuration's file and asks for a reload. Whether it was taken, and what was
    /// said, is in the output.
    pub fn reload(&self, text: &str) -> Output {
        self.write(text);
        longspan().args(["reload", "--socket"]).arg(&self.socket).output().unwrap()
    }

    /// All that `longspan show` has to show.
    pub fn show(&self) -> Value {
        self.try_show().unwrap_or_else(|error| panic!("show: {error}"))
    }

    /// The same, or what `longspan show` says where it gets no answer.
    pub fn try_show(&self) -> Result<Value, String> {
        Self::try_show_at(&self.socket)
    }

    /// The same, of the gateway that listens at `socket`.
    pub fn try_show_at(socket: &Path) -> Result<Value, String> {
        let output = longspan().args(["show", "ports", "--json", "--socket"]).arg(socket).output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    }

    /// All counters of frames and bytes of all ports, by name.
    pub fn totals(&self) -> BTreeMap<String, u64> {
        let mut totals = BTreeMap::new();
        for port in self.show()["ports"].as_array().expect("show has ports") {
            let name = port["name"].as_str().expect("a port has a name");
            for what in TOTALS {
                collect(&format!("{name}.{what}"), &port[what], &mut totals);
            }
        }
        totals
    }

    /// Frames that came in, less those that have left, or were dropped or consumed by name. What the
    /// gateway itself says to its neighbours is not among them.
    pub fn unaccounted_frames(&self) -> i128 {
        let frames = |(path, total): (String, u64)| {
            let what = path.split('.').nth(1)?;
            let sign = match what {
                _ if !path.ends_with(".frames") => return None,
                "in" => 1,
                "out" | "consumed" | "dropped_at_ingress" | "dropped_at_egress" => -1,
                _ => return None,
            };
            Some(sign * i128::from(total))
        };
        self.totals().into_iter().filter_map(frames).sum()
    }

    /// Mbufs that are not in a pool.
    pub fn mbufs_in_use(&self) -> u64 {
        self.show()["memory"]["mbufs_in_use"].as_u64().expect("show counts mbufs")
    }

    /// The memory that it has and that is not on disk, in KiB: VmRSS.
    #[allow(dead_code, reason = "for the soak")]
    pub fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel counts it");
        line.trim().trim_end_matches(" kB").parse().expect("it is in KiB")
    }

    /// What the kernel says of each of its threads, by the name of the thread: the lines of `status`.
    pub fn threads(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let status = |path: PathBuf| fs::read_to_string(path.join("status")).ok();
        let statuses = threads.flatten().filter_map(|thread| status(thread.path()));
        let lines = statuses.map(|status| {
            let pairs = status.lines().filter_map(|line| line.split_once(":\t"));
            pairs.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect::<BTreeMap<_, _>>()
        });
        lines.map(|lines| (lines["Name"].clone(), lines)).collect()
    }

    /// The most that it may have of something, as the kernel calls it.
    pub fn limit(&self, what: &str) -> String {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.process.id())).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix(what)).expect("the kernel limits it");
        line.split_whitespace().next().expect("there is a soft limit").to_owned()
    }

    pub fn configuration(&self) -> &Path {
        &self.configuration
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    pub fn expect_running(&mut self) {
        self.process.expect_running();
    }

    /// Stops every thread of the gateway, and waits until it has really stopped.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.process.id());
        wait_until("the gateway to stop", || {
            let stat = fs::read_to_string(&stat).unwrap();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        });
    }

    /// Lets a stopped gateway go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Stops the worker of one core, and no other thread, until what is returned is dropped.
    pub fn stop_worker(&self, lab: &Lab, namespace: &Namespace, core: usize) -> Process {
        let name = format!("worker-{core}");
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let is_it = |thread: &fs::DirEntry| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
        };
        let thread = threads.flatten().find(is_it).expect("each worker has a thread of its name");
        let mut command = namespace.command(PYTHON);
        command.arg(script("stop_thread.py")).arg(thread.file_name());
        let mut stopped = Process::start(&format!("stop-{name}"), command, lab.directory());
        stopped.wait_for_output("stopped");
        stopped
    }

    /// What it has said.
    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// Asks it to drain, and returns what it reports.
    pub fn end(self) -> Ended {
        self.process.end()
    }

    /// Waits for it to end by itself.
    pub fn ended(self) -> Ended {
        self.process.ended()
    }

    /// Ends it as a crash does.
    pub fn kill(self) {
        self.signal(Signal::KILL);
        self.process.ended();
    }
}

/// A configuration with what a lab needs: no hugepages, and names that nobody else has. What is no
/// TOML stays as it is.
fn complete(text: &str, file_prefix: &str, socket: &Path) -> String {
    let Ok(mut document) = text.parse::<Table>() else { return text.to_owned() };
    let socket = socket.to_str().expect("the lab's paths are plain");
    let settings =
        [("dpdk", "hugepages", "never"), ("dpdk", "file_prefix", file_prefix), ("control", "socket", socket)];
    for (table, key, value) in settings {
        let table = document.entry(table).or_insert_with(|| Table::new().into());
        table.as_table_mut().expect("it is a table").insert(key.to_owned(), value.into());
    }
    // Whatever is tested, it is tested without the privileges of the start.
    document.entry("process").or_insert_with(|| Table::from_iter([("user".to_owned(), USER.into())]).into());
    document.to_string()
}

fn start_longspan(
    launcher: &[&str],
    lab: &Lab,
    namespace: &Namespace,
    name: &str,
    configuration: &Path,
) -> Process {
    let path = lab.path(&format!("{name}.notify"));
    let notifications = UnixDatagram::bind(&path).unwrap();
    notifications.set_nonblocking(true).unwrap();
    // As systemd's, it is for every user.
    fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    let mut command = namespace.command(launcher[0]);
    command.args(&launcher[1..]).arg(env!("CARGO_BIN_EXE_longspan"));
    command.arg("run").arg("--config").arg(configuration).env("NOTIFY_SOCKET", &path);
    let mut process = Process::start(name, command, lab.directory());
    let mut message = [0; 4096];
    wait_until(&format!("{name} to be ready within {PATIENCE:?}"), || {
        process.expect_running();
        let received = notifications.recv(&mut message).unwrap_or(0);
        String::from_utf8_lossy(&message[..received]).lines().any(|line| line == "READY=1")
    });
    fs::remove_file(&path).unwrap();
    process
}

/// The numbers in `value`, each by the way to it.
fn collect(path: &str, value: &Value, into: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                collect(&format!("{path}.{name}"), value, into);
            }
        }
        _ => {
            into.extend(value.as_u64().map(|total| (path.to_owned(), total)));
        }
    }
}

fn longspan() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    command.stdin(Stdio::null());
    command
}
