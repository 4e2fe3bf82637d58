//! `longspan import-ns3`.

use clap::Args;
use std::path::PathBuf;

/// Translate the files of the ns-3 model of HPCC into a scenario
///
/// Reads the topology, the flows and the options of the model, and writes DIR/scenario.toml with the
/// lists of flows beside it, ready for `longspan simulate`. Options that have no counterpart are
/// reported as warnings, each with its line. Link rates are stretched, so that a full packet takes as
/// long as in the model, which counts neither preamble nor gap.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  longspan import-ns3 mix/topology.txt mix/flow.txt mix/config.txt --out imported
  longspan simulate imported/scenario.toml --out out

Exit status: 0 success (warnings are allowed), 1 a file cannot be written, 2 a file is invalid.")]
pub struct ImportNs3Args {
    /// Nodes and links
    #[arg(value_name = "TOPOLOGY")]
    pub topology: PathBuf,
    /// Flows
    #[arg(value_name = "FLOWS")]
    pub flows: PathBuf,
    /// Options
    #[arg(value_name = "CONFIG")]
    pub options: PathBuf,
    /// Write DIR/scenario.toml and its lists of flows
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
