//! A laboratory of network namespaces: hosts, their veth pairs to the gateway, and processes.
//! Dropping it removes everything, and its names never collide with those of another run.

mod capture;
mod gateway;
mod host;
mod namespace;
mod process;
mod screen;
mod shown;
mod station;
mod tools;
mod wait;

pub use capture::{Capture, Frame, read_capture, script};
#[allow(unused_imports, reason = "the soak commissions nothing")]
pub use gateway::complete;
pub use gateway::{Gateway, USER};
pub use host::Host;
pub use namespace::Namespace;
pub use process::{Ended, Process};
#[allow(unused_imports, reason = "the soak has no terminal")]
pub use screen::Screen;
pub use shown::{most_pfc_frames_sent, pauses, pauses_sent, port};
pub use station::{Flow, Receiver, Sender, Sent};
pub use tools::{IPERF3_BLOCK, answers, iperf3, ping, scapy, tcpreplay, tshark, tshark_write};
pub use wait::wait_until;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The programs that the lab calls, with their Debian packages.
const PROGRAMS: [(&str, &str); 13] = [
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("setpriv", "util-linux"),
    ("sysctl", "procps"),
    ("ping", "iputils-ping"),
    ("iperf3", "iperf3"),
    ("tcpreplay", "tcpreplay"),
    ("tshark", "tshark"),
    ("ptp4l", "linuxptp"),
    ("tmux", "tmux"),
    ("lldpd", "lldpd"),
    ("vtysh", "frr"),
    ("dpdk-telemetry.py", "dpdk; in Debian 12 dpdk-dev"),
];

/// The Python interpreter of Debian's python3-scapy.
pub const PYTHON: &str = "/usr/bin/python3";

const PREFIX: &str = "longspan-wire";

/// The directory in which `ip` keeps the names of namespaces.
const NAMESPACES: &str = "/run/netns";

/// DPDK's runtime directory. A gateway removes its files there unless it is killed.
const RUNTIME: &str = "/var/run/dpdk";

/// The laboratory of one test. Declare it first, so that it is dropped last.
pub struct Lab {
    prefix: String,
    scratch: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{PREFIX}-{}-{number}", std::process::id());
        let scratch = tempfile::tempdir().unwrap();
        // A gateway switches to another user and reads its configuration again.
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
        Self { prefix, scratch }
    }

    /// A name that is unique on this machine.
    pub fn unique(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    pub fn namespace(&self, name: &str) -> Namespace {
        Namespace::new(self.unique(name))
    }

    /// A file or directory that is removed with the lab.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A socket of a gateway, in a directory that the first gateway creates, so that it can remove it as another user.
    pub fn socket(&self, name: &str) -> PathBuf {
        self.path("run").join(name)
    }

    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let Ok(entries) = std::fs::read_dir(RUNTIME) else { return };
        let of_this_lab = format!("{}-", self.prefix);
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&of_this_lab) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The cores that this process may use.
pub fn cores() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
}

/// A path in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Why a lab is impossible here; `None` if it is possible.
pub fn why_not() -> Option<String> {
    if !cfg!(feature = "dpdk") {
        return Some("this build has no `longspan run`".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Some("needs root, to make network namespaces".to_owned());
    }
    for (program, package) in PROGRAMS {
        if !succeeds(Command::new("which").arg(program)) {
            return Some(format!("needs {program} (package {package})"));
        }
    }
    if !succeeds(Command::new(PYTHON).args(["-c", "import scapy"])) {
        return Some("needs scapy (package python3-scapy)".to_owned());
    }
    let probe = format!("{PREFIX}-{}-probe", std::process::id());
    let can_make_one = succeeds(Command::new("ip").args(["netns", "add", &probe]))
        && succeeds(
            Command::new("ip")
                .args(["-n", &probe, "link", "add", "v0", "type", "veth", "peer", "name", "v1"]),
        );
    let _ = Command::new("ip").args(["netns", "del", &probe]).stderr(Stdio::null()).status();
    (!can_make_one).then(|| "needs network namespaces and veth, which this kernel refuses".to_owned())
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Removes the remains of killed runs. Their processes died with them.
pub fn sweep() {
    for name in names_of_the_dead(NAMESPACES) {
        let _ = Command::new("ip").args(["netns", "del", &name]).status();
    }
    for name in names_of_the_dead(RUNTIME) {
        let _ = std::fs::remove_dir_all(Path::new(RUNTIME).join(name));
    }
}

/// The names in a directory that contain the id of a process that has ended.
fn names_of_the_dead(directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_of_the_dead = |name: &String| {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')?.split('-').next());
        owner.is_some_and(|id| !Path::new("/proc").join(id).exists())
    };
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_of_the_dead).collect()
}
