//! A gateway under test.

use super::capture::script;
use super::process::{Ended, Process};
use super::wait::{PATIENCE, wait_for, wait_until};
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

/// The default account that gateways switch to.
pub const USER: &str = "nobody";

/// The monotonic counters of a port.
const TOTALS: [&str; 7] =
    ["in", "out", "control_out", "consumed", "dropped_at_ingress", "dropped_at_egress", "counters"];

/// A running gateway.
pub struct Gateway {
    process: Process,
    configuration: PathBuf,
    /// Distinguishes it from other DPDK processes.
    file_prefix: String,
    socket: PathBuf,
}

impl Gateway {
    /// Starts a gateway in `namespace`, and waits until it is ready. `name` distinguishes it from others of the lab.
    /// `text` is its configuration, which may omit the parts that depend on the machine.
    pub fn start(lab: &Lab, namespace: &Namespace, name: &str, text: &str) -> Self {
        // Buffers cover some lateness of a worker, but not as much as a busy machine can cause.
        Self::start_by(&["nice", "-n", "-5"], lab, namespace, name, text)
    }

    /// The same, started by another program, which executes the gateway in its place.
    pub fn start_by(launcher: &[&str], lab: &Lab, namespace: &Namespace, name: &str, text: &str) -> Self {
        let socket = lab.socket(&format!("{name}.sock"));
        let configuration = lab.path(&format!("{name}.toml"));
        let file_prefix = lab.unique(name);
        fs::write(&configuration, complete(text, &file_prefix, &socket)).unwrap();
        let process = start_longspan(launcher, lab, namespace, name, &configuration);
        Self { process, configuration, file_prefix, socket }
    }

    /// Replaces the configuration file.
    pub fn write(&self, text: &str) {
        fs::write(&self.configuration, complete(text, &self.file_prefix, &self.socket)).unwrap();
    }

    /// Replaces the configuration file and requests a reload. The output shows whether it was accepted, and all
    /// messages.
    pub fn reload(&self, text: &str) -> Output {
        self.write(text);
        longspan().args(["reload", "--socket"]).arg(&self.socket).output().unwrap()
    }

    /// The output of `longspan show` with these arguments.
    pub fn show_with(&self, arguments: &[&str]) -> Output {
        longspan().arg("show").args(arguments).arg("--socket").arg(&self.socket).output().unwrap()
    }

    /// The whole snapshot of `longspan show`.
    pub fn show(&self) -> Value {
        self.try_show().unwrap_or_else(|error| panic!("show: {error}"))
    }

    /// The same, or the error of `longspan show`.
    pub fn try_show(&self) -> Result<Value, String> {
        Self::try_show_at(&self.socket)
    }

    /// The same, for the gateway that listens on `socket`.
    pub fn try_show_at(socket: &Path) -> Result<Value, String> {
        let output = longspan().args(["show", "ports", "--json", "--socket"]).arg(socket).output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    }

    /// The received pauses of `longspan events --history`: port, priority and duration of each.
    pub fn received_pauses(&self) -> Vec<(String, u64, u64)> {
        let mut command = longspan();
        command.args(["events", "--history", "--json", "--socket"]).arg(&self.socket);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let pauses = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let received = pauses.filter(|pause| pause["direction"] == "received");
        let told = received.map(|pause| {
            let number = |key: &str| pause[key].as_u64().expect("the pause is over");
            (pause["port"].as_str().unwrap().to_owned(), number("priority"), number("paused_ns"))
        });
        told.collect()
    }

    /// A command of `longspan` that asks it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = longspan();
        command.args(arguments).arg("--socket").arg(&self.socket);
        command
    }

    /// Starts `longspan capture` of the control frames that `port` receives, and waits until it goes on. It ends after
    /// `count` frames.
    pub fn capture(&self, lab: &Lab, port: &str, count: u64, out: &Path) -> Process {
        let mut command = longspan();
        command.args(["capture", "--direction", "received", "--for", "300s", "--port", port, "--count"]);
        command.arg(count.to_string()).arg("--out").arg(out).arg("--socket").arg(&self.socket);
        let capture = Process::start("capture", command, lab.directory());
        wait_until("the capture to begin", || out.exists());
        capture
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

    /// Frames that arrived, minus those that have left, or were dropped or consumed by name. Messages of the gateway
    /// to its neighbours do not count.
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

    /// Mbufs in use.
    pub fn mbufs_in_use(&self) -> u64 {
        self.show()["memory"]["mbufs_in_use"].as_u64().expect("show counts mbufs")
    }

    /// Its resident memory in KiB: VmRSS.
    #[allow(dead_code, reason = "for the soak")]
    pub fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel counts it");
        line.trim().trim_end_matches(" kB").parse().expect("it is in KiB")
    }

    /// The lines of `status` of each thread, by the name of the thread.
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

    /// One of its resource limits, by the kernel's name.
    pub fn limit(&self, what: &str) -> String {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.process.id())).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix(what)).expect("the kernel limits it");
        line.split_whitespace().next().expect("there is a soft limit").to_owned()
    }

    /// The name of its directory among DPDK's.
    pub fn file_prefix(&self) -> &str {
        &self.file_prefix
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

    /// Stops every thread of the gateway, and waits until all have stopped.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.process.id());
        wait_until("the gateway to stop", || {
            let stat = fs::read_to_string(&stat).unwrap();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        });
    }

    /// Continues a stopped gateway.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Stops only the worker of one core until the returned value is dropped.
    pub fn stop_worker(&self, lab: &Lab, namespace: &Namespace, core: usize) -> Process {
        let name = format!("worker-{core}");
        let threads = format!("/proc/{}/task", self.process.id());
        let is_it = |thread: &fs::DirEntry| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
        };
        // A thread names itself, once it has a core.
        let thread = wait_for(&format!("a thread of the name {name}"), || {
            fs::read_dir(&threads).unwrap().flatten().find(is_it)
        });
        let mut command = namespace.command(PYTHON);
        command.arg(script("stop_thread.py")).arg(thread.file_name());
        let mut stopped = Process::start(&format!("stop-{name}"), command, lab.directory());
        stopped.wait_for_output("stopped");
        stopped
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// Makes it drain, and returns its final state.
    pub fn end(self) -> Ended {
        self.process.end()
    }

    /// Waits until it ends by itself.
    pub fn ended(self) -> Ended {
        self.process.ended()
    }

    /// Ends it like a crash.
    pub fn kill(self) {
        self.signal(Signal::KILL);
        self.process.ended();
    }
}

/// A configuration with the needs of a lab: no hugepages, and unique names. Text that is not TOML stays
/// unchanged.
pub fn complete(text: &str, file_prefix: &str, socket: &Path) -> String {
    let Ok(mut document) = text.parse::<Table>() else { return text.to_owned() };
    let socket = socket.to_str().expect("the lab's paths are plain");
    let settings =
        [("dpdk", "hugepages", "never"), ("dpdk", "file_prefix", file_prefix), ("control", "socket", socket)];
    for (table, key, value) in settings {
        let table = document.entry(table).or_insert_with(|| Table::new().into());
        table.as_table_mut().expect("it is a table").insert(key.to_owned(), value.into());
    }
    // All tests run without the privileges of the start.
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
    // For every user, like systemd's.
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

/// The numbers in `value`, each with its path.
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
