//! The keys of a scenario, and those of a gateway in each table of a scenario that has them, in the file and as an
//! override.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use toml::{Table, Value};

use super::beside::Beside;
use super::{Override, ScenarioFile};
use crate::every_key::{Made, Place, Trial, is_tried, places, with};
use crate::keys::document::Document;
use crate::keys::port::SCHEME_TABLES;
use crate::problem::ConfigError;
use crate::table::{Key, Table as _};
use crate::value::Written as _;

/// Two hosts behind two switches, and a long link.
const FREE: &str = r#"
    scenario = { until = "2ms" }
    network = { lossless = [3, 4] }
    sampling = { events = ["s1"] }
    switch = { ecn = {} }
    long_haul = { ecn = {} }
    [topology]
    template = "free"
    delay = "40us"
    hosts = ["h[0-2]"]
    switches = ["s0", "s1"]
    link = [
        { between = ["h0", "s0"] },
        { between = ["h[1-2]", "s1"] },
        { between = ["s0", "s1"], long = true, rate = "200G", delay = "50us" },
    ]
    [[link]]
    between = ["h0", "s0"]
    faults = { down = ["1us", "2us"], loss = 0.0 }
    faults_there = { down = ["1us", "2us"], loss = 0.0 }
    [[route]]
    node = "s0"
    to = ["h1"]
    via = ["s1"]
    [[node]]
    name = "s0"
    switch = {}
    long_haul = {}
    port = { s1 = {} }
    [[node]]
    name = "h0"
    host = { mtu = 2048, dcqcn = {}, go_back_n = {} }
    [host]
    dcqcn = {}
    go_back_n = {}
    [[traffic]]
    group = "pairs"
    pattern = "pairs"
    sources = ["h0", "h2"]
    destinations = ["h1", "h0"]
    size = "1MB"
    [[traffic]]
    group = "poisson"
    pattern = "poisson"
    load = 0.1
    distribution = "websearch"
    [[traffic]]
    group = "permutation"
    pattern = "permutation"
    every = "200us"
    on = "100us"
    [[traffic]]
    group = "closed"
    pattern = "all-to-all"
    size = "1MB"
    [[traffic]]
    group = "list"
    pattern = "list"
    file = "list.csv"
    [[collective]]
    group = "ring"
    kind = "ring-all-reduce"
    hosts = ["h0", "h2"]
    bytes = "1MB"
    compute = "50us"
    [[collective]]
    group = "trace"
    kind = "goal"
    hosts = ["h2", "h0"]
    file = "two.goal"
"#;

/// The same with two ways between the switches, so that links, routes and nodes can change.
const TWO_WAYS: &str = r#"
    scenario = { until = "2ms" }
    network = { connection_management = true }
    sampling = { flows = ["s0"] }
    [topology]
    template = "free"
    hosts = ["h0", "h1", "h2"]
    switches = ["s0", "s1", "s2", "s3"]
    link = [
        { between = ["h0", "s0"] },
        { between = ["h1", "s1"] },
        { between = ["h2", "s1"] },
        { between = ["s0", "s1"], count = 2 },
        { between = ["s0", "s2"] },
        { between = ["s2", "s1"] },
        { between = ["s0", "s3"] },
        { between = ["s3", "s1"] },
    ]
    [[link]]
    between = ["s0", "s1"]
    index = 0
    delay = "3us"
    [[link]]
    between = ["s0", "s3"]
    faults = { down = ["1ms", "3ms"] }
    [[route]]
    node = "s0"
    to = ["h1"]
    via = ["s1"]
    [[node]]
    name = "s2"
    configuration = "gateway.toml"
    [[traffic]]
    group = "s0"
    pattern = "permutation"
    size = "1MB"
    [[traffic]]
    group = "other"
    pattern = "permutation"
    size = "1MB"
"#;

/// Other ways to send.
const HOSTS: [&str; 3] = [
    r#"host = { congestion_control = "timely", timely = {}, transport = "irn", irn = {} }
       node = [{ name = "left0", host = { timely = {}, irn = {} } }]"#,
    r#"host = { congestion_control = "hpcc", hpcc = {} }
       node = [{ name = "left0", host = { hpcc = {} } }]"#,
    r#"host = { transport = "new-reno", new_reno = {} }
       node = [{ name = "left0", host = { new_reno = {} } }]"#,
];

/// Templates; of each table of the reference, the places where it stands.
const TEMPLATES: [(&str, &[(&str, &str)]); 6] = [
    (
        r#"topology = { template = "incast", senders = 2, receiver = {} }"#,
        &[
            ("incast", "topology"),
            ("links", "topology"),
            ("incast.receiver", "topology.receiver"),
            ("topology", "topology"),
        ],
    ),
    (
        r#"topology = { template = "dumbbell", left = 1, bottleneck = {} }"#,
        &[("dumbbell", "topology"), ("dumbbell.bottleneck", "topology.bottleneck")],
    ),
    (
        r#"topology = { template = "leaf-spine", leaves = 2, spines = 1, hosts = 1, uplink = {} }"#,
        &[("leaf-spine", "topology"), ("leaf-spine.uplink", "topology.uplink")],
    ),
    (
        r#"topology = { template = "fat-tree", k = 2, uplink = {} }"#,
        &[("fat-tree", "topology"), ("fat-tree.uplink", "topology.uplink")],
    ),
    (
        r#"topology = { template = "two-data-centers", data_center = { hosts = 1 }, east = { hosts = 2 }, gateway = {}, long_link = {} }"#,
        &[
            ("topology.long_link", "topology.long_link"),
            ("topology.data_center", "topology.data_center"),
            ("topology.data_center", "topology.east"),
            ("star", "topology.data_center"),
            ("links", "topology.gateway"),
            ("links", "topology.long_link"),
            ("links", "topology.east"),
        ],
    ),
    (
        r#"topology = { template = "two-data-centers", data_center = { template = "leaf-spine", leaves = 1, spines = 1, hosts = 1, uplink = {} } }"#,
        &[("leaf-spine", "topology.data_center"), ("leaf-spine.uplink", "topology.data_center.uplink")],
    ),
];

/// The traffic of a network of any template.
const TRAFFIC: &str = r#"
    [[traffic]]
    group = "all"
    pattern = "permutation"
    size = "1MB"
"#;

const CLAIMS: &str = r#"
    [[variant]]
    name = "a"
    [[variant]]
    name = "s0"
    set.scenario.seed = 2
    [[claim]]
    id = "one"
    text = "It is so."
    metric = "fct.all.p99_ns"
    of = "a"
    against = "s0"
    paper = -0.2
"#;

/// What a table needs before it can stand in a layer.
const NEEDED: [(&str, &str); 3] = [
    ("supplement", "threshold = '1MB'"),
    ("adaptive", "kmin = '50kB'\nkmax = '200kB'"),
    ("lscc", "direct = 'int'"),
];
/// Tables that no simulated switch has.
const REFUSED: [&str; 6] = ["dpdk", "control", "process", "device", "emulation", "bundle"];

fn beside() -> Beside {
    let gateway = "port = [{ name = 's0', rate = '100G' }, { name = 's1', rate = '100G' }]";
    let list = "start_ns,source,destination,bytes,priority\n0,h0,h1,1000,3\n";
    let texts = [
        ("list.csv", list),
        ("flows.csv", &list.replace("1000", "2000")),
        ("gateway.toml", gateway),
        ("two.goal", "num_ranks 2\nrank 0 {\nsend 9b to 1\n}\nrank 1 {\nrecv 9b from 0\n}\n"),
        ("other", "num_ranks 1\nrank 0 {\ncalc 9\n}\n"),
        ("a", &format!("buffer = {{ shared = '64MiB' }}\n{gateway}")),
    ];
    Beside::Texts(texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
}

fn made(text: String, overrides: &[Override]) -> Made {
    let file = match ScenarioFile::read(text, "every-key.toml".into(), beside()) {
        Ok(file) => file,
        Err(ConfigError::Invalid { problems }) => return Made { all: None, problems },
        Err(unreadable) => panic!("{unreadable}"),
    };
    match file.build_one(overrides) {
        Ok(mut scenario) => {
            let problems = core::mem::take(&mut scenario.warnings);
            let of_file = (&file.variants, &file.claims, &file.quick);
            Made { all: Some(format!("{of_file:?} {scenario:?}")), problems }
        }
        Err(ConfigError::Invalid { problems }) => Made { all: None, problems },
        Err(unreadable) => panic!("{unreadable}"),
    }
}

/// Puts a value into the file.
fn in_file(file: &Table, put: Option<(&[String], &Value)>) -> Made {
    let file = put.map_or_else(|| file.clone(), |(path, value)| with(file, path, value.clone()));
    made(file.to_string(), &[])
}

/// Puts a value over the file.
fn as_override(file: &Table, put: Option<(&[String], &Value)>) -> Made {
    let over = put.map(|(path, value)| Override::new(path.join("."), value.to_string()));
    made(file.to_string(), &over.into_iter().collect::<Vec<_>>())
}

fn table(text: &str) -> Table {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn path(text: &str) -> Vec<String> {
    text.split('.').map(Into::into).collect()
}

type Described = Vec<(String, &'static [Key])>;

/// The tables of a scenario with their places, and files that have them.
fn own_places(described: &Described) -> Vec<(String, Table, Vec<String>, &'static [Key])> {
    let mut found = Vec::new();
    let mut add = |name: &str, file: &Table, at: &str| {
        let keys = described.iter().find(|(table, _)| table == name).unwrap().1;
        let steps: Vec<&str> = at.split('.').collect();
        let paths = places(&Value::Table(file.clone()), &steps);
        found.extend(paths.into_iter().map(|path| (name.to_owned(), file.clone(), path, keys)));
    };
    for (text, places) in TEMPLATES {
        let file = table(&format!("{text}\n{TRAFFIC}"));
        places.iter().for_each(|(name, at)| add(name, &file, at));
    }
    let mut files =
        vec![table(FREE), table(TWO_WAYS), table(&format!("{}\n{TRAFFIC}\n{CLAIMS}", TEMPLATES[1].0))];
    files.extend(HOSTS.map(|hosts| table(&format!("{hosts}\n{}\n{TRAFFIC}", TEMPLATES[1].0))));
    for file in files {
        for (name, _) in described {
            let at = if name == "ecn" { "switch.ecn" } else { name };
            add(name, &file, at);
        }
        add("ecn", &file, "long_haul.ecn");
        if file["topology"]["template"].as_str() == Some("free") {
            add("free", &file, "topology");
            add("links", &file, "topology");
            add("links", &file, "topology.link");
            add("links", &file, "link");
        }
    }
    found
}

#[test]
fn every_key_of_a_scenario_acts_or_is_refused_by_name() {
    let mut described = Vec::new();
    super::describe(&mut described);
    let mut trial = Trial::default();
    let found = own_places(&described);
    for (name, keys) in &described {
        let any = found.iter().any(|(table, ..)| table == name);
        assert!(any || !keys.iter().any(is_tried), "no file has the table {name}");
    }
    for (name, file, path, keys) in &found {
        let place = Place { file, path: path.clone(), keys, anyway: &[] };
        trial.place(name, &place, &in_file);
        trial.place(name, &place, &as_override);
    }
    // Other nodes do not fit the links, and other templates have other keys.
    trial.end(&["free.hosts", "free.switches", "topology.template"]);
}

/// The file with the table at `path` of a layer, and what it needs.
fn prepared(file: &Table, path: &[String]) -> Table {
    let mut file = file.clone();
    if path.iter().any(|step| REFUSED.contains(&step.as_str())) {
        return file;
    }
    for (above, step) in path.iter().enumerate() {
        if let Some((_, words)) = SCHEME_TABLES.iter().find(|(table, _)| table == step) {
            let key = [&path[..above], &["flow_control".to_owned()]].concat();
            file = with(&file, &key, words[0].write().trim_matches('"').into());
        }
        if let Some((_, keys)) = NEEDED.iter().find(|(table, _)| table == step) {
            file = with(&file, &path[..=above], table(keys).into());
        }
    }
    let whole = Value::Table(file.clone());
    let found = path.iter().try_fold(&whole, |value, step| match step.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(step.as_str()),
    });
    if found.is_none() {
        file = with(&file, path, Table::new().into());
    }
    file
}

#[test]
fn every_key_of_a_gateway_acts_in_a_scenario_or_is_refused_by_name() {
    let mut described = Vec::new();
    Document::describe("", &mut described);
    let file = table(FREE);
    let mut trial = Trial::default();
    let of_port = ["switch.port", "long_haul", "node.0.switch.port", "node.0.long_haul", "node.0.port.s1"];
    let of_switch = ["switch", "node.0.switch"];
    for (name, keys) in &described {
        let below = name.strip_prefix("port");
        let layers = if below.is_some() { &of_port[..] } else { &of_switch[..] };
        // The network makes routes and neighbours, and no port takes a profile by itself.
        if name.is_empty()
            || ["profile", "forwarding.route", "forwarding.neighbour"].iter().any(|it| name.starts_with(it))
        {
            continue;
        }
        for layer in layers {
            let at =
                path(&below.map_or_else(|| format!("{layer}.{name}"), |below| format!("{layer}{below}")));
            let file = if below == Some("") { file.clone() } else { prepared(&file, &at) };
            // The network makes these.
            let anyway = &[("mode", "route"), ("name", "s1")];
            let place = Place { file: &file, path: at, keys, anyway };
            trial.place(name, &place, &in_file);
            if *layer == "switch.port" || *layer == "switch" {
                trial.place(name, &place, &as_override);
            }
        }
    }
    // The network makes routes, names, orientations and keys, and takes no profiles.
    let made = [
        "forwarding",
        "port.name",
        "port.remap",
        "port.relay.from",
        "port.lscc.key_file",
        "port.repair.key_file",
    ];
    let profiles = ["port.profile", "port.lossless.profile", "port.queue.profile"];
    let refused = ["bundle", "control", "dpdk", "kernel", "process", "port.device", "port.emulation"];
    trial.end(&[&made[..], &profiles, &refused].concat());
}
