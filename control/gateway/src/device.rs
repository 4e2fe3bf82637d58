//! A DPDK port as a worker's device.

use dpdk::{BURST, Mbuf, Pool, RxQueue, TxQueue};
use switch::{ControlFrame, Frame};
use wire::ethernet::{EtherType, View};
use worker::{Device, DeviceCounters};

/// Control frames that may wait while the hardware is full.
const URGENT: usize = 64;

/// The memory into which devices receive, and whether it runs low.
#[derive(Clone, Debug)]
pub struct Supply {
    pool: Pool,
    /// Fewer free mbufs than this are few.
    few: u32,
    is_low: bool,
}

impl Supply {
    /// That of `pool`, which is low with fewer than `few` free mbufs.
    pub fn new(pool: Pool, few: u32) -> Self {
        Self { pool, few, is_low: false }
    }

    /// Whether it is low. Once it is, it stays so until it has a quarter more, so that it does not flap.
    #[inline]
    fn is_low(&mut self) -> bool {
        let enough = if self.is_low { self.few + self.few / 4 } else { self.few };
        self.is_low = self.pool.uncached() < enough;
        self.is_low
    }
}

/// The queues of one port.
pub struct WireDevice {
    receive: RxQueue,
    data: TxQueue,
    /// A transmit queue for control frames alone, where the device has two.
    control: Option<TxQueue>,
    /// Where control frames come from, so that a full buffer can still say stop.
    pool: Pool,
    supply: Supply,
    /// Data frames that wait for the next flush.
    waiting: Vec<Mbuf>,
    /// Control frames that do.
    urgent: Vec<Mbuf>,
    counters: DeviceCounters,
}

impl WireDevice {
    /// The device that owns these queues, receives into `supply`, and takes buffers of control frames from `pool`.
    pub fn new(
        receive: RxQueue,
        data: TxQueue,
        control: Option<TxQueue>,
        pool: Pool,
        supply: Supply,
    ) -> Self {
        Self {
            receive,
            data,
            control,
            pool,
            supply,
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

    #[inline]
    fn memory_is_low(&mut self) -> bool {
        self.supply.is_low()
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
