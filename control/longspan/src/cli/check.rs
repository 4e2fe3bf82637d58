//! `longspan check`.

use clap::Args;
use std::path::PathBuf;

/// Validate gateway configurations and scenarios without running them
///
/// Each problem is reported with its file, line, column and key, and with what would be valid. A file
/// with a `topology` table is a scenario: check builds each of its variants, with and without --quick.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan check gateway.toml
  longspan check config/gateways/*.toml config/scenarios/*.toml
  longspan check --json gateway.toml

Exit status: 0 all files are valid (warnings are allowed), 2 a file is invalid.")]
pub struct CheckArgs {
    /// Gateway configurations and scenarios
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print a JSON array with one element per file instead of text
    #[arg(long)]
    pub json: bool,
}
