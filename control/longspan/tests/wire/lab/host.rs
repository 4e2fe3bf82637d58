//! A Linux host with one interface, `eth0`, connected to a port of the gateway.

use super::{Lab, Namespace};
use serde_json::Value;

/// The name of a host's interface in its namespace.
pub const INTERFACE: &str = "eth0";

const NETWORK: &str = "10.77.0";
const MTU: u32 = 1500;

pub struct Host {
    pub namespace: Namespace,
    pub mac: String,
    pub address: String,
}

impl Host {
    /// Connects host `number` (1 to 254) to `interface` in the gateway's namespace.
    pub fn new(lab: &Lab, number: u8, gateway: &Namespace, interface: &str) -> Self {
        let namespace = lab.namespace(&format!("h{number}"));
        gateway.connect(interface, &namespace, INTERFACE, MTU);
        let mac = format!("02:00:00:00:77:{number:02x}");
        let address = format!("{NETWORK}.{number}");
        namespace.ip(&format!("link set {INTERFACE} address {mac}"));
        namespace.ip(&format!("addr add {address}/24 dev {INTERFACE}"));
        Self { namespace, mac, address }
    }

    /// Packets that this host has sent, according to its kernel.
    pub fn packets_sent(&self) -> u64 {
        let links: Value =
            serde_json::from_str(&self.namespace.ip(&format!("-json -stats link show {INTERFACE}"))).unwrap();
        links[0]["stats64"]["tx"]["packets"].as_u64().expect("ip counts packets")
    }
}
