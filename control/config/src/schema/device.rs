//! `[port.device]`.

use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::runtime::PfcFrames;
use crate::value::{Core, Driver, InterfaceName, MemifRole, PciAddress, RingSize, SocketPath, VirtualDevice};

/// The device of a port.
#[derive(Clone)]
pub(crate) struct DeviceDecl {
    /// From `pci`, `vdev`, `interface` and `driver`, or `memif`.
    pub kind: Option<At<KindDecl>>,
    pub core: Option<At<Core>>,
    pub receive_descriptors: Option<At<RingSize>>,
    pub transmit_descriptors: Option<At<RingSize>>,
    pub pfc_frames: Option<At<PfcFrames>>,
}

/// What a device is.
#[derive(Clone)]
pub(crate) enum KindDecl {
    Pci(PciAddress),
    Virtual(VirtualDevice),
    Interface(InterfaceName, Driver),
    Memif(MemifDecl),
}

/// `memif` of `[port.device]`.
#[derive(Clone)]
pub(crate) struct MemifDecl {
    pub socket: SocketPath,
    pub role: MemifRole,
    pub id: u32,
}

impl DeviceDecl {
    pub fn read(device: &mut Section<'_, '_>) -> Self {
        Self {
            kind: kind(device),
            core: device.optional("core"),
            receive_descriptors: device.optional("receive_descriptors"),
            transmit_descriptors: device.optional("transmit_descriptors"),
            pfc_frames: device.optional("pfc_frames"),
        }
    }
}

/// One of the four; a second is an error, and so is none.
fn kind(device: &mut Section<'_, '_>) -> Option<At<KindDecl>> {
    const KEYS: [&str; 4] = ["pci", "vdev", "interface", "memif"];
    let given: Vec<_> = KEYS.into_iter().filter(|key| device.contains(key)).collect();
    if let [other, second, ..] = given[..] {
        device.problems.error(&device.place_of_key(second), ProblemKind::Conflict { other });
    }
    let pci = device.optional("pci").map(|it| it.map(KindDecl::Pci));
    let vdev = device.optional("vdev").map(|it| it.map(KindDecl::Virtual));
    let interface = device.optional::<InterfaceName>("interface");
    let driver = device.optional::<Driver>("driver");
    if let (Some(driver), false) = (&driver, given.contains(&"interface")) {
        let with = "a device that is no interface";
        device.problems.error(&driver.place, ProblemKind::Meaningless { with });
    }
    let driver = driver.map(|driver| driver.value).unwrap_or_default();
    let interface = interface.map(|it| it.map(|name| KindDecl::Interface(name, driver)));
    let memif = memif(device);
    if given.is_empty() {
        device.expect("interface", "interface = \"veth0\", or in its place pci, vdev or memif");
    }
    pci.or(vdev).or(interface).or(memif)
}

fn memif(device: &mut Section<'_, '_>) -> Option<At<KindDecl>> {
    let read = |memif: &mut Section<'_, '_>| {
        let place: Place = memif.place.clone();
        let socket = memif.required::<SocketPath>("socket", "socket = \"/run/longspan/link.memif\"");
        let role = memif.required::<MemifRole>("role", "role = \"server\"");
        let id = memif.optional("id").map_or(0, |id| id.value);
        let value = KindDecl::Memif(MemifDecl { socket: socket?.value, role: role?.value, id });
        Some(At { value, place })
    };
    device.table("memif", read).flatten()
}
