//! Configuring, starting, querying and stopping a device.

use core::ffi::CStr;
use core::ffi::c_int;
use std::ffi::CString;
use std::io;
use std::sync::Arc;

use dpdk_sys as sys;
use thiserror::Error;
use units::{BitRate, Bytes};
use wire::ethernet::{HEADER_LEN, MacAddress};

use crate::drivers::{self, PfcPassage};
use crate::eal::{Runtime, error_of};
use crate::gate::{Gate, Visit};
use crate::interrupts::{self, Gates, Interrupts};
use crate::permission::full_pci_address;
use crate::{Pool, PortSettings, RxQueue, TxQueue};

/// The control side of a port: its description, link and counters. Any thread may query it while others
/// receive and send.
#[derive(Debug)]
pub struct Port {
    device: Arc<Device>,
    driver: String,
    mac: MacAddress,
    mtu: Bytes,
}

/// A started port and its queues.
#[derive(Debug)]
pub struct Opened {
    /// The control side.
    pub port: Port,
    /// Its receive queue.
    pub rx: RxQueue,
    /// Its transmit queue for data.
    pub tx: TxQueue,
    /// Its transmit queue for control frames, if requested and supported by the device.
    pub control: Option<TxQueue>,
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
    /// Frames that the device could not send.
    pub transmit_errors: u64,
}

/// Why a port cannot be used.
#[derive(Debug, Error)]
pub enum PortError {
    /// There is no device of that name.
    #[error("DPDK has no device {0}")]
    NotFound(String),
    /// The device is in use.
    #[error("the device {0} is already in use")]
    Taken(String),
    /// A burst or a DPDK handler does not end, because its thread is stalled. Callers may retry.
    #[error("the device {0} is busy")]
    Busy(String),
    /// A step failed; DPDK's log, on stderr, says more.
    #[error("the device {device}: cannot {step}: {source}")]
    Step {
        /// The device.
        device: String,
        /// The step.
        step: &'static str,
        /// DPDK's error.
        source: io::Error,
    },
}

/// The only receive queue, and the transmit queue for data.
const DATA_QUEUE: u16 = 0;
/// The transmit queue for control frames.
const CONTROL_QUEUE: u16 = 1;
/// Descriptors of the control queue, if the device supports so few: a queue whose frames never leave soon
/// fills up and is noticed.
const CONTROL_DESCRIPTORS: u16 = 64;
/// A step of [`PortError::Step`].
const HOLDING: &str = "suspend DPDK's interrupt thread";
/// The overhead that DPDK adds to the MTU if a driver reports none: header and FCS.
const USUAL_OVERHEAD: u32 = HEADER_LEN as u32 + 4;

impl Port {
    /// Takes a device by its virtual device name or PCI address, configures it and starts it.
    ///
    /// If the device does not support frames of the requested length, it gets the longest it supports; see
    /// [`Port::mtu`].
    ///
    /// # Errors
    ///
    /// There is no such device, it is taken, or its driver refuses the configuration.
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
        let own_control_queue =
            settings.control_queue && info.max_tx_queues > 1 && drivers::may_have_control_queue(&driver);
        let transmit_queues = if own_control_queue { 2 } else { 1 };
        while let Err(error) = device.open(&info, settings, transmit_queues) {
            if !again(&error) {
                return Err(error);
            }
        }
        let (mac, mtu) = (device.mac()?, device.mtu()?);
        let device = Arc::new(device);
        let multi_segment =
            info.tx_offload_capa & sys::SHIM_TX_OFFLOAD_MULTI_SEGS != 0 || drivers::sends_segments(&driver);
        let transmit = |queue| TxQueue::new(Arc::clone(&device), queue, multi_segment);
        Ok(Opened {
            rx: RxQueue::new(Arc::clone(&device), DATA_QUEUE),
            tx: transmit(DATA_QUEUE),
            control: own_control_queue.then(|| transmit(CONTROL_QUEUE)),
            port: Self { device, driver, mac, mtu },
        })
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

    /// The longest packet, without Ethernet header and FCS, as reported by the device. Software devices may
    /// carry longer ones.
    pub fn mtu(&self) -> Bytes {
        self.mtu
    }

    /// Whether PFC frames pass the device.
    pub fn pfc_passage(&self) -> PfcPassage {
        drivers::pfc_passage(&self.driver)
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
    /// The driver cannot say.
    pub fn statistics(&self) -> Result<PortStatistics, PortError> {
        let mut stats = sys::rte_eth_stats::default();
        // SAFETY: the device runs as long as `self` exists; the call fills in a struct.
        let status = unsafe { sys::rte_eth_stats_get(self.device.port, &mut stats) };
        self.device.step("read its statistics", status)?;
        Ok(PortStatistics {
            received: stats.ipackets,
            sent: stats.opackets,
            received_bytes: Bytes(stats.ibytes),
            sent_bytes: Bytes(stats.obytes),
            receive_missed: stats.imissed,
            receive_errors: stats.ierrors,
            receive_without_mbuf: stats.rx_nombuf,
            transmit_errors: stats.oerrors,
        })
    }
}

/// The number of a device, by name or PCI address.
pub(crate) fn find(name: &str) -> Option<u16> {
    let by_name = |name: &str| {
        let name = CString::new(name).ok()?;
        let mut port = 0;
        // SAFETY: looks up a string, and writes a number.
        let status = unsafe { sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &mut port) };
        (status == 0).then_some(port)
    };
    by_name(name).or_else(|| by_name(&full_pci_address(name)))
}

/// A device that we own until its port and all its queues are dropped.
#[derive(Debug)]
pub(crate) struct Device {
    port: u16,
    name: String,
    promiscuous: bool,
    runtime: Arc<Runtime>,
    /// Open while the device runs and its queues may be called.
    gate: Arc<Gate>,
    /// The interrupt thread, if the driver frees resources of queues there and must be kept apart.
    interrupts: Option<&'static Interrupts>,
    /// The receive queue takes mbufs from it.
    _pool: Pool,
}

impl Device {
    fn take(name: &str, settings: &PortSettings<'_>) -> Result<Self, PortError> {
        let runtime = Arc::clone(settings.pool.runtime());
        let mut ports = runtime.ports();
        let port = find(name).ok_or_else(|| PortError::NotFound(name.to_owned()))?;
        if !ports.insert(port) {
            return Err(PortError::Taken(name.to_owned()));
        }
        drop(ports);
        Ok(Self {
            port,
            name: name.to_owned(),
            promiscuous: settings.promiscuous,
            runtime,
            gate: Arc::new(Gate::closed()),
            interrupts: None,
            _pool: settings.pool.clone(),
        })
    }

    /// Sets up the queues and starts the device.
    fn open(
        &self,
        info: &sys::rte_eth_dev_info,
        settings: &PortSettings<'_>,
        transmit_queues: u16,
    ) -> Result<(), PortError> {
        let _alone = self.runtime.ports();
        self.set_up(info, settings, transmit_queues)?;
        match self.interrupts {
            None => self.start(None),
            Some(interrupts) => interrupts
                .while_held(|gates| self.start(Some(gates)))
                .unwrap_or_else(|| Err(PortError::Busy(self.name.clone()))),
        }
    }

    /// Enters the device, if it runs, until the returned value is dropped. Each queue has its own `place`.
    #[inline(always)]
    pub(crate) fn enter(&self, place: usize) -> Option<Visit<'_>> {
        self.gate.enter(place)
    }

    #[inline(always)]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn step(&self, step: &'static str, status: c_int) -> Result<(), PortError> {
        if status >= 0 {
            return Ok(());
        }
        Err(self.failed(step, error_of(status)))
    }

    fn failed(&self, step: &'static str, source: io::Error) -> PortError {
        PortError::Step { device: self.name.clone(), step, source }
    }

    fn info(&self) -> Result<sys::rte_eth_dev_info, PortError> {
        let mut info = sys::rte_eth_dev_info::default();
        // SAFETY: fills in a struct.
        self.step("query its properties", unsafe { sys::rte_eth_dev_info_get(self.port, &mut info) })?;
        Ok(info)
    }

    /// Sets up one receive queue, and one or two transmit queues.
    fn set_up(
        &self,
        info: &sys::rte_eth_dev_info,
        settings: &PortSettings<'_>,
        transmit_queues: u16,
    ) -> Result<(), PortError> {
        let mtu = mtu_for(settings.frame_max, info);
        let scatter = settings.frame_max > settings.pool.data_room();
        let rx_offloads = if scatter { info.rx_offload_capa & sys::SHIM_RX_OFFLOAD_SCATTER } else { 0 };
        let tx_offloads = info.tx_offload_capa & sys::SHIM_TX_OFFLOAD_MULTI_SEGS;
        // SAFETY: the device is ours and has not been started.
        let status =
            unsafe { sys::shim_configure(self.port, transmit_queues, mtu, rx_offloads, tx_offloads) };
        self.step("configure it", status)?;

        let (mut receive, mut transmit) = (settings.rx_descriptors, settings.tx_descriptors);
        // SAFETY: reads and writes two numbers.
        let status = unsafe { sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.port, &mut receive, &mut transmit) };
        self.step("set the number of descriptors", status)?;

        // SAFETY: asks on which NUMA node the device is; -1 is none in particular, which a queue may be
        // given too.
        let socket = unsafe { sys::rte_eth_dev_socket_id(self.port) } as u32;
        let pool = settings.pool.as_ptr();
        let mut rx_conf = info.default_rxconf;
        rx_conf.offloads = rx_offloads;
        // SAFETY: the device is ours, configured and not started; its pool lives as long as it does.
        let status =
            unsafe { sys::rte_eth_rx_queue_setup(self.port, DATA_QUEUE, receive, socket, &rx_conf, pool) };
        self.step("set up its receive queue", status)?;
        let mut tx_conf = info.default_txconf;
        tx_conf.offloads = tx_offloads;
        for queue in 0..transmit_queues {
            let descriptors = if queue == CONTROL_QUEUE { self.few_descriptors()? } else { transmit };
            // SAFETY: the device is ours, configured and not started.
            let status =
                unsafe { sys::rte_eth_tx_queue_setup(self.port, queue, descriptors, socket, &tx_conf) };
            self.step("set up a transmit queue", status)?;
        }
        Ok(())
    }

    /// [`CONTROL_DESCRIPTORS`], or the device's minimum if larger.
    fn few_descriptors(&self) -> Result<u16, PortError> {
        let (none, mut transmit) = (core::ptr::null_mut(), CONTROL_DESCRIPTORS);
        // SAFETY: the call reads and writes a number, and accepts a null pointer for the other.
        let status = unsafe { sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.port, none, &mut transmit) };
        self.step("set the number of descriptors", status)?;
        Ok(transmit)
    }

    /// Starts it and opens its gate, through `gates` if the interrupt thread is kept apart.
    fn start(&self, gates: Option<&mut Gates<'_>>) -> Result<(), PortError> {
        // SAFETY: the device is ours, all its queues are set up, and no queue is inside the gate.
        self.step("start it", unsafe { sys::rte_eth_dev_start(self.port) })?;
        self.leave_pauses_to_us();
        self.choose_what_it_receives()?;
        match gates {
            Some(gates) => gates.open(&self.gate),
            None => self.gate.open(),
        }
        Ok(())
    }

    /// Stops it once no queue is inside.
    fn stop(&self, gates: &mut Gates<'_>) -> Result<(), PortError> {
        if !gates.close(&self.gate) {
            return Err(PortError::Busy(self.name.clone()));
        }
        // SAFETY: the device is ours, and no queue is inside the gate.
        self.step("stop it", unsafe { sys::rte_eth_dev_stop(self.port) })
    }

    fn choose_what_it_receives(&self) -> Result<(), PortError> {
        // SAFETY: the device runs. PFC frames go to a group address.
        let status = unsafe {
            if self.promiscuous {
                sys::rte_eth_promiscuous_enable(self.port)
            } else {
                sys::rte_eth_allmulticast_enable(self.port)
            }
        };
        // Virtual devices that do not support this receive all frames anyway.
        if error_of(status).kind() == io::ErrorKind::Unsupported {
            return Ok(());
        }
        self.step("set its receive mode", status)
    }

    /// Asks the device neither to obey nor to send pauses itself, and to pass MAC control frames. Software
    /// devices and many drivers do not support this.
    fn leave_pauses_to_us(&self) {
        let mut conf = sys::rte_eth_fc_conf::default();
        // SAFETY: the device is ours and runs; the calls fill in and read a struct.
        unsafe {
            if sys::rte_eth_dev_flow_ctrl_get(self.port, &mut conf) == 0 {
                conf.mode = sys::RTE_ETH_FC_NONE;
                conf.mac_ctrl_frame_fwd = 1;
                sys::rte_eth_dev_flow_ctrl_set(self.port, &mut conf);
            }
        }
    }

    fn mac(&self) -> Result<MacAddress, PortError> {
        let mut address = sys::rte_ether_addr::default();
        // SAFETY: fills in a struct.
        self.step("read its MAC address", unsafe { sys::rte_eth_macaddr_get(self.port, &mut address) })?;
        Ok(MacAddress(address.addr_bytes))
    }

    fn mtu(&self) -> Result<Bytes, PortError> {
        let mut mtu = 0;
        // SAFETY: writes a number.
        self.step("read its MTU", unsafe { sys::rte_eth_dev_get_mtu(self.port, &mut mtu) })?;
        Ok(Bytes(u64::from(mtu)))
    }
}

/// The MTU for frames of this length, limited by the device.
fn mtu_for(frame_max: Bytes, info: &sys::rte_eth_dev_info) -> u32 {
    let says_overhead = info.max_mtu != u16::MAX && info.max_rx_pktlen > u32::from(info.max_mtu);
    let overhead = if says_overhead { info.max_rx_pktlen - u32::from(info.max_mtu) } else { USUAL_OVERHEAD };
    let most = u32::from(info.max_mtu).min(info.max_rx_pktlen.saturating_sub(overhead));
    let wanted = u32::try_from(frame_max.0).unwrap_or(u32::MAX).saturating_sub(HEADER_LEN as u32);
    wanted.max(u32::from(info.min_mtu)).min(most)
}

impl Drop for Device {
    fn drop(&mut self) {
        let mut ports = self.runtime.ports();
        // SAFETY: no queue of the device is left that could be used.
        let close = || unsafe {
            sys::rte_eth_dev_stop(self.port);
            sys::rte_eth_dev_close(self.port);
        };
        let Some(interrupts) = self.interrupts else {
            close();
            ports.remove(&self.port);
            return;
        };
        // A device that cannot be closed stays in use.
        interrupts.while_held(|gates| {
            gates.forget(&self.gate);
            close();
            ports.remove(&self.port);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(min_mtu: u16, max_mtu: u16, max_rx_pktlen: u32) -> sys::rte_eth_dev_info {
        sys::rte_eth_dev_info { min_mtu, max_mtu, max_rx_pktlen, ..Default::default() }
    }

    #[test]
    fn the_mtu_fits_the_frame_and_the_device() {
        assert_eq!(mtu_for(Bytes(9_216), &device(68, u16::MAX, u32::MAX)), 9_202);
        // A device that counts two VLAN tags.
        assert_eq!(mtu_for(Bytes(9_216), &device(68, 9_702, 9_728)), 9_202);
        assert_eq!(mtu_for(Bytes(9_216), &device(68, 1_500, 1_526)), 1_500);
        // A device that reports only the longest frame it receives.
        assert_eq!(mtu_for(Bytes(9_216), &device(68, u16::MAX, 1_514)), 1_496);
        assert_eq!(mtu_for(Bytes(60), &device(68, 9_702, 9_728)), 68);
    }
}
