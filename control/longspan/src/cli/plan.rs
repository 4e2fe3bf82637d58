//! `longspan plan`.

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use config::plan::Scheme;
use core::str::FromStr;
use std::path::{Path, PathBuf};
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, Priority};

/// Plan a long link: buffer, headroom, thresholds, LSCC, memory, and both configurations
///
/// Says in a few lines what to buy, what to set, and whether the plan holds: in its buffers, on its cores, in memory, and
/// while workers are late. It reads nothing but its arguments.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("length").args(["distance", "delay"]).required(true)))]
#[command(after_help = "Examples:
  longspan plan --distance 80km --rate 100G
  longspan plan --distance 80km --rate 100G --scheme pfc --priorities 3,4
  longspan plan --delay 5ms --rate 100G --lscc --senders 100G --out gateways
  longspan plan --distance 80km --rate 100G --out gateways --pci 0000:3b:00.0,0000:3b:00.1
  longspan plan --distance 80km --rate 100G --links 2 --scheme pfc
  longspan plan --distance 3000km --rate 50G --repair
  longspan plan --distance 80km --rate 100G --explain
  longspan plan --distance 80km --rate 100G --prove
  longspan plan --distance 80km --rate 100G --toml -
  longspan plan --distance 80km --rate 100G --json | jq '.schemes[] | {scheme, buffer_bytes}'

Exit status: 0 the plan holds; 1 it does not, or the proof failed or did not end; 2 wrong usage, a link that cannot be, or a \
file that cannot be written.")]
pub struct PlanArgs {
    /// Length of the fibre, one way
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub distance: Option<Distance>,
    /// Delay of the link, one way, instead of its length
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<Interval>,
    /// Rate of a long link. The link to the data center has that of all long links
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub rate: BitRate,
    /// Long links between both gateways, 1 to 8. Several are a bundle: the plan says what holds with all and with one
    /// less, and what a cut destroys
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub links: u8,
    /// Longest packet in a frame, in bytes. Default: 9100
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub mtu: Option<u64>,
    /// Lossless priorities, each from 1 to 5
    #[arg(long, value_name = "N,N", default_value = "3", value_delimiter = ',', value_parser = priority)]
    pub priorities: Vec<Priority>,
    /// Scheme that keeps the long link lossless: pfc, bifrost, bifrostx, port-grants, cbfc or relay
    #[arg(long, value_name = "SCHEME", default_value = "bifrost")]
    pub scheme: Scheme,
    /// Slot of bifrost, bifrostx and port-grants. Default: the slot with the least buffer. With another scheme, it has an
    /// effect on the comparison only
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub slot: Option<Interval>,
    /// Run LSCC above the scheme
    #[arg(long)]
    pub lscc: bool,
    /// Repair what the long link loses: with pfc or bifrost, one link and one lane
    #[arg(long)]
    pub repair: bool,
    /// Rate of a sender's link. Default: 25G
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub senders: Option<BitRate>,
    /// R_AI of the senders' DCQCN, for marks and LSCC. Default: 40M
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub additive_increase: Option<BitRate>,
    /// T_i of the senders' DCQCN: the time between two increases, for marks and LSCC. Default: 55us
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rate_timer: Option<Interval>,
    /// File with LSCC's key, as the configurations name it, with --lscc; the plan neither reads nor writes it.
    /// Default: link.key
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub key_file: Option<String>,
    /// Slowest rate at which the far side takes lossless frames, of all priorities together, which share it equally.
    /// Default: a tenth of the rate of all links
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = rate)]
    pub drain: Option<BitRate>,
    /// Length of the fibre to the data center. Default: 300m
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub local_distance: Option<Distance>,
    /// Delays of NICs, PHYs and worker turns, both ends together. Default: 1us
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub interface_delay: Option<Interval>,
    /// How far ahead of the link the ports hand frames to the device. Default: 2us, or less where the rate's response
    /// time to a pause is less (IEEE 802.3 clause 31B.3.7)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub tx_window: Option<Interval>,
    /// Memory of the machine for frames, as hugepages. The plan does not hold if it needs more. Default: not checked
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<Bytes>,
    /// How late a worker of the machine may be. The plan does not hold if its buffers cannot cover that. Default: the
    /// time of a full burst from each port of a core
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub lateness: Option<Interval>,
    /// Cores of each gateway that serve both ports together, 1 to 16; more than 1 with --scheme pfc or bifrost. Default: as
    /// many as the link needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub lanes: Option<u8>,
    /// A neighbour in the data center with a PFC watchdog, and its detection time. SONiC=TIME and Junos=TIME
    /// replace their defaults. Repeatable
    #[arg(long = "watchdog", value_name = "NAME=TIME")]
    pub watchdogs: Vec<WatchdogArg>,
    /// Write the configuration of gw-east to FILE, which must not exist. `-` is standard output, instead of the page
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub toml: Option<PathBuf>,
    /// Write the configurations of both gateways to DIR: gw-east.toml and gw-west.toml, which must not exist
    #[arg(long, value_name = "DIR", value_parser = directory)]
    pub out: Option<PathBuf>,
    /// PCI addresses of dc0 and of each long port, for the files: of both gateways, or stated twice, of gw-east and of
    /// gw-west
    #[arg(long, value_name = "DC0,LH0")]
    pub pci: Vec<PciArg>,
    /// Show each formula with its numbers and its source, other slots, the schemes side by side, and what hosts need
    #[arg(long)]
    pub explain: bool,
    /// Simulate both gateways against the worst cases, for 90 seconds at most
    #[arg(long)]
    pub prove: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

impl PlanArgs {
    /// Whether the configuration goes to standard output, and the page nowhere.
    pub fn prints_toml(&self) -> bool {
        self.toml.as_deref() == Some(Path::new("-"))
    }
}

/// Parses a rate. A rate of zero is none.
fn rate(text: &str) -> Result<BitRate, String> {
    text.parse().map_err(|error| match error {
        ParseQuantityError::OutOfRange { .. } => "expected 1bps to 18446744T, for example 100G".into(),
        other => other.to_string(),
    })
}

/// Parses the name of a directory, which standard output is not.
fn directory(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("expected the name of a directory; --toml - writes to standard output".into()),
        _ => Ok(text.into()),
    }
}

/// Parses a number of bytes without a unit.
fn bytes(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a number of bytes, for example 9000".into())
}

/// Parses a priority, lossless or not.
fn priority(text: &str) -> Result<Priority, String> {
    let number = text.parse().ok().and_then(|number| Priority::new(number).ok());
    number.ok_or_else(|| "expected a number from 1 to 5".into())
}

/// `DC0,LH0`, and more with more links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciArg(pub Vec<String>);

impl FromStr for PciArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains(',') {
            return Err("expected two PCI addresses, for example 0000:3b:00.0,0000:3b:00.1".into());
        }
        Ok(Self(text.split(',').map(str::to_owned).collect()))
    }
}

/// `NAME=TIME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogArg {
    /// The name of the neighbour.
    pub name: String,
    /// Its detection time.
    pub detection: Interval,
}

impl FromStr for WatchdogArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "expected NAME=TIME, for example SONiC=400ms";
        let (name, time) = text.split_once('=').ok_or(wrong)?;
        // The name is printed, and nothing that a terminal would obey.
        let plain = |letter: char| letter.is_alphanumeric() || " -_.".contains(letter);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong.into());
        }
        let detection = super::value::interval(time)?;
        Ok(Self { name: name.into(), detection })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_neighbour_has_a_plain_name_and_a_time() {
        let read = |text: &str| text.parse::<WatchdogArg>();
        let detection = Interval::from_millis(400);
        assert_eq!(read("leaf 1=400ms"), Ok(WatchdogArg { name: "leaf 1".into(), detection }));
        for wrong in ["leaf", "=400ms", "leaf=", "leaf=400", "leaf=0ms", "\u{1b}[2J=400ms", "a\nb=400ms"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
    /// The message for a command line that is refused.
    fn refused(more: &[&str]) -> String {
        let line = ["longspan", "plan"].iter().chain(more);
        crate::cli::one_line(&crate::cli::Cli::try_parse_from(line).unwrap_err())
    }

    #[test]
    fn what_a_value_can_be_is_told_where_it_is_refused() {
        for (option, value, valid) in [
            ("--rate", "0", "expected 1bps to 18446744T, for example 100G"),
            ("--drain", "0", "expected 1bps to 18446744T, for example 100G"),
            ("--distance", "-80km", "for example \"80km\""),
            ("--mtu", "-3", "expected a number of bytes"),
            ("--priorities", "3,9", "expected a number from 1 to 5"),
            ("--watchdog", "SONiC=0ms", "expected a time above zero"),
            ("--out", "-", "--toml - writes to standard output"),
        ] {
            let line = refused(&[option, value]);
            assert!(line.starts_with("invalid value '") && line.contains(option), "{line}");
            assert!(line.contains(valid), "{line}");
        }
    }

    #[test]
    fn a_link_without_a_length_is_told_both_ways_to_state_it() {
        let line = refused(&["--rate", "100G"]);
        assert!(line.contains("--distance <LENGTH>|--delay <TIME>"), "{line}");
    }

    #[test]
    fn the_help_breaks_no_line_within_a_paragraph() {
        let command = <crate::cli::Cli as clap::CommandFactory>::command();
        let plan = command.find_subcommand("plan").unwrap();
        let help = plan.get_after_help().unwrap().to_string();
        let (_, status) = help.split_once("Exit status").unwrap();
        assert!(!status.contains('\n'), "{status}");
    }
}
