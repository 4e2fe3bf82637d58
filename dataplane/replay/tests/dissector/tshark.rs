//! The output of tshark with the dissector.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use replay::capture::CaptureWriter;
use tempfile::TempDir;
use units::Nanos;

use crate::frames::{Frame, repository};
use crate::ours::Fields;

/// The fields of BFD that are compared.
const BFD: [&str; 10] = [
    "bfd.sta",
    "bfd.flags.p",
    "bfd.flags.f",
    "bfd.flags.c",
    "bfd.detect_time_multiplier",
    "bfd.my_discriminator",
    "bfd.your_discriminator",
    "bfd.desired_min_tx_interval",
    "bfd.required_min_rx_interval",
    "bfd.required_min_echo_interval",
];

const ROOT: u32 = 0;
const NOBODY: u32 = 65_534;

/// Between values of one field. No message has it.
const BETWEEN: char = '|';

/// A frame as tshark shows it.
#[derive(Debug)]
pub struct Row {
    /// The dissector's fields, without the `longspan.` before their names, and those of BFD.
    pub fields: Fields,
    /// Expert information.
    pub messages: Vec<String>,
}

pub fn dissected(frames: &[Frame]) -> Vec<Row> {
    dissected_with(frames, None)
}

/// The frames as tshark shows them with the dissector and with another script. Panics with what Lua complains of.
pub fn dissected_with(frames: &[Frame], script: Option<&str>) -> Vec<Row> {
    let home = home(script);
    let capture = written(frames, home.path());
    let names = names(home.path());
    let aggregator = format!("aggregator={BETWEEN}");
    let mut arguments = vec!["-n", "-r", &capture, "-T", "fields", "-E", "occurrence=a", "-E", &aggregator];
    arguments.extend(["-e", "_ws.expert.message"]);
    arguments.extend(names.iter().flat_map(|name| ["-e", name]));
    let rows: Vec<_> = tshark(home.path(), &arguments).lines().map(|line| row(line, &names)).collect();
    assert_eq!(rows.len(), frames.len());
    let complaint = rows.iter().flat_map(|row| &row.messages).find(|it| it.contains("Lua"));
    assert!(complaint.is_none(), "{complaint:?}");
    rows
}

/// The frames as tshark shows them to a person.
pub fn text(frames: &[Frame]) -> String {
    let home = home(None);
    tshark(home.path(), &["-n", "-V", "-r", &written(frames, home.path())])
}

/// The path of a capture of these frames.
fn written(frames: &[Frame], directory: &Path) -> String {
    let capture = directory.join("frames.pcap");
    let mut writer = CaptureWriter::create(&capture).unwrap();
    for frame in frames {
        writer.write(Nanos(0), &frame.bytes, frame.length as u32).unwrap();
    }
    writer.finish().unwrap();
    capture.display().to_string()
}

/// A directory with the dissector and another script. Others than its owner can read it.
fn home(script: Option<&str>) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    fs::copy(repository("config/wireshark/longspan.lua"), home.path().join("longspan.lua")).unwrap();
    if let Some(text) = script {
        fs::write(home.path().join("other.lua"), text).unwrap();
    }
    home
}

fn row(line: &str, names: &[String]) -> Row {
    let mut cells = line.split('\t').map(|cell| {
        let values = cell.split(BETWEEN).filter(|value| !value.is_empty());
        values.map(plain).collect::<Vec<_>>()
    });
    let messages = cells.next().unwrap();
    let named = names.iter().map(|name| name.trim_start_matches("longspan.").to_owned()).zip(cells);
    let fields: BTreeMap<_, _> = named.filter(|(_, values)| !values.is_empty()).collect();
    Row { fields, messages }
}

/// A value, as a decimal number if it is one.
fn plain(value: &str) -> String {
    match (value, value.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16))) {
        ("True", _) => "1".to_owned(),
        ("False", _) => "0".to_owned(),
        (_, Some(Ok(number))) => number.to_string(),
        _ => value.to_owned(),
    }
}

/// The names of all fields that the dissector has, and those of BFD.
fn names(home: &Path) -> Vec<String> {
    let table = tshark(home, &["-G", "fields"]);
    let names = table.lines().filter_map(|line| line.split('\t').nth(2));
    let ours: Vec<_> = names.filter(|name| name.starts_with("longspan.")).map(str::to_owned).collect();
    assert!(!ours.is_empty(), "tshark has not loaded the dissector");
    ours.into_iter().chain(BFD.map(str::to_owned)).collect()
}

/// The standard output of tshark with the scripts in `home` and nothing that the user or a package has installed. Wireshark
/// takes no directory of plugins from root, so root runs it as nobody.
fn tshark(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.env("HOME", home).env("WIRESHARK_PLUGIN_DIR", home).args(arguments);
    command.env_remove("XDG_CONFIG_HOME").env_remove("WIRESHARK_CONFIG_DIR");
    if fs::metadata(home).unwrap().uid() == ROOT {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("tshark can be run (package tshark)");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaints.contains("Lua"), "{complaints}");
    String::from_utf8(output.stdout).unwrap()
}
