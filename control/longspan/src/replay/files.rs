//! Which files are read and written, so that none is written over that is still needed.

use crate::failure::Failure;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The same file, whatever path leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// A file that exists: device and inode.
    Existing(u64, u64),
    /// One that does not: its name in a directory that exists, or the path as it is.
    Wanted(PathBuf),
}

/// Who has claimed which file.
#[derive(Default)]
pub struct Claims {
    read: Vec<(Identity, String)>,
    written: Vec<(Identity, String)>,
}

impl Claims {
    /// `path` is read as `what`.
    pub fn read(&mut self, path: &Path, what: impl Into<String>) {
        self.read.push((identity(path), what.into()));
    }

    /// `path` is written as `what`.
    ///
    /// # Errors
    /// [`Failure::Usage`] where it is also read, or written as something else. A device such as
    /// `/dev/null` may be written as often as you like.
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
