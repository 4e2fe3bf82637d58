//! The example configurations, unchanged.

use crate::lab::{Gateway, Host, Lab, ping, repository};
use crate::on_the_wire;
use libtest_mimic::Trial;
use std::fs;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("the_example_with_af_packet_forwards", |lab| two_interfaces(lab, "wire-veth")),
        on_the_wire("the_example_with_af_xdp_forwards", |lab| two_interfaces(lab, "wire-af-xdp")),
        on_the_wire("the_examples_with_memif_forward", |lab| two_gateways(lab, "")),
        on_the_wire("the_examples_with_memif_and_bifrost_forward", |lab| two_gateways(lab, "-bifrost")),
        on_the_wire("the_examples_with_memif_and_lscc_forward", |lab| two_gateways(lab, "-lscc")),
    ]
}

fn example(name: &str) -> String {
    fs::read_to_string(repository(&format!("config/gateways/{name}.toml"))).unwrap()
}

fn two_interfaces(lab: &Lab, name: &str) {
    let namespace = lab.namespace("gw");
    let [near, far] = [(1, "dc0"), (2, "lh0")].map(|(number, port)| Host::new(lab, number, &namespace, port));
    let gateway = Gateway::start(lab, &namespace, "gw", &example(name));
    ping(&near, &far, 20);
    ping(&far, &near, 20);
    gateway.end();
}

fn two_gateways(lab: &Lab, scheme: &str) {
    let ExamplePair { near: [one, other], far, gateways } =
        ExamplePair::start(lab, scheme, &["nice", "-n", "-5"]);
    ping(&one, &far, 20);
    ping(&far, &other, 20);
    gateways.into_iter().rev().for_each(|gateway| drop(gateway.end()));
}

/// The two gateways of the memif examples, and their hosts.
pub struct ExamplePair {
    pub near: [Host; 2],
    pub far: Host,
    pub gateways: [Gateway; 2],
}

impl ExamplePair {
    /// The examples of `scheme`, as in the names of their files, started by `launcher`.
    pub fn start(lab: &Lab, scheme: &str, launcher: &[&str]) -> Self {
        // A namespace for each, because the driver derives numbers from the ids of its process and interface, and two
        // processes may get the same number.
        let namespaces = ["near", "far"].map(|end| lab.namespace(end));
        let ports = [(1, 0, "near0"), (2, 0, "near1"), (3, 1, "far0")];
        let [one, other, far] =
            ports.map(|(number, end, port)| Host::new(lab, number, &namespaces[end], port));
        // In a lab, the socket of both gateways and the key of LSCC are in other places.
        let socket = lab.socket("wire.memif").display().to_string();
        let keys = repository("config/keys").display().to_string();
        let text = |end: &str| {
            let text = example(&format!("wire-memif-{end}{scheme}"));
            text.replace("/run/longspan/wire.memif", &socket).replace("../keys", &keys)
        };
        let gateways = [0, 1].map(|end| {
            let name = ["near", "far"][end];
            Gateway::start_by(launcher, lab, &namespaces[end], name, &text(name))
        });
        Self { near: [one, other], far, gateways }
    }
}
