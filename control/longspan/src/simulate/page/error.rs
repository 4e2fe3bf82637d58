//! Errors of the page.

use std::io;
use std::path::PathBuf;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A file of the experiment cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line of a CSV file does not match its header.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake in it.
        what: &'static str,
    },
}
