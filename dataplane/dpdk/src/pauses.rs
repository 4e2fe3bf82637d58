//! Pauses that a device counts as received, whether or not it hands them over.

use std::ffi::CString;

use dpdk_sys as sys;

use crate::drivers::{self, PauseNames};
use crate::mac_control::MacControl;

/// The priorities of PFC.
const PRIORITIES: u8 = 8;

/// What a device has counted of received pauses. A device that restarts may begin anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausesCounted {
    /// PAUSE frames, and with some devices PFC frames too.
    pub frames: u64,
    /// PFC frames, once for each priority that they are for.
    pub by_priority: u64,
}

impl PausesCounted {
    /// What has been counted since `earlier`: the counters overlap, so it is the larger growth. None of a counter that has
    /// fallen, because the device began anew.
    pub fn since(self, earlier: Self) -> u64 {
        let frames = self.frames.saturating_sub(earlier.frames);
        frames.max(self.by_priority.saturating_sub(earlier.by_priority))
    }
}

/// Where a device counts received pauses.
#[derive(Debug)]
pub(crate) enum PauseCounters {
    /// In extended statistics of DPDK, with these numbers.
    Dpdk { frames: Vec<u64>, by_priority: Vec<u64> },
    /// In a counter of the kernel's driver, which has the card too: all MAC control frames.
    Kernel(MacControl),
}

impl PauseCounters {
    /// Those of a started device of this driver, which is on the interface of the kernel with this number, if on any; `None` if it
    /// has none.
    pub(crate) fn of(port: u16, driver: &str, interface: u32) -> Option<Self> {
        if drivers::is_counted_by_kernel(driver) {
            return MacControl::of(interface).map(Self::Kernel);
        }
        Self::named(port, drivers::pause_names(driver))
    }

    /// The extended statistics with these names that a device has; `None` if it has none of them.
    fn named(port: u16, names: PauseNames) -> Option<Self> {
        let frames: Vec<_> = names.frames.iter().filter_map(|name| number(port, name)).collect();
        let by_priority = names.by_priority.iter().flat_map(|(front, behind)| {
            (0..PRIORITIES).filter_map(move |priority| number(port, &format!("{front}{priority}{behind}")))
        });
        let by_priority: Vec<_> = by_priority.collect();
        let has_some = !frames.is_empty() || !by_priority.is_empty();
        has_some.then_some(Self::Dpdk { frames, by_priority })
    }

    /// Reads them; `None` if no one tells.
    pub(crate) fn read(&self, port: u16) -> Option<PausesCounted> {
        let (frames, by_priority) = match self {
            Self::Dpdk { frames, by_priority } => (sum(port, frames)?, sum(port, by_priority)?),
            Self::Kernel(counter) => (counter.received()?, 0),
        };
        Some(PausesCounted { frames, by_priority })
    }
}

/// The number of the extended statistic of this name.
fn number(port: u16, name: &str) -> Option<u64> {
    let (name, mut number) = (CString::new(name).ok()?, 0);
    // SAFETY: the device is ours and runs; the call reads a string and writes a number.
    let status = unsafe { sys::rte_eth_xstats_get_id_by_name(port, name.as_ptr(), &mut number) };
    (status == 0).then_some(number)
}

/// The sum of the extended statistics with these numbers.
fn sum(port: u16, numbers: &[u64]) -> Option<u64> {
    if numbers.is_empty() {
        return Some(0);
    }
    let mut values = vec![0; numbers.len()];
    // SAFETY: the device is ours and runs; the call reads `size` numbers and writes as many values.
    let read = unsafe {
        let size = numbers.len() as u32;
        sys::rte_eth_xstats_get_by_id(port, numbers.as_ptr(), values.as_mut_ptr(), size)
    };
    let is_whole = usize::try_from(read) == Ok(values.len());
    is_whole.then(|| values.iter().fold(0, |sum: u64, value| sum.saturating_add(*value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::find_port;
    use crate::testing::eal;
    use crate::{Opened, Pool, PoolSettings, Port, PortSettings};
    use units::Bytes;

    #[test]
    fn the_growth_of_counters_that_overlap_is_the_larger_one_and_a_counter_that_falls_does_not_grow() {
        let counted = |frames, by_priority| PausesCounted { frames, by_priority };
        assert_eq!(counted(7, 12).since(counted(5, 5)), 7);
        assert_eq!(counted(9, 5).since(counted(5, 5)), 4);
        assert_eq!(counted(0, 3).since(counted(5, u64::MAX)), 0);
    }

    /// A ring has only the statistics that DPDK itself keeps for every device.
    #[test]
    fn statistics_are_found_by_name_and_read_and_a_device_without_them_has_no_counters() {
        eal().attach("net_ring_pauses").unwrap();
        let settings = PoolSettings { mbufs: 1_023, cache: 0, data_room: Bytes(256), socket: None };
        let pool = Pool::new(eal(), "pauses", settings).unwrap();
        let Opened { port, mut tx, .. } =
            Port::configure("net_ring_pauses", &PortSettings::new(&pool)).unwrap();
        assert_eq!(port.pauses_counted(), None);
        let number = find_port("net_ring_pauses").unwrap();
        let ice = PauseNames { frames: &["rx_xon_packets"], by_priority: &[("priority_xon_rx_tc", "")] };
        assert!(PauseCounters::named(number, ice).is_none());
        let known =
            PauseNames { frames: &["tx_good_packets", "no_such"], by_priority: &[("tx_q", "_packets")] };
        let counters = PauseCounters::named(number, known).unwrap();
        tx.send(&mut vec![pool.frame(&[2; 60]).unwrap(), pool.frame(&[2; 60]).unwrap()]);
        assert_eq!(counters.read(number), Some(PausesCounted { frames: 2, by_priority: 2 }));
        let unknown = PauseCounters::Dpdk { frames: vec![u64::MAX], by_priority: Vec::new() };
        assert_eq!(unknown.read(number), None, "a number that the device does not have");
    }
}
