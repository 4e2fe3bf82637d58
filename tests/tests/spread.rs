//! A scheme stands in its own folder: little else may name it.

use std::process::Command;

/// The most files outside its folder that name a scheme.
const MOST: u32 = 8;

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
    assert!(counts.len() >= 8 && counts.iter().all(|(_, files)| *files > 0), "{counts:?}");
    for (name, files) in counts {
        assert!(files <= MOST, "scripts/spread {name}: {files} files, and at most {MOST} may name it");
    }
}
