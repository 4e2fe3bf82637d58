//! The design's one rule, enforced: the switch, the hosts of the simulator, and all they stand on, are sans-IO.
//!
//! The crate graph says what the core can reach at all (`crate_graph`). Clippy refuses clocks, files, threads, locks,
//! logs and ambient randomness where they are written down, by the `clippy.toml` of each core crate, and the core may
//! not overrule it.

mod crate_graph;
mod file_graph;
#[path = "../source_tree/mod.rs"]
mod source_tree;
mod tokens;

use std::fs;
use std::path::Path;

use source_tree::{files_under, is_rust, root, shown};

/// The crates that the rule binds, from the ground up, with their directories.
const CORE: [(&str, &str); 4] = [
    ("units", "dataplane/units"),
    ("wire", "dataplane/wire"),
    ("switch", "dataplane/switch"),
    ("endpoint", "simulation/endpoint"),
];

/// The only directories in which `unsafe` may be written: the bindings, and the ports over them.
const UNSAFE_ALLOWED: [&str; 2] = ["dataplane/dpdk-sys", "dataplane/dpdk"];

fn assert_none(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}\n", found.join("\n  "));
}

#[test]
fn flows_know_no_scheme_that_stands_on_them() {
    let mut found = Vec::new();
    for path in files_under(&root().join("dataplane/switch/src/flows"), is_rust) {
        let text = fs::read_to_string(&path).expect("a listed file can be read");
        let imports = text.lines().filter(|line| line.contains("congestion::") || line.contains("Lscc"));
        found.extend(imports.map(|line| format!("{}: {}", shown(&path), line.trim())));
    }
    assert_none(found, "schemes import flows, and never the other way round");
}

#[test]
fn every_member_inherits_the_workspace_lints_and_they_forbid_unsafe() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    assert!(
        table(&manifest, "[workspace.lints.rust]").any(|line| line == r#"unsafe_code = "forbid""#),
        "Cargo.toml: [workspace.lints.rust] must say unsafe_code = \"forbid\""
    );
    let mut found = Vec::new();
    for member in crate_graph::members() {
        let path = root().join(&member.directory).join("Cargo.toml");
        let text = fs::read_to_string(path).expect("a member has a manifest");
        if UNSAFE_ALLOWED.contains(&member.directory.as_str()) {
            let missing = lints_missing_where_unsafe_is_allowed(&manifest, &text);
            found.extend(missing.into_iter().map(|it| format!("{}/Cargo.toml: add {it}", member.directory)));
        } else if table(&text, "[lints]").all(|line| line != "workspace = true") {
            found.push(format!("{}/Cargo.toml: add [lints] workspace = true", member.directory));
        }
    }
    assert_none(found, "the workspace's lints bind every member");
}

/// A crate in which `unsafe` may be written repeats all lints of the workspace but that one, because
/// Cargo inherits all or none, and has the lints that hold each `unsafe` to its reason.
fn lints_missing_where_unsafe_is_allowed(workspace: &str, member: &str) -> Vec<String> {
    let rust = table(workspace, "[workspace.lints.rust]").filter(|line| !line.starts_with("unsafe_code"));
    let clippy = table(workspace, "[workspace.lints.clippy]");
    let wanted = rust
        .chain([r#"unsafe_op_in_unsafe_fn = "deny""#])
        .map(|line| ("[lints.rust]", line))
        .chain(clippy.chain([r#"undocumented_unsafe_blocks = "deny""#]).map(|line| ("[lints.clippy]", line)));
    wanted
        .filter(|(name, line)| !line.is_empty() && table(member, name).all(|there| there != *line))
        .map(|(name, line)| format!("{line} to {name}"))
        .collect()
}

/// The lines of a table of a manifest.
fn table<'a>(manifest: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let mut lines = manifest.lines().map(str::trim);
    lines.by_ref().find(|line| *line == name);
    lines.take_while(|line| !line.starts_with('['))
}

#[test]
fn a_lint_that_is_left_out_where_unsafe_is_allowed_is_found() {
    let workspace = "\
        [workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n\
        [workspace.lints.clippy]\ntodo = \"deny\"\n";
    let member = "[lints.rust]\nunsafe_code = \"deny\"\nmissing_docs = \"warn\"\n\
        [lints.clippy]\nundocumented_unsafe_blocks = \"deny\"\n";
    assert_eq!(
        lints_missing_where_unsafe_is_allowed(workspace, member),
        [r#"unsafe_op_in_unsafe_fn = "deny" to [lints.rust]"#, r#"todo = "deny" to [lints.clippy]"#]
    );
}

#[test]
fn imports_point_one_way() {
    assert_none(
        crate_graph::imports_against_the_grain(&crate_graph::members()),
        "units <- wire <- switch <- {worker, replay, simulation} <- control: nothing knows what stands above it",
    );
}

#[test]
fn no_two_files_of_a_crate_import_each_other() {
    let roots = crate_graph::members().into_iter().flat_map(|member| {
        let source = root().join(member.directory).join("src");
        ["lib.rs", "main.rs"].map(|file| source.join(file))
    });
    let graphs = roots.filter(|root| root.exists()).map(|root| file_graph::FileGraph::of(&root));
    assert_none(
        graphs.flat_map(|graph| graph.cycles()).collect(),
        "move what both sides need to its own file, so that imports between files point one way, too",
    );
}

#[test]
fn the_core_stands_on_nothing_but_the_allow_list() {
    assert_none(
        crate_graph::strangers_below(&CORE.map(|(name, _)| name)),
        "a library below the core is reviewed for I/O, clocks, logs and ambient randomness, and then \
         listed in tests/tests/one_rule/crate_graph.rs with what it is for",
    );
}

#[test]
fn clippy_holds_the_core_to_one_and_the_same_list() {
    let shared = fs::read_to_string(root().join("dataplane/sans-io.clippy.toml")).expect("the list exists");
    for (_, directory) in CORE {
        let path = root().join(directory).join("clippy.toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, shared, "{} must be a link to dataplane/sans-io.clippy.toml", shown(&path));
    }
    let workspace = fs::read_to_string(root().join("clippy.toml")).expect("the workspace configures clippy");
    for setting in workspace.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        assert!(
            shared.contains(setting),
            "clippy merges nothing: repeat {setting:?} in dataplane/sans-io.clippy.toml"
        );
    }
}

#[test]
fn the_core_does_not_overrule_its_lints() {
    let mut found = Vec::new();
    for (_, directory) in CORE {
        for path in files_under(&root().join(directory).join("src"), is_rust) {
            let text = fs::read_to_string(&path).expect("a listed file can be read");
            let lines = text.lines().enumerate().filter(|(_, line)| line.contains("clippy::disallowed_"));
            found.extend(
                lines.map(|(place, line)| format!("{}:{}: {}", shown(&path), place + 1, line.trim())),
            );
        }
    }
    assert_none(found, "the disallowed_* lints are the rule itself: no allow or expect in the core");
}

#[test]
fn the_files_that_the_rule_reads_are_where_it_looks() {
    for (_, directory) in CORE {
        let source: &Path = &root().join(directory).join("src");
        assert!(!files_under(source, is_rust).is_empty(), "{} holds no source", shown(source));
    }
}
