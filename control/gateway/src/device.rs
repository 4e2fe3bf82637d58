//! A DPDK port as a worker's device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpdk::{BURST, Mbuf, Pool, RxQueue, TxQueue};
use switch::Frame;
use switch::receive_ring::mark;
use units::Bytes;
use wire::ethernet::{EtherType, View};
use worker::{Device, DeviceCounters, ReceiveRing};

/// Control frames that may wait while the hardware is full.
const URGENT: usize = 64;

/// The shared state of a transmit queue for control frames, between its worker and the control thread. Such a
/// queue can be defective: the e1000 driver offers a second queue that its chip does not have. Frames in it
/// never leave, and soon it is full.
#[derive(Clone, Debug, Default)]
pub struct ControlQueue {
    /// Whether the last send took no frame; set by the worker.
    refuses: Arc<AtomicBool>,
    /// Whether control frames share the data queue; set by the control thread, which knows the time and the
    /// link.
    given_up: Arc<AtomicBool>,
}

impl ControlQueue {
    /// Whether the last send took no frame.
    pub fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// Makes control frames share the data queue from now on.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}

/// The receive memory of devices, and whether it runs low.
#[derive(Clone, Debug)]
pub struct Supply {
    pool: Pool,
    /// Memory is low with fewer free mbufs than this.
    few: u32,
    is_low: bool,
}

impl Supply {
    /// The supply of `pool`, which is low with fewer than `few` free mbufs.
    pub fn new(pool: Pool, few: u32) -> Self {
        Self { pool, few, is_low: false }
    }

    /// Whether it is low. To prevent flapping, it stays low until a quarter more mbufs are free.
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
    /// `None` if control frames share the data queue.
    control: Option<TxQueue>,
    control_queue: ControlQueue,
    /// The pool of control frames: separate, so that pauses can be sent with a full buffer.
    pool: Pool,
    supply: Supply,
    /// Whether its receive queue cannot overflow.
    is_endless: bool,
    /// Data frames that wait for the next flush.
    waiting: Vec<Mbuf>,
    /// Control frames that wait for the next flush.
    urgent: Vec<Mbuf>,
    counters: DeviceCounters,
}

impl WireDevice {
    /// A device that owns these queues, receives into `supply`, and takes control frames from `pool`.
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
            control_queue: ControlQueue::default(),
            pool,
            supply,
            is_endless: false,
            waiting: Vec::with_capacity(BURST),
            urgent: Vec::with_capacity(URGENT),
            counters: DeviceCounters::default(),
        }
    }

    /// The same, with a receive queue that cannot overflow.
    pub fn without_ring(self) -> Self {
        Self { is_endless: true, ..self }
    }

    /// The control queue, for the control thread to watch.
    pub fn control_queue(&self) -> ControlQueue {
        self.control_queue.clone()
    }

    /// Puts a frame behind the control frames that wait.
    fn urge(&mut self, frame: &[u8]) {
        let Some(frame) = self.pool.frame(frame) else {
            self.counters.control_lost.count(Bytes(frame.len() as u64));
            return;
        };
        if self.urgent.len() == URGENT {
            // Drop a notification first, as it can be spared, or else the oldest pause, which newer ones
            // supersede.
            let oldest = self.urgent.iter().position(|waiting| !is_mac_control(waiting)).unwrap_or(0);
            let lost = self.urgent.remove(oldest);
            self.counters.control_lost.count(lost.length());
        }
        self.urgent.push(frame);
    }

    /// Sends the control frames; returns whether all have left.
    #[cold]
    fn flush_urgent(&mut self) -> bool {
        if self.control_queue.given_up.load(Ordering::Relaxed) {
            self.control = None;
        }
        let queue = self.control.as_mut().unwrap_or(&mut self.data);
        let sent = queue.send(&mut self.urgent);
        self.counters.control_sent += sent as u64;
        self.control_queue.refuses.store(self.control.is_some() && sent == 0, Ordering::Relaxed);
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

    fn make(&mut self, bytes: &[u8]) -> Option<Mbuf> {
        self.supply.pool.frame(bytes)
    }

    #[inline]
    fn transmit(&mut self, frame: Mbuf) {
        self.waiting.push(frame);
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        self.urge(frame);
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

    fn receive_ring(&mut self) -> ReceiveRing {
        if self.is_endless {
            return ReceiveRing::Endless;
        }
        let descriptors = u32::from(self.receive.descriptors());
        let told = u16::try_from(mark(descriptors)).ok().and_then(|mark| self.receive.holds_more_than(mark));
        told.map_or(ReceiveRing::Untold { descriptors }, |is_deep| ReceiveRing::Told { is_deep })
    }

    fn counters(&self) -> DeviceCounters {
        let (waiting, unsendable) = (self.waiting.len() as u64, self.data.unsendable());
        DeviceCounters { waiting, unsendable, ..self.counters }
    }
}

/// Whether a frame is PFC, which must not be dropped without need.
fn is_mac_control(frame: &Mbuf) -> bool {
    View::parse(frame.headers()).is_ok_and(|view| view.ether_type() == EtherType::MAC_CONTROL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpdk::{Eal, EalOptions, Opened, PoolSettings, Port, PortSettings};
    use units::{PauseQuanta, Priority, PrioritySet};
    use wire::ethernet::MacAddress;
    use wire::pfc;

    /// A ring holds about a thousand frames, and no one drains the one that acts as the control queue.
    #[test]
    fn control_frames_go_with_the_data_once_their_own_queue_is_given_up() {
        let devices = ["net_ring_data", "net_ring_stuck"].map(str::to_owned).to_vec();
        let eal = Eal::start(&EalOptions { devices, ..EalOptions::new("longspan_device") }).unwrap();
        let settings = PoolSettings { mbufs: 8_191, cache: 0, data_room: Bytes(256), socket: None };
        let pool = Pool::new(&eal, "device", settings).unwrap();
        let open = |name| Port::configure(name, &PortSettings::new(&pool)).unwrap();
        let Opened { rx, tx, port: _data, .. } = open("net_ring_data");
        let Opened { tx: stuck, port: _stuck, .. } = open("net_ring_stuck");
        let mut device = WireDevice::new(rx, tx, Some(stuck), pool.clone(), Supply::new(pool, 0));
        let (queue, mut pause) = (device.control_queue(), [0; 60]);
        let all = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        let xoff = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 0, 1]), all, PauseQuanta::MAX);
        xoff.emit(&mut pause).unwrap();
        let mut received = Vec::new();
        let send = |device: &mut WireDevice, received: &mut Vec<Mbuf>| {
            device.transmit_control(&pause);
            device.flush();
            device.receive(received);
        };
        for _ in 0..2_000 {
            send(&mut device, &mut received);
        }
        assert!(queue.refuses() && received.is_empty());
        queue.give_up();
        send(&mut device, &mut received);
        assert!(!received.is_empty() && received.iter().all(is_mac_control));
        assert!(!queue.refuses());
    }
}
