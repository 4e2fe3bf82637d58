//! The link state of kernel interfaces.

use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's directory of interfaces.
const INTERFACES: &str = "/sys/class/net";

/// The kernel interface behind a virtual device in `--vdev` notation: `net_af_packet` or `net_af_xdp`. Their
/// DPDK drivers always report the link as up.
pub fn interface(vdev: &str) -> Option<&str> {
    let (driver, arguments) = vdev.split_once(',')?;
    let of_the_kernel = ["net_af_packet", "net_af_xdp", "eth_af_packet"];
    of_the_kernel.iter().find(|name| driver.starts_with(**name))?;
    arguments.split(',').find_map(|argument| argument.strip_prefix("iface="))
}

/// The carrier of a kernel interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    file: PathBuf,
}

impl Carrier {
    /// The carrier of `interface`.
    pub fn of(interface: &str) -> Self {
        Self { file: Path::new(INTERFACES).join(interface).join("carrier") }
    }

    /// Whether the interface exists, is up and has a carrier.
    pub fn is_up(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|carrier| carrier.trim() == "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_over_an_interface_of_the_kernel_are_known() {
        assert_eq!(interface("net_af_packet0,iface=veth0,blocksz=4096"), Some("veth0"));
        assert_eq!(interface("net_af_xdp_lh0,start_queue=0,iface=eth1"), Some("eth1"));
        assert_eq!(interface("net_pcap0,rx_iface=eth1"), None);
        assert_eq!(interface("net_memif0"), None);
    }

    #[test]
    fn the_loopback_interface_has_a_carrier_and_one_that_is_not_there_has_none() {
        assert!(Carrier::of("lo").is_up());
        assert!(!Carrier::of("no-such-interface").is_up());
    }
}
