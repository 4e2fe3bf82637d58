//! `longspan completions`.

use clap::Args;
use clap_complete::Shell;

/// Print the script by which a shell completes commands and options
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  source <(longspan completions bash)
  longspan completions bash > /usr/share/bash-completion/completions/longspan
  longspan completions zsh > /usr/share/zsh/vendor-completions/_longspan
  longspan completions fish > /usr/share/fish/vendor_completions.d/longspan.fish

Exit status: 0 success, 1 the script cannot be printed, 2 wrong usage.")]
pub struct CompletionsArgs {
    /// Shell that is to read the script
    pub shell: Shell,
}
