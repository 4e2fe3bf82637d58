//! Settings of `longspan run` beside those of the switch: devices, cores, emulated links, the control socket.

use core::net::SocketAddr;
use std::path::PathBuf;

use units::{Bytes, Interval, PortId, PortSet};

use crate::keys::running::{ControlDecl, DpdkDecl, ProcessDecl};
use crate::machine::{Account, Argument, Core, FilePrefix, Permissions, SocketPath};
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::{at, list, values};
use crate::value::Length;

pub use crate::machine::{Hugepages, Idle, PfcFrames, Privileges};

/// The settings of a file that only a running gateway needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// `[dpdk]`.
    pub dpdk: Dpdk,
    /// `[control]`.
    pub control: Control,
    /// `[process]`.
    pub process: Process,
    /// `[port.device]` of each port; `None` if the port has no device and cannot run.
    pub devices: Vec<Option<Device>>,
    /// `[port.emulation]` of each port.
    pub emulations: Vec<Option<Emulation>>,
    /// `[kernel]`, if there is one.
    pub kernel: Option<Kernel>,
}

/// `[kernel]`: the kernel that speaks for the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// `namespace`: the network namespace of its TAPs, a name or a path; if `None`, the gateway's own.
    pub namespace: Option<String>,
    /// The TAPs, in the order of ports.
    pub taps: Vec<KernelTap>,
}

/// The TAP of a port or of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTap {
    /// Its name: that of the port or of the bundle.
    pub name: String,
    /// The port, or the first member of the bundle.
    pub port: PortId,
    /// The port alone, or the members of the bundle.
    pub members: PortSet,
    /// `least`: it has a carrier while so many of them carry data.
    pub least: usize,
    /// `learn`: whether neighbours that the kernel has found by itself are taken.
    pub learns: bool,
}

/// `[dpdk]`: the environment of all devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dpdk {
    /// `hugepages`: the source of the memory.
    pub hugepages: Hugepages,
    /// `cores`: the worker cores; if empty, the gateway chooses them.
    pub cores: Vec<usize>,
    /// `lanes`: the number of cores that serve every port together, 1 to 16; with one, a port has one core.
    pub lanes: usize,
    /// `idle`: what an idle worker does.
    pub idle: Idle,
    /// `file_prefix`: the prefix of DPDK's files, which distinguishes processes; by default the gateway's name.
    pub file_prefix: String,
    /// `arguments`: further arguments of EAL, passed on unchanged.
    pub arguments: Vec<String>,
    /// `pack_below`: while many frames wait, frames shorter than this share mbufs, and longer ones keep mbufs of
    /// their own. In bytes without FCS; by default three quarters of the memory of an mbuf.
    pub pack_below: Option<Bytes>,
}

/// `[port.device]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The device itself.
    pub kind: DeviceKind,
    /// `core`: the worker core of the port; if `None`, the gateway chooses it.
    pub core: Option<usize>,
    /// `receive_descriptors`: the number of descriptors of its receive ring.
    pub receive_descriptors: u16,
    /// `transmit_descriptors`: the number of descriptors of each of its transmit rings.
    pub transmit_descriptors: u16,
    /// `pfc_frames`: what to do if the device is known not to deliver or transmit PFC frames.
    pub pfc_frames: PfcFrames,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// `pci = "0000:3b:00.0"`: a network card.
    Pci(String),
    /// `vdev = "net_af_packet0,iface=veth0"`: a virtual device, as DPDK's `--vdev` takes it.
    Virtual(String),
}

/// `[port.emulation]`: an emulated long link for the frames that leave through the port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emulation {
    /// `delay`: one way; by default that of the port's `distance`.
    pub delay: Interval,
    /// `loss`: the probability that a frame is lost, 0 to 1.
    pub loss: f64,
    /// `duplicate`: the probability that a frame is delivered twice, 0 to 1.
    pub duplicate: f64,
    /// `reorder`: the probability that a frame is held back, 0 to 1.
    pub reorder: f64,
    /// `reorder_by`: how long a frame is held back.
    pub reorder_by: Interval,
    /// `control`: whether control frames are lost, duplicated and held back too. They are always delayed.
    pub control: bool,
}

/// `[control]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// `socket`: the Unix socket of `longspan show` and `reload`; default `/run/longspan/NAME.sock`.
    pub socket: PathBuf,
    /// `mode`: its permissions; default 0o660.
    pub mode: u32,
    /// `group`: the group that owns the socket; if `None`, the gateway's own.
    pub group: Option<String>,
    /// `metrics`: the address that serves `/metrics` to Prometheus; `None` serves none.
    pub metrics: Option<SocketAddr>,
    /// `dpdk_telemetry`: whether there is a DPDK telemetry socket with the figures of the gateway; default `false`.
    pub dpdk_telemetry: bool,
    /// `stall`: a worker that ends no turn for this long is reported; default 100 ms.
    pub stall: Interval,
    /// `drain`: how long frames may still leave after SIGTERM; default 1 s.
    pub drain: Interval,
    /// `repeat`: the least time between two warnings about a port that does not cover its late worker; default 60 s.
    pub repeat: Interval,
    /// `events`: the number of events of each kind that are kept; default 4,096. With 0, none are recorded.
    pub events: usize,
}

/// `[process]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// `user`: the account that a gateway started as root changes to; if `None`, `longspan` where it exists.
    pub user: Option<String>,
    /// `privileges`: what happens to the privileges that only the start needs.
    pub privileges: Privileges,
}

impl Device {
    /// Whether it is a kernel interface behind AF_XDP, which needs more room in each mbuf.
    pub(crate) fn is_af_xdp(&self) -> bool {
        self.vdev_of("net_af_xdp").is_some()
    }

    /// The slot size of its rings in bytes, if it is a kernel interface behind af_packet.
    pub(crate) fn packet_slot(&self) -> Option<u64> {
        /// The default of DPDK's driver.
        const DEFAULT: u64 = 2_048;
        let mut arguments = self.vdev_of("net_af_packet")?.split(',');
        let slot = arguments.find_map(|argument| argument.strip_prefix("framesz="));
        // DPDK refuses a slot that is not a size, or is too large.
        let valid = |slot: &u64| (DEFAULT..=1 << 16).contains(slot);
        Some(slot.and_then(|slot| slot.parse().ok()).filter(valid).unwrap_or(DEFAULT))
    }

    /// The arguments of the virtual device, if `driver` drives it.
    fn vdev_of(&self, driver: &str) -> Option<&str> {
        match &self.kind {
            DeviceKind::Virtual(vdev) => Some(vdev.as_str()).filter(|vdev| vdev.starts_with(driver)),
            DeviceKind::Pci(_) => None,
        }
    }
}

/// Builds the settings of `[dpdk]`.
pub(crate) fn dpdk(decl: &DpdkDecl, name: &str) -> Dpdk {
    let prefix = decl.file_prefix.as_ref().map(|prefix| prefix.value.clone());
    Dpdk {
        hugepages: decl.hugepages(),
        cores: values(&decl.cores).map(|core| core.value.0).collect(),
        lanes: decl.lanes().into(),
        idle: decl.idle(),
        file_prefix: prefix.unwrap_or_else(|| FilePrefix::of_gateway(name)).0,
        arguments: values(&decl.arguments).map(|it| it.value.0.clone()).collect(),
        pack_below: decl.pack_below.as_ref().map(|length| length.value.0),
    }
}

/// The keys from which [`dpdk`] builds the same settings.
pub(crate) fn dpdk_in_force(dpdk: &Dpdk) -> DpdkDecl {
    DpdkDecl {
        hugepages: at(dpdk.hugepages),
        cores: list(dpdk.cores.iter().copied().map(Core)),
        lanes: at(u8::try_from(dpdk.lanes).unwrap_or(u8::MAX)),
        idle: at(dpdk.idle),
        file_prefix: at(FilePrefix(dpdk.file_prefix.clone())),
        arguments: list(dpdk.arguments.iter().cloned().map(Argument)),
        pack_below: dpdk.pack_below.and_then(|length| at(Length(length))),
        place: Place::default(),
    }
}

/// Builds the settings of `[control]`.
pub(crate) fn control(decl: &ControlDecl, name: &str, problems: &Problems<'_>) -> Control {
    if let Some(mode) = decl.mode.as_ref().filter(|mode| mode.value.0 & 0o002 != 0) {
        problems.warning(&mode.place, ProblemKind::OpenSocket { mode: mode.value.0 });
    }
    let metrics = decl.metrics();
    if let (Some(stated), Some(address)) = (&decl.metrics, metrics)
        && !address.ip().is_loopback()
    {
        problems.warning(&stated.place, ProblemKind::OpenMetrics { address });
    }
    let socket = decl.socket.as_ref().map(|socket| socket.value.0.clone());
    let unstated = || PathBuf::from(format!("/run/longspan/{}.sock", FilePrefix::of_gateway(name).0));
    Control {
        socket: socket.unwrap_or_else(unstated),
        mode: decl.mode().0,
        group: decl.group.as_ref().map(|group| group.value.0.clone()),
        metrics,
        dpdk_telemetry: decl.dpdk_telemetry(),
        stall: decl.stall(),
        drain: decl.drain(),
        repeat: decl.repeat(),
        events: decl.events() as usize,
    }
}

/// The keys from which [`control`] builds the same settings.
pub(crate) fn control_in_force(control: &Control) -> ControlDecl {
    ControlDecl {
        socket: at(SocketPath(control.socket.clone())),
        mode: at(Permissions(control.mode)),
        group: control.group.clone().and_then(|group| at(Account(group))),
        metrics: at(control.metrics),
        dpdk_telemetry: at(control.dpdk_telemetry),
        stall: at(control.stall),
        drain: at(control.drain),
        repeat: at(control.repeat),
        events: at(u32::try_from(control.events).unwrap_or(u32::MAX)),
        place: Place::default(),
    }
}

/// Builds the settings of `[process]`.
pub(crate) fn process(decl: &ProcessDecl, problems: &Problems<'_>) -> Process {
    let privileges = decl.privileges();
    if let (Privileges::Keep, Some(stated)) = (privileges, &decl.privileges) {
        problems.warning(&stated.place, ProblemKind::PrivilegesKept);
    }
    Process { user: decl.user.as_ref().map(|user| user.value.0.clone()), privileges }
}

/// The keys from which [`process`] builds the same settings.
pub(crate) fn process_in_force(process: &Process) -> ProcessDecl {
    ProcessDecl {
        user: process.user.clone().and_then(|user| at(Account(user))),
        privileges: at(process.privileges),
        place: Place::default(),
    }
}
