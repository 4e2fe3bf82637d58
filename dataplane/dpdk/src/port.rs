//! Configuring, starting, querying and stopping a device.

use core::ffi::CStr;
use std::sync::Arc;

use dpdk_sys as sys;
use units::{BitRate, Bytes};
use wire::ethernet::MacAddress;

use crate::device::{Device, PortError};
use crate::drivers::{self, PfcPassage};
use crate::interface::Interface;
use crate::interrupts;
use crate::packet_sockets::PacketSockets;
use crate::pauses::{PauseCounters, PausesCounted};
use crate::{PortSettings, RxQueue, TxQueue};

/// The control side of a port: its description, link and counters. Any thread may query it while others
/// receive and send.
#[derive(Debug)]
pub struct Port {
    device: Arc<Device>,
    driver: String,
    /// Those whose losses the driver does not count.
    sockets: PacketSockets,
    /// The interface whose losses the driver does not count, and those before the start.
    below: Option<(Interface, u64)>,
    /// `None` if the device does not count received pauses.
    pauses: Option<PauseCounters>,
    mac: MacAddress,
    mtu: Bytes,
}

/// A started port and its queues.
#[derive(Debug)]
pub struct Opened {
    /// The control side.
    pub port: Port,
    /// Its first receive queue.
    pub rx: RxQueue,
    /// Its first transmit queue for data.
    pub tx: TxQueue,
    /// Its other queues, in order, if it has several ([`PortSettings::queues`]).
    pub others: Vec<QueuePair>,
    /// Its transmit queue for control frames, if requested and supported by the device.
    pub control: Option<TxQueue>,
}

/// A receive queue, and the transmit queue of the same number.
#[derive(Debug)]
pub struct QueuePair {
    /// The receive queue.
    pub rx: RxQueue,
    /// The transmit queue, for data.
    pub tx: TxQueue,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether frames pass.
    pub up: bool,
    /// The rate, if the device reports one. That of a virtual device is meaningless.
    pub rate: Option<BitRate>,
}

/// The counters of a device since its start. They are monotonic, except that a memif restarts them when its
/// peer disconnects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes received.
    pub received_bytes: Bytes,
    /// Bytes sent.
    pub sent_bytes: Bytes,
    /// Frames lost because the receive queue was full.
    pub receive_missed: u64,
    /// Frames received with errors.
    pub receive_errors: u64,
    /// Times that the pool had no mbuf for a received frame.
    pub receive_without_mbuf: u64,
    /// Frames that the device could not send, or that the interface of the kernel below it dropped.
    pub transmit_errors: u64,
}

/// Steps of [`PortError::Step`].
const HOLDING: &str = "suspend DPDK's interrupt thread";
const LISTING: &str = "list its sockets";
const COUNTING: &str = "read the losses of its sockets";

impl Port {
    /// Takes a device by its virtual device name or PCI address, configures it and starts it.
    ///
    /// If the device does not support frames of the requested length, it gets the longest it supports; see
    /// [`Port::mtu`].
    ///
    /// # Errors
    ///
    /// There is no such device, it is taken, it has fewer queues or cannot spread frames over them, or its driver refuses the
    /// configuration.
    pub fn configure(name: &str, settings: &PortSettings<'_>) -> Result<Opened, PortError> {
        Self::configure_when_it_starts(name, settings, |_| false)
    }

    /// Like [`Port::configure`], for a device that may have to wait for its peer: a memif client starts only
    /// once its server listens. After each failed start, `again` decides whether to retry.
    ///
    /// # Errors
    ///
    /// As [`Port::configure`], when `again` has given up.
    pub fn configure_when_it_starts(
        name: &str,
        settings: &PortSettings<'_>,
        mut again: impl FnMut(&PortError) -> bool,
    ) -> Result<Opened, PortError> {
        let mut device = Device::take(name, settings)?;
        let info = device.info()?;
        // SAFETY: DPDK gives a string that lives as long as the driver.
        let driver = unsafe { CStr::from_ptr(info.driver_name) }.to_string_lossy().into_owned();
        if drivers::frees_on_interrupts(&driver) {
            let held = interrupts::hold();
            device.interrupts = Some(held.map_err(|source| device.failed(HOLDING, source))?);
        }
        let queues = device.queues(&info, settings, &driver)?;
        let descriptors = loop {
            match device.open(&info, settings, &queues) {
                Ok(descriptors) => break descriptors,
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        };
        let sockets = if drivers::hides_losses_of_sockets(&driver) {
            PacketSockets::on_interface(info.if_index).map_err(|source| device.failed(LISTING, source))?
        } else {
            PacketSockets::default()
        };
        let hides_losses = drivers::hides_losses_of_interface(&driver);
        let below = if hides_losses { Interface::numbered(info.if_index) } else { None };
        let below = below.map(|interface| {
            let before = interface.unsent();
            (interface, before)
        });
        let (mac, mtu) = (device.mac()?, device.mtu()?);
        let pauses = PauseCounters::of(device.port, &driver, info.if_index);
        let device = Arc::new(device);
        let multi_segment =
            info.tx_offload_capa & sys::SHIM_TX_OFFLOAD_MULTI_SEGS != 0 || drivers::sends_segments(&driver);
        let receive = |queue| RxQueue::new(Arc::clone(&device), queue, descriptors);
        let hands_on = drivers::hands_on_mbufs(&driver);
        let transmit = |queue| TxQueue::new(Arc::clone(&device), queue, multi_segment, hands_on);
        Ok(Opened {
            rx: receive(0),
            tx: transmit(0),
            others: (1..queues.pairs)
                .map(|queue| QueuePair { rx: receive(queue), tx: transmit(queue) })
                .collect(),
            control: queues.has_control.then(|| transmit(queues.control())),
            port: Self { device, driver, sockets, below, pauses, mac, mtu },
        })
    }

    /// Whether its device spreads what it receives over several queues in a way of its own, not by the hash of
    /// [`PortSettings::hash`]: packets between two hosts may come to different queues.
    pub fn spreads_by_itself(&self) -> bool {
        drivers::spreads_by_itself(&self.driver)
    }

    /// The name it was configured with.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Its driver's name: `net_ice`.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Its own address.
    pub fn mac(&self) -> MacAddress {
        self.mac
    }

    /// The longest packet that the device sends, without Ethernet header and FCS. `None` for a software device, which sends
    /// what fits its buffers, or what the [`Interface`] of the kernel below it sends.
    pub fn mtu(&self) -> Option<Bytes> {
        drivers::keeps_to_its_mtu(&self.driver).then_some(self.mtu)
    }

    /// Whether PFC frames pass the device.
    pub fn pfc_passage(&self) -> PfcPassage {
        drivers::pfc_passage(&self.driver)
    }

    /// The pauses that the device has counted as received, whether or not it hands them over; `None` if it counts none.
    pub fn pauses_counted(&self) -> Option<PausesCounted> {
        self.pauses.as_ref()?.read(self.device.port)
    }

    /// The current link state. Down if the device does not report it.
    pub fn link(&self) -> Link {
        let (mut up, mut speed) = (false, 0);
        // SAFETY: the device runs as long as `self` exists; the call writes two variables.
        let status = unsafe { sys::shim_link(self.device.port, &mut up, &mut speed) };
        let rate = if speed == u32::MAX { None } else { BitRate::new(u64::from(speed) * 1_000_000) };
        Link { up: up && status == 0, rate }
    }

    /// Restarts a memif whose link is down; only that makes a client look for its server again. Meanwhile its
    /// queues receive and send nothing. If the start fails, they stay so, and the caller may retry. A memif
    /// whose link is up and all other devices are left unchanged.
    ///
    /// # Errors
    ///
    /// It does not start, or is busy.
    pub fn restart(&self) -> Result<(), PortError> {
        let device = &self.device;
        let Some(interrupts) = device.interrupts else { return Ok(()) };
        let _alone = device.runtime.ports();
        let restarted = interrupts.while_held(|gates| {
            if self.link().up {
                return Ok(());
            }
            device.stop(gates)?;
            device.start(Some(gates))
        });
        restarted.unwrap_or_else(|| Err(PortError::Busy(device.name.clone())))
    }

    /// The counters.
    ///
    /// # Errors
    ///
    /// The driver or the kernel cannot say.
    pub fn statistics(&self) -> Result<PortStatistics, PortError> {
        let mut stats = sys::rte_eth_stats::default();
        // SAFETY: the device runs as long as `self` exists; the call fills in a struct.
        let status = unsafe { sys::rte_eth_stats_get(self.device.port, &mut stats) };
        self.device.step("read its statistics", status)?;
        let lost = self.sockets.lost().map_err(|source| self.device.failed(COUNTING, source))?;
        Ok(PortStatistics {
            received: stats.ipackets,
            sent: stats.opackets,
            received_bytes: Bytes(stats.ibytes),
            sent_bytes: Bytes(stats.obytes),
            receive_missed: stats.imissed + lost,
            receive_errors: stats.ierrors,
            receive_without_mbuf: stats.rx_nombuf,
            transmit_errors: stats.oerrors + self.below.as_ref().map_or(0, dropped_below),
        })
    }
}

/// Frames that an interface did not send since it had not sent `before`.
fn dropped_below((interface, before): &(Interface, u64)) -> u64 {
    interface.unsent().saturating_sub(*before)
}
