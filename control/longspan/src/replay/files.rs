//! The files that are read and written, so that no output overwrites a needed file.

use crate::failure::Failure;
use std::fs::{self, File, Metadata};
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
    written: Vec<Written>,
}

/// A file to write.
struct Written {
    identity: Identity,
    path: PathBuf,
    what: String,
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
        if let Some(other) = self.written.iter().find(|other| other.identity == identity) {
            return Err(other.and_for(path, what));
        }
        self.written.push(Written { identity, path: path.into(), what: what.into() });
        Ok(())
    }

    /// Creates all files to write that are missing, and leaves the others as they are.
    ///
    /// # Errors
    /// [`Failure::Usage`] if two of them turn out to be one file, as a path and a link to a file that was missing do.
    pub fn create(&self) -> Result<(), Failure> {
        let mut created: Vec<(Identity, &Written)> = Vec::new();
        for written in &self.written {
            let Written { path, what, .. } = written;
            // An existing file keeps its content until all outputs are known to be different files.
            let opened = File::options().write(true).create(true).truncate(false).open(path);
            // The writer of the file reports the error.
            let Ok(about) = opened.and_then(|file| file.metadata()) else { continue };
            let identity = Identity::of(&about);
            if let Some((_, other)) = created.iter().find(|(other, _)| *other == identity) {
                return Err(other.and_for(path, what));
            }
            created.push((identity, written));
        }
        Ok(())
    }
}

impl Written {
    /// The error for a file that is also to be written at `path`, as `what`.
    fn and_for(&self, path: &Path, what: &str) -> Failure {
        Failure::usage(format!("{}: is named for both {} and {what}", path.display(), self.what))
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self::Existing(metadata.dev(), metadata.ino())
    }
}

fn identity(path: &Path) -> Identity {
    if let Ok(metadata) = fs::metadata(path) {
        return Identity::of(&metadata);
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
