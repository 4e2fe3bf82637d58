//! The control side of a port's device.

use core::time::Duration;
use std::time::Instant;

use config::runtime::DeviceKind;
use dpdk::{PfcPassage, Port};
use telemetry::{HardwareReport, Passage, WireDevice};

use crate::control::Line;
use crate::device::ControlQueueFailed;
use crate::links::{Carrier, interface};
use crate::memif;

/// How often the client end of a memif looks for its server.
pub const SEEK_SERVER: Duration = Duration::from_secs(1);

/// For how long a client that has reached its server waits until the link is up. The driver of the server
/// does not bear connections that are given up before it has greeted them.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// A DPDK port.
pub struct DpdkLine {
    port: Port,
    /// What people call it: the interface of the kernel behind it, or else DPDK's name.
    name: String,
    /// The interface of the kernel behind it, where there is one.
    carrier: Option<Carrier>,
    /// When the client end of a memif looks for its server again, should its link be down; `None` of all
    /// other devices.
    next_seek: Option<Instant>,
    /// `None` once that was said.
    control_queue: Option<ControlQueueFailed>,
}

impl DpdkLine {
    /// The line of `port`, which is a `kind`, and whose worker says whether its control queue has failed.
    pub fn new(port: Port, kind: &DeviceKind, control_queue: ControlQueueFailed) -> Self {
        let interface = match kind {
            DeviceKind::Virtual(vdev) => interface(vdev),
            DeviceKind::Pci(_) => None,
        };
        let (name, carrier) = (interface.unwrap_or(port.name()).into(), interface.map(Carrier::of));
        let next_seek = memif::is_client(kind).then(|| Instant::now() + SEEK_SERVER);
        Self { port, name, carrier, next_seek, control_queue: Some(control_queue) }
    }
}

impl Line for DpdkLine {
    fn is_up(&self) -> bool {
        self.carrier.as_ref().is_none_or(Carrier::is_up) && self.port.link().up
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
        self.control_queue.take_if(|failed| failed.get())?;
        let driver = self.port.driver();
        Some(format!(
            "{} ({driver}) sends nothing from its second transmit queue: control frames go through the data's from now on, and \
             pauses that were in the other are lost",
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
        // A device that counts nothing has lost nothing that is known of.
        self.port.statistics().map_or_else(
            |_| HardwareReport::default(),
            |counted| HardwareReport {
                missed: counted.receive_missed,
                no_mbuf: counted.receive_without_mbuf,
                receive_errors: counted.receive_errors,
                transmit_errors: counted.transmit_errors,
            },
        )
    }
}
