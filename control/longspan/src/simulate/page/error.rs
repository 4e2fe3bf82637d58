//! What can go wrong with a page.

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
        /// What the system says.
        source: io::Error,
    },
    /// The summary is not one of this version.
    #[error("{}: not a summary of a simulation: {source}", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// A line of a CSV file is not what its header promises.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The page cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
