//! `longspan run`.

use super::value::interval;
use clap::Args;
use std::path::PathBuf;
use units::Interval;

/// Forward frames between the ports of a gateway until it is stopped
///
/// Ports use DPDK devices: network cards by PCI address, or virtual devices such as af_packet, memif
/// and pcap. One worker per core polls them. A control thread answers `show` and `reload`, serves
/// metrics, and watches the workers. SIGHUP reloads the configuration. SIGTERM and Ctrl-C drain the
/// gateway, print a summary, and stop it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Forward between two kernel interfaces, without hugepages (config/gateways/wire-veth.toml):
    longspan run --config gateway.toml

  Stop after 10 seconds, and print the summary as JSON:
    longspan run --config gateway.toml --for 10s --json

Exit status: 0 stopped as requested, 1 failure while running, or a device or address that the gateway
needs is not there yet or is in use, so that another start may succeed, 2 wrong usage or configuration,
or the machine lacks another resource that the configuration needs.")]
pub struct RunArgs {
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Stop after this time, as on SIGTERM; for example 10s
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub duration: Option<Interval>,
    /// Print the final state as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}
