//! Opening the devices of ports.

use std::path::Path;
use std::sync::mpsc::Receiver;

use config::runtime::{Device, DeviceKind, PfcFrames};
use config::{Gateway, MemorySum};
use dpdk::{Claim, Eal, Interface, Opened, PfcPassage, Port, PortSettings};
use replay::capture::{CaptureFile, FrameSource};
use units::PortId;

use crate::device::{Supply, WireDevice};
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::line::{Below, DpdkLine, SEEK_SERVER};
use crate::memory::Buffers;
use crate::{RunError, device_mtu, links, memif};

/// Opens the devices of all ports, which have the memory of `sum`, and logs them.
///
/// # Errors
/// [`RunError::Device`]: why a port has none.
pub fn open_all(
    eal: &Eal,
    gateway: &Gateway,
    buffers: &Buffers,
    sum: &MemorySum,
    events: &Receiver<Event>,
) -> Result<(Vec<DpdkLine>, Vec<WireDevice>), RunError> {
    let few = u32::try_from(sum.kept_free).unwrap_or(u32::MAX);
    let supply = Supply::new(buffers.data.clone(), few);
    let opening = Opening { eal, gateway, buffers, supply, events };
    let (mut lines, mut devices) = (Vec::new(), Vec::new());
    for (port, device) in (0..).map(PortId).zip(gateway.runtime.devices.iter().flatten()) {
        let name = || gateway.program.port(port).name.clone();
        let opened = opening.open(port, device);
        let (line, wire) = opened.map_err(|reason| RunError::Device { port: name(), reason })?;
        lines.push(line);
        devices.push(wire);
    }
    Ok((lines, devices))
}

/// What a device is opened with.
struct Opening<'a> {
    eal: &'a Eal,
    gateway: &'a Gateway,
    buffers: &'a Buffers,
    supply: Supply,
    events: &'a Receiver<Event>,
}

impl Opening<'_> {
    fn open(&self, port: PortId, device: &Device) -> Result<(DpdkLine, WireDevice), DeviceError> {
        let (number, port) = (port, self.gateway.program.port(port));
        let below = self.below(number, &device.kind)?;
        let name = self.attach(&device.kind)?;
        let settings = PortSettings {
            rx_descriptors: device.receive_descriptors,
            tx_descriptors: device.transmit_descriptors,
            frame_max: port.max_frame,
            ..PortSettings::new(&self.buffers.data)
        };
        let opened = match memif::is_client(&device.kind) {
            true => Port::configure_when_it_starts(name, &settings, |_| {
                await_server(&port.name, name, self.events)
            }),
            false => Port::configure(name, &settings),
        };
        let opened = opened?;
        introduce(&port.name, &opened, device.pfc_frames)?;
        let Opened { port, rx, tx, control } = opened;
        device_mtu::check(self.gateway, number, &port)?;
        let wire = WireDevice::new(rx, tx, control, self.buffers.control.clone(), self.supply.clone());
        let is_endless = matches!(&device.kind, DeviceKind::Virtual(vdev) if links::never_overflows(vdev));
        let wire = if is_endless { wire.without_ring() } else { wire };
        Ok((DpdkLine::new(port, below, &device.kind, wire.control_queue()), wire))
    }

    /// The interface of the kernel below a device of `port`, claimed, with an MTU for its frames.
    fn below(&self, port: PortId, kind: &DeviceKind) -> Result<Option<Below>, DeviceError> {
        let DeviceKind::Virtual(vdev) = kind else { return Ok(None) };
        let receiving = links::receiving_interface(vdev).map(|name| self.claim(port, name)).transpose()?;
        let Some(name) = links::interface(vdev) else { return Ok(receiving) };
        let below = self.claim(port, name)?;
        let claims = below.claims.into_iter().chain(receiving.into_iter().flat_map(|it| it.claims)).collect();
        Ok(Some(Below { claims, ..below }))
    }

    fn claim(&self, port: PortId, name: &str) -> Result<Below, DeviceError> {
        let interface = Interface::named(name).map_err(DeviceError::Socket)?;
        if !interface.exists() {
            return Err(DeviceError::NoInterface(name.into()));
        }
        let claim = Claim::interface(Path::new(Claim::DIRECTORY), name);
        let claim = claim.ok_or_else(|| DeviceError::InterfaceInUse(name.into()))?;
        device_mtu::raise(self.gateway, port, &interface)?;
        Ok(Below { interface, claims: vec![claim] })
    }

    /// Makes a virtual device. Returns the name of the device.
    fn attach<'a>(&self, kind: &'a DeviceKind) -> Result<&'a str, DeviceError> {
        let vdev = match kind {
            DeviceKind::Pci(address) => return Ok(address),
            DeviceKind::Virtual(vdev) => vdev,
        };
        memif::remove_dead_socket(kind).map_err(DeviceError::DeadSocket)?;
        if let Some(capture) = links::capture(vdev) {
            // Of pcapng, the type of a link is known only at the first frame.
            CaptureFile::open(capture)?.advance()?;
        }
        self.eal.attach(vdev)?;
        Ok(vdev.split(',').next().unwrap_or(vdev))
    }
}

/// Waits a little for the server of a memif; returns false if the gateway should end. There is no overall
/// limit: the other gateway may start at any time, and systemd has its own limit.
fn await_server(port: &str, device: &str, events: &Receiver<Event>) -> bool {
    tracing::info!("port {port}: {device} is waiting for its memif server");
    !matches!(events.recv_timeout(SEEK_SERVER), Ok(Event::Terminate))
}

/// Logs a port's device and whether PFC works on it; an error if PFC is required and not known to work.
fn introduce(name: &str, opened: &Opened, pfc_frames: PfcFrames) -> Result<(), DeviceError> {
    let port = &opened.port;
    let queues = if opened.control.is_some() { ", with a transmit queue for control frames" } else { "" };
    tracing::info!("port {name}: {} ({}), {}{queues}", port.name(), port.driver(), port.mac());
    let doubt = match port.pfc_passage() {
        PfcPassage::Passes => {
            tracing::info!("port {name}: the device passes PFC frames in both directions");
            return Ok(());
        }
        PfcPassage::Unknown(why) => format!("unknown whether the device passes PFC frames: {why}"),
        PfcPassage::Blocked(why) => {
            format!("the device does not pass PFC frames, so no priority is lossless here: {why}")
        }
    };
    if pfc_frames == PfcFrames::Require {
        return Err(DeviceError::Pfc(doubt));
    }
    tracing::warn!("port {name}: {doubt}");
    Ok(())
}
