//! Opening the devices of ports.

use std::path::Path;
use std::sync::mpsc::Receiver;

use config::runtime::{Device, DeviceKind, PfcFrames};
use config::{Gateway, MemorySum};
use dpdk::{Claim, Eal, Interface, Opened, PfcPassage, Port, PortSettings, QueuePair};
use replay::capture::{CaptureFile, FrameSource};
use switch::lanes::PairHash;
use units::PortId;

use crate::device::{Supply, WireDevice};
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::line::{Below, DpdkLine, SEEK_SERVER};
use crate::memory::Buffers;
use crate::{RunError, device_mtu, links, memif};

/// The devices of all ports, opened.
pub struct Devices {
    /// What watches them.
    pub lines: Vec<DpdkLine>,
    /// What workers have of them.
    pub parts: Parts,
}

/// The parts of devices that workers have.
pub struct Parts {
    /// By port, one for each lane.
    pub devices: Vec<Vec<WireDevice>>,
    /// By which all of them spread frames over lanes; `None` if one has a way of its own.
    pub hash: Option<PairHash>,
}

/// Opens the devices of all ports, which have the memory of `sum`, and logs them. Each has one part for each lane; those that
/// spread what they receive by a hash do it with `hash`.
///
/// # Errors
/// [`RunError::Device`]: why a port has none.
pub fn open_all(
    eal: &Eal,
    gateway: &Gateway,
    buffers: &Buffers,
    sum: &MemorySum,
    events: &Receiver<Event>,
    hash: PairHash,
) -> Result<Devices, RunError> {
    let few = u32::try_from(sum.kept_free).unwrap_or(u32::MAX);
    let supply = Supply::new(buffers.data.clone(), few);
    let opening = Opening { eal, gateway, buffers, supply, events, hash };
    let (mut lines, mut devices) = (Vec::new(), Vec::new());
    for (port, device) in (0..).map(PortId).zip(gateway.runtime.devices.iter().flatten()) {
        let name = || gateway.program.port(port).name.clone();
        let opened = opening.open(port, device);
        let (line, wire) = opened.map_err(|reason| RunError::Device { port: name(), reason })?;
        lines.push(line);
        devices.push(wire);
    }
    let hash = Some(hash).filter(|_| !lines.iter().any(DpdkLine::parts_hosts));
    let notifies = gateway.program.settings().ports.iter().any(|port| port.flows().is_some());
    if notifies && hash.is_none() && gateway.runtime.dpdk.lanes > 1 {
        tracing::warn!(
            "a device spreads frames over lanes in its own way, so senders are marked and not told"
        );
    }
    Ok(Devices { lines, parts: Parts { devices, hash } })
}

/// What a device is opened with.
struct Opening<'a> {
    eal: &'a Eal,
    gateway: &'a Gateway,
    buffers: &'a Buffers,
    supply: Supply,
    events: &'a Receiver<Event>,
    hash: PairHash,
}

impl Opening<'_> {
    fn open(&self, port: PortId, device: &Device) -> Result<(DpdkLine, Vec<WireDevice>), DeviceError> {
        let (number, port) = (port, self.gateway.program.port(port));
        let below = self.below(number, &device.kind)?;
        let name = self.attach(&device.kind)?;
        let settings = PortSettings {
            // The configuration has at most as many as a port.
            queues: u16::try_from(self.gateway.runtime.dpdk.lanes).unwrap_or(u16::MAX),
            hash: self.hash,
            rx_descriptors: device.receive_descriptors,
            tx_descriptors: device.transmit_descriptors,
            frame_max: port.max_frame + port.added_on_link(),
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
        let Opened { port, rx, tx, others, control } = opened;
        device_mtu::check(self.gateway, number, &port)?;
        let is_endless = matches!(&device.kind, DeviceKind::Virtual(vdev) if links::never_overflows(vdev));
        let wire = |QueuePair { rx, tx }, control| {
            let wire = WireDevice::new(rx, tx, control, self.buffers.control.clone(), self.supply.clone());
            if is_endless { wire.without_ring() } else { wire }
        };
        // The first lane sends the pauses, and so has the control queue.
        let lead = wire(QueuePair { rx, tx }, control);
        let line = DpdkLine::new(port, below, &device.kind, lead.control_queue());
        let others = others.into_iter().map(|pair| wire(pair, None));
        Ok((line, [lead].into_iter().chain(others).collect()))
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
        self.eal.attach(&links::with_queues(vdev, self.gateway.runtime.dpdk.lanes))?;
        Ok(vdev.split(',').next().unwrap_or(vdev))
    }
}

/// Waits a little for the server of a memif; returns false if the gateway should end. There is no overall
/// limit: the other gateway may start at any time, and systemd has its own limit.
fn await_server(port: &str, device: &str, events: &Receiver<Event>) -> bool {
    tracing::info!("port {port}: {device} is waiting for its memif server");
    !matches!(events.recv_timeout(SEEK_SERVER), Ok(Event::Terminate))
}

/// Logs a port's device and whether PFC works on it; an error if PFC is required and known not to work.
fn introduce(name: &str, opened: &Opened, pfc_frames: PfcFrames) -> Result<(), DeviceError> {
    let port = &opened.port;
    let queues = match opened.others.len() {
        0 => String::new(),
        others => format!(", {} queues each way", others + 1),
    };
    let control = if opened.control.is_some() { ", with a transmit queue for control frames" } else { "" };
    tracing::info!("port {name}: {} ({}), {}{queues}{control}", port.name(), port.driver(), port.mac());
    let Some(doubt) = doubt(port.pfc_passage(), pfc_frames)? else {
        tracing::info!("port {name}: the device passes PFC frames in both directions");
        return Ok(());
    };
    tracing::warn!("port {name}: {doubt}");
    match port.pauses_counted() {
        Some(_) => tracing::info!(
            "port {name}: the device counts the pauses that it receives; if it keeps one to itself, a warning says so"
        ),
        None => tracing::warn!(
            "port {name}: the device does not count the pauses that it receives, so no one notices if it keeps them to itself"
        ),
    }
    Ok(())
}

/// Why PFC may not work on a device; an error if it is known not to work where it is required. What is unknown shows while the
/// gateway runs ([`crate::kept_pauses`]).
fn doubt(passage: PfcPassage, pfc_frames: PfcFrames) -> Result<Option<String>, DeviceError> {
    match passage {
        PfcPassage::Passes => Ok(None),
        PfcPassage::Unknown(why) => Ok(Some(format!("unknown whether the device passes PFC frames: {why}"))),
        PfcPassage::Blocked(why) => {
            let doubt =
                format!("the device does not pass PFC frames, so no priority is lossless here: {why}");
            match pfc_frames {
                PfcFrames::Require => Err(DeviceError::Pfc(doubt)),
                PfcFrames::Warn => Ok(Some(doubt)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// The drivers of the cards that shipped files are for. A file with a PCI address has to be in this list.
    const CARDS: [(&str, &str); 1] = [("wire-e810.toml", "net_ice")];

    /// The configurations of gateways that are shipped, as examples or in the package.
    fn shipped() -> Vec<PathBuf> {
        let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let folders = ["gateways", "lab", "systemd"].map(|folder| config.join(folder));
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let files = files.map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
    }

    fn driver(file: &str, device: &DeviceKind) -> String {
        match device {
            DeviceKind::Pci(_) => {
                let card = CARDS.iter().find(|(name, _)| *name == file);
                card.unwrap_or_else(|| panic!("the driver of the card of {file}")).1.to_owned()
            }
            DeviceKind::Virtual(vdev) => {
                let name = vdev.split(',').next().unwrap();
                name.trim_end_matches(|it: char| it.is_ascii_digit()).to_owned()
            }
        }
    }

    #[test]
    fn every_shipped_configuration_starts_on_its_device_as_far_as_pfc_is_concerned() {
        let mut required = 0;
        for path in shipped() {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let gateway = config::load(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
            for device in gateway.runtime.devices.iter().flatten() {
                let passage = dpdk::pfc_passage(&driver(&file, &device.kind));
                let judged = doubt(passage, device.pfc_frames);
                assert!(judged.is_ok(), "{file}: {}", judged.unwrap_err());
                required += usize::from(device.pfc_frames == PfcFrames::Require);
            }
        }
        assert!(required > 0, "no file requires PFC, so none could be refused");
    }

    #[test]
    fn required_pfc_refuses_a_device_that_is_known_to_block_it_and_no_other() {
        let judge = |passage| doubt(passage, PfcFrames::Require);
        assert!(matches!(judge(PfcPassage::Passes), Ok(None)));
        assert!(
            matches!(judge(PfcPassage::Unknown("it is new")), Ok(Some(doubt)) if doubt.contains("it is new"))
        );
        assert!(matches!(judge(PfcPassage::Blocked("a filter")), Err(DeviceError::Pfc(_))));
        assert!(matches!(doubt(PfcPassage::Blocked("a filter"), PfcFrames::Warn), Ok(Some(_))));
    }
}
