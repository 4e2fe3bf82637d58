//! The checkpoint of a run: a file from which the run goes on after an interrupt or a crash.
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | `LNGSPNCK` |
//! | 32 | the digest of the inputs of the run, this executable included |
//! | 16 | the digest of all that follows |
//! | 8 | the length of the recordings, little endian |
//! | the rest | the recordings, and the state of the simulation |
//!
//! Nothing of a file is read on before both digests are right. They find damage and files of other runs. They do not stop
//! someone who forges a file, who could also forge the results beside it.

use crate::simulate::digest;
use core::time::Duration;
use replay::capture::CaptureError;
use simulation::NotResumed;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of the file. It exists only while its run is not complete.
pub const CHECKPOINT: &str = "checkpoint";
/// Its name until it is complete.
pub const INCOMPLETE: &str = "checkpoint.new";
const MAGIC: &[u8; 8] = b"LNGSPNCK";
/// The length of a digest of inputs.
const INPUTS: usize = 32;

/// The directory among the files of a run in `directory` that has the name of a checkpoint. A link to one is a file.
pub fn in_the_way(directory: &Path) -> Option<PathBuf> {
    let is_directory = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
    [CHECKPOINT, INCOMPLETE].map(|name| directory.join(name)).into_iter().find(is_directory)
}

/// Writes the checkpoints of a run.
pub struct Keeper {
    directory: PathBuf,
    inputs: String,
    every: Duration,
    last: Instant,
}

/// A checkpoint was not written.
#[derive(Debug, thiserror::Error)]
pub enum NotSaved {
    /// The file, or one that belongs to it.
    #[error("a checkpoint cannot be written, and the run goes on without it: {0}")]
    Write(#[from] io::Error),
    /// A capture that belongs to it.
    #[error("a checkpoint cannot be written, and the run goes on without it: {0}")]
    Capture(#[from] CaptureError),
}

/// A checkpoint is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotUsed {
    #[error("it is no checkpoint")]
    Foreign,
    #[error("it is of other inputs, or of another version of Longspan")]
    Inputs,
    #[error("it is damaged")]
    Damaged,
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("{0}")]
    Capture(#[from] CaptureError),
    #[error("{0}")]
    State(#[from] NotResumed),
}

impl NotUsed {
    /// Whether the checkpoint can never be used. Anything else, such as too many open files, may be over at the next start.
    pub fn is_final(&self) -> bool {
        let is_lost =
            |error: &io::Error| matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::NotFound);
        match self {
            Self::Foreign | Self::Inputs | Self::Damaged | Self::State(_) => true,
            Self::Read(source) | Self::Capture(CaptureError::Create { source, .. }) => is_lost(source),
            Self::Capture(_) => false,
        }
    }
}

impl Keeper {
    /// A keeper of a run with these `inputs`, which writes a checkpoint to `directory` every so often.
    pub fn new(directory: &Path, inputs: &str, every: Duration) -> Self {
        Self { directory: directory.into(), inputs: inputs.into(), every, last: Instant::now() }
    }

    /// Whether it is time for a checkpoint.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Notes that a checkpoint is made now, so that the next one is due in its turn, also after a failure.
    pub fn begin(&mut self) {
        self.last = Instant::now();
    }

    /// Writes a checkpoint instead of the last one.
    pub fn write(&self, recordings: &[u8], state: &[u8]) -> Result<(), NotSaved> {
        let incomplete = self.directory.join(INCOMPLETE);
        let written = self.write_to(&incomplete, recordings, state);
        if written.is_err() {
            // Half a file would only keep a disk full. The error that counts is the first one.
            let _ = fs::remove_file(incomplete);
        }
        written
    }

    fn write_to(&self, incomplete: &Path, recordings: &[u8], state: &[u8]) -> Result<(), NotSaved> {
        let length = (recordings.len() as u64).to_le_bytes();
        let digest = digest::of_bytes([&length, recordings, state]).to_le_bytes();
        let mut file = File::create(incomplete)?;
        for part in [MAGIC, self.inputs.as_bytes(), &digest, &length, recordings, state] {
            file.write_all(part)?;
        }
        file.sync_all()?;
        fs::rename(incomplete, self.directory.join(CHECKPOINT))?;
        // The new name is on the disk only with its directory.
        Ok(File::open(&self.directory)?.sync_all()?)
    }
}

/// The contents of a checkpoint.
pub struct Kept(Vec<u8>);

impl Kept {
    /// Reads the checkpoint of a run with these `inputs`; `None` if there is none.
    pub fn read(directory: &Path, inputs: &str) -> Result<Option<Self>, NotUsed> {
        let path = directory.join(CHECKPOINT);
        match fs::metadata(&path) {
            Ok(it) if it.is_file() => {}
            // A FIFO would keep the program waiting.
            Ok(_) => return Err(NotUsed::Foreign),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut file = File::open(path)?;
        let (mut magic, mut of, mut digest) = ([0; MAGIC.len()], [0; INPUTS], [0; 16]);
        let head: [&mut [u8]; 3] = [&mut magic, &mut of, &mut digest];
        for part in head {
            file.read_exact(part).map_err(|_| NotUsed::Foreign)?;
        }
        if magic != *MAGIC {
            return Err(NotUsed::Foreign);
        }
        if of != inputs.as_bytes() {
            return Err(NotUsed::Inputs);
        }
        let mut contents = Vec::new();
        file.read_to_end(&mut contents)?;
        if digest != digest::of_bytes([&contents]).to_le_bytes() {
            return Err(NotUsed::Damaged);
        }
        Ok(Some(Self(contents)))
    }

    /// The recordings, and the state of the simulation.
    pub fn parts(&self) -> Result<(&[u8], &[u8]), NotUsed> {
        let (length, rest) = self.0.split_first_chunk().ok_or(NotUsed::Damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| NotUsed::Damaged)?;
        rest.split_at_checked(length).ok_or(NotUsed::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS_OF_RUN: &str = "0123456789abcdef0123456789abcdef";

    /// A directory with a checkpoint, and the bytes of its file.
    fn saved() -> (tempfile::TempDir, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(directory.path(), INPUTS_OF_RUN, Duration::from_secs(600));
        assert!(!keeper.is_due());
        keeper.write(b"earlier", b"than the next").unwrap();
        keeper.write(b"recordings", b"state").unwrap();
        let bytes = fs::read(directory.path().join(CHECKPOINT)).unwrap();
        (directory, bytes)
    }

    #[test]
    fn the_last_checkpoint_is_read_as_it_was_written_and_nothing_else_is_left() {
        let (directory, _) = saved();
        let kept = Kept::read(directory.path(), INPUTS_OF_RUN).unwrap().unwrap();
        assert_eq!(kept.parts().unwrap(), (&b"recordings"[..], &b"state"[..]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let empty = tempfile::tempdir().unwrap();
        assert!(Kept::read(empty.path(), INPUTS_OF_RUN).unwrap().is_none());
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_leaves_no_half_file() {
        let (directory, _) = saved();
        let keeper = Keeper::new(directory.path(), INPUTS_OF_RUN, Duration::ZERO);
        // A directory in its place: the rename fails.
        fs::remove_file(directory.path().join(CHECKPOINT)).unwrap();
        fs::create_dir_all(directory.path().join(CHECKPOINT).join("full")).unwrap();
        assert!(keeper.write(b"recordings", b"state").is_err());
        assert!(!directory.path().join(INCOMPLETE).exists());
    }

    #[test]
    fn only_errors_that_stay_make_a_run_begin_anew() {
        let of = |kind: ErrorKind| NotUsed::Read(kind.into()).is_final();
        assert!(of(ErrorKind::UnexpectedEof) && of(ErrorKind::NotFound) && NotUsed::Damaged.is_final());
        assert!(!of(ErrorKind::PermissionDenied) && !of(ErrorKind::StorageFull));
    }

    #[test]
    fn what_is_no_regular_file_is_no_checkpoint() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(CHECKPOINT)).unwrap();
        assert!(matches!(Kept::read(directory.path(), INPUTS_OF_RUN), Err(NotUsed::Foreign)));
    }

    #[test]
    fn only_a_directory_of_the_name_of_a_checkpoint_is_in_the_way() {
        let (directory, _) = saved();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), directory.path().join(INCOMPLETE)).unwrap();
        assert_eq!(in_the_way(directory.path()), None);
        for name in [INCOMPLETE, CHECKPOINT] {
            let path = directory.path().join(name);
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            assert_eq!(in_the_way(directory.path()), Some(path));
        }
    }

    #[test]
    fn a_checkpoint_of_other_inputs_is_not_read() {
        let (directory, _) = saved();
        let other = INPUTS_OF_RUN.replace('f', "e");
        assert!(matches!(Kept::read(directory.path(), &other), Err(NotUsed::Inputs)));
    }

    #[test]
    fn a_checkpoint_of_which_a_bit_is_wrong_or_a_byte_is_missing_or_added_is_not_read() {
        let (directory, bytes) = saved();
        let is_refused = |bytes: &[u8]| {
            fs::write(directory.path().join(CHECKPOINT), bytes).unwrap();
            Kept::read(directory.path(), INPUTS_OF_RUN).is_err()
        };
        assert!(!is_refused(&bytes));
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(is_refused(&wrong), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(is_refused(&bytes[..length]), "{length} bytes");
        }
        assert!(is_refused(&[&bytes[..], &[0]].concat()));
    }
}
