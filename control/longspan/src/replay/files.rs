//! The files that are read and written, so that no output overwrites a needed file.

use crate::failure::Failure;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The identity of a file, independent of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// An existing file: device and inode.
    Existing(u64, u64),
    /// A missing file: its name in an existing directory, or its path.
    Wanted(PathBuf),
}

/// The claimed files, and their uses.
#[derive(Default)]
pub struct Claims {
    read: Vec<(Identity, String)>,
    written: Vec<(Identity, String)>,
}

impl Claims {
    /// Claims `path` for reading as `what`.
    pub fn read(&mut self, path: &Path, what: impl Into<String>) {
        self.read.push((identity(path), what.into()));
    }

    /// Claims `path` for writing as `what`. A device such as `/dev/null` may be claimed any number of times.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is already claimed.
    pub fn write(&mut self, path: &Path, what: &str) -> Result<(), Failure> {
        if path == Path::new("-") {
            return Err(Failure::usage(format!(
                "{what} cannot be written to standard output; name a file, or use --json to print the report"
            )));
        }
        if is_device(path) {
            return Ok(());
        }
        let identity = identity(path);
        let shown = path.display();
        if let Some((_, other)) = self.read.iter().find(|(read, _)| *read == identity) {
            return Err(Failure::usage(format!("{shown}: {what} would overwrite {other}")));
        }
        if let Some((_, other)) = self.written.iter().find(|(written, _)| *written == identity) {
            return Err(Failure::usage(format!("{shown}: is named for both {other} and {what}")));
        }
        self.written.push((identity, what.into()));
        Ok(())
    }
}

fn identity(path: &Path) -> Identity {
    if let Ok(metadata) = fs::metadata(path) {
        return Identity::Existing(metadata.dev(), metadata.ino());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => Identity::Wanted(parent.join(name)),
        _ => Identity::Wanted(path.into()),
    }
}

fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_fifo()
    })
}
