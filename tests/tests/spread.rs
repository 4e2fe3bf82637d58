//! A scheme stands in its own folder: little else may name it.

use std::process::Command;

/// The most files outside its folder that name a scheme.
const MOST: u32 = 8;

/// Schemes that more files name, with their number, which may only fall.
const OLDER: [(&str, u32); 3] = [
    // Its slots are the buffer, the round trip and the lateness of BifrostX and port grants, and the default of `plan`.
    ("bifrost", 37),
    // It has a sum in `check` and `plan`, keys for the senders, and messages in both directions.
    ("lscc", 43),
    // It joins two ports, so cores, shards and templates of networks know of it.
    ("relay", 15),
];

#[test]
fn few_files_outside_its_folder_name_a_scheme() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/spread");
    let output = Command::new(script).output().expect("a shell is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names are text");
    let count = |line: &str| {
        let (name, files) = line.split_once(' ').expect("a name and a count");
        (name.to_owned(), files.trim().parse::<u32>().expect("a number"))
    };
    let counts: Vec<_> = lines.lines().map(count).collect();
    assert!(counts.len() >= 11 && counts.iter().all(|(_, files)| *files > 0), "{counts:?}");
    for (name, files) in counts {
        let most = OLDER.iter().find(|(older, _)| name == *older).map_or(MOST, |(_, most)| *most);
        assert!(files <= most, "scripts/spread {name}: {files} files, and at most {most} may name it");
    }
}
