//! Facts about DPDK's drivers that they do not report themselves.

/// Whether a device passes PFC frames (EtherType 0x8808) like any other frame, from the link to software and
/// from software to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcPassage {
    /// They pass in both directions.
    Passes,
    /// Unknown, with the reason.
    Unknown(&'static str),
    /// They do not pass, with the reason.
    Blocked(&'static str),
}

/// Devices that were observed to pass PFC frames in both directions, with one transmit queue: QEMU's virtio,
/// e1000, e1000e and vmxnet3, with DPDK 22.11.
const SEEN: [&str; 3] = ["net_virtio", "net_e1000_em", "net_vmxnet3"];

/// Software devices, which treat all frames alike.
const SOFTWARE: [&str; 9] = [
    "net_ring",
    "net_null",
    "net_memif",
    "net_af_packet",
    "net_af_xdp",
    "net_pcap",
    "net_vhost",
    "net_tap",
    "net_virtio_user",
];

/// Whether a driver may free resources on DPDK's interrupt thread while queues or a closing thread use them:
/// memif does, when the peer disconnects.
pub(crate) fn frees_on_interrupts(driver: &str) -> bool {
    driver == "net_memif"
}

/// Whether a driver counts frames as sent that the interface of the kernel then drops. af_packet and pcap offer the kernel
/// such a frame again until it takes it, so what the interface counts there are attempts and no losses.
pub(crate) fn hides_losses_of_interface(driver: &str) -> bool {
    driver == "net_af_xdp"
}

/// Whether a driver gives the very mbufs that it sends to whoever receives them.
pub(crate) fn hands_on_mbufs(driver: &str) -> bool {
    driver == "net_ring"
}

/// Whether the MTU that a driver reports limits the frames that its device sends. Software devices say something, and send
/// what fits their buffers.
pub(crate) fn keeps_to_its_mtu(driver: &str) -> bool {
    !SOFTWARE.contains(&driver)
}

/// Whether a driver receives through packet sockets whose losses it does not count.
pub(crate) fn hides_losses_of_sockets(driver: &str) -> bool {
    driver == "net_af_packet"
}

/// A software driver of nearly the same name as that of a virtual device, which may end in digits.
pub(crate) fn similar(device: &str) -> Option<&'static str> {
    let name = device.trim_end_matches(|it: char| it.is_ascii_digit());
    if SOFTWARE.contains(&name) {
        return None;
    }
    let distance = |driver: &&str| strsim::damerau_levenshtein(driver, name);
    SOFTWARE.into_iter().min_by_key(distance).filter(|driver| distance(driver) <= 2)
}

/// The extended statistics in which a driver counts received pauses, whether or not it hands them over. A release of DPDK may
/// lack some of the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PauseNames {
    /// PAUSE frames (IEEE 802.3 annex 31B), and with some cards PFC frames too.
    pub(crate) frames: &'static [&'static str],
    /// PFC frames, once for each priority: what stands in front of its number and behind it.
    pub(crate) by_priority: &'static [(&'static str, &'static str)],
}

/// The names of the extended statistics of received pauses; none for a driver that has none or is not listed, such as mlx5 and virtio
/// (`mlx5_counters_init` in drivers/net/mlx5/linux/mlx5_ethdev_os.c, `rte_virtio_rxq_stat_strings` in
/// drivers/net/virtio/virtio_ethdev.c).
pub(crate) fn pause_names(driver: &str) -> PauseNames {
    const FRAMES: &[&str] = &["rx_xon_packets", "rx_xoff_packets"];
    match driver {
        // `ice_hw_port_strings` in drivers/net/ice/ice_ethdev.c; those by priority since DPDK 25.11.
        "net_ice" => PauseNames {
            frames: FRAMES,
            by_priority: &[("priority_xon_rx_tc", ""), ("priority_xoff_rx_tc", "")],
        },
        // `rte_i40e_hw_port_strings` and `rte_i40e_rxq_prio_strings` in drivers/net/i40e/i40e_ethdev.c,
        // `rte_ixgbe_stats_strings` and `rte_ixgbe_rxq_strings` in drivers/net/ixgbe/ixgbe_ethdev.c.
        "net_i40e" | "net_ixgbe" => PauseNames {
            frames: FRAMES,
            by_priority: &[("rx_priority", "_xon_packets"), ("rx_priority", "_xoff_packets")],
        },
        _ => PauseNames::default(),
    }
}

/// The names that a device of mlx5 reports: `MLX5_PCI_DRIVER_NAME` and `MLX5_AUXILIARY_DRIVER_NAME` in
/// drivers/common/mlx5/mlx5_common_defs.h.
const MLX5: [&str; 2] = ["mlx5_pci", "mlx5_auxiliary"];

/// Whether the kernel's driver keeps the card of a driver, and counts its MAC control frames: `pport_802_3_stats_desc` in Linux's
/// drivers/net/ethernet/mellanox/mlx5/core/en_stats.c.
pub(crate) fn is_counted_by_kernel(driver: &str) -> bool {
    MLX5.contains(&driver)
}

/// Whether PFC frames pass a device of this driver, a name as in [`crate::Port::driver`].
pub fn pfc_passage(driver: &str) -> PfcPassage {
    match driver {
        _ if SOFTWARE.contains(&driver) || SEEN.contains(&driver) => PfcPassage::Passes,
        "net_i40e" => PfcPassage::Blocked(
            "the i40e driver installs a filter that drops sent frames with EtherType 0x8808",
        ),
        "net_ice" => PfcPassage::Unknown(
            "the ice driver sends PFC frames, but whether received ones reach software depends on the \
             card's receive settings (PRTMAC_HSEC_CTL_RX_FORWARD_CONTROL)",
        ),
        _ if MLX5.contains(&driver) => PfcPassage::Unknown(
            "the card's firmware decides whether received PFC frames reach software (docs/connectx.md)",
        ),
        _ => PfcPassage::Unknown("it is not known how this driver treats MAC control frames"),
    }
}

/// Whether a second transmit queue may be used while only one receive queue is served. Only drivers known to
/// support it qualify.
///
/// Software devices and virtio pair their queues: the host gives a share of the frames to the second receive
/// queue, which no one serves. `net_e1000_em` offers two transmit queues for every chip, but an 82540EM has
/// one: frames in the other never leave.
pub(crate) fn may_have_control_queue(driver: &str) -> bool {
    matches!(driver, "net_null" | "net_ice" | "net_i40e" | "net_ixgbe" | "net_vmxnet3")
        || MLX5.contains(&driver)
}

/// Whether the device of a driver spreads what it receives over its queues in a way of its own, and so is told no hash: what it
/// has for each queue is a file, a ring, a socket or the queue of a peer.
pub(crate) fn spreads_by_itself(driver: &str) -> bool {
    SOFTWARE.contains(&driver) && driver != "net_virtio_user"
}

/// How a virtual device of this driver gets `queues` queues, as the end of a sentence; empty if that is not known.
pub(crate) fn way_to_queues(driver: &str, queues: u16) -> String {
    match driver {
        "net_pcap" => "; it has one for each rx_pcap and tx_pcap".to_owned(),
        "net_af_packet" => format!("; it has as many as qpairs={queues} says"),
        "net_af_xdp" => format!("; it has as many as queue_count={queues} says"),
        "net_vhost" | "net_virtio_user" => format!("; it has as many as queues={queues} says"),
        "net_virtio" => "; the host decides how many it has".to_owned(),
        _ => String::new(),
    }
}

/// Whether a driver sends frames in several mbufs although it does not report so. Other drivers would send
/// the memory after the first mbuf.
pub(crate) fn sends_segments(driver: &str) -> bool {
    matches!(driver, "net_pcap" | "net_null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_driver_is_unknown() {
        assert!(matches!(pfc_passage("net_of_tomorrow"), PfcPassage::Unknown(_)));
        assert!(matches!(pfc_passage("net_ice"), PfcPassage::Unknown(_)));
        assert!(matches!(pfc_passage("net_i40e"), PfcPassage::Blocked(_)));
        assert_eq!(pfc_passage("net_memif"), PfcPassage::Passes);
        assert_eq!(pfc_passage("net_virtio"), PfcPassage::Passes);
    }

    #[test]
    fn the_drivers_whose_passage_is_unknown_or_blocked_have_counters_of_pauses_where_dpdk_has_them() {
        let counts = |driver| pause_names(driver) != PauseNames::default();
        assert_eq!(["net_ice", "net_i40e", "net_ixgbe"].map(counts), [true; 3]);
        assert_eq!(["mlx5_pci", "net_virtio", "net_of_tomorrow"].map(counts), [false; 3]);
        assert!(is_counted_by_kernel("mlx5_pci") && !is_counted_by_kernel("net_ice"));
    }

    #[test]
    fn a_misspelt_driver_is_told_from_one_that_is_not_installed() {
        assert_eq!(similar("net_pcp0"), Some("net_pcap"));
        assert_eq!(similar("net_af_paket12"), Some("net_af_packet"));
        assert_eq!(["net_pcap0", "net_of_tomorrow0"].map(similar), [None; 2]);
    }

    #[test]
    fn a_second_transmit_queue_is_used_only_where_it_is_known_to_send_and_to_cost_no_frame() {
        assert!(may_have_control_queue("net_ice"));
        for driver in ["net_virtio", "net_e1000_em", "net_memif", "net_of_tomorrow"] {
            assert!(!may_have_control_queue(driver), "{driver}");
        }
    }
}
