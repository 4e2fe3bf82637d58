//! The crates that each crate may depend on, as cargo sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::source_tree::root;

/// Libraries that may stand below the core, and what each is for. None of them reads a clock, does
/// I/O, logs, starts a thread, or draws randomness by itself in the features that we use; where one
/// has a constructor that does, `dataplane/sans-io.clippy.toml` disallows it.
const ALLOWED_BELOW_THE_CORE: &[(&str, &str)] = &[
    ("arrayvec", "bounded vectors without allocation"),
    ("cfg-if", "conditional compilation"),
    ("crc32fast", "the ICRC"),
    ("etherparse", "general header work"),
    ("foldhash", "hashing with a key or a seed from outside"),
    ("hashbrown", "tables with our own hasher"),
    ("ip_network_table-deps-treebitmap", "longest-prefix match"),
    ("ipnet", "IP prefixes"),
    ("rand_core", "the trait of a seeded generator"),
    ("rand_pcg", "the seeded generator"),
    ("serde", "the state of a simulation as bytes"),
    ("serde-big-array", "the same for arrays of more than 32 elements"),
    ("serde_core", "the traits of serde"),
    ("siphasher", "the tags of feedback messages and hellos"),
    ("thiserror", "error enums"),
    ("zerocopy", "fixed structs over bytes"),
];

/// A member of the workspace and the members that it depends on, in any way, tests included.
pub struct Member {
    pub name: String,
    /// Its directory, from the root of the workspace on.
    pub directory: String,
    pub depends_on: Vec<String>,
}

/// The members of the workspace, as their manifests declare them, for every target.
pub fn members() -> Vec<Member> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    let packages = list(&metadata["packages"]);
    let names: BTreeSet<&str> = packages.iter().map(|package| text(&package["name"])).collect();
    let member = |package: &Value| Member {
        name: text(&package["name"]).to_owned(),
        directory: directory_of(package),
        depends_on: list(&package["dependencies"])
            .iter()
            .map(|dependency| text(&dependency["name"]))
            .filter(|name| names.contains(name))
            .map(str::to_owned)
            .collect(),
    };
    packages.iter().map(member).collect()
}

fn directory_of(package: &Value) -> String {
    let manifest = Path::new(text(&package["manifest_path"]));
    let directory = manifest.parent().expect("a manifest lies in a directory");
    directory.strip_prefix(root()).unwrap_or(directory).display().to_string()
}

/// How high a member stands. It may import only what stands lower.
fn height(directory: &str) -> u8 {
    match directory {
        "dataplane/units" => 0,
        "dataplane/wire" => 1,
        "dataplane/switch" => 2,
        "dataplane/report" | "dataplane/dpdk-sys" | "simulation/endpoint" => 3,
        "dataplane/dpdk" => 4,
        "control/config" => 6,
        "control/gateway" => 8,
        "control/longspan" => 9,
        _ if directory.starts_with("dataplane/") || directory.starts_with("simulation") => 5,
        _ if directory.starts_with("control/") => 7,
        _ => 10,
    }
}

/// Every import between members that does not point downwards.
pub fn imports_against_the_grain(members: &[Member]) -> Vec<String> {
    let heights: BTreeMap<&str, u8> =
        members.iter().map(|member| (member.name.as_str(), height(&member.directory))).collect();
    let mut found = Vec::new();
    for member in members {
        for below in &member.depends_on {
            if heights[below.as_str()] >= heights[member.name.as_str()] {
                found.push(format!("{}/Cargo.toml: {} imports {below}", member.directory, member.name));
            }
        }
    }
    found
}

/// Every library below the crates of `core`, directly or not, that is neither one of them nor on the
/// allow-list. Procedural macros run in the compiler and leave only code that clippy reads, so what
/// they stand on does not count; neither do build scripts of libraries.
pub fn strangers_below(core: &[&str]) -> Vec<String> {
    // `cargo tree` asks for no more than what lies below the core, so that nothing else needs to
    // have been downloaded; `cargo metadata` would want the libraries of the whole workspace.
    let mut arguments =
        vec!["tree", "--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", "{p}"];
    arguments.extend(core.iter().flat_map(|name| ["--package", name]));
    strangers(&cargo(&arguments), core)
}

/// The strangers of a tree in which each line is a depth, right before a package.
fn strangers(tree: &str, core: &[&str]) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut path: Vec<&str> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (depth, package) = line.split_at(line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
        let name = package.split(' ').next().unwrap_or(package);
        path.truncate(depth.parse().expect("cargo tree --prefix depth begins each line with a number"));
        path.push(name);
        if !core.contains(&name) && ALLOWED_BELOW_THE_CORE.iter().all(|(allowed, _)| *allowed != name) {
            found.insert(format!("{}{}", path.join(" <- "), known_trouble(name)));
        }
    }
    found.into_iter().collect()
}

/// The known trouble with a library that people reach for.
fn known_trouble(name: &str) -> &'static str {
    match name {
        "tokio" | "async-std" | "smol" | "mio" | "socket2" | "polling" => " (does I/O)",
        "libc" | "nix" | "rustix" => " (system calls)",
        "tracing" | "log" | "slog" | "env_logger" | "defmt" => " (logs)",
        "chrono" | "time" | "jiff" | "quanta" | "minstant" | "coarsetime" => " (reads the clock)",
        "getrandom" | "rand" | "fastrand" | "uuid" => " (draws ambient randomness)",
        "parking_lot" | "crossbeam-channel" | "flume" | "rayon" => " (locks or starts threads)",
        _ => "",
    }
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo, which runs this test, can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {complaint}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata gives a string here")
}

#[test]
fn an_import_from_above_is_found() {
    let member = |name: &str, directory: &str, depends_on: &[&str]| Member {
        name: name.to_owned(),
        directory: directory.to_owned(),
        depends_on: depends_on.iter().map(|&below| below.to_owned()).collect(),
    };
    let members = [
        member("wire", "dataplane/wire", &["switch"]),
        member("switch", "dataplane/switch", &["wire"]),
        member("replay", "dataplane/replay", &["switch", "worker"]),
        member("worker", "dataplane/worker", &[]),
    ];
    assert_eq!(
        imports_against_the_grain(&members),
        [
            "dataplane/wire/Cargo.toml: wire imports switch",
            "dataplane/replay/Cargo.toml: replay imports worker"
        ]
    );
}

#[test]
fn a_stranger_below_an_allowed_library_is_found_with_the_way_to_it() {
    let tree = "\
0switch v0.1.0 (/somewhere/switch)
1foldhash v0.2.0
2getrandom v0.4.3
1wire v0.1.0 (/somewhere/wire)
2libc v0.2.191

0wire v0.1.0 (/somewhere/wire) (*)";
    assert_eq!(
        strangers(tree, &["wire", "switch"]),
        [
            "switch <- foldhash <- getrandom (draws ambient randomness)",
            "switch <- wire <- libc (system calls)"
        ]
    );
}
