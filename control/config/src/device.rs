//! Devices of ports: how DPDK spells them, and that no two are the same.

use switch::program::PortSettings;
use units::Bytes;

use crate::build::or;
use crate::defaults;
use crate::memory::{self, Layout};
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Problems};
use crate::runtime::{Device, DeviceKind};
use crate::schema::{DeviceDecl, Document, KindDecl, MemifDecl};
use crate::value::{Driver, InterfaceName, MemifRole, RingSize, name_of};

/// The device of each port.
pub(crate) fn build(
    document: &Document,
    ports: &[PortSettings],
    cores: &[usize],
    problems: &Problems<'_>,
) -> Vec<Option<Device>> {
    let devices = document.ports.iter().zip(ports).enumerate().map(|(index, (decl, port))| {
        let decl = decl.device.as_ref()?;
        if let Some(core) = decl.core.as_ref().filter(|it| !cores.is_empty() && !cores.contains(&it.value.0))
        {
            let cores = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            problems.error(&core.place, ProblemKind::CoreUnlisted { core: core.value.0, cores });
        }
        device(index, decl, port)
    });
    let devices: Vec<_> = devices.collect();
    refuse_second_devices(document, problems);
    refuse_long_mbufs(document, &devices, ports, problems);
    devices
}

fn device(index: usize, decl: &DeviceDecl, port: &PortSettings) -> Option<Device> {
    let ring = |at: &Option<At<RingSize>>| at.as_ref().map_or(defaults::DESCRIPTORS, |size| size.value.0);
    let receive_descriptors = ring(&decl.receive_descriptors);
    Some(Device {
        kind: spelled(index, &decl.kind.as_ref()?.value, receive_descriptors, port.max_frame),
        core: decl.core.as_ref().map(|core| core.value.0),
        receive_descriptors,
        transmit_descriptors: ring(&decl.transmit_descriptors),
        pfc_frames: or(&decl.pfc_frames, Default::default()),
    })
}

/// As DPDK has it. Its own devices are named after the number of the port.
fn spelled(index: usize, kind: &KindDecl, descriptors: u16, max_frame: Bytes) -> DeviceKind {
    match kind {
        KindDecl::Pci(address) => DeviceKind::Pci(address.0.clone()),
        KindDecl::Virtual(vdev) => DeviceKind::Virtual(vdev.0.clone()),
        KindDecl::Interface(InterfaceName(interface), Driver::AfPacket) => {
            // Its default of 2 KiB truncates longer frames.
            let slot = memory::packet_slot(max_frame);
            // The least that both slots and pages fill.
            let block = slot << memory::PAGE.0.trailing_zeros().saturating_sub(slot.trailing_zeros());
            DeviceKind::Virtual(format!(
                "net_af_packet{index},iface={interface},framesz={slot},blocksz={block},framecnt={descriptors}"
            ))
        }
        KindDecl::Interface(InterfaceName(interface), Driver::AfXdp) => {
            DeviceKind::Virtual(format!("net_af_xdp{index},iface={interface}"))
        }
        KindDecl::Memif(MemifDecl { socket, role, id }) => {
            let role = match role {
                MemifRole::Server => "server",
                MemifRole::Client => "client",
            };
            // It takes the size of its rings as an exponent, up to 14.
            let ring = descriptors.ilog2().min(14);
            let buffer = memory::segment(max_frame);
            DeviceKind::Virtual(format!(
                "net_memif{index},role={role},id={id},socket={},socket-abstract=no,rsize={ring},bsize={}",
                socket.0.display(),
                buffer.0
            ))
        }
    }
}

/// What a device must not share with another, in words.
fn identities(index: usize, kind: &KindDecl) -> Vec<String> {
    let vdev = |name: &str| format!("the device {name}");
    match kind {
        KindDecl::Pci(address) => vec![vdev(&address.0)],
        KindDecl::Virtual(it) => vec![vdev(name_of(&it.0))],
        KindDecl::Interface(InterfaceName(interface), driver) => {
            let driver = match driver {
                Driver::AfPacket => "net_af_packet",
                Driver::AfXdp => "net_af_xdp",
            };
            vec![vdev(&format!("{driver}{index}")), format!("the interface {interface}")]
        }
        KindDecl::Memif(MemifDecl { socket, id, .. }) => {
            let link = format!("memif {id} of {}", socket.0.display());
            vec![vdev(&format!("net_memif{index}")), link]
        }
    }
}

fn refuse_second_devices(document: &Document, problems: &Problems<'_>) {
    let mut known: Vec<(String, &Place)> = Vec::new();
    for (index, port) in document.ports.iter().enumerate() {
        let Some(At { value, place }) = port.device.as_ref().and_then(|device| device.kind.as_ref()) else {
            continue;
        };
        for what in identities(index, value) {
            match known.iter().find(|(other, _)| *other == what) {
                Some((_, first)) => {
                    problems.error(place, ProblemKind::Twice { what, line: problems.line(first) });
                }
                None => known.push((what, place)),
            }
        }
    }
}

/// AF_XDP keeps a whole mbuf in one page, and all ports share a pool of mbufs.
fn refuse_long_mbufs(
    document: &Document,
    devices: &[Option<Device>],
    ports: &[PortSettings],
    problems: &Problems<'_>,
) {
    let mbuf = Layout::new(ports, devices).whole();
    let Some(longest) = ports.iter().max_by_key(|port| port.max_frame) else { return };
    for (decl, device) in document.ports.iter().zip(devices) {
        let af_xdp = device.as_ref().is_some_and(Device::is_af_xdp);
        let place = decl.device.as_ref().and_then(|device| Some(&device.kind.as_ref()?.place));
        if let (true, Some(place)) = (af_xdp && mbuf > memory::PAGE, place) {
            let (port, frame, page) = (longest.name.clone(), longest.max_frame, memory::PAGE);
            problems.error(place, ProblemKind::LongMbuf { port, frame, mbuf, page });
        }
    }
}
