//! Network namespaces, and the veth pairs between them.

use std::process::{Command, Output};

/// A network namespace that is removed when this is dropped.
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates one without IPv6, so that its links carry only frames of the test.
    pub fn new(name: String) -> Self {
        run(ip(&["netns", "add", &name]));
        let namespace = Self { name };
        for scope in ["all", "default"] {
            let setting = format!("net.ipv6.conf.{scope}.disable_ipv6=1");
            namespace.run("sysctl", &["-q", "-w", &setting]);
        }
        namespace.ip("link set lo up");
        namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A program that will run inside and never outlives this process.
    pub fn command(&self, program: &str) -> Command {
        let mut command = ip(&["netns", "exec", &self.name]);
        command.args(["setpriv", "--pdeathsig", "KILL", program]);
        command
    }

    /// Runs a program inside until it ends, which must succeed. Returns its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.command(program);
        command.args(arguments);
        run(command)
    }

    /// Runs `ip` inside with these arguments.
    pub fn ip(&self, arguments: &str) -> String {
        let words: Vec<&str> = ["-n", &self.name].into_iter().chain(arguments.split(' ')).collect();
        run(ip(&words))
    }

    /// A veth pair from `interface` here to `peer_interface` in `peer`. A bridge in between would consume PFC frames.
    /// Both ends compute checksums and segment as for a real
    /// link, and both are up.
    pub fn connect(&self, interface: &str, peer: &Self, peer_interface: &str, mtu: u32) {
        let peer_name = &peer.name;
        self.ip(&format!("link add {interface} type veth peer name {peer_interface} netns {peer_name}"));
        for (namespace, interface) in [(self, interface), (peer, peer_interface)] {
            let offloads = "rx tx sg tso gso gro rxvlan txvlan";
            let mut arguments = vec!["-K", interface];
            arguments.extend(offloads.split(' ').flat_map(|offload| [offload, "off"]));
            namespace.run("ethtool", &arguments);
            namespace.ip(&format!("link set {interface} mtu {mtu} up"));
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The first error is the most useful one.
        let _ = ip(&["netns", "del", &self.name]).output();
    }
}

fn ip(arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(arguments);
    command
}

fn run(mut command: Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}: {stdout}{stderr}");
    stdout.into_owned()
}
