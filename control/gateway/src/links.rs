//! What a virtual device in `--vdev` notation is made on, and the link state of kernel interfaces.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's directory of interfaces.
const INTERFACES: &str = "/sys/class/net";

/// The kernel interface through which a virtual device sends: that of `net_af_packet`, `net_af_xdp` or `net_pcap`. Their
/// DPDK drivers always report the link as up.
pub fn interface(vdev: &str) -> Option<&str> {
    interface_of(vdev, &["iface=", "tx_iface="])
}

/// The kernel interface from which `net_pcap` receives, where that is not the one through which it sends.
pub fn receiving_interface(vdev: &str) -> Option<&str> {
    interface_of(vdev, &["rx_iface="]).filter(|name| interface(vdev) != Some(name))
}

fn interface_of<'a>(vdev: &'a str, keys: &[&str]) -> Option<&'a str> {
    let (driver, arguments) = vdev.split_once(',')?;
    let of_the_kernel = ["net_af_packet", "net_af_xdp", "eth_af_packet", "net_pcap"];
    of_the_kernel.iter().find(|name| driver.starts_with(**name))?;
    arguments.split(',').find_map(|it| keys.iter().find_map(|key| it.strip_prefix(key)))
}

/// The file from which a `net_pcap` receives.
pub fn capture(vdev: &str) -> Option<&str> {
    let (driver, arguments) = vdev.split_once(',')?;
    let mut arguments = arguments.split(',').filter(|_| driver.starts_with("net_pcap"));
    arguments.find_map(|argument| argument.strip_prefix("rx_pcap="))
}

/// Whether a virtual device has no receive ring that can overflow: it reads a file, or makes its frames when they are asked for.
pub fn never_overflows(vdev: &str) -> bool {
    vdev.starts_with("net_null")
        || vdev.starts_with("net_pcap")
            && interface_of(vdev, &["iface=", "rx_iface=", "rx_iface_in="]).is_none()
}

/// A virtual device with this number of queues each way, where its driver has to be told and the notation does not say it.
pub fn with_queues(vdev: &str, queues: usize) -> Cow<'_, str> {
    let key = match vdev {
        _ if vdev.starts_with("net_af_packet") || vdev.starts_with("eth_af_packet") => "qpairs",
        _ if vdev.starts_with("net_af_xdp") => "queue_count",
        _ => return vdev.into(),
    };
    let is_told = vdev.split(',').any(|it| it.split_once('=').is_some_and(|(stated, _)| stated == key));
    if queues == 1 || is_told { vdev.into() } else { format!("{vdev},{key}={queues}").into() }
}

/// Whether a kernel interface is its own link, and not one end of a pair such as veth or a part of another interface.
/// Where the kernel does not say, it is none.
pub fn is_own_link(interface: &str) -> bool {
    let number = |file| fs::read_to_string(Path::new(INTERFACES).join(interface).join(file)).ok();
    number("ifindex").is_some_and(|own| number("iflink") == Some(own))
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
        assert_eq!(interface("net_pcap0,iface=eth1"), Some("eth1"));
        assert_eq!(interface("net_pcap0,rx_iface=eth1,tx_iface=eth2"), Some("eth2"));
        assert_eq!(receiving_interface("net_pcap0,rx_iface=eth1,tx_iface=eth2"), Some("eth1"));
        assert_eq!(receiving_interface("net_pcap0,rx_iface=eth1,tx_iface=eth1"), None);
        assert_eq!(interface("net_pcap0,rx_iface=eth1,tx_pcap=out.pcap"), None);
        assert_eq!(interface("net_memif0"), None);
    }

    #[test]
    fn the_capture_that_comes_in_is_known() {
        assert_eq!(capture("net_pcap0,tx_pcap=out.pcap,rx_pcap=in.pcap"), Some("in.pcap"));
        assert_eq!(capture("net_pcap0,tx_pcap=out.pcap"), None);
        assert_eq!(capture("net_null0,rx_pcap=in.pcap"), None);
    }

    #[test]
    fn a_pcap_device_on_an_interface_may_lose_frames_and_one_on_a_file_does_not() {
        assert!(never_overflows("net_pcap0,rx_pcap=in.pcap,tx_iface=eth1") && never_overflows("net_null0"));
        for vdev in ["net_pcap0,iface=eth1", "net_pcap0,tx_pcap=out.pcap,rx_iface=eth1", "net_ring0"] {
            assert!(!never_overflows(vdev), "{vdev}");
        }
    }

    #[test]
    fn a_driver_that_makes_as_many_queues_as_it_is_told_is_told() {
        assert_eq!(with_queues("net_af_packet0,iface=a", 2), "net_af_packet0,iface=a,qpairs=2");
        assert_eq!(with_queues("net_af_xdp0,iface=a", 4), "net_af_xdp0,iface=a,queue_count=4");
        for (vdev, queues) in
            [("net_af_packet0,iface=a", 1), ("net_af_packet0,qpairs=3,iface=a", 2), ("net_memif0", 2)]
        {
            assert_eq!(with_queues(vdev, queues), vdev);
        }
    }

    #[test]
    fn the_loopback_interface_has_a_carrier_and_one_that_is_not_there_has_none() {
        assert!(Carrier::of("lo").is_up());
        assert!(!Carrier::of("no-such-interface").is_up());
        assert!(is_own_link("lo") && !is_own_link("no-such-interface"));
    }
}
