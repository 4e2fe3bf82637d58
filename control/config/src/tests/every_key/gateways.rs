//! The keys of a gateway's file, in ports and profiles.

use std::path::Path;

use toml::{Table, Value};

use super::{Made, Place, Trial, is_tried, places, with};
use crate::keys::document::Document;
use crate::load;
use crate::problem::ConfigError;
use crate::table::Table as _;

/// Ports with all tables that a port can have.
const SCHEMES: &str = r#"
    gateway = {}
    buffer = { shared = "256MiB" }
    forwarding = { pairs = [["a", "b"]] }
    [[port]]
    name = "a"
    rate = "100G"
    distance = "10km"
    orientation = "uplink"
    flow_control = "pfc"
    lossless = [{ priorities = [3] }, { priorities = [4], xoff = "3MB" }]
    queue = [
        { priorities = [3], ecn = { kmin = "100kB", kmax = "400kB", adaptive = { kmin = "50kB", kmax = "200kB" } } },
        { priorities = [1], rate_limit = "9G", lossy = {} },
    ]
    classify = {}
    pfc = {}
    link_delay = {}
    repair = {}
    lldp = {}
    watchdog = {}
    supplement = { threshold = "1MB", cnp = {} }
    [[port]]
    name = "b"
    rate = "100G"
    distance = "10km"
    flow_control = "bifrost"
    bifrost = {}
    lossless = [{ priorities = [3] }]
    [[port]]
    name = "c"
    rate = "100G"
    distance = "10km"
    flow_control = "bifrostx"
    bifrost = { virtual_incoming = "counter" }
    lossless = [{ priorities = [3], xoff = "150MB" }]
    [[port]]
    name = "g"
    rate = "100G"
    distance = "10km"
    flow_control = "relay"
    relay = { from = "b" }
    lossless = [{ priorities = [3] }]
    [[port]]
    name = "h"
    rate = "100G"
    distance = "10km"
    flow_control = "port-grants"
    bifrost = {}
    port_grants = {}
    lossless = [{ priorities = [3] }]
"#;

/// The schemes that need no more than their name and a table, each on its own port.
const PLAIN: [(&str, &str); 3] = [("cbfc", "cbfc"), ("p-pfc", "p_pfc"), ("capfc", "capfc")];

/// Ports of all schemes.
fn schemes() -> Table {
    let port = |(word, table): &(&str, &str)| {
        format!(
            "[[port]]\nname = \"{word}\"\nrate = \"100G\"\ndistance = \"10km\"\nflow_control = \"{word}\"\n\
             {table} = {{}}\nlossless = [{{ priorities = [3] }}]\n"
        )
    };
    let plain: String = PLAIN.iter().map(port).collect();
    format!("{SCHEMES}\n{plain}").parse().unwrap()
}

/// LSCC, beside which no other port marks.
const LSCC: &str = r#"
    buffer = { shared = "256MiB" }
    [[port]]
    name = "a"
    rate = "100G"
    distance = "10km"
    lossless = [{ priorities = [3] }]
    [[port]]
    name = "b"
    rate = "100G"
    distance = "10km"
    flow_control = "bifrost"
    lossless = [{ priorities = [3] }]
    lscc = { local = "10.255.0.1", peer = "10.255.0.2", key = "none", direct = "int", cnp = {}, senders = {} }
"#;

/// THEMIS, whose slow queues have no place beside grants for far ports.
const THEMIS: &str = r#"
    [[port]]
    name = "a"
    rate = "100G"
    distance = "10km"
    lossless = [{ priorities = [3] }]
    [[port]]
    name = "b"
    rate = "100G"
    distance = "10km"
    themis = { cnp = {} }
    lossless = [{ priorities = [3] }]
"#;

const DEVICES: &str = r#"
    control = {}
    process = {}
    dpdk = { cores = [1, 2, 3, 4] }
    forwarding = { pairs = [["a", "b"], ["c", "d"]] }
    buffer = { shared = "4MiB" }
    [[port]]
    name = "a"
    rate = "10G"
    device = { pci = "0000:3b:00.0" }
    [[port]]
    name = "b"
    rate = "20G"
    device = { vdev = "net_null0" }
    [[port]]
    name = "c"
    rate = "30G"
    distance = "100km"
    device = { interface = "veth0" }
    emulation = { delay = "100us" }
    [[port]]
    name = "d"
    rate = "40G"
    device = { memif = { socket = "/run/longspan/link.memif", role = "server" } }
"#;

/// Interfaces, whose frames fit into a page as AF_XDP wants it.
const SHORT: &str = r#"
    dpdk = { cores = [1] }
    [[port]]
    name = "a"
    rate = "10G"
    mtu = 1500
    device = { interface = "veth0" }
    [[port]]
    name = "b"
    rate = "10G"
    mtu = 1500
    device = { interface = "veth1" }
"#;

const BRIDGE: &str = r#"
    forwarding = { mode = "bridge" }
    bundle = [{ name = "e", members = ["b", "c"], liveness = "hello", key = "00112233445566778899aabbccddeeff" }]
    [[port]]
    name = "a"
    mac = "02:00:5e:00:00:01"
    rate = "10G"
    distance = "10km"
    [[port]]
    name = "b"
    rate = "10G"
    distance = "10km"
    [[port]]
    name = "c"
    rate = "10G"
    distance = "10km"
"#;

/// Routes, and profiles to choose from.
const ROUTES: &str = r#"
    [forwarding]
    mode = "route"
    [[forwarding.route]]
    prefix = "10.1.0.0/16"
    next_hops = ["10.0.0.2"]
    [[forwarding.neighbour]]
    address = "10.0.0.2"
    mac = "02:00:00:00:00:02"
    port = "a"
    [[forwarding.neighbour]]
    address = "10.0.0.3"
    mac = "02:00:00:00:00:03"
    port = "a"
    [[port]]
    name = "a"
    rate = "10G"
    [[port]]
    name = "lh0"
    rate = "10G"
    distance = "10km"
    lossless = [{ priorities = [3], profile = "a0" }]
    queue = [{ priorities = [1], profile = "a0" }]
    [profile.lossless]
    a0 = { xoff = "1MB" }
    a1 = { xoff = "2MB" }
    [profile.queue]
    a0 = { rate_limit = "1G" }
    a1 = { rate_limit = "2G" }
"#;

/// A kernel for the addresses of a port and of a bundle.
const KERNEL: &str = r#"
    forwarding = { mode = "route" }
    kernel = { namespace = "frr" }
    bundle = [{ name = "lh", members = ["b", "c"] }]
    [[port]]
    name = "a"
    rate = "10G"
    addresses = ["10.0.0.254/24"]
    [[port]]
    name = "b"
    rate = "10G"
    distance = "10km"
    addresses = ["10.0.1.254/24"]
    [[port]]
    name = "c"
    rate = "10G"
    distance = "10km"
"#;

/// The keys of a port or of its tables that no profile has.
const OWN: [&str; 4] = ["name", "mac", "addresses", "device"];

/// The same gateway, whose ports, groups and queues take all that they can from profiles.
fn by_profiles(file: &Table) -> Table {
    let mut file = file.clone();
    let [mut of_ports, mut of_groups, mut of_queues] = [Table::new(), Table::new(), Table::new()];
    for port in file["port"].as_array_mut().unwrap() {
        let port = port.as_table_mut().unwrap();
        let name = port["name"].as_str().unwrap().to_owned();
        for (list, profiles) in [("lossless", &mut of_groups), ("queue", &mut of_queues)] {
            for element in port.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let profile = format!("{name}{}", profiles.len());
                let mut element_keys = element.as_table().unwrap().clone();
                let priorities = element_keys.remove("priorities").unwrap();
                profiles.insert(profile.clone(), element_keys.into());
                let own = [("priorities".to_owned(), priorities), ("profile".to_owned(), profile.into())];
                *element = Value::Table(own.into_iter().collect());
            }
        }
        let (own, shared): (Table, Table) =
            port.clone().into_iter().partition(|(key, _)| OWN.contains(&key.as_str()));
        of_ports.insert(name.clone(), shared.into());
        *port = own;
        port.insert("profile".into(), name.into());
    }
    let profiles = [("port", of_ports), ("lossless", of_groups), ("queue", of_queues)];
    let profiles = profiles.into_iter().map(|(kind, profiles)| (kind.to_owned(), profiles.into()));
    file.insert("profile".into(), Value::Table(profiles.collect()));
    file
}

fn make(file: &Table, put: Option<(&[String], &Value)>) -> Made {
    let file = put.map_or_else(|| file.clone(), |(path, value)| with(file, path, value.clone()));
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/keys");
    match load::gateway(&file.to_string(), "every-key.toml", Some(&keys)) {
        Ok(mut gateway) => {
            let problems = core::mem::take(&mut gateway.warnings);
            Made { all: Some(format!("{gateway:?}")), problems }
        }
        Err(ConfigError::Invalid { problems }) => Made { all: None, problems },
        Err(unreadable) => panic!("{unreadable}"),
    }
}

#[test]
fn every_key_of_a_gateway_acts_or_is_refused_by_name() {
    let others =
        [LSCC, DEVICES, THEMIS, SHORT, BRIDGE, ROUTES, KERNEL].map(|text| text.parse::<Table>().unwrap());
    let files: Vec<Table> = [schemes()].into_iter().chain(others).collect();
    let profiles = [0, 1, 2, 3].map(|index: usize| by_profiles(&files[index]));
    let mut tables = Vec::new();
    Document::describe("", &mut tables);
    let mut trial = Trial::default();
    for (table, keys) in tables.iter().filter(|(table, _)| !table.is_empty()) {
        // Profiles have names that the file chooses.
        let mut path: Vec<&str> = table.split('.').collect();
        if path[0] == "profile" && path.len() > 1 {
            path.insert(2, "*");
        }
        let mut count = 0;
        for file in files.iter().chain(&profiles) {
            for path in places(&Value::Table(file.clone()), &path) {
                trial.place(table, &Place { file, path, keys, anyway: &[] }, &make);
                count += 1;
            }
        }
        assert!(count > 0 || !keys.iter().any(is_tried), "no file has the table {table}");
    }
    // A key is not shown, hellos need one, and a list of some members or ports is no value of a kind: the tests of shipped files have
    // these.
    trial.end(&["bundle.drained", "bundle.key", "bundle.key_file", "bundle.liveness", "kernel.learn"]);
}
