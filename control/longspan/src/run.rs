//! `longspan run`.

use crate::cli::run::RunArgs;
use crate::failure::Failure;

/// Fails, because a gateway needs DPDK.
///
/// # Errors
/// [`Failure::Usage`], always.
#[cfg(not(feature = "dpdk"))]
pub fn run(_args: &RunArgs) -> Result<(), Failure> {
    Err(Failure::usage(
        "this longspan was built without DPDK (--no-default-features) and cannot run a gateway",
    ))
}

#[cfg(feature = "dpdk")]
pub use with_dpdk::{run, start_log};

#[cfg(feature = "dpdk")]
mod with_dpdk {
    use core::time::Duration;
    use std::env;
    use std::io::{self, IsTerminal};

    use gateway::{Ended, Options};
    use telemetry::View;
    use tracing::level_filters::LevelFilter;

    use super::{Failure, RunArgs};
    use crate::console;

    /// The environment variable for the log level: `error`, `warn`, `info`, `debug`, `trace`.
    const LOG: &str = "LONGSPAN_LOG";

    /// Runs a gateway until it is stopped, and prints its final state.
    ///
    /// # Errors
    /// [`Failure::Config`] and [`Failure::Gateway`] if it cannot start, [`Failure::LeftInside`] if frames did not
    /// leave in time.
    pub fn run(args: &RunArgs) -> Result<(), Failure> {
        start_log()?;
        let gateway = config::load(&args.config)?;
        for warning in &gateway.warnings {
            tracing::warn!("{warning}");
        }
        let duration = args.duration.map(|duration| Duration::from_nanos(duration.0));
        let options = Options { path: args.config.clone(), duration };
        let Ended { snapshot, left_inside, lost_worker } = gateway::run(options, gateway)?;
        if args.json {
            console::print(&console::json(&snapshot))?;
        } else {
            for view in [View::Ports, View::Pfc, View::Drops] {
                console::print(&telemetry::render(&snapshot, view, None)?)?;
            }
        }
        if let Some(core) = lost_worker {
            return Err(Failure::LostWorker { core });
        }
        if left_inside == 0 { Ok(()) } else { Err(Failure::LeftInside { frames: left_inside }) }
    }

    /// Starts logging to standard error.
    pub fn start_log() -> Result<(), Failure> {
        let level = match env::var(LOG) {
            Ok(level) => {
                level.parse::<LevelFilter>().map_err(|error| Failure::usage(format!("{LOG}: {error}")))?
            }
            Err(_) => LevelFilter::INFO,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_writer(io::stderr);
        let log = log.with_ansi(io::stderr().is_terminal());
        // The journal adds its own timestamps.
        if env::var_os("JOURNAL_STREAM").is_some() {
            log.without_time().init()
        } else {
            log.init()
        }
        Ok(())
    }
}
