//! The files of this repository, for the tests that read our own source.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that hold what was built, fetched or found, not what was written.
const NOT_SOURCE: [&str; 6] = [".git", "target", "out", "corpus", "artifacts", "node_modules"];

/// The directory of the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests crate is a directory of the workspace")
}

/// Every file under `directory` for which `wanted` holds, in a stable order.
pub fn files_under(directory: &Path, wanted: fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default();
            if path.is_symlink() || NOT_SOURCE.iter().any(|skipped| name == *skipped) {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else if wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether `path` is Rust source.
pub fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// `path` as a person would write it, from the root of the workspace on.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
