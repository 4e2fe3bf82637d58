//! `longspan top`.

use super::ask::Whom;
use super::value::{interval, one_of};
use crate::top::views::DashboardView;
use clap::Args;
use units::Interval;

/// Watch a running gateway on the terminal
///
/// Shows ports with their rates, queues with their watermarks, pauses in both directions, marks, CNPs
/// and flows, slots, drops by reason, the load of each core, and the findings of `show roce`. Press ? for
/// the keys. If the gateway goes away, top says so, and shows it again once it is back.
///
/// Rates are differences of two snapshots, by the clock of the gateway. NO_COLOR turns colours off.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan top
  longspan top --view pauses --interval 250ms
  longspan top --once --view drops --port lh0

Exit status: 0 quit or printed, 1 no gateway answered, 2 wrong usage or no terminal.")]
pub struct TopArgs {
    /// View to begin with
    #[arg(long, value_name = "VIEW", default_value = DashboardView::default().name(), value_parser = one_of(DashboardView::ALL, |view| view.name().into()))]
    pub view: DashboardView,
    /// Show only this port
    #[arg(long, value_name = "NAME")]
    pub port: Option<String>,
    /// Time between two snapshots
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Interval,
    /// Print one frame as text after one interval, with all rows, and exit
    #[arg(long)]
    pub once: bool,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
}
