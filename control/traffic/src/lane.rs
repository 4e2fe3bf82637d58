//! Devices with their queues.

use crate::device::{DeviceError, DeviceName};
use crate::interfaces::{self, LinkState};
use crate::player::Player;
use crate::replayer::Replayer;
use dpdk::{
    BURST, Claim, Eal, EalOptions, Mbuf, Memory, Opened, Pool, PoolSettings, Port, PortSettings, RxQueue,
    TxQueue,
};
use replay::capture::FrameSource;
use std::path::Path;
use std::process;
use switch::Frame;
use units::{BitRate, Bytes, Nanos};

/// The mbufs of a port: both rings, and what waits.
const MBUFS: u32 = 4_095;
/// The descriptors of an interface's ring.
const RING: u16 = 1_024;

/// Why hosts cannot be played on ports.
#[derive(Debug, thiserror::Error)]
pub enum PortsError {
    /// DPDK does not start.
    #[error("{0}")]
    Eal(#[from] dpdk::EalError),
    /// There is no memory for frames.
    #[error("{0}")]
    Pool(#[from] dpdk::PoolError),
    /// A device cannot be used.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// A capture cannot be played.
    #[error("{0}")]
    Capture(#[from] replay::capture::CaptureError),
    /// The time stamp counter is no clock.
    #[error("{0}")]
    Clock(#[from] dpdk::CalibrationError),
}

/// What sends and receives at a device.
pub(crate) trait Station {
    /// Takes a frame, without FCS.
    fn arrive(&mut self, now: Nanos, frame: &[u8]);

    /// Gives `out` the frames that are due.
    fn send(&mut self, now: Nanos, out: &mut impl FnMut(&[u8]));
}

impl Station for Player {
    fn arrive(&mut self, now: Nanos, frame: &[u8]) {
        self.arrive(now, frame);
    }

    fn send(&mut self, now: Nanos, out: &mut impl FnMut(&[u8])) {
        self.send(now, out);
    }
}

impl<S: FrameSource> Station for Replayer<S> {
    fn arrive(&mut self, now: Nanos, frame: &[u8]) {
        self.arrive(now, frame);
    }

    fn send(&mut self, now: Nanos, out: &mut impl FnMut(&[u8])) {
        self.send(now, out);
    }
}

/// A device with its queues.
pub(crate) struct Lane {
    pub port: Port,
    rx: RxQueue,
    tx: TxQueue,
    pub pool: Pool,
    burst: Vec<Mbuf>,
    /// Frames that the device has not taken.
    pub waiting: Vec<Mbuf>,
    name: DeviceName,
    /// Frames that it could not send before this run.
    unsent_before: u64,
    _claim: Option<Claim>,
}

impl Lane {
    /// Gives `station` what has arrived, and takes what it sends. Returns whether anything moved.
    pub fn turn(&mut self, now: Nanos, station: &mut impl Station) -> bool {
        self.rx.receive(&mut self.burst);
        let arrived = self.burst.len();
        for frame in self.burst.drain(..) {
            station.arrive(now, frame.headers());
        }
        // While the device is full, the station keeps the rest: a pause then acts on it.
        if self.waiting.is_empty() {
            station.send(now, &mut |frame: &[u8]| self.waiting.extend(self.pool.frame(frame)));
        }
        let sent = !self.waiting.is_empty();
        self.flush();
        arrived > 0 || sent
    }

    /// Gives the device what waits. Returns the number of frames that it took.
    pub fn flush(&mut self) -> usize {
        self.tx.send(&mut self.waiting)
    }

    /// Drops what has arrived.
    pub fn discard(&mut self) {
        self.rx.receive(&mut self.burst);
        self.burst.clear();
    }

    /// Whether frames pass. DPDK takes all interfaces of the kernel for up.
    pub fn is_up(&self) -> bool {
        match &self.name {
            DeviceName::Interface(name) => {
                matches!(interfaces::link(name), LinkState::Up | LinkState::Unknown)
            }
            DeviceName::Pci(_) | DeviceName::Virtual(_) => self.port.link().up,
        }
    }

    /// The rate of its link, if it is known. What a virtual device says of it means nothing.
    pub fn rate(&self) -> Option<BitRate> {
        match &self.name {
            DeviceName::Interface(name) => interfaces::rate(name),
            DeviceName::Pci(_) => self.port.link().rate,
            DeviceName::Virtual(_) => None,
        }
    }

    /// The device, as it was named.
    pub fn device(&self) -> String {
        self.name.text().to_owned()
    }

    /// Frames that the device has taken since it was opened and could not send, such as those for an interface that was
    /// set down meanwhile.
    pub fn unsent(&self) -> u64 {
        transmit_errors(&self.port).saturating_sub(self.unsent_before)
    }
}

fn transmit_errors(port: &Port) -> u64 {
    port.statistics().map_or(0, |it| it.transmit_errors)
}

/// Starts DPDK with `devices`.
pub(crate) fn open(devices: &[DeviceName], frame_max: Bytes) -> Result<Vec<Lane>, PortsError> {
    devices.iter().try_for_each(DeviceName::check)?;
    let claims = devices.iter().map(claim).collect::<Result<Vec<_>, _>>()?;
    let is_pci = |it: &&DeviceName| matches!(it, DeviceName::Pci(_));
    let pci: Vec<String> = devices.iter().filter(is_pci).map(|it| it.text().to_owned()).collect();
    let prefix = format!("longspan_traffic_{}", process::id());
    let mut options = EalOptions::new(&prefix);
    if !pci.is_empty() {
        options.memory = Memory::Hugepages(Bytes(256 << 20));
    }
    let eal = Eal::start(&EalOptions { pci, ..options })?;
    // One mbuf holds any frame, and a slot of an interface's ring.
    let data_room = Bytes(config::packet_slot(frame_max));
    let mbufs = MBUFS * u32::try_from(devices.len()).unwrap_or(1);
    let pool = Pool::new(&eal, "traffic", PoolSettings { mbufs, data_room, ..PoolSettings::default() })?;
    let lanes = devices.iter().zip(claims).enumerate();
    lanes
        .map(|(number, (device, claim))| lane(&eal, &pool, number, device, frame_max, claim))
        .collect::<Result<Vec<_>, _>>()
        .map_err(PortsError::from)
}

/// The claim of a device. Only interfaces let several programs use them.
fn claim(device: &DeviceName) -> Result<Option<Claim>, DeviceError> {
    match device {
        DeviceName::Interface(name) => {
            let claim = Claim::interface(Path::new(Claim::DIRECTORY), name);
            claim.map(Some).ok_or_else(|| DeviceError::InUse(name.clone()))
        }
        DeviceName::Pci(_) | DeviceName::Virtual(_) => Ok(None),
    }
}

fn lane(
    eal: &Eal,
    pool: &Pool,
    number: usize,
    device: &DeviceName,
    frame_max: Bytes,
    claim: Option<Claim>,
) -> Result<Lane, DeviceError> {
    let spelled = match device {
        DeviceName::Pci(_) => None,
        DeviceName::Virtual(vdev) => Some(vdev.clone()),
        DeviceName::Interface(name) => Some(config::af_packet(number, name, frame_max, RING)),
    };
    if let Some(vdev) = &spelled {
        eal.attach(vdev).map_err(|error| device.refused(&error))?;
    }
    let text = device.text();
    let name = spelled.as_deref().unwrap_or(text).split(',').next().unwrap_or(text);
    let settings = PortSettings { frame_max, control_queue: false, ..PortSettings::new(pool) };
    let opened = Port::configure(name, &settings);
    let Opened { port, rx, tx, .. } = opened
        .map_err(|error| DeviceError::Refused { device: text.to_owned(), reason: error.to_string() })?;
    Ok(Lane {
        unsent_before: transmit_errors(&port),
        port,
        rx,
        tx,
        pool: pool.clone(),
        burst: Vec::with_capacity(2 * BURST),
        waiting: Vec::with_capacity(BURST),
        name: device.clone(),
        _claim: claim,
    })
}
