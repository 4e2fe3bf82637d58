//! The style that a machine can check. The rest is in CONTRIBUTING.md.

mod source_tree;

use std::fs;
use std::path::Path;

use source_tree::{files_under, is_rust, root, shown};

/// How long a file may be: a file is about one thing.
const LINES_MAX: usize = 600;

/// Words for work that was put off. Written in two halves, so that this file does not hold them.
const PUT_OFF: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("todo", "!("),
    concat!("unimple", "mented!("),
];

/// Beginnings of paths that exist on someone's machine only.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Directories in which people write files without an extension.
const WRITTEN_IN: [&str; 4] = ["scripts", ".ci", "debian", "containerlab"];

/// Written files without an extension elsewhere.
const WRITTEN_NAMES: [&str; 4] = ["Dockerfile", ".gitignore", ".dockerignore", "LICENSE"];

/// Extensions of what people write.
const WRITTEN_EXTENSIONS: [&str; 16] = [
    "rs", "toml", "md", "sh", "py", "lua", "yml", "yaml", "c", "h", "in", "css", "service", "sbatch", "key",
    "json",
];

/// Directories of golden files and seeds.
const AS_THEY_ARE: [&str; 2] = ["golden", "seeds"];

/// Everything that people write here: code, manifests, scripts and prose. Not captures, golden
/// files, seeds and published data, which are as they are.
fn is_written(path: &Path) -> bool {
    let directory = path.parent().and_then(Path::file_name).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    let extension = path.extension().unwrap_or_default();
    if path.iter().any(|part| AS_THEY_ARE.iter().any(|kept| part == *kept)) {
        return false;
    }
    WRITTEN_IN.iter().any(|written| directory == *written)
        || WRITTEN_NAMES.iter().any(|written| name == *written)
        || WRITTEN_EXTENSIONS.iter().any(|written| extension == *written)
}

/// `path:line: complaint` for every line of every written file to which `complaint` objects.
fn complaints(complaint: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for path in files_under(root(), is_written) {
        let text = fs::read_to_string(&path).expect("a written file is UTF-8");
        for (number, line) in text.lines().enumerate() {
            if let Some(complaint) = complaint(line) {
                found.push(format!("{}:{}: {complaint}", shown(&path), number + 1));
            }
        }
    }
    found
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n  {}\n", found.join("\n  "));
}

fn whitespace_complaint(line: &str) -> Option<String> {
    if line.ends_with([' ', '\t', '\r']) {
        return Some("whitespace at the end".to_owned());
    }
    line.contains('\t').then(|| "a tab".to_owned())
}

fn put_off_complaint(line: &str) -> Option<String> {
    PUT_OFF
        .iter()
        .find(|word| line.contains(**word))
        .map(|word| format!("{word}: do it, or file it elsewhere"))
}

fn machine_path_complaint(line: &str) -> Option<String> {
    let path = MACHINE_PATHS.iter().find(|path| line.contains(**path))?;
    Some(format!("{path} is on one machine only"))
}

#[test]
fn no_line_ends_in_whitespace_or_holds_a_tab() {
    assert_none(&complaints(whitespace_complaint));
}

#[test]
fn nothing_is_put_off_in_the_source() {
    assert_none(&complaints(put_off_complaint));
}

#[test]
fn nothing_names_a_path_of_somebodys_machine() {
    assert_none(&complaints(machine_path_complaint));
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let mut found = Vec::new();
    for path in files_under(root(), is_rust) {
        let lines = fs::read_to_string(&path).expect("source is UTF-8").lines().count();
        if lines > LINES_MAX {
            found.push(format!("{}: {lines} lines; which two things is it about?", shown(&path)));
        }
    }
    assert_none(&found);
}

#[test]
fn every_written_file_ends_with_one_newline() {
    let mut found = Vec::new();
    for path in files_under(root(), is_written) {
        let text = fs::read_to_string(&path).expect("a written file is UTF-8");
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            found.push(format!("{}: must end with one newline", shown(&path)));
        }
    }
    assert_none(&found);
}

#[test]
fn every_crate_says_at_its_top_what_it_is() {
    let mut found = Vec::new();
    for path in files_under(root(), is_rust) {
        let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        if is_root && !says_what_it_is(&fs::read_to_string(&path).expect("source is UTF-8")) {
            found.push(format!("{}: begin with //! and what the crate is", shown(&path)));
        }
    }
    assert_none(&found);
}

fn says_what_it_is(text: &str) -> bool {
    let first = text.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or_default();
    first.split(' ').count() > 2 && !first.to_lowercase().contains("under construction")
}

#[test]
fn every_script_can_be_run_and_stops_at_the_first_error() {
    let mut found = Vec::new();
    for directory in ["scripts", ".ci"] {
        for path in files_under(&root().join(directory), |path| path.extension().is_none()) {
            let text = fs::read_to_string(&path).expect("a script is UTF-8");
            if !text.starts_with("#!/usr/bin/env bash\n") || !text.contains("\nset -euo pipefail\n") {
                found.push(format!("{}: begin with #!/usr/bin/env bash and set -euo pipefail", shown(&path)));
            }
            if !is_executable(&path) {
                found.push(format!("{}: chmod +x", shown(&path)));
            }
        }
    }
    assert_none(&found);
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[test]
fn what_people_write_is_looked_at_and_what_is_recorded_or_published_is_not() {
    let is_looked_at = |path: &str| is_written(&root().join(path));
    for written in [
        "Dockerfile",
        "benches/dataplane/forwarding.toml.in",
        "config/clusters/kubernetes.yaml",
        "config/systemd/longspan@.service",
        "config/wireshark/longspan.lua",
        "config/containerlab/start",
        "control/longspan/debian/postinst",
    ] {
        assert!(root().join(written).exists() && is_looked_at(written), "{written}");
    }
    for kept in [
        "config/workloads/ali-interdc-2021.cdf",
        "control/telemetry/tests/golden/runtime.json",
        "fuzz/seeds/wire_arp/arp-0",
    ] {
        assert!(root().join(kept).exists() && !is_looked_at(kept), "{kept}");
    }
}

#[test]
fn each_complaint_is_made_where_it_is_due_and_nowhere_else() {
    assert!(whitespace_complaint("let x = 1; ").is_some());
    assert!(whitespace_complaint("\tlet x = 1;").is_some());
    assert!(whitespace_complaint("let x = \"\\t\";").is_none());
    assert!(put_off_complaint(concat!("// TO", "DO: later")).is_some());
    assert!(put_off_complaint("// to do is to be").is_none());
    assert!(machine_path_complaint(concat!("cp /ho", "me/me/a.pcap .")).is_some());
    assert!(machine_path_complaint("cp out/replay/a.pcap .").is_none());
    assert!(says_what_it_is("//! Quantities of the data path as types.\n"));
    assert!(!says_what_it_is("use std::fmt;\n"));
    assert!(!says_what_it_is("//! Under construction.\n"));
}
