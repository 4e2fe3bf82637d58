//! Why a port has no device that works.

use std::io;

use dpdk::{EalError, PortError};
use replay::capture::CaptureError;

use crate::device_mtu::MtuError;

/// Why a port has no device that works.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no such interface of the kernel.
    #[error("there is no interface {0} in this network namespace (`ip link`)")]
    NoInterface(String),
    /// Two gateways on an interface would both forward what comes in there.
    #[error(
        "the interface {0} is used by another gateway, port or `longspan traffic`; end that, or choose another interface"
    )]
    InterfaceInUse(String),
    /// The kernel cannot be asked about interfaces.
    #[error("cannot ask the kernel about interfaces: {0}")]
    Socket(io::Error),
    /// Frames that do not fit.
    #[error("{0}")]
    Mtu(#[from] MtuError),
    /// The file of received frames is no capture of Ethernet.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// The socket of a memif stays from its last run.
    #[error("cannot remove the socket of its last run: {0}")]
    DeadSocket(io::Error),
    /// DPDK does not make the device.
    #[error("{0}")]
    Dpdk(#[from] EalError),
    /// The device does not start.
    #[error("{0}")]
    Port(#[from] PortError),
    /// PFC is required, and known not to work.
    #[error("{0} (pfc_frames = \"require\")")]
    Pfc(String),
}

impl DeviceError {
    /// Whether another start may succeed with the same file: once an interface is there, is free, or has its MTU.
    pub fn may_heal(&self) -> bool {
        match self {
            Self::NoInterface(_) | Self::InterfaceInUse(_) | Self::Mtu(_) => true,
            Self::Dpdk(error) => may_heal(error),
            Self::Socket(_) | Self::Capture(_) | Self::DeadSocket(_) | Self::Port(_) | Self::Pfc(_) => false,
        }
    }
}

/// Whether another start of DPDK may succeed: once a card is there, is bound, or is free, or with another fanout group.
pub fn may_heal(error: &EalError) -> bool {
    matches!(
        error,
        EalError::NoPciDevice(_)
            | EalError::PciDeviceNotTaken { .. }
            | EalError::PciDeviceInUse { .. }
            | EalError::TooFewHugepages { .. }
    ) || matches!(error, EalError::Device { device, .. } if is_sound_af_packet(device))
}

/// Whether a virtual device is one of af_packet with arguments that its driver takes, whatever its interface is called. With
/// others the driver rejects it at each start.
fn is_sound_af_packet(device: &str) -> bool {
    let (driver, arguments) = device.split_once(',').unwrap_or((device, ""));
    let is_sound = |argument: &str| match argument.split_once('=') {
        Some(("iface", value)) => !value.is_empty(),
        Some(("qpairs" | "blocksz" | "framesz" | "framecnt", number)) => {
            number.parse().is_ok_and(|it: u32| it > 0)
        }
        Some(("qdisc_bypass", value)) => matches!(value, "0" | "1"),
        _ => false,
    };
    driver.contains("_af_packet")
        && arguments.split(',').all(is_sound)
        && arguments.split(',').any(|it| it.starts_with("iface="))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of its fanout group follows from that of the process, and another gateway may have it.
    #[test]
    fn another_start_may_make_an_af_packet_device_that_this_one_could_not() {
        let failed = |device: &str| {
            let source = io::Error::other("its driver rejected it");
            may_heal(&EalError::Device { device: device.to_owned(), source })
        };
        assert!(failed("net_af_packet_dc0,iface=veth0") && failed("eth_af_packet0,iface=veth0"));
        assert!(failed("net_af_packet0,iface=veth0,qpairs=2,qdisc_bypass=1"));
        assert!(!failed("net_pcap0,rx_pcap=in.pcap") && !failed("net_pcap0,iface=my_af_packet"));
    }

    #[test]
    fn no_start_makes_an_af_packet_device_whose_arguments_are_wrong() {
        for arguments in [
            "",
            ",ifac=veth0",
            ",iface=",
            ",iface=veth0,qpair=2",
            ",iface=veth0,framesz=2k",
            ",iface=veth0,fanout_mode=hash",
            ",qpairs=1",
        ] {
            let device = format!("net_af_packet0{arguments}");
            let source = io::Error::other("its driver rejected it");
            assert!(!may_heal(&EalError::Device { device: device.clone(), source }), "{device}");
        }
    }
}
