//! `longspan events`.

use super::ask::Whom;
use clap::Args;
use clap::builder::PossibleValuesParser;
use telemetry::events::KINDS;

/// Show the events of a running gateway as they happen
///
/// An event is a rare change with its time: a pause and its end, a threshold reached, a storm, a drop,
/// a step of ECN thresholds, a sender that became known, a link that went down, a reload. Without
/// options, the last ten events are shown and then all that follow, until Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan events
  longspan events --port lh0 --priority 3 --kind pause --kind resume
  longspan events --last 100 --json | jq 'select(.kind == \"drop\")'
  longspan events --history --port lh0

Exit status: 0 success, also after Ctrl-C, 1 no gateway answered, it was busy, or it ended while its
events were followed, 2 wrong usage.")]
pub struct EventsArgs {
    /// Show the last N events and stop
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// With --last: go on with the events that follow
    #[arg(long, requires = "last")]
    pub follow: bool,
    /// Show pauses as intervals, from their first frame to their end, and stop
    #[arg(long, conflicts_with_all = ["follow", "kinds"])]
    pub history: bool,
    /// Show only events of this port. May be repeated
    #[arg(long = "port", value_name = "NAME")]
    pub ports: Vec<String>,
    /// Show only events of this priority. May be repeated
    #[arg(long = "priority", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub priorities: Vec<u8>,
    /// Show only events of this kind. May be repeated
    #[arg(long = "kind", value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS.iter().map(|kind| kind.name)))]
    pub kinds: Vec<String>,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}
