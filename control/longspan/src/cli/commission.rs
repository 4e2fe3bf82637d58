//! `longspan commission`.

use super::value::interval;
use clap::Args;
use std::path::PathBuf;
use units::Interval;

/// Find out whether a link, and the card and the core at each end of it, keep what a gateway's file promises
///
/// Run it at both ends of the link, by hand, with both gateways stopped. A test device takes the place of the other
/// ports; all else is the gateway as it ships. Both ends go through the same steps: delay, lengths, marks, passage of
/// PFC, loss, obedience, and the lateness of the workers. Each fault is named, with what to do. The command sends
/// nothing before it has listened for two seconds, and nothing at all where data arrives. It stops by itself half a
/// second after the other end has fallen silent.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  At each end, with its own file and the same key:
    longspan commission /etc/longspan/gw-east.toml --port lh0 --key-file lh.key --out lh0

  60 seconds for each length and 1,000 stops, and then two hours at the rate of the link:
    longspan commission gw-east.toml --port lh0 --key-file lh.key --full --soak 7200s

Exit status: 0 no fault, 1 a fault, or not all steps were done, 2 wrong usage or configuration, or the machine
lacks something that the configuration needs.")]
pub struct CommissionArgs {
    /// Configuration file of the gateway
    #[arg(value_name = "FILE")]
    pub config: PathBuf,
    /// Port at the link
    #[arg(long, value_name = "NAME")]
    pub port: String,
    /// File with the key that both ends share, as of a bundle
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    /// Write report.json, report.html and suggest.toml into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// 60 s of loss for each length (RFC 2544), and 1,000 stops. One end is enough
    #[arg(long)]
    pub full: bool,
    /// Time of loss for each length. Default: 10s, or 60s with --full. The longer time of both ends counts
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub duration: Option<Interval>,
    /// Longest frames at the rate of the link for this time, at the end
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub soak: Option<Interval>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
