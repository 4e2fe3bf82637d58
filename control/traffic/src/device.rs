//! Devices, as a person names them, and what is wrong with one.

use crate::interfaces::{self, LinkState};
use core::convert::Infallible;
use core::str::FromStr;
use units::{BitRate, Interval};

/// The interface that leads to this machine only.
const LOOPBACK: &str = "lo";

/// Why a device cannot be used, or not for this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no such interface.
    #[error("there is no interface \"{got}\" in this network namespace; there are {valid}")]
    NoInterface {
        /// The name.
        got: String,
        /// The names of those that could be used.
        valid: String,
    },
    /// An interface that leads nowhere.
    #[error("lo leads to no other machine; use an interface with a link, for example one end of a veth pair")]
    Loopback,
    /// An interface is set down.
    #[error("the interface {0} is down; set it up: ip link set {0} up")]
    Down(String),
    /// The link of a device stays down.
    #[error("the link of {0} is down; connect its other end and set that up")]
    NoLink(String),
    /// Another run has the interface.
    #[error(
        "the interface {0} is used by another `longspan traffic`, by a gateway, or for another host; use one for each host"
    )]
    InUse(String),
    /// Nothing says how long a pause lasts.
    #[error("the rate of {0} is unknown, and with it the length of a pause; give it with --rate")]
    NoRate(String),
    /// Pauses that follow each other faster than the link carries them.
    #[error("--every {every} is shorter than a pause takes on {device} at {rate}; use at least {least}")]
    TooOften {
        /// The device.
        device: String,
        /// The interval.
        every: Interval,
        /// The shortest possible.
        least: Interval,
        /// The rate of the link.
        rate: BitRate,
    },
    /// DPDK does not take it.
    #[error("{device}: {reason}")]
    Refused {
        /// The device, as it was named.
        device: String,
        /// The reason.
        reason: String,
    },
}

/// A device, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceName {
    /// A network card: `0000:3b:00.0`.
    Pci(String),
    /// A virtual device of DPDK: `net_memif0,role=client,...`.
    Virtual(String),
    /// An interface of the kernel: `veth0`.
    Interface(String),
}

impl FromStr for DeviceName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let digits = |it: char| it.is_ascii_hexdigit() || it == ':' || it == '.';
        Ok(if text.starts_with("net_") {
            Self::Virtual(text.into())
        } else if text.contains(':') && text.contains('.') && text.chars().all(digits) {
            Self::Pci(text.into())
        } else {
            Self::Interface(text.into())
        })
    }
}

impl DeviceName {
    /// As it was named.
    pub fn text(&self) -> &str {
        match self {
            Self::Pci(text) | Self::Virtual(text) | Self::Interface(text) => text,
        }
    }

    /// Checks what the kernel says of it, before DPDK starts.
    ///
    /// # Errors
    /// It is no interface of this network namespace, or one that sends nothing.
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let Self::Interface(name) = self else { return Ok(()) };
        let names = interfaces::names();
        if name == LOOPBACK {
            return Err(DeviceError::Loopback);
        }
        // Where /proc is not mounted, DPDK finds out.
        if !names.is_empty() && !names.contains(name) {
            let valid: Vec<_> = names.into_iter().collect();
            return Err(DeviceError::NoInterface { got: name.clone(), valid: valid.join(", ") });
        }
        match interfaces::link(name) {
            LinkState::Down => Err(DeviceError::Down(name.clone())),
            LinkState::Up | LinkState::NoCarrier | LinkState::Unknown => Ok(()),
        }
    }

    /// Why DPDK refused it.
    pub(crate) fn refused(&self, error: &dpdk::EalError) -> DeviceError {
        DeviceError::Refused { device: self.text().to_owned(), reason: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> DeviceName {
        text.parse().unwrap()
    }

    #[test]
    fn a_device_is_a_card_a_virtual_device_or_an_interface() {
        assert_eq!(parse("0000:3b:00.0"), DeviceName::Pci("0000:3b:00.0".into()));
        assert_eq!(parse("net_ring0"), DeviceName::Virtual("net_ring0".into()));
        assert_eq!(parse("eth0.100"), DeviceName::Interface("eth0.100".into()));
    }

    #[test]
    fn an_interface_that_is_not_there_and_the_loopback_are_refused_by_name() {
        let got = parse("nosuch0").check().unwrap_err();
        let is_named = |valid: &str| valid.split(", ").any(|it| it == LOOPBACK);
        assert!(matches!(&got, DeviceError::NoInterface { valid, .. } if is_named(valid)), "{got}");
        assert_eq!(parse("lo").check(), Err(DeviceError::Loopback));
        assert_eq!(parse("net_ring0").check(), Ok(()));
    }
}
