//! Configurations of the gateways under test.

use crate::lab::cores;

/// Slots in a ring of af_packet: enough for frames that arrive while the worker is suspended.
const RING: &str = "framesz=2048,framecnt=8192";

/// The DSCPs of the flows, and the priorities that the gateway maps them to. Priorities 3 and 4 are lossless.
pub const LOSSLESS: (u8, u8) = (26, 3);
pub const OTHER_LOSSLESS: (u8, u8) = (34, 4);
pub const LOSSY: (u8, u8) = (0, 0);
const STRICT: (u8, u8) = (48, 6);

/// The priority of a frame with this DSCP, or without one.
pub fn priority(dscp: Option<u8>) -> u8 {
    let stated = [LOSSLESS, OTHER_LOSSLESS, STRICT].into_iter().find(|(known, _)| Some(*known) == dscp);
    stated.map_or(0, |(_, priority)| priority)
}

/// A port on an interface in the gateway's namespace. `index` is its index among the vdevs.
pub fn port(index: usize, name: &str, rate: &str) -> String {
    format!(
        r#"
[[port]]
name = "{name}"
rate = "{rate}"
mtu = 1500
distance = "10m"
device = {{ vdev = "net_af_packet{index},iface={name},{RING}" }}
classify = {{ trust = "dscp", default = 0, dscp = {{ "26" = 3, "34" = 4, "48" = 6 }} }}

[[port.lossless]]
priorities = [3]
xoff = "64KiB"
xon = "32KiB"
headroom = "1MiB"

[[port.lossless]]
priorities = [4]
xoff = "64KiB"
xon = "32KiB"
headroom = "1MiB"

[[port.queue]]
priorities = [3]
weight = 10

[[port.queue]]
priorities = [4]
weight = 10
"#
    )
}

/// One of two gateways with 80 km between them, emulated behind a memif.
pub struct LongHaulEnd<'a> {
    pub name: &'a str,
    /// 0 listens on the memif's socket, 1 connects.
    pub side: usize,
    pub socket: &'a str,
    /// The size of the shared pool.
    pub shared: &'a str,
    /// The port `lh0` of the long link.
    pub rate: &'a str,
    /// The scheme that keeps that port lossless.
    pub scheme: &'a str,
}

impl LongHaulEnd<'_> {
    /// A bridge between the long link and the ports of `hosts`, each with its rate.
    pub fn bridge(&self, hosts: &[(&str, &str)]) -> String {
        let Self { name, side, socket, shared, rate, scheme } = self;
        let role = ["server", "client"][*side];
        // Separate cores if there are two, because workers poll: on one core they would alternate for milliseconds.
        let allowed = cores();
        let core = allowed[side % allowed.len()];
        let long_link = format!(
            r#"
[gateway]
name = "{name}"

[buffer]
shared = "{shared}"

[dpdk]
cores = [{core}]
idle = "sleep"

[forwarding]
mode = "bridge"

[[port]]
name = "lh0"
rate = "{rate}"
mtu = 1500
distance = "80km"
device = {{ memif = {{ socket = "{socket}", role = "{role}" }} }}
emulation = {{ delay = "400us" }}
classify = {{ trust = "dscp", default = 0, dscp = {{ "26" = 3, "48" = 6 }} }}

{scheme}

[[port.queue]]
priorities = [3]
weight = 10
"#
        );
        let hosts = hosts.iter().enumerate().map(|(index, (name, rate))| port(index, name, rate));
        core::iter::once(long_link).chain(hosts).collect()
    }
}

/// Two ports, `dc0` and `lh0`, with these rates, patched to each other.
pub fn two_ports(dc0: &str, lh0: &str) -> String {
    let buffer = "[gateway]\nname = \"wire\"\n\n[buffer]\nshared = \"8MiB\"\n\n[dpdk]\nidle = \"sleep\"\n";
    let forwarding = "\n[forwarding]\nmode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]\n";
    [buffer, forwarding, &port(0, "dc0", dc0), &port(1, "lh0", lh0)].concat()
}

/// The same configuration, with all ports on `core`.
pub fn on_core(configuration: &str, core: usize) -> String {
    let mut document: toml::Table = configuration.parse().unwrap();
    let dpdk = document["dpdk"].as_table_mut().expect("it is a table");
    dpdk.insert("cores".to_owned(), vec![core as i64].into());
    document.to_string()
}
