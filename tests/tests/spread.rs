//! A scheme stands in its own folder: little else may name it.

use std::process::Command;

/// The most files outside its folder that name a scheme.
const MOST: u32 = 8;
/// Schemes that other files still name more often, and how often at most. The wall that they need is not there yet.
const OPEN: [(&str, u32); 3] = [("adaptive_ecn", 15), ("supplement", 18), ("themis", 19)];

#[test]
fn few_files_outside_its_folder_name_a_scheme() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/spread");
    let output = Command::new(script).output().expect("a shell is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names are text");
    let counts: Vec<(&str, u32)> = lines
        .lines()
        .map(|line| {
            let mut words = line.split_whitespace();
            let (name, files) = (words.next().expect("a name"), words.next().expect("a count"));
            (name, files.parse().expect("a number"))
        })
        .collect();
    assert!(counts.len() >= 8 && counts.iter().all(|(_, files)| *files > 0), "{counts:?}");
    for (name, files) in counts {
        let most = OPEN.iter().find(|(open, _)| *open == name).map_or(MOST, |(_, most)| *most);
        assert!(files <= most, "scripts/spread {name}: {files} files, and at most {most} may name it");
    }
}
