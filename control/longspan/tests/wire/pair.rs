//! Two hosts and a gateway between them.

use crate::lab::{Gateway, Host, Lab, Namespace};

/// The name of a pair's gateway.
pub const NAME: &str = "gateway";

/// `near` is at the port `dc0`, `far` at `lh0`.
pub struct Pair {
    pub near: Host,
    pub far: Host,
    pub gateway: Gateway,
    pub namespace: Namespace,
}

impl Pair {
    /// Starts a gateway with the ports `dc0` and `lh0`.
    pub fn new(lab: &Lab, configuration: &str) -> Self {
        let namespace = lab.namespace("gw");
        let near = Host::new(lab, 1, &namespace, "dc0");
        let far = Host::new(lab, 2, &namespace, "lh0");
        let gateway = Gateway::start(lab, &namespace, NAME, configuration);
        Self { near, far, gateway, namespace }
    }
}
