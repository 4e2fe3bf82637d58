//! A device: taken, set up, started, stopped, closed.

use core::ffi::c_int;
use std::io;
use std::sync::Arc;

use dpdk_sys as sys;
use thiserror::Error;
use units::Bytes;
use wire::ethernet::{HEADER_LEN, MacAddress};

use crate::error::error_of;
use crate::gate::{Gate, Visit};
use crate::interrupts::{Gates, Interrupts};
use crate::runtime::{Runtime, find_port};
use crate::{Pool, PortSettings, drivers};

/// Why a port cannot be used.
#[derive(Debug, Error)]
pub enum PortError {
    /// No device of that name.
    #[error("DPDK has no device {0}")]
    NotFound(String),
    /// Someone has it.
    #[error("the device {0} is already in use")]
    Taken(String),
    /// A burst, or a handler of DPDK, does not end: the thread that it is in stands still. One may try again.
    #[error("the device {0} is busy")]
    Busy(String),
    /// It has fewer queues.
    #[error(
        "the device {device} ({driver}) has {receive} receive queues and {transmit} transmit queues, but {wanted} of each are \
         needed{}", drivers::way_to_queues(driver, *wanted)
    )]
    TooFewQueues {
        /// The device.
        device: String,
        /// Its driver.
        driver: String,
        /// The number of pairs that was asked for.
        wanted: u16,
        /// Its receive queues.
        receive: u16,
        /// Its transmit queues.
        transmit: u16,
    },
    /// It can't keep packets of two hosts in one of several receive queues.
    #[error(
        "the device {device} ({driver}) cannot spread frames over {wanted} receive queues by their IPv4 addresses alone; use one \
         queue"
    )]
    CannotHash {
        /// The device.
        device: String,
        /// Its driver.
        driver: String,
        /// The number of pairs that was asked for.
        wanted: u16,
    },
    /// A step on the way failed; DPDK's log, on stderr, says more.
    #[error("the device {device}: cannot {step}: {source}")]
    Step {
        /// The device.
        device: String,
        /// The step that failed.
        step: &'static str,
        /// The error of DPDK.
        source: io::Error,
    },
}

/// Descriptors of the transmit queue for control frames, where the device can have so few: one whose frames do not leave is soon full, and so noticed.
const CONTROL_DESCRIPTORS: u16 = 64;
/// The bytes that DPDK adds to the MTU where a driver doesn't say: the header and the FCS.
const USUAL_OVERHEAD: u32 = HEADER_LEN as u32 + 4;

/// The queues of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queues {
    /// The pairs of a receive queue and a transmit queue for data, which come first.
    pub(crate) pairs: u16,
    /// Whether a transmit queue for control frames follows.
    pub(crate) has_control: bool,
    /// The functions of the hash that spreads frames; none if there is one pair, or the device has its own way.
    hash: u64,
}

impl Queues {
    /// The number of the transmit queue for control frames, if there is one.
    pub(crate) fn control(&self) -> u16 {
        self.pairs
    }

    /// All transmit queues.
    fn transmit(&self) -> u16 {
        self.pairs + u16::from(self.has_control)
    }
}

/// A device that is ours, until the last of its port and queues is dropped.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) port: u16,
    pub(crate) name: String,
    promiscuous: bool,
    pub(crate) runtime: Arc<Runtime>,
    /// Open while the device runs and its queues may be called.
    gate: Arc<Gate>,
    /// Whether its driver frees what queues use on DPDK's interrupt thread, and it has to be kept apart.
    pub(crate) interrupts: Option<&'static Interrupts>,
    /// The receive queue takes mbufs out of it.
    _pool: Pool,
}

impl Device {
    pub(crate) fn take(name: &str, settings: &PortSettings<'_>) -> Result<Self, PortError> {
        let runtime = Arc::clone(settings.pool.runtime());
        let mut ports = runtime.ports();
        let port = find_port(name).ok_or_else(|| PortError::NotFound(name.to_owned()))?;
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

    /// Sets up the queues, and starts the device. Returns the descriptors of each receive queue.
    pub(crate) fn open(
        &self,
        info: &sys::rte_eth_dev_info,
        settings: &PortSettings<'_>,
        queues: &Queues,
    ) -> Result<u16, PortError> {
        let _alone = self.runtime.ports();
        let descriptors = self.set_up(info, settings, queues)?;
        match self.interrupts {
            None => self.start(None),
            Some(interrupts) => interrupts
                .while_held(|gates| self.start(Some(gates)))
                .unwrap_or_else(|| Err(PortError::Busy(self.name.clone()))),
        }?;
        if queues.hash != 0 {
            self.fill_redirection(queues.pairs)?;
        }
        Ok(descriptors)
    }

    /// Goes to the device, if it runs, for as long as what is returned lives: for a queue, each with a
    /// `place` of its own.
    #[inline(always)]
    pub(crate) fn enter(&self, place: usize) -> Option<Visit<'_>> {
        self.gate.enter(place)
    }

    #[inline(always)]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn step(&self, step: &'static str, status: c_int) -> Result<(), PortError> {
        if status >= 0 {
            return Ok(());
        }
        Err(self.failed(step, error_of(status)))
    }

    pub(crate) fn failed(&self, step: &'static str, source: io::Error) -> PortError {
        PortError::Step { device: self.name.clone(), step, source }
    }

    pub(crate) fn info(&self) -> Result<sys::rte_eth_dev_info, PortError> {
        let mut info = sys::rte_eth_dev_info::default();
        // SAFETY: fills in a struct.
        self.step("query its properties", unsafe { sys::rte_eth_dev_info_get(self.port, &mut info) })?;
        Ok(info)
    }

    /// The queues of a device of this driver.
    pub(crate) fn queues(
        &self,
        info: &sys::rte_eth_dev_info,
        settings: &PortSettings<'_>,
        driver: &str,
    ) -> Result<Queues, PortError> {
        let wanted = settings.queues.clamp(1, PortSettings::MOST_QUEUES);
        let (device, driver) = (self.name.clone(), driver.to_owned());
        let (receive, transmit) = (info.max_rx_queues, info.max_tx_queues);
        let has_control =
            settings.control_queue && transmit > wanted && drivers::may_have_control_queue(&driver);
        let mut queues = Queues { pairs: wanted, has_control, hash: 0 };
        if wanted == 1 {
            return Ok(queues);
        }
        if receive.min(transmit) < wanted {
            return Err(PortError::TooFewQueues { device, driver, wanted, receive, transmit });
        }
        if drivers::spreads_by_itself(&driver) {
            return Ok(queues);
        }
        if info.flow_type_rss_offloads & sys::SHIM_RSS_IPV4 == 0 {
            return Err(PortError::CannotHash { device, driver, wanted });
        }
        queues.hash = info.flow_type_rss_offloads & sys::SHIM_RSS_IP;
        Ok(queues)
    }

    /// Returns the descriptors of each receive queue.
    fn set_up(
        &self,
        info: &sys::rte_eth_dev_info,
        settings: &PortSettings<'_>,
        queues: &Queues,
    ) -> Result<u16, PortError> {
        let mtu = mtu_for(settings.frame_max, info);
        let scatter = settings.frame_max > settings.pool.data_room();
        let rx_offloads = if scatter { info.rx_offload_capa & sys::SHIM_RX_OFFLOAD_SCATTER } else { 0 };
        let tx_offloads = info.tx_offload_capa & sys::SHIM_TX_OFFLOAD_MULTI_SEGS;
        let (pairs, sending) = (queues.pairs, queues.transmit());
        let mut key = settings.hash.bytes(info.hash_key_size);
        let (first, size) = (key.as_mut_ptr(), info.hash_key_size);
        // SAFETY: the device is ours and has not been started. The key has `size` bytes, which the call copies.
        let status = unsafe {
            sys::shim_configure(
                self.port,
                pairs,
                sending,
                mtu,
                rx_offloads,
                tx_offloads,
                queues.hash,
                first,
                size,
            )
        };
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
        for queue in 0..pairs {
            // SAFETY: the device is ours, configured and not started; its pool lives as long as it does.
            let status =
                unsafe { sys::rte_eth_rx_queue_setup(self.port, queue, receive, socket, &rx_conf, pool) };
            self.step("set up a receive queue", status)?;
        }
        let mut tx_conf = info.default_txconf;
        tx_conf.offloads = tx_offloads;
        for queue in 0..sending {
            let descriptors = if queue == queues.control() { self.few_descriptors()? } else { transmit };
            // SAFETY: the device is ours, configured and not started.
            let status =
                unsafe { sys::rte_eth_tx_queue_setup(self.port, queue, descriptors, socket, &tx_conf) };
            self.step("set up a transmit queue", status)?;
        }
        Ok(receive)
    }

    /// [`CONTROL_DESCRIPTORS`], or the least more that the device has.
    fn few_descriptors(&self) -> Result<u16, PortError> {
        let (none, mut transmit) = (core::ptr::null_mut(), CONTROL_DESCRIPTORS);
        // SAFETY: the call reads and writes a number, and takes a null pointer for one that no one wants.
        let status = unsafe { sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.port, none, &mut transmit) };
        self.step("set the number of descriptors", status)?;
        Ok(transmit)
    }

    /// Spreads what it receives over this many queues.
    fn fill_redirection(&self, queues: u16) -> Result<(), PortError> {
        // Some devices know the size only now.
        let size = self.info()?.reta_size;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: the device is ours, and has that many receive queues.
        let status = unsafe { sys::shim_fill_redirection(self.port, size, queues) };
        // A device that cannot be told spreads them alike, as all drivers do at first.
        if error_of(status).kind() == io::ErrorKind::Unsupported {
            return Ok(());
        }
        self.step("spread frames over its receive queues", status)
    }

    /// Starts it, and lets its queues in: with others where the interrupt thread is kept apart.
    pub(crate) fn start(&self, gates: Option<&mut Gates<'_>>) -> Result<(), PortError> {
        // SAFETY: the device is ours, all its queues are set up, and no one is behind the gate.
        self.step("start it", unsafe { sys::rte_eth_dev_start(self.port) })?;
        self.leave_pauses_to_us();
        self.choose_what_it_receives()?;
        match gates {
            Some(gates) => gates.open(&self.gate),
            None => self.gate.open(),
        }
        Ok(())
    }

    /// Stops it, once no queue is in it any more.
    pub(crate) fn stop(&self, gates: &mut Gates<'_>) -> Result<(), PortError> {
        if !gates.close(&self.gate) {
            return Err(PortError::Busy(self.name.clone()));
        }
        // SAFETY: the device is ours, and no one is behind the gate.
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
        // A virtual device that cannot be told receives all frames anyway.
        if error_of(status).kind() == io::ErrorKind::Unsupported {
            return Ok(());
        }
        self.step("set its receive mode", status)
    }

    /// Asks the device neither to obey pauses nor to make its own, and to let MAC control frames through.
    /// Devices in software, and many drivers, know nothing of it.
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

    pub(crate) fn mac(&self) -> Result<MacAddress, PortError> {
        let mut address = sys::rte_ether_addr::default();
        // SAFETY: fills in a struct.
        self.step("read its MAC address", unsafe { sys::rte_eth_macaddr_get(self.port, &mut address) })?;
        Ok(MacAddress(address.addr_bytes))
    }

    pub(crate) fn mtu(&self) -> Result<Bytes, PortError> {
        let mut mtu = 0;
        // SAFETY: writes a number.
        self.step("read its MTU", unsafe { sys::rte_eth_dev_get_mtu(self.port, &mut mtu) })?;
        Ok(Bytes(u64::from(mtu)))
    }
}

/// The MTU for frames of this length, as far as the device can have it.
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
        // One that cannot be closed stays as it is, and taken.
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
        // One that counts two VLAN tags.
        assert_eq!(mtu_for(Bytes(9_216), &device(68, 9_702, 9_728)), 9_202);
        assert_eq!(mtu_for(Bytes(9_216), &device(68, 1_500, 1_526)), 1_500);
        // One that says only how long a frame it receives.
        assert_eq!(mtu_for(Bytes(9_216), &device(68, u16::MAX, 1_514)), 1_496);
        assert_eq!(mtu_for(Bytes(60), &device(68, 9_702, 9_728)), 68);
    }
}
