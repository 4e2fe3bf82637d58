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
use std::iter;

/// Writes the pages, and prints how many there are.
///
/// # Errors
/// [`Failure::Write`], [`Failure::Print`].
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    fs::create_dir_all(&args.directory).map_err(Failure::unwritten(&args.directory))?;
    let pages = pages();
    for (name, text) in &pages {
        let path = args.directory.join(name);
        fs::write(&path, text).map_err(Failure::unwritten(&path))?;
    }
    console::print(&format!("{}: {} pages\n", args.directory.display(), pages.len()))
}

/// The pages by the names of their files: that of `longspan`, and one for each command, however deep.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut longspan = Cli::command().disable_help_subcommand(true);
    longspan.build();
    with_commands(&longspan).map(page).collect()
}

/// A command, and those below it.
fn with_commands(command: &Command) -> Box<dyn Iterator<Item = &Command> + '_> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    Box::new(iter::once(command).chain(below.flat_map(with_commands)))
}

/// The page of a command, by the name of its file.
fn page(command: &Command) -> (String, Vec<u8>) {
    let version = format!("Longspan {}", env!("CARGO_PKG_VERSION"));
    let has_commands = command.has_subcommands();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone()).source(version).manual("Longspan");
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
        let text = |name: &str| {
            let (_, text) = pages.iter().find(|(file, _)| *file == format!("{name}.1")).expect(name);
            String::from_utf8(text.clone()).unwrap()
        };
        let mut longspan = Cli::command().disable_help_subcommand(true);
        longspan.build();
        for command in with_commands(&longspan) {
            let name = command.get_display_name().unwrap_or(command.get_name());
            let text = text(name);
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(text.contains(&format!("\\-\\-{}", option.replace('-', "\\-"))), "{name}: {option}");
            }
            let has_status =
                command.get_after_help().is_some_and(|help| help.to_string().contains("Exit status:"));
            assert_eq!(text.contains(".SH \"EXIT STATUS\""), has_status, "{name}: {text}");
        }
        assert!(text("longspan-replay").contains(".SH EXAMPLES\n.nf\n"));
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
