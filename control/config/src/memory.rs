//! How much memory the devices of a gateway need: mbufs, and where they are.

use core::fmt;

use switch::ControlFrame;
use switch::program::{BufferSettings, Packing, PortSettings, Settings};
use units::{Bytes, Cells, Interval, PortId, Priority, WireBytes};

use crate::headroom::grouped;
use crate::runtime::{Device, Emulation, Runtime};
use crate::thresholds::capacity;

/// What DPDK leaves free in front of a frame.
const MBUF_HEADROOM: u64 = 128;
/// What else an mbuf costs: 128 bytes of its own, 64 of the pool, and up to 64 by which DPDK spreads them
/// over the channels of the memory.
const MBUF_OVERHEAD: u64 = 128 + 64 + 64;
/// The longest control frame.
const CONTROL: u64 = ControlFrame::CAPACITY as u64;
/// What drivers count to the longest frame: FCS, two VLAN tags, and the 16 bytes of virtio's header.
const DRIVER_ROOM: u64 = 4 + 2 * 4 + 16;
/// To whole such steps ice and i40e round the room down before they use it.
const DRIVER_STEP: u64 = 128;
/// The least that DPDK's drivers expect behind the headroom.
const LEAST_SEGMENT: u64 = 2_048;
/// What the kernel leaves free in front of a frame in memory that it shares.
const XDP_HEADROOM: u64 = 256;
/// The page in which AF_XDP wants a whole mbuf.
pub(crate) const PAGE: Bytes = Bytes(4_096);
/// What of a slot of af_packet its driver does not want to fit an mbuf.
const SLOT_HEADER: u64 = 32;
/// What a pool knows of an mbuf that nobody holds.
const RING_ENTRY: u64 = 8;
/// Mbufs that a core may keep in its cache of a pool, and two bursts of them in its hands.
const PER_CORE: u64 = 512 + 64;
/// Frames of a worker that wait in mbufs of their own before short ones share them: some 90 us of 1,082-byte frames
/// at 100G, so that queues which are no longer copy nothing.
const WHOLE: usize = 1_024;
/// Handoffs on their way from one worker to another: the ring between them, and the outbox in front of it.
const HANDED_OVER: u64 = 1_024 + 256;
/// Frames that a worker takes from a port at once.
const BURST: u64 = 32;
/// Mbufs of each device that are kept free, so that its receive ring is refilled: some bursts. Where there are fewer,
/// memory is low.
const KEPT_FREE: u64 = 256;
/// An emulated link is taken to carry one control frame in this time at most.
const CONTROL_SPACING: Interval = Interval::from_micros(1);
/// By so much a worker comes late to an emulated link that has a core to itself, and twice what one sleeps that shares it.
const LATE: Interval = Interval::from_micros(100);

/// What holds frames of up to `max_frame` in one piece, with what drivers want beside the frame.
pub(crate) fn segment(max_frame: Bytes) -> Bytes {
    Bytes((max_frame.0 + DRIVER_ROOM).next_multiple_of(DRIVER_STEP).max(LEAST_SEGMENT))
}

/// A slot of a ring of af_packet for frames of up to `max_frame`, behind up to 128 bytes of what the kernel
/// says of them. Whole slots fill a block, and a block whole pages.
pub(crate) fn packet_slot(max_frame: Bytes) -> u64 {
    (max_frame.0 + 128).next_multiple_of(512).max(LEAST_SEGMENT)
}

/// The mbufs of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// What is left free in front of a frame.
    front: Bytes,
    /// Room for a frame.
    segment: Bytes,
}

impl Layout {
    pub fn new(ports: &[PortSettings], devices: &[Option<Device>]) -> Self {
        let devices = || devices.iter().flatten();
        let longest = ports.iter().map(|port| port.max_frame).max().unwrap_or_default();
        let slot = devices().filter_map(Device::packet_slot).max().map_or(0, |slot| slot - SLOT_HEADER);
        let kernel = if devices().any(Device::is_af_xdp) { XDP_HEADROOM } else { 0 };
        Self { front: Bytes(MBUF_HEADROOM + kernel), segment: segment(longest.max(Bytes(slot))) }
    }

    /// The cells that packed frames fill of one.
    fn cells(self) -> Cells {
        Cells::within(self.segment.0)
    }

    /// What one takes in a pool.
    pub fn whole(self) -> Bytes {
        self.front + self.segment + Bytes(MBUF_OVERHEAD)
    }
}

/// How long a frame is that keeps its mbuf, where many wait: as stated, or three quarters of what an mbuf takes, so that
/// a byte of buffer never takes more than a third beyond itself of the memory. Whatever an mbuf cannot hold together
/// with what is to be remembered of it keeps one in any case.
fn pack_below(ports: &[PortSettings], runtime: &Runtime) -> Bytes {
    let layout = Layout::new(ports, &runtime.devices);
    let default = Bytes(layout.whole().0 * 3 / 4);
    let most = Bytes((layout.cells().0 - 1) * Cells::SIZE);
    runtime.dpdk.pack_below.unwrap_or(default).min(most)
}

/// How frames share mbufs while they wait, and how many mbufs that takes: as many as the buffer has room for long
/// frames, since short ones take no more, and what each worker and each queue holds beside them.
pub(crate) fn packing(buffer: &BufferSettings, ports: &[PortSettings], runtime: &Runtime) -> Packing {
    let (cores, below) = (cores(runtime), pack_below(ports, runtime));
    let longest = ports.iter().map(|port| port.max_frame).max().unwrap_or_default();
    // What other workers may admit before one of them sees it.
    let unseen = Cells((cores - 1) * BURST * Cells::of_frame(longest).0);
    let held = Cells(capacity(buffer, ports).0.div_ceil(Cells::SIZE)) + unseen;
    let queues = (ports.len() * Priority::COUNT) as u64 + cores * cores;
    let frames = held.0.div_ceil(Cells::of_frame(below).0)
        + queues * Packing::PER_QUEUE as u64
        + cores * WHOLE as u64
        + cores * (cores - 1) * HANDED_OVER;
    Packing { whole: WHOLE, below, frames: frames as usize }
}

/// Worker cores; where they are not stated, one for each device, one at least.
fn cores(runtime: &Runtime) -> u64 {
    let stated = runtime.dpdk.cores.len();
    let devices = runtime.devices.iter().flatten().count();
    (if stated > 0 { stated.min(devices) } else { devices }).max(1) as u64
}

/// The mbufs of a gateway, by where they may all be at once, and what they take.
///
/// A frame comes in one mbuf, in one segment that holds the longest frame of any port, as there is one pool: some
/// drivers know no chains of them. Where many frames wait, short ones share mbufs ([`Packing`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySum {
    /// Of frames in the buffer.
    pub waiting: u64,
    /// The buffer itself.
    pub buffer: Bytes,
    /// Kept free, so that receive rings are refilled. Where there are fewer, memory is low.
    pub kept_free: u64,
    /// In receive rings, of all ports.
    pub receive_rings: u64,
    /// In transmit rings, of all ports: as many of data as of control frames.
    pub transmit_rings: u64,
    /// On each emulated link.
    pub links: Vec<OnLink>,
    /// Worker cores; where they are not stated, one for each device.
    pub cores: u64,
    layout: Layout,
}

/// Frames on an emulated link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnLink {
    /// Behind which port.
    pub port: PortId,
    /// Its name.
    pub name: String,
    /// Data frames: the shortest at the rate of the port, so that the link never overflows.
    pub data: u64,
    /// Control frames, one a microsecond.
    pub control: u64,
    /// Data, in bytes on the wire: what the link holds at its rate, and what a worker lets gather there that comes late.
    pub bytes: WireBytes,
}

impl OnLink {
    /// What is on the link behind `port`: what leaves within the delay, and what was handed over before
    /// its time.
    fn new(id: PortId, port: &PortSettings, emulation: &Emulation) -> Self {
        let held_back = if emulation.reorder > 0.0 { emulation.reorder_by } else { Interval::ZERO };
        let time = emulation.delay + held_back + port.tx_window;
        let bytes = port.rate.bytes_in(time);
        let once = bytes.div_ceil(WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)).0);
        let (twice, twice_control) = match emulation.duplicate > 0.0 {
            true => (2, if emulation.control { 2 } else { 1 }),
            false => (1, 1),
        };
        Self {
            port: id,
            name: port.name.clone(),
            // A burst more, for it comes as a whole.
            data: once * twice + 32,
            control: time.0.div_ceil(CONTROL_SPACING.0) * twice_control + 32,
            bytes: WireBytes(port.rate.bytes_in(time + LATE) * twice),
        }
    }
}

impl MemorySum {
    /// The sum for a gateway.
    pub(crate) fn new(settings: &Settings, runtime: &Runtime) -> Self {
        let devices = || runtime.devices.iter().flatten();
        let links = runtime.emulations.iter().zip(&settings.ports).enumerate();
        let links = links.filter_map(|(index, (emulation, port))| {
            let id = PortId(u16::try_from(index).ok()?);
            Some(OnLink::new(id, port, emulation.as_ref()?))
        });
        Self {
            waiting: settings.buffer.packing.map_or(0, |packing| packing.frames as u64),
            buffer: capacity(&settings.buffer, &settings.ports),
            kept_free: devices().count() as u64 * KEPT_FREE,
            receive_rings: devices().map(|device| u64::from(device.receive_descriptors)).sum(),
            transmit_rings: devices().map(|device| u64::from(device.transmit_descriptors)).sum(),
            links: links.collect(),
            cores: cores(runtime),
            layout: Layout::new(&settings.ports, &runtime.devices),
        }
    }

    /// Mbufs of data frames.
    pub fn mbufs(&self) -> u64 {
        let links: u64 = self.links.iter().map(|link| link.data).sum();
        self.waiting + self.kept_free + self.receive_rings + self.transmit_rings + links + self.in_hand()
    }

    /// Mbufs of control frames, which have a pool of their own, so that a full buffer can still say stop.
    pub fn control_mbufs(&self) -> u64 {
        let links: u64 = self.links.iter().map(|link| link.control).sum();
        self.transmit_rings + links + self.in_hand()
    }

    /// Room of an mbuf for a control frame, with the same in front of it.
    pub fn control_room(&self) -> Bytes {
        self.layout.front + Bytes(CONTROL)
    }

    /// The longest frame that an mbuf holds.
    pub fn longest_frame(&self) -> Bytes {
        self.layout.segment - Bytes(DRIVER_ROOM)
    }

    /// Room of an mbuf for a frame, with what is left free in front of it: 128 bytes, and with AF_XDP 256
    /// for the kernel.
    pub fn data_room(&self) -> Bytes {
        self.layout.front + self.layout.segment
    }

    /// What an mbuf of data takes.
    pub fn mbuf(&self) -> Bytes {
        self.layout.whole()
    }

    /// What an mbuf of a control frame takes.
    pub fn control_mbuf(&self) -> Bytes {
        self.control_room() + Bytes(MBUF_OVERHEAD)
    }

    /// All of it. What DPDK needs for itself is not in it.
    pub fn total(&self) -> Bytes {
        self.data() + self.control()
    }

    /// What is on the emulated link behind `port`: nothing where there is none.
    pub fn on_link(&self, port: PortId) -> Option<&OnLink> {
        self.links.iter().find(|link| link.port == port)
    }

    fn in_hand(&self) -> u64 {
        self.cores * PER_CORE
    }

    fn data(&self) -> Bytes {
        pool(self.mbufs(), self.mbuf())
    }

    fn control(&self) -> Bytes {
        pool(self.control_mbufs(), self.control_mbuf())
    }
}

/// Mbufs, and the ring in which a pool keeps them.
fn pool(mbufs: u64, each: Bytes) -> Bytes {
    Bytes(mbufs * each.0 + (mbufs + 1).next_power_of_two() * RING_ENTRY)
}

/// One line per term, then the sums.
impl fmt::Display for MemorySum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |number: u64, what: &str| writeln!(f, "  {:>14} {what}", grouped(number));
        line(self.waiting, &format!("for frames in the buffer of {} bytes", grouped(self.buffer.0)))?;
        line(self.kept_free, "kept free to refill receive rings")?;
        line(self.receive_rings, "in receive rings")?;
        line(self.transmit_rings, "in transmit rings")?;
        for link in &self.links {
            line(link.data, &format!("on the emulated link of port {}", link.name))?;
        }
        line(self.in_hand(), &format!("in caches and bursts of cores: {}", self.cores))?;
        line(self.mbufs(), &format!("mbufs of {} bytes, with their pool:", grouped(self.mbuf().0)))?;
        line(self.data().0, "bytes")?;
        line(self.control().0, &format!("bytes for {} control frames", grouped(self.control_mbufs())))?;
        write!(f, "  {:>14} bytes in all", grouped(self.total().0))
    }
}
