//! Builds the devices of ports as DPDK names them, and refuses conflicting ones.

use switch::program::PortSettings;
use units::Bytes;

use crate::keys::document::Document;
use crate::keys::running::{DeviceDecl, MemifDecl};
use crate::machine::{Core, Driver, MemifRole, PciAddress, RingSize, VirtualDevice, name_of};
use crate::memory::{self, Layout};
use crate::notes::Problems;
use crate::problem::ProblemKind;
use crate::runtime::{Device, DeviceKind, Dpdk};
use crate::table::at;

/// The device of each port.
pub(crate) fn build(
    document: &Document,
    ports: &[PortSettings],
    dpdk: &Dpdk,
    problems: &Problems<'_>,
) -> Vec<Option<Device>> {
    let Dpdk { cores, lanes, .. } = dpdk;
    let devices = document.ports().iter().zip(ports).enumerate().map(|(index, (decl, port))| {
        let decl = decl.device.as_ref()?;
        if let (Some(core), 2..) = (&decl.core, *lanes) {
            let with = format!("dpdk.lanes = {lanes}, as every lane serves every port");
            problems.error(&core.place, ProblemKind::Meaningless { with });
        } else if let Some(core) =
            decl.core.as_ref().filter(|it| !cores.is_empty() && !cores.contains(&it.value.0))
        {
            let cores = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            problems.error(&core.place, ProblemKind::CoreUnlisted { core: core.value.0, cores });
        }
        device(index, decl, port)
    });
    let devices: Vec<_> = devices.collect();
    refuse_second_devices(document, &devices, problems);
    refuse_long_mbufs(document, &devices, ports, problems);
    devices
}

fn device(index: usize, decl: &DeviceDecl, port: &PortSettings) -> Option<Device> {
    Some(Device {
        kind: spelled(index, decl, port.max_frame + port.added_on_link())?,
        core: decl.core.as_ref().map(|core| core.value.0),
        receive_descriptors: decl.receive_descriptors().0,
        transmit_descriptors: decl.transmit_descriptors().0,
        pfc_frames: decl.pfc_frames(),
    })
}

/// The keys from which [`build`] builds the same device.
pub(crate) fn in_force(device: &Device) -> DeviceDecl {
    let (pci, vdev) = match &device.kind {
        DeviceKind::Pci(address) => (at(PciAddress(address.clone())), None),
        DeviceKind::Virtual(vdev) => (None, at(VirtualDevice(vdev.clone()))),
    };
    DeviceDecl {
        pci,
        vdev,
        core: device.core.and_then(|core| at(Core(core))),
        receive_descriptors: at(RingSize(device.receive_descriptors)),
        transmit_descriptors: at(RingSize(device.transmit_descriptors)),
        pfc_frames: at(device.pfc_frames),
        ..Default::default()
    }
}

/// The device in DPDK's notation. Devices that DPDK creates are named after the number of the port.
fn spelled(index: usize, decl: &DeviceDecl, max_frame: Bytes) -> Option<DeviceKind> {
    let descriptors = decl.receive_descriptors().0;
    if let Some(address) = &decl.pci {
        return Some(DeviceKind::Pci(address.value.0.clone()));
    }
    if let Some(vdev) = &decl.vdev {
        return Some(DeviceKind::Virtual(vdev.value.0.clone()));
    }
    let interface = decl.interface.as_ref().map(|interface| &interface.value.0);
    Some(DeviceKind::Virtual(match (interface, decl.driver()) {
        (Some(interface), Driver::AfPacket) => af_packet(index, interface, max_frame, descriptors),
        (Some(interface), Driver::AfXdp) => format!("net_af_xdp{index},iface={interface}"),
        (None, _) => {
            let (socket, role, id) = memif(decl.memif.as_ref()?)?;
            let role = match role {
                MemifRole::Server => "server",
                MemifRole::Client => "client",
            };
            // The driver takes the size of its rings as an exponent, up to 14.
            let ring = descriptors.ilog2().min(14);
            let buffer = memory::segment(max_frame);
            format!(
                "net_memif{index},role={role},id={id},socket={socket},socket-abstract=no,rsize={ring},bsize={}",
                buffer.0
            )
        }
    }))
}

/// The device number `index` of DPDK for an interface of the kernel, in DPDK's notation.
pub fn af_packet(index: usize, interface: &str, max_frame: Bytes, descriptors: u16) -> String {
    // The default slot of 2 KiB truncates longer frames.
    let slot = memory::packet_slot(max_frame);
    // The smallest block of whole slots and whole pages.
    let block = slot << memory::PAGE.0.trailing_zeros().saturating_sub(slot.trailing_zeros());
    format!("net_af_packet{index},iface={interface},framesz={slot},blocksz={block},framecnt={descriptors}")
}

/// The socket, role and number of a memif.
fn memif(decl: &MemifDecl) -> Option<(String, MemifRole, u32)> {
    Some((decl.socket.as_ref()?.value.0.display().to_string(), decl.role.as_ref()?.value, decl.id()))
}

/// The resources, in words, that no other device may use.
fn identities(device: &Device, decl: &DeviceDecl) -> impl Iterator<Item = String> {
    let (DeviceKind::Pci(name) | DeviceKind::Virtual(name)) = &device.kind;
    let interface = decl.interface.as_ref().map(|it| format!("the interface {}", it.value.0));
    let memif = decl.memif.as_ref().and_then(memif);
    let memif = memif.map(|(socket, _, id)| format!("memif {id} of {socket}"));
    [Some(format!("the device {}", name_of(name))), interface, memif].into_iter().flatten()
}

fn refuse_second_devices(document: &Document, devices: &[Option<Device>], problems: &Problems<'_>) {
    let devices = document.ports().iter().zip(devices);
    let devices = devices.filter_map(|(port, device)| Some((port.device.as_ref()?, device.as_ref()?)));
    let identified = devices
        .flat_map(|(decl, device)| identities(device, decl).map(move |what| (decl.place_of_kind(), what)));
    problems.refuse_second(identified);
}

/// Refuses mbufs that are too long for AF_XDP, which keeps each in one page. All ports share a pool of mbufs.
fn refuse_long_mbufs(
    document: &Document,
    devices: &[Option<Device>],
    ports: &[PortSettings],
    problems: &Problems<'_>,
) {
    let mbuf = Layout::new(ports, devices).whole();
    let Some(longest) = ports.iter().max_by_key(|port| port.max_frame) else { return };
    for (decl, device) in document.ports().iter().zip(devices) {
        let af_xdp = device.as_ref().is_some_and(Device::is_af_xdp);
        let place = decl.device.as_ref().map(DeviceDecl::place_of_kind);
        if let (true, Some(place)) = (af_xdp && mbuf > memory::PAGE, place) {
            let (port, frame, page) = (longest.name.clone(), longest.max_frame, memory::PAGE);
            problems.error(place, ProblemKind::LongMbuf { port, frame, mbuf, page });
        }
    }
}
