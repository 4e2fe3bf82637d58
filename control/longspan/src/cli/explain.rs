//! `longspan explain`.

use super::ask::Whom;
use super::value::interval;
use clap::Args;
use units::Interval;

/// Explain why a port of a running gateway pauses, is paused, marks or drops
///
/// Takes two snapshots and tells what happened between them, cause by cause: what the port's groups
/// hold, in which queues that waits, who pauses these queues and for how long, at which level they
/// mark, and what was dropped for which reason.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan explain dc0
  longspan explain lh0 --interval 10s
  longspan explain lh0 --since-start --json

Exit status: 0 success, 1 no gateway answered, or it was restarted within the interval, 2 wrong usage.")]
pub struct ExplainArgs {
    /// The port to explain
    #[arg(value_name = "PORT")]
    pub port: String,
    /// The time to explain, from now on
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Interval,
    /// Explain the time since the start of the gateway instead
    #[arg(long, conflicts_with = "interval")]
    pub since_start: bool,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,
}
