//! `longspan man`.

use clap::Args;
use std::path::PathBuf;

/// Write the man pages, one for each command
///
/// Writes DIR/longspan.1 and DIR/longspan-COMMAND.1, with the text of --help. The directory is created if it does not
/// exist.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan man man1
  man man1/longspan-replay.1

Exit status: 0 success, 1 a page cannot be written, 2 wrong usage.")]
pub struct ManArgs {
    /// Directory for the pages
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
