//! The `longspan` command: a lossless long-haul Ethernet gateway in software.

mod ask;
mod capture;
mod chart;
mod check;
mod cli;
mod commission;
mod completions;
mod console;
mod events;
mod explain;
mod failure;
mod import;
mod interrupt;
mod man;
mod plan;
mod progress;
mod replay;
mod run;
mod simulate;
mod top;
mod traffic;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::process::ExitCode;
use telemetry::View;

/// The allocator, which [`gateway::run`] makes touch what it allocates.
#[cfg(feature = "dpdk")]
#[global_allocator]
static MEMORY: gateway::ResidentMemory = gateway::ResidentMemory;

fn main() -> ExitCode {
    let outcome = match Cli::try_parse() {
        Ok(Cli { command: Command::Check(args) }) => check::run(&args),
        Ok(Cli { command: Command::Replay(args) }) => replay::run(&args),
        Ok(Cli { command: Command::Simulate(args) }) => simulate::run(&args),
        Ok(Cli { command: Command::ImportNs3(args) }) => import::run(&args),
        Ok(Cli { command: Command::Plan(args) }) => plan::run(&args),
        Ok(Cli { command: Command::Run(args) }) => run::run(&args),
        Ok(Cli { command: Command::Reload(args) }) => ask::reload(&args),
        Ok(Cli { command: Command::Show(args) }) if args.view == View::Roce => explain::roce(&args),
        Ok(Cli { command: Command::Show(args) }) => ask::show(&args),
        Ok(Cli { command: Command::Traffic(args) }) => traffic::run(&args),
        Ok(Cli { command: Command::Commission(args) }) => commission::run(&args),
        Ok(Cli { command: Command::Completions(args) }) => completions::run(&args),
        Ok(Cli { command: Command::Man(args) }) => man::run(&args),
        Ok(Cli { command: Command::Events(args) }) => events::run(&args),
        Ok(Cli { command: Command::Capture(args) }) => capture::run(&args),
        Ok(Cli { command: Command::Explain(args) }) => explain::run(&args),
        Ok(Cli { command: Command::Top(args) }) => top::run(&args),
        Err(error) if !error.use_stderr() => {
            // Help or version. If the reader closes the pipe, it has read enough.
            let _ = error.print();
            Ok(())
        }
        Err(error) => Err(Failure::usage(cli::one_line(&error))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_printed() {
                console::complain(&failure);
            }
            failure.status()
        }
    }
}
