//! Tables that only a running gateway needs: `[dpdk]`, `[control]`, `[process]`, `[port.device]`, `[port.emulation]`.

use core::net::{Ipv4Addr, SocketAddr};

use units::{Bytes, Interval};

use crate::core_load::MOST_LANES;
use crate::machine::{
    Account, Argument, Core, Driver, FilePrefix, Hugepages, Idle, InterfaceName, MemifRole, PciAddress,
    Permissions, PfcFrames, Privileges, Probability, RingSize, SocketPath, VirtualDevice,
};
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Table, table, values};
use crate::value::Length;

/// Reachable on this machine only. The port is the default of OpenTelemetry's Prometheus exporter.
const METRICS: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9_464);
/// The size of a device's rings. 10 us of 60-byte frames at 100G are 1,488 frames.
const DESCRIPTORS: RingSize = RingSize(1_024);
/// Slightly less than light needs for the longest `distance`.
pub(crate) const LONGEST_DELAY: Interval = Interval::from_millis(200);
const MINUTE: Interval = Interval::from_secs(60);
const DAY: Interval = Interval::from_secs(86_400);
const NEVER: Probability = Probability(0.0);

table! {
    /// The environment of all devices.
    DpdkDecl, check {
        /// `"auto"`: memory from hugepages if there are enough, otherwise from ordinary pages with a warning. `"require"`: hugepages, or no start. `"never"`: ordinary pages
        hugepages: At<Hugepages>, default(Hugepages::Auto), restart;
        /// The worker cores, each once
        cores: List<Core>, auto("the gateway chooses"), restart;
        /// Cores that serve every port together, each with a receive and a transmit queue of its own; the first ones of `cores` where they are listed; see [lanes](running.md#lanes)
        lanes: At<u8>, within(1_u8..=MOST_LANES), default(1_u8), restart;
        /// The behaviour of an idle worker. `"poll"`: it looks again at once. `"sleep"`: it sleeps for some 50 us, so that others can use its core; see [running](running.md#cores)
        idle: At<Idle>, default(Idle::Poll), restart;
        /// The prefix that DPDK puts in front of its file names; each process on a machine needs its own
        file_prefix: At<FilePrefix>, auto("the gateway's name"), restart;
        /// More arguments of EAL. An argument that another key sets (`-l`, `--vdev`) is refused
        arguments: List<Argument>, auto("none"), restart;
        /// Where many frames wait, shorter frames than this share mbufs; see [memory](#memory)
        pack_below: At<Length>, within(Length(Bytes(60))..=Length(Bytes(9_216))), auto("three quarters of an mbuf"), restart;
    }
}

impl DpdkDecl {
    fn check(&self, section: &Section<'_, '_>) {
        let (cores, lanes) = (values(&self.cores).count(), usize::from(self.lanes()));
        if (1..lanes).contains(&cores)
            && let Some(place) = self.place_of("cores")
        {
            section.problems.error(place, ProblemKind::FewCores { cores, lanes });
        }
        section
            .problems
            .refuse_second(values(&self.cores).map(|at| (&at.place, format!("core {}", at.value.0))));
    }
}

table! {
    /// How a running gateway is asked and watched.
    ControlDecl {
        /// The Unix socket of `longspan show` and `longspan reload`
        socket: At<SocketPath>, auto("`/run/longspan/NAME.sock`"), restart;
        /// Permissions of the socket. Write permission for everybody is a warning
        mode: At<Permissions>, default(Permissions(0o660)), restart;
        /// The group that owns the socket; it must exist on the machine
        group: At<Account>, auto("the gateway's group"), restart;
        /// Where Prometheus finds `/metrics`. An address that other machines reach is a warning
        metrics: At<Option<SocketAddr>>, default(Some(METRICS)), restart;
        /// Whether `dpdk-telemetry.py` finds the gateway's figures, and DPDK's own, on a [DPDK telemetry socket](dpdk-telemetry.md)
        dpdk_telemetry: At<bool>, default(false), restart;
        /// A worker that ends no turn for this long is reported
        stall: At<Interval>, within(Interval::from_millis(1)..=MINUTE), default(Interval::from_millis(100));
        /// How long frames may still leave after SIGTERM
        drain: At<Interval>, within(Interval::ZERO..=MINUTE), default(Interval::from_secs(1));
        /// Least time between two warnings of one kind about a port: its [worker's lateness](running.md#lateness), a refused [delay](headroom.md), differences from its [neighbour](link-agent.md), or [kept pauses](deployment.md#pauses-that-a-card-keeps)
        repeat: At<Interval>, within(Interval::from_secs(1)..=DAY), default(MINUTE);
        /// How many [events](events.md) of each kind are kept for `longspan events`. `0`: none are recorded
        events: At<u32>, within(0_u32..=1_000_000), default(4_096_u32), restart;
    }

    /// The account and the privileges of a running gateway.
    ProcessDecl {
        /// The account that a gateway started as root changes to. `"root"` stays root without a warning
        user: At<Account>, auto("`longspan` where it exists, otherwise root with a warning"), restart;
        /// `"drop"`: gives up what only the start needs. `"keep"`: keeps it, which is a warning
        privileges: At<Privileges>, default(Privileges::Drop), restart;
    }

    /// The device of a port.
    DeviceDecl, check {
        /// The address of a network card, `"0000:3b:00.0"`
        pci: At<PciAddress>, restart;
        /// A virtual device as DPDK's `--vdev` takes it, `"net_pcap0,rx_pcap=in.pcap"`
        vdev: At<VirtualDevice>, instead_of(pci), restart;
        /// An interface of the kernel, `"veth0"`
        interface: At<InterfaceName>, instead_of(pci, vdev), restart;
        /// With `interface`: `"af_packet"` copies frames through the kernel, `"af_xdp"` shares memory with it
        driver: At<Driver>, default(Driver::AfPacket), restart;
        memif: MemifDecl, instead_of(pci, vdev, interface), restart;
        /// The worker core of the port, one of `dpdk.cores` where they are listed
        core: At<Core>, auto("the gateway chooses"), restart;
        /// Descriptors of the receive ring
        receive_descriptors: At<RingSize>, default(DESCRIPTORS), restart;
        /// Descriptors of each transmit ring
        transmit_descriptors: At<RingSize>, default(DESCRIPTORS), restart;
        /// Where the device is known not to pass PFC frames: `"require"` refuses to start, `"warn"` warns. What is unknown, a gateway [finds out while it runs](deployment.md#pauses-that-a-card-keeps)
        pfc_frames: At<PfcFrames>, default(PfcFrames::Warn), restart;
    }
}

impl DeviceDecl {
    const KINDS: [&str; 4] = ["pci", "vdev", "interface", "memif"];

    fn check(&self, section: &Section<'_, '_>) {
        if section.contains("driver") && !section.contains("interface") {
            let with = "a device other than an interface".into();
            section.problems.error(&section.place_of_key("driver"), ProblemKind::Meaningless { with });
        }
        if !Self::KINDS.iter().any(|key| section.contains(key)) {
            section.expect("interface", "interface = \"veth0\", or pci, vdev or memif instead");
        }
    }

    /// The place of the key that says what the device is.
    pub fn place_of_kind(&self) -> &Place {
        self.first(&Self::KINDS)
    }
}

table! {
    /// One end of a memif.
    MemifDecl {
        /// The socket that both ends name
        socket: At<SocketPath>, required("socket = \"/run/longspan/link.memif\""), restart;
        /// One end is the server, the other the client
        role: At<MemifRole>, required("role = \"server\""), restart;
        /// The number that both ends name
        id: At<u32>, default(0_u32), restart;
    }

    /// A long link behind a port.
    EmulationDecl {
        /// One way
        delay: At<Interval>, within(Interval::ZERO..=LONGEST_DELAY), auto("from the port's `distance`"), restart;
        /// How often a frame is lost
        loss: At<Probability>, default(NEVER), restart;
        /// How often a frame is delivered twice
        duplicate: At<Probability>, default(NEVER), restart;
        /// How often a frame is held back, so that later frames overtake it
        reorder: At<Probability>, default(NEVER), restart;
        /// How long it is held back
        reorder_by: At<Interval>, within(Interval::from_micros(1)..=LONGEST_DELAY), auto("a tenth of the delay, at least 10 us"), restart;
        /// Whether control frames are lost, duplicated and held back too
        control: At<bool>, default(false), restart;
    }
}
