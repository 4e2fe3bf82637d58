//! `longspan capture`.

use super::ask::Whom;
use super::value::interval;
use clap::{Args, ValueEnum};
use core::net::IpAddr;
use std::path::PathBuf;
use units::Interval;

/// Capture frames of a running gateway as pcapng, without stopping it
///
/// Workers copy the beginning of matching frames into buffers of their own. If the buffers are full,
/// frames go on and are missing from the capture, which counts them on the screen and in the file. By
/// default, the control frames of the ports (PFC, PAUSE, grants, peer delay) are captured for ten
/// seconds. A capture can hold payload: whoever may use the control socket may read it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan capture --port lh0 --out pauses.pcapng
  longspan capture --port lh0 --port dc0 --frames marked --for 60s --count 100000 --out marks.pcapng
  longspan capture --port dc0 --frames all --host 10.0.17.1 --host 10.0.18.1 --qp 0x118 --out flow.pcapng
  longspan capture --port lh0 --out - | tshark -r -

Exit status: 0 success, also after Ctrl-C, SIGTERM and SIGHUP, 1 no gateway answered, it was busy or
ended before the capture did, or the file cannot be written, 2 wrong usage.")]
pub struct CaptureArgs {
    /// Port whose frames are captured. May be repeated
    #[arg(long = "port", value_name = "NAME", required = true)]
    pub ports: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Class of the frames. Default: control, or all with --priority, --host or --qp
    #[arg(long, value_enum)]
    pub frames: Option<FramesArg>,
    /// Direction of the frames, as the gateway sees it
    #[arg(long, value_enum, default_value_t = DirectionArg::Both)]
    pub direction: DirectionArg,
    /// Capture only data frames of this priority. May be repeated
    #[arg(long = "priority", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub priorities: Vec<u8>,
    /// Capture only IP packets from or to this address. With two, only those between both
    #[arg(long = "host", value_name = "ADDRESS")]
    pub hosts: Vec<IpAddr>,
    /// Capture only RoCEv2 packets to this queue pair, for example 0x118
    #[arg(long, value_name = "QP", value_parser = queue_pair)]
    pub qp: Option<u32>,
    /// Bytes of each frame to capture, 1 to 9216
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=9_216))]
    pub snap: u16,
    /// Stop after this time, an hour (3600s) at most
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub duration: Interval,
    /// Stop after this many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this many captured bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub bytes: Option<u64>,
    /// The gateway to ask.
    #[command(flatten)]
    pub whom: Whom,
}

impl CaptureArgs {
    /// The class of the frames; `None` if it is `control` and a condition speaks of data, which no control frame meets.
    pub fn class(&self) -> Option<FramesArg> {
        let of_data = !self.priorities.is_empty() || !self.hosts.is_empty() || self.qp.is_some();
        match self.frames {
            None => Some(if of_data { FramesArg::All } else { FramesArg::Control }),
            Some(FramesArg::Control) if of_data => None,
            stated => stated,
        }
    }
}

/// A class of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FramesArg {
    /// Frames between the two ends of a link: PFC, PAUSE, grants, peer delay
    Control,
    /// IP packets with a congestion mark (CE)
    Marked,
    /// All frames
    All,
}

/// A direction of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DirectionArg {
    /// Frames that come in
    Received,
    /// Frames that leave
    Sent,
    /// Both
    Both,
}

/// Parses a queue pair number, decimal or hexadecimal.
fn queue_pair(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.ok().filter(|number| *number < 1 << 24).ok_or_else(|| "expected a number below 2^24".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn class(more: &[&str]) -> Option<FramesArg> {
        let arguments = ["longspan", "capture", "--port", "lh0", "--out", "a"].iter().chain(more);
        match Cli::try_parse_from(arguments).unwrap().command {
            Command::Capture(args) => args.class(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_condition_on_data_captures_data_and_is_refused_with_control_frames() {
        assert_eq!(class(&[]), Some(FramesArg::Control));
        assert_eq!(class(&["--priority", "3"]), Some(FramesArg::All));
        assert_eq!(class(&["--frames", "marked", "--qp", "0x118"]), Some(FramesArg::Marked));
        assert_eq!(class(&["--frames", "control", "--host", "10.0.0.1"]), None);
    }
}
