//! `longspan show` and `longspan reload`.

use super::value::{interval, one_of};
use clap::Args;
use clap::builder::PossibleValue;
use std::path::PathBuf;
use telemetry::View;
use units::Interval;

/// Reload the configuration of a running gateway
///
/// Thresholds, rates, schemes, weights and routes change between two bursts, without losing or
/// reordering a frame. Reload prints each changed key. If the file is invalid, or changes a key that
/// needs a restart, the gateway refuses the whole reload, names the key, and changes nothing.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan reload
  longspan reload --config gateway.toml
  longspan reload --socket /run/longspan/gw-east.sock --json

Exit status: 0 reloaded, 1 no gateway answered, 2 the configuration was refused.")]
pub struct ReloadArgs {
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print the changes, or the reasons for a refusal, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show the state and counters of a running gateway
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan show
  longspan show pfc --port lh0
  longspan show queues --json | jq .ports
  longspan show runtime --interval 1s
  longspan show roce --interval 10s

Exit status: 0 success, 1 no gateway answered, or it was restarted within --interval, 2 wrong usage.
With the view roce, 0 means healthy, 3 that something should be looked at, 4 unhealthy.")]
pub struct ShowArgs {
    /// View to show
    #[arg(value_parser = one_of(View::ALL, view), default_value = View::Ports.name())]
    pub view: View,
    /// Show only this port
    #[arg(long, value_name = "NAME")]
    pub port: Option<String>,
    /// Clear the user watermarks after reading them
    #[arg(long)]
    pub clear: bool,
    /// With the view runtime: also show the time from now on, for example 1s; with roce: judge only that
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub interval: Option<Interval>,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print the whole snapshot as JSON; with the view roce, the verdicts
    #[arg(long)]
    pub json: bool,
}

/// The gateway to ask.
#[derive(Args, Debug)]
pub struct Whom {
    /// Control socket of the gateway. Default: the only socket in /run/longspan
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    pub socket: Option<PathBuf>,
    /// Configuration file that names the control socket
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// A view of a running gateway, with its help.
fn view(view: View) -> PossibleValue {
    PossibleValue::new(view.name()).help(view.about())
}
