//! A DPDK port as a worker's device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpdk::{BURST, Mbuf, Pool, RxQueue, TxQueue};
use switch::{ControlFrame, Frame};
use wire::ethernet::{EtherType, View};
use worker::{Device, DeviceCounters};

/// Control frames that may wait while the hardware is full.
const URGENT: usize = 64;

/// Flushes in a row at which a control queue takes none of the frames that wait for it, before it is given up.
const REFUSALS: u32 = 1_024;

/// A transmit queue for control frames alone. Where it fails, as that of an e1000 whose chip has no second queue, they go
/// with the data.
struct ControlQueue {
    queue: TxQueue,
    /// Flushes in a row at which it took nothing.
    refusals: u32,
}

/// Whether the control queue of a device was given up: said by its worker, heard by the control thread.
#[derive(Clone, Debug, Default)]
pub struct ControlQueueFailed(Arc<AtomicBool>);

impl ControlQueueFailed {
    /// Whether it was.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

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
    /// `None` where control frames go through the data's.
    control: Option<ControlQueue>,
    control_failed: ControlQueueFailed,
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
            control: control.map(|queue| ControlQueue { queue, refusals: 0 }),
            control_failed: ControlQueueFailed::default(),
            pool,
            supply,
            waiting: Vec::with_capacity(BURST),
            urgent: Vec::with_capacity(URGENT),
            counters: DeviceCounters::default(),
        }
    }

    /// Tells later whether the control queue was given up.
    pub fn control_queue_failed(&self) -> ControlQueueFailed {
        self.control_failed.clone()
    }

    /// Sends what is urgent; true where all of it has gone.
    #[cold]
    fn flush_urgent(&mut self) -> bool {
        let Some(control) = &mut self.control else {
            self.counters.control_sent += self.data.send(&mut self.urgent) as u64;
            return self.urgent.is_empty();
        };
        let sent = control.queue.send(&mut self.urgent);
        self.counters.control_sent += sent as u64;
        control.refusals = if sent == 0 { control.refusals + 1 } else { 0 };
        if control.refusals == REFUSALS {
            self.control = None;
            self.control_failed.0.store(true, Ordering::Relaxed);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use dpdk::{Eal, EalOptions, Opened, PoolSettings, Port, PortSettings};
    use units::{Bytes, PauseQuanta, Priority, PrioritySet};
    use wire::ethernet::MacAddress;
    use wire::pfc;

    /// A ring takes some thousand frames, and nobody takes them out of the one that stands for the control queue.
    #[test]
    fn control_frames_go_with_the_data_once_their_own_queue_takes_none() {
        let devices = ["net_ring_data", "net_ring_stuck"].map(str::to_owned).to_vec();
        let eal = Eal::start(&EalOptions { devices, ..EalOptions::new("longspan_device") }).unwrap();
        let settings = PoolSettings { mbufs: 8_191, cache: 0, data_room: Bytes(256), socket: None };
        let pool = Pool::new(&eal, "device", settings).unwrap();
        let open = |name| Port::configure(name, &PortSettings::new(&pool)).unwrap();
        let Opened { rx, tx, port: _data, .. } = open("net_ring_data");
        let Opened { tx: stuck, port: _stuck, .. } = open("net_ring_stuck");
        let mut device = WireDevice::new(rx, tx, Some(stuck), pool.clone(), Supply::new(pool, 0));
        let failed = device.control_queue_failed();
        let mut received = Vec::new();
        let mut flushes = 0_u32;
        while received.is_empty() {
            assert!(flushes < 10_000, "no control frame came with the data");
            device.transmit_control(&pause());
            device.flush();
            device.receive(&mut received);
            flushes += 1;
        }
        assert!(flushes > REFUSALS && failed.get());
        assert!(received.iter().all(is_mac_control));
    }

    fn pause() -> ControlFrame {
        let mut frame = ControlFrame::zeroed(60);
        let all = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        let pause = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 0, 1]), all, PauseQuanta::MAX);
        pause.emit(frame.bytes_mut()).unwrap();
        frame
    }
}
