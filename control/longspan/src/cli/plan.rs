//! `longspan plan`.

use clap::Args;
use config::plan::Scheme;
use core::str::FromStr;
use std::path::PathBuf;
use units::{BitRate, Distance, Interval};

/// Plan a long link: buffer, headroom, thresholds, LSCC, memory, and both configurations
///
/// Shows each formula with its numbers and its source, compares the schemes, and says how long a pause may last and what
/// hosts need. It reads nothing but its arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan plan --distance 80km --rate 100G
  longspan plan --distance 80km --rate 100G --scheme pfc --priorities 3,4
  longspan plan --delay 5ms --rate 400G --lscc --senders 100G --out gateways
  longspan plan --distance 80km --rate 100G --prove
  longspan plan --distance 80km --rate 100G --json | jq '.schemes[] | {scheme, buffer_bytes}'

Exit status: 0 success; 1 the proof failed or did not end; 2 wrong usage, a link that cannot be, or a
file that cannot be written.")]
pub struct PlanArgs {
    /// Length of the fibre, one way
    #[arg(long, value_name = "LENGTH", required_unless_present = "delay")]
    pub distance: Option<Distance>,
    /// Delay of the link, one way, in place of its length
    #[arg(long, value_name = "TIME", conflicts_with = "distance")]
    pub delay: Option<Interval>,
    /// Rate of the long link, and of the link to the data center
    #[arg(long, value_name = "RATE")]
    pub rate: BitRate,
    /// Longest packet in a frame, in bytes. Default: 9100
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u64>,
    /// Lossless priorities, each from 1 to 5
    #[arg(long, value_name = "N,N", default_value = "3", value_delimiter = ',')]
    pub priorities: Vec<u8>,
    /// Scheme that keeps the long link lossless: pfc, bifrost, bifrostx, port-grants, cbfc or relay
    #[arg(long, value_name = "SCHEME", default_value = "bifrost")]
    pub scheme: Scheme,
    /// Slot of bifrost, bifrostx and port-grants. Default: 10us, within what the link allows
    #[arg(long, value_name = "TIME")]
    pub slot: Option<Interval>,
    /// Run LSCC above the scheme
    #[arg(long)]
    pub lscc: bool,
    /// Rate of a sender's link. Default: 25G
    #[arg(long, value_name = "RATE")]
    pub senders: Option<BitRate>,
    /// R_AI of the senders' DCQCN. Default: 40M
    #[arg(long, value_name = "RATE")]
    pub additive_increase: Option<BitRate>,
    /// T_i of the senders' DCQCN: the time between two increases. Default: 55us
    #[arg(long, value_name = "TIME")]
    pub rate_timer: Option<Interval>,
    /// File with LSCC's key, as the configurations name it; the plan neither reads nor writes it
    #[arg(long, value_name = "NAME", default_value = "link.key")]
    pub key_file: String,
    /// Slowest rate at which the far side takes frames of a lossless priority. Default: a tenth of the rate
    #[arg(long, value_name = "RATE")]
    pub drain: Option<BitRate>,
    /// Length of the fibre to the data center. Default: 300m
    #[arg(long, value_name = "LENGTH")]
    pub local_distance: Option<Distance>,
    /// Delays of NICs, PHYs and worker turns, both ends together. Default: 1us
    #[arg(long, value_name = "TIME")]
    pub interface_delay: Option<Interval>,
    /// How far ahead of the link the ports hand frames to the device. Default: 2us
    #[arg(long, value_name = "TIME")]
    pub tx_window: Option<Interval>,
    /// A neighbour in the data center with a PFC watchdog, and its detection time. SONiC=TIME and Junos=TIME
    /// replace their defaults. Repeatable
    #[arg(long = "watchdog", value_name = "NAME=TIME")]
    pub watchdogs: Vec<WatchdogArg>,
    /// Write the configuration of gw-east to FILE, which must not exist
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub toml: Option<PathBuf>,
    /// Write the configurations of both gateways to DIR: gw-east.toml and gw-west.toml, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Simulate both gateways against the worst cases, for 90 seconds at most
    #[arg(long)]
    pub prove: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
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
        let detection = time.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { name: name.into(), detection })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_has_a_plain_name_and_a_time() {
        let read = |text: &str| text.parse::<WatchdogArg>();
        let detection = Interval::from_millis(400);
        assert_eq!(read("leaf 1=400ms"), Ok(WatchdogArg { name: "leaf 1".into(), detection }));
        for wrong in ["leaf", "=400ms", "leaf=", "leaf=400", "\u{1b}[2J=400ms", "a\nb=400ms"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
