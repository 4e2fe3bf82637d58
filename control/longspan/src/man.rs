//! `longspan man`.

use crate::cli::Cli;
use crate::cli::man::ManArgs;
use crate::console;
use crate::failure::Failure;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io;
use std::path::Path;

/// Writes the pages, and prints how many there are.
///
/// # Errors
/// [`Failure::Write`], [`Failure::Print`].
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    write(&args.directory, |directory| fs::create_dir_all(directory))?;
    let pages = pages();
    for (name, text) in &pages {
        write(&args.directory.join(name), |path| fs::write(path, text))?;
    }
    console::print(&format!("{}: {} pages\n", args.directory.display(), pages.len()))
}

fn write(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Failure> {
    make(path).map_err(|source| Failure::Write { path: path.into(), source, running: true })
}

/// The pages by the names of their files: that of `longspan`, and one for each command.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut longspan = Cli::command().disable_help_subcommand(true);
    longspan.build();
    let commands: Vec<_> =
        longspan.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    [longspan].into_iter().chain(commands).map(page).collect()
}

/// The page of a command, by the name of its file.
fn page(command: Command) -> (String, Vec<u8>) {
    let version = format!("Longspan {}", env!("CARGO_PKG_VERSION"));
    let has_commands = command.has_subcommands();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command).source(version).manual("Longspan");
    let mut text = Vec::new();
    rendered(&man, has_commands, &mut text).expect("a vector takes what is written");
    text.extend_from_slice(below_the_options(&after).to_roff().as_bytes());
    (man.get_filename(), text)
}

fn rendered(man: &Man, has_commands: bool, text: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    if has_commands {
        man.render_subcommands_section(text)?;
    }
    Ok(())
}

/// The text that `--help` has below the options, as sections. A section is a paragraph that begins with its heading and
/// a colon. If nothing follows the colon, its lines stay as they are.
fn below_the_options(help: &str) -> Roff {
    let mut page = Roff::new();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((heading, text)) = line.split_once(':') else { continue };
        page.control("SH", [heading.to_uppercase().as_str()]);
        let as_it_is = text.is_empty();
        if as_it_is {
            page.control("nf", []);
        } else {
            page.text([roman(text.trim_start())]);
        }
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with(' ') || !as_it_is) {
            page.text([roman(line)]);
        }
        if as_it_is {
            page.control("fi", []);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages();
        let page = |name: &str| pages.iter().find(|(file, _)| file == name).map(|(_, text)| text.clone());
        assert!(page("longspan.1").is_some());
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let text = String::from_utf8(page(&format!("longspan-{name}.1")).expect(name)).unwrap();
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(text.contains(&format!("\\-\\-{}", option.replace('-', "\\-"))), "{name}: {option}");
            }
            assert!(text.contains(".SH \"EXIT STATUS\"") && text.contains(".SH EXAMPLE"), "{name}: {text}");
        }
    }

    #[test]
    fn examples_stand_in_lines_and_the_exit_status_in_a_paragraph() {
        let help = "Examples:\n  First:\n    one \\\n        two\n\nExit status: 0 success, 1 failure\nwhile running.";
        let expected = ".SH EXAMPLES\n.nf\n  First:\n    one \\\\\n        two\n\n.fi\n\
                        .SH \"EXIT STATUS\"\n0 success, 1 failure\nwhile running.\n";
        assert!(
            below_the_options(help).to_roff().ends_with(expected),
            "{}",
            below_the_options(help).to_roff()
        );
    }
}
