//! Reads files that a user names: configurations, keys, workloads.
//!
//! A FIFO, a terminal or a device instead of a file could block its reader, and an endless file would take all
//! memory. A gateway reloads its configuration while it runs, so both are refused by name.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use units::Bytes;

/// Maximum size of a configuration, a scenario or a workload, far above any real one.
pub(crate) const TEXT: Bytes = Bytes(4 << 20);

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path is a FIFO, a directory, a device or a socket.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file is too long.
    #[error("it is longer than {most}")]
    TooLong {
        /// The maximum size.
        most: Bytes,
    },
    /// The system cannot read the file, or it is not UTF-8.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Reads the text of a configuration or a scenario. Never blocks on another process.
///
/// # Errors
/// [`FileError`] if it is not a regular file, is longer than 4 MiB, is not UTF-8, or cannot be read.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    read_at_most(TEXT, path)
}

/// Reads the text of a file of up to `most` bytes.
pub(crate) fn read_at_most(most: Bytes, path: &Path) -> Result<String, FileError> {
    let file = open_regular(path)?;
    let mut text = String::new();
    // The kernel's own files claim to be empty, and other files may grow, so only the bytes that arrive count.
    file.take(most.0 + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most.0 {
        return Err(FileError::TooLong { most });
    }
    Ok(text)
}

/// Opens a regular file.
pub(crate) fn open_regular(path: &Path) -> Result<File, FileError> {
    let file = open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(FileError::NotRegular) }
}

/// Opens a file without waiting for the other end of a FIFO, and without acquiring a terminal.
fn open(path: &Path) -> Result<File, FileError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    // The flags fit the C library's type; the cast keeps all bits.
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        // A socket, or a device without a driver.
        Some(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV) => FileError::NotRegular,
        _ => FileError::System(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    /// The result of reading, which must come at once: a reader of a FIFO could wait for ever.
    fn at_once<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(read()));
        receiver.recv_timeout(Duration::from_secs(20)).expect("no one is waited for")
    }

    fn fifo(directory: &Path) -> PathBuf {
        let path = directory.join("gw.toml");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        path
    }

    #[test]
    fn a_fifo_is_refused_wherever_a_file_is_read_and_nobody_waits_for_its_other_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = fifo(directory.path());
        let [one, other] = [path.clone(), path.clone()];
        let refused = [
            at_once(move || crate::load(one).unwrap_err().to_string()),
            at_once(move || crate::scenario::ScenarioFile::load(other).unwrap_err().to_string()),
        ];
        for error in refused {
            assert_eq!(error, format!("{}: it is not a regular file", path.display()));
        }
    }

    #[test]
    fn a_fifo_in_place_of_a_key_is_refused_by_the_key_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let shipped =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways/longhaul-lscc-80km.toml");
        let text = fs::read_to_string(shipped).unwrap();
        let name = text.split("key_file = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let fifo = fifo(directory.path());
        let path = directory.path().join("main.toml");
        fs::write(&path, text.replace(name, fifo.to_str().unwrap())).unwrap();
        let error = at_once(move || crate::load(path).unwrap_err().to_string());
        assert!(error.contains("key_file: ") && error.contains("it is not a regular file"), "{error}");
    }

    #[test]
    fn directories_devices_and_sockets_are_no_files() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [directory.path(), Path::new("/dev/zero"), Path::new("/dev/tty"), &socket] {
            match read_text(path) {
                Err(FileError::NotRegular) => {}
                // A process without a terminal cannot open it.
                other => assert!(path.ends_with("tty"), "{}: {other:?}", path.display()),
            }
        }
    }

    #[test]
    fn a_file_may_have_as_much_as_is_allowed_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("long");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(Bytes(5), &path).unwrap(), "12345");
        let error = read_at_most(Bytes(4), &path).unwrap_err();
        assert!(matches!(error, FileError::TooLong { most: Bytes(4) }), "{error}");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(matches!(read_text(&path), Err(FileError::TooLong { most: TEXT })));
    }
}
