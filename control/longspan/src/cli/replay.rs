//! `longspan replay`.

use super::value::{interval, named};
use clap::{ArgGroup, Args};
use core::num::NonZeroU32;
use core::ops::Range;
use core::str::FromStr;
use replay::capture::{ParseSourceMatchError, SourceMatch, Speed};
use replay::series::Sampling;
use std::path::PathBuf;
use units::{Interval, ParseQuantityError};

/// Replay captures through a gateway, using the captures' timestamps as the clock
///
/// Frames of pcap or pcapng captures enter through the ports that you name. Everything that a port
/// sends, data and PFC frames alike, is written to its own capture and stamped with the exact
/// time at which it goes on the wire. At the end, replay prints a summary. The same frames and
/// configuration always produce the same bytes. Replay needs neither root nor a network card.
/// With dpdk.lanes, as many lanes run, and gateway.seed draws the order of their turns.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Replay one capture into one port, and write all output to a directory:
    longspan replay --config gateway.toml --in dc0=hosts.pcap --out-dir out

  Replay into two ports, keep the output of one, and write the report to a file:
    longspan replay --config gateway.toml --in dc0=a.pcap --in lh0=b.pcapng \\
        --out lh0=haul.pcap --report report.json

  Split a capture that holds both directions of a link by source address:
    longspan replay --config gateway.toml --split link.pcap \\
        --from dc0=10.0.17.0/24,02:00:00:00:00:01 --from lh0=10.0.18.0/24

  Split what `longspan capture` wrote, by its interfaces:
    longspan replay --config gateway.toml --split dc0.pcapng --from dc0=interface:0

  Generate load: replay 1000 times faster, ten times in a row; or at line rate:
    longspan replay --config gateway.toml --in dc0=a.pcap --speed 1000x --loop 10
    longspan replay --config gateway.toml --in dc0=a.pcap --speed line-rate

  Record queues and pauses over time, sampled every 10 us, as CSV and as a plot:
    longspan replay --config gateway.toml --in dc0=a.pcap --sample 10us \\
        --series series.csv --plot series.svg

  See where frames of a bundle go while one of its links is down:
    longspan replay --config bundle.toml --in dc0=a.pcap --fault lh0=3ms..500ms --out-dir out

  Read a live capture from one program, and pass the report to another:
    tcpdump -i eth0 -w - | longspan replay --config gateway.toml --in dc0=- --json | jq .pools

Exit status: 0 success, 1 failure while running, 2 wrong usage or configuration, or an input whose first
frame cannot be read. If a capture breaks later, or after an interrupt (Ctrl-C), replay first writes the
output for the frames read so far. A second interrupt ends the program at once.")]
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
    /// IP address, an IP prefix, or interface:NAME or interface:NUMBER of a pcapng file. The first match wins, in the order given
    #[arg(long, value_name = "PORT=SOURCE[,SOURCE...]", requires = "split", conflicts_with = "inputs")]
    pub from: Vec<PortSources>,
    /// Replay speed: a factor such as 1000x, 0.5x or 2/3x, or line-rate to ignore the timestamps and
    /// fill the link of the port
    #[arg(long, value_name = "SPEED", default_value = "1x")]
    pub speed: SpeedArg,
    /// Replay each capture N times, back to back
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub loops: NonZeroU32,
    /// The link of PORT, a member of a bundle, has no carrier from FROM to TO after the first frame, as far as
    /// the gateway can see. Repeatable
    #[arg(long = "fault", value_name = "PORT=FROM..TO")]
    pub faults: Vec<PortFault>,
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
    /// Write the events of the gateway, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
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
        let (port, file) = named(text, "expected PORT=FILE, for example dc0=a.pcap")?;
        Ok(Self { port: port.into(), file: file.into() })
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
        let (port, sources) = named(text, "expected PORT=SOURCE, for example dc0=10.0.0.0/8")?;
        let sources: Result<_, ParseSourceMatchError> = sources.split(',').map(str::parse).collect();
        Ok(Self { port: port.into(), sources: sources.map_err(|error| error.to_string())? })
    }
}

/// `PORT=FROM..TO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFault {
    /// The name of the port.
    pub port: String,
    /// When its link fails, and when it is back, from the first frame on.
    pub times: Range<Interval>,
}

impl FromStr for PortFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected PORT=FROM..TO, for example lh0=3ms..500ms";
        let (port, times) = named(text, expected)?;
        let (from, to) = times.split_once("..").ok_or(expected)?;
        let time = |text: &str| text.parse().map_err(|error: ParseQuantityError| error.to_string());
        let times = time(from)?..time(to)?;
        if times.is_empty() {
            return Err(format!("{from} is not before {to}"));
        }
        Ok(Self { port: port.into(), times })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_or_the_line_rate() {
        assert_eq!("line-rate".parse(), Ok(SpeedArg::LineRate));
        for (text, speed) in [("1000x", "1000"), ("0.5x", "0.5"), ("2/3X", "2/3"), ("7", "7")] {
            assert_eq!(text.parse(), Ok(SpeedArg::Times(speed.parse().unwrap())));
        }
    }

    #[test]
    fn a_link_fails_before_it_is_back() {
        let (from, to) = (Interval::from_millis(3), Interval::from_millis(500));
        let fault = PortFault { port: "lh0".into(), times: from..to };
        assert_eq!("lh0=3ms..500ms".parse(), Ok(fault));
        for wrong in ["lh0=3ms", "=3ms..5ms", "lh0=3ms..3ms", "lh0=3ms..2ms", "lh0=..3ms", "lh0=3..5ms"] {
            assert!(wrong.parse::<PortFault>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_name_may_hold_an_equals_sign() {
        let expected = PortFile { port: "dc0".into(), file: "a=b.pcap".into() };
        assert_eq!("dc0=a=b.pcap".parse(), Ok(expected));
    }
}
