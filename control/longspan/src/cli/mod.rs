//! The command line: one file for each command.

pub mod ask;
pub mod capture;
pub mod check;
pub mod commission;
pub mod completions;
pub mod events;
pub mod explain;
pub mod import;
pub mod man;
pub mod plan;
pub mod replay;
pub mod run;
pub mod simulate;
pub mod top;
pub mod traffic;
mod value;

use ask::{ReloadArgs, ShowArgs};
use capture::CaptureArgs;
use check::CheckArgs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use commission::CommissionArgs;
use completions::CompletionsArgs;
use events::EventsArgs;
use explain::ExplainArgs;
use import::ImportNs3Args;
use man::ManArgs;
use plan::PlanArgs;
use replay::ReplayArgs;
use run::RunArgs;
use simulate::SimulateArgs;
use top::TopArgs;
use traffic::TrafficArgs;

/// A lossless long-haul Ethernet gateway in software.
#[derive(Debug, Parser)]
#[command(
    name = "longspan",
    version,
    about,
    max_term_width = 100,
    // Without a command, the error says which there are.
    arg_required_else_help = false,
    after_help = "Exit status: 0 success, 1 failure while running, 2 wrong usage or configuration."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command. Its arguments have its help.
#[derive(Debug, Subcommand)]
pub enum Command {
    Plan(Box<PlanArgs>),
    Check(CheckArgs),
    Replay(Box<ReplayArgs>),
    Simulate(Box<SimulateArgs>),
    ImportNs3(ImportNs3Args),
    Run(RunArgs),
    Reload(ReloadArgs),
    Show(ShowArgs),
    Traffic(TrafficArgs),
    Commission(CommissionArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Events(EventsArgs),
    Capture(Box<CaptureArgs>),
    Top(TopArgs),
    Explain(ExplainArgs),
}

/// An error of clap in one line: its first paragraph, without "error:", and the name that may have been meant.
pub fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingSubcommand
        && let Some(ContextValue::Strings(commands)) = error.get(ContextKind::ValidSubcommand)
    {
        return format!("a command is missing; there are {} (try --help)", commands.join(", "));
    }
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
    let line = lines.join(" ");
    let message = line.strip_prefix("error: ").unwrap_or(&line);
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tips.map(|tip| format!("; {tip}")).next().unwrap_or_default();
    format!("{message}{tip} (try --help)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn refused(arguments: &[&str]) -> String {
        one_line(&Cli::try_parse_from(arguments).unwrap_err())
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// The examples in the help of a command and its subcommands, one for each line that begins with the program.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A line that ends with a backslash goes on in the next one.
        let help = help.split("\\\n").map(str::trim_start).collect::<String>();
        let lines = help.lines().map(str::trim).filter(|line| line.starts_with("longspan "));
        let own: Vec<_> =
            lines.map(|line| line.split(['|', '>']).next().unwrap_or(line).trim().to_owned()).collect();
        own.into_iter().chain(command.get_subcommands().flat_map(examples)).collect()
    }

    #[test]
    fn every_example_in_the_help_is_a_valid_command_line() {
        let examples = examples(&Cli::command());
        assert!(examples.len() > 30, "{}", examples.len());
        for example in examples {
            // Remarks stand in parentheses behind spaces; nothing is quoted.
            let line = example.split("  ").next().unwrap_or_default();
            if let Err(error) = Cli::try_parse_from(line.split_whitespace()) {
                panic!("{example}: {}", one_line(&error));
            }
        }
    }

    #[test]
    fn a_mistyped_command_view_or_option_gets_a_suggestion() {
        let told = refused(&["longspan", "shwo"]);
        assert_eq!(told, "unrecognized subcommand 'shwo'; a similar subcommand exists: 'show' (try --help)");
        let told = refused(&["longspan", "show", "prots"]);
        assert!(told.ends_with("; a similar value exists: 'ports' (try --help)"), "{told}");
        let told = refused(&["longspan", "top", "--veiw", "ports"]);
        assert!(told.contains("; a similar argument exists: '--view'"), "{told}");
    }

    #[test]
    fn show_without_a_view_shows_the_ports() {
        let shown = Cli::try_parse_from(["longspan", "show"]).unwrap();
        assert!(matches!(shown.command, Command::Show(it) if it.view == telemetry::View::Ports));
    }

    #[test]
    fn a_wrong_command_line_is_told_in_one_line() {
        for arguments in [
            &["longspan"][..],
            &["longspan", "fly"],
            &["longspan", "replay"],
            &["longspan", "replay", "--config", "a"],
            &["longspan", "replay", "--config", "a", "--in", "dc0"],
            &["longspan", "replay", "--config", "a", "--in", "dc0=a", "--speed", "0"],
            &["longspan", "replay", "--config", "a", "--in", "dc0=a", "--loop", "0"],
            &["longspan", "replay", "--config", "a", "--split", "a"],
            &["longspan", "replay", "--config", "a", "--split", "a", "--from", "dc0=eth0"],
            &["longspan", "check"],
            &["longspan", "plan", "--rate", "100G"],
            &["longspan", "plan", "--distance", "80km"],
            &["longspan", "plan", "--distance", "80km", "--delay", "1ms", "--rate", "100G"],
            &["longspan", "plan", "--distance", "80km", "--rate", "100G", "--scheme", "tcp"],
            &["longspan", "plan", "--distance", "80km", "--rate", "100G", "--watchdog", "SONiC"],
            &["longspan", "plan", "--distance", "80km", "--rate", "100G", "--toml", "a", "--out", "b"],
            &["longspan", "events", "--kind", "weather"],
            &["longspan", "events", "--history", "--follow", "--last", "3"],
            &["longspan", "capture", "--out", "a"],
            &["longspan", "capture", "--port", "lh0"],
            &["longspan", "capture", "--port", "lh0", "--out", "a", "--qp", "0x1000000"],
            &["longspan", "explain"],
            &["longspan", "explain", "lh0", "--since-start", "--interval", "1s"],
            &["longspan", "top", "--view", "sky"],
            &["longspan", "top", "--interval", "0s"],
            &["longspan", "simulate", "a"],
            &["longspan", "import-ns3", "a", "b", "c"],
            &["longspan", "traffic", "play", "a"],
            &["longspan", "traffic", "play", "a", "--host", "h0"],
            &["longspan", "traffic", "storm", "a", "--priority", "8", "--every", "1us", "--for", "1s"],
            &["longspan", "traffic", "storm", "a", "--priority", "3", "--every", "1us"],
            &["longspan", "import-ns3", "a", "b", "--out", "c"],
            &["longspan", "simulate", "a", "--out", "b", "--set", "seed"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load=1,,2"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load=1,2,1"],
            &["longspan", "simulate", "a", "--out", "b", "--seeds", "0"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "3"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "0/3"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "4/3"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "1/0"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "1/3", "--join"],
            &["longspan", "simulate", "a", "--out", "b", "--shard", "1/3", "--json"],
            &["longspan", "simulate", "a", "--out", "b", "--join", "--again"],
            &["longspan", "simulate", "a", "--out", "b", "--tables", "xml"],
            &["longspan", "simulate", "a", "--out", "b", "--tables", "csv", "--shard", "1/3"],
        ] {
            let line = refused(arguments);
            assert!(!line.is_empty() && !line.contains('\n') && !line.starts_with("error"), "{line}");
        }
    }

    #[test]
    fn where_a_command_is_missing_all_are_named() {
        let missing = refused(&["longspan", "traffic"]);
        assert_eq!(missing, "a command is missing; there are play, replay, storm, help (try --help)");
        let missing = refused(&["longspan"]);
        assert!(missing.starts_with("a command is missing; there are plan, check, "), "{missing}");
    }

    #[test]
    fn a_simulation_has_one_thread_unless_more_are_asked_for() {
        for (more, threads) in [(&[][..], 1), (&["--jobs", "8"], 1), (&["--threads", "3"], 3)] {
            let arguments = ["longspan", "simulate", "a", "--out", "b"].iter().chain(more);
            let command = Cli::try_parse_from(arguments).unwrap().command;
            assert!(matches!(command, Command::Simulate(args) if args.threads.get() == threads));
        }
    }
}
