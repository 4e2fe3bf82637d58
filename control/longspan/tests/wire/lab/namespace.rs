//! Network namespaces, and the veth pairs between them.

use std::process::{Command, Output};

/// A network namespace that goes when this does.
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one. IPv6 is off in it, so that nothing is on the link but what a test sends.
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

    /// A program that will run inside, and that does not outlive this process, however it ends.
    pub fn command(&self, program: &str) -> Command {
        let mut command = ip(&["netns", "exec", &self.name]);
        command.args(["setpriv", "--pdeathsig", "KILL", program]);
        command
    }

    /// Runs a program inside to its end, which must be a good one. Returns what it printed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.command(program);
        command.args(arguments);
        run(command)
    }

    /// `ip` inside, with the words of `arguments`.
    pub fn ip(&self, arguments: &str) -> String {
        let words: Vec<&str> = ["-n", &self.name].into_iter().chain(arguments.split(' ')).collect();
        run(ip(&words))
    }

    /// A veth pair from `interface` in here to `peer_interface` in `peer`. A bridge in between
    /// would keep PFC frames for itself. Both ends leave checksums and segments as they are on a
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
        // Who reads a failure wants the first one.
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
