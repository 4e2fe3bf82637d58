//! A DPDK port as a worker's device.

use dpdk::{BURST, Mbuf, Pool, RxQueue, TxQueue};
use switch::{ControlFrame, Frame};
use wire::ethernet::{EtherType, View};
use worker::{Device, DeviceCounters};

/// Control frames that may wait while the hardware is full.
const URGENT: usize = 64;

/// The queues of one port.
pub struct WireDevice {
    receive: RxQueue,
    data: TxQueue,
    /// A transmit queue for control frames alone, where the device has two.
    control: Option<TxQueue>,
    /// Where control frames come from, so that a full buffer can still say stop.
    pool: Pool,
    /// Data frames that wait for the next flush.
    waiting: Vec<Mbuf>,
    /// Control frames that do.
    urgent: Vec<Mbuf>,
    counters: DeviceCounters,
}

impl WireDevice {
    /// The device that owns these queues, and takes buffers of control frames from `pool`.
    pub fn new(receive: RxQueue, data: TxQueue, control: Option<TxQueue>, pool: Pool) -> Self {
        Self {
            receive,
            data,
            control,
            pool,
            waiting: Vec::with_capacity(BURST),
            urgent: Vec::with_capacity(URGENT),
            counters: DeviceCounters::default(),
        }
    }

    /// Sends what is urgent; true where all of it has gone.
    #[cold]
    fn flush_urgent(&mut self) -> bool {
        let queue = self.control.as_mut().unwrap_or(&mut self.data);
        self.counters.control_sent += queue.send(&mut self.urgent) as u64;
        self.urgent.is_empty()
    }
}

impl Device for WireDevice {
    type Frame = Mbuf;

    #[inline]
    fn receive(&mut self, burst: &mut Vec<Mbuf>) {
        self.counters.received += self.receive.receive(burst) as u64;
    }

    #[inline]
    fn room(&self) -> usize {
        BURST - self.waiting.len()
    }

    #[inline]
    fn transmit(&mut self, frame: Mbuf) {
        self.waiting.push(frame);
    }

    fn transmit_control(&mut self, frame: &ControlFrame) {
        let Some(frame) = self.pool.frame(frame.bytes()) else {
            self.counters.control_lost += 1;
            return;
        };
        if self.urgent.len() == URGENT {
            // A notification is missed by nobody; of pauses, newer ones say more than older ones.
            let oldest = self.urgent.iter().position(|waiting| !is_mac_control(waiting)).unwrap_or(0);
            self.urgent.remove(oldest);
            self.counters.control_lost += 1;
        }
        self.urgent.push(frame);
    }

    #[inline]
    fn flush(&mut self) {
        if !self.urgent.is_empty() && !self.flush_urgent() && self.control.is_none() {
            return;
        }
        if self.waiting.is_empty() {
            return;
        }
        self.counters.sent += self.data.send(&mut self.waiting) as u64;
        self.counters.full += u64::from(!self.waiting.is_empty());
    }

    fn counters(&self) -> DeviceCounters {
        let (waiting, unsendable) = (self.waiting.len() as u64, self.data.unsendable());
        DeviceCounters { waiting, unsendable, ..self.counters }
    }
}

/// Whether a frame is PFC, of which each is waited for.
fn is_mac_control(frame: &Mbuf) -> bool {
    View::parse(frame.headers()).is_ok_and(|view| view.ether_type() == EtherType::MAC_CONTROL)
}
