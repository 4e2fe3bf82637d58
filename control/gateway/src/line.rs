//! The control side of a port's device.

use core::time::Duration;
use std::time::Instant;

use config::runtime::DeviceKind;
use dpdk::{Claim, Interface, PausesCounted, PfcPassage, Port};
use telemetry::{HardwareReport, Passage, WireDevice};
use units::Bytes;

use crate::device::ControlQueue;
use crate::links::Carrier;
use crate::memif;

/// The interval at which a memif client looks for its server.
pub const SEEK_SERVER: Duration = Duration::from_secs(1);

/// How long a control queue may refuse frames before it is given up: much longer than its frames take on any
/// link.
const REFUSAL: Duration = Duration::from_millis(100);

/// How long a client that reached its server waits for the link. The server's driver fails if a connection is
/// abandoned during the handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The device of a port, as the control thread knows it.
pub trait Line {
    /// Whether the link is up.
    fn is_up(&self) -> bool;

    /// The longest packet that it sends; `None` if that is not limited, or unknown.
    fn mtu(&self) -> Option<Bytes>;

    /// Does what it takes beyond waiting to bring a link up that is down. Called often while it is.
    fn bring_up(&mut self);

    /// A message for the log if it failed since the last call.
    fn trouble(&mut self) -> Option<String>;

    /// The device in reports.
    fn device(&self) -> WireDevice;

    /// The counters of the hardware.
    fn hardware(&self) -> HardwareReport;

    /// The pauses that it has counted as received, whether or not it hands them over; `None` if it counts none.
    fn pauses_counted(&self) -> Option<PausesCounted>;
}

/// The interface of the kernel below a device: that through which it sends, or from which it receives if it sends to none.
pub struct Below {
    pub interface: Interface,
    /// Keep others from the interfaces of the device.
    pub claims: Vec<Claim>,
}

/// A DPDK port.
pub struct DpdkLine {
    port: Port,
    /// The name in messages: the kernel interface behind it, or else DPDK's name.
    name: String,
    /// The kernel interface behind it, if any.
    below: Option<(Below, Carrier)>,
    /// When a memif client looks for its server again if its link is down; `None` for other devices.
    next_seek: Option<Instant>,
    /// `None` once it is given up.
    control_queue: Option<ControlQueue>,
    /// The start of its refusal of all control frames.
    refuses_since: Option<Instant>,
}

impl DpdkLine {
    /// Whether packets between two hosts may come to different lanes through it.
    pub fn parts_hosts(&self) -> bool {
        self.port.spreads_by_itself()
    }

    /// The line of `port`, a device of `kind` on the interface `below`, with its control queue.
    pub fn new(port: Port, below: Option<Below>, kind: &DeviceKind, control_queue: ControlQueue) -> Self {
        let name = below.as_ref().map_or(port.name(), |below| below.interface.name()).to_owned();
        let below = below.map(|below| {
            let carrier = Carrier::of(below.interface.name());
            (below, carrier)
        });
        let next_seek = memif::is_client(kind).then(|| Instant::now() + SEEK_SERVER);
        Self { port, name, below, next_seek, control_queue: Some(control_queue), refuses_since: None }
    }
}

impl Line for DpdkLine {
    fn is_up(&self) -> bool {
        self.below.as_ref().is_none_or(|(_, carrier)| carrier.is_up()) && self.port.link().up
    }

    fn mtu(&self) -> Option<Bytes> {
        match &self.below {
            Some((below, _)) => below.interface.mtu().ok(),
            None => self.port.mtu(),
        }
    }

    fn bring_up(&mut self) {
        let now = Instant::now();
        if self.next_seek.is_none_or(|next_seek| now < next_seek) {
            return;
        }
        self.next_seek = Some(match self.port.restart() {
            Ok(()) => now + HANDSHAKE,
            Err(_) => now + SEEK_SERVER,
        });
    }

    fn trouble(&mut self) -> Option<String> {
        // While the link is down, nothing leaves an intact queue either.
        let refuses = self.control_queue.as_ref()?.refuses() && self.is_up();
        let now = Instant::now();
        let since = *self.refuses_since.get_or_insert(now);
        if !refuses {
            self.refuses_since = None;
        }
        if !refuses || now - since < REFUSAL {
            return None;
        }
        self.control_queue.take()?.give_up();
        let driver = self.port.driver();
        Some(format!(
            "{} ({driver}) sends nothing from its transmit queue for control frames: the frames in that queue are lost, and \
             control frames now share the data queue",
            self.name
        ))
    }

    fn device(&self) -> WireDevice {
        let pfc = match self.port.pfc_passage() {
            PfcPassage::Passes => telemetry::PfcPassage { receive: Passage::Yes, transmit: Passage::Yes },
            PfcPassage::Unknown(_) => telemetry::PfcPassage::default(),
            PfcPassage::Blocked(_) => telemetry::PfcPassage { transmit: Passage::No, ..Default::default() },
        };
        WireDevice { name: self.name.clone(), driver: self.port.driver().into(), link_up: self.is_up(), pfc }
    }

    fn hardware(&self) -> HardwareReport {
        // A device without counters reports no losses.
        let counted = self.port.statistics().unwrap_or_default();
        HardwareReport {
            missed: counted.receive_missed,
            no_mbuf: counted.receive_without_mbuf,
            receive_errors: counted.receive_errors,
            transmit_errors: counted.transmit_errors,
            kept_pauses: 0,
        }
    }

    fn pauses_counted(&self) -> Option<PausesCounted> {
        self.port.pauses_counted()
    }
}
