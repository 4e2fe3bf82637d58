//! Errors of the page.

use std::path::PathBuf;

/// Why there is no page: a file of the experiment cannot be read, or a line of it does not match its header.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct PageError {
    pub(super) path: PathBuf,
    pub(super) source: csv::Error,
}
