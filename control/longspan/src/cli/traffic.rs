//! `longspan traffic`.

use super::value::{interval, named};
use clap::{Args, Subcommand};
use config::scenario::Override;
use core::str::FromStr;
use replay::capture::SourceMatch;
use std::path::PathBuf;
use units::{BitRate, Interval};
use wire::ethernet::MacAddress;

/// Play the hosts of a scenario or a capture on real ports, or send a pause storm
///
/// Two machines and no RDMA card make a testbed: hosts of the simulator send RoCEv2 through real devices, obey
/// PFC and CNPs, and measure completion times.
#[derive(Args, Debug)]
// Without a command, the error says which there are.
#[command(arg_required_else_help = false)]
pub struct TrafficArgs {
    /// The kind of traffic.
    #[command(subcommand)]
    pub command: TrafficCommand,
}

/// The kind of traffic.
#[derive(Debug, Subcommand)]
pub enum TrafficCommand {
    Play(Box<PlayArgs>),
    Replay(CaptureArgs),
    Storm(StormArgs),
}

/// Play hosts of a scenario, each on its own device
///
/// Every machine reads the same scenario and plays some of its hosts. The switches of the scenario are left
/// out: the real network takes their place. From the file and its seed, all machines know the flows and their
/// queue pairs. Start the receivers first. The run ends when all flows of its hosts have ended. A device is a PCI
/// address, a virtual device of DPDK, or an interface of the kernel.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  On the receiving machine, then on the sending one:
    longspan traffic play config/scenarios/incast.toml --host r0=0000:3b:00.0 --for 300s
    longspan traffic play config/scenarios/incast.toml --host h0=0000:3b:00.0 --for 300s

  Slower hosts, and a peer that obeys PFC late:
    longspan traffic play scenario.toml --host h0=eth1 --set topology.rate=1G --pfc-delay 20us

Exit status: 0 all flows have ended, 1 time was up or Ctrl-C or SIGTERM came before, or data
came that does not fit the plan, 2 wrong usage or configuration, or a device cannot be used.")]
pub struct PlayArgs {
    /// Scenario file
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Play the host NAME on a device. Repeatable
    #[arg(long = "host", value_name = "NAME=DEVICE", required = true)]
    pub hosts: Vec<HostDevice>,
    /// Send all frames to this router. Default: to the station of their IP address, through bridges
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub router: Option<MacAddress>,
    /// Variant of the scenario
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Override a value of the file, as in simulate. Repeatable; the same on all machines
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    /// Apply the `quick` values of the scenario, which make it short
    #[arg(long)]
    pub quick: bool,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = interval, default_value = "60s")]
    pub duration: Interval,
    /// Obey PFC frames this much later
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub pfc_delay: Option<Interval>,
    /// Poll all the time instead of sleeping up to 50 us when nothing is due
    #[arg(long)]
    pub poll: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Play a capture at its own times, and obey PFC
///
/// Frames leave at the times of the capture, no faster than the link carries them. A frame whose priority is paused
/// waits until the pause ends, while others go on. A frame has the priority of its DSCP (DSCP 24 to 31 have 3), or else of
/// its VLAN tag. MAC control frames of the capture and frames above 9,234 bytes are left out.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Play what one host sent, through a port of 1 Gb/s:
    longspan traffic replay hosts.pcap --port eth1 --from 10.0.0.1 --rate 1G

Exit status: 0 all frames were sent; 1 time was up or Ctrl-C or SIGTERM came before, the capture broke, or the device
could not send a frame; 2 wrong usage, or the device or the capture cannot be used.")]
pub struct CaptureArgs {
    /// Capture, pcap or pcapng; a file, since it is read twice
    #[arg(value_name = "FILE")]
    pub capture: PathBuf,
    /// Device
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Play only frames from this source: a MAC address, an IP address, an IP prefix, or interface:NAME of a pcapng
    /// file. Repeatable
    #[arg(long, value_name = "SOURCE")]
    pub from: Vec<SourceMatch>,
    /// Rate of the link, by which pauses are timed. Default: that of the device
    #[arg(long, value_name = "RATE")]
    pub rate: Option<BitRate>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = interval, default_value = "3600s")]
    pub duration: Interval,
    /// Poll all the time instead of sleeping up to 50 us when nothing is due
    #[arg(long)]
    pub poll: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Send PFC frames at exact intervals
///
/// The neighbour of the device is paused as by a NIC that has gone wrong. A pause whose time has passed is counted
/// as missed and not made up for.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Pause priority 3 without end, for two seconds:
    longspan traffic storm eth1 --priority 3 --every 50us --for 2s

  Half of the time, at 100G (65535 quanta last 335.5 us):
    longspan traffic storm 0000:3b:00.0 --priority 3 --every 671us --for 10s --poll

Exit status: 0 the storm is over, 2 wrong usage, or the device cannot be used.")]
pub struct StormArgs {
    /// Device
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Priority to pause. Repeatable
    #[arg(long, value_name = "N", required = true, value_parser = priority)]
    pub priority: Vec<u8>,
    /// Time of each pause in quanta of 512 bits
    #[arg(long, value_name = "N", default_value = "65535")]
    pub quanta: u16,
    /// Interval between pauses
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub every: Interval,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub duration: Interval,
    /// Poll all the time instead of sleeping up to 50 us between pauses
    #[arg(long)]
    pub poll: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// `NAME=DEVICE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDevice {
    /// The host of the scenario.
    pub host: String,
    /// The device.
    pub device: String,
}

impl FromStr for HostDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, device) = named(text, "expected NAME=DEVICE, for example h0=eth1")?;
        Ok(Self { host: host.into(), device: device.into() })
    }
}

fn mac(text: &str) -> Result<MacAddress, String> {
    let address: Result<MacAddress, _> = text.parse();
    match address {
        Ok(address) if address.is_unicast() => Ok(address),
        Ok(_) => Err("expected the MAC address of one station, neither of a group nor zero".to_owned()),
        Err(_) => Err("expected a MAC address, for example 02:00:00:00:00:01".to_owned()),
    }
}

fn priority(text: &str) -> Result<u8, String> {
    let expected = "expected a priority from 0 to 7; repeat --priority for several";
    text.parse().ok().filter(|it| *it < 8).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_one_station() {
        assert_eq!(mac("02:00:00:00:00:01"), Ok(MacAddress([2, 0, 0, 0, 0, 1])));
        for wrong in ["01:80:c2:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "eth0"] {
            assert!(mac(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_priority_is_told_what_would_be_right() {
        assert_eq!((priority("0"), priority("7")), (Ok(0), Ok(7)));
        for wrong in ["8", "-1", "3,4", "three", ""] {
            assert!(priority(wrong).unwrap_err().contains("0 to 7"), "{wrong}");
        }
    }
}
