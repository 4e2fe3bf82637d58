//! The command line.

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
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
    after_help = "Exit status: 0 done, 1 failed while running, 2 wrong usage or configuration."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate gateway configurations and scenarios without running them
    ///
    /// Every problem is shown with its file, line, column and key, and with what would be valid. A file with
    /// a table called topology is a scenario, of which each variant is built, quick and not.
    #[command(after_help = "Examples:
  longspan check gateway.toml
  longspan check config/gateways/*.toml config/scenarios/*.toml
  longspan check --json gateway.toml

Exit status: 0 where all files hold (warnings are no errors), 2 where one does not.")]
    Check(CheckArgs),
    /// Play captures through a gateway, by the clock of the captures
    ///
    /// Frames of pcap or pcapng captures come in through the ports that you name, and what leaves
    /// each port is written to a capture of its own, stamped with the exact instant at which it is
    /// on the wire: data, and the PFC frames that the gateway sends. A summary says what happened.
    /// The same frames and configuration give the same bytes. No root, no network card.
    #[command(after_help = "Examples:
  One capture into one port, everything that leaves into a directory:
    longspan replay --config gateway.toml --in dc0=hosts.pcap --out-dir out

  Two ports, one output, the report as a file:
    longspan replay --config gateway.toml --in dc0=a.pcap --in lh0=b.pcapng \\
        --out lh0=haul.pcap --report report.json

  A capture with both directions of a link, told apart by source:
    longspan replay --config gateway.toml --split link.pcap \\
        --from dc0=10.0.17.0/24,02:00:00:00:00:01 --from lh0=10.0.18.0/24

  As a load: a thousand times faster, ten times over; or without any gap:
    longspan replay --config gateway.toml --in dc0=a.pcap --speed 1000x --loop 10
    longspan replay --config gateway.toml --in dc0=a.pcap --speed line-rate

  Queues and pauses over time, at most every 10 us, as figures and as a picture:
    longspan replay --config gateway.toml --in dc0=a.pcap --sample 10us \\
        --series series.csv --plot series.svg

  Live from another program, and the report for another one:
    tcpdump -i eth0 -w - | longspan replay --config gateway.toml --in dc0=- --json | jq .pools

Exit status: 0 done, 1 failed while running, 2 wrong usage or configuration, or an input whose first
frame cannot be read. Where a capture breaks later, what came before it is played and written first;
so it is after an interrupt (Ctrl-C), of which a second one ends the program at once.")]
    Replay(Box<ReplayArgs>),
    /// Simulate networks of switches and hosts, in virtual time
    ///
    /// A scenario is a network, what its hosts send, and what is compared: variants, each of which runs with
    /// each seed at each point of the sweeps, several at a time. Its switches are those that run on the wire,
    /// each with a full configuration; each event is checked against invariants. What comes of a run is
    /// written below DIR, and what the papers claim is printed beside what was found. The same scenario and
    /// seed give the same bytes. Run again, it goes on where it was interrupted.
    #[command(after_help = "Examples:
  longspan simulate config/scenarios/incast.toml --out out
  longspan simulate config/scenarios/incast.toml --out out --quick --seeds 5

  Other values than those of the file:
    longspan simulate scenario.toml --out out --set topology.rate=400G --set scenario.until=5ms

  Every combination of several values (elements of arrays by name, or by number from 0):
    longspan simulate scenario.toml --out out --sweep traffic.web.load=0.3,0.5,0.7 \\
        --sweep long_haul.bifrost.slot=1us,10us --only-variant bifrost

  What the runs came to, for another program:
    longspan simulate scenario.toml --out out --json | jq '.claims[] | {id, verdict}'

Exit status: 0 done, whatever came of the claims; 1 a run failed (a broken invariant, a deadlock, a livelock, a
host without a free queue pair, each told with its seed and instant) or was interrupted (Ctrl-C); 2 wrong usage or configuration, told before
anything runs.")]
    Simulate(Box<SimulateArgs>),
    /// Forward frames between the ports of a gateway, until it is told to end
    ///
    /// The devices of the ports are DPDK's: network cards by their PCI address, or virtual devices such
    /// as af_packet, memif and pcap. One worker per core polls them; a control thread answers `show` and
    /// `reload`, serves metrics, and watches the workers. SIGHUP reads the configuration again; SIGTERM
    /// and Ctrl-C let leave what is inside, say what happened, and end.
    #[command(after_help = "Examples:
  Two interfaces of the kernel, without hugepages (config/gateways/wire-veth.toml):
    longspan run --config gateway.toml

  The same for so long, with what happened as JSON:
    longspan run --config gateway.toml --for 10s --json

Exit status: 0 ended as it was told, 1 failed while running, 2 wrong usage or configuration, or the
machine lacks what the configuration asks for.")]
    Run(RunArgs),
    /// Have a running gateway read its configuration again
    ///
    /// Thresholds, rates, schemes, weights and routes change between two bursts, without losing or
    /// reordering a frame. What changed is shown. What cannot change while the gateway runs is refused by
    /// name, and a file that does not hold changes nothing.
    #[command(after_help = "Examples:
  longspan reload
  longspan reload --config gateway.toml
  longspan reload --socket /run/longspan/gw-east.sock --json

Exit status: 0 reloaded, 1 no gateway answers, 2 the configuration was refused.")]
    Reload(ReloadArgs),
    /// Ask a running gateway what it does
    #[command(after_help = "Examples:
  longspan show ports
  longspan show pfc --port lh0
  longspan show queues --json | jq .ports

Exit status: 0 done, 1 no gateway answers, 2 wrong usage.")]
    Show(ShowArgs),
}

/// `longspan run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The configuration of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// End after this time, as at SIGTERM: such as 10s
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub duration: Option<Interval>,
    /// Print what there is to see at the end as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Which gateway is meant.
#[derive(Args, Debug)]
pub struct Whom {
    /// The control socket of the gateway. Without it and --config, the only one in /run/longspan
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    pub socket: Option<PathBuf>,
    /// The configuration of the gateway, which names its socket
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `longspan reload`.
#[derive(Args, Debug)]
pub struct ReloadArgs {
    /// Which gateway.
    #[command(flatten)]
    pub whom: Whom,
    /// Print what changed, or why nothing did, as JSON
    #[arg(long)]
    pub json: bool,
}

/// `longspan show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// What to show
    #[arg(value_enum)]
    pub view: ViewArg,
    /// Only this port
    #[arg(long, value_name = "NAME")]
    pub port: Option<String>,
    /// Start the cleared-on-read watermarks again
    #[arg(long)]
    pub clear: bool,
    /// Which gateway.
    #[command(flatten)]
    pub whom: Whom,
    /// Print all that there is to see as JSON
    #[arg(long)]
    pub json: bool,
}

/// `longspan check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Configurations of gateways, and scenarios
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one JSON array, a file each, instead of lines
    #[arg(long)]
    pub json: bool,
}

/// `longspan replay`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("over_time").args(["series", "plot", "out_dir"]).multiple(true)))]
pub struct ReplayArgs {
    /// The configuration of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// A capture that comes in through PORT; `-` is standard input. Once per port
    #[arg(long = "in", value_name = "PORT=FILE", required_unless_present = "split")]
    pub inputs: Vec<PortFile>,
    /// One capture with frames of several ports, told apart by --from
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "inputs")]
    pub split: Option<PathBuf>,
    /// Frames of --split with one of these sources come in through PORT: MAC addresses, IP
    /// addresses or prefixes. The first that matches counts, in the order given
    #[arg(long, value_name = "PORT=SOURCE[,SOURCE...]", requires = "split", conflicts_with = "inputs")]
    pub from: Vec<PortSources>,
    /// How fast captures are played: a factor such as 1000x, 0.5x or 2/3x, or line-rate for as
    /// fast as the link of the port can, whatever the timestamps
    #[arg(long, value_name = "SPEED", default_value = "1x")]
    pub speed: SpeedArg,
    /// Play each capture N times, without a seam
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub loops: NonZeroU32,
    /// Write what leaves PORT to this capture (pcap, nanoseconds). Once per port
    #[arg(long = "out", value_name = "PORT=FILE")]
    pub outputs: Vec<PortFile>,
    /// Write what leaves every port to DIR/PORT.pcap, the report to DIR/report.json, and what happened
    /// over time to DIR/series.csv and DIR/series.svg, but where --out, --report, --series or --plot
    /// say otherwise
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    /// Write the report, as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write queues, slots and pauses of each port over time, as CSV
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// Draw the same, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Look at the gateway every INTERVAL of the capture's time, such as 10us. A row is written where
    /// something changed; where there would be more than --rows, the interval doubles
    #[arg(
        long,
        value_name = "INTERVAL",
        default_value = "1us",
        value_parser = interval,
        requires = "over_time"
    )]
    pub sample: Interval,
    /// Hold and write at most N rows, 4 to 1000000
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
    /// The scenario
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Write DIR/summary.json, and what comes of each run to a directory below DIR
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// A value that goes before that of the file and its variants, in TOML or as a bare word. The key has its
    /// tables before it, with dots between. May be given again
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    /// Run with each of these values. Several sweeps multiply
    #[arg(long = "sweep", value_name = "KEY=VALUE,VALUE...")]
    pub sweep: Vec<SweepArg>,
    /// The seed of all random choices, or the first one. Without it, that of the scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run with N seeds, each one more than the one before
    #[arg(long, value_name = "N", default_value = "1")]
    pub seeds: NonZeroU32,
    /// Run N at a time. Without it, one for each core
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Only this variant. May be given again
    #[arg(long, value_name = "NAME")]
    pub only_variant: Vec<String>,
    /// With the values of quick, which make the scenario short
    #[arg(long)]
    pub quick: bool,
    /// Run again what is complete, too
    #[arg(long)]
    pub again: bool,
    /// Print the summary as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `KEY=VALUE,VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepArg {
    /// The key.
    pub key: String,
    /// Its values, each once.
    pub values: Vec<String>,
}

impl FromStr for SweepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write KEY=VALUE,VALUE, for example traffic.0.load=0.3,0.5".to_owned();
        let (_, list) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values(list).into_iter().map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        if let Some(twice) = (1..values.len()).find(|place| values[..*place].contains(&values[*place])) {
            return Err(format!("{} stands there twice", values[twice]));
        }
        let single: Override = text.parse().map_err(|_| wrong())?;
        Ok(Self { key: single.key, values })
    }
}

/// The values of a list with commas between. Commas inside of brackets, braces and quotes are of the value.
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
            _ => Err("write PORT=FILE, for example dc0=a.pcap".into()),
        }
    }
}

/// `PORT=SOURCE,SOURCE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSources {
    /// The name of the port.
    pub port: String,
    /// Whose frames come in there.
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
            _ => Err("write PORT=SOURCE, for example dc0=10.0.0.0/8".into()),
        }
    }
}

/// What of a running gateway is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViewArg {
    /// Devices, links, what came in and what went out
    Ports,
    /// Priority groups and queues: occupancy, watermarks, ECN marks, pools
    Queues,
    /// PFC frames and pause times, each way
    Pfc,
    /// LSCC: rates told and heard, flows, CNPs
    Flows,
    /// Dropped frames by reason
    Drops,
    /// Slots of Bifrost, turns and lateness of workers
    Slots,
    /// The configuration in force
    Config,
}

impl From<ViewArg> for View {
    fn from(view: ViewArg) -> Self {
        match view {
            ViewArg::Ports => Self::Ports,
            ViewArg::Queues => Self::Queues,
            ViewArg::Pfc => Self::Pfc,
            ViewArg::Flows => Self::Flows,
            ViewArg::Drops => Self::Drops,
            ViewArg::Slots => Self::Slots,
            ViewArg::Config => Self::Config,
        }
    }
}

/// How fast captures are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedArg {
    /// So many times as fast as captured.
    Times(Speed),
    /// As fast as the link can.
    LineRate,
}

impl FromStr for SpeedArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "line-rate" {
            return Ok(Self::LineRate);
        }
        let factor = text.strip_suffix(['x', 'X']).unwrap_or(text);
        let refused = |_| "write for example 1000x, 0.5x, 2/3x or line-rate, above zero".to_owned();
        factor.parse().map(Self::Times).map_err(refused)
    }
}

/// A length of time above zero.
fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        Ok(Interval::ZERO) => Err("write for example 10us, above zero".into()),
        parsed => parsed.map_err(|error: ParseQuantityError| error.to_string()),
    }
}

/// What clap has to say, in one line: its first paragraph, without "error:".
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
            &["longspan", "simulate", "a", "--out", "b", "--set", "seed"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load=1,,2"],
            &["longspan", "simulate", "a", "--out", "b", "--sweep", "load=1,2,1"],
            &["longspan", "simulate", "a", "--out", "b", "--seeds", "0"],
        ] {
            let line = refused(arguments);
            assert!(!line.is_empty() && !line.contains('\n') && !line.starts_with("error"), "{line}");
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
