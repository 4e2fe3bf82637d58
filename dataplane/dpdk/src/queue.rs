//! The queues of a port.

use std::sync::Arc;

use dpdk_sys as sys;

use crate::device::Device;
use crate::{Mbuf, PortSettings};

/// The maximum number of frames per receive call.
pub const BURST: usize = 32;

/// The place of the first receive queue at a device's gate.
const RECEIVING: usize = 0;
/// The place of the first transmit queue.
const SENDING: usize = PortSettings::MOST_QUEUES as usize;

/// A receive queue of a port. It can be moved to another thread; only its owner can receive from it.
#[derive(Debug)]
pub struct RxQueue {
    device: Arc<Device>,
    queue: u16,
    descriptors: u16,
}

impl RxQueue {
    pub(crate) fn new(device: Arc<Device>, queue: u16, descriptors: u16) -> Self {
        Self { device, queue, descriptors }
    }

    /// The descriptors of its ring.
    pub fn descriptors(&self) -> u16 {
        self.descriptors
    }

    /// Whether more than `depth` received frames wait in it; `None` if the driver does not tell. It may read memory that the
    /// device has written, so it does not belong in every turn.
    pub fn holds_more_than(&mut self, depth: u16) -> Option<bool> {
        let _visit = self.device.enter(RECEIVING + usize::from(self.queue))?;
        // SAFETY: the device runs while its gate lets us in, and this is the only owner of this queue, which alone may ask.
        let holds = unsafe { sys::shim_rx_holds(self.device.port(), self.queue, depth) };
        (holds >= 0).then_some(holds > 0)
    }

    /// Appends received frames, at most [`BURST`], and returns their number: zero if the device does not run
    /// ([`crate::Port::restart`]). Allocates only if `frames` has less spare capacity than [`BURST`].
    #[inline]
    pub fn receive(&mut self, frames: &mut Vec<Mbuf>) -> usize {
        let Some(_visit) = self.device.enter(RECEIVING + usize::from(self.queue)) else { return 0 };
        frames.reserve(BURST);
        let spare = frames.spare_capacity_mut().as_mut_ptr().cast::<*mut sys::rte_mbuf>();
        // SAFETY: the device runs while its gate lets us in, and this is the only owner of this queue.
        // There is room for a burst of pointers; an `Mbuf` is one.
        let received =
            unsafe { sys::shim_rx_burst(self.device.port(), self.queue, spare, BURST as u16) } as usize;
        // SAFETY: DPDK wrote that many frames, and gave them away.
        unsafe { frames.set_len(frames.len() + received) };
        received
    }
}

/// A transmit queue of a port. It can be moved to another thread; only its owner can send through it.
#[derive(Debug)]
pub struct TxQueue {
    device: Arc<Device>,
    queue: u16,
    /// Whether the device sends frames in several mbufs.
    multi_segment: bool,
    /// Whether who receives the frames gets these mbufs, and must own them.
    hands_on: bool,
    unsendable: u64,
}

impl TxQueue {
    pub(crate) fn new(device: Arc<Device>, queue: u16, multi_segment: bool, hands_on: bool) -> Self {
        Self { device, queue, multi_segment, hands_on, unsendable: 0 }
    }

    /// Sends frames in order. Removes as many from the front as the device has room for, and returns their
    /// number. The rest stay in order for the next call. A device that does not run takes none.
    #[inline]
    pub fn send(&mut self, frames: &mut Vec<Mbuf>) -> usize {
        if frames.is_empty() {
            return 0;
        }
        if !self.multi_segment {
            self.drop_unsendable(frames);
        }
        let Some(_visit) = self.device.enter(SENDING + usize::from(self.queue)) else { return 0 };
        let first_shared =
            if self.hands_on { frames.iter_mut().position(|frame| !frame.own()) } else { None };
        let count = first_shared.unwrap_or(frames.len()).min(usize::from(u16::MAX));
        let first = frames.as_mut_ptr();
        // SAFETY: the device runs while its gate lets us in, and this is the only owner of this queue.
        // `first` points to that many frames; an `Mbuf` is a pointer to an mbuf.
        let sent = unsafe { sys::shim_tx_burst(self.device.port(), self.queue, first.cast(), count as u16) }
            as usize;
        let left = frames.len() - sent;
        // SAFETY: the first `sent` frames belong to the device now and must not be dropped here; the
        // others are moved to the front, and only they are counted.
        unsafe {
            if sent > 0 && left > 0 {
                core::ptr::copy(first.add(sent), first, left);
            }
            frames.set_len(left);
        }
        sent
    }

    /// Frames dropped because they span several mbufs and the device sends only single mbufs. Zero if the
    /// pool's data room holds the longest frame.
    pub fn unsendable(&self) -> u64 {
        self.unsendable
    }

    fn drop_unsendable(&mut self, frames: &mut Vec<Mbuf>) {
        let before = frames.len();
        frames.retain(|frame| frame.segment_count() == 1);
        self.unsendable += (before - frames.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eal;
    use crate::{Opened, Pool, PoolSettings, Port, PortSettings};
    use switch::Frame;
    use units::Bytes;

    #[test]
    fn a_device_that_sends_one_mbuf_is_not_given_several() {
        eal().attach("net_ring_single").unwrap();
        let settings = PoolSettings { mbufs: 63, cache: 0, data_room: Bytes(256), socket: None };
        let pool = Pool::new(eal(), "queue", settings).unwrap();
        let Opened { mut rx, tx, .. } =
            Port::configure("net_ring_single", &PortSettings::new(&pool)).unwrap();
        let mut tx = TxQueue { multi_segment: false, ..tx };
        let lengths = [60, 257, 256, 1_000];
        let mut frames = lengths.iter().map(|&length| pool.frame(&vec![0; length]).unwrap()).collect();
        assert_eq!((tx.send(&mut frames), frames.len(), tx.unsendable()), (2, 0, 2));
        assert_eq!(
            (rx.descriptors(), rx.holds_more_than(0)),
            (1_024, None),
            "a ring of memory does not tell"
        );
        assert_eq!(rx.receive(&mut frames), 2);
        assert_eq!(frames.iter().map(|frame| frame.length().0).collect::<Vec<_>>(), [60, 256]);
        drop(frames);
        assert_eq!(pool.in_use(), 0);
    }
}
