//! `longspan completions`.

use crate::cli::Cli;
use crate::cli::completions::CompletionsArgs;
use crate::console;
use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Prints the script.
///
/// # Errors
/// [`Failure::Print`].
pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    console::print(&script(args.shell))
}

/// The script for `shell`.
fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    generate(shell, &mut Cli::command(), "longspan", &mut bytes);
    String::from_utf8(bytes).expect("commands, options and their help are UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use std::fs;
    use std::process::Command;

    #[test]
    fn each_shell_completes_each_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in Cli::command().get_subcommands().map(clap::Command::get_name) {
                assert!(script.contains(command), "{shell}: {command}");
            }
        }
    }

    #[test]
    fn bash_reads_its_script_and_completes_a_command_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("longspan.bash");
        fs::write(&path, script(Shell::Bash)).unwrap();
        let ask = r#"source "$0"; COMP_WORDS=(longspan repl) COMP_CWORD=1
            _longspan longspan repl longspan; echo "${COMPREPLY[@]}""#;
        let answer = Command::new("bash").args(["-euc", ask]).arg(&path).output().unwrap();
        let (found, complaint) = (String::from_utf8(answer.stdout), String::from_utf8(answer.stderr));
        assert_eq!((found.unwrap().as_str(), complaint.unwrap().as_str()), ("replay\n", ""));
    }
}
