//! The command line.

use crate::simulate::export::format::Format;
use crate::simulate::shard::Shard;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand};
use config::scenario::Override;
use core::num::{NonZeroU32, NonZeroUsize};
use core::str::FromStr;
use replay::capture::{ParseSourceMatchError, SourceMatch, Speed};
use replay::series::Sampling;
use std::path::PathBuf;
use telemetry::View;
use units::{Interval, ParseQuantityError};

/// A lossless long-haul Ethernet gateway in software.
#[derive(Debug, Parser)]
#[command(
    name = "longspan",
    version,
    about,
    max_term_width = 100,
    after_help = "Exit status: 0 success, 1 failure while running, 2 wrong usage or configuration."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate gateway configurations and scenarios without running them
    ///
    /// Each problem is reported with its file, line, column and key, and with what would be valid. A file
    /// with a `topology` table is a scenario: check builds each of its variants, with and without --quick.
    #[command(after_help = "Examples:
  longspan check gateway.toml
  longspan check config/gateways/*.toml config/scenarios/*.toml
  longspan check --json gateway.toml

Exit status: 0 all files are valid (warnings are allowed), 2 a file is invalid.")]
    Check(CheckArgs),
    /// Replay captures through a gateway, using the captures' timestamps as the clock
    ///
    /// Frames of pcap or pcapng captures enter through the ports that you name. Everything that a port
    /// sends, data and PFC frames alike, is written to a capture of its own and stamped with the exact
    /// time at which it goes on the wire. At the end, replay prints a summary. The same frames and
    /// configuration always produce the same bytes. Replay needs neither root nor a network card.
    #[command(after_help = "Examples:
  Replay one capture into one port, and write all output to a directory:
    longspan replay --config gateway.toml --in dc0=hosts.pcap --out-dir out

  Replay into two ports, keep the output of one, and write the report to a file:
    longspan replay --config gateway.toml --in dc0=a.pcap --in lh0=b.pcapng \\
        --out lh0=haul.pcap --report report.json

  Split a capture that holds both directions of a link by source address:
    longspan replay --config gateway.toml --split link.pcap \\
        --from dc0=10.0.17.0/24,02:00:00:00:00:01 --from lh0=10.0.18.0/24

  Generate load: replay 1000 times faster, ten times in a row; or at line rate:
    longspan replay --config gateway.toml --in dc0=a.pcap --speed 1000x --loop 10
    longspan replay --config gateway.toml --in dc0=a.pcap --speed line-rate

  Record queues and pauses over time, sampled every 10 us, as CSV and as a plot:
    longspan replay --config gateway.toml --in dc0=a.pcap --sample 10us \\
        --series series.csv --plot series.svg

  Read a live capture from one program, and pass the report to another:
    tcpdump -i eth0 -w - | longspan replay --config gateway.toml --in dc0=- --json | jq .pools

Exit status: 0 success, 1 failure while running, 2 wrong usage or configuration, or an input whose first
frame cannot be read. If a capture breaks later, or after an interrupt (Ctrl-C), replay first writes the
output for the frames read so far. A second interrupt ends the program at once.")]
    Replay(Box<ReplayArgs>),
    /// Simulate networks of switches and hosts in virtual time
    ///
    /// A scenario describes a network, the traffic of its hosts, and the variants to compare. Each variant
    /// runs with each seed at each point of the sweeps, several runs in parallel. The switches run the same
    /// code as on the wire, each with a full configuration, and invariants are checked at every event.
    /// Results are written below DIR, and the papers' claims are printed beside the measured figures. The
    /// same scenario and seed always produce the same bytes. To resume an interrupted simulation, run the
    /// same command again. Several machines can share a simulation: each runs one shard of it.
    #[command(after_help = "Examples:
  longspan simulate config/scenarios/incast.toml --out out
  longspan simulate config/scenarios/incast.toml --out out --quick --seeds 5

  Override values of the file:
    longspan simulate scenario.toml --out out --set topology.rate=400G --set scenario.until=5ms

  Run every combination of several values (array elements by name, or by index from 0):
    longspan simulate scenario.toml --out out --sweep traffic.web.load=0.3,0.5,0.7 \\
        --sweep long_haul.bifrost.slot=1us,10us --only-variant bifrost

  Print the results as JSON for another program:
    longspan simulate scenario.toml --out out --json | jq '.claims[] | {id, verdict}'

  Run a third of the runs in each of three jobs, then write the summary and the report:
    longspan simulate scenario.toml --out out --seeds 5 --shard 1/3     (also 2/3 and 3/3)
    longspan simulate scenario.toml --out out --seeds 5 --join

Exit status: 0 success, whatever the verdicts on the claims; 1 a run was interrupted (Ctrl-C), is missing at
a join, is being run by another process, or failed: an invariant was violated, the network deadlocked or
livelocked, or a host had no free queue pair (reported with seed and time); 2 wrong usage or configuration,
reported before anything runs.")]
    Simulate(Box<SimulateArgs>),
    /// Translate the files of the ns-3 model of HPCC into a scenario
    ///
    /// Reads the topology, the flows and the options of the model, and writes DIR/scenario.toml with the
    /// lists of flows beside it, ready for `longspan simulate`. Options that have no counterpart are
    /// reported as warnings, each with its line. Link rates are stretched, so that a full packet takes as
    /// long as in the model, which counts neither preamble nor gap.
    #[command(after_help = "Example:
  longspan import-ns3 mix/topology.txt mix/flow.txt mix/config.txt --out imported
  longspan simulate imported/scenario.toml --out out

Exit status: 0 success (warnings are allowed), 1 a file cannot be written, 2 a file is invalid.")]
    ImportNs3(ImportNs3Args),
    /// Forward frames between the ports of a gateway until it is stopped
    ///
    /// Ports use DPDK devices: network cards by PCI address, or virtual devices such as af_packet, memif
    /// and pcap. One worker per core polls them. A control thread answers `show` and `reload`, serves
    /// metrics, and watches the workers. SIGHUP reloads the configuration. SIGTERM and Ctrl-C drain the
    /// gateway, print a summary, and stop it.
    #[command(after_help = "Examples:
  Forward between two kernel interfaces, without hugepages (config/gateways/wire-veth.toml):
    longspan run --config gateway.toml

  Stop after 10 seconds, and print the summary as JSON:
    longspan run --config gateway.toml --for 10s --json

Exit status: 0 stopped as requested, 1 failure while running, 2 wrong usage or configuration, or the
machine lacks a resource that the configuration needs.")]
    Run(RunArgs),
    /// Reload the configuration of a running gateway
    ///
    /// Thresholds, rates, schemes, weights and routes change between two bursts, without losing or
    /// reordering a frame. Reload prints each changed key. If the file is invalid, or changes a key that
    /// needs a restart, the gateway refuses the whole reload, names the key, and changes nothing.
    #[command(after_help = "Examples:
  longspan reload
  longspan reload --config gateway.toml
  longspan reload --socket /run/longspan/gw-east.sock --json

Exit status: 0 reloaded, 1 no gateway answered, 2 the configuration was refused.")]
    Reload(ReloadArgs),
    /// Show the state and counters of a running gateway
    #[command(after_help = "Examples:
  longspan show ports
  longspan show pfc --port lh0
  longspan show queues --json | jq .ports
  longspan show runtime --interval 1s

Exit status: 0 success, 1 no gateway answered, or it was restarted within --interval, 2 wrong usage.")]
    Show(ShowArgs),
}

/// `longspan run`.
#[derive(Args, Debug)]
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

/// `longspan reload`.
#[derive(Args, Debug)]
pub struct ReloadArgs {
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print the changes, or the reasons for a refusal, as JSON
    #[arg(long)]
    pub json: bool,
}

/// `longspan show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// View to show
    #[arg(value_parser = views())]
    pub view: View,
    /// Show only this port
    #[arg(long, value_name = "NAME")]
    pub port: Option<String>,
    /// Clear the user watermarks after reading them
    #[arg(long)]
    pub clear: bool,
    /// With the view runtime: also show the time from now on, for example 1s
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub interval: Option<Interval>,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
    /// Print the whole snapshot as JSON
    #[arg(long)]
    pub json: bool,
}

/// `longspan check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Gateway configurations and scenarios
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print a JSON array with one element per file instead of text
    #[arg(long)]
    pub json: bool,
}

/// `longspan replay`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("over_time").args(["series", "plot", "out_dir"]).multiple(true)))]
pub struct ReplayArgs {
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Capture whose frames enter through PORT; `-` is standard input. Once per port
    #[arg(long = "in", value_name = "PORT=FILE", required_unless_present = "split")]
    pub inputs: Vec<PortFile>,
    /// Capture that holds the frames of several ports, which --from assigns
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "inputs")]
    pub split: Option<PathBuf>,
    /// Frames of --split from one of these sources enter through PORT. A source is a MAC address, an
    /// IP address or an IP prefix. The first match wins, in the order given
    #[arg(long, value_name = "PORT=SOURCE[,SOURCE...]", requires = "split", conflicts_with = "inputs")]
    pub from: Vec<PortSources>,
    /// Replay speed: a factor such as 1000x, 0.5x or 2/3x, or line-rate to ignore the timestamps and
    /// fill the link of the port
    #[arg(long, value_name = "SPEED", default_value = "1x")]
    pub speed: SpeedArg,
    /// Replay each capture N times, back to back
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub loops: NonZeroU32,
    /// Write the frames that PORT sends to this capture (pcap, nanoseconds). Once per port
    #[arg(long = "out", value_name = "PORT=FILE")]
    pub outputs: Vec<PortFile>,
    /// Write the frames that each port sends to DIR/PORT.pcap, the report to DIR/report.json, and the
    /// series to DIR/series.csv and DIR/series.svg. --out, --report, --series and --plot override
    /// single files
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write queues, slots and pauses of each port over time as CSV
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// Plot the same series as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Sampling interval in capture time, such as 10us. A row is written only if something changed; if
    /// there are more than --rows rows, the interval doubles
    #[arg(
        long,
        value_name = "INTERVAL",
        default_value = "1us",
        value_parser = interval,
        requires = "over_time"
    )]
    pub sample: Interval,
    /// Keep at most N rows, 4 to 1000000
    #[arg(
        long,
        value_name = "N",
        default_value_t = Sampling::ROWS,
        value_parser = clap::value_parser!(u32).range(i64::from(Sampling::ROWS_MIN)..=1_000_000),
        requires = "over_time"
    )]
    pub rows: u32,
    /// Print the report instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// `longspan simulate`.
#[derive(Args, Debug)]
pub struct SimulateArgs {
    /// Scenario file
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Write DIR/summary.json, and the results of each run to a directory below DIR
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Override a value of the file and its variants. KEY is a dotted path such as topology.rate; VALUE is
    /// TOML or a bare word. Repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    /// Run with each of these values. Several sweeps run in every combination
    #[arg(long = "sweep", value_name = "KEY=VALUE,VALUE...")]
    pub sweep: Vec<SweepArg>,
    /// Seed of all random choices, or the first of several. Default: the seed of the scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run with N consecutive seeds
    #[arg(long, value_name = "N", default_value = "1")]
    pub seeds: NonZeroU32,
    /// Run N simulations in parallel. Default: one per core
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Threads of one simulation: up to N, if long links (10 us or more) divide its network. Results are the same
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroUsize,
    /// Run only this variant. Repeatable
    #[arg(long, value_name = "NAME")]
    pub only_variant: Vec<String>,
    /// Apply the `quick` values of the scenario, which make it short
    #[arg(long)]
    pub quick: bool,
    /// Repeat runs that are already complete
    #[arg(long)]
    pub again: bool,
    /// Run only shard I of N, from 1 to N, and write only the directories of its runs. The shards of
    /// all I together are all runs. Write the summary with --join
    #[arg(long, value_name = "I/N", conflicts_with = "json")]
    pub shard: Option<Shard>,
    /// Run nothing: write DIR/summary.json and DIR/report.html from the runs that shards have left below
    /// DIR. Fails, and names what is missing, if not all runs are there
    #[arg(long, conflicts_with_all = ["shard", "again"])]
    pub join: bool,
    /// Write tables for data frames, too: DIR/runs.csv has a row for each run, DIR/flows.csv one for each
    /// flow of all runs. FORMAT is csv, or parquet in a build with that feature
    #[arg(long, value_name = "FORMAT", conflicts_with = "shard")]
    pub tables: Option<Format>,
    /// Print the summary as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `longspan import-ns3`.
#[derive(Args, Debug)]
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

/// `KEY=VALUE,VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepArg {
    /// The key.
    pub key: String,
    /// Its values, all different.
    pub values: Vec<String>,
}

impl FromStr for SweepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected KEY=VALUE,VALUE, for example traffic.0.load=0.3,0.5".to_owned();
        let (_, list) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values(list).into_iter().map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        if let Some(twice) = (1..values.len()).find(|place| values[..*place].contains(&values[*place])) {
            return Err(format!("value {} is given twice", values[twice]));
        }
        let single: Override = text.parse().map_err(|_| wrong())?;
        Ok(Self { key: single.key, values })
    }
}

/// Splits a list at its commas, except those in brackets, braces and quotes.
fn values(list: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    let mut values = Vec::new();
    for (place, letter) in list.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(&list[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    values.push(&list[start..]);
    values
}

/// `PORT=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFile {
    /// The name of the port.
    pub port: String,
    /// The file.
    pub file: PathBuf,
}

impl FromStr for PortFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((port, file)) if !port.is_empty() && !file.is_empty() => {
                Ok(Self { port: port.into(), file: file.into() })
            }
            _ => Err("expected PORT=FILE, for example dc0=a.pcap".into()),
        }
    }
}

/// `PORT=SOURCE,SOURCE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSources {
    /// The name of the port.
    pub port: String,
    /// The sources of its frames.
    pub sources: Vec<SourceMatch>,
}

impl FromStr for PortSources {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((port, sources)) if !port.is_empty() => {
                let sources: Result<_, ParseSourceMatchError> = sources.split(',').map(str::parse).collect();
                Ok(Self { port: port.into(), sources: sources.map_err(|error| error.to_string())? })
            }
            _ => Err("expected PORT=SOURCE, for example dc0=10.0.0.0/8".into()),
        }
    }
}

/// The views of a running gateway.
fn views() -> impl TypedValueParser<Value = View> {
    let help = |view| match view {
        View::Ports => "Traffic, links, devices, workers and buffer pools",
        View::Queues => "Priority groups and queues: occupancy, watermarks, ECN marks, delays",
        View::Pfc => "PFC frames and pause times in both directions, and pause storms",
        View::Flows => "LSCC: advertised and received rates, CNPs, flows",
        View::Drops => "Dropped frames by reason",
        View::Slots => "Bifrost, BifrostX, port grants, credits: slots, grants, messages",
        View::Runtime => "Workers: turns, load, bursts, cycles by frame and stage",
        View::Config => "The configuration in force",
    };
    let values = View::ALL.map(|view| PossibleValue::new(view.name()).help(help(view)));
    PossibleValuesParser::new(values).try_map(|name| {
        View::ALL.into_iter().find(|view| view.name() == name).ok_or("not the name of a view")
    })
}

/// A replay speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedArg {
    /// A multiple of the captured speed.
    Times(Speed),
    /// The rate of the link.
    LineRate,
}

impl FromStr for SpeedArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "line-rate" {
            return Ok(Self::LineRate);
        }
        let factor = text.strip_suffix(['x', 'X']).unwrap_or(text);
        let refused =
            |_| "expected a factor above zero, such as 1000x, 0.5x or 2/3x, or line-rate".to_owned();
        factor.parse().map(Self::Times).map_err(refused)
    }
}

/// Parses a time above zero.
fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        Ok(Interval::ZERO) => Err("expected a time above zero, such as 10us".into()),
        parsed => parsed.map_err(|error: ParseQuantityError| error.to_string()),
    }
}

/// An error of clap in one line: its first paragraph, without "error:".
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
    let line = lines.join(" ");
    let message = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{message} (try --help)")
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
            &["longspan", "simulate", "a"],
            &["longspan", "import-ns3", "a", "b", "c"],
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
    fn a_simulation_has_one_thread_unless_more_are_asked_for() {
        for (more, threads) in [(&[][..], 1), (&["--jobs", "8"], 1), (&["--threads", "3"], 3)] {
            let arguments = ["longspan", "simulate", "a", "--out", "b"].iter().chain(more);
            let command = Cli::try_parse_from(arguments).unwrap().command;
            assert!(matches!(command, Command::Simulate(args) if args.threads.get() == threads));
        }
    }

    #[test]
    fn a_speed_is_a_factor_or_the_line_rate() {
        assert_eq!("line-rate".parse(), Ok(SpeedArg::LineRate));
        for (text, speed) in [("1000x", "1000"), ("0.5x", "0.5"), ("2/3X", "2/3"), ("7", "7")] {
            assert_eq!(text.parse(), Ok(SpeedArg::Times(speed.parse().unwrap())));
        }
    }

    #[test]
    fn a_sweep_is_split_at_commas_that_are_not_inside_of_a_value() {
        let sweep: SweepArg = "a.b=1, [2,3],\"x,y\",{p=1,q=2}".parse().unwrap();
        assert_eq!(
            (sweep.key.as_str(), sweep.values),
            ("a.b", ["1", "[2,3]", "\"x,y\"", "{p=1,q=2}"].map(Into::into).to_vec())
        );
    }

    #[test]
    fn a_file_name_may_hold_an_equals_sign() {
        let expected = PortFile { port: "dc0".into(), file: "a=b.pcap".into() };
        assert_eq!("dc0=a=b.pcap".parse(), Ok(expected));
    }
}
