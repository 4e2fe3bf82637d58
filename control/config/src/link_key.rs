//! The keys that both ends of a link share.

use std::path::Path;

use units::Bytes;
use wire::rate_feedback::Key;

use crate::file::{FileError, read_at_most};
use crate::notes::Problems;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::value::{KEY, hexadecimal};

/// The key in `config/keys/example.key`, which is public.
pub(crate) const EXAMPLE_KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// The key that both ends of a link share, as stated or in a file. Notes an error if the file has none.
pub(crate) fn read(
    stated: Option<&At<Option<Key>>>,
    file: Option<&At<String>>,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Key> {
    let Some(At { value: path, place }) = file else { return stated?.value };
    let key = directory.ok_or(ProblemKind::KeyFileNowhere).and_then(|it| read_file(&it.join(path)));
    key.map_err(|kind| problems.error(place, kind)).ok()
}

/// Reads the key in a file, which may also have empty lines and comments (`#`).
pub(crate) fn read_file(path: &Path) -> Result<Key, ProblemKind> {
    /// Enough for any comment, and a limit for a wrong file.
    const MOST: Bytes = Bytes(4_096);
    let shown = || path.display().to_string();
    let unreadable = |error: FileError| ProblemKind::KeyFile { path: shown(), reason: error.to_string() };
    let text = read_at_most(MOST, path).map_err(unreadable)?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let only = lines.next().filter(|_| lines.next().is_none());
    let key = only.and_then(hexadecimal).map(Key);
    key.ok_or_else(|| ProblemKind::KeyFile {
        path: shown(),
        reason: format!("it must hold {KEY} and nothing else"),
    })
}
